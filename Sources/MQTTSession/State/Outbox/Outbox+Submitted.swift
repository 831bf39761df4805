import Journal
import MQTTWire
import Storage

/// Messages of other threads, which are checked already. Those that the server does not allow are completed
/// at once.
extension Outbox {
  /// Returns whether a message could be added now. A message that ends at once needs no bytes.
  func canAppend(
    _ message: borrowing Publish, _ options: PublishOptions, endsAtOnce: Bool, version: ProtocolVersion,
    limits: ServerLimits
  ) -> Bool {
    if endsAtOnce { return hasDescriptor }
    let room = roomNeeded(message, options, version: version, limits: limits)
    guard room <= byteLimit else { return false }
    if isJournaled, message.qos != .atMostOnce, !options.isUnstored, stored.element.refusal(of: room) != nil {
      return false
    }
    if hasDescriptor, openBytes &+ room <= byteLimit, self.room(for: room) != nil { return true }
    return options.overflow != .refuse && canMakeRoom(for: room)
  }

  mutating func appendSubmitted(
    _ message: borrowing Publish, _ options: PublishOptions, _ end: (DeliveryResult, UInt8?)?,
    version: ProtocolVersion,
    limits: ServerLimits, quota: inout SendQuota
  ) throws(SessionError) {
    if let (result, reasonCode) = end {
      guard ensureDescriptor() else { throw .full }
      return appendEnded(options, qos: message.qos, result, reasonCode: reasonCode)
    }
    let wasStarved = isStarved
    do throws(SessionError) {
      _ = try admit(message, options, version: version, limits: limits, quota: &quota)
    } catch {
      // A thread that submits gets no event about room.
      isStarved = wasStarved
      throw error
    }
  }

  /// Appends the completion of a message that never was in the ring.
  private mutating func appendEnded(
    _ options: PublishOptions, qos: QoS, _ result: DeliveryResult, reasonCode: UInt8?
  ) {
    count(result)
    let flags = MessageFlags(qos: qos, isQuiet: options.isQuiet)
    appendCompletion(
      of: Descriptor(
        cookie: options.cookie, offset: 0, length: 0, link: 0, expiresAt: 0, since: 0, flags: flags,
        order: 0,
        tag: 0, state: .completed, result: result, reasonCode: 0),
      result, reasonCode: reasonCode)
  }
}
