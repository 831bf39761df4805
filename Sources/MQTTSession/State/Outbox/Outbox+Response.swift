import Storage

/// Messages that are requests (§4.10), once the program has been told how the request ended.
extension Outbox {
  /// Drops the completion of a request's message, because the end of the request was reported. If the
  /// response is overdue and the message was never sent, it never will be.
  mutating func dismiss(_ request: PendingResponses.Ended, isTimeUp: Bool, quota: inout SendQuota) {
    guard isThere(request) else { return }
    let slot = request.slot
    switch descriptors[slot].state {
    case .completed: dropCompletion(slot)
    default:
      descriptors[slot].flags.set(.isDismissed, true)
      guard isTimeUp, descriptors[slot].state == .queued else { return }
      shrinkWindow(&quota)
      if isUnsent(slot) { complete(slot, .expired) }
    }
  }

  /// Returns whether the message of a request, which `locateRequests` knows of, is still in its slot.
  private func isThere(_ request: PendingResponses.Ended) -> Bool {
    guard descriptors.index(of: request.slot) < descriptors.count else { return false }
    let message = descriptors[request.slot]
    return message.flags.contains(.isRequest) && message.tag == request.tag
      && message.cookie == request.cookie
      && message.state != .free && message.state != .reserved
  }

  /// Tells the requests that wait where their messages are now. It has to be called before one of them ends.
  ///
  /// Messages have other slots only once gaps were closed, and so this takes a step for each message no more
  /// often than closing them did.
  @inline(__always)
  mutating func locateRequests(_ responses: inout PendingResponses) {
    if hasMovedRequests { findRequests(&responses) }
  }

  @inline(never)
  @_optimize(size)
  private mutating func findRequests(_ responses: inout PendingResponses) {
    hasMovedRequests = false
    var slot = descriptors.head
    for _ in 0..<descriptors.count {
      let message = descriptors[slot]
      if message.flags.contains(.isRequest), message.state != .free {
        responses.moved(tag: message.tag, cookie: message.cookie, to: slot)
      }
      slot = descriptors.slot(after: slot)
    }
  }
}
