/// The end of a run: no more faults, and everybody does what there is to do.
extension Endpoint {
  /// True: there was something to do.
  func turn() throws(Failure) -> Bool {
    var isBusy = false
    if phase == .offline, isDone {
      try connect()
      isBusy = true
    }
    if let link {
      link.capacity = max(link.capacity, 500)
      if link.up.arrived < link.up.count || link.down.arrived < link.down.count { isBusy = true }
      link.up.arrive(link.up.count)
      link.down.arrive(link.down.count)
    }
    if try commit() { isBusy = true }
    while true {
      let hasReceived = try receive()
      // What was taken last is released with this, without there being more.
      guard try takeEvent() || hasReceived || canReceive else { break }
      isBusy = true
    }
    while try acknowledge() { isBusy = true }
    try checkTime()
    if try transmit() { isBusy = true }
    return isBusy || phase != .open
  }

  private var canReceive: Bool {
    guard phase == .open, let link, session.wantsReceive else { return false }
    return link.down.arrived > 0 || link.down.isAtEnd
  }

  func checkQuiet() throws(Failure) {
    try require(phase == .open && session.isConnected, "\(name): not connected")
    try require(session.isDrained, "\(name): not drained")
    try require(!session.hasEvent && !session.wantsTransmit && session.wantsReceive, "\(name): not quiet")
    try require(held.isEmpty && requests.isEmpty, "\(name): \(requests.count) requests are not answered")
    try require(!isStarved, "\(name): was not told that there is room")
    let outbox = session.outboxNumbers
    try require(
      outbox.ordinary.messages == 0 && outbox.ordinary.bytes == 0,
      "\(name): \(outbox.ordinary.messages) messages in the outbox")
    try require(outbox.inFlight == 0, "\(name): \(outbox.inFlight) in flight")
    let accepted = world.ledger.messages.count { $0.origin == name && !$0.isWithdrawn }
    let ended = outbox.delivered.uint64 + outbox.failed.uint64
    try require(ended == accepted, "\(name): \(ended) messages of \(accepted) are counted")
    let inbox = session.inboxNumbers
    // What its sender has given up it will never release.
    let givenUp = world.ledger.messages.count { $0.origin != name && $0.qos > 0 && $0.outcome == .aborted }
    try require(
      inbox.unacknowledged <= givenUp, "\(name): \(inbox.unacknowledged) messages in the inbox")
    try require(inbox.subscribes == 0, "\(name): \(inbox.subscribes) requests")
    try rules.checkQuiet()
  }
}
