import MQTTSession
import MQTTWire
import TestSupport

/// What the application of a session does: publishes, subscribes, takes events and acknowledges messages.
extension Endpoint {
  // MARK: Publishing

  func publish() throws(Failure) -> Bool {
    guard published < world.scenario.messages, reserved == nil else { return false }
    let topic = world.random.below(world.ledger.topics.count)
    let qos = world.random.pick([QoS.atMostOnce, .atLeastOnce, .exactlyOnce])
    var message = world.ledger.draft(
      name, topic: topic, qos: qos.rawValue, size: world.size(traits.largest))
    message.isQuiet = world.random.percent(traits.quietPercent)
    message.isRefused =
      world.scenario.shape == .broker && qos != .atMostOnce
      && world.random.percent(world.scenario.server.refusePercent)
    var options = PublishOptions(cookie: UInt64(message.number), isQuiet: message.isQuiet)
    // What happens when the outbox is full is the same for all messages with one topic, so that these stay in order.
    if traits.hasPolicies {
      switch topic % 5 {
      case 0: options.isUrgent = true
      case 1: options.overflow = .dropOldest
      case 2: options.overflow = .latest
      case 3: options.overflow = .dropNewest
      default: break
      }
    }
    message.isUrgent = options.isUrgent
    message.isLatest = options.overflow == .latest
    message.isExpendable = options.overflow != .refuse
    var properties: [UInt8] = []
    var room = message.size
    if !options.isUrgent, world.random.percent(traits.specialPercent) {
      switch world.random.below(3) {
      case 0 where options.overflow != .latest: options.kind = .stream
      case 1 where options.overflow != .latest:
        options.kind = .reserved
        room += world.random.below(150)
      default: if world.scenario.version == .v5_0 { properties = [0x01, 0x01, 0x26, 0, 1, 0x6E, 0, 1, 0x76] }
      }
    }
    do throws(SessionError) {
      guard try publish(message, room, qos, options, properties) else {
        world.trace("\(name): message of \(message.size) bytes dropped at once")
        world.counts[.droppedAtOnce] += 1
        return true
      }
    } catch {
      world.trace("\(name): message of \(message.size) bytes not taken: \(error)")
      try check(error, message, options, room)
      return false
    }
    world.trace(
      "\(name): message \(message.number), QoS \(qos.rawValue), \(message.size) bytes, \(options.kind)")
    published += 1
    world.ledger.add(message)
    if options.kind == .stream {
      world.counts[.stream] += 1
      stream = message.number
    }
    if options.kind == .reserved {
      world.counts[.reserved] += 1
      reserved = (message.number, room)
    }
    return true
  }

  private func publish(
    _ message: Ledger.Message, _ room: Int, _ qos: QoS, _ options: PublishOptions, _ properties: [UInt8]
  ) throws(SessionError) -> Bool {
    let topic = world.ledger.topics[message.topic]
    guard options.kind == .whole else {
      return try session.publish(
        Publish(
          topic: topic.span, payloadSize: room, qos: qos, retain: false, properties: properties.span),
        options, at: world.now)
    }
    let payload = Ledger.payload(message.number, size: message.size)
    let publish = Publish(
      topic: topic.span, payload: payload.span, qos: qos, retain: false, properties: properties.span)
    if properties.isEmpty, !options.needsSlowPath {
      try session.publish(
        topic: topic.span, payload: payload.span, MessageFlags(qos: qos, isQuiet: options.isQuiet),
        cookie: options.cookie)
      return true
    }
    return try session.publish(publish, options, at: world.now)
  }

  private func check(
    _ error: SessionError, _ message: Ledger.Message, _ options: PublishOptions, _ room: Int
  ) throws(Failure) {
    let isRight: Bool
    switch error {
    case .full:
      isRight = true
      if options.kind != .stream { isStarved = true }
    case .tooLarge:
      // A PUBLISH with all that may be in it.
      let size = room + world.ledger.topics[message.topic].count + 27
      let capacity = options.isUrgent ? traits.urgentBytes : traits.outboxBytes
      isRight = size > min(capacity, session.limits.maximumPacketSize)
    case .leaving: isRight = isLeaving
    case .qosNotSupported: isRight = message.qos > session.limits.maximumQoS
    case .notSupported: isRight = options.kind == .stream && traits.streamBytes == 0
    case .option: isRight = world.scenario.fallsBackAfter != nil
    default: isRight = false
    }
    try require(isRight, "\(name): a message of \(room) bytes is not taken: \(error)")
  }

  /// Writes the payload of a reserved message, or gives it up.
  func commit() throws(Failure) -> Bool {
    guard let (number, room) = reserved else { return false }
    reserved = nil
    let isKept = world.random.percent(80)
    world.trace("\(name): \(isKept ? "commits" : "takes back") message \(number)")
    let size = world.ledger.messages[number].size
    world.ledger.messages[number].isWithdrawn = !isKept
    let written = Self.write(&session, number, size)
    try require(written == room, "\(name): another room than reserved")
    do throws(SessionError) {
      if isKept {
        try session.commit(payloadSize: size)
      } else {
        try session.abort()
      }
    } catch {
      throw Failure("\(name): \(error) from commit or abort")
    }
    return true
  }

  private static func write(_ session: inout Session, _ number: Int, _ size: Int) -> Int {
    var payload = session.reservedPayload
    for index in 0..<min(size, payload.count) { payload[index] = Ledger.byte(number, at: index) }
    return payload.count
  }

  // MARK: Requests

  private struct Filters: SubscriptionList {
    let bytes: [UInt8]
    let count: Int
    let options: SubscriptionOptions

    @_lifetime(borrow self)
    borrowing func filter(at index: Int) -> Span<UInt8> { bytes.span }
    borrowing func options(at index: Int) -> SubscriptionOptions { options }
  }

  /// What the server answers changes nothing here: messages come and go as before.
  func request() throws(Failure) -> Bool {
    let isNew = world.scenario.version == .v5_0 && world.scenario.fallsBackAfter == nil
    let list = Filters(
      bytes: "t/#".bytes, count: world.random.from(1...4),
      options: SubscriptionOptions(maximumQoS: .exactlyOnce, noLocal: isNew && world.random.percent(50)))
    let type: ControlPacketType = world.random.percent(60) ? .subscribe : .unsubscribe
    let identifier: UInt32 = isNew && type == .subscribe ? UInt32(world.random.below(200)) : 0
    do throws(SessionError) {
      if type == .subscribe {
        try session.subscribe(list, properties: Span(), identifier: identifier, cookie: nextRequest)
      } else {
        try session.unsubscribe(list, properties: Span(), cookie: nextRequest)
      }
    } catch {
      let isRight = error == .full || error == .tooLarge || (error == .leaving && isLeaving)
      try require(isRight, "\(name): \(type) is not taken: \(error)")
      return false
    }
    world.trace("\(name): \(type) with \(list.count) filters")
    requests.append((nextRequest, list.count))
    nextRequest += 1
    return true
  }

  // MARK: Acknowledging

  func acknowledge() throws(Failure) -> Bool {
    guard !held.isEmpty else { return false }
    let index = world.random.below(held.count)
    let message = held[index]
    guard try acknowledge(message) else { return false }
    held.remove(at: index)
    return true
  }

  /// False: it has to be tried again.
  private func acknowledge(_ message: Held) throws(Failure) -> Bool {
    let isRefusal = world.random.percent(traits.refusePercent)
    let isNew = world.scenario.version == .v5_0 && world.scenario.fallsBackAfter == nil
    let isWordy = isNew && !world.isEnding && world.random.percent(20)
    let properties: [UInt8] = isWordy ? [0x1F, 0, 1, 0x78] : []
    do throws(SessionError) {
      try session.acknowledge(message.token, reasonCode: isRefusal ? 0x83 : 0, properties: properties.span)
    } catch {
      world.trace("\(name): message \(message.number) not acknowledged: \(error)")
      if error == .full, isWordy { return false }
      // Its session is gone; or it is one with QoS 1 that did not come again on a connection since, and if it
      // comes later it is a new one; or it had to make room for one in front of it; or its sender gave it up.
      let isQoS1 = world.ledger.messages[message.number].qos == 1
      let isGivenUp = world.ledger.messages[message.number].outcome == .aborted
      let isCrowded = world.scenario.server.window > traits.receiveMaximum
      let isOver =
        rules.sessionsLost > message.session || isGivenUp
        || (isQoS1 && (isCrowded || rules.connections > message.connection + 1))
      try require(
        error == .token && isOver, "\(name): message \(message.number) cannot be acknowledged: \(error)")
      return true
    }
    world.trace("\(name): acknowledges message \(message.number)\(isRefusal ? ", refuses it" : "")")
    if rules.connections > message.connection { world.counts[.heldOver] += 1 }
    if isRefusal {
      world.counts[.refusedHere] += 1
      world.ledger.messages[message.number].refusals += 1
    }
    return true
  }

  /// A message was handed out: the application decides what becomes of it.
  func decide(_ token: UInt32, _ number: Int) throws(Failure) {
    guard token != 0 else {
      return try require(!session.hold(), "\(name): nothing to be acknowledged, and held")
    }
    let message = Held(
      token: token, number: number, connection: rules.connections, session: rules.sessionsLost)
    if traits.holdsMessages || world.random.percent(traits.holdPercent) {
      if !traits.holdsMessages || world.random.percent(50) {
        try require(session.hold(), "\(name): message \(number) cannot be held")
      }
      held.append(message)
    } else if world.random.percent(traits.refusePercent) {
      if !(try acknowledge(message)) {
        try require(session.hold(), "\(name): message \(number) cannot be held")
        held.append(message)
      }
    }
  }
}
