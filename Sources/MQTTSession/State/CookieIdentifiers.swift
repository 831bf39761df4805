public import MQTTWire
import Storage

/// Packet Identifiers that the program chooses. In the drop-in for libmosquitto the message id that a
/// program was told is the Packet Identifier on the wire (docs/decisions/0026). It is in the cookie, and so
/// in the descriptor.
///
/// In the library an identifier follows from an index (docs/decisions/0001). In the drop-in that is nearly
/// so: message ids grow along the ring, with gaps where a number went to SUBSCRIBE or UNSUBSCRIBE. So a
/// message is at the index that it would have without gaps, or in front of it.
extension Outbox {
  func cookieIdentifier(_ slot: Int) -> PacketIdentifier {
    PacketIdentifier(cookie: descriptors[slot].cookie)
  }

  /// Returns a cookie for a message of an earlier process that is put back behind the others: with the Packet
  /// Identifier that the server may know, or with the next one. The cookie that the journal has says nothing here,
  /// because another kind of client may have written it.
  @_optimize(size)
  func restoredCookie(_ identifier: PacketIdentifier?) -> UInt64 {
    let all: UInt32 = 65_535
    let last =
      descriptors.count > 0 ? Counter.high(descriptors[descriptors.slot(before: descriptors.tail)].cookie) : 0
    var step: UInt32 = 1
    if let identifier {
      step = (UInt32(identifier.rawValue) &+ all &- last % all) % all
      if step == 0 { step = all }
    }
    let count = last &+ step
    let rest = count % all
    return Counter(low: (rest == 0 ? all : rest) | Session.restoredFlag, high: count).uint64
  }

  /// Returns the slot of the message that is not complete and has this identifier.
  func slotByCookie(_ identifier: PacketIdentifier) -> Int? {
    guard descriptors.count > 0 else { return nil }
    let distance = IdentifierRange.fullDistance(from: cookieIdentifier(descriptors.head), to: identifier)
    let guess = min(distance, descriptors.count &- 1)
    var index = guess
    while index >= 0 {
      if isOpen(index, identifier) { return descriptors.slot(at: index) }
      index &-= 1
    }
    // The message ids have wrapped behind a message that has waited for long.
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

  /// Returns whether a message has this identifier. The message ids have rarely wrapped since the oldest
  /// message, and then nothing is searched: `count` says how many were assigned so far, and the upper half
  /// of a cookie how many had been when that message got its own.
  func isIdentifierInUse(_ identifier: PacketIdentifier, _ count: UInt32) -> Bool {
    guard descriptors.count > 0, count &- Counter.high(descriptors[descriptors.head].cookie) >= 65_535 else {
      return false
    }
    return slotByCookie(identifier) != nil
  }
}

extension SubscribeQueue {
  /// Returns the slot of the SUBSCRIBE or UNSUBSCRIBE that waits for its acknowledgement with this
  /// identifier.
  func slotByCookie(_ identifier: PacketIdentifier) -> Int? {
    for index in 0..<table.count {
      let slot = table.slot(at: index)
      if table[slot].state == .sent, PacketIdentifier(cookie: table[slot].cookie) == identifier {
        return slot
      }
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
  /// In the lower half of the cookie of a message that an earlier process has accepted.
  public static var restoredFlag: UInt32 { 0x8_0000 }

  /// The cookie of the last message that is there; `nil`: there is none.
  public var lastCookie: UInt64? {
    guard state.outbox.descriptors.count > 0 else { return nil }
    return state.outbox.descriptors[state.outbox.descriptors.slot(before: state.outbox.descriptors.tail)]
      .cookie
  }

  /// Returns whether an identifier may not be used again yet [MQTT-2.2.1-3] [MQTT-2.2.1-4].
  public func isIdentifierInUse(_ identifier: PacketIdentifier, _ count: UInt32) -> Bool {
    state.outbox.isIdentifierInUse(identifier, count) || state.subscribeQueue.isIdentifierInUse(identifier)
  }
}
