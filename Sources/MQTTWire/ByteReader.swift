public import Storage

/// Reads a packet's fields front to back. It throws where the bytes end too early, and never traps on what
/// the peer sent.
public struct ByteReader: ~Escapable {
  private let bytes: Span<UInt8>
  /// The offset of the next byte in the span the reader was made with.
  public private(set) var position: Int
  /// One past the last byte this reader may read.
  public let end: Int

  @_lifetime(copy bytes)
  public init(_ bytes: Span<UInt8>) {
    self.bytes = bytes
    self.position = 0
    self.end = bytes.count
  }

  /// Makes a reader of a part of the same span, with the same offsets.
  @_lifetime(copy bytes)
  public init(_ bytes: Span<UInt8>, in extent: ByteRange) {
    precondition(extent.offset >= 0 && extent.end <= bytes.count)
    self.bytes = bytes
    self.position = extent.offset
    self.end = extent.end
  }

  public var isAtEnd: Bool { position == end }

  public mutating func byte() throws(Malformed) -> UInt8 {
    guard position < end else { throw .truncated }
    defer { position &+= 1 }
    return bytes[position]
  }

  /// Reads a Two Byte Integer (§1.5.2).
  public mutating func uint16() throws(Malformed) -> UInt16 {
    guard end &- position >= 2 else { throw .truncated }
    defer { position &+= 2 }
    return UInt16(bytes[position]) << 8 | UInt16(bytes[position &+ 1])
  }

  /// Reads a Four Byte Integer (§1.5.3).
  public mutating func uint32() throws(Malformed) -> UInt32 {
    let high = try uint16()
    return UInt32(high) << 16 | UInt32(try uint16())
  }

  /// Reads a Variable Byte Integer, which must be in the fewest bytes [MQTT-1.5.5-1].
  public mutating func variableByteInteger() throws(Malformed) -> Int {
    var value = 0
    var shift = 0
    while true {
      let next = try byte()
      value |= Int(next & 0x7F) << shift
      if next < 0x80 {
        guard next != 0 || shift == 0 else { throw .variableByteInteger }
        return value
      }
      shift += 7
      guard shift < 28 else { throw .variableByteInteger }
    }
  }

  /// Reads the next `count` bytes.
  public mutating func extent(_ count: Int) throws(Malformed) -> ByteRange {
    guard count >= 0, end &- position >= count else { throw .truncated }
    defer { position &+= count }
    return ByteRange(offset: position, count: count)
  }

  /// Reads Binary Data (§1.5.6).
  public mutating func binaryData() throws(Malformed) -> ByteRange {
    try extent(Int(try uint16()))
  }

  /// Does the same, and checks that it is a UTF-8 Encoded String (§1.5.4) if `isText` says so. It is inlined
  /// where properties are read, with all that it takes.
  @inline(__always)
  public mutating func binaryData(isText: Bool) throws(Malformed) -> ByteRange {
    let start = position &+ 2
    guard let size = bytes.uint16(at: position), end &- start >= Int(size) else { throw .truncated }
    position = start &+ Int(size)
    if isText {
      let text = bytes.extracting(start..<position)
      guard UTF8EncodedString.isShort(text) || UTF8EncodedString.isValid(text) else { throw .utf8 }
    }
    return ByteRange(offset: start, count: Int(size))
  }

  /// Reads everything up to the end.
  public mutating func rest() -> ByteRange {
    defer { position = end }
    return ByteRange(offset: position, count: end &- position)
  }
}
