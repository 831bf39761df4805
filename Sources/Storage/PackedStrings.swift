/// Texts one behind the other in a region, without gaps. Who owns them knows where each lies, and moves what lies behind one that
/// is removed: see `offset(_:without:)`.
@safe public struct PackedStrings: ~Copyable {
  private var region: Region
  /// How many bytes they take.
  public private(set) var used = 0

  public init(region: consuming Region) { self.region = region }

  public var capacity: Int { region.count }

  /// How many bytes are free.
  public var free: Int { region.count &- used }

  /// For the places that `append` has told.
  public var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { region.bytes }
  }

  /// Takes a text in, for which there is room, and tells where it lies.
  public mutating func append(_ text: Span<UInt8>) -> ByteRange {
    precondition(text.count <= free)
    let range = ByteRange(offset: used, count: text.count)
    var target = region.mutableBytes(in: range.range)
    copy(text, into: &target)
    used &+= text.count
    return range
  }

  /// Closes the gap that a text leaves.
  public mutating func remove(_ range: ByteRange) {
    let end = range.offset &+ range.count
    precondition(range.offset >= 0 && range.count >= 0 && end <= used)
    region.move(from: end, to: range.offset, count: used &- end)
    used &-= range.count
  }

  /// Where a text begins that was at `offset`, once another has been removed.
  @inline(__always)
  public static func offset(_ offset: UInt32, without removed: ByteRange) -> UInt32 {
    Int(truncatingIfNeeded: offset) > removed.offset
      ? offset &- UInt32(truncatingIfNeeded: removed.count) : offset
  }

  /// Whether the text at a place is this one.
  public func isEqual(_ range: ByteRange, to text: Span<UInt8>) -> Bool {
    guard range.count == text.count else { return false }
    let stored = region.bytes(at: range.offset, count: range.count)
    for index in 0..<text.count where stored[index] != text[index] { return false }
    return true
  }
}
