import MQTTWire
import Storage

/// The message whose payload is being written into the outbox.
struct Reservation: BitwiseCopyable {
  let slot: Int
  let payloadSize: Int
  /// Where the tail was before.
  let tailOffset: Int
}

/// Reserve, commit and abort: the program writes the payload straight into the outbox.
extension Outbox {
  /// Returns the space for the payload of the reservation.
  @_lifetime(&self)
  mutating func reservedPayload(_ reservation: Reservation) -> MutableSpan<UInt8> {
    let end = descriptors[reservation.slot].end
    return bytes.mutableBytes(in: end &- reservation.payloadSize..<end)
  }

  mutating func commit(_ reservation: Reservation, payloadSize: Int, limits: ServerLimits) {
    let slot = reservation.slot
    self.reservation = nil
    descriptors[slot].state = .queued
    // It may have expired while it could not be completed.
    if descriptors[slot].flags.contains(.expires) { recordExpiry(slot) }
    if payloadSize < reservation.payloadSize { shrink(slot, by: reservation.payloadSize &- payloadSize) }
    if descriptors[slot].flags.contains(.isExpendable) { addExpendable(slot) }
    // The server may have changed since the room was reserved.
    let message = descriptors[slot]
    let limit = limits.verdict(packetSize: message.size, message.flags)
    if let limit { complete(slot, .aboveLimit, reasonCode: limit.reasonCode.rawValue) }
  }

  mutating func abort(_ reservation: Reservation) {
    self.reservation = nil
    removeNewest(tailOffset: reservation.tailOffset)
  }

  /// Removes bytes from the end of the newest packet, and corrects its header.
  private mutating func shrink(_ slot: Int, by count: Int) {
    let message = descriptors[slot]
    var headerSize = 2
    while bytes.bytes[message.start &+ headerSize &- 1] >= 0x80 { headerSize &+= 1 }
    let first = bytes.bytes[message.start]
    let remainingLength = message.size &- headerSize &- count
    let start =
      message.start &+ headerSize &- 1 &- VariableByteInteger.encodedSize(remainingLength)
    var header = ByteWriter(bytes.mutableBytes(in: start..<message.start &+ headerSize))
    header.put(first)
    header.put(variableByteInteger: remainingLength)
    let shift = UInt32(truncatingIfNeeded: start &- message.start)
    descriptors[slot].offset = message.offset &+ shift
    descriptors[slot].length = message.length &- shift &- UInt32(truncatingIfNeeded: count)
    openBytes &-= message.size &- descriptors[slot].size
    if message.link != 0 { descriptors[slot].link = message.link &- shift }
    bytes.moveTail(to: message.end &- count)
  }
}
