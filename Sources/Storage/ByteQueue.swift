/// A queue of bytes in one linear piece, so that all of them can be read in place.
///
/// `position` and `end` never leave the region, and `position` is never behind `end`: each method that
/// moves them checks its arguments. Reading at the front needs no other check than how many bytes there
/// are.
@safe public struct ByteQueue: ~Copyable {
  private var region: Region
  /// The offset of the front in `allBytes`.
  public private(set) var position = 0
  private var end = 0

  public init(region: consuming Region) { self.region = region }

  // MARK: Getters

  public var capacity: Int { region.count }

  public var count: Int {
    @inline(__always) get { end &- position }
  }

  public var isEmpty: Bool {
    @inline(__always) get { position == end }
  }

  /// How many bytes fit without moving those that are there.
  public var tailCount: Int {
    @inline(__always) get { region.count &- end }
  }

  /// From the front to the end.
  public var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    @inline(__always)
    borrowing get { region.bytes.extracting(position..<end) }
  }

  /// The whole region, for offsets that stay valid when the front moves.
  public var allBytes: Span<UInt8> {
    @_lifetime(borrow self)
    @inline(__always)
    borrowing get { region.bytes }
  }

  /// Four bytes at the front, the first one lowest; `nil` if there are fewer.
  @inline(__always)
  public var firstWord: UInt32? {
    guard count >= 4 else { return nil }
    return unsafe region.uncheckedLittleEndian(at: position)
  }

  /// Returns a byte, counted from the front.
  @inline(__always)
  public subscript(offset: Int) -> UInt8 {
    precondition(UInt(bitPattern: offset) < UInt(bitPattern: count))
    return unsafe region.uncheckedByte(at: position &+ offset)
  }

  /// Returns the number in two bytes, the high one first, counted from the front.
  @inline(__always)
  public func uint16(at offset: Int) -> UInt16 {
    precondition(offset >= 0 && offset <= count &- 2)
    return region.uint16(at: position &+ offset)
  }

  /// Returns `size` bytes that begin `offset` bytes behind the front.
  @_lifetime(borrow self)
  @inline(__always)
  public func bytes(at offset: Int, count size: Int) -> Span<UInt8> {
    precondition(offset >= 0 && size >= 0 && offset <= count &- size)
    return unsafe region.uncheckedBytes(at: position &+ offset, count: size)
  }

  /// The same, to be changed.
  @_lifetime(&self)
  public mutating func mutableBytes(at offset: Int, count size: Int) -> MutableSpan<UInt8> {
    precondition(offset >= 0 && size >= 0 && offset <= count &- size)
    return region.mutableBytes(in: position &+ offset..<position &+ offset &+ size)
  }

  // MARK: At the end

  /// Returns the space for the next bytes; `append` says how many came.
  @_lifetime(&self)
  @inline(__always)
  public mutating func tail() -> MutableSpan<UInt8> { region.mutableBytes(in: end..<region.count) }

  /// Returns a writer for `size` bytes of the space at the end.
  @_lifetime(&self)
  @inline(__always)
  @unsafe public mutating func tailWriter(count size: Int) -> UncheckedWriter {
    unsafe region.writer(at: end, count: size)
  }

  /// Appends bytes that were written into the space at the end.
  @inline(__always)
  public mutating func append(_ added: Int) {
    precondition(added >= 0 && added <= tailCount)
    end &+= added
  }

  /// Moves the bytes to the beginning of the region. No range may point to them.
  public mutating func compact() {
    region.move(from: position, to: 0, count: count)
    end &-= position
    position = 0
  }

  // MARK: At the front

  @inline(__always)
  public mutating func removeFirst(_ removed: Int) {
    precondition(removed >= 0 && removed <= count)
    position &+= removed
    if position == end { removeAll() }
  }

  /// Lets the next bytes begin at an offset, although the queue is empty: those in front of it are still read.
  public mutating func begin(at offset: Int) {
    precondition(isEmpty && offset >= 0 && offset <= capacity)
    position = offset
    end = offset
  }

  /// Removes `removed` bytes that begin `offset` bytes behind the front.
  public mutating func remove(at offset: Int, count removed: Int) {
    precondition(offset >= 0 && removed >= 0 && offset <= count &- removed)
    let rest = position &+ offset &+ removed
    region.move(from: rest, to: rest &- removed, count: end &- rest)
    end &-= removed
  }

  @inline(__always)
  public mutating func removeAll() {
    position = 0
    end = 0
  }

  /// Overwrites the whole region with zeros, including the bytes in the queue.
  public mutating func wipe() { region.wipe(0..<region.count) }
}
