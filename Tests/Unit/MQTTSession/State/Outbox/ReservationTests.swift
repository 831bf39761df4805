import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// A payload that is written into the outbox: is what goes out a message like any other?
@Suite struct ReservationTests {
  static func payload(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ 1) }
  }

  static func harness(_ version: ProtocolVersion, outboxBytes: Int = 4096) -> SessionHarness {
    let harness = SessionHarness(version) { $0.outboxBytes = outboxBytes }
    harness.connect()
    _ = harness.events()
    return harness
  }

  // MARK: Every size

  /// Reserved and committed around the borders where Remaining Length takes another byte.
  @Test(arguments: bothVersions, allQoS)
  func aroundTheBorders(version: ProtocolVersion, qos: QoS) throws {
    let reserved = [0, 1, 2] + Array(110...135) + [300] + Array(16_370...16_390)
    for size in reserved {
      let committed = Set([0, 1, size / 2, size - 3, size - 2, size - 1, size] + Array(112...128)).filter {
        0...size ~= $0
      }
      for count in committed.sorted() {
        let harness = Self.harness(version, outboxBytes: 20_000)
        try harness.reserve("t", size: size, qos: qos, cookie: 1)
        let data = Self.payload(count)
        harness.fill(data)
        try harness.commit(count)
        try harness.publish("next", qos: .atLeastOnce)
        let expected =
          publish(version, "t", data, qos: qos, identifier: 1)
          + publish(version, "next", qos: .atLeastOnce, identifier: 2)
        #expect(harness.drain() == expected, "\(count) of \(size)")
        // Of a message with QoS 0 that has gone nothing is kept.
        #expect(qos == .atMostOnce || harness.outbox.bytes >= expected.count)
        if qos != .atMostOnce { harness.receive(qos == .atLeastOnce ? puback(1) : pubrec(1) + pubcomp(1)) }
        harness.receive(puback(2))
        #expect(harness.events() == [.delivered(1), .delivered(0)])
        #expect(harness.outbox.bytes == 0)
      }
    }
  }

  /// And where it takes four.
  @Test func threeMillionBytes() throws {
    let harness = Self.harness(.v3_1_1, outboxBytes: 3_000_000)
    for (reserved, count) in [
      (2_097_148, 2_097_148), (2_097_149, 2_097_148), (2_097_160, 16_380), (2_097_160, 100),
    ] {
      try harness.reserve("t", size: reserved)
      let data = Self.payload(count)
      harness.fill(data)
      try harness.commit(count)
      let isRight = harness.drain() == publish(.v3_1_1, "t", data, qos: .atMostOnce)
      #expect(isRight, "\(count) of \(reserved)")
      _ = harness.events()
      #expect(harness.outbox.bytes == 0)
    }
  }

  @Test func withProperties() throws {
    for size in [0, 5, 120, 200] {
      let harness = Self.harness(.v5_0)
      let properties = userProperty("k", "v")
      try harness.reserve("t", size: 200, qos: .atLeastOnce, properties: properties)
      harness.fill(Self.payload(size))
      try harness.commit(size)
      #expect(
        harness.drain()
          == publish(.v5_0, "t", Self.payload(size), qos: .atLeastOnce, identifier: 1, properties: properties)
      )
    }
  }

  // MARK: While it is open

  /// One at a time; everything else goes on.
  @Test(arguments: bothVersions)
  func othersHaveToWait(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    try harness.publish("before", qos: .atLeastOnce)
    try harness.reserve("t", size: 3, cookie: 7)
    #expect(throws: SessionError.state) { try harness.publish() }
    #expect(throws: SessionError.state) { try harness.publish("t", expiry: 1) }
    #expect(throws: SessionError.state) { try harness.reserve(size: 1) }
    try harness.subscribe(["f"])
    harness.receive(publish(version, "m", qos: .exactlyOnce, identifier: 5) + pubrec(99))
    #expect(harness.events() == [.message(ReceivedMessage("m", qos: .exactlyOnce))])
    let sent = packets(harness.drain())
    #expect(sent.map { $0[0] >> 4 } == [6, 5, 8, 3] || sent.map { $0[0] >> 4 } == [5, 6, 8, 3])
    #expect(sent.last == publish(version, "before", qos: .atLeastOnce, identifier: 1))
    #expect(!harness.wantsTransmit)
    #expect(!harness.isDrained)
    harness.receive(puback(1) + suback(version, 65_280, [0]))
    #expect(harness.events().count == 2)
    #expect(!harness.isDrained)
    harness.fill([1, 2, 3])
    try harness.commit(3)
    #expect(harness.drain() == publish(version, "t", [1, 2, 3], qos: .atMostOnce))
    #expect(harness.events() == [.delivered(7)])
    try harness.publish()
  }

  @Test func wrongCalls() throws {
    let harness = Self.harness(.v5_0)
    #expect(throws: SessionError.state) { try harness.commit(0) }
    #expect(throws: SessionError.state) { try harness.abort() }
    #expect(throws: SessionError.tooLarge) { try harness.reserve(size: 4096) }
    #expect(throws: SessionError.tooLarge) { try harness.reserve(size: 268_435_456) }
    #expect(throws: SessionError.topicName) { try harness.reserve("#", size: 1) }
    #expect(throws: SessionError.property) { try harness.reserve(size: 1, properties: topicAlias(1)) }
    try harness.reserve(size: 10)
    #expect(throws: SessionError.option) { try harness.commit(11) }
    #expect(throws: SessionError.option) { try harness.commit(-1) }
    try harness.commit(10)
    #expect(throws: SessionError.state) { try harness.commit(10) }
    #expect(throws: SessionError.state) { try harness.abort() }
  }

  /// As if it had never been there.
  @Test(arguments: bothVersions)
  func aborted(version: ProtocolVersion) throws {
    for isAlone in [true, false] {
      let harness = Self.harness(version, outboxBytes: 200)
      if !isAlone {
        try harness.publish("a", qos: .atLeastOnce)
        _ = harness.drain()
      }
      let before = harness.numbers
      for size in [0, 10, 150] {
        try harness.reserve("t", size: size, qos: .exactlyOnce)
        harness.fill(Self.payload(size))
        #expect(harness.drain() == [])
        try harness.abort()
        let after = harness.numbers
        #expect([before[0], before[3], before[6]] == [after[0], after[3], after[6]])
      }
      #expect(harness.isDrained == isAlone)
      try harness.publish("b", qos: .atLeastOnce)
      #expect(harness.drain() == publish(version, "b", qos: .atLeastOnce, identifier: isAlone ? 1 : 2))
      harness.receive(puback(1) + puback(2))
      _ = harness.events()
      #expect(harness.outbox.bytes == 0)
      #expect(harness.isDrained)
    }
  }

  /// Whoever was turned away is told when the room is there again.
  @Test func abortMakesRoom() throws {
    let harness = Self.harness(.v3_1_1, outboxBytes: 100)
    try harness.publish("a", Self.payload(50), qos: .atLeastOnce)
    #expect(throws: SessionError.full) { try harness.publish("a", Self.payload(50)) }
    try harness.reserve(size: 30)
    try harness.abort()
    #expect(harness.events() == [.room])
  }

  // MARK: Over connections

  /// The bytes stay where they are, whatever happens to the header in front of them.
  @Test(arguments: allQoS, [0, 7, 130])
  func overConnections(qos: QoS, size: Int) throws {
    let data = Self.payload(size)
    for isOlder in [false, true] {
      for written in [false, true] {
        let harness = SessionHarness(.v5_0) { $0.allowsFallback = true }
        harness.connect()
        _ = harness.events()
        try harness.publish("a", qos: .atLeastOnce)
        try harness.reserve("t", size: size, qos: qos, properties: userProperty("k", "v"))
        if written { harness.fill(data) }
        _ = harness.drain()
        harness.lose()
        if isOlder { #expect(harness.fallBack()) }
        harness.connect(sessionPresent: true)
        let version: ProtocolVersion = isOlder ? .v3_1_1 : .v5_0
        #expect(harness.drain() == publish(version, "a", qos: .atLeastOnce, identifier: 1, duplicate: true))
        if !written { harness.fill(data) }
        try harness.commit(size)
        #expect(
          harness.drain()
            == publish(
              version, "t", data, qos: qos, identifier: 2, properties: isOlder ? [] : userProperty("k", "v")))
      }
    }
  }

  /// What the server that is there by now cannot take is told, and not sent.
  @Test func limitsOfAnotherServer() throws {
    for (properties, size, code) in [
      (maximumQoS(0), 5, 0x9B), (maximumPacketSize(20), 20, 0x95), (maximumPacketSize(20), 5, nil),
      (retainAvailable(0), 5, nil),
    ] as [([UInt8], Int, UInt8?)] {
      let harness = SessionHarness(.v5_0)
      try harness.reserve("t", size: 50, qos: .atLeastOnce, cookie: 4)
      harness.connect(properties: properties)
      harness.fill(Self.payload(size))
      try harness.commit(size)
      if let code {
        #expect(harness.events() == [.connected(sessionPresent: false), .aboveLimit(4, code)])
        #expect(harness.drain() == [])
      } else {
        #expect(harness.drain() == publish(.v5_0, "t", Self.payload(size), qos: .atLeastOnce, identifier: 1))
      }
    }
  }

  // MARK: At random

  /// Messages of both kinds in a small ring that goes round many times: all go out, in order, whole, and in the end
  /// all the room is there again.
  @Test(arguments: [64, 100, 150, 300])
  func randomRuns(bytes: Int) throws {
    var committed = 0
    var aborted = 0
    var full = 0
    for seed in UInt64(0)..<1000 {
      var random = SeededRandom(seed: seed)
      let version: ProtocolVersion = random.percent(50) ? .v5_0 : .v3_1_1
      let harness = SessionHarness(version) {
        $0.keepAlive = 0
        $0.outboxBytes = bytes
        $0.outboxMessages = 6
      }
      harness.connect()
      var expected: [[UInt8]] = []
      var sent: [[UInt8]] = []
      var stream: [UInt8] = []
      var open: (size: Int, data: [UInt8], qos: QoS)?
      var identifier: UInt16 = 1
      var fault: String?

      func note(_ data: [UInt8], _ qos: QoS) {
        expected.append(publish(version, "t", data, qos: qos, identifier: identifier))
        identifier += 1
      }
      func arrive(_ bytes: [UInt8]) {
        stream += bytes
        while let size = firstPacketSize(stream[...]) {
          let packet = Array(stream.prefix(size))
          sent.append(packet)
          stream.removeFirst(size)
          if packet[0] & 6 == 2 {
            harness.receive(
              puback(UInt16(packet[5 + (size > 129 ? 1 : 0)]) << 8 | UInt16(packet[6 + (size > 129 ? 1 : 0)]))
            )
          }
        }
      }
      for _ in 0..<120 where fault == nil {
        let qos: QoS = random.percent(50) ? .atLeastOnce : .atMostOnce
        switch random.below(10) {
        case 0, 1, 2:
          let size = random.below(random.percent(50) ? 20 : bytes)
          let data = random.bytes(size)
          do throws(SessionError) {
            try harness.reserve("t", size: size, qos: qos)
            if open != nil { fault = "two at a time" }
            harness.fill(data)
            open = (size, data, qos)
          } catch {
            if error == .full { full += 1 }
            if (error == .state) != (open != nil) { fault = "\(error)" }
          }
        case 3, 4, 5:
          guard let one = open else { continue }
          open = nil
          if random.percent(25) {
            try harness.abort()
            aborted += 1
          } else {
            let count = random.percent(30) ? one.size : random.below(one.size + 1)
            try harness.commit(count)
            note(Array(one.data.prefix(count)), one.qos)
            committed += 1
          }
        case 6:
          let data = random.bytes(random.below(20))
          if (try? harness.publish("t", data, qos: qos)) != nil { note(data, qos) }
        case 7, 8: arrive(harness.transmit(1 + random.below(60)) ?? [])
        default: _ = harness.events()
        }
      }
      if open != nil { try harness.abort() }
      for _ in 0..<10 {
        arrive(harness.drain())
        _ = harness.events()
      }
      if sent != expected { fault = "sent \(sent.count), not \(expected.count)" }
      if harness.outbox.bytes != 0 || harness.outbox.messages != 0 {
        fault = "\(harness.outbox.bytes) bytes are left"
      }
      let overhead = publish(version, "t", qos: .atMostOnce).count + (bytes > 129 ? 1 : 0)
      if (try? harness.reserve("t", size: bytes - overhead)) == nil { fault = "no room for all" }
      if let fault { Issue.record("seed \(seed): \(fault)") }
    }
    #expect(committed > 3000)
    #expect(aborted > 1000)
    #expect(full > 1000)
  }
}
