public import Storage

/// Where a packet has what nobody should read who looks at it: the Password of CONNECT (§3.1.3.6), and
/// Authentication Data (§3.1.2.11.10, §3.2.2.3.18, §3.15.2.2.3).
public struct Secrets: BitwiseCopyable, Equatable {
  /// Ranges of the packet, in their order; the second is empty where there is one, both where there is none.
  public private(set) var first = ByteRange.empty
  public private(set) var second = ByteRange.empty

  public var areNone: Bool { first.isEmpty }
  /// Where the last one ends.
  public var end: Int { second.isEmpty ? first.end : second.end }

  public static var none: Secrets { Secrets() }

  private init() {}

  /// Finds those of a packet, or of its beginning. What cannot be read is a secret altogether.
  @inline(never)
  @_optimize(size)
  public init(in packet: Span<UInt8>, _ header: FixedHeader, version: ProtocolVersion) {
    var reader = ByteReader(packet, in: ByteRange(offset: header.size, count: packet.count &- header.size))
    do throws(Malformed) {
      switch header.type {
      case .connect: try findInConnect(packet, &reader)
      case .connack where version.hasProperties:
        _ = try reader.uint16()
        try findAuthenticationData(packet, &reader, in: .packet(.connack, from: .server))
      case .auth:
        guard !reader.isAtEnd else { return }
        _ = try reader.byte()
        // Both sides may send the same properties.
        if !reader.isAtEnd { try findAuthenticationData(packet, &reader, in: .packet(.auth, from: .server)) }
      default: break
      }
    } catch {
      first = ByteRange(offset: header.size, count: packet.count &- header.size)
      second = .empty
    }
  }

  /// Those of bytes that begin no packet, as their fixed header is wrong: of one that may have some, all that follows.
  @_optimize(size)
  public init(inNoPacket bytes: Span<UInt8>) {
    guard bytes.count > 1 else { return }
    switch ControlPacketType(rawValue: bytes[0] >> 4) {
    case .connect, .connack, .auth: first = ByteRange(offset: 1, count: bytes.count &- 1)
    default: break
    }
  }

  // MARK: Helpers

  @_optimize(size)
  private mutating func findInConnect(_ packet: Span<UInt8>, _ reader: inout ByteReader) throws(Malformed) {
    _ = try reader.binaryData()  // Protocol Name
    // The highest bit of the version is that of a bridge.
    let hasProperties = try reader.byte() & 0x7F >= 5
    let flags = try reader.byte()
    _ = try reader.uint16()  // Keep Alive
    if hasProperties { try findAuthenticationData(packet, &reader, in: .packet(.connect, from: .client)) }
    _ = try reader.binaryData()  // Client Identifier
    if flags & Connect.willFlag != 0 {
      if hasProperties { _ = try reader.extent(try reader.variableByteInteger()) }
      _ = try reader.binaryData()
      _ = try reader.binaryData()
    }
    if flags & Connect.userNameFlag != 0 { _ = try reader.binaryData() }
    if flags & Connect.passwordFlag != 0 { add(try reader.binaryData()) }
  }

  @_optimize(size)
  private mutating func findAuthenticationData(
    _ packet: Span<UInt8>, _ reader: inout ByteReader, in context: PropertyContext
  ) throws(Malformed) {
    var list = try PropertyReader(packet, reader: &reader, in: context)
    while let property = try list.next() {
      if property.identifier == .authenticationData { add(property.text) }
    }
  }

  @inline(never)
  private mutating func add(_ range: ByteRange) {
    if first.isEmpty { first = range } else { second = range }
  }
}
