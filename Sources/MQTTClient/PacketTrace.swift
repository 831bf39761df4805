public import Storage

/// The last packets that went over the connection, each with no more than its first bytes, in a ring of bytes: what is
/// new takes the place of what is oldest.
public struct PacketTrace: ~Copyable {
  private var region: Region
  /// How much is kept of a packet at most.
  private let longest: Int
  /// Where the oldest entry is, and where the next one goes, if it fits there.
  private var head = 0
  private var tail = 0
  /// Where entries end that are followed by one at the front of the region.
  private var end: Int
  private var count = 0

  init(region: consuming Region, longest: Int) {
    end = region.count
    self.region = region
    self.longest = longest
  }

  mutating func clear() {
    (head, tail, count) = (0, 0, 0)
    end = region.count
  }

  @_optimize(size)
  mutating func append(_ packet: borrowing ObservedPacket) {
    let captured = min(packet.captured, longest)
    let size = TraceEntry.headerSize &+ captured
    makeRoom(for: size)
    let entry = TraceEntry(packet, captured: captured)
    var space = region.mutableBytes(in: tail..<tail &+ size)
    entry.encode(into: &space)
    var bytes = space._mutatingExtracting(TraceEntry.headerSize..<size)
    _ = packet.copyMasked(into: &bytes)
    tail &+= size
    count &+= 1
  }

  /// Hands out what is there, the oldest first. Returns how many packets that were.
  @_optimize(size)
  @unsafe public func tell(_ function: PacketHook.Function, user: UnsafeMutableRawPointer?) -> Int {
    let hook = unsafe PacketHook(function, user: user)
    forEach { hook.call($0) }
    return count
  }

  func forEach(_ body: (borrowing ObservedPacket) -> Void) {
    var (offset, end) = (head, end)
    for _ in 0..<count {
      if offset == end { (offset, end) = (0, tail) }
      let entry = TraceEntry(region.bytes(at: offset, count: TraceEntry.headerSize))
      offset &+= TraceEntry.headerSize
      body(ObservedPacket(entry, region.bytes(at: offset, count: entry.captured)))
      offset &+= entry.captured
    }
  }

  /// Drops what is oldest until so many bytes are free at the tail. They are less than the region, so this ends when
  /// nothing is left, at the latest.
  @_optimize(size)
  private mutating func makeRoom(for size: Int) {
    while count > 0 {
      if tail > head {
        if region.count &- tail >= size { return }
        (end, tail) = (tail, 0)
      } else if head &- tail >= size {
        return
      } else {
        head &+=
          TraceEntry.headerSize &+ TraceEntry(region.bytes(at: head, count: TraceEntry.headerSize)).captured
        count &-= 1
        if head == end { (head, end) = (0, region.count) }
      }
    }
    clear()
  }
}

/// What is kept of a packet beside its bytes: 16 bytes of a ring.
struct TraceEntry: BitwiseCopyable {
  let direction: UInt8
  let type: UInt8
  let time: UInt32
  let length: UInt32
  private let kept: UInt32

  var captured: Int { Int(truncatingIfNeeded: kept) }
  static var headerSize: Int { 16 }

  init(_ packet: borrowing ObservedPacket, captured: Int) {
    direction = packet.direction.rawValue
    type = packet.type
    time = packet.time.milliseconds
    length = UInt32(truncatingIfNeeded: packet.length)
    kept = UInt32(truncatingIfNeeded: captured)
  }

  /// Reads what `encode` has written.
  init(_ bytes: Span<UInt8>) {
    direction = bytes[0]
    type = bytes[1]
    time = bytes.load(at: 4, as: UInt32.self)
    length = bytes.load(at: 8, as: UInt32.self)
    kept = bytes.load(at: 12, as: UInt32.self)
  }

  func encode(into bytes: inout MutableSpan<UInt8>) {
    bytes.store(UInt32(direction) | UInt32(type) << 8, at: 0)
    bytes.store(time, at: 4)
    bytes.store(length, at: 8)
    bytes.store(kept, at: 12)
  }
}
