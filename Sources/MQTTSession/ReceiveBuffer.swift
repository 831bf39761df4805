import FixedMemory
import MQTTWire

/// Bytes from the server in one linear run, parsed where they lie.
struct ReceiveBuffer: ~Copyable {
  private var region: Region
  private var start = 0
  private var end = 0
  private(set) var peak = 0

  init(region: consuming Region) { self.region = region }

  var capacity: Int { region.count }

  var hasSpace: Bool { end &- start < region.count }

  /// There is space without moving what is unread.
  var hasSpaceBehind: Bool { end < region.count }

  /// What was received and not yet parsed.
  var unread: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { region.bytes.extracting(start..<end) }
  }

  /// What follows the Fixed Header of the packet at the front.
  @_lifetime(borrow self)
  borrowing func body(of header: FixedHeader) -> Span<UInt8> {
    unread.extracting(header.size..<header.packetSize)
  }

  /// Everything, for extents that outlive parsing.
  var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { region.bytes }
  }

  /// Where the unread bytes begin in `bytes`.
  var position: Int { start }

  /// The place for the next bytes.
  var space: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get { region.mutableBytes(in: end..<region.count) }
  }

  /// Less than half of the region is behind the unread bytes, and there is some in front of them.
  var isCramped: Bool { start > 0 && region.count &- end < region.count / 2 }

  /// Makes the most of the space. No event may point into it.
  mutating func moveToFront() {
    region.move(from: start, to: 0, count: end &- start)
    end &-= start
    start = 0
  }

  mutating func received(_ count: Int) {
    precondition(count >= 0 && count <= region.count &- end)
    end &+= count
    peak = max(peak, end &- start)
  }

  mutating func consume(_ count: Int) {
    precondition(count >= 0 && count <= end &- start)
    start &+= count
    if start == end { removeAll() }
  }

  /// Drops `count` unread bytes that begin `offset` bytes behind the front.
  mutating func cut(at offset: Int, count: Int) {
    precondition(offset >= 0 && count >= 0 && offset + count <= end - start)
    let rest = start &+ offset &+ count
    region.move(from: rest, to: rest &- count, count: end &- rest)
    end &-= count
  }

  mutating func removeAll() {
    start = 0
    end = 0
  }
}
