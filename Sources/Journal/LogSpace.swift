/// Where in the ring the next commit goes, and what may be overwritten.
///
///     durableHead          head                 next
///     ───┼──────────────────┼────────────────────┼───────────
///        │ until the next   │ what recovery      │ free, up to
///        │ commit is        │ needs              │ durableHead
///        │ durable, too     │                    │ a lap later
///
/// The rule of reuse: a commit carries the head that holds once it is durable. Until then recovery begins at
/// the head of the commit before, so the blocks from there on must not be overwritten.
public struct LogSpace: BitwiseCopyable {
  let salt: Salt
  let ring: Ring
  /// Where the next commit goes.
  public private(set) var next: LogPosition
  /// The first position behind the last commit that is durable: what lies between it and `next` has failed, and
  /// may be written over when no other room is left.
  private var origin: LogPosition
  /// The last block of the last commit that is durable.
  private(set) var last: LogPosition?
  /// How many commits have failed.
  private var failures: UInt32
  /// The oldest block that recovery needed after the last commit that is durable.
  private(set) var durableHead: LogPosition
  /// Where the commit that is being written begins, its head, and how many blocks it has.
  private var flight: (first: LogPosition, head: LogPosition, count: UInt32)? = nil

  /// A new file has no commit.
  @inline(never)
  @_optimize(size)
  public init(_ superblock: Superblock) {
    salt = superblock.salt
    ring = Ring(count: superblock.blocks)
    next = .beginning
    origin = .beginning
    last = nil
    durableHead = .beginning
    failures = 0
  }

  /// That of no file.
  public static var none: LogSpace {
    LogSpace(Superblock(salt: Salt(low: 0, high: 0), blocks: 1, owner: Salt(low: 0, high: 0)))
  }

  /// What recovery has found.
  @inline(never)
  @_optimize(size)
  init(
    _ salt: Salt, _ ring: Ring, next: LogPosition, last: LogPosition?, durableHead: LogPosition,
    failures: UInt32
  ) {
    self.salt = salt
    self.ring = ring
    self.next = next
    origin = last.map { ring.advanced($0, by: 1) } ?? next
    self.last = last
    self.durableHead = durableHead
    self.failures = failures
  }

  /// How many blocks are free now.
  public var free: UInt32 {
    ring.count &- (ring.distance(from: durableHead, to: next) ?? ring.count)
  }

  /// Sees that so many blocks are free at `next`, if there are as many at all. Blocks whose commit has failed are
  /// the last choice: what broke one may break it again.
  @_optimize(size)
  public mutating func makeRoom(for blocks: UInt32) {
    if free < blocks { next = origin }
  }

  public var isWriting: Bool { flight != nil }

  /// How many blocks of the ring would be in use behind a head.
  public func used(from head: LogPosition) -> UInt32 { ring.distance(from: head, to: next) ?? ring.count }

  /// Returns how many blocks before the next commit the block at a place of the ring was written; 0: it is the first
  /// of that commit.
  @_optimize(size)
  public func age(of place: UInt32) -> UInt32 {
    place <= next.place ? next.place &- place : ring.count &- (place &- next.place)
  }

  /// The position of a block that was written so many blocks before the next commit.
  public func position(age: UInt32) -> LogPosition { ring.before(next, by: age) ?? .beginning }

  /// Whether a commit is durable.
  public var hasCommit: Bool { last != nil }

  /// The oldest block that recovery needs now.
  public var head: LogPosition { durableHead }

  /// How many blocks the ring has.
  public var blocks: UInt32 { ring.count }

  /// Seals a commit that goes to `next`; the caller has checked that there is room. `head`, which is not before
  /// the last one, is the oldest block that recovery needs once the commit is durable, perhaps its own first
  /// one. `written` follows before the next commit.
  @inline(never)
  @_optimize(size)
  public mutating func write(_ commit: inout Commit, head: LogPosition) {
    let count = UInt32(truncatingIfNeeded: commit.blockCount)
    precondition(flight == nil && count > 0 && count <= free)
    guard let distance = ring.distance(from: head, to: next) else { preconditionFailure() }
    var back: UInt32 = 0
    if let last { back = ring.distance(from: last, to: next) ?? 0 }
    commit.seal(
      BlockHeader(
        salt: salt, position: next, head: distance, back: back, failures: failures, index: 0, count: 0,
        used: 0),
      in: ring)
    flight = (next, head, count)
    next = ring.advanced(next, by: count)
  }

  /// The runs of blocks in which the commit that is being written goes to the file: block numbers of the
  /// file, of which the second run has none unless the ring wraps.
  public var runs: (first: (block: UInt32, count: UInt32), second: (block: UInt32, count: UInt32)) {
    guard let flight else { return ((0, 0), (0, 0)) }
    let start = UInt32(truncatingIfNeeded: Superblock.count)
    let first = min(flight.count, ring.count &- flight.first.place)
    return ((start &+ flight.first.place, first), (start, flight.count &- first))
  }

  /// Handles that the commit is durable. If it is not, because a write or the sync has failed, nobody knows what is
  /// on the disk there, and what will be: the next commit goes to other blocks, and counts one failure more.
  @inline(never)
  @_optimize(size)
  public mutating func written(_ isDurable: Bool) {
    guard let flight else { return }
    self.flight = nil
    guard isDurable else {
      failures &+= 1
      return
    }
    durableHead = flight.head
    origin = next
    last = ring.advanced(flight.first, by: flight.count &- 1)
  }
}
