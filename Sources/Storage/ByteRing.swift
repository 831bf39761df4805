/// A ring of packets, each of them contiguous. They are added at the tail, and their owner knows the head,
/// where the oldest begins. A packet that does not fit before the end of the region begins at its front,
/// once the head has moved on.
///
/// `tail` is never outside the region, nor is `roomEnd`: a packet that ends before it needs no other check.
@safe public struct ByteRing: ~Copyable {
  private var region: Region
  /// The offset of the next packet, if it fits there.
  public private(set) var tail = 0
  /// The bytes behind the tail are free up to here at least; 0: not known, or there is room elsewhere.
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

  /// Returns how many bytes there are from the oldest packet to the tail, with what is left free in
  /// between.
  public func count(head: Int) -> Int { tail > head ? tail - head : region.count - head + tail }

  /// Returns whether a packet of `size` bytes fits behind the tail, as far as is known.
  @inline(__always)
  public func fits(_ size: Int) -> Bool { tail &+ size <= roomEnd }

  /// Returns where a packet of `size` bytes fits: behind the tail, or at the front once the head has moved.
  /// `head` is `nil` if there is no packet.
  public func room(for size: Int, head: Int?) -> Int? {
    guard let head else { return size <= region.count ? 0 : nil }
    guard tail > head else { return head &- tail >= size ? tail : nil }
    if region.count &- tail >= size { return tail }
    return head >= size ? 0 : nil
  }

  // MARK: The tail

  /// Returns a writer for `size` bytes behind the tail, which moves on.
  ///
  /// The caller guarantees that they fit there, as `fits` or `open` has just said, and that it writes no
  /// more than that.
  @_lifetime(&self)
  @inline(__always)
  @unsafe public mutating func append(_ size: Int) -> UncheckedWriter {
    let start = tail
    assert(size >= 0 && start &+ size <= roomEnd)
    tail = start &+ size
    return unsafe region.uncheckedWriter(at: start, count: size)
  }

  /// Lets the next packet begin at `offset`, where `room` has found space for it.
  public mutating func open(at offset: Int, head: Int?) {
    moveTail(to: offset)
    let head = head ?? 0
    precondition(head <= region.count)
    roomEnd = head > offset ? head : region.count
  }

  /// Moves the tail away from the end of the last packet.
  public mutating func moveTail(to offset: Int) {
    precondition(offset >= 0 && offset <= region.count)
    tail = offset
    roomEnd = 0
  }

  /// Forgets how many bytes behind the tail are free.
  @inline(__always)
  public mutating func forgetRoom() { roomEnd = 0 }

  /// Removes all packets.
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

  /// Returns a writer for a packet of at most `size` bytes at `offset`.
  ///
  /// The caller guarantees that it writes no more than that.
  @_lifetime(&self)
  @inline(__always)
  @unsafe public mutating func writer(at offset: Int, count size: Int) -> UncheckedWriter {
    unsafe region.writer(at: offset, count: size)
  }

  /// Moves `count` bytes from one offset to another; the two ranges may overlap.
  public mutating func move(from source: Int, to target: Int, count moved: Int) {
    region.move(from: source, to: target, count: moved)
  }

  /// Overwrites the whole region with zeros.
  public mutating func wipe() { region.wipe(0..<region.count) }
}
