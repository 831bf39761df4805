import MQTTWire
import TestSupport

@testable import MQTTSession

/// What the outbox should do, said with plain arrays: random operations go to a session and to this
/// model, and everything that can be seen must agree.
///
/// The messages' states and the layout of the ring are kept in the simplest way that comes to mind:
/// a list from the oldest message whose room is not back to the newest, each with its place.
final class OutboxModel {
  struct Disagreement: Error { let text: String }

  enum State { case queued, sent, pubrelSent, completed, free }

  struct Message {
    let cookie: UInt64
    let qos: QoS
    let retain: Bool
    let isQuiet: Bool
    let topic: String
    let overflow: PublishOptions.Overflow
    var identifier: UInt16
    /// Without DUP.
    var packet: [UInt8]
    var offset: Int
    var end: Int { offset + packet.count }
    var state = State.queued
    /// It was sent whole in the server's session, which still lives.
    var wasSent = false
    /// It was sent whole, in whichever session.
    var mayHaveArrived = false
  }

  struct Limits {
    var packetSize = Int.max
    var qos: UInt8 = 2
    var retain = true
    var isTight: Bool { packetSize < .max || qos < 2 || !retain }
  }

  let seed: UInt64
  /// Messages may be dropped, and replaced.
  let hasPolicies: Bool
  let version: ProtocolVersion
  let keepsSession: Bool
  let byteCapacity: Int
  let messageCapacity: Int
  /// How many places there are, for those too that have ended behind others.
  let places: Int
  let harness: SessionHarness
  var random: SeededRandom

  /// All of one byte, so that they are no reason why a packet is larger.
  private let topics: [String]
  private var messages: [Message] = []
  /// Where the newest packet ends.
  private var tail = 0
  private var nextIdentifier: Int
  private var nextCookie: UInt64 = 1
  private var events: [ReportedEvent] = []
  /// A message found no room; since then there is some, and the event that says so is due.
  private var isStarved = false
  private var hasNewRoom = false
  private(set) var accepted = 0
  private(set) var ended = 0
  private(set) var refusedAsFull = 0
  private(set) var dropped = 0
  private(set) var replaced = 0
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
    random = SeededRandom(seed: seed)
    version = random.percent(50) ? .v5_0 : .v3_1_1
    keepsSession = random.percent(80)
    hasPolicies = seed % 2 == 1
    messageCapacity = messages
    topics = messages < 100 ? ["t", "u", "v"] : "abcdefghijklmnopqrstuvwxyz".map { String($0) }
    places = messages < 512 ? messages : messages + messages / 8
    byteCapacity = bytes
    nextIdentifier = random.percent(30) ? 65_018 + random.below(6) : 1 + random.below(65_023)
    harness = SessionHarness(
      version, keepSession: keepsSession, keepAlive: 0, outboxBytes: bytes, outboxMessages: messages,
      firstIdentifier: UInt16(nextIdentifier))
  }

  private func check(_ condition: Bool, _ text: @autoclosure () -> String) throws(Disagreement) {
    if !condition { throw Disagreement(text: text()) }
  }

  // MARK: Running

  /// `waiting` messages are published first.
  func run(steps: Int, waiting: Int = 0) throws(Disagreement) {
    for _ in 0..<waiting { try publish(size: 6 + random.below(24), as: randomOverflow()) }
    for _ in 0..<steps {
      try step()
      try checkNumbers()
    }
    try settle()
  }

  private func step() throws(Disagreement) {
    let dice = random.below(100)
    switch dice {
    case 0..<35: try publish(size: randomSize(), as: randomOverflow())
    case 35..<45: try takeEvent()
    case 45..<100 where !isConnected: try connect(isLast: false)
    case 45..<65: _ = try transmit(1 + random.below(random.percent(50) ? 6 : 80))
    case 65..<73: try transmitAll()
    case 73..<90: try answer()
    case 90..<95: try answerNothing()
    default: lose()
    }
  }

  /// Everything comes to an end, and all the room comes back.
  private func settle() throws(Disagreement) {
    if isConnected, random.percent(50) { lose() }
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
    try check(!harness.hasEvent, "an event too many")
    try checkNumbers()
    if limits.isTight { lose() }
    if !isConnected { try connect(isLast: true) }
    try transmitAll()
    try check(harness.isDrained, "not drained")
    try check(ended == accepted, "\(accepted) taken, \(ended) ended")
    try publish(size: byteCapacity, as: .refuse)
    try check(messages.count == 1, "a packet as large as the ring does not fit")
    try checkNumbers()
  }

  // MARK: The application

  private func randomSize() -> Int {
    switch random.below(6) {
    case 0: byteCapacity / (1 + random.below(5)) + random.below(3) - 1
    case 1:
      // Just what is left up to the end, or one more or less.
      byteCapacity - tail + random.below(3) - 1
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
    guard let first = withBytes.first else { return 0 }
    if tail > first.offset {
      return tail + size <= byteCapacity ? tail : size <= first.offset ? 0 : nil
    }
    return tail + size <= first.offset ? tail : nil
  }

  private func isOpen(_ message: Message) -> Bool { message.state != .completed && message.state != .free }

  private func randomOverflow() -> PublishOptions.Overflow {
    hasPolicies ? [.refuse, .refuse, .dropOldest, .dropNewest, .latest][random.below(5)] : .refuse
  }

  private enum Answer { case taken, dropped, failed(SessionError) }

  private func publish(size wanted: Int, as overflow: PublishOptions.Overflow) throws(Disagreement) {
    let qos = allQoS[random.below(3)]
    let retain = random.percent(20)
    let isQuiet = random.percent(hasPolicies ? 60 : 30)
    let topic = topics[random.below(topics.count)]
    // As near to the wanted size as the two sizes of Remaining Length allow.
    let fixed = 3 + (qos == .atMostOnce ? 0 : 2) + (version == .v5_0 ? 1 : 0)
    var payloadSize = max(0, wanted - 2 - fixed)
    if fixed + payloadSize > 127 { payloadSize = max(127 - fixed, payloadSize - 1) }
    let payload = random.bytes(payloadSize)
    let message = Message(
      cookie: nextCookie, qos: qos, retain: retain, isQuiet: isQuiet, topic: topic, overflow: overflow,
      identifier: UInt16(nextIdentifier),
      packet: TestSupport.publish(
        version, topic, payload, qos: qos, identifier: UInt16(nextIdentifier), retain: retain),
      offset: 0)

    let before = harness.numbers
    let starvedBefore = isStarved
    let expected = admit(message)
    let right: String
    switch expected {
    case .taken: right = "taken"
    case .dropped: right = "dropped"
    case .failed(let error): right = "\(error)"
    }
    var result = "taken"
    do {
      let isTaken = try harness.publish(
        topic, payload, qos: qos, retain: retain, cookie: nextCookie, isQuiet: isQuiet, overflow: overflow)
      if !isTaken { result = "dropped" }
    } catch let thrown {
      result = "\(thrown)"
    }
    try check(result == right, "publish \(message.packet.count) bytes, \(overflow): \(result), not \(right)")
    switch expected {
    case .taken:
      nextCookie += 1
      accepted += 1
    case .dropped:
      try check(harness.numbers == before && isStarved == starvedBefore, "what was dropped changed something")
      dropped += 1
    case .failed(let error):
      try check(harness.numbers == before, "a call that failed changed \(before) to \(harness.numbers)")
      if error == .full {
        refusedAsFull += 1
        isStarved = true
      }
    }
  }

  /// What a call that publishes should do: does it here.
  private func admit(_ message: Message) -> Answer {
    let size = message.packet.count
    if size > byteCapacity || size > limits.packetSize { return .failed(.tooLarge) }
    if message.qos.rawValue > limits.qos { return .failed(.qosNotSupported) }
    if message.retain && !limits.retain { return .failed(.retainNotSupported) }
    if message.overflow == .latest, replace(message) {
      endOlder(message)
      return .taken
    }
    if place(size) == nil || !hasDescriptor {
      switch message.overflow {
      case .refuse: return .failed(.full)
      case .dropNewest: return .dropped
      default: if !makeRoom(size) { return .failed(.full) }
      }
    }
    reclaim()
    var message = message
    setIdentifier(&message, UInt16(nextIdentifier))
    message.offset = place(size)!
    if let last = withBytes.last, last.offset > message.offset { wrapped += 1 }
    messages.append(message)
    tail = message.end
    nextIdentifier = next(nextIdentifier)
    if message.overflow == .latest { endOlder(message) }
    return .taken
  }

  private func endOlder(_ message: Message) {
    while let older = messages.firstIndex(where: { $0.topic == message.topic && isLatest($0) }),
      messages[older].cookie != message.cookie
    {
      drop(older, .replaced)
    }
  }

  private func isLatest(_ message: Message) -> Bool { message.overflow == .latest && isExpendable(message) }

  private func isExpendable(_ message: Message) -> Bool {
    message.state == .queued && message.overflow != .refuse && !message.mayHaveArrived
      && message.cookie != begun
  }

  /// The message of which a part was sent.
  private var begun: UInt64? {
    stream.isEmpty || stream[0] >> 4 != 3 ? nil : messages.first { $0.state == .queued }?.cookie
  }

  private func replace(_ message: Message) -> Bool {
    guard var index = messages.lastIndex(where: { $0.topic == message.topic && isLatest($0) }) else {
      return false
    }
    let isTooSmall = message.packet.count > messages[index].packet.count
    guard !isTooSmall, messages[index].isQuiet || hasDescriptor else { return false }
    if !messages[index].isQuiet {
      reclaim()
      index = messages.lastIndex { $0.topic == message.topic && isLatest($0) }!
    }
    let old = messages[index]
    var new = message
    setIdentifier(&new, old.identifier)
    new.offset = old.end - new.packet.count
    ended += 1
    replaced += 1
    if !old.isQuiet {
      var rest = old
      rest.packet = []
      rest.identifier = UInt16(nextIdentifier)
      rest.offset = tail
      rest.state = .completed
      messages.append(rest)
      nextIdentifier = next(nextIdentifier)
      events.append(.failed(old.cookie, .replaced))
    }
    messages[index] = new
    return true
  }

  private func makeRoom(_ size: Int) -> Bool {
    let (before, room) = ((messages, nextIdentifier, events, ended, dropped), (hasNewRoom, tail))
    while true {
      if hasDescriptor {
        if place(size) != nil { return true }
        let unpacked = (messages, tail)
        pack()
        if place(size) != nil { return true }
        (messages, tail) = unpacked
      }
      let needsQuiet = !hasDescriptor
      guard let index = messages.firstIndex(where: { isExpendable($0) && ($0.isQuiet || !needsQuiet) }) else {
        (messages, nextIdentifier, events, ended, dropped) = before
        (hasNewRoom, tail) = room
        return false
      }
      drop(index, .dropped, for: size)
    }
  }

  /// All the room in one piece: at the front, or between those that have wrapped and the others.
  private func pack() {
    guard let front = withBytes.first?.offset else { return }
    let open = messages.indices.filter { isOpen(messages[$0]) }
    let wrapped = open.filter { messages[$0].offset < front }
    tail = byteCapacity
    var limit = byteCapacity
    for index in open.reversed() where !wrapped.contains(index) {
      limit -= messages[index].packet.count
      messages[index].offset = limit
    }
    var end = 0
    for index in wrapped {
      messages[index].offset = end
      end = messages[index].end
      tail = end
    }
  }

  /// With `size`, what is in front of the message moves up if there is no room for so much.
  private func drop(_ index: Int, _ outcome: DeliveryResult, for size: Int = 0) {
    let message = messages[index]
    let behind = messages.count - index
    if outcome == .dropped { dropped += 1 } else { replaced += 1 }
    complete(index, .failed(message.cookie, outcome))
    collect()
    tail = messages.last(where: isOpen)?.end ?? tail
    guard size > 0, place(size) == nil, let front = withBytes.first?.offset, front < message.offset else {
      return
    }
    var limit = message.end
    for index in messages.indices.dropLast(behind).reversed() where isOpen(messages[index]) {
      limit -= messages[index].packet.count
      messages[index].offset = limit
    }
    tail = messages.last(where: isOpen)?.end ?? tail
  }

  private var hasDescriptor: Bool {
    messages.count { $0.state != .free } < messageCapacity && (messages.count < places || reclaimable != nil)
  }

  /// Of a message that has gone, if the server knows neither it nor one behind it.
  private var reclaimable: Int? {
    messages.indices.first { gap in
      messages[gap].state == .free
        && !messages[gap...].contains { $0.qos != .atMostOnce && ($0.mayHaveArrived || $0.cookie == begun) }
    }
  }

  private func reclaim() {
    guard messages.count == places else { return }
    while let gap = reclaimable { remove(gap) }
  }

  /// Those behind a message that has gone take its place.
  private func remove(_ gap: Int) {
    messages.remove(at: gap)
    if isStarved { hasNewRoom = true }
    var identifier = gap == 0 ? 0 : next(Int(messages[gap - 1].identifier))
    for other in gap..<messages.count {
      setIdentifier(&messages[other], UInt16(identifier))
      identifier = next(identifier)
    }
    nextIdentifier = identifier
  }

  private func next(_ identifier: Int) -> Int { identifier == 65_023 ? 1 : identifier + 1 }

  private func setIdentifier(_ message: inout Message, _ identifier: UInt16) {
    message.identifier = identifier
    guard message.qos != .atMostOnce, !message.packet.isEmpty else { return }
    let position = message.packet[1] < 0x80 ? 5 : 6
    message.packet[position] = UInt8(identifier >> 8)
    message.packet[position + 1] = UInt8(truncatingIfNeeded: identifier)
  }

  private func takeEvent() throws(Disagreement) {
    let event = harness.event()
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
      if isStarved { hasNewRoom = true }
    case .room:
      isStarved = false
      hasNewRoom = false
    default: break
    }
    collect()
  }

  private func complete(_ index: Int, _ event: ReportedEvent) {
    ended += 1
    if index == withBytes.startIndex, isStarved { hasNewRoom = true }
    if messages[index].isQuiet, event.isAsAsked {
      messages[index].state = .free
      if isStarved { hasNewRoom = true }
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
    harness.lose()
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
    let isPresent = keepsSession && random.percent(60)
    window = 65_535
    var properties: [UInt8] = []
    if version == .v5_0, !isLast {
      if random.percent(50) {
        window = 1 + random.below(4)
        properties += receiveMaximum(UInt16(window))
      }
      if random.percent(10) {
        limits.packetSize = 8 + random.below(byteCapacity)
        properties += maximumPacketSize(UInt16(limits.packetSize))
      }
      if random.percent(10) {
        limits.qos = UInt8(random.below(2))
        properties += maximumQoS(limits.qos)
      }
      if random.percent(10) {
        limits.retain = false
        properties += retainAvailable(0)
      }
    }
    events.insert(.connected(sessionPresent: isPresent), at: 0)
    for index in messages.indices { resume(index, isPresent) }
    collect()
    harness.connect(sessionPresent: isPresent, properties: properties)
    isConnected = true
    try check(harness.isConnected, "not connected")
    // It would come before completions that are older: take it.
    try takeEvent()
  }

  private func resume(_ index: Int, _ isPresent: Bool) {
    let message = messages[index]
    switch message.state {
    case .sent: messages[index].state = .queued
    case .pubrelSent where isPresent: againDue.append(message.identifier)
    case .pubrelSent: return complete(index, .delivered(message.cookie))
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
    guard let bytes = harness.transmit(count) else {
      try check(stream.isEmpty, "a packet is not finished")
      try check(againDue.isEmpty && answersDue.isEmpty, "PUBREL is missing")
      if let next = messages.first(where: { $0.state == .queued }) {
        // A message that awaits PUBCOMP from before may take from the window, or not.
        let inFlight =
          outstanding.count
          + messages.count { $0.state == .pubrelSent && !outstanding.contains($0.identifier) }
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
    messages[index].mayHaveArrived = true
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
    if packet.count == 4,
      messages.contains(where: { $0.identifier == identifier && $0.state == .pubrelSent }),
      !pubcomps.contains(identifier)
    {
      pubcomps.append(identifier)
    }
  }

  // MARK: The server

  private func answer() throws(Disagreement) {
    let isRefusal = version == .v5_0 && random.percent(20)
    switch random.below(3) {
    case 0 where !pubacks.isEmpty:
      let identifier = pubacks.remove(at: random.below(pubacks.count))
      let index = try indexOf(identifier, .sent)
      harness.receive(puback(identifier, isRefusal ? 0x97 : 0))
      outstanding.remove(identifier)
      let cookie = messages[index].cookie
      complete(index, isRefusal ? .refused(cookie, 0x97) : .delivered(cookie))
    case 1 where !pubrecs.isEmpty:
      let identifier = pubrecs.remove(at: random.below(pubrecs.count))
      let index = try indexOf(identifier, .sent)
      harness.receive(pubrec(identifier, isRefusal ? 0x83 : 0))
      if isRefusal {
        outstanding.remove(identifier)
        complete(index, .refused(messages[index].cookie, 0x83))
      } else {
        messages[index].state = .pubrelSent
        answersDue.append(pubrel(identifier))
      }
    case 2 where !pubcomps.isEmpty:
      let identifier = pubcomps.remove(at: random.below(pubcomps.count))
      let index = try indexOf(identifier, .pubrelSent)
      harness.receive(pubcomp(identifier, isRefusal ? 0x92 : 0))
      outstanding.remove(identifier)
      complete(index, .delivered(messages[index].cookie))
    default: break
    }
    collect()
    try check(harness.ending == nil, "ended")
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
    let identifier = random.percent(60) ? near : UInt16(1 + random.below(65_535))
    let awaits = messages.first {
      $0.identifier == identifier && ($0.state == .sent || $0.state == .pubrelSent)
    }
    if let awaits {
      // A PUBREC once more; everything else would be a Protocol Error, or what `answer` does.
      guard awaits.state == .pubrelSent, !againDue.contains(identifier) else { return }
      harness.receive(pubrec(identifier))
      answersDue.append(pubrel(identifier))
    } else {
      switch random.below(3) {
      case 0: harness.receive(puback(identifier))
      case 1:
        harness.receive(pubrec(identifier))
        // PUBREL may not overtake a PUBLISH that is still to come (again).
        if !messages.contains(where: { $0.identifier == identifier && $0.state == .queued }) {
          answersDue.append(pubrel(identifier, version == .v5_0 ? 0x92 : 0))
        }
      default: harness.receive(pubcomp(identifier))
      }
    }
    try check(harness.ending == nil, "ended")
  }

  // MARK: What can be seen

  private func checkNumbers() throws(Disagreement) {
    var bytes = 0
    if let first = withBytes.first {
      bytes = tail - first.offset
      if bytes <= 0 { bytes += byteCapacity }
    }
    let numbers = harness.outbox
    try check(
      numbers.messages == messages.count { $0.state != .free } && numbers.bytes == bytes,
      "\(numbers.messages) messages, \(numbers.bytes) bytes, not \(messages.count) places and \(bytes)")
    try check(harness.hasEvent == (!events.isEmpty || hasNewRoom), "hasEvent is wrong")
    let incomplete = messages.contains { $0.state != .completed && $0.state != .free }
    try check(!incomplete || !harness.isDrained, "drained, with messages not complete")
  }
}

extension ReportedEvent {
  /// What a quiet message says nothing about.
  fileprivate var isAsAsked: Bool {
    switch self {
    case .delivered, .failed(_, .dropped), .failed(_, .replaced): true
    default: false
    }
  }
}
