public import Storage

/// The names of a journal's file, each with a zero at its end: its path, and the one that it has until all of it is
/// written. They are in the caller's block, because a stack has no room for them.
public struct JournalNames: ~Copyable {
  let path: Region
  var unfinished: Region

  private static var suffixSize: Int { 4 }

  public struct Plan: BitwiseCopyable {
    let path: ArenaSlice<UInt8>
    let unfinished: ArenaSlice<UInt8>

    /// `nil`: there is no journal.
    @_optimize(size)
    public init(_ path: Span<UInt8>?, in plan: inout ArenaLayout) {
      let count = path?.count ?? -1
      self.path = plan.reserve(count &+ 1, of: UInt8.self)
      unfinished = plan.reserve(count < 0 ? 0 : count &+ suffixSize &+ 1, of: UInt8.self)
    }
  }

  /// `path` has no zero, and is the one of the plan.
  @_optimize(size)
  public init(_ path: Span<UInt8>, _ plan: Plan, in block: borrowing Arena) {
    var name = block.region(plan.path)
    var other = block.region(plan.unfinished)
    Self.put(path, into: &name)
    Self.put(path, into: &other)
    Self.putSuffix(into: &other, at: path.count)
    self.path = name
    unfinished = other
  }

  @_optimize(size)
  private static func putSuffix(into name: inout Region, at offset: Int) {
    let suffix: InlineArray<4, UInt8> = [0x2E, 0x6E, 0x65, 0x77]  // ".new"
    var end = name.mutableBytes(in: offset..<offset &+ suffixSize)
    copy(suffix.span, into: &end)
  }

  @inline(never)
  @_optimize(size)
  private static func put(_ path: Span<UInt8>, into name: inout Region) {
    name.wipe(0..<name.count)
    var start = name.mutableBytes(in: 0..<path.count)
    copy(path, into: &start)
  }
}
