import MQTTWire
import Storage

/// What SUBACK and UNSUBACK do (§3.9, §3.11).
extension Session {
  mutating func handle(_ suback: Suback, _ header: FixedHeader) {
    guard let subscribe = state.subscribeQueue.descriptor(for: suback) else { return violate(.handshake) }
    let offset = receiver.position &+ header.size
    let codes = suback.reasonCodes.shifted(by: offset)
    // The UNSUBACK of 3.1 and 3.1.1 has none.
    guard codes.count == Int(subscribe.count) || (codes.isEmpty && suback.type == .unsuback) else {
      failSubscribe(suback.identifier)
      return violate(.reasonCodeCount)
    }
    let slot = state.subscribeQueue.slot(of: suback.identifier)
    if subscribe.isResubscription {
      let code = receiver.bytes[codes.offset]
      resubscribeCompleted(slot, reasonCode: code)
      state.subscribeQueue.complete(suback.identifier)
      restartAckTimeout()
      return finish(header)
    }
    if subscribe.type == .subscribe { recordSuback(slot, codes) }
    state.subscribeQueue.complete(suback.identifier)
    restartAckTimeout()
    makePending(
      .subscribeCompleted(
        SubscribeResult(
          cookie: subscribe.cookie, type: subscribe.type, refusal: refusal(codes), reasonCodes: codes,
          reasonString: suback.reasonString.shifted(by: offset),
          properties: suback.properties.shifted(by: offset))),
      header)
  }

  private func refusal(_ codes: ByteRange) -> UInt8? {
    let bytes = receiver.bytes
    for index in codes.range where bytes[index] >= 0x80 { return bytes[index] }
    return nil
  }

  /// Fails the SUBSCRIBE or UNSUBSCRIBE whose acknowledgement cannot be read: resent, it would be
  /// acknowledged in the same way. Returns false if more bytes are needed.
  mutating func failSubscribe(_ header: FixedHeader) throws(Malformed) -> Bool {
    guard header.type == .suback || header.type == .unsuback else { return true }
    guard receiver.unread.count >= header.size &+ 2 else { return false }
    var reader = ByteReader(receiver.unread.extracting(header.size..<header.size &+ 2))
    if let identifier = PacketIdentifier(try reader.uint16()) { failSubscribe(identifier) }
    return true
  }

  mutating func failSubscribe(_ identifier: PacketIdentifier) {
    guard let slot = state.subscribeQueue.failUnreadable(identifier) else { return }
    // A SUBSCRIBE of the session's own is reported as a lost subscription.
    resubscribeCompleted(slot, reasonCode: ReasonCode.implementationSpecificError.rawValue)
    state.subscribeQueue.complete(identifier)
  }
}
