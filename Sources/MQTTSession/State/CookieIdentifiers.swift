public import MQTTWire
import Storage

/// Packet Identifiers that are given: in the drop-in for libmosquitto the message id that a program was told is the one on
/// the wire (docs/decisions/0026). It is in the cookie, and so in the descriptor.
///
/// In the library an identifier is a place (docs/decisions/0001). Here it is one nearly: message ids grow along the ring, with
/// gaps where a number went to a request. So a message is where it would be without gaps, or some places before.
extension Outbox {
  func cookieIdentifier(_ slot: Int) -> PacketIdentifier { PacketIdentifier(cookie: descriptors[slot].cookie) }

  /// The message whose fate is open, and that has this identifier.
  func slotByCookie(_ identifier: PacketIdentifier) -> Int? {
    guard descriptors.count > 0 else { return nil }
    let distance = IdentifierRange.fullDistance(from: cookieIdentifier(descriptors.head), to: identifier)
    let guess = min(distance, descriptors.count &- 1)
    var index = guess
    while index >= 0 {
      if isOpen(index, identifier) { return descriptors.slot(at: index) }
      index &-= 1
    }
    // The count has begun anew behind one that waits for long.
    index = guess &+ 1
    while index < descriptors.count {
      if isOpen(index, identifier) { return descriptors.slot(at: index) }
      index &+= 1
    }
    return nil
  }

  private func isOpen(_ index: Int, _ identifier: PacketIdentifier) -> Bool {
    let slot = descriptors.slot(at: index)
    let message = descriptors[slot]
    return message.state.isOpen && message.qos != .atMostOnce && cookieIdentifier(slot) == identifier
  }

  /// Whether a message has it. Nearly always they have not come round since the oldest, and nothing is searched: `count` is
  /// how many were given so far, and in the upper half of a cookie, how many that were.
  func isIdentifierInUse(_ identifier: PacketIdentifier, _ count: UInt32) -> Bool {
    guard descriptors.count > 0, count &- Counter.high(descriptors[descriptors.head].cookie) >= 65_535 else {
      return false
    }
    return slotByCookie(identifier) != nil
  }
}

extension SubscribeQueue {
  /// Where the request is that waits for its answer with this identifier.
  func slotByCookie(_ identifier: PacketIdentifier) -> Int? {
    for index in 0..<table.count {
      let slot = table.slot(at: index)
      if table[slot].state == .sent, PacketIdentifier(cookie: table[slot].cookie) == identifier { return slot }
    }
    return nil
  }

  func isIdentifierInUse(_ identifier: PacketIdentifier) -> Bool {
    for index in 0..<table.count {
      let descriptor = table[table.slot(at: index)]
      if descriptor.state != .free, PacketIdentifier(cookie: descriptor.cookie) == identifier { return true }
    }
    return false
  }
}

extension Session {
  /// It may not be used again yet [MQTT-2.2.1-3] [MQTT-2.2.1-4].
  public func isIdentifierInUse(_ identifier: PacketIdentifier, _ count: UInt32) -> Bool {
    state.outbox.isIdentifierInUse(identifier, count) || state.subscribeQueue.isIdentifierInUse(identifier)
  }
}
