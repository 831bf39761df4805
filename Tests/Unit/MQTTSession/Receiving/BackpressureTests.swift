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
  static func run(_ rig: Rig, _ bytes: [UInt8], seed: UInt64) -> Result {
    var random = SeededRandom(seed: seed)
    var result = Result()
    var rest = bytes
    var sent: [UInt8] = []
    var idle = 0
    while idle < 200 {
      idle += 1
      if !rest.isEmpty, random.percent(40) {
        let piece = 1 + random.below(40)
        let left = rig.receive(Array(rest.prefix(piece)))
        let taken = min(piece, rest.count) - left.count
        rest.removeFirst(taken)
        if taken > 0 { idle = 0 }
      }
      if random.percent(40), let event = rig.event() {
        if case .message(let message) = event {
          result.messages.append(UInt16(message.payload[0]) << 8 | UInt16(message.payload[1]))
        }
        idle = 0
      }
      if random.percent(30), let more = rig.transmit(1 + random.below(10)) {
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
      let rig = Rig(version) {
        $0.keepAlive = 0
        $0.controlBytes = 64
        $0.receiveBytes = 64
        $0.maximumPacketSize = 0
        $0.receiveMaximum = 4
      }
      rig.connect()
      _ = rig.events()
      let result = Self.run(rig, Self.stream(version, count: 300), seed: seed)
      #expect(rig.ending == nil)
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
      #expect(rig.inbox.unacknowledged == 0)
      #expect(rig.isDrained)
    }
  }

  /// The transport takes nothing: parsing waits where the next answer would not fit, and goes on where it stopped.
  @Test(arguments: bothVersions, [64, 100, 512])
  func controlQueueIsFull(version: ProtocolVersion, controlBytes: Int) {
    let rig = Rig(version) {
      $0.controlBytes = controlBytes
      $0.receiveBytes = 256
      $0.receiveMaximum = 500
    }
    rig.connect()
    _ = rig.events()
    var rest = (1...400).flatMap { publish(version, qos: .atLeastOnce, identifier: UInt16($0)) }
    var taken = 0
    repeat {
      rest = rig.receive(rest)
      if case .message = rig.event() { taken += 1 }
      rig.session.release()
    } while rig.wantsReceive || rig.hasEvent
    #expect(taken >= (controlBytes - 8) / 5 && taken < 400)
    #expect(!rig.wantsReceive)
    // A PINGREQ and a DISCONNECT still get in.
    rig.pass(59_000)
    var sent: [UInt8] = []
    while !rest.isEmpty || rig.hasEvent || rig.wantsTransmit {
      sent += rig.transmit(3) ?? []
      rest = rig.receive(rest)
      if case .message = rig.event() { taken += 1 }
      rig.session.release()
    }
    #expect(taken == 400)
    #expect(
      packets(sent).filter { $0 != pingreq } == (1...400).map { puback(UInt16($0)) })
    #expect(packets(sent).contains(pingreq))
  }

  /// 3.1.1 has not been told how many it may send: what is too many waits until the application acknowledges.
  @Test(arguments: [1, 2, 7])
  func inboxIsFull(maximum: Int) throws {
    let rig = Rig(.v3_1_1) {
      $0.receiveMaximum = maximum
      $0.holdsMessages = true
    }
    rig.connect()
    _ = rig.events()
    var rest = (1...30).flatMap { publish(.v3_1_1, qos: .atLeastOnce, identifier: UInt16($0)) }
    rest += publish(.v3_1_1, "end", qos: .atMostOnce)
    rest = rig.receive(rest)
    var tokens: [UInt32] = []
    var handed = 0
    var topics: [String] = []
    while topics.last != "end" {
      while case .message(let message) = rig.event() {
        handed += 1
        topics.append(message.topic)
        if rig.token != 0 { tokens.append(rig.token) }
      }
      #expect(tokens.count <= maximum)
      guard !tokens.isEmpty else { break }
      if handed < 30 { #expect(tokens.count == maximum) }
      try rig.acknowledge(tokens.removeFirst())
      rest = rig.receive(rest)
    }
    while !tokens.isEmpty { try rig.acknowledge(tokens.removeFirst()) }
    #expect(handed == 31)
    #expect(rig.ending == nil)
    #expect(packets(rig.drain()) == (1...30).map { puback(UInt16($0)) })
  }

  /// Meanwhile its PINGRESP lies unread: it is not taken for dead. As soon as somebody looks, it counts again.
  @Test func keepAliveWhileItWaits() throws {
    let rig = Rig(.v3_1_1) {
      $0.receiveMaximum = 1
      $0.holdsMessages = true
    }
    rig.connect()
    _ = rig.events()
    rig.receive(publish(.v3_1_1, qos: .atLeastOnce, identifier: 1))
    _ = rig.event()
    let token = rig.token
    rig.session.release()
    rig.receive(publish(.v3_1_1, qos: .atLeastOnce, identifier: 2))
    #expect(rig.events() == [])
    for _ in 0..<20 {
      rig.pass(59_000)
      _ = rig.drain()
      rig.pass(10_000)
      #expect(rig.ending == nil)
    }
    try rig.acknowledge(token)
    #expect(rig.events().count == 1)
    rig.pass(59_000)
    _ = rig.drain()
    rig.pass(10_000)
    #expect(rig.ending?.cause == .keepAlive)
  }

  /// The same with an event that the application has not done with.
  @Test(arguments: bothVersions)
  func keepAliveBehindAnEvent(version: ProtocolVersion) {
    let rig = Rig(version)
    rig.connect()
    _ = rig.events()
    rig.receive(publish(version, qos: .atMostOnce) + pingresp)
    _ = rig.event()
    for _ in 0..<5 {
      rig.pass(59_000)
      _ = rig.drain()
      rig.pass(10_000)
      #expect(rig.ending == nil)
    }
    rig.session.release()
    #expect(rig.ending == nil)
  }

  // MARK: The peer is gone

  /// What the transport brought before it closed is handed out all the same, event by event; acknowledgements have
  /// nowhere to go.
  @Test(arguments: bothVersions)
  func peerClosed(version: ProtocolVersion) throws {
    let rig = Rig(version)
    rig.connect()
    _ = rig.events()
    try rig.publish(qos: .atLeastOnce, cookie: 3)
    try rig.subscribe(["f"], cookie: 4)
    _ = rig.drain()
    rig.receive(
      publish(version, "m1", qos: .atLeastOnce, identifier: 1) + puback(1)
        + publish(version, "m2", qos: .exactlyOnce, identifier: 2))
    #expect(rig.peerClosed())
    #expect(!rig.wantsTransmit)
    // What the kernel still had.
    rig.receive(
      suback(version, 65_280, [0]) + publish(version, "m3", qos: .atMostOnce)
        + Array(publish(version, "half", qos: .atMostOnce).prefix(5)))
    #expect(!rig.wantsTransmit)
    #expect(
      rig.events() == [
        .message(ReceivedMessage("m1", qos: .atLeastOnce)), .delivered(3),
        .message(ReceivedMessage("m2", qos: .exactlyOnce)), .answered(4, [0], refusal: nil),
        .message(ReceivedMessage("m3")),
      ])
    #expect(!rig.hasUndeliveredEvent)
    #expect(rig.drain() == [])
    #expect(rig.ending == nil)
    // The server has heard nothing, and sends them again: QoS 2 is not handed out again.
    rig.reconnect(sessionPresent: true)
    rig.receive(
      publish(version, "m1", qos: .atLeastOnce, identifier: 1, duplicate: true)
        + publish(version, "m2", qos: .exactlyOnce, identifier: 2, duplicate: true))
    #expect(rig.events() == [.connected(sessionPresent: true)])
    #expect(rig.drain() == puback(1) + pubrec(2))
  }

  /// There is nothing to hand out.
  @Test(arguments: bothVersions)
  func peerClosedWithNothing(version: ProtocolVersion) {
    let rig = Rig(version)
    #expect(!rig.peerClosed())
    rig.open()
    #expect(!rig.peerClosed())
    rig.lose()
    rig.connect()
    #expect(!rig.peerClosed())
    rig.lose()
    rig.connect()
    rig.receive(pubrec(7))
    #expect(!rig.peerClosed())
  }

  /// More than there is room for, of which nothing can be acknowledged any more: no rule is broken. The server sends
  /// the rest again.
  @Test(arguments: [1, 3])
  func peerClosedAndTheInboxIsFull(maximum: Int) {
    let rig = Rig(.v3_1_1) { $0.receiveMaximum = maximum }
    rig.connect()
    _ = rig.events()
    rig.receive((1...10).flatMap { publish(.v3_1_1, qos: .atLeastOnce, identifier: UInt16($0)) })
    #expect(rig.peerClosed())
    #expect(rig.events().count == maximum)
    #expect(rig.ending == nil)
    rig.reconnect(sessionPresent: true)
    rig.receive(
      (1...10).flatMap { publish(.v3_1_1, qos: .atLeastOnce, identifier: UInt16($0), duplicate: true) })
    #expect(rig.events().count == 1 + 10 - maximum)
    #expect(packets(rig.drain()) == (1...10).map { puback(UInt16($0)) })
  }

  /// More answers than the control queue holds stand before what is to be handed out: nobody will read them.
  @Test(arguments: bothVersions)
  func peerClosedAndTheControlQueueIsFull(version: ProtocolVersion) {
    let rig = Rig(version) { $0.controlBytes = 64 }
    rig.connect()
    _ = rig.events()
    rig.receive((1000..<1050).flatMap { pubrec($0) } + publish(version, "m", qos: .atMostOnce))
    #expect(!rig.hasEvent)
    #expect(rig.peerClosed())
    #expect(rig.events() == [.message(ReceivedMessage("m"))])
    #expect(rig.drain() == [])
  }

  /// What ends the connection may stand behind what is still to be handed out.
  @Test func peerClosedBehindADisconnect() {
    let rig = Rig(.v5_0)
    rig.connect()
    _ = rig.events()
    rig.receive(
      publish(.v5_0, "m", qos: .atMostOnce) + disconnect(0x8B, property(0x1F, "bye")) + pingresp)
    #expect(rig.peerClosed())
    #expect(rig.ending == nil)
    #expect(rig.events() == [.message(ReceivedMessage("m"))])
    #expect(rig.ending?.cause == .disconnected)
    #expect(rig.ending?.reasonCode == 0x8B)
    #expect(rig.ending.map { rig.received($0.reasonString) } == "bye".bytes)
  }

  /// An answer lies unread behind a message that has to wait for the application: its time is not up.
  @Test func anAnswerBehindAMessageThatWaits() throws {
    let rig = Rig(.v3_1_1) {
      $0.answerTimeout = 5000
      $0.keepAlive = 0
      $0.holdsMessages = true
      $0.receiveMaximum = 1
    }
    rig.connect()
    _ = rig.events()
    try rig.publish("a", qos: .atLeastOnce, cookie: 1)
    _ = rig.drain()
    rig.receive(publish(.v3_1_1, "b", qos: .atLeastOnce, identifier: 1))
    #expect(rig.event() == .message(ReceivedMessage("b", qos: .atLeastOnce)))
    let token = rig.token
    rig.receive(publish(.v3_1_1, "c", qos: .atLeastOnce, identifier: 2) + puback(1))
    #expect(rig.event() == nil)
    for _ in 0..<3 { rig.pass(5000) }
    #expect(rig.ending == nil)
    try rig.acknowledge(token)
    #expect(rig.events() == [.message(ReceivedMessage("c", qos: .atLeastOnce)), .delivered(1)])
  }

  /// Or behind one that is larger than the receive buffer, and takes its time.
  @Test func anAnswerBehindALargeMessage() throws {
    let rig = LargeMessageTests.rig(.v3_1_1, parts: true) {
      $0.answerTimeout = 5000
      $0.keepAlive = 0
    }
    try rig.publish("a", qos: .atLeastOnce, cookie: 1)
    _ = rig.drain()
    var rest = publish(.v3_1_1, "b", LargeMessageTests.payload(500), qos: .atMostOnce) + puback(1)
    var told: [Happening] = []
    while !rest.isEmpty, rig.ending == nil {
      rest = rig.receive(rest)
      told += rig.events()
      rig.pass(5000)
    }
    #expect(rig.ending == nil)
    #expect(told.last == .delivered(1))
  }
}
