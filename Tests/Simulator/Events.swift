import MQTTSession
import MQTTWire
import Storage

/// What the application of a session is told.
extension Endpoint {
  /// Takes one event, which releases the one before. True: there was one.
  func takeEvent() throws(Failure) -> Bool {
    guard let event = nextEvent() else {
      try look()
      try settle()
      if phase == .offline { isDone = true }
      return false
    }
    try look()
    switch event {
    case .connected(let connected):
      world.trace("\(name): connected, session present: \(connected.sessionPresent)")
    case .completed(let completion): try completed(completion)
    case .subscribeCompleted(let answer):
      world.trace("\(name): request \(answer.cookie & 0xFFFF) answered")
      let count = try finishRequest(answer.cookie)
      let isRight = answer.refusal == nil && [count, 0].contains(answer.reasonCodes.count)
      try require(isRight, "\(name): a wrong answer")
    case .message(let message): try received(message)
    case .handshake(let handshake):
      try require(handshake.properties.count > 0, "\(name): a handshake that says nothing")
      world.counts[.handshakeTold] += 1
    case .room: isStarved = false
    default: throw Failure("\(name): an event nobody asked for")
    }
    return true
  }

  private func completed(_ completion: Completion) throws(Failure) {
    guard completion.cookie < 1 << 32 else {
      world.trace("\(name): request \(completion.cookie & 0xFFFF) cannot be sent")
      _ = try finishRequest(completion.cookie)
      return try require(completion.result == .aboveLimit, "\(name): request \(completion.result)")
    }
    let number = Int(completion.cookie)
    world.trace("\(name): message \(number) \(completion.result)")
    try require(number < world.ledger.messages.count, "a completion of nobody")
    try require(world.ledger.messages[number].origin == name, "\(name): a completion of another")
    switch completion.result {
    case .refused: world.counts[.messageRefused] += 1
    case .sessionLost: world.counts[.messageLostWithSession] += 1
    case .aboveLimit: world.counts[.messageAboveLimit] += 1
    case .aborted: world.counts[.messageAborted] += 1
    case .dropped: world.counts[.messageDropped] += 1
    case .replaced: world.counts[.messageReplaced] += 1
    default: break
    }
    try world.ledger.completed(number, completion.result)
  }

  private func finishRequest(_ cookie: UInt64) throws(Failure) -> Int {
    guard let index = requests.firstIndex(where: { $0.cookie == cookie }) else {
      throw Failure("\(name): request \(cookie & 0xFFFF) ends twice")
    }
    return requests.remove(at: index).count
  }

  // MARK: Messages

  private func received(_ event: MessageEvent) throws(Failure) {
    let isFrom = world.scenario.shape == .broker ? Ledger.server : 1 - name
    let bytes = copy(event.payload)
    let number: Int
    if bytes.isEmpty {
      // Dropped for want of room: nothing but its size is known.
      try require(event.isOversize && event.isFirst && event.isLast, "\(name): no payload")
      number = try world.ledger.find(size: event.payloadSize, from: isFrom).number
    } else {
      guard let whole = try assemble(event, bytes) else { return }
      number = try world.ledger.find(whole).number
    }
    let message = world.ledger.messages[number]
    world.trace(
      "\(name): gets message \(number)\(event.isOversize ? ", too large" : ""), token \(event.token)")
    try require(message.origin == isFrom, "\(name): message \(number) comes back")
    try require(event.qos.rawValue == message.qos, "\(name): message \(number) with another QoS")
    try require(
      (event.token != 0) == (message.qos > 0), "\(name): message \(number) with token \(event.token)")
    if event.isTopicAliased { world.counts[.aliasReceived] += 1 }
    if !event.topic.isEmpty {
      let topic = event.isTopicAliased ? copyAliased(event.topic) : copy(event.topic)
      try require(
        topic == world.ledger.topics[message.topic], "\(name): message \(number) with another topic")
    } else {
      try require(event.isOversize, "\(name): message \(number) without a topic")
    }
    try world.ledger.delivered(number)
    try decide(event.token, number)
  }

  /// The whole payload, when its last part is there.
  private func assemble(_ event: MessageEvent, _ bytes: [UInt8]) throws(Failure) -> [UInt8]? {
    if event.isFirst { partial = [] }
    guard let before = partial else { throw Failure("\(name): a part without a beginning") }
    try require(event.payloadOffset == before.count, "\(name): a part at \(event.payloadOffset)")
    let whole = before + bytes
    try require(event.isLast || event.token == 0, "\(name): a token before the last part")
    try require(event.isLast || traits.deliversParts, "\(name): a part")
    partial = event.isLast ? nil : whole
    if !event.isLast { world.counts[.part] += 1 }
    guard event.isLast else { return nil }
    try require(whole.count == event.payloadSize, "\(name): \(whole.count) bytes of \(event.payloadSize)")
    return whole
  }

  private func copy(_ extent: ByteRange) -> [UInt8] { Self.copy(session, extent) }

  private static func copy(_ session: borrowing Session, _ extent: ByteRange) -> [UInt8] {
    let bytes = session.receivedBytes
    return [UInt8](unsafeUninitializedCapacity: extent.count) { copy, count in
      for index in 0..<extent.count { unsafe copy[index] = bytes[extent.offset + index] }
      count = extent.count
    }
  }

  private func copyAliased(_ extent: ByteRange) -> [UInt8] { Self.copyAliased(session, extent) }

  private static func copyAliased(_ session: borrowing Session, _ extent: ByteRange) -> [UInt8] {
    let bytes = session.aliasedTopics
    var copy: [UInt8] = []
    for index in extent.range { copy.append(bytes[index]) }
    return copy
  }

  /// As smq_next_event() takes it.
  private func nextEvent() -> SessionEvent? {
    switch session.advanceToNextEvent() {
    case .completion where session.plainCompletion != nil:
      session.plainCompletion.map { .completed(session.takePlainCompletion($0)) }
    case .plainMessage: .message(MessageEvent(session.takePlainMessage()))
    case let source: session.takeEvent(source)
    }
  }
}
