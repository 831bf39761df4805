import MQTTWire
import Storage

/// Messages whose payload stays in the program's memory: the header is in the ring, and `references` has
/// where the payload is.
///
/// Such a message ends the window: the packets before it, its header and its payload are sent in one call.
extension Outbox {
  /// What is left to send of the payload that the window ends with.
  var windowPayload: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      guard Feature.hasReferences, payloadLeft > 0 else { return Span() }
      let message = descriptors[descriptors.slot(before: readySlot)]
      return references.last(payloadLeft, of: Int(message.tag))
    }
  }

  /// The same, if it follows `restOfPacket`.
  var payloadOfPacket: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { windowCount == 1 ? windowPayload : Span() }
  }

  /// Handles that the window now ends with the header of a packet, whose payload may follow.
  @inline(never)
  mutating func beginPayload(_ packet: Descriptor) {
    if packet.flags.contains(.isReference) { payloadLeft = references.count(Int(packet.tag)) }
  }

  /// Returns whether the payload of a packet whose header is sent, and which has it elsewhere, is sent, too.
  func isPayloadSent(_ packet: Descriptor) -> Bool {
    packet.flags.contains(.isStream) ? isStreamSent : payloadLeft == 0
  }

  /// Adds a payload, whose index the message's options then have; `nil`: the table is full.
  mutating func lend(_ bytes: LentBytes) -> UInt16? {
    guard let index = references.add(bytes) else {
      isStarved = true
      return nil
    }
    return UInt16(truncatingIfNeeded: index)
  }

  /// Gives a payload back. The program hears that there is room when it has taken the completion.
  mutating func giveBack(_ index: UInt16) { references.remove(Int(index)) }
}
