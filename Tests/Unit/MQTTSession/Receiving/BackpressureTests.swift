import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// When something has to wait, for the application, for the transport or for the server: does it go on, and is
/// nothing lost?
@Suite struct BackpressureTests {
  /// A stream of packets that make answers, messages and events of every kind.
  static func stream(_ version: ProtocolVersion, count: UInt16) -> [UInt8] {
    (1...count).flatMap { number -> [UInt8] in
      switch number % 5 {
      case 0: pubrec(1000 + number)
      case 1: publish(version, "q0", twoBytes(number), qos: .atMostOnce)
      case 2: publish(version, "q1", twoBytes(number), qos: .atLeastOnce, identifier: number)
      case 3: publish(version, "q2", twoBytes(number), qos: .exactlyOnce, identifier: number)
      default: pubrel(number - 1)
      }
    }
  }

  /// What becomes of it: the numbers of the messages, and the packets that are sent.
  struct Result: Equatable {
    var messages: [UInt16] = []
    var sent: [[UInt8]] = []
  }

  /// The application takes an event, and the transport some bytes, whenever chance has it.
  static func run(_ harness: SessionHarness, _ bytes: [UInt8], seed: UInt64) -> Result {
    var random = SeededRandom(seed: seed)
    var result = Result()
    var rest = bytes
    var sent: [UInt8] = []
    var idle = 0
    while idle < 200 {
      idle += 1
      if !rest.isEmpty, random.percent(40) {
        let piece = 1 + random.below(40)
        let left = harness.receive(Array(rest.prefix(piece)))
        let taken = min(piece, rest.count) - left.count
        rest.removeFirst(taken)
        if taken > 0 { idle = 0 }
      }
      if random.percent(40), let event = harness.event() {
        if case .message(let message) = event {
          result.messages.append(UInt16(message.payload[0]) << 8 | UInt16(message.payload[1]))
        }
        idle = 0
      }
      if random.percent(30), let more = harness.transmit(1 + random.below(10)) {
        sent += more
        idle = 0
      }
    }
    if !rest.isEmpty { result.messages.append(0) }
    result.sent = packets(sent)
    return result
  }

  /// With a control queue of the smallest size, whoever is slow: every message once, in order, and every answer.
  @Test(arguments: bothVersions)
  func nothingIsLost(version: ProtocolVersion) {
    for seed in UInt64(0)..<100 {
      let harness = SessionHarness(version) {
        $0.keepAlive = 0
        $0.controlBytes = 64
        $0.receiveBytes = 64
        $0.maximumPacketSize = 0
        $0.receiveMaximum = 4
      }
      harness.connect()
      _ = harness.events()
      let result = Self.run(harness, Self.stream(version, count: 300), seed: seed)
      #expect(harness.ending == nil)
      #expect(result.messages == (1...300).filter { (1...3).contains($0 % 5) })
      var expected: Set<[UInt8]> = []
      for number: UInt16 in 1...300 {
        switch number % 5 {
        case 0: expected.insert(pubrel(1000 + number, version == .v5_0 ? 0x92 : 0))
        case 2: expected.insert(puback(number))
        case 3: expected.formUnion([pubrec(number), pubcomp(number)])
        default: break
        }
      }
      #expect(result.sent.count == expected.count)
      #expect(Set(result.sent) == expected)
      #expect(harness.inbox.unacknowledged == 0)
      #expect(harness.isDrained)
    }
  }

  /// The transport takes nothing: parsing waits where the next answer would not fit, and goes on where it stopped.
  @Test(arguments: bothVersions, [64, 100, 512])
  func controlQueueIsFull(version: ProtocolVersion, controlBytes: Int) {
    let harness = SessionHarness(version) {
      $0.controlBytes = controlBytes
      $0.receiveBytes = 256
      $0.receiveMaximum = 500
    }
    harness.connect()
    _ = harness.events()
    var rest = (1...400).flatMap { publish(version, qos: .atLeastOnce, identifier: UInt16($0)) }
    var taken = 0
    repeat {
      rest = harness.receive(rest)
      if case .message = harness.event() { taken += 1 }
      harness.session.releaseEvent()
    } while harness.wantsReceive || harness.hasEvent
    #expect(taken >= (controlBytes - 8) / 5 && taken < 400)
    #expect(!harness.wantsReceive)
    // A PINGREQ and a DISCONNECT still get in.
    harness.advanceClock(59_000)
    var sent: [UInt8] = []
    while !rest.isEmpty || harness.hasEvent || harness.wantsTransmit {
      sent += harness.transmit(3) ?? []
      rest = harness.receive(rest)
      if case .message = harness.event() { taken += 1 }
      harness.session.releaseEvent()
    }
    #expect(taken == 400)
    #expect(
      packets(sent).filter { $0 != pingreq } == (1...400).map { puback(UInt16($0)) })
    #expect(packets(sent).contains(pingreq))
  }

  /// 3.1.1 has not been told how many it may send: what is too many waits until the application acknowledges.
  @Test(arguments: [1, 2, 7])
  func inboxIsFull(maximum: Int) throws {
    let harness = SessionHarness(.v3_1_1) {
      $0.receiveMaximum = maximum
      $0.holdsMessages = true
    }
    harness.connect()
    _ = harness.events()
    var rest = (1...30).flatMap { publish(.v3_1_1, qos: .atLeastOnce, identifier: UInt16($0)) }
    rest += publish(.v3_1_1, "end", qos: .atMostOnce)
    rest = harness.receive(rest)
    var tokens: [UInt32] = []
    var handed = 0
    var topics: [String] = []
    while topics.last != "end" {
      while case .message(let message) = harness.event() {
        handed += 1
        topics.append(message.topic)
        if harness.token != 0 { tokens.append(harness.token) }
      }
      #expect(tokens.count <= maximum)
      guard !tokens.isEmpty else { break }
      if handed < 30 { #expect(tokens.count == maximum) }
      try harness.acknowledge(tokens.removeFirst())
      rest = harness.receive(rest)
    }
    while !tokens.isEmpty { try harness.acknowledge(tokens.removeFirst()) }
    #expect(handed == 31)
    #expect(harness.ending == nil)
    #expect(packets(harness.drain()) == (1...30).map { puback(UInt16($0)) })
  }

  /// Meanwhile its PINGRESP lies unread: it is not taken for dead. As soon as somebody looks, it counts again.
  @Test func keepAliveWhileItWaits() throws {
    let harness = SessionHarness(.v3_1_1) {
      $0.receiveMaximum = 1
      $0.holdsMessages = true
    }
    harness.connect()
    _ = harness.events()
    harness.receive(publish(.v3_1_1, qos: .atLeastOnce, identifier: 1))
    _ = harness.event()
    let token = harness.token
    harness.session.releaseEvent()
    harness.receive(publish(.v3_1_1, qos: .atLeastOnce, identifier: 2))
    #expect(harness.events() == [])
    for _ in 0..<20 {
      harness.advanceClock(59_000)
      _ = harness.drain()
      harness.advanceClock(10_000)
      #expect(harness.ending == nil)
    }
    try harness.acknowledge(token)
    #expect(harness.events().count == 1)
    harness.advanceClock(59_000)
    _ = harness.drain()
    harness.advanceClock(10_000)
    #expect(harness.ending?.cause == .keepAlive)
  }

  /// The same with an event that the application has not done with.
  @Test(arguments: bothVersions)
  func keepAliveBehindAnEvent(version: ProtocolVersion) {
    let harness = SessionHarness(version)
    harness.connect()
    _ = harness.events()
    harness.receive(publish(version, qos: .atMostOnce) + pingresp)
    _ = harness.event()
    for _ in 0..<5 {
      harness.advanceClock(59_000)
      _ = harness.drain()
      harness.advanceClock(10_000)
      #expect(harness.ending == nil)
    }
    harness.session.releaseEvent()
    #expect(harness.ending == nil)
  }

  // MARK: The peer is gone

  /// What the transport brought before it closed is handed out all the same, event by event; acknowledgements have
  /// nowhere to go.
  @Test(arguments: bothVersions)
  func peerClosed(version: ProtocolVersion) throws {
    let harness = SessionHarness(version)
    harness.connect()
    _ = harness.events()
    try harness.publish(qos: .atLeastOnce, cookie: 3)
    try harness.subscribe(["f"], cookie: 4)
    _ = harness.drain()
    harness.receive(
      publish(version, "m1", qos: .atLeastOnce, identifier: 1) + puback(1)
        + publish(version, "m2", qos: .exactlyOnce, identifier: 2))
    #expect(harness.peerClosed())
    #expect(!harness.wantsTransmit)
    // What the kernel still had.
    harness.receive(
      suback(version, 65_280, [0]) + publish(version, "m3", qos: .atMostOnce)
        + Array(publish(version, "half", qos: .atMostOnce).prefix(5)))
    #expect(!harness.wantsTransmit)
    #expect(
      harness.events() == [
        .message(ReceivedMessage("m1", qos: .atLeastOnce)), .delivered(3),
        .message(ReceivedMessage("m2", qos: .exactlyOnce)), .answered(4, [0], refusal: nil),
        .message(ReceivedMessage("m3")),
      ])
    #expect(!harness.hasUndeliveredEvent)
    #expect(harness.drain() == [])
    #expect(harness.ending == nil)
    // The server has heard nothing, and sends them again: QoS 2 is not handed out again.
    harness.reconnect(sessionPresent: true)
    harness.receive(
      publish(version, "m1", qos: .atLeastOnce, identifier: 1, duplicate: true)
        + publish(version, "m2", qos: .exactlyOnce, identifier: 2, duplicate: true))
    #expect(harness.events() == [.connected(sessionPresent: true)])
    #expect(harness.drain() == puback(1) + pubrec(2))
  }

  /// There is nothing to hand out.
  @Test(arguments: bothVersions)
  func peerClosedWithNothing(version: ProtocolVersion) {
    let harness = SessionHarness(version)
    #expect(!harness.peerClosed())
    harness.open()
    #expect(!harness.peerClosed())
    harness.lose()
    harness.connect()
    #expect(!harness.peerClosed())
    harness.lose()
    harness.connect()
    harness.receive(pubrec(7))
    #expect(!harness.peerClosed())
  }

  /// More than there is room for, of which nothing can be acknowledged any more: no rule is broken. The server sends
  /// the rest again.
  @Test(arguments: [1, 3])
  func peerClosedAndTheInboxIsFull(maximum: Int) {
    let harness = SessionHarness(.v3_1_1) { $0.receiveMaximum = maximum }
    harness.connect()
    _ = harness.events()
    harness.receive((1...10).flatMap { publish(.v3_1_1, qos: .atLeastOnce, identifier: UInt16($0)) })
    #expect(harness.peerClosed())
    #expect(harness.events().count == maximum)
    #expect(harness.ending == nil)
    harness.reconnect(sessionPresent: true)
    harness.receive(
      (1...10).flatMap { publish(.v3_1_1, qos: .atLeastOnce, identifier: UInt16($0), duplicate: true) })
    #expect(harness.events().count == 1 + 10 - maximum)
    #expect(packets(harness.drain()) == (1...10).map { puback(UInt16($0)) })
  }

  /// More answers than the control queue holds stand before what is to be handed out: nobody will read them.
  @Test(arguments: bothVersions)
  func peerClosedAndTheControlQueueIsFull(version: ProtocolVersion) {
    let harness = SessionHarness(version) { $0.controlBytes = 64 }
    harness.connect()
    _ = harness.events()
    harness.receive((1000..<1050).flatMap { pubrec($0) } + publish(version, "m", qos: .atMostOnce))
    #expect(!harness.hasEvent)
    #expect(harness.peerClosed())
    #expect(harness.events() == [.message(ReceivedMessage("m"))])
    #expect(harness.drain() == [])
  }

  /// What ends the connection may stand behind what is still to be handed out.
  @Test func peerClosedBehindADisconnect() {
    let harness = SessionHarness(.v5_0)
    harness.connect()
    _ = harness.events()
    harness.receive(
      publish(.v5_0, "m", qos: .atMostOnce) + disconnect(0x8B, property(0x1F, "bye")) + pingresp)
    #expect(harness.peerClosed())
    #expect(harness.ending == nil)
    #expect(harness.events() == [.message(ReceivedMessage("m"))])
    #expect(harness.ending?.cause == .disconnected)
    #expect(harness.ending?.reasonCode == 0x8B)
    #expect(harness.ending.map { harness.received($0.reasonString) } == "bye".bytes)
  }

  /// An answer lies unread behind a message that has to wait for the application: its time is not up.
  @Test func anAnswerBehindAMessageThatWaits() throws {
    let harness = SessionHarness(.v3_1_1) {
      $0.ackTimeout = 5000
      $0.keepAlive = 0
      $0.holdsMessages = true
      $0.receiveMaximum = 1
    }
    harness.connect()
    _ = harness.events()
    try harness.publish("a", qos: .atLeastOnce, cookie: 1)
    _ = harness.drain()
    harness.receive(publish(.v3_1_1, "b", qos: .atLeastOnce, identifier: 1))
    #expect(harness.event() == .message(ReceivedMessage("b", qos: .atLeastOnce)))
    let token = harness.token
    harness.receive(publish(.v3_1_1, "c", qos: .atLeastOnce, identifier: 2) + puback(1))
    #expect(harness.event() == nil)
    for _ in 0..<3 { harness.advanceClock(5000) }
    #expect(harness.ending == nil)
    try harness.acknowledge(token)
    #expect(harness.events() == [.message(ReceivedMessage("c", qos: .atLeastOnce)), .delivered(1)])
  }

  /// Or behind one that is larger than the receive buffer, and takes its time.
  @Test func anAnswerBehindALargeMessage() throws {
    let harness = LargeMessageTests.harness(.v3_1_1, parts: true) {
      $0.ackTimeout = 5000
      $0.keepAlive = 0
    }
    try harness.publish("a", qos: .atLeastOnce, cookie: 1)
    _ = harness.drain()
    var rest = publish(.v3_1_1, "b", LargeMessageTests.payload(500), qos: .atMostOnce) + puback(1)
    var told: [ReportedEvent] = []
    while !rest.isEmpty, harness.ending == nil {
      rest = harness.receive(rest)
      told += harness.events()
      harness.advanceClock(5000)
    }
    #expect(harness.ending == nil)
    #expect(told.last == .delivered(1))
  }
}
