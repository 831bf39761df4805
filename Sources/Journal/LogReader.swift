public import Storage

/// Recovery: finds the last commit that is whole, and reads the records from the head that it names up to its
/// own.
///
/// It does no IO. `next` says which blocks it needs; the caller puts them into `buffer` and calls `wasRead`.
/// One commit is written at a time. So what is not whole behind the last whole commit is the one that was
/// being written when the power failed: it is left out and counted. What is not whole before it was durable
/// once: that is corruption, which is never passed over.
public struct LogReader: BitwiseCopyable {
  public enum Step: BitwiseCopyable {
    /// Read `count` blocks of the file from `block` on to `offset` of the buffer.
    case read(block: UInt32, count: UInt32, offset: Int)
    /// The records of the next commit, in the buffer.
    case records(ByteRange)
    /// All has been read: `space` says where the next commit goes.
    case end
    case failed(Mistake)
  }

  public enum Mistake: Error, BitwiseCopyable {
    /// A block that was durable is not as it was written.
    case corrupt
    /// A commit has more blocks than the buffer has room for.
    case buffer
  }

  /// Commits that failed, between one that did not and the next. They are not read, even if they are whole:
  /// what they had is in the commits behind them as well.
  private struct Gap: BitwiseCopyable {
    /// The last block before it, and the first behind it.
    var start: LogPosition
    var end: LogPosition
    var failures: UInt32
  }

  /// What is being done. Each has blocks loaded, and goes on with them.
  private enum Phase: BitwiseCopyable {
    /// All headers are looked at, from the first place to the last.
    case scanning(place: UInt32)
    /// The newest block is there; its commit is looked at whole.
    case checkingNewest
    /// The last block of the commit before it, to see where that begins.
    case findingLast
    case checkingLast
    /// The records are read. `consumed` of the loaded blocks are behind us.
    case replaying(consumed: UInt32)
    /// The headers up to the last are looked at, to find the next gap.
    case findingGap
    case ended
    case failed(Mistake)
  }

  let salt: Salt
  let ring: Ring
  /// How many blocks the buffer has room for.
  private let capacity: UInt32
  private var phase: Phase
  // The blocks that the buffer has, or is about to have: `count` from `first` on, of which `loaded` were
  // read.
  private var first = LogPosition.beginning
  private var count: UInt32 = 0
  private var loaded: UInt32 = 0

  private var newest: BlockHeader? = nil
  /// The last block of the last commit that is whole, and the head that it names.
  private var last = LogPosition.beginning
  private var head = LogPosition.beginning
  /// The last block of the commit that was read last, and of the last one that was not read again.
  private var previous: LogPosition? = nil
  private var lastRead: LogPosition? = nil
  /// The next place where commits failed, and where reading goes on when it was found.
  private var gap: Gap? = nil
  private var hasNoMoreGaps = false
  private var resumption = LogPosition.beginning
  private var mostFailures: UInt32 = 0
  /// Commits are read one by one, as the caller asks for them.
  private var isReadingOne = false

  /// How many blocks there are of a commit that was being written when the power failed.
  public private(set) var torn: UInt32 = 0
  public private(set) var commits: UInt32 = 0
  /// How many commits had failed before the last one that is whole, since the file was made.
  public private(set) var failures: UInt32 = 0

  /// `capacity` is how many blocks the buffer has room for, at least 1.
  @_optimize(size)
  public init(_ superblock: Superblock, capacity: UInt32) {
    precondition(capacity > 0)
    self.capacity = capacity
    salt = superblock.salt
    ring = Ring(count: superblock.blocks)
    phase = .scanning(place: 0)
    load(LogPosition.beginning, min(ring.count, capacity))
  }

  /// Returns what is to be done next. It is bounded: the ring is read at most three times, and
  /// once more for each place in it where commits have failed.
  /// `buffer` is the same each time, and has what was read.
  @inline(never)
  @_optimize(size)
  public mutating func next(_ buffer: inout Region) -> Step {
    while true {
      if loaded < count { return readRequest }
      switch phase {
      case .scanning(let place): scanned(place, buffer)
      case .checkingNewest: checkedNewest(buffer)
      case .findingLast: foundLast(buffer)
      case .checkingLast: checkedLast(buffer)
      case .replaying(let consumed):
        if let records = replay(from: consumed, &buffer) { return .records(records) }
      case .findingGap: searchedGap(buffer)
      case .ended: return .end
      case .failed(let mistake): return .failed(mistake)
      }
    }
  }

  /// Handles that the blocks which `next` asked for are in the buffer.
  public mutating func wasRead() { loaded &+= run }

  /// The first block of the commit whose records came last.
  public private(set) var position = LogPosition.beginning

  /// What recovery needs, after `end`: the first block, and how many there are.
  @_optimize(size)
  var span: (first: LogPosition, count: UInt32) {
    guard commits > 0, let distance = ring.distance(from: head, to: last) else { return (.beginning, 0) }
    return (head, distance &+ 1)
  }

  /// Where the next commit goes, after `end`.
  public var space: LogSpace {
    LogSpace(
      salt, ring, next: nextPosition, last: lastRead, durableHead: commits > 0 ? head : nextPosition,
      failures: torn > 0 ? (newest?.failures ?? 0) &+ 1 : failures)
  }

  // MARK: Loading

  @_optimize(size)
  private mutating func load(_ first: LogPosition, _ count: UInt32) {
    self.first = first
    self.count = count
    loaded = 0
  }

  /// How many of the blocks that are missing are one run in the file.
  private var run: UInt32 { min(count &- loaded, ring.count &- ring.advanced(first, by: loaded).place) }

  private var readRequest: Step {
    let place = ring.advanced(first, by: loaded).place
    return .read(
      block: UInt32(truncatingIfNeeded: Superblock.count) &+ place, count: run, offset: offset(of: loaded))
  }

  private func offset(of index: UInt32) -> Int { Int(truncatingIfNeeded: index) &* Block.size }

  @_optimize(size)
  private func header(_ index: UInt32, _ buffer: borrowing Region) -> BlockHeader? {
    let block = buffer.bytes(at: offset(of: index), count: Block.size)
    let position = ring.advanced(first, by: index)
    guard let header = BlockHeader(block), header.salt == salt, header.position.place == position.place else {
      return nil
    }
    return header
  }

  /// Returns whether the blocks from one of those in the buffer on are one whole commit, and all there. Blocks
  /// of a commit that failed may lie between them: those have another count of failures.
  @inline(never)
  @_optimize(size)
  private func isCommit(from start: UInt32, count size: UInt32, _ buffer: borrowing Region) -> Bool {
    guard let begin = header(start, buffer) else { return false }
    for index in 0..<size {
      guard let header = header(start &+ index, buffer),
        header.position == ring.advanced(first, by: start &+ index), UInt32(header.index) == index,
        UInt32(header.count) == size, header.failures == begin.failures,
        header.isWhole(buffer.bytes(at: offset(of: start &+ index), count: Block.size))
      else { return false }
    }
    return true
  }

  // MARK: Finding the last commit

  @inline(never)
  @_optimize(size)
  private mutating func scanned(_ place: UInt32, _ buffer: borrowing Region) {
    for index in 0..<count {
      guard let header = header(index, buffer) else { continue }
      if let newest, header.isOlder(than: newest) { continue }
      newest = header
    }
    let following = place &+ count
    if following < ring.count {
      phase = .scanning(place: following)
      return load(LogPosition(lap: 0, place: following), min(ring.count &- following, capacity))
    }
    guard let newest else { return phase = .ended }
    check(newest, otherwise: .checkingNewest)
  }

  /// Loads the commit to which a block belongs.
  @_optimize(size)
  private mutating func check(_ header: BlockHeader, otherwise phase: Phase) {
    guard UInt32(header.count) <= capacity else { return self.phase = .failed(.buffer) }
    guard UInt32(header.count) <= ring.count else { return self.phase = .failed(.corrupt) }
    guard let first = ring.before(header.position, by: UInt32(header.index)) else {
      return self.phase = .failed(.corrupt)
    }
    self.phase = phase
    load(first, UInt32(header.count))
  }

  @inline(never)
  @_optimize(size)
  private mutating func checkedNewest(_ buffer: borrowing Region) {
    guard let newest else { return phase = .ended }
    if isCommit(from: 0, count: count, buffer) { return begin(newest) }
    for index in 0..<count {
      if let header = header(index, buffer), header.position == ring.advanced(first, by: index) { torn &+= 1 }
    }
    // The first commit of all was being written.
    guard newest.back > 0 else { return phase = .ended }
    guard let end = ring.before(first, by: newest.back) else { return phase = .failed(.corrupt) }
    phase = .findingLast
    load(end, 1)
  }

  @_optimize(size)
  private mutating func foundLast(_ buffer: borrowing Region) {
    guard let header = header(0, buffer), header.position == first, header.index == header.count &- 1 else {
      return phase = .failed(.corrupt)
    }
    check(header, otherwise: .checkingLast)
  }

  @_optimize(size)
  private mutating func checkedLast(_ buffer: borrowing Region) {
    guard isCommit(from: 0, count: count, buffer), let header = header(count &- 1, buffer) else {
      return phase = .failed(.corrupt)
    }
    begin(header)
  }

  /// Begins to read the records: the blocks in the buffer are the last commit, to which `header` belongs.
  @_optimize(size)
  private mutating func begin(_ header: BlockHeader) {
    last = ring.advanced(first, by: count &- 1)
    failures = header.failures
    guard let head = ring.before(first, by: header.head) else { return phase = .failed(.corrupt) }
    self.head = head
    seek(head)
  }

  /// After `end`: reads the commit again that begins at a place, and no other.
  @_optimize(size)
  public mutating func read(commitAt place: UInt32) {
    let age = place <= last.place ? last.place &- place : ring.count &- (place &- last.place)
    guard let position = ring.before(last, by: age) else { return phase = .failed(.corrupt) }
    isReadingOne = true
    previous = nil
    gap = nil
    seek(position)
  }

  // MARK: Reading records

  /// Goes on with the commit that begins at a position.
  @_optimize(size)
  private mutating func seek(_ position: LogPosition) {
    phase = .replaying(consumed: 0)
    loadUpToLast(position)
  }

  @_optimize(size)
  private mutating func loadUpToLast(_ position: LogPosition) {
    guard let distance = ring.distance(from: position, to: last) else { return phase = .failed(.corrupt) }
    load(position, min(distance &+ 1, capacity))
  }

  /// Returns the records of the next commit; `nil` if blocks have to be read, or there is none.
  @inline(never)
  @_optimize(size)
  private mutating func replay(from consumed: UInt32, _ buffer: inout Region) -> ByteRange? {
    if let previous, consumed > 0 || previous == gap?.start {
      if previous == last || isReadingOne {
        phase = .ended
        return nil
      }
      if let gap, previous == gap.start {
        self.gap = nil
        seek(gap.end)
        return nil
      }
    }
    let position = ring.advanced(first, by: consumed)
    guard consumed < count else {
      seek(position)
      return nil
    }
    guard let header = header(consumed, buffer), header.position == position, header.index == 0 else {
      phase = .failed(.corrupt)
      return nil
    }
    if header.failures != failures, gap == nil, !hasNoMoreGaps, !isReadingOne {
      findGap(from: position, failures: header.failures)
      return nil
    }
    let size = UInt32(header.count)
    guard size <= ring.count else {
      phase = .failed(.corrupt)
      return nil
    }
    guard size <= count &- consumed else {
      if consumed > 0 { seek(position) } else { phase = .failed(size > capacity ? .buffer : .corrupt) }
      return nil
    }
    guard isCommit(from: consumed, count: size, buffer) else {
      phase = .failed(.corrupt)
      return nil
    }
    self.position = position
    previous = ring.advanced(position, by: size &- 1)
    if !isReadingOne { lastRead = previous }
    commits &+= 1
    phase = .replaying(consumed: consumed &+ size)
    return joinRecords(from: consumed, count: size, &buffer)
  }

  // MARK: Gaps

  /// Looks for the first gap behind the commit that begins at a position, or in its stead.
  @_optimize(size)
  private mutating func findGap(from position: LogPosition, failures: UInt32) {
    resumption = position
    mostFailures = failures
    phase = .findingGap
    loadUpToLast(ring.advanced(position, by: 1))
  }

  /// Behind a gap may be several commits that follow the same one, of which all but the one with the most
  /// failures before it have failed as well. What counts fewer failures than a block before it has failed long ago, and
  /// was not written over.
  @inline(never)
  @_optimize(size)
  private mutating func searchedGap(_ buffer: borrowing Region) {
    for index in 0..<count {
      let position = ring.advanced(first, by: index)
      guard let header = header(index, buffer), header.position == position,
        header.failures > mostFailures
      else { continue }
      mostFailures = header.failures
      guard header.index == 0, header.back > 1, let start = ring.before(position, by: header.back) else {
        continue
      }
      if let gap, gap.start < start || (gap.start == start && gap.failures > header.failures) { continue }
      if let previous, start < previous { continue }
      gap = Gap(start: start, end: position, failures: header.failures)
    }
    let end = ring.advanced(first, by: count)
    if last < end {
      // Commits that failed were written over, or lie behind the last one.
      if gap == nil { hasNoMoreGaps = true }
      seek(resumption)
    } else {
      loadUpToLast(end)
    }
  }

  /// Moves the bodies of a commit together, behind the header of its first block.
  @inline(never)
  @_optimize(size)
  private func joinRecords(
    from index: UInt32, count size: UInt32, _ buffer: inout Region
  ) -> ByteRange {
    let start = offset(of: index) &+ BlockHeader.size
    var end = start
    for block in index..<index &+ size {
      let used = Int(header(block, buffer)?.used ?? 0)
      buffer.move(from: offset(of: block) &+ BlockHeader.size, to: end, count: used)
      end &+= used
    }
    return ByteRange(offset: start, count: end &- start)
  }

  /// The first position of which no block was ever written.
  private var nextPosition: LogPosition {
    guard let newest else { return .beginning }
    return ring.advanced(newest.position, by: 1)
  }
}
