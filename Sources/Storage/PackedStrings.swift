/// Texts in a region, one behind the other without gaps. Their owner keeps their ranges, and adapts those
/// behind a text that is removed: see `offset(_:without:)`.
@safe public struct PackedStrings: ~Copyable {
  private var region: Region
  /// How many bytes they take.
  public private(set) var used = 0

  public init(region: consuming Region) { self.region = region }

  public var capacity: Int { region.count }

  /// How many bytes are free.
  public var free: Int { region.count &- used }

  /// The bytes that the ranges returned by `append` point into.
  public var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { region.bytes }
  }

  /// Adds a text, for which there must be room, and returns its range.
  public mutating func append(_ text: Span<UInt8>) -> ByteRange {
    precondition(text.count <= free)
    let range = ByteRange(offset: used, count: text.count)
    var target = region.mutableBytes(in: range.range)
    copy(text, into: &target)
    used &+= text.count
    return range
  }

  /// Removes a text, and closes its gap.
  public mutating func remove(_ range: ByteRange) {
    let end = range.offset &+ range.count
    precondition(range.offset >= 0 && range.count >= 0 && end <= used)
    region.move(from: end, to: range.offset, count: used &- end)
    used &-= range.count
  }

  /// Returns the new offset of a text once another has been removed.
  @inline(__always)
  public static func offset(_ offset: UInt32, without removed: ByteRange) -> UInt32 {
    Int(truncatingIfNeeded: offset) > removed.offset
      ? offset &- UInt32(truncatingIfNeeded: removed.count) : offset
  }

  /// Returns whether the text in a range is this one.
  public func isEqual(_ range: ByteRange, to text: Span<UInt8>) -> Bool {
    guard range.count == text.count else { return false }
    let stored = region.bytes(at: range.offset, count: range.count)
    for index in 0..<text.count where stored[index] != text[index] { return false }
    return true
  }
}
