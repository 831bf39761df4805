import MQTTWire
import Storage

/// What SUBACK and UNSUBACK do (§3.9, §3.11).
extension Session {
  mutating func handle(_ answer: Suback, _ header: FixedHeader) {
    guard let request = state.requests.request(for: answer) else { return violate(.handshake) }
    let offset = receiver.position &+ header.size
    let codes = answer.reasonCodes.shifted(by: offset)
    // The UNSUBACK of 3.1 and 3.1.1 has none.
    guard codes.count == Int(request.count) || (codes.isEmpty && answer.type == .unsuback) else {
      giveUpRequest(answer.identifier)
      return violate(.reasonCodeCount)
    }
    let place = state.requests.place(of: answer.identifier)
    if request.isRepeat {
      let code = receiver.bytes[codes.offset]
      resubscribeCompleted(place, reasonCode: code)
      state.requests.complete(answer.identifier)
      answered()
      return finish(header)
    }
    if request.type == .subscribe { settle(place, codes) }
    state.requests.complete(answer.identifier)
    answered()
    show(
      .answered(
        SubscribeResult(
          cookie: request.cookie, type: request.type, refusal: refusal(codes), reasonCodes: codes,
          reasonString: answer.reasonString.shifted(by: offset),
          properties: answer.properties.shifted(by: offset))),
      header)
  }

  private func refusal(_ codes: ByteRange) -> UInt8? {
    let bytes = receiver.bytes
    for index in codes.range where bytes[index] >= 0x80 { return bytes[index] }
    return nil
  }

  /// An answer that cannot be read ends its request: sent again, it would be answered in the same way. False: more
  /// bytes are needed.
  mutating func giveUpRequest(_ header: FixedHeader) throws(Malformed) -> Bool {
    guard header.type == .suback || header.type == .unsuback else { return true }
    guard receiver.unread.count >= header.size &+ 2 else { return false }
    var reader = ByteReader(receiver.unread.extracting(header.size..<header.size &+ 2))
    if let identifier = PacketIdentifier(try reader.uint16()) { giveUpRequest(identifier) }
    return true
  }

  mutating func giveUpRequest(_ identifier: PacketIdentifier) {
    guard let place = state.requests.giveUp(identifier) else { return }
    // One of the session's own has nobody to tell but the application that made the subscription.
    resubscribeCompleted(place, reasonCode: ReasonCode.implementationSpecificError.rawValue)
    state.requests.complete(identifier)
  }
}
