import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// A server that has kept more QoS 2 messages than there are places for their identifiers, and sends them all before its first
/// PUBREL, as Mosquitto 2.0 does: does every one arrive once, in its order, whatever is cut in between?
@Suite struct BacklogTests {
  /// The server, and the program that takes what comes.
  final class Scene {
    let version: ProtocolVersion
    let harness: SessionHarness
    private var random: SeededRandom
    /// In the order in which they were published: the identifier is the number.
    private var queue: [(number: UInt16, isSent: Bool, isReleased: Bool)]
    /// What is sent and has not been taken.
    private var line: [UInt8] = []
    private var fromClient: [UInt8] = []
    /// Of what is sent in one connection.
    let payloadSize: Int
    private(set) var connections = 0
    private(set) var handedOut: [UInt16] = []
    private(set) var faults: [String] = []
    private var tokens: [UInt32] = []
    let holds: Bool

    init(
      _ version: ProtocolVersion, seed: UInt64, count: UInt16, places: Int, room: Int = 64, payload: Int = 2,
      holds: Bool = false
    ) {
      self.version = version
      self.holds = holds
      random = SeededRandom(seed: seed)
      queue = (1...count).map { ($0, false, false) }
      payloadSize = payload
      harness = SessionHarness(version) {
        $0.sessionExpiry = version == .v5_0 ? .max : 0
        $0.receiveMaximum = room
        $0.unreleasedMaximum = places
        $0.receiveBytes = 128
        $0.maximumPacketSize = 0
        $0.controlBytes = 64
        $0.holdsMessages = holds
      }
    }

    var isDone: Bool { queue.isEmpty }

    func connect() {
      if connections > 0 { harness.lose() }
      connections += 1
      line = []
      fromClient = []
      harness.connect(sessionPresent: connections > 1 || version == .v3_1_1)
      _ = harness.event()
      for index in queue.indices {
        let message = queue[index]
        queue[index].isSent = true
        line +=
          message.isReleased
          ? pubrel(message.number)
          : publish(
            version, "t", twoBytes(message.number) + [UInt8](repeating: 0, count: payloadSize - 2),
            qos: .exactlyOnce, identifier: message.number, duplicate: message.isSent)
      }
    }

    /// Until there is nothing more to do on this connection, or `steps` were taken.
    func run(steps: Int) {
      var idle = 0
      for _ in 0..<steps where harness.ending == nil && idle < 100 {
        idle += 1
        switch random.below(4) {
        case 0:
          let count = min(line.count, 1 + random.below(400))
          let rest = harness.receive(Array(line.prefix(count)))
          if rest.count < count { idle = 0 }
          line.removeFirst(count - rest.count)
        case 1: if takeEvent() { idle = 0 }
        case 2:
          guard !tokens.isEmpty else { break }
          idle = 0
          let token = tokens.remove(at: random.below(tokens.count))
          do throws(SessionError) { try harness.acknowledge(token) } catch { faults.append("\(error)") }
        default:
          guard let bytes = harness.transmit(1 + random.below(100)) else { break }
          idle = 0
          fromClient += bytes
          while let size = firstPacketSize(fromClient[...]) {
            answer(Array(fromClient.prefix(size)))
            fromClient.removeFirst(size)
          }
        }
      }
    }

    private func takeEvent() -> Bool {
      guard let event = harness.event() else { return false }
      guard case .message(let message) = event else { return true }
      if holds { tokens.append(harness.token) }
      if message.payload.count >= 2 {
        handedOut.append(UInt16(message.payload[0]) << 8 | UInt16(message.payload[1]))
      }
      return true
    }

    private func answer(_ packet: [UInt8]) {
      if packet[0] == 0xC0 { return line += pingresp }
      if packet[0] == 0xE0 { return }
      let number = UInt16(packet[2]) << 8 | UInt16(packet[3])
      guard let index = queue.firstIndex(where: { $0.number == number }) else {
        return faults.append("\(packet) answers nothing")
      }
      switch packet[0] {
      case 0x50:
        queue[index].isReleased = true
        line += pubrel(number)
      case 0x70: queue.remove(at: index)
      default: faults.append("sent \(packet)")
      }
    }

    /// What the server had noted is gone, but not the messages: restored from a copy of yesterday.
    func forgetAnswers() {
      for index in queue.indices { queue[index].isReleased = false }
    }
  }

  static let places = [1, 2, 8, 20]

  /// 300 messages through so many places, in as many connections as they take and no more.
  @Test(arguments: bothVersions, places)
  func everyMessageOnce(version: ProtocolVersion, places: Int) {
    let scene = Scene(version, seed: 1, count: 300, places: places)
    while !scene.isDone, scene.connections < 400 {
      scene.connect()
      scene.run(steps: 100_000)
    }
    #expect(scene.isDone && scene.faults.isEmpty)
    #expect(scene.handedOut == Array(1...300))
    #expect(scene.connections <= 300 / places + 1)
    #expect(scene.harness.inbox.unacknowledged == 0)
    #expect(scene.harness.counters.messagesPostponed.uint64 > 0)
  }

  /// The same while the link is cut by chance, the program holds what it gets, and payloads do not fit into the buffer.
  @Test(arguments: bothVersions, [false, true])
  func everyMessageOnceOverCuts(version: ProtocolVersion, holds: Bool) {
    for seed in UInt64(0)..<200 {
      let scene = Scene(
        version, seed: seed, count: 60, places: 1 + Int(seed) % 9, room: 1 + Int(seed) % 12,
        payload: seed % 3 == 0 ? 300 : 2, holds: holds)
      while !scene.isDone, scene.connections < 500 {
        scene.connect()
        scene.run(steps: seed % 2 == 0 ? 100_000 : 40 + Int(seed) * 20)
      }
      #expect(scene.isDone && scene.faults.isEmpty, "seed \(seed): \(scene.faults)")
      // A payload that is dropped has no number.
      if seed % 3 != 0 { #expect(scene.handedOut == Array(1...60), "seed \(seed)") }
      #expect(scene.harness.inbox.unacknowledged == 0, "seed \(seed)")
    }
  }

  /// With the default every identifier has a place: one connection.
  @Test(arguments: bothVersions)
  func byDefaultThereIsAPlaceForAll(version: ProtocolVersion) {
    let scene = Scene(version, seed: 1, count: 3000, places: 0)
    scene.connect()
    scene.run(steps: 1_000_000)
    #expect(scene.isDone && scene.faults.isEmpty)
    #expect(scene.handedOut == Array(1...3000))
    #expect(scene.harness.counters.messagesPostponed.uint64 == 0)
  }

  /// In a session that ends with its connection nothing comes again, so nothing has to be remembered.
  @Test(arguments: bothVersions)
  func withoutAKeptSession(version: ProtocolVersion) {
    let harness = SessionHarness(version) {
      $0.keepSession = false
      $0.unreleasedMaximum = 1
      $0.controlBytes = 4096
    }
    harness.connect()
    for number in UInt16(1)...500 {
      harness.receive(publish(version, qos: .exactlyOnce, identifier: number))
      #expect(harness.events().contains(.message(ReceivedMessage("a", qos: .exactlyOnce))))
      #expect(harness.drain() == pubrec(number))
    }
    // 3.1 and 3.1.1 let a server repeat it on the same connection.
    harness.receive(publish(version, qos: .exactlyOnce, identifier: 400, duplicate: true))
    #expect(harness.events().isEmpty)
    #expect(harness.drain() == pubrec(400))
    for number in UInt16(1)...500 {
      harness.receive(pubrel(number))
      #expect(harness.drain() == pubcomp(number))
    }
    #expect(harness.ending == nil && harness.inbox.unacknowledged == 0)
  }

  /// More held than there are places for: 20 and 8 did not come back from the 17th acknowledgement.
  @Test(arguments: bothVersions, [(20, 8), (64, 1), (9, 8), (3, 1)])
  func moreHeldThanPlaces(version: ProtocolVersion, numbers: (held: Int, places: Int)) throws {
    for keeps in [false, true] {
      let harness = SessionHarness(version) {
        $0.keepSession = keeps
        $0.sessionExpiry = keeps && version == .v5_0 ? .max : 0
        $0.receiveMaximum = numbers.held
        $0.unreleasedMaximum = numbers.places
        $0.holdsMessages = true
      }
      harness.connect()
      _ = harness.events()
      var tokens: [UInt32] = []
      for number in 1...UInt16(numbers.held) {
        harness.receive(publish(version, qos: .exactlyOnce, identifier: number))
        if case .message = harness.event() { tokens.append(harness.token) }
      }
      let places = IdentifierSet.slotCount(for: numbers.places) / 2
      #expect(tokens.count == (keeps ? min(places, numbers.held) : numbers.held))
      for token in tokens { try harness.acknowledge(token) }
      let sent = packets(harness.drain()).filter { $0[0] == 0x50 }
      #expect(sent == (1...UInt16(tokens.count)).map { pubrec($0) })
    }
  }

  /// The ring is full of what was handed out on the last connection when something comes that is not in it: a QoS 1
  /// message whose PUBACK was lost. What was handed out of QoS 2 is not handed out again.
  @Test(arguments: bothVersions, [1, 2])
  func fullOfWhatWasHandedOut(version: ProtocolVersion, room: Int) {
    let harness = SessionHarness(version) {
      $0.sessionExpiry = version == .v5_0 ? .max : 0
      $0.receiveMaximum = room
    }
    harness.connect()
    _ = harness.events()
    harness.receive(publish(version, qos: .atLeastOnce, identifier: 1))
    #expect(harness.events().count == 1)
    for identifier in UInt16(2)...UInt16(1 + room) {
      harness.receive(publish(version, qos: .exactlyOnce, identifier: identifier))
      _ = harness.event()
      #expect(harness.hold())
    }
    harness.session.releaseEvent()
    harness.reconnect(sessionPresent: true)
    _ = harness.events()
    harness.receive(publish(version, qos: .atLeastOnce, identifier: 1, duplicate: true))
    #expect(harness.events().count == 1)
    for identifier in UInt16(2)...UInt16(1 + room) {
      harness.receive(publish(version, qos: .exactlyOnce, identifier: identifier, duplicate: true))
      #expect(harness.events().isEmpty)
    }
    #expect(harness.drain() == puback(1) + pubrec(2))
  }

  /// A place that becomes free on this connection is for the next: what comes now would pass those that were postponed
  /// [MQTT-4.6.0-6].
  @Test(arguments: bothVersions)
  func nothingPassesWhatWasPostponed(version: ProtocolVersion) {
    let harness = SessionHarness(version) {
      $0.sessionExpiry = version == .v5_0 ? .max : 0
      $0.unreleasedMaximum = 2
    }
    harness.connect()
    _ = harness.events()
    for number in UInt16(1)...3 { harness.receive(publish(version, qos: .exactlyOnce, identifier: number)) }
    #expect(harness.events().count == 2)
    #expect(packets(harness.drain()).prefix(2) == [pubrec(1), pubrec(2)])
    harness.receive(pubrel(1))
    #expect(packets(harness.drain()).contains(pubcomp(1)))
    harness.receive(publish(version, qos: .exactlyOnce, identifier: 4))
    #expect(harness.events().isEmpty && harness.ending == nil)
    #expect(harness.counters.messagesPostponed.uint64 == 2)
  }

  /// All that is sent, to a server that answers PINGREQ.
  private func answered(_ harness: SessionHarness) -> [[UInt8]] {
    var sent: [[UInt8]] = []
    for _ in 0..<3 {
      let more = packets(harness.drain())
      sent += more
      for packet in more where packet == pingreq { harness.receive(pingresp) }
    }
    return sent
  }

  /// What takes the places is of a session that the server does not know any more: it neither repeats nor releases it. Two
  /// connections that bring nothing are enough.
  @Test(arguments: bothVersions)
  func placesThatNothingFrees(version: ProtocolVersion) {
    let harness = SessionHarness(version) {
      $0.sessionExpiry = version == .v5_0 ? .max : 0
      $0.unreleasedMaximum = 2
    }
    harness.connect()
    for number in UInt16(1)...2 { harness.receive(publish(version, qos: .exactlyOnce, identifier: number)) }
    _ = harness.events()
    #expect(answered(harness) == [pubrec(1), pubrec(2)])
    for connection in 1...3 {
      harness.reconnect(sessionPresent: true)
      _ = harness.events()
      harness.receive(publish(version, qos: .exactlyOnce, identifier: 7, duplicate: connection > 1))
      let messages = harness.events().count
      let sent = answered(harness)
      #expect(messages == (connection == 3 ? 1 : 0))
      #expect(sent.contains(pingreq) == (connection < 3))
      #expect((harness.ending == nil) == (connection == 3))
    }
    #expect(harness.drain() == [])
  }

  /// So with messages that the program held when the connection ended, and has done with since: PUBREC cannot leave as they do
  /// not come again. As long as the program holds them it is waited for.
  @Test(arguments: bothVersions)
  func placesOfWhatWasHeldAndDoesNotComeAgain(version: ProtocolVersion) throws {
    let harness = SessionHarness(version) {
      $0.sessionExpiry = version == .v5_0 ? .max : 0
      $0.unreleasedMaximum = 2
      $0.holdsMessages = true
    }
    harness.connect()
    _ = harness.events()
    var tokens: [UInt32] = []
    for number in UInt16(1)...2 {
      harness.receive(publish(version, qos: .exactlyOnce, identifier: number))
      _ = harness.event()
      tokens.append(harness.token)
    }
    for connection in 1...3 {
      harness.reconnect(sessionPresent: true)
      _ = harness.events()
      harness.receive(publish(version, qos: .exactlyOnce, identifier: 7, duplicate: connection > 1))
      let messages = harness.events().count
      if connection == 1 {
        #expect(answered(harness) == [])
        for token in tokens { try harness.acknowledge(token) }
      }
      let sent = answered(harness)
      #expect(messages == (connection == 3 ? 1 : 0))
      #expect(sent.contains(pingreq) == (connection < 3))
      #expect((harness.ending == nil) == (connection == 3))
    }
  }

  /// The places are taken by what the program holds: the connection stays until it acknowledges.
  @Test(arguments: bothVersions)
  func waitsForTheProgram(version: ProtocolVersion) throws {
    let scene = Scene(version, seed: 3, count: 20, places: 2, holds: true)
    scene.connect()
    for number in UInt16(1)...2 {
      scene.harness.receive(publish(version, qos: .exactlyOnce, identifier: number))
    }
    _ = scene.harness.event()
    let first = scene.harness.token
    _ = scene.harness.event()
    _ = scene.harness.event()
    scene.harness.receive(publish(version, qos: .exactlyOnce, identifier: 3))
    #expect(scene.harness.events().isEmpty)
    #expect(scene.harness.drain() == [])
    try scene.harness.acknowledge(first)
    #expect(packets(scene.harness.drain()) == [pubrec(1), pingreq])
    // PUBREL frees a place; the other one is still held. There may be more PUBREL.
    scene.harness.receive(pubrel(1) + pingresp)
    #expect(packets(scene.harness.drain()) == [pubcomp(1), pingreq])
    #expect(scene.harness.ending == nil)
    scene.harness.receive(pingresp)
    #expect(scene.harness.ending != nil)
    if version == .v5_0 { #expect(scene.harness.ending?.reasonCode == 0x97) }
    #expect(scene.harness.drain() == (version == .v5_0 ? packet(0xE0, [0x97]) : []))
  }
}
