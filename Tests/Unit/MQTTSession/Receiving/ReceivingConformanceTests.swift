import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Statements that need both directions of a connection. Tests/Conformance/statements.tsv says which.
@Suite struct ReceivingConformanceTests {
  static let method = authenticationMethod("m")

  /// Connected with an Authentication Method, that event taken.
  static func authenticated(
    _ more: [UInt8] = [], _ configure: (inout SessionHarness.Options) -> Void = { _ in }
  ) -> SessionHarness {
    let harness = SessionHarness(.v5_0) {
      $0.properties = method
      configure(&$0)
    }
    harness.connect(properties: more + method)
    _ = harness.events()
    return harness
  }

  // MARK: Strings

  /// 3.1.1 [MQTT-1.5.3-1] [MQTT-1.5.3-2], 5.0 [MQTT-1.5.4-1] [MQTT-1.5.4-2] [MQTT-1.5.7-1]: a string that is none ends
  /// the connection, wherever it stands, and is not handed out.
  @Test(arguments: ["ED A0 80", "C0 AF", "61 E2 82", "80", "00", "61 00 62"])
  func illFormedStrings(bytes: String) throws {
    let bytes = hex(bytes)
    func string(_ identifier: UInt8) -> [UInt8] { property(identifier, bytes: bytes) }
    let pairs = [string(0x26) + [0, 0], [0x26, 0, 0] + string(0).dropFirst()]
    for version in ConformanceTests.everyVersion {
      let topic = packet(0x30, string(0).dropFirst() + list(version, []))
      var wrong = [topic]
      if version == .v5_0 {
        wrong += ([string(0x03), string(0x08)] + pairs).map {
          publish(.v5_0, qos: .atMostOnce, properties: $0)
        }
        for properties in pairs + [string(0x1F)] {
          wrong.append(suback(.v5_0, 65_280, [0], properties: properties))
          wrong.append(unsuback(.v5_0, 65_281, [0], properties: properties))
          wrong.append(auth(0x18, Self.method + properties))
          wrong.append(packet(0x62, [0, 1, 0x92] + list(.v5_0, properties)))
        }
        wrong.append(auth(0x18, string(0x15)))
      }
      for packet in wrong {
        let harness = version == .v5_0 ? Self.authenticated() : PublishTests.harness(version)
        try harness.subscribe(["a"])
        try harness.unsubscribe(["a"])
        _ = harness.drain()
        harness.receive(packet)
        #expect(harness.ending?.cause == .malformed(.utf8), "\(packet)")
        #expect(harness.drain() == ConformanceTests.lastPacket(version, 0x81), "\(packet)")
        // What it answers ends with it, and nothing else.
        let endsRequest = packet[0] == 0x90 || packet[0] == 0xB0
        #expect(harness.events() == (endsRequest ? [.failed(0, .unreadable)] : []), "\(packet)")
      }
    }
  }

  // MARK: Packet Identifiers

  /// 3.1.1 [MQTT-2.3.1-1] [MQTT-2.3.1-2] [MQTT-2.3.1-3], 5.0 [MQTT-2.2.1-3]: a request has an identifier that is not 0
  /// and that nothing in flight has, until it is answered.
  @Test(arguments: ConformanceTests.everyVersion)
  func identifiersOfRequests(version: ProtocolVersion) throws {
    var random = SeededRandom(seed: 231)
    let harness = SessionHarness(version) {
      $0.requests = 20
      $0.random = 65_270
    }
    harness.connect()
    var pending: [(type: UInt8, identifier: UInt16)] = []
    var messages: Set<UInt16> = []
    var requested = 0
    for _ in 0..<2000 {
      if random.percent(50) {
        // Refused if there is no room: the next turn makes some.
        if random.percent(50) { try? harness.subscribe(["a"]) } else { try? harness.unsubscribe(["a"]) }
        if random.percent(50) { try? harness.publish(qos: .atLeastOnce) }
        for sent in packets(harness.drain()) {
          let identifier = UInt16(sent[sent[0] == 0x32 ? 5 : 2]) << 8 | UInt16(sent[sent[0] == 0x32 ? 6 : 3])
          #expect(identifier != 0)
          #expect(!messages.contains(identifier) && !pending.contains { $0.identifier == identifier })
          if sent[0] == 0x32 {
            messages.insert(identifier)
          } else {
            pending.append((sent[0], identifier))
            requested += 1
          }
        }
      } else if !pending.isEmpty {
        let (type, identifier) = pending.remove(at: random.below(pending.count))
        harness.receive(type == 0x82 ? suback(version, identifier, [0]) : unsuback(version, identifier, [0]))
        if let message = messages.sorted().randomElement(using: &random), random.percent(60) {
          messages.remove(message)
          harness.receive(puback(message))
        }
      }
      _ = harness.events()
      #expect(harness.ending == nil)
    }
    // More than there are in their range.
    #expect(requested > 512)
  }

  /// A request goes again with its own identifier (3.1.1 [MQTT-2.3.1-3]), in 3.1 with DUP (its §2.1), and so does the
  /// PUBREL of 3.1.
  @Test(arguments: ConformanceTests.everyVersion)
  func requestsGoAgain(version: ProtocolVersion) throws {
    let harness = SessionHarness(version)
    harness.connect()
    try harness.publish(qos: .exactlyOnce)
    try harness.subscribe(["a"])
    try harness.unsubscribe(["b"])
    let first = packets(harness.drain())
    harness.receive(pubrec(1))
    #expect(harness.drain() == pubrel(1))
    harness.reconnect(sessionPresent: version != .v3_1)
    let duplicate: UInt8 = version == .v3_1 ? 8 : 0
    let requests = first.filter { $0[0] == 0x82 || $0[0] == 0xA2 }
    #expect(requests.count == 2)
    let again = requests.map { [$0[0] | duplicate] + $0.dropFirst() }
    #expect(packets(harness.drain()) == [[0x62 | duplicate, 2, 0, 1]] + again)
  }

  // MARK: What is received with QoS 2

  /// 3.1.1 [MQTT-4.1.0-1] [MQTT-4.1.0-2] [MQTT-3.1.2-4], 5.0 [MQTT-4.1.0-1] [MQTT-3.1.2-23] [MQTT-4.3.3-13]: the identifier of
  /// a message is kept until PUBREL, whatever time passes and whatever its Message Expiry Interval, over connections, too.
  @Test(arguments: ConformanceTests.everyVersion, [false, true])
  func identifiersAreKept(version: ProtocolVersion, reconnects: Bool) {
    let harness = SessionHarness(version) { $0.sessionExpiry = version == .v5_0 ? 7200 : 0 }
    harness.connect()
    _ = harness.events()
    let properties = version == .v5_0 ? messageExpiry(1) : []
    func message(_ duplicate: Bool) -> [UInt8] {
      publish(version, qos: .exactlyOnce, identifier: 5, duplicate: duplicate, properties: properties)
    }
    harness.receive(message(false))
    #expect(harness.events().count == 1)
    #expect(harness.drain() == pubrec(5))
    if reconnects {
      harness.reconnect(sessionPresent: version != .v3_1)
      _ = harness.events()
    }
    for _ in 0..<61 {
      harness.advanceClock(59_000)
      #expect(harness.drain() == pingreq)
      harness.receive(pingresp)
    }
    harness.receive(message(true))
    #expect(harness.events() == [])
    #expect(harness.drain() == pubrec(5))
    harness.receive(pubrel(5))
    #expect(harness.drain() == pubcomp(5))
    harness.receive(message(false))
    #expect(harness.events().count == 1)
  }

  /// 3.1.1 [MQTT-3.1.2-6], 5.0 [MQTT-3.1.2-4] [MQTT-3.2.2-5]: without the session they are forgotten.
  @Test(arguments: ConformanceTests.everyVersion, [false, true])
  func identifiersAreForgotten(version: ProtocolVersion, keepSession: Bool) {
    if version == .v3_1, keepSession { return }  // which cannot tell that the session is lost
    let harness = SessionHarness(version) { $0.keepSession = keepSession }
    harness.connect()
    for _ in 0..<2 {
      _ = harness.events()
      harness.receive(publish(version, qos: .exactlyOnce, identifier: 5))
      #expect(harness.events().count == 1)
      #expect(harness.drain() == pubrec(5))
      harness.reconnect(sessionPresent: false)
    }
  }

  /// [MQTT-4.3.3-7]: what was sent is sent again and finished, whatever its Message Expiry Interval; what was not,
  /// is not.
  @Test func expiryEndsWithPublish() throws {
    for released in [false, true] {
      let harness = PublishTests.harness(.v5_0, properties: receiveMaximum(1))
      try harness.publish(qos: .exactlyOnce, cookie: 1, expiry: 1)
      try harness.publish(qos: .exactlyOnce, cookie: 2, expiry: 1)
      #expect(packets(harness.drain()).count == 1)
      if released { harness.receive(pubrec(1)) }
      if released { #expect(harness.drain() == pubrel(1)) }
      harness.advanceClock(5000)
      harness.reconnect(sessionPresent: true, properties: receiveMaximum(1))
      harness.advanceClock(5000)
      let again = packets(harness.drain())
      #expect(again.count == 1)
      if released {
        #expect(again == [pubrel(1)])
      } else {
        let message = ReadPublish(again[0], .v5_0)
        #expect(message.identifier == 1 && message.duplicate && message.qos == 2)
        harness.receive(pubrec(1))
        #expect(harness.drain() == pubrel(1))
      }
      harness.receive(pubcomp(1))
      #expect(harness.drain() == [])
      #expect(harness.events().filter { $0 == .delivered(1) || $0 == .failed(2, .expired) }.count == 2)
    }
  }

  // MARK: Limits

  /// [MQTT-3.3.4-8] [MQTT-4.9.0-3]: a full window holds up QoS 1 and 2, and nothing else.
  @Test func nothingElseWaitsForTheWindow() throws {
    let harness = Self.authenticated(receiveMaximum(1))
    try harness.publish(qos: .exactlyOnce)
    try harness.publish(qos: .exactlyOnce)
    #expect(harness.drain() == publish(.v5_0, qos: .exactlyOnce, identifier: 1))
    harness.receive(publish(.v5_0, qos: .atLeastOnce, identifier: 1))
    harness.receive(publish(.v5_0, qos: .exactlyOnce, identifier: 2))
    #expect(harness.events().count == 2)
    #expect(harness.drain() == puback(1) + pubrec(2))
    harness.receive(pubrel(2))
    #expect(harness.drain() == pubcomp(2))
    try harness.subscribe(["a"])
    try harness.unsubscribe(["a"])
    #expect(packets(harness.drain()).map { $0[0] } == [0x82, 0xA2])
    try harness.authenticate(0x19)
    #expect(harness.drain() == auth(0x19, Self.method))
    harness.receive(pubrec(1))
    #expect(harness.drain() == pubrel(1))
    harness.advanceClock(59_000)
    #expect(harness.drain() == pingreq)
    #expect(harness.outboxNumbers.inFlight == 1)
  }

  /// [MQTT-3.2.2-15], and [MQTT-3.4.2-2] [MQTT-3.4.2-3] [MQTT-3.5.2-2] [MQTT-3.5.2-3] [MQTT-3.14.2-3] [MQTT-3.14.2-4]
  /// [MQTT-3.15.2-2] [MQTT-3.15.2-3]: whatever is asked for and whatever comes, no packet is larger than the server takes.
  /// Properties stay where they fit.
  @Test(arguments: [property(0x1F, "because"), userProperty("why", "so")])
  func maximumPacketSize(words: [UInt8]) throws {
    for limit: UInt16 in 2...40 {
      let harness = Self.authenticated(TestSupport.maximumPacketSize(limit)) { $0.holdsMessages = true }
      var sent: [UInt8] = []
      // What is larger has to be refused; the packets tell.
      for qos in allQoS { try? harness.publish("topic", [1, 2, 3], qos: qos) }
      try? harness.subscribe(["a/filter", "b"])
      try? harness.unsubscribe(["a/filter", "b", "c"])
      sent += harness.drain()
      try? harness.authenticate(0x19, [1, 2], properties: words)
      sent += harness.drain()
      if limit >= 4 {  // below that there is no acknowledgement at all
        harness.receive(pubrec(100) + pubrel(101))  // Packet Identifier not found
        for (qos, identifier) in [(QoS.atLeastOnce, 1), (.exactlyOnce, 2)] as [(QoS, UInt16)] {
          for code: UInt8 in [0, 0x80] {
            _ = harness.events()
            harness.receive(publish(.v5_0, qos: qos, identifier: identifier + UInt16(code)))
            _ = harness.event()
            try? harness.acknowledge(harness.token, code, properties: words)
            harness.session.releaseEvent()
            sent += harness.drain()
          }
        }
        let full = 6 + words.count
        for first: UInt8 in [0x40, 0x50] {
          let answers = packets(sent).filter { $0[0] == first }
          let sizes = answers.map(\.count)
          if limit >= 5 { #expect(sizes == (Int(limit) >= full ? [full, full] : [4, 5]), "\(limit)") }
        }
      }
      harness.session.beginDisconnect(reasonCode: 0x04, properties: words.span)
      _ = harness.session.disconnect()
      let last = harness.drain()
      if limit < 3 {
        #expect(last == [])
      } else {
        let full = packet(0xE0, [0x04] + list(.v5_0, words))
        #expect(last == (Int(limit) >= full.count ? full : [0xE0, 1, 0x04]), "\(limit)")
      }
      for packet in packets(sent + last) { #expect(packet.count <= Int(limit), "\(limit): \(packet)") }
    }
    // An end of our own accord, too.
    for limit: UInt16 in 2...4 {
      let ends = [(hex("00 00"), 0x81), (pubcomp(0), 0x81), (connack(.v5_0), 0x82)] as [([UInt8], UInt8)]
      for (wrong, code) in ends {
        let harness = PublishTests.harness(.v5_0, properties: TestSupport.maximumPacketSize(limit))
        harness.receive(wrong)
        #expect(harness.ending != nil)
        let last = harness.drain()
        // Without its Reason Code it would discard the Will.
        #expect(last == (limit >= 3 ? [0xE0, 1, code] : []), "\(limit)")
      }
    }
  }

  // MARK: Order

  /// 3.1.1 [MQTT-4.6.0-2] [MQTT-4.6.0-3], 5.0 the same: PUBACK and PUBREC leave as the messages came, whatever order
  /// the application acknowledges them in.
  @Test(arguments: ConformanceTests.everyVersion)
  func acknowledgementsInOrder(version: ProtocolVersion) throws {
    var random = SeededRandom(seed: 46)
    let harness = SessionHarness(version) {
      $0.holdsMessages = true
      $0.receiveMaximum = 100
      $0.controlBytes = 1024
    }
    harness.connect()
    _ = harness.events()
    var tokens: [UInt32] = []
    var expected: [[UInt8]] = []
    for identifier: UInt16 in 1...100 {
      let qos: QoS = random.percent(50) ? .atLeastOnce : .exactlyOnce
      if random.percent(30) { harness.receive(publish(version, qos: .atMostOnce)) }
      harness.receive(publish(version, qos: qos, identifier: identifier))
      while harness.event() != nil { if harness.token != 0 { tokens.append(harness.token) } }
      expected.append(qos == .atLeastOnce ? puback(identifier) : pubrec(identifier))
    }
    #expect(tokens.count == 100)
    var sent: [UInt8] = []
    for token in tokens.shuffled(using: &random) {
      try harness.acknowledge(token)
      sent += harness.drain()
    }
    #expect(packets(sent) == expected)
  }
}
