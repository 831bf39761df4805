import MQTTWire
import Storage

/// Finds the packets in what goes one way over a connection, which is told in pieces of any size.
///
/// It keeps no byte. A packet is told when it is there to be read as a whole: one that is sent with its first byte, when
/// all of it lies in the outbox; one that is received with its last byte, when all of it lies in the receive buffer. One
/// that never lies there as a whole is told with what is there of it at first.
struct PacketFramer: BitwiseCopyable {
  /// The bytes that are still to come of a packet that was told.
  private var rest: UInt32 = 0
  /// Those that have come of one that was not: the last of those that are here.
  private(set) var begun: UInt32 = 0
  /// Where packets begin is known.
  private(set) var isInStep = true
  /// What came was no packet: nothing more is read of this connection.
  private var isOver = false

  /// What is next is the first byte of a packet.
  mutating func begin() { self = PacketFramer() }

  /// What comes next is somewhere in a packet.
  mutating func loseStep() {
    self = PacketFramer()
    isInStep = false
  }

  /// So many bytes have come that were not told, and begin a packet.
  mutating func holds(_ count: Int) { begun = UInt32(truncatingIfNeeded: count) }

  /// `count` bytes from the front of `bytes`, and of `payload` behind them, go out. All of a packet that begins there
  /// is there.
  @inline(__always)
  mutating func sent(
    _ count: Int, of bytes: Span<UInt8>, _ payload: Span<UInt8>, _ context: PacketContext,
    _ tell: (borrowing ObservedPacket) -> Void
  ) {
    guard isInStep, !isOver else { return }
    var offset = skip(count)
    while offset < count, offset < bytes.count {
      let packet = bytes.extracting(offset..<bytes.count)
      guard let header = try? FixedHeader(parsing: packet, version: context.version) else {
        isOver = true  // not to happen: the session encodes whole packets
        return
      }
      let size = header.packetSize
      let front = packet.extracting(0..<min(size, packet.count))
      tell(
        ObservedPacket(
          .sent, header, context, front: front,
          payload: payload.extracting(0..<min(payload.count, size &- front.count))))
      rest = UInt32(truncatingIfNeeded: size)
      offset &+= skip(count &- offset)
    }
  }

  /// The last `arrived` of `bytes` have come in, after those that had begun. `capacity`: more are never here at a time.
  @inline(__always)
  mutating func received(
    _ arrived: Int, of bytes: Span<UInt8>, capacity: Int, _ context: PacketContext,
    _ tell: (borrowing ObservedPacket) -> Void
  ) {
    guard isInStep, !isOver else { return }
    var offset = skip(arrived)
    while offset < bytes.count {
      let here = bytes.extracting(offset..<bytes.count)
      begun = UInt32(truncatingIfNeeded: here.count)
      var header: FixedHeader
      do throws(Malformed) {
        guard let parsed = try FixedHeader(parsing: here, version: context.version) else { return }
        header = parsed
      } catch {
        tell(ObservedPacket(.received, notAPacket: here, context))
        isOver = true
        return
      }
      let size = header.packetSize
      guard size <= here.count || size > capacity else { return }
      begun = 0
      tell(
        ObservedPacket(
          .received, header, context, front: here.extracting(0..<min(size, here.count))))
      rest = UInt32(truncatingIfNeeded: size)
      offset &+= skip(here.count)
    }
  }

  /// Returns how many of the next `count` bytes belong to a packet that was told.
  @inline(__always)
  private mutating func skip(_ count: Int) -> Int {
    let skipped = min(Int(truncatingIfNeeded: rest), count)
    rest &-= UInt32(truncatingIfNeeded: skipped)
    return skipped
  }
}
