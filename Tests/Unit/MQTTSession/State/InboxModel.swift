import MQTTWire
import TestSupport

@testable import MQTTSession

/// A server that publishes to a session, and an application that acknowledges when it likes: random steps, and
/// everything that the server and the application can see must be as §4.3, §4.4 and §4.6 say.
///
/// The server does what the specification asks of it, and notes what it has in flight in the simplest way that
/// comes to mind: a list in the order of sending.
final class InboxModel {
  struct Disagreement: Error { let text: String }

  /// A message the server has in flight.
  struct Flight {
    let identifier: UInt16
    let qos: QoS
    /// The message: each has its own, which is also its payload.
    let number: Int
    /// PUBREC came, PUBREL is out.
    var isReleased = false
  }

  /// A message the application was handed and has not yet acknowledged.
  struct Held {
    let token: UInt32
    let qos: QoS
    let number: Int
    /// The connection on which it came last.
    var connection: Int
  }

  let version: ProtocolVersion
  /// How many the session takes at a time.
  let maximum: Int
  /// How many the server has in flight: before 5.0 it does not know of `maximum`.
  private let window: Int
  let harness: SessionHarness
  private var random: SeededRandom

  // The server.
  private var flights: [Flight] = []
  private var lastNumber = 0
  private var toClient: [UInt8] = []
  private var fromClient: [UInt8] = []
  /// The PUBLISH packets of this connection that wait for their PUBACK or PUBREC.
  private var unacknowledged: [UInt16] = []
  private var isConnected = false
  private var connection = 0

  // The application.
  private var held: [Held] = []
  /// QoS 2 messages that were handed out.
  private var handedOut: Set<Int> = []
  /// The message that was handed out last, on this connection.
  private var lastHandedOut = 0
  /// What the server has sent on this connection: messages, and PUBREL packets as 0.
  private var sentNow: [(number: Int, duplicate: Bool)] = []
  /// How many of these the session has looked at, of all packets before this connection.
  private var looked = 0
  private var lookedBefore: UInt64 = 0

  // What the runs have reached.
  private(set) var delivered = 0
  var duplicates: UInt64 { harness.counters.messagesDuplicate.uint64 }
  private(set) var lateAnswers = 0

  init(seed: UInt64, maximum: Int) {
    random = SeededRandom(seed: seed)
    let version: ProtocolVersion = random.percent(50) ? .v5_0 : .v3_1_1
    self.version = version
    self.maximum = maximum
    window = version == .v5_0 ? maximum : 1 + random.below(2 * maximum)
    let receiveBytes = 64 + random.below(200)
    let controlBytes = 64 + random.below(100)
    let holds = random.percent(30)
    harness = SessionHarness(version) {
      $0.keepAlive = 0
      $0.receiveBytes = receiveBytes
      $0.controlBytes = controlBytes
      $0.receiveMaximum = maximum
      $0.saidReceiveMaximum = UInt16(maximum)
      $0.holdsMessages = holds
    }
  }

  private func check(_ condition: Bool, _ text: @autoclosure () -> String) throws(Disagreement) {
    if !condition { throw Disagreement(text: text()) }
  }

  // MARK: Running

  func run(steps: Int) throws(Disagreement) {
    for _ in 0..<steps {
      try step()
      if isConnected { look() }
      try checkNumbers()
    }
    try settle()
  }

  private func step() throws(Disagreement) {
    guard isConnected else { return try connect(isPresent: random.percent(80)) }
    switch random.below(100) {
    case 0..<25: send()
    case 25..<45: receive(1 + random.below(random.percent(50) ? 10 : 200))
    case 45..<65: try takeEvent()
    case 65..<80: try acknowledge()
    case 80..<88: try transmit(1 + random.below(20))
    case 88..<96: try transmit(.max)
    default: lose()
    }
  }

  /// Everything comes to an end, and nothing is left behind.
  private func settle() throws(Disagreement) {
    if !isConnected { try connect(isPresent: true) }
    var turns = 0
    while !flights.isEmpty || harness.hasEvent || !held.isEmpty || !toClient.isEmpty {
      receive(.max)
      try takeEvent()
      while !held.isEmpty { try acknowledge() }
      try transmit(.max)
      turns += 1
      try check(turns < 1000, "does not come to an end: \(flights.count) in flight")
    }
    harness.session.releaseEvent()
    try transmit(.max)
    try check(harness.inbox.unacknowledged == 0, "\(harness.inbox.unacknowledged) are left behind")
    // And there is room for as many as ever.
    while flights.count < window { send() }
    receive(.max)
    try takeEvent()
    try check(harness.ending == nil, "ended")
  }

  // MARK: The connection

  private func connect(isPresent: Bool) throws(Disagreement) {
    connection += 1
    isConnected = true
    toClient = []
    fromClient = []
    unacknowledged = []
    sentNow = []
    lastHandedOut = 0
    if !isPresent {
      flights = []
      held = []
    }
    harness.connect(sessionPresent: isPresent)
    try check(harness.isConnected, "not connected")
    _ = harness.event()
    lookedBefore = harness.counters.packetsReceived.uint64
    looked = 0
    // [MQTT-4.4.0-1], in the order in which they were sent [MQTT-4.6.0-1].
    for flight in flights {
      if flight.isReleased { release(flight.identifier) } else { put(flight, duplicate: true) }
    }
  }

  private func lose() {
    harness.lose()
    // What was waiting is handed out before the end of the connection is told.
    while let event = harness.event() { note(event) }
    look()
    isConnected = false
  }

  // MARK: The server

  private func send() {
    guard flights.count < window else { return }
    let inUse = Set(flights.map(\.identifier))
    let free = (1...UInt16(2 * window)).filter { !inUse.contains($0) }
    lastNumber += 1
    // Of QoS 2 no more than the session can know of: while the PUBREL lies behind the message that is one too
    // many, nobody can wait.
    let qos: QoS = window > maximum || random.percent(50) ? .atLeastOnce : .exactlyOnce
    let flight = Flight(identifier: free[random.below(free.count)], qos: qos, number: lastNumber)
    flights.append(flight)
    put(flight, duplicate: false)
  }

  private func put(_ flight: Flight, duplicate: Bool) {
    toClient += publish(
      version, "t", twoBytes(UInt16(flight.number)), qos: flight.qos, identifier: flight.identifier,
      duplicate: duplicate)
    unacknowledged.append(flight.identifier)
    sentNow.append((flight.number, duplicate))
  }

  private func release(_ identifier: UInt16) {
    toClient += pubrel(identifier)
    sentNow.append((0, false))
  }

  /// Which messages the session has looked at since the last time.
  private func look() {
    let now = Int(harness.counters.packetsReceived.uint64 - lookedBefore)
    for (number, _) in sentNow[looked..<now] where number != 0 {
      if let index = held.firstIndex(where: { $0.number == number }) { held[index].connection = connection }
    }
    looked = now
  }

  private func receive(_ count: Int) {
    let rest = harness.receive(Array(toClient.prefix(count)))
    toClient.removeFirst(min(count, toClient.count) - rest.count)
  }

  /// What the session sends reaches the server.
  private func transmit(_ count: Int) throws(Disagreement) {
    repeat {
      guard let bytes = harness.transmit(count) else { return }
      fromClient += bytes
      while let size = firstPacketSize(fromClient[...]) {
        try answered(Array(fromClient.prefix(size)))
        fromClient.removeFirst(size)
      }
    } while count == .max
  }

  private func answered(_ packet: [UInt8]) throws(Disagreement) {
    let identifier = UInt16(packet[2]) << 8 | UInt16(packet[3])
    guard let index = flights.firstIndex(where: { $0.identifier == identifier }) else {
      throw Disagreement(text: "the server has nothing in flight that \(packet) answers")
    }
    let isRefusal = packet.count > 4 && packet[4] >= 0x80
    switch packet[0] >> 4 {
    case 4, 5:
      // [MQTT-4.6.0-2] [MQTT-4.6.0-3]
      try check(unacknowledged.first == identifier, "\(packet), but \(unacknowledged) wait in this order")
      unacknowledged.removeFirst()
      try check(packet[0] >> 4 == (flights[index].qos == .atLeastOnce ? 4 : 5), "\(packet) of the wrong kind")
      try check(!flights[index].isReleased, "\(packet) once more")
      if packet[0] >> 4 == 4 || isRefusal {
        flights.remove(at: index)
      } else {
        flights[index].isReleased = true
        release(identifier)
      }
    case 7:
      try check(flights[index].isReleased, "\(packet) before PUBREL")
      flights.remove(at: index)
    default: throw Disagreement(text: "sent \(packet)")
    }
  }

  // MARK: The application

  private func takeEvent() throws(Disagreement) {
    guard let event = harness.event() else { return }
    guard case .message(let message) = event else { throw Disagreement(text: "\(event)") }
    let number = Int(message.payload[0]) << 8 | Int(message.payload[1])
    try check(
      message.topic == "t" && message.payload.count == 2 && message.isFirst && message.isLast, "\(message)")
    // In the order in which they were sent on this connection.
    guard let place = sentNow.firstIndex(where: { $0.number == number && $0.duplicate == message.duplicate })
    else { throw Disagreement(text: "\(number) was not sent") }
    try check(place >= lastHandedOut, "\(number) out of order")
    lastHandedOut = place + 1
    if window > maximum { held.removeAll { $0.number == number } }
    try check(!held.contains { $0.number == number }, "\(number) is held, and came again")
    note(event)
  }

  private func note(_ event: ReportedEvent) {
    guard case .message(let message) = event else { return }
    let number = Int(message.payload[0]) << 8 | Int(message.payload[1])
    delivered += 1
    if message.qos == .exactlyOnce, !handedOut.insert(number).inserted { repeated.append(number) }
    if harness.options.holdsMessages || (random.percent(50) && harness.hold()) {
      held.append(Held(token: harness.token, qos: message.qos, number: number, connection: connection))
    }
  }

  /// QoS 2 messages that were handed out a second time.
  private(set) var repeated: [Int] = []

  private func acknowledge() throws(Disagreement) {
    guard !held.isEmpty else { return }
    let message = held.remove(at: random.below(held.count))
    if message.connection < connection { lateAnswers += 1 }
    let codes: [UInt8] = version == .v5_0 && random.percent(30) ? [0x80, 0x83, 0x87, 0x90, 0x97, 0x99] : [0]
    let code = codes[random.below(codes.count)]
    // What was refused was not taken: if its PUBREC gets lost it comes again, and is handed out again.
    if code >= 0x80 { handedOut.remove(message.number) }
    var error: SessionError?
    do throws(SessionError) {
      try harness.acknowledge(message.token, code)
    } catch let thrown {
      error = thrown
    }
    // With more in flight than it can know of, the session forgets what came on an earlier connection.
    let isForgotten = error == .token && window > maximum
    try check(error == nil || isForgotten, "a token of \(message.number) is not known")
    error = nil
    do throws(SessionError) {
      try harness.acknowledge(message.token, 0)
    } catch let thrown {
      error = thrown
    }
    try check(error == .token, "a token works twice")
  }

  // MARK: What can be seen

  private func checkNumbers() throws(Disagreement) {
    try check(harness.ending == nil, "ended: \(harness.ending.map { "\($0.cause)" } ?? "")")
    try check(repeated.isEmpty, "QoS 2 handed out twice: \(repeated)")
    try check(harness.inbox.maximum == maximum, "the maximum is another")
    try check(harness.inbox.unacknowledged <= 2 * maximum, "\(harness.inbox.unacknowledged) unacknowledged")
    try check(harness.inbox.peak >= harness.inbox.unacknowledged, "the peak is below")
    try check(harness.inbox.unacknowledged >= held.count || window > maximum, "fewer than are held")
  }
}
