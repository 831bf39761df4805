/// Texts in slots, found by a hash. All of them are in one region, one behind the other.
///
/// In a table without an index, the gap of a text that is removed is closed at once. In a larger one, gaps
/// stay until they are more than a quarter of the capacity, by which the region is larger; then all are
/// closed. So removing a text moves few others on average, however many there are. For that, each text has
/// its slot and its size in front of it. Adding a text moves no other one.
public struct TextTable: ~Copyable {
  struct Place: BitwiseCopyable {
    var offset: UInt32
    /// 0: there is no text.
    var size: UInt16
    var hash: UInt16
  }

  private var places: Table<Place>
  private var region: Region
  private var index: HashIndex
  /// How many bytes of texts there is room for.
  public let capacity: Int
  /// How many bytes the texts take.
  private var used = 0
  /// Where the next text is put.
  private var end = 0
  // There are at most 65,535 texts.
  private var textCount: UInt16 = 0

  /// Where the parts of a table are in the caller's block.
  public struct Plan: BitwiseCopyable {
    let places: ArenaSlice<Place>
    let links: ArenaSlice<UInt16>
    let region: ArenaSlice<UInt8>
    let capacity: Int

    /// For at most 65,535 texts, each of which has 1 to 65,535 bytes.
    @inline(never)
    @_optimize(size)
    public init(slots: Int, bytes: Int, in plan: inout ArenaLayout) {
      places = plan.reserve(slots, of: Place.self)
      links = plan.reserve(HashIndex.linkCount(for: slots), of: UInt16.self)
      region = plan.reserve(
        links.count == 0 ? bytes : bytes &+ TextTable.slack(bytes) &+ TextTable.headerSize &* slots,
        of: UInt8.self)
      capacity = bytes
    }
  }

  private static var headerSize: Int { 4 }

  /// Returns how many bytes of gaps stay. The largest tables have less than a quarter: on 32 bits all that a
  /// client may have is not far from the end of the memory.
  private static func slack(_ capacity: Int) -> Int { min(capacity >> 2, 1 << 24) }

  @inline(never)
  @_optimize(size)
  public init(_ plan: Plan, in block: borrowing Arena) {
    places = block.table(plan.places)
    region = block.region(plan.region)
    index = HashIndex(links: block.table(plan.links))
    capacity = plan.capacity
    places.clear()
  }

  public var slots: Int { places.count }

  /// Whether slots are found by their hash.
  public var hasIndex: Bool { !index.isEmpty }

  /// How many texts there are.
  public var count: Int { Int(textCount) }

  /// How many bytes are free.
  public var free: Int { capacity &- used }

  // MARK: Things that are wanted

  /// Puts a text into a slot that has none. There must be room for it.
  @inline(never)
  @_optimize(size)
  public mutating func add(_ slot: Int, _ text: Span<UInt8>, _ hash: UInt16) {
    precondition(text.count <= free && places[slot].size == 0)
    let size = UInt16(truncatingIfNeeded: text.count)
    if hasIndex {
      var header = region.mutableBytes(in: end..<end &+ Self.headerSize)
      header[0] = UInt8(truncatingIfNeeded: slot >> 8)
      header[1] = UInt8(truncatingIfNeeded: slot)
      header[2] = UInt8(truncatingIfNeeded: size >> 8)
      header[3] = UInt8(truncatingIfNeeded: size)
      end &+= Self.headerSize
    }
    var target = region.mutableBytes(in: end..<end &+ text.count)
    copy(text, into: &target)
    places[slot] = Place(offset: UInt32(truncatingIfNeeded: end), size: size, hash: hash)
    index.insert(slot, UInt32(hash))
    end &+= text.count
    used &+= text.count
    textCount &+= 1
  }

  /// Removes the text of a slot that has one.
  @inline(never)
  @_optimize(size)
  public mutating func remove(_ slot: Int) {
    let removed = range(slot)
    precondition(removed.count > 0)
    index.remove(slot, UInt32(places[slot].hash))
    // A slot without a text has an offset that is not adapted, and can be read.
    places[slot] = Place(offset: 0, size: 0, hash: 0)
    used &-= removed.count
    textCount &-= 1
    guard count > 0 else {
      end = 0
      return
    }
    if hasIndex {
      if end &- used &- Self.headerSize &* count > Self.slack(capacity) { closeGaps() }
      return
    }
    region.move(from: removed.end, to: removed.offset, count: end &- removed.end)
    end &-= removed.count
    for other in 0..<places.count where Int(truncatingIfNeeded: places[other].offset) > removed.offset {
      places[other].offset &-= UInt32(truncatingIfNeeded: removed.count)
    }
  }

  @inline(never)
  @_optimize(size)
  private mutating func closeGaps() {
    var position = 0
    let oldEnd = end
    end = 0
    while position < oldEnd {
      let slot = Int(region.uint16(at: position))
      let size = Self.headerSize &+ Int(region.uint16(at: position &+ 2))
      // A text whose slot has another one, or none, is a gap.
      if places[slot].size > 0,
        Int(truncatingIfNeeded: places[slot].offset) == position &+ Self.headerSize
      {
        region.move(from: position, to: end, count: size)
        places[slot].offset = UInt32(truncatingIfNeeded: end &+ Self.headerSize)
        end &+= size
      }
      position &+= size
    }
  }

  // MARK: Outputs

  /// Returns where the text of a slot is in `bytes`; its size is 0 if there is none.
  public func range(_ slot: Int) -> ByteRange {
    ByteRange(offset: Int(truncatingIfNeeded: places[slot].offset), count: Int(places[slot].size))
  }

  public var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { region.bytes }
  }

  @_lifetime(borrow self)
  public borrowing func text(_ slot: Int) -> Span<UInt8> {
    region.bytes(at: range(slot).offset, count: range(slot).count)
  }

  public func hash(_ slot: Int) -> UInt16 { places[slot].hash }

  /// Returns the first slot whose text may have this hash.
  public func first(_ hash: UInt16) -> Int? { index.first(UInt32(hash), of: places.count) }

  /// Returns the next one. There may be slots without a text among them.
  @inline(__always)
  public func next(_ slot: Int) -> Int? { index.next(slot, of: places.count) }

  /// Returns a hash for a text that is found by all of its bytes.
  public func hash(of text: Span<UInt8>) -> UInt16 { hasIndex ? TopicHash.short(of: text) : 0 }

  /// Returns the slot that has this text, which was added with `hash(of:)`.
  @inline(never)
  @_optimize(size)
  public func find(_ text: Span<UInt8>) -> Int? {
    guard used > 0 else { return nil }
    let hash = hash(of: text)
    var candidate = first(hash)
    while let slot = candidate {
      if places[slot].hash == hash, Int(places[slot].size) == text.count, isEqual(slot, to: text) {
        return slot
      }
      candidate = next(slot)
    }
    return nil
  }

  private func isEqual(_ slot: Int, to text: Span<UInt8>) -> Bool {
    let stored = self.text(slot)
    // From the end on: topics often have the same beginning.
    var index = text.count
    while index > 0 {
      index &-= 1
      guard stored[index] == text[index] else { return false }
    }
    return text.count > 0
  }
}
