/// Runs of bytes in a ring, each of them contiguous: they come in at the tail, and their owner knows where the oldest begins,
/// the head. A run that does not fit before the end of the region begins at its front, once the head has moved on.
///
/// `tail` is never outside the region, nor is `roomEnd`: a run that ends before it needs no other check.
@safe public struct ByteRing: ~Copyable {
  private var region: Region
  /// Where the next run begins, if it fits there.
  public private(set) var tail = 0
  /// So far the bytes behind the tail are free, if not further; 0: not known, or there is a better place.
  private var roomEnd = 0

  public init(region: consuming Region) { self.region = region }

  // MARK: Getters

  public var capacity: Int {
    @inline(__always) get { region.count }
  }

  public var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    @inline(__always)
    borrowing get { region.bytes }
  }

  /// How many bytes are between the oldest run and the tail, with what is left free in between.
  public func count(head: Int) -> Int { tail > head ? tail - head : region.count - head + tail }

  /// A run of `size` bytes fits behind the tail, as far as is known.
  @inline(__always)
  public func fits(_ size: Int) -> Bool { tail &+ size <= roomEnd }

  /// Where a run of `size` bytes fits: behind the tail, or at the front once the head has moved. `head` is `nil` if there is no
  /// run.
  public func room(for size: Int, head: Int?) -> Int? {
    guard let head else { return size <= region.count ? 0 : nil }
    guard tail > head else { return head &- tail >= size ? tail : nil }
    if region.count &- tail >= size { return tail }
    return head >= size ? 0 : nil
  }

  // MARK: The tail

  /// Room for a run of `size` bytes behind the tail, which moves on.
  ///
  /// The caller guarantees that it fits there, as `fits` or `open` has just told, and that it writes no more than that.
  @_lifetime(&self)
  @inline(__always)
  @unsafe public mutating func append(_ size: Int) -> UncheckedWriter {
    let start = tail
    assert(size >= 0 && start &+ size <= roomEnd)
    tail = start &+ size
    return unsafe region.uncheckedWriter(at: start, count: size)
  }

  /// The next run begins at `offset`, where `room` has found some for it.
  public mutating func open(at offset: Int, head: Int?) {
    moveTail(to: offset)
    let head = head ?? 0
    precondition(head <= region.count)
    roomEnd = head > offset ? head : region.count
  }

  /// The next run begins somewhere else than behind the last one.
  public mutating func moveTail(to offset: Int) {
    precondition(offset >= 0 && offset <= region.count)
    tail = offset
    roomEnd = 0
  }

  /// What is known of the room behind the tail does not hold any more.
  @inline(__always)
  public mutating func forgetRoom() { roomEnd = 0 }

  /// There is no run any more.
  @inline(__always)
  public mutating func removeAll() {
    tail = 0
    roomEnd = region.count
  }

  // MARK: What lies in it

  @_lifetime(&self)
  @inline(__always)
  public mutating func mutableBytes(in range: Range<Int>) -> MutableSpan<UInt8> {
    region.mutableBytes(in: range)
  }

  /// For a packet of `size` bytes at most, from `offset` on.
  ///
  /// The caller guarantees that it writes no more than that.
  @_lifetime(&self)
  @inline(__always)
  @unsafe public mutating func writer(at offset: Int, count size: Int) -> UncheckedWriter {
    unsafe region.writer(at: offset, count: size)
  }

  /// Moves `count` bytes from one offset to another; the two runs may overlap.
  public mutating func move(from source: Int, to target: Int, count moved: Int) {
    region.move(from: source, to: target, count: moved)
  }

  /// Overwrites the whole region with zeros.
  public mutating func wipe() { region.wipe(0..<region.count) }
}
