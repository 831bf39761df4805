import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Storage
import TestSupport

/// What the program does.
extension Program {
  private struct Filter: SubscriptionList {
    let bytes: [UInt8]
    let qos: QoS
    var count: Int { 1 }

    @_lifetime(borrow self)
    borrowing func filter(at index: Int) -> Span<UInt8> { bytes.span }
    borrowing func options(at index: Int) -> SubscriptionOptions { SubscriptionOptions(maximumQoS: qos) }
  }

  func start() throws(Failure) {
    subscription = traits.subscribesAll ? "t/#".bytes : world.scenario.topics[0]
    do throws(SessionError) {
      try client.subscribe(
        Filter(bytes: subscription, qos: QoS(rawValue: traits.subscribedQoS) ?? .atMostOnce),
        properties: Span(), identifier: 0, cookie: Self.subscribeCookie)
    } catch {
      throw Failure("\(number): SUBSCRIBE: \(error)")
    }
    // What comes before the server has the subscription is not for this client.
    for _ in 0..<world.random.below(3) { try publish() }
    try connect()
    for thread in threads.indices { schedule(thread, within: 200) }
  }

  func connect() throws(Failure) {
    guard !wants || client.state == .disconnected else { return }
    guard client.connect(at: world.instant) else { return }
    world.trace("\(number): connects")
    wants = true
    rules.connects()
  }

  func actAtRandom() throws(Failure) {
    try answerQuestion()
    switch world.random.below(100) {
    case 0..<max(1, traits.leavePercent) where traits.leavePercent > 0: try leave()
    case 10..<(10 + traits.hintPercent):
      if world.random.percent(50) {
        client.hintUp(at: world.instant)
        rules.hinted(isUp: true)
      } else {
        client.hintDown(at: world.instant)
        rules.hinted()
      }
    case 20..<30 where traits.replies > 0 && traits.subscribesAll: try request()
    case 30..<33: _ = client.flush(at: world.instant)
    case 33..<45: try acknowledge()
    case 45..<52: try reply()
    default: if wants || world.random.percent(30) { try publish() }
    }
    if !wants, world.random.percent(20) { try connect() }
  }

  /// Nothing new, but everything there is.
  func finish() throws(Failure) {
    try answerQuestion()
    while !held.isEmpty { try acknowledge() }
    while !replies.isEmpty {
      let before = replies.count
      try reply()
      if replies.count == before { break }
    }
    if client.state == .disconnected, !isLast { try connect() }
  }

  private func leave() throws(Failure) {
    if world.random.percent(25) {
      world.trace("\(number): cuts off")
      try observe()
      wants = false
      rules.givesUp(drain: 0)
      return client.cutOff(at: world.instant)
    }
    let drain = UInt32(world.random.pick([0, 50, 1000]))
    try disconnect(drain: drain)
  }

  func disconnect(drain: UInt32) throws(Failure) {
    world.trace("\(number): disconnects, \(drain) ms")
    world.counts[.left] += 1
    try observe()
    wants = false
    rules.givesUp(drain: drain)
    do throws(SessionError) {
      try client.disconnect(drain: drain, reasonCode: 0, properties: Span(), at: world.instant)
    } catch {
      throw Failure("\(number): cannot disconnect: \(error)")
    }
  }

  // MARK: Messages

  private func draft() -> DriverLedger.Message {
    let qos = world.random.pick([QoS.atMostOnce, .atLeastOnce, .exactlyOnce, .exactlyOnce])
    var message = world.ledger.draft(
      number, qos: qos.rawValue, size: 4 + world.random.below(traits.largest))
    message.isQuiet = world.random.percent(traits.quietPercent)
    if world.random.percent(traits.expiryPercent) { message.expiry = UInt32(world.random.from(1...4)) }
    message.isUrgent = traits.urgentMessages > 0 && world.random.percent(20)
    message.acceptedAt = world.now
    message.sessionsLost = network.broker.newSessions[number]
    return message
  }

  private func publishOptions(_ message: DriverLedger.Message) -> PublishOptions {
    var options = PublishOptions(cookie: UInt64(message.number), isQuiet: message.isQuiet)
    options.isUrgent = message.isUrgent
    options.expiry = message.expiry
    return options
  }

  private func publish() throws(Failure) {
    guard published < traits.messages else { return }
    try send(draft(), topic: world.random.pick(world.scenario.topics), properties: [])
    published += 1
  }

  private func send(
    _ message: DriverLedger.Message, topic: [UInt8], properties: [UInt8]
  ) throws(Failure) {
    let payload = Ledger.payload(message.number, size: message.size)
    let packet = Publish(
      topic: topic.span, payload: payload.span, qos: QoS(rawValue: message.qos) ?? .atMostOnce, retain: false,
      properties: properties.span)
    let options = publishOptions(message)
    // Before the call, as a message can be on its way when it returns.
    world.ledger.add(message)
    do throws(SessionError) {
      if options.needsSlowPath || !properties.isEmpty {
        let isTaken = try client.publish(packet, options, at: world.instant)
        try? require(isTaken, "a message is dropped")
      } else {
        try client.publish(
          topic: topic.span, payload: payload.span,
          MessageFlags(qos: QoS(rawValue: message.qos) ?? .atMostOnce, isQuiet: options.isQuiet),
          cookie: options.cookie)
      }
      world.trace("\(number): message \(message.number), QoS \(message.qos), expires \(message.expiry)")
    } catch {
      world.ledger.removeLast()
      try check(error, message)
    }
  }

  private func check(_ error: SessionError, _ message: DriverLedger.Message) throws(Failure) {
    let isRight: Bool
    switch error {
    case .full:
      isStarved = true
      isRight = true
    case .offline: isRight = traits.onlyConnected && message.qos == 0
    case .leaving: isRight = !wants
    default: isRight = false
    }
    try require(isRight, "\(number): message \(message.number) is not taken: \(error)")
  }

  private func request() throws(Failure) {
    guard published < traits.messages else { return }
    var message = draft()
    message.isQuiet = true
    message.isRequest = true
    message.isUrgent = false
    let topic = world.random.pick(world.scenario.topics)
    let answer = "t/r\(number)".bytes
    let payload = Ledger.payload(message.number, size: message.size)
    let timeout = world.random.pick([100, 1000, 5000])
    let cookie = UInt64(message.number)
    var packet = Publish(
      topic: topic.span, payload: payload.span, qos: QoS(rawValue: message.qos) ?? .atMostOnce, retain: false)
    packet.own.responseTopic = answer.span
    let options = publishOptions(message)
    world.ledger.add(message)
    do throws(SessionError) {
      _ = try client.publishRequest(packet, options, timeout: UInt32(timeout), at: world.instant)
    } catch {
      world.ledger.removeLast()
      return try check(error, message)
    }
    world.trace("\(number): request \(message.number), \(timeout) ms")
    published += 1
    world.counts[.request] += 1
    requests[cookie] = (message.number, world.now + UInt64(timeout))
  }

  private func reply() throws(Failure) {
    guard let (topic, correlation) = replies.first else { return }
    var message = draft()
    message.expiry = 0
    message.isUrgent = false
    let count = world.ledger.messages.count
    try send(message, topic: topic, properties: [0x09] + prefixed(correlation))
    if world.ledger.messages.count > count || client.server == nil { replies.removeFirst() }
  }

  private func acknowledge() throws(Failure) {
    guard !held.isEmpty else { return }
    let token = held.remove(at: world.random.below(held.count))
    do throws(SessionError) {
      try client.acknowledge(token, reasonCode: 0, properties: Span())
    } catch {
      // Its session is gone, or it will come again.
      try require(error == .token, "\(number): cannot acknowledge: \(error)")
    }
  }

  // MARK: What it is asked

  private func answerQuestion() throws(Failure) {
    guard let question = pendingAnswer, question.time <= world.now || world.isPeaceful else { return }
    pendingAnswer = nil
    let attempt = client.attempt
    do {
      if question.isCredentials {
        if !world.isPeaceful, world.random.percent(20) {
          let isFinal = world.random.percent(30)
          // An attempt that is over is not asked about any more, though its end is still to be told.
          if isFinal, client.state == .connecting { wants = false }
          try client.declineCredentials(attempt: attempt, isFinal: isFinal, at: world.instant)
        } else {
          let (name, password) = ("name".bytes, "password".bytes)
          try client.provide(
            userName: name.span, password: password.span, attempt: attempt, at: world.instant)
        }
      } else {
        var found = network.addresses(of: wantedHost.0, port: wantedHost.1)
        found.keep(atMost: traits.addresses == 0 ? 8 : Int(traits.addresses))
        try client.provide(addresses: found, attempt: attempt, at: world.instant)
      }
    } catch {
      // The attempt is over, or another one has asked.
      let isLate: Bool
      switch error {
      case let error as SessionError: isLate = error == .state || error == .token
      case let error as QueryError: isLate = error == .state || error == .token
      default: isLate = false
      }
      try require(isLate, "\(number): an answer is refused: \(error)")
    }
  }

  // MARK: Other threads

  func schedule(_ thread: Int, within limit: Int) {
    world.after(world.random.below(limit + 1)) { [self] () throws(Failure) in try act(thread) }
  }

  /// A thread at the submitter: it may be stopped between its two steps.
  private func act(_ thread: Int) throws(Failure) {
    if let found = threads[thread] { return try wake(thread, for: found) }
    guard submitted < submissions else { return }
    var message = draft()
    message.wasSubmitted = true
    let payload = Ledger.payload(message.number, size: message.size)
    let topic = world.random.pick(world.scenario.topics)
    world.ledger.add(message)
    let found: ChainEnd
    do throws(SessionError) {
      found = try submitter.put(
        Publish(
          topic: topic.span, payload: payload.span, qos: QoS(rawValue: message.qos) ?? .atMostOnce,
          retain: false), publishOptions(message), at: { world.instant })
    } catch {
      world.ledger.removeLast()
      try require(error == .full, "\(number): cannot submit: \(error)")
      return schedule(thread, within: 500)
    }
    world.trace("\(number): submits message \(message.number), QoS \(message.qos)")
    world.counts[.submitted] += 1
    submitted += 1
    threads[thread] = found
    if !world.scenario.stopsThreads || world.random.percent(60) { return try wake(thread, for: found) }
    schedule(thread, within: world.random.pick([0, 5, 100]))
  }

  private func wake(_ thread: Int, for found: ChainEnd) throws(Failure) {
    submitter.wakeOwner(for: found)
    host.lookForWakeUp()
    threads[thread] = nil
    // Behind messages that were collected and have no room it waits for them, and no turn would bring it further: the order
    // stays (docs/decisions/0019). Where there is room, the client does not sleep.
    let isBehind = queue.hasCollected
    let isSeen = !queue.hasUncollected || host.isWoken || !isAsleep || rules.isLeaving || isBehind
    try require(
      isSeen || threads.contains(where: { $0 != nil }),
      "\(number): submitted messages lie in the queue, and the owner was not wakened")
    schedule(thread, within: world.random.pick([1, 20, 200]))
  }
}
