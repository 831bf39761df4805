import MQTTSession

/// Bytes between the session and the link, as MQTTClient moves them.
extension Endpoint {
  /// Reads once what has arrived. True: something happened.
  func receive() throws(Failure) -> Bool {
    guard phase == .open, let link, session.wantsReceive else { return false }
    guard link.down.arrived > 0 else {
      guard link.down.isAtEnd else { return false }
      try lost()
      return true
    }
    let limit = world.portion(of: link.down.arrived)
    let count = min(Self.space(of: &session), limit)
    try require(count > 0, "\(name): wants to receive, and has no space")
    let bytes = link.down.read(count)
    world.trace("\(name): receives \(Trace.hex(bytes))")
    Self.fill(&session, bytes)
    rules.received(bytes)
    session.received(count, at: world.now)
    try look()
    return true
  }

  private static func space(of session: inout Session) -> Int {
    let space = session.receiveSpace
    return space.count
  }

  private static func fill(_ session: inout Session, _ bytes: [UInt8]) {
    var space = session.receiveSpace
    for index in 0..<bytes.count { space[index] = bytes[index] }
  }

  /// Sends what the link takes. True: something happened.
  func transmit() throws(Failure) -> Bool {
    var hasSent = false
    while phase == .open, let link {
      pull()
      guard session.prepareTransmit(at: world.now) else { break }
      if link.isBroken {
        while try receive() {}
        if phase == .open { try lost() }
        return true
      }
      let room = min(link.room, world.portion(of: link.room))
      // What is ready may well stay where it is.
      guard room > 0, world.isEnding || world.random.percent(95) else { break }
      let bytes = Self.output(session, room)
      try require(!bytes.isEmpty, "\(name): wants to send nothing")
      world.trace("\(name): sends \(Trace.hex(bytes))")
      link.up.write(bytes)
      try rules.sent(bytes)
      session.transmitted(bytes.count, at: world.now)
      try look()
      hasSent = true
      if !world.isEnding, world.random.percent(50) { break }
    }
    return try conclude() || hasSent
  }

  private static func output(_ session: borrowing Session, _ limit: Int) -> [UInt8] {
    let output = session.output
    let count = min(limit, output.count)
    return [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
      for index in 0..<count { unsafe bytes[index] = output[index] }
      initialized = count
    }
  }

  /// Supplies payload for the stream that is being sent.
  private func pull() {
    guard let offset = session.pullOffset, let stream else { return }
    if !world.isEnding, world.random.percent(3) {
      world.trace("\(name): gives the stream up")
      return session.pullFailed()
    }
    guard world.isEnding || world.random.percent(80) else { return }
    let left = Self.pullRoom(&session)
    let count = world.portion(of: left)
    Self.supply(&session, stream, offset, count)
    session.pulled(count)
  }

  private static func pullRoom(_ session: inout Session) -> Int {
    let space = session.pullSpace
    return space.count
  }

  private static func supply(_ session: inout Session, _ number: Int, _ offset: Int, _ count: Int) {
    var space = session.pullSpace
    for index in 0..<count { space[index] = Ledger.byte(number, at: offset + index) }
  }

  /// Sends DISCONNECT when it is time, and closes when all is sent.
  private func conclude() throws(Failure) -> Bool {
    guard phase == .open else { return false }
    if isLeaving, session.closeReason == nil, session.isDrained || world.isEnding || world.random.percent(10)
    {
      world.trace("\(name): disconnects")
      world.counts[.left] += 1
      _ = session.disconnect()
      try look()
    }
    guard let ending = session.closeReason else { return false }
    turnsAfterDisconnect += 1
    guard !session.wantsTransmit || turnsAfterDisconnect > 40 else { return world.isEnding }
    world.trace("\(name): the session has ended: \(ending.cause)")
    if session.serverRejectedVersion, session.fallBack() {
      try reopen()
    } else {
      try end()
    }
    return true
  }
}
