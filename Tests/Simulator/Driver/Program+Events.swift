import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Storage
import TestSupport

/// What the program is told.
extension Program {
  /// Takes one event. True: there was one.
  func takeEvent() throws(Failure) -> Bool {
    guard let event = nextEvent() else { return false }
    host.activity += 1
    // Taking the last message of a connection that is gone ends it.
    try observe()
    switch event {
    case .engine(let event): try take(event)
    case .disconnected(let failure):
      world.trace("\(number): disconnected: \(failure.cause), \(failure.stage), retry \(failure.retry ?? 0)")
      pendingAnswer = nil
      try count(failure)
      try rules.ended(failure, wants: wants, attempt: client.attempt, servers: serverCount)
      if failure.retry == nil {
        wants = false
        hasLeft = true
        stir()
      }
    case .credentialsWanted, .addressesWanted:
      var isCredentials = true
      if case .addressesWanted(let host, let port) = event {
        isCredentials = false
        wantedHost = (text(host), port)
      }
      pendingAnswer = (world.now + UInt64(world.random.below(300)), isCredentials)
      stir()
    case .transportWanted: throw Failure("\(number): an event nobody asked for")
    }
    return true
  }

  private func nextEvent() -> ClientEvent? {
    switch client.advanceToNextEvent() {
    case .completion where client.plainCompletion != nil:
      client.plainCompletion.map { .engine(.completed(client.takePlainCompletion($0))) }
    case .plainMessage: .engine(.message(MessageEvent(client.takePlainMessage())))
    case let source: client.take(source)
    }
  }

  private func take(_ event: SessionEvent) throws(Failure) {
    switch event {
    case .connected(let connected):
      world.trace("\(number): connected, session present: \(connected.sessionPresent)")
      try rules.connected(attempt: client.attempt)
      if client.version != traits.version { world.counts[.fallback] += 1 }
      stir()
    case .completed(let completion): try completed(completion)
    case .subscribeCompleted(let answer):
      try require(
        answer.cookie == Self.subscribeCookie && answer.refusal == nil && !isSubscribed,
        "\(number): a wrong answer")
      isSubscribed = true
      stir()
    case .message(let message): try received(message)
    case .requestFailed(let completion):
      let request = requests.removeValue(forKey: completion.cookie)
      try require(request != nil, "\(number): request \(completion.cookie) ends twice")
      try end(completion)
    case .responseTimedOut(let cookie):
      guard let request = requests.removeValue(forKey: cookie) else {
        throw Failure("\(number): request \(cookie) ends twice")
      }
      world.counts[.timedOut] += 1
      let isTime = world.now >= request.deadline || world.hasSteppedClock
      try require(isTime, "\(number): request \(cookie) ends too early")
    case .handshake: break
    case .room: isStarved = false
    default: throw Failure("\(number): an event nobody asked for: \(event)")
    }
  }

  private func completed(_ completion: Completion) throws(Failure) {
    try require(completion.cookie < Self.subscribeCookie, "\(number): SUBSCRIBE \(completion.result)")
    try end(completion)
  }

  private func end(_ completion: Completion) throws(Failure) {
    let message = Int(completion.cookie)
    world.trace("\(number): message \(message) \(completion.result)")
    try require(
      message < world.ledger.messages.count && world.ledger.messages[message].origin == number,
      "\(number): a completion of nobody")
    switch completion.result {
    case .delivered: world.counts[.delivered] += 1
    case .sessionLost: world.counts[.sessionLost] += 1
    case .expired: world.counts[.expired] += 1
    default: break
    }
    try world.ledger.completed(
      message, completion.result, at: world.now, sessionsLost: network.broker.newSessions[number],
      isTimeUnknown: world.hasSteppedClock)
  }

  private func received(_ event: MessageEvent) throws(Failure) {
    try require(event.isFirst && event.isLast && !event.isOversize, "\(number): a part")
    let bytes = copy(event.payload)
    let message = try world.ledger.find(bytes)
    world.trace("\(number): gets message \(message), QoS \(event.qos), token \(event.token)")
    if world.ledger.messages[message].delivered[number] > 0 { world.counts[.again] += 1 }
    try world.ledger.delivered(message, to: number, qos: event.qos.rawValue)
    if let cookie = event.responseCookie {
      try require(requests.removeValue(forKey: cookie) != nil, "\(number): request \(cookie) ends twice")
      world.counts[.reply] += 1
    }
    if traits.holds, event.token != 0 {
      held.append(event.token)
      stir()
    }
    if world.ledger.messages[message].isRequest { try note(copy(event.properties), of: message) }
  }

  /// A request, if it is for this program.
  private func note(_ properties: [UInt8], of message: Int) throws(Failure) {
    let origin = world.ledger.messages[message].origin
    guard origin != number || world.programs.count == 1, client.version == .v5_0 else { return }
    guard let list = try? Model.properties(properties, in: Place(packet: .publish, sender: .server)) else {
      throw Failure("\(number): properties that cannot be read")
    }
    var topic: [UInt8] = []
    var correlation: [UInt8] = []
    for property in list {
      switch (property.identifier, property.value) {
      case (0x08, .bytes(let bytes)): topic = bytes
      case (0x09, .bytes(let bytes)): correlation = bytes
      default: throw Failure("\(number): a property that no client sent")
      }
    }
    replies.append((topic, correlation))
    stir()
  }

  private func copy(_ extent: ByteRange) -> [UInt8] { Self.copy(client, extent) }

  private static func copy(_ client: borrowing Client<SimulatedPlatform>, _ extent: ByteRange) -> [UInt8] {
    let bytes = client.receivedBytes
    return [UInt8](unsafeUninitializedCapacity: extent.count) { copy, count in
      for index in 0..<extent.count { unsafe copy[index] = bytes[extent.offset + index] }
      count = extent.count
    }
  }

  private func text(_ host: ByteRange) -> String { Self.text(client, host) }

  private static func text(_ client: borrowing Client<SimulatedPlatform>, _ host: ByteRange) -> String {
    let bytes = client.hostNames
    var copy: [UInt8] = []
    for index in host.range { copy.append(bytes[index]) }
    return String(decoding: copy, as: UTF8.self)
  }

  private func count(_ failure: ClientFailure) throws(Failure) {
    switch failure.cause {
    case .requested: world.counts[.endRequested] += 1
    case .refused: world.counts[.endRefused] += 1
    case .serverClosed: world.counts[.endServerClosed] += 1
    case .keepAlive:
      // A PINGREQ asks also whether a server has a backlog no further (docs/decisions/0014).
      let hasAsked = rules.hasHinted || client.counters.messagesPostponed.uint64 > 0
      try require(traits.keepAlive != .max || hasAsked, "\(number): Keep Alive is off")
      world.counts[.endKeepAlive] += 1
    case .resolve: world.counts[.endResolve] += 1
    case .network: world.counts[.endNetwork] += 1
    case .closed: world.counts[.endClosed] += 1
    case .layer: throw Failure("\(number): a layer that is not there failed")
    case .timeout where failure.stage == .acknowledgement: world.counts[.endAnswer] += 1
    case .timeout where failure.stage == .write: world.counts[.endWrite] += 1
    case .timeout: world.counts[.endTimeout] += 1
    case .declined: world.counts[.endWithheld] += 1
    case .backlog:
      // A server that came back with an old disk has forgotten what takes the places (docs/decisions/0014).
      try require(
        world.scenario.server.hasBacklog || world.ledger.isServerUnreliable,
        "\(number): gives the connection up for a backlog, and there is none")
    case .malformed, .violation, .stream:
      throw Failure("\(number): ends the connection itself: \(failure.cause)")
    }
  }
}
