import MQTTWire

@testable import MQTTSession

/// What the outbox should do, said with plain arrays: random operations go to a session and to this
/// model, and everything that can be seen must agree.
///
/// The messages' states and the layout of the ring are kept in the simplest way that comes to mind:
/// a list from the oldest message whose room is not back to the newest, each with its place.
final class OutboxModel {
  struct Disagreement: Error { let text: String }

  enum State { case queued, sent, released, completed, free }

  struct Message {
    let cookie: UInt64
    let qos: QoS
    let retain: Bool
    let isQuiet: Bool
    let identifier: UInt16
    /// Without DUP.
    let packet: [UInt8]
    let offset: Int
    var end: Int { offset + packet.count }
    var state = State.queued
    /// It was sent whole in the server's session, which still lives.
    var wasSent = false
  }

  struct Limits {
    var packetSize = Int.max
    var qos: UInt8 = 2
    var retain = true
    var isTight: Bool { packetSize < .max || qos < 2 || !retain }
  }

  let seed: UInt64
  let version: ProtocolVersion
  let keepsSession: Bool
  let byteCapacity: Int
  let messageCapacity: Int
  let rig: Rig
  var random: SeededGenerator

  private var messages: [Message] = []
  private var nextIdentifier: Int
  private var nextCookie: UInt64 = 1
  private var events: [Happening] = []
  /// A message found no room; since then there is some, and the event that says so is due.
  private var isStarved = false
  private var hasNewRoom = false
  private(set) var accepted = 0
  private(set) var ended = 0
  private(set) var refusedAsFull = 0
  private(set) var resent = 0
  private(set) var wrapped = 0

  // The connection.
  private var isConnected = false
  private var limits = Limits()
  private var window = 0
  /// Published here and not ended yet.
  private var outstanding: Set<UInt16> = []
  private var stream: [UInt8] = []
  /// PUBREL packets that are due again, in this order, because the session was taken up.
  private var againDue: [UInt16] = []
  /// PUBREL packets that answer a PUBREC.
  private var answersDue: [[UInt8]] = []
  // The server: which answers it owes.
  private var pubacks: [UInt16] = []
  private var pubrecs: [UInt16] = []
  private var pubcomps: [UInt16] = []

  init(seed: UInt64, messages: Int, bytes: Int) {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    version = random.chance(50) ? .v5_0 : .v3_1_1
    keepsSession = random.chance(80)
    messageCapacity = messages
    byteCapacity = bytes
    nextIdentifier = random.chance(30) ? 65_018 + random.below(6) : 1 + random.below(65_023)
    rig = Rig(
      version, keepSession: keepsSession, keepAlive: 0, outboxBytes: bytes, outboxMessages: messages,
      firstIdentifier: UInt16(nextIdentifier))
  }

  private func check(_ condition: Bool, _ text: @autoclosure () -> String) throws(Disagreement) {
    if !condition { throw Disagreement(text: text()) }
  }

  // MARK: Running

  func run(steps: Int) throws(Disagreement) {
    for _ in 0..<steps {
      try step()
      try checkNumbers()
    }
    try settle()
  }

  private func step() throws(Disagreement) {
    let dice = random.below(100)
    switch dice {
    case 0..<35: try publish(size: randomSize())
    case 35..<45: try takeEvent()
    case 45..<100 where !isConnected: try connect(isLast: false)
    case 45..<65: _ = try transmit(1 + random.below(random.chance(50) ? 6 : 80))
    case 65..<73: try transmitAll()
    case 73..<90: try answer()
    case 90..<95: try answerNothing()
    default: lose()
    }
  }

  /// Everything comes to an end, and all the room comes back.
  private func settle() throws(Disagreement) {
    if isConnected, random.chance(50) { lose() }
    var turns = 0
    while !messages.isEmpty {
      if !isConnected { try connect(isLast: true) }
      try transmitAll()
      while !(pubacks + pubrecs + pubcomps).isEmpty { try answer() }
      while !events.isEmpty || hasNewRoom { try takeEvent() }
      turns += 1
      try check(turns < 100, "not everything completes")
    }
    while !events.isEmpty || hasNewRoom { try takeEvent() }
    try check(!rig.hasEvent, "an event too many")
    try checkNumbers()
    if limits.isTight { lose() }
    if !isConnected { try connect(isLast: true) }
    try transmitAll()
    try check(rig.isDrained, "not drained")
    try check(ended == accepted, "\(accepted) taken, \(ended) ended")
    try publish(size: byteCapacity)
    try check(messages.count == 1, "a packet as large as the ring does not fit")
    try checkNumbers()
  }

  // MARK: The application

  private func randomSize() -> Int {
    switch random.below(6) {
    case 0: byteCapacity / (1 + random.below(5)) + random.below(3) - 1
    case 1:
      // Just what is left up to the end, or one more or less.
      byteCapacity - (messages.last?.end ?? 0) + random.below(3) - 1
    case 2: (messages.first?.offset ?? 0) + random.below(2)
    default: 6 + random.below(24)
    }
  }

  /// From the first whose fate is open: the bytes of those before it are free.
  private var withBytes: ArraySlice<Message> {
    messages.drop { $0.state == .completed || $0.state == .free }
  }

  /// Where a packet would go, if it fits anywhere: behind the last one, or else at the front.
  private func place(_ size: Int) -> Int? {
    guard let last = withBytes.last else { return 0 }
    return [last.end, 0].first { offset in
      offset + size <= byteCapacity
        && withBytes.allSatisfy { offset + size <= $0.offset || offset >= $0.end }
    }
  }

  private func publish(size wanted: Int) throws(Disagreement) {
    let qos = allQoS[random.below(3)]
    let retain = random.chance(20)
    let isQuiet = random.chance(30)
    // As near to the wanted size as the two sizes of Remaining Length allow.
    let fixed = 3 + (qos == .atMostOnce ? 0 : 2) + (version == .v5_0 ? 1 : 0)
    var payloadSize = max(0, wanted - 2 - fixed)
    if fixed + payloadSize > 127 { payloadSize = max(127 - fixed, payloadSize - 1) }
    let payload = random.bytes(payloadSize)
    let packet = MQTTSessionTests.publish(
      version, "t", payload, qos: qos, identifier: UInt16(nextIdentifier), retain: retain)

    var expected: SessionError? = nil
    let offset = place(packet.count)
    if packet.count > byteCapacity || packet.count > limits.packetSize {
      expected = .tooLarge
    } else if qos.rawValue > limits.qos {
      expected = .qosNotSupported
    } else if retain && !limits.retain {
      expected = .retainNotSupported
    } else if messages.count == messageCapacity || offset == nil {
      expected = .full
    }
    let before = rig.numbers
    var error: SessionError? = nil
    do {
      try rig.publish("t", payload, qos: qos, retain: retain, cookie: nextCookie, isQuiet: isQuiet)
    } catch let thrown {
      error = thrown
    }
    let (result, right) = (error.map { "\($0)" } ?? "taken", expected.map { "\($0)" } ?? "taken")
    try check(result == right, "publish \(packet.count) bytes: \(result), not \(right)")
    if error != nil {
      try check(rig.numbers == before, "a call that failed changed \(before) to \(rig.numbers)")
      if error == .full {
        refusedAsFull += 1
        isStarved = true
      }
      return
    }
    if let last = withBytes.last, last.offset > offset! { wrapped += 1 }
    messages.append(
      Message(
        cookie: nextCookie, qos: qos, retain: retain, isQuiet: isQuiet, identifier: UInt16(nextIdentifier),
        packet: packet, offset: offset!))
    nextCookie += 1
    nextIdentifier = nextIdentifier == 65_023 ? 1 : nextIdentifier + 1
    accepted += 1
  }

  private func takeEvent() throws(Disagreement) {
    let event = rig.event()
    let expected = events.isEmpty ? (hasNewRoom ? .room : nil) : events.removeFirst()
    try check(
      event == expected,
      "event \(event.map { "\($0)" } ?? "none"), not \(expected.map { "\($0)" } ?? "none")")
    switch event {
    case .delivered(let cookie), .refused(let cookie, _), .failed(let cookie, _), .aboveLimit(let cookie, _):
      guard let index = messages.firstIndex(where: { $0.cookie == cookie }) else {
        throw Disagreement(text: "an event of nobody")
      }
      messages[index].state = .free
    case .room:
      isStarved = false
      hasNewRoom = false
    default: break
    }
    collect()
  }

  private func complete(_ index: Int, _ event: Happening) {
    ended += 1
    if messages[index].offset == withBytes.first?.offset, isStarved { hasNewRoom = true }
    if messages[index].isQuiet, case .delivered = event {
      messages[index].state = .free
    } else {
      messages[index].state = .completed
      events.append(event)
    }
  }

  private func collect() {
    let free = messages.prefix { $0.state == .free }.count
    messages.removeFirst(free)
    if free > 0, isStarved { hasNewRoom = true }
  }

  // MARK: The connection

  private func lose() {
    rig.lose()
    isConnected = false
    limits = Limits()
    window = 0
    stream = []
    againDue = []
    answersDue = []
    outstanding = []
    pubacks = []
    pubrecs = []
    pubcomps = []
  }

  private func connect(isLast: Bool) throws(Disagreement) {
    let isPresent = keepsSession && random.chance(60)
    window = 65_535
    var properties: [UInt8] = []
    if version == .v5_0, !isLast {
      if random.chance(50) {
        window = 1 + random.below(4)
        properties += receiveMaximum(UInt16(window))
      }
      if random.chance(10) {
        limits.packetSize = 8 + random.below(byteCapacity)
        properties += maximumPacketSize(UInt16(limits.packetSize))
      }
      if random.chance(10) {
        limits.qos = UInt8(random.below(2))
        properties += maximumQoS(limits.qos)
      }
      if random.chance(10) {
        limits.retain = false
        properties += retainAvailable(0)
      }
    }
    events.insert(.connected(sessionPresent: isPresent), at: 0)
    for index in messages.indices { resume(index, isPresent) }
    collect()
    rig.connect(sessionPresent: isPresent, properties: properties)
    isConnected = true
    try check(rig.isConnected, "not connected")
    // It would come before completions that are older: take it.
    try takeEvent()
  }

  private func resume(_ index: Int, _ isPresent: Bool) {
    let message = messages[index]
    switch message.state {
    case .sent: messages[index].state = .queued
    case .released where isPresent: againDue.append(message.identifier)
    case .released: return complete(index, .delivered(message.cookie))
    default: break
    }
    guard messages[index].state == .queued else { return }
    if !isPresent {
      // The old session may have had it; sending it again could deliver it twice.
      if message.qos == .exactlyOnce, message.wasSent {
        return complete(index, .failed(message.cookie, .sessionLost))
      }
      messages[index].wasSent = false
    }
    if message.packet.count > limits.packetSize {
      complete(index, .aboveLimit(message.cookie, 0x95))
    } else if message.qos.rawValue > limits.qos {
      complete(index, .aboveLimit(message.cookie, 0x9B))
    } else if message.retain && !limits.retain {
      complete(index, .aboveLimit(message.cookie, 0x9A))
    }
  }

  private func transmitAll() throws(Disagreement) {
    while try transmit(.max) {}
  }

  private func transmit(_ count: Int) throws(Disagreement) -> Bool {
    guard let bytes = rig.transmit(count) else {
      try check(stream.isEmpty, "a packet is not finished")
      try check(againDue.isEmpty && answersDue.isEmpty, "PUBREL is missing")
      if let next = messages.first(where: { $0.state == .queued }) {
        // A message that awaits PUBCOMP from before may take from the window, or not.
        let inFlight =
          outstanding.count + messages.count { $0.state == .released && !outstanding.contains($0.identifier) }
        try check(next.qos != .atMostOnce && inFlight >= window, "message \(next.cookie) could be sent")
      }
      return false
    }
    stream += bytes
    while let size = firstPacketSize(stream[...]) {
      try sent(Array(stream.prefix(size)))
      stream.removeFirst(size)
    }
    collect()
    return true
  }

  /// A whole packet has reached the server.
  private func sent(_ packet: [UInt8]) throws(Disagreement) {
    if packet[0] >> 4 == 6 { return try sentPubrel(packet) }
    guard let index = messages.firstIndex(where: { $0.state == .queued }) else {
      throw Disagreement(text: "nothing was to be sent, but \(packet)")
    }
    let message = messages[index]
    var expected = message.packet
    if message.wasSent { expected[0] |= 8 }
    try check(packet == expected, "sent \(packet), not \(expected)")
    if message.wasSent { resent += 1 }
    guard message.qos != .atMostOnce else { return complete(index, .delivered(message.cookie)) }
    messages[index].state = .sent
    messages[index].wasSent = true
    outstanding.insert(message.identifier)
    try check(outstanding.count <= window, "\(outstanding.count) on their way, \(window) are allowed")
    if message.qos == .atLeastOnce {
      pubacks.append(message.identifier)
    } else {
      pubrecs.append(message.identifier)
    }
  }

  private func sentPubrel(_ packet: [UInt8]) throws(Disagreement) {
    let identifier = UInt16(packet[2]) << 8 | UInt16(packet[3])
    if let again = againDue.first, packet == pubrel(again) {
      againDue.removeFirst()
    } else if let index = answersDue.firstIndex(of: packet) {
      answersDue.remove(at: index)
    } else {
      throw Disagreement(text: "sent \(packet), due again are \(againDue), answers \(answersDue)")
    }
    if packet.count == 4, messages.contains(where: { $0.identifier == identifier && $0.state == .released }),
      !pubcomps.contains(identifier)
    {
      pubcomps.append(identifier)
    }
  }

  // MARK: The server

  private func answer() throws(Disagreement) {
    let isRefusal = version == .v5_0 && random.chance(20)
    switch random.below(3) {
    case 0 where !pubacks.isEmpty:
      let identifier = pubacks.remove(at: random.below(pubacks.count))
      let index = try indexOf(identifier, .sent)
      rig.receive(puback(identifier, isRefusal ? 0x97 : 0))
      outstanding.remove(identifier)
      let cookie = messages[index].cookie
      complete(index, isRefusal ? .refused(cookie, 0x97) : .delivered(cookie))
    case 1 where !pubrecs.isEmpty:
      let identifier = pubrecs.remove(at: random.below(pubrecs.count))
      let index = try indexOf(identifier, .sent)
      rig.receive(pubrec(identifier, isRefusal ? 0x83 : 0))
      if isRefusal {
        outstanding.remove(identifier)
        complete(index, .refused(messages[index].cookie, 0x83))
      } else {
        messages[index].state = .released
        answersDue.append(pubrel(identifier))
      }
    case 2 where !pubcomps.isEmpty:
      let identifier = pubcomps.remove(at: random.below(pubcomps.count))
      let index = try indexOf(identifier, .released)
      rig.receive(pubcomp(identifier, isRefusal ? 0x92 : 0))
      outstanding.remove(identifier)
      complete(index, .delivered(messages[index].cookie))
    default: break
    }
    collect()
    try check(rig.ending == nil, "ended")
  }

  private func indexOf(_ identifier: UInt16, _ state: State) throws(Disagreement) -> Int {
    guard let index = messages.firstIndex(where: { $0.identifier == identifier && $0.state == state }) else {
      throw Disagreement(text: "the model has no message \(identifier) that is \(state)")
    }
    return index
  }

  /// An acknowledgement that nothing waits for: often that of a message that is there.
  private func answerNothing() throws(Disagreement) {
    let near = messages.isEmpty ? 1 : messages[random.below(messages.count)].identifier
    let identifier = random.chance(60) ? near : UInt16(1 + random.below(65_535))
    let awaits = messages.first {
      $0.identifier == identifier && ($0.state == .sent || $0.state == .released)
    }
    if let awaits {
      // A PUBREC once more; everything else would be a Protocol Error, or what `answer` does.
      guard awaits.state == .released, !againDue.contains(identifier) else { return }
      rig.receive(pubrec(identifier))
      answersDue.append(pubrel(identifier))
    } else {
      switch random.below(3) {
      case 0: rig.receive(puback(identifier))
      case 1:
        rig.receive(pubrec(identifier))
        // PUBREL may not overtake a PUBLISH that is still to come (again).
        if !messages.contains(where: { $0.identifier == identifier && $0.state == .queued }) {
          answersDue.append(pubrel(identifier, version == .v5_0 ? 0x92 : 0))
        }
      default: rig.receive(pubcomp(identifier))
      }
    }
    try check(rig.ending == nil, "ended")
  }

  // MARK: What can be seen

  private func checkNumbers() throws(Disagreement) {
    var bytes = 0
    if let first = withBytes.first, let last = withBytes.last {
      bytes = last.end - first.offset
      if bytes <= 0 { bytes += byteCapacity }
    }
    let numbers = rig.outbox
    try check(
      numbers.messages == messages.count && numbers.bytes == bytes,
      "\(numbers.messages) messages, \(numbers.bytes) bytes, not \(messages.count) and \(bytes)")
    try check(rig.hasEvent == (!events.isEmpty || hasNewRoom), "hasEvent is wrong")
    let incomplete = messages.contains { $0.state != .completed && $0.state != .free }
    try check(!incomplete || !rig.isDrained, "drained, with messages not complete")
  }
}
