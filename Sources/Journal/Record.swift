public import Storage

/// One record of a commit: what it is, what it is about, and its body. The log knows no kinds of records; its
/// owner does (a session: `JournalRecord`).
public struct Record: BitwiseCopyable {
  public var kind: UInt8
  public var flags: UInt8
  /// Which of the owner's things it is about.
  public var subject: UInt16
  /// Where its body is in the records of its commit.
  public var body: ByteRange

  public static var headerSize: Int { 8 }
}

/// Reads the records of a commit front to back.
public struct RecordReader: BitwiseCopyable {
  /// The offset of the next one.
  public private(set) var position: Int
  private let end: Int

  @_optimize(size)
  public init(_ records: ByteRange) {
    position = records.offset
    end = records.end
  }

  /// Returns the next record, or `nil` after the last one. What is no record ends them too: it can only be
  /// that a library with a mistake wrote the commit, because its checksum is right.
  @inline(never)
  @_optimize(size)
  public mutating func next(_ bytes: Span<UInt8>) -> Record? {
    guard end &- position >= Record.headerSize else { return nil }
    let length = Int(truncatingIfNeeded: bytes.littleEndian32(at: position &+ 4))
    let start = position &+ Record.headerSize
    guard length >= 0, length <= end &- start else { return nil }
    defer { position = start &+ length }
    return Record(
      kind: bytes[position], flags: bytes[position &+ 1], subject: bytes.littleEndian16(at: position &+ 2),
      body: ByteRange(offset: start, count: length))
  }
}
