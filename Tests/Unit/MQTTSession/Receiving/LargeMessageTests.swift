import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Messages that are larger than the receive buffer: in parts, or without their payload.
@Suite struct LargeMessageTests {
  static func harness(
    _ version: ProtocolVersion, receiveBytes: Int = 64, parts: Bool,
    configure: (inout SessionHarness.Options) -> Void = { _ in }
  ) -> SessionHarness {
    let harness = SessionHarness(version) {
      $0.receiveBytes = receiveBytes
      $0.maximumPacketSize = 0
      $0.deliversParts = parts
      configure(&$0)
    }
    harness.connect()
    _ = harness.events()
    return harness
  }

  static func payload(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
  }

  /// What came of a stream of bytes from the server that is cut into pieces. The application takes an event
  /// whenever the session wants no more bytes, and at the end.
  static func messages(_ harness: SessionHarness, _ bytes: [UInt8], piece: (Int) -> Int) -> [ReceivedMessage]
  {
    var messages: [ReceivedMessage] = []
    var rest = bytes
    var count = 0
    func take() -> Bool {
      guard case .message(let message) = harness.event() else { return false }
      messages.append(message)
      if (harness.token != 0) != (message.isLast && message.qos != .atMostOnce) {
        messages[0].topic = "token"
      }
      return true
    }
    while !rest.isEmpty, harness.ending == nil {
      let size = min(piece(count), rest.count)
      count += 1
      var part = Array(rest.prefix(size))
      rest.removeFirst(size)
      while !part.isEmpty, harness.ending == nil {
        part = harness.receive(part)
        if !part.isEmpty, !take(), !harness.wantsReceive { return messages }
      }
    }
    while take() {}
    return messages
  }

  /// Puts the parts together again; `nil`: they do not fit.
  static func whole(_ parts: [ReceivedMessage]) -> ReceivedMessage? {
    guard var result = parts.first, result.isFirst, parts.last?.isLast == true else { return nil }
    for (index, part) in parts.enumerated() {
      guard part.payloadOffset == (index == 0 ? 0 : result.payload.count),
        part.isFirst == (index == 0), part.isLast == (index == parts.count - 1), !part.payload.isEmpty,
        part.topic == result.topic, part.properties == result.properties,
        part.payloadSize == result.payloadSize, part.qos == result.qos, !part.isOversize
      else { return nil }
      if index > 0 { result.payload += part.payload }
    }
    result.isLast = true
    return result.payload.count == result.payloadSize ? result : nil
  }

  static func acknowledgement(_ qos: QoS, _ identifier: UInt16) -> [UInt8] {
    qos == .atMostOnce ? [] : qos == .atLeastOnce ? puback(identifier) : pubrec(identifier)
  }

  // MARK: Every size, every split

  /// In parts, or dropped: a large message, and behind it a small one, cut at every place and into pieces of every
  /// size.
  @Test(arguments: bothVersions, [false, true])
  func everySplit(version: ProtocolVersion, parts: Bool) {
    var faults: [String] = []
    for (buffer, topicSize, payloadSize) in [
      (64, 1, 57), (64, 1, 58), (64, 1, 59), (64, 1, 60), (64, 1, 61), (64, 1, 62), (64, 1, 63), (64, 1, 64),
      (64, 1, 125), (64, 20, 100), (64, 43, 60), (64, 44, 60), (64, 45, 60), (64, 46, 60),
      (64, 55, 30), (64, 56, 30), (64, 57, 30), (64, 58, 30), (64, 59, 30), (64, 60, 30), (64, 61, 30),
      (64, 62, 30),
      (64, 63, 30), (64, 64, 30), (64, 100, 30), (64, 200, 300), (100, 10, 300), (129, 5, 128),
    ] {
      for qos in allQoS {
        let topic = String(repeating: "t", count: topicSize)
        let data = Self.payload(payloadSize)
        let properties = version == .v5_0 && topicSize % 2 == 0 ? userProperty("k", "v") : []
        let packet = publish(version, topic, data, qos: qos, identifier: 9, properties: properties)
        let headerSize = packet.count - payloadSize
        let small = publish(version, "s", [42], qos: .atLeastOnce, identifier: 10)
        let stream = packet + small
        var expected = ReceivedMessage(topic, data, qos: qos)
        expected.properties = properties
        let isLong = headerSize > buffer - buffer / 4
        if packet.count > buffer, !parts || isLong {
          expected.payload = []
          expected.isOversize = true
          if isLong {
            expected.topic = ""
            expected.properties = []
          }
        }
        let splits = Array(1..<stream.count)
        for split in splits + splits.map({ -$0 }) {
          let harness = Self.harness(version, receiveBytes: buffer, parts: parts)
          let messages = Self.messages(harness, stream) { split > 0 ? ($0 == 0 ? split : .max) : -split }
          let large = expected.isOversize ? messages.first : Self.whole(Array(messages.dropLast()))
          let name = "\(buffer) \(topicSize) \(payloadSize) \(qos) at \(split)"
          if large != expected || messages.last != ReceivedMessage("s", [42], qos: .atLeastOnce)
            || (expected.isOversize && messages.count != 2)
          {
            faults.append("\(name): \(messages)")
          }
          if harness.drain() != Self.acknowledgement(qos, 9) + puback(10) {
            faults.append("\(name): acknowledged")
          }
          let counters = harness.counters
          if counters.messagesReceived.uint64 != 2 || counters.packetsReceived.uint64 != 3
            || counters.messagesOversize.uint64 != (expected.isOversize ? 1 : 0)
          {
            faults.append("\(name): counted \(counters.messagesReceived.uint64)")
          }
          if faults.count > 3 { break }
        }
      }
    }
    #expect(faults.isEmpty, "\(faults.prefix(3))")
  }

  /// Neither a topic nor an alias, in a header that does not fit (§3.3.2.1); nor half of a User Property.
  @Test(arguments: [
    (hex("00 00 00"), ProtocolVersion.v3_1_1, Malformed.emptyTopic),
    (hex("00 00 4A") + userProperty("k", String(repeating: "v", count: 68)), .v5_0, .emptyTopic),
    (hex("00 01 61 4A") + hex("26 00 47") + [UInt8](repeating: 0x6B, count: 71), .v5_0, .truncated),
  ])
  func wrongHeaders(header: [UInt8], version: ProtocolVersion, fault: Malformed) {
    let harness = Self.harness(version, receiveBytes: 64, parts: true)
    _ = Self.messages(harness, packet(0x30, header + [UInt8](repeating: 0, count: 80))) { _ in 7 }
    #expect(harness.ending?.cause == .malformed(fault))
  }

  /// Every buffer from 64 bytes on, messages around one, two and three times its size, in pieces of chance.
  @Test(arguments: bothVersions)
  func everyBuffer(version: ProtocolVersion) {
    var faults: [String] = []
    for buffer in 64...200 {
      var random = SeededRandom(seed: UInt64(buffer))
      let harness = Self.harness(version, receiveBytes: buffer, parts: true)
      for number in 0..<40 {
        let qos = allQoS[random.below(3)]
        let size = max(0, buffer * (1 + random.below(3)) + random.below(40) - 20)
        let properties = version == .v5_0 && random.percent(30) ? userProperty("key", "value") : []
        let topic = String(repeating: "t", count: 1 + random.below(20))
        let data = Self.payload(size)
        let packet = publish(version, topic, data, qos: qos, identifier: 9, properties: properties)
        var expected = ReceivedMessage(topic, data, qos: qos)
        expected.properties = properties
        let messages = Self.messages(harness, packet) { _ in 1 + random.below(buffer) }
        let sent = harness.drain()
        if Self.whole(messages) != expected || sent != Self.acknowledgement(qos, 9) {
          faults.append("\(buffer) bytes, message \(number): \(messages), \(sent)")
          break
        }
        if qos == .exactlyOnce { harness.receive(pubrel(9)) }
        _ = harness.drain()
      }
    }
    #expect(faults.isEmpty, "\(faults.prefix(3))")
  }

  /// Two million bytes through a buffer of 4,096, of which nothing is kept; and the beginning of as many as MQTT
  /// allows.
  @Test func manyBytes() {
    let harness = Self.harness(.v3_1_1, receiveBytes: 4096, parts: false)
    var left = 2_097_151 - 5
    harness.receive([0x32] + variableByteInteger(2_097_151) + [0, 1, 0x61, 0, 7])
    let zeros = [UInt8](repeating: 0, count: 4096)
    while left > 0 {
      let piece = min(left, 4096)
      harness.receive(Array(zeros.prefix(piece)))
      left -= piece
    }
    var expected = ReceivedMessage("a", qos: .atLeastOnce)
    expected.payloadSize = 2_097_151 - 5
    expected.isOversize = true
    #expect(harness.events() == [.message(expected)])
    #expect(harness.drain() == puback(7))
    harness.receive([0x32, 0xFF, 0xFF, 0xFF, 0x7F, 0, 1, 0x61, 0, 8] + zeros)
    #expect(harness.ending == nil)
    #expect(harness.wantsReceive)
  }

  // MARK: Handshakes

  /// One that was handed out before comes again: nothing is told, and PUBREC is repeated.
  @Test(arguments: bothVersions, [false, true])
  func duplicates(version: ProtocolVersion, parts: Bool) {
    for (topicSize, size) in [(1, 200), (70, 100)] {
      let harness = Self.harness(version, parts: parts)
      let topic = String(repeating: "t", count: topicSize)
      func packet(_ duplicate: Bool) -> [UInt8] {
        publish(
          version, topic, Self.payload(size), qos: .exactlyOnce, identifier: 3, duplicate: duplicate)
      }
      #expect(!Self.messages(harness, packet(false)) { _ in 50 }.isEmpty)
      #expect(harness.drain() == pubrec(3))
      harness.reconnect(sessionPresent: true)
      _ = harness.events()
      #expect(Self.messages(harness, packet(true) + pubrel(3)) { _ in 50 }.isEmpty)
      #expect(harness.drain() == pubrec(3) + pubcomp(3))
      #expect(harness.counters.messagesDuplicate.uint64 == 1)
      #expect(harness.counters.messagesReceived.uint64 == 1)
      #expect(harness.inbox.unacknowledged == 0)
    }
  }

  /// A message whose connection ends before its last part begins anew on the next.
  @Test(arguments: bothVersions, [QoS.atLeastOnce, .exactlyOnce])
  func lostInTheMiddle(version: ProtocolVersion, qos: QoS) {
    let harness = Self.harness(version, parts: true)
    let data = Self.payload(300)
    func packet(_ duplicate: Bool) -> [UInt8] {
      publish(version, "t", data, qos: qos, identifier: 3, duplicate: duplicate)
    }
    for lost in [1, 20, 64, 65, 150, 300] {
      let parts = Self.messages(harness, Array(packet(lost > 1).prefix(lost))) { _ in 30 }
      #expect(parts.allSatisfy { !$0.isLast })
      #expect(harness.inbox.unacknowledged == 0)
      harness.reconnect(sessionPresent: true)
      #expect(harness.events() == [.connected(sessionPresent: true)])
    }
    let messages = Self.messages(harness, packet(true)) { _ in 30 }
    #expect(Self.whole(messages) == ReceivedMessage("t", data, qos: qos, duplicate: true))
    #expect(harness.drain() == Self.acknowledgement(qos, 3))
  }

  /// `smq_hold` and `smq_ack` with the last part; those before have nothing to acknowledge.
  @Test(arguments: bothVersions)
  func held(version: ProtocolVersion) throws {
    let harness = Self.harness(version, parts: true)
    var rest = publish(version, "t", Self.payload(150), qos: .atLeastOnce, identifier: 3)
    rest = harness.receive(rest)
    while case .message(let part) = harness.event() {
      #expect(harness.hold() == part.isLast)
      if part.isLast { break }
      harness.session.releaseEvent()
      rest = harness.receive(rest)
    }
    let token = harness.token
    harness.session.releaseEvent()
    #expect(harness.drain() == [])
    try harness.acknowledge(token)
    #expect(harness.drain() == puback(3))
  }

  /// No room in the inbox: 3.1.1 waits at the header, 5.0 has said how many.
  @Test(arguments: [1, 70])
  func inboxIsFull(topicSize: Int) throws {
    let topic = String(repeating: "t", count: topicSize)
    for version in bothVersions {
      let harness = Self.harness(version, parts: true) {
        $0.receiveMaximum = 1
        $0.holdsMessages = true
      }
      harness.receive(publish(version, qos: .atLeastOnce, identifier: 1))
      _ = harness.event()
      let token = harness.token
      harness.session.releaseEvent()
      let packet = publish(version, topic, Self.payload(200), qos: .atLeastOnce, identifier: 2)
      let rest = harness.receive(packet)
      #expect(!rest.isEmpty)
      #expect(harness.events() == [])
      if version == .v5_0 {
        #expect(harness.ending?.cause == .violation(.receiveMaximum))
        continue
      }
      #expect(!harness.wantsReceive)
      try harness.acknowledge(token)
      let messages = Self.messages(harness, rest) { _ in 17 }
      if topicSize == 1 {
        #expect(Self.whole(messages) == ReceivedMessage(topic, Self.payload(200), qos: .atLeastOnce))
      } else {
        #expect(messages.map(\.isOversize) == [true])
        #expect(messages.map(\.payloadSize) == [200])
      }
    }
  }

  // MARK: Topic Aliases

  /// The topic of a part is there as long as the part.
  @Test func partsUnderAnAlias() {
    let harness = Self.harness(.v5_0, parts: true) {
      $0.aliasesReceived = 2
      $0.aliasBytes = 8
    }
    let data = Self.payload(150)
    let stream =
      publish(.v5_0, "abc", data, qos: .atMostOnce, properties: topicAlias(1))
      + publish(.v5_0, "", data, qos: .atMostOnce, properties: topicAlias(1))
      + publish(.v5_0, "too/long/for/it", data, qos: .atMostOnce, properties: topicAlias(2))
      + publish(.v5_0, "", data, qos: .atMostOnce, properties: topicAlias(2))
    let messages = Self.messages(harness, stream) { _ in 64 }
    let topics = messages.filter(\.isFirst).map(\.topic)
    #expect(topics == ["abc", "abc", "too/long/for/it", ""])
    #expect(messages.filter(\.isFirst).map(\.isOversize) == [false, false, false, true])
    #expect(messages.reduce(0) { $0 + $1.payload.count } == 600)
  }

  /// A header that did not fit has set an alias: from then on nobody knows what it stands for, until the server
  /// says it again.
  @Test func aliasesThatWereNotSeen() {
    for parts in [false, true] {
      let harness = Self.harness(.v5_0, parts: parts) { $0.aliasesReceived = 2 }
      let long = String(repeating: "t", count: 80)
      let stream =
        publish(.v5_0, "abc", [1], qos: .atMostOnce, properties: topicAlias(1))
        + publish(.v5_0, long, [2], qos: .atMostOnce, properties: topicAlias(1))
        + publish(.v5_0, "", [3], qos: .atMostOnce, properties: topicAlias(1))
        + publish(.v5_0, "def", [5], qos: .atMostOnce, properties: topicAlias(1))
        + publish(.v5_0, "", [6], qos: .atMostOnce, properties: topicAlias(1))
      let messages = Self.messages(harness, stream) { _ in 64 }
      #expect(harness.ending == nil)
      #expect(messages.map(\.topic) == ["abc", "", "", "def", "def"])
      #expect(messages.map(\.isOversize) == [false, true, true, false, false])
      #expect(messages.map(\.payload) == [[1], [], [3], [5], [6]])
    }
  }

  // MARK: Replies

  /// A reply in parts is one when it is all there, and none if its connection ends before.
  @Test func replies() throws {
    let harness = Self.harness(.v5_0, parts: true) { $0.replies = 1 }
    try harness.request(timeout: 5000, cookie: 8)
    let properties = ReadPublish(harness.drain(), .v5_0).properties
    let correlation = Array(properties.suffix(8))
    let reply = publish(
      .v5_0, "r", Self.payload(150), qos: .atMostOnce, properties: correlationData(correlation))
    for lost in [70, 150] {
      let parts = Self.messages(harness, Array(reply.prefix(lost))) { _ in 64 }
      #expect(parts.allSatisfy { $0.responseCookie == nil })
      harness.reconnect(sessionPresent: true)
      #expect(harness.events() == [.connected(sessionPresent: true)])
    }
    let parts = Self.messages(harness, reply) { _ in 64 }
    #expect(parts.last?.responseCookie == 8)
    #expect(parts.dropLast().allSatisfy { $0.responseCookie == nil })
    harness.advanceClock(5000)
    #expect(harness.events() == [])
  }

  @Test func droppedReplies() throws {
    let harness = Self.harness(.v5_0, parts: false) { $0.replies = 1 }
    try harness.request(timeout: 5000, cookie: 8)
    let correlation = Array(ReadPublish(harness.drain(), .v5_0).properties.suffix(8))
    let reply = publish(
      .v5_0, "r", Self.payload(150), qos: .atMostOnce, properties: correlationData(correlation))
    let messages = Self.messages(harness, reply) { _ in 64 }
    #expect(messages.map(\.responseCookie) == [8])
    #expect(messages.map(\.isOversize) == [true])
  }

  // MARK: Packets that are wrong

  @Test func malformed() {
    let long = String(repeating: "t", count: 80).bytes
    let cases: [([UInt8], Malformed)] = [
      // QoS 3, DUP with QoS 0, Packet Identifier 0: with the header in the buffer, and without.
      (packet(0x36, [0, 1, 0x61, 0, 1, 0] + Self.payload(100)), .qos),
      (packet(0x38, [0, 1, 0x61, 0] + Self.payload(100)), .duplicateFlag),
      (packet(0x32, [0, 1, 0x61, 0, 0, 0] + Self.payload(100)), .packetIdentifier),
      (packet(0x36, [0, 80] + long + [0, 1, 0] + Self.payload(100)), .qos),
      (packet(0x38, [0, 80] + long + [0] + Self.payload(100)), .duplicateFlag),
      (packet(0x32, [0, 80] + long + [0, 0, 0] + Self.payload(100)), .packetIdentifier),
      // A topic, properties that end behind the packet.
      (packet(0x30, [0xFF, 0xFF] + Self.payload(100)), .truncated),
      (packet(0x30, [0, 1, 0x61, 0xFF, 0x7F] + Self.payload(100)), .truncated),
      (packet(0x30, [0, 80] + long + [0xFF, 0x7F] + Self.payload(10)), .truncated),
      (
        packet(0x30, [0, 80] + long + [0xFF, 0xFF, 0xFF, 0xFF, 0x7F] + Self.payload(100)),
        .variableByteInteger
      ),
      (packet(0x32, [0, 80] + long), .truncated),
      (packet(0x32, [0, 80] + long + [0]), .truncated),
      (packet(0x32, [0, 80] + long + [0, 1]), .truncated),
      (packet(0x30, [0, 80] + long), .truncated),
      (packet(0x30, [0, 80] + long + [0x80]), .truncated),
    ]
    for (packet, expected) in cases {
      for piece in [1, 7, 64] {
        for parts in [false, true] {
          let harness = Self.harness(.v5_0, parts: parts)
          _ = Self.messages(harness, packet + pingresp) { _ in piece }
          #expect(harness.ending?.cause == .malformed(expected), "\(packet.prefix(8)) in pieces of \(piece)")
        }
      }
    }
  }

  /// A header larger than the buffer, and nothing behind it: no other byte is needed for the message to be told and
  /// acknowledged.
  @Test(arguments: [ProtocolVersion.v3_1_1, .v5_0], [QoS.atMostOnce, .atLeastOnce, .exactlyOnce])
  func withoutPayload(version: ProtocolVersion, qos: QoS) {
    let harness = Self.harness(version, parts: false)
    let topic = [UInt8](repeating: 0x74, count: 100)
    var body: [UInt8] = [0, 100] + topic
    if qos != .atMostOnce { body += [0, 7] }
    if version.hasProperties { body.append(0) }
    var rest: [UInt8] = [0x30 | qos.rawValue << 1, UInt8(body.count)] + body
    while !rest.isEmpty { rest = harness.receive(rest) }
    guard case .message(let message) = harness.event() else {
      Issue.record("no event")
      return
    }
    #expect(message.isOversize && message.qos == qos)
    #expect(harness.events().isEmpty)
    #expect(harness.drain() == Self.acknowledgement(qos, 7))
  }
}
