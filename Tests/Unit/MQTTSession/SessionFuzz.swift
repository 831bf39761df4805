import MQTTWire
import TestSupport

@testable import MQTTSession

/// A session, its server, its transport and its application, all of whom do by chance what they may do, and sometimes
/// what they may not.
final class SessionFuzz {
  let harness: SessionHarness
  var random: SeededRandom
  private var toClient: [UInt8] = []
  var fromClient: [UInt8] = []
  /// Of the requests that the server has seen.
  var correlations: [[UInt8]] = []
  private var nextCookie: UInt64 = 1
  /// Messages, subscriptions and requests that have not ended.
  private var unfinished: Set<UInt64> = []
  private var quiet: Set<UInt64> = []
  private var tokens: [UInt32] = []
  private var isOpen = false
  private var reserved: UInt64?
  private var parts: (offset: Int, size: Int)?
  var fault: String?
  private(set) var ended = 0
  private(set) var handedOut = 0
  private(set) var endings: Set<String> = []

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    let version: ProtocolVersion = random.percent(60) ? .v5_0 : random.percent(80) ? .v3_1_1 : .v3_1
    var numbers = [Int](repeating: 0, count: 12)
    for index in numbers.indices { numbers[index] = random.below(1000) }
    harness = SessionHarness(version) {
      $0.keepSession = numbers[0] % 4 != 0
      $0.beginsNewSession = $0.keepSession && version == .v5_0 && numbers[1] % 4 == 0
      $0.allowsFallback = numbers[1] % 2 == 0
      $0.holdsMessages = numbers[2] % 4 == 0
      $0.deliversParts = numbers[3] % 2 == 0
      $0.maximumPacketSize = numbers[3] % 3 == 0 ? 64 : 0
      $0.outboxBytes = 64 + numbers[4] % 300
      $0.outboxMessages = 1 + numbers[5] % 12
      $0.receiveBytes = 64 + numbers[6] % 100
      $0.receiveMaximum = 1 + numbers[7] % 6
      $0.saidReceiveMaximum = UInt16($0.receiveMaximum)
      $0.inFlightMaximum = 1 + numbers[8] % 10
      $0.requests = 1 + numbers[9] % 3
      $0.subscribeBytes = 64
      $0.controlBytes = 64 + numbers[10] % 100
      $0.aliasesReceived = numbers[10] % 4
      $0.aliasesSent = numbers[11] % 4
      $0.aliasBytes = 8
      $0.replies = numbers[11] % 3
      $0.streamBytes = numbers[8] % 2 == 0 ? 64 : 0
      $0.references = numbers[7] % 4
      $0.pingTimeout = 5000
      if version == .v5_0, numbers[9] % 3 == 0 { $0.properties = authenticationMethod("M") }
      $0.random = UInt32(numbers[0] % 4)
    }
  }

  var version: ProtocolVersion { harness.spoken }

  func run(steps: Int) {
    for _ in 0..<steps where fault == nil { step() }
    finish()
  }

  private func step() {
    switch random.below(100) {
    case 0..<25: call()
    case 25..<45 where isOpen: toClient += packet()
    case 25..<70 where isOpen:
      receive()
      if random.percent(20) { pull() }
    case 70..<80: transmit(1 + random.below(50))
    case 80..<92: takeEvent()
    case 92..<95: harness.advanceClock(UInt32(random.below(70_000)))
    case 95..<97 where isOpen: if random.percent(30) { peerClosed() }
    default:
      if !isOpen {
        connect()
      } else if harness.ending != nil || random.percent(20) {
        lose()
      }
    }
  }

  // MARK: The connection

  private func open(isNewAttempt: Bool) {
    toClient = []
    fromClient = []
    parts = nil
    if isNewAttempt { harness.session.connecting() }
    harness.session.connectionOpened()
    isOpen = true
    transmit(.max)
  }

  private func connect() {
    open(isNewAttempt: random.percent(80))
    if random.percent(85) {
      var properties: [UInt8] = []
      if version == .v5_0 {
        if random.percent(30) { properties += receiveMaximum(UInt16(1 + random.below(4))) }
        if random.percent(20) { properties += maximumPacketSize(UInt16(10 + random.below(100))) }
        if random.percent(10) { properties += maximumQoS(UInt8(random.below(2))) }
        if random.percent(40) { properties += topicAliasMaximum(UInt16(random.below(5))) }
        if random.percent(10) { properties += wildcardAvailable(0) }
        if random.percent(90), !harness.options.properties.isEmpty { properties += authenticationMethod("M") }
      }
      let isPresent = random.percent(60) && harness.options.keepSession && version != .v3_1
      toClient += connack(version, sessionPresent: isPresent, properties: properties)
    }
  }

  /// As the driver does it: what waits is handed out, and then the connection is over.
  private func lose() {
    if let ending = harness.ending { endings.insert("\(ending.cause)") }
    if harness.spoken != .v3_1, !harness.isConnected, random.percent(20) { _ = harness.fallBack() }
    harness.lose()
    isOpen = false
    while harness.hasEvent || harness.hasUndeliveredEvent, fault == nil { takeEvent() }
  }

  private func peerClosed() {
    var turns = 0
    if harness.ending == nil, harness.peerClosed() {
      while harness.hasUndeliveredEvent, fault == nil {
        takeEvent()
        turns += 1
        if turns > 1000 { fault = "it hands out for ever" }
      }
    }
    lose()
  }

  private func finish() {
    guard fault == nil else { return }
    if isOpen { lose() }
    try? abort()
    // A server that answers everything, until all is done.
    for _ in 0..<60 where fault == nil {
      open(isNewAttempt: true)
      toClient = connack(version, properties: version == .v5_0 ? harness.options.properties : [])
      for _ in 0..<30 {
        harness.streamPiece = .max
        while let bytes = harness.transmit() { fromClient += bytes }
        toClient += answers()
        receive()
        while harness.hasEvent, fault == nil { takeEvent() }
        harness.session.releaseEvent()
      }
      while !tokens.isEmpty { try? harness.acknowledge(tokens.removeLast()) }
      harness.advanceClock(100_000)
      while harness.hasEvent, fault == nil { takeEvent() }
      lose()
    }
    guard fault == nil else { return }
    unfinished.subtract(quiet)
    if !unfinished.isEmpty { fault = "\(unfinished) never ended" }
    if harness.outbox.messages > 0 { fault = "\(harness.outbox.messages) messages are left" }
    if harness.inbox.subscribes > 0 { fault = "\(harness.inbox.subscribes) requests are left" }
  }

  // MARK: The transport

  private func receive() {
    while !toClient.isEmpty, harness.wantsReceive, harness.ending == nil {
      let count = 1 + random.below(random.percent(50) ? 10 : 200)
      let rest = harness.receive(Array(toClient.prefix(count)))
      let taken = min(count, toClient.count) - rest.count
      toClient.removeFirst(taken)
      if taken == 0 || random.percent(30) { break }
    }
    if harness.ending != nil { toClient = [] }
    check()
  }

  // MARK: The application

  private func call() {
    let cookie = nextCookie
    let qos = allQoS[random.below(3)]
    let topic = ["t", "topic/a", "topic/b", "topic/which/is/long"][random.below(4)]
    let payload = random.bytes(random.below(random.percent(80) ? 12 : 80))
    let expiry = random.percent(20) ? UInt32(1 + random.below(100)) : 0
    let isQuiet = random.percent(20)
    let properties = version == .v5_0 && random.percent(20) ? userProperty("k", "v") : []
    do throws(SessionError) {
      switch random.below(16) {
      case 14, 15:
        let overflow: PublishOptions.Overflow = random.percent(50) ? .dropOldest : .refuse
        harness.takesPayloads = random.percent(50)
        if try harness.lend(topic, payload, qos: qos, cookie: cookie, overflow: overflow, expiry: expiry)
          != nil
        {
          note(cookie)
        }
      case 0..<4:
        try harness.publish(
          topic, payload, qos: qos, cookie: cookie, isQuiet: isQuiet, expiry: expiry, properties: properties)
        if isQuiet { quiet.insert(cookie) }
        note(cookie)
      case 4:
        try harness.subscribe([topic + (random.percent(50) ? "/#" : "")], qos: qos, cookie: cookie)
        note(cookie)
      case 5:
        try harness.unsubscribe([topic], cookie: cookie)
        note(cookie)
      case 6:
        try harness.request(
          topic, payload, qos: qos, timeout: UInt32(1 + random.below(90_000)), cookie: cookie)
        note(cookie)
      case 7:
        try harness.reserve(topic, size: payload.count, qos: qos, cookie: cookie, expiry: expiry)
        reserved = cookie
        harness.fill(payload)
        note(cookie)
      case 8:
        try harness.commit(random.below(2))
        reserved = nil
      case 9:
        guard random.percent(30) else { return }
        try abort()
      case 10:
        try harness.stream(topic, payload, qos: qos, cookie: cookie, expiry: expiry)
        note(cookie)
      case 11:
        if random.percent(50), harness.hold() { tokens.append(harness.token) }
      case 12:
        guard let token = tokens.randomElement(using: &random) else { return }
        let code: UInt8 = version == .v5_0 && random.percent(30) ? 0x87 : 0
        try harness.acknowledge(token, code, properties: random.percent(20) ? property(0x1F, "r") : [])
        tokens.removeAll { $0 == token }
      default:
        try harness.authenticate(random.percent(50) ? 0x18 : 0x19, random.bytes(random.below(10)))
      }
    } catch {
      // Anything may be refused; then nothing has changed.
    }
    check()
  }

  private func abort() throws(SessionError) {
    try harness.abort()
    if let reserved { unfinished.remove(reserved) }
    reserved = nil
  }

  private func note(_ cookie: UInt64) {
    unfinished.insert(cookie)
    nextCookie += 1
  }

  private func end(_ cookie: UInt64) {
    if unfinished.remove(cookie) == nil { fault = "\(cookie) ended twice" }
    ended += 1
  }

  private func takeEvent() {
    let isPromised = harness.hasEvent
    switch harness.event() {
    case nil: if isPromised { fault = "no event where one was promised" }
    case .delivered(let cookie), .refused(let cookie, _), .failed(let cookie, _), .aboveLimit(let cookie, _),
      .answered(let cookie, _, _), .requestFailed(let cookie, _), .responseTimedOut(let cookie):
      end(cookie)
    case .message(let message):
      handedOut += message.isLast ? 1 : 0
      if let cookie = message.responseCookie { end(cookie) }
      notePart(message)
      if harness.token != 0, harness.options.holdsMessages { tokens.append(harness.token) }
    default: break
    }
    check()
  }

  private func notePart(_ message: ReceivedMessage) {
    if let last = parts {
      if message.isFirst || message.payloadOffset != last.offset || message.payloadSize != last.size {
        fault = "a part that does not fit"
      }
    } else if !message.isFirst {
      fault = "a part without a beginning"
    }
    let next = message.payloadOffset + message.payload.count
    parts = message.isLast ? nil : (next, message.payloadSize)
    if message.isLast, !message.isOversize, next != message.payloadSize { fault = "bytes are missing" }
  }

  private func pull() { harness.streamPiece = random.percent(20) ? 0 : 1 + random.below(70) }

  private func transmit(_ count: Int) {
    guard let bytes = harness.transmit(count) else { return }
    fromClient += bytes
    check()
  }

  // MARK: What must hold

  private func check() {
    let (inbox, outbox) = (harness.inbox, harness.outbox)
    if !(0...8 * (inbox.maximum + 4)).contains(inbox.unacknowledged) { fault = "the inbox grows" }
    if inbox.peak < inbox.unacknowledged { fault = "the peak is below" }
    if !(0...outbox.bytesCapacity).contains(outbox.bytes) { fault = "\(outbox.bytes) bytes in the outbox" }
    if outbox.messages > outbox.messagesCapacity { fault = "\(outbox.messages) messages in the outbox" }
    if inbox.subscribes > harness.options.requests { fault = "too many requests" }
    if let ending = harness.ending {
      if harness.isConnected || harness.wantsReceive { fault = "ended, and goes on" }
      if max(ending.reasonString.end, ending.properties.end) > harness.options.receiveBytes {
        fault = "an extent outside"
      }
    }
  }
}
