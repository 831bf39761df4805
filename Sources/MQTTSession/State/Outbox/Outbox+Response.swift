import Storage

/// Messages that are requests (§4.10), once the program has been told how the request ended.
extension Outbox {
  /// Drops the completion of a request's message, because the end of the request was reported. If the
  /// response is overdue and the message was never sent, it never will be.
  mutating func dismiss(_ request: PendingResponses.Ended, isTimeUp: Bool, quota: inout SendQuota) {
    guard let slot = slot(of: request) else { return }
    switch descriptors[slot].state {
    case .completed: dropCompletion(slot)
    default:
      descriptors[slot].flags.set(.isDismissed, true)
      guard isTimeUp, descriptors[slot].state == .queued else { return }
      shrinkWindow(&quota)
      if isUnsent(slot) { complete(slot, .expired) }
    }
  }

  /// Returns the slot of a request's message, if it is there. Dropping messages in front of it may have
  /// moved it.
  private func slot(of request: PendingResponses.Ended) -> Int? {
    if isOf(request, request.slot) { return request.slot }
    var slot = descriptors.head
    for _ in 0..<descriptors.count {
      if isOf(request, slot) { return slot }
      slot = descriptors.slot(after: slot)
    }
    return nil
  }

  private func isOf(_ request: PendingResponses.Ended, _ slot: Int) -> Bool {
    guard descriptors.index(of: slot) < descriptors.count else { return false }
    let message = descriptors[slot]
    return message.flags.contains(.isRequest) && message.tag == request.tag
      && message.cookie == request.cookie
      && message.state != .free && message.state != .reserved
  }
}
