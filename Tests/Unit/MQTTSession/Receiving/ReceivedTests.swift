import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Bytes from the server, in whatever pieces they come.
@Suite struct ReceivedTests {
  /// What a server says to a client with three QoS 1 and three QoS 2 messages on their way.
  static func conversation(_ version: ProtocolVersion) -> [[UInt8]] {
    var packets = [
      connack(version, properties: property(0x1F, "welcome") + receiveMaximum(20)),
      puback(2), pubrec(4), pubrec(5), pingresp, pubrec(4), puback(1), pubrec(6), pubcomp(5), puback(1),
      puback(900), pubcomp(901), pubrec(902), pubcomp(4), pubcomp(4), puback(3), pingresp, pubcomp(6),
    ]
    if version == .v5_0 {
      // Codes and properties.
      packets[6] = [0x40, 13, 0, 1, 0x97, 9] + property(0x1F, "quota!")
      packets[12] = [0x50, 4, 3, 0x86, 0, 0]
      packets[15] = [0x40, 3, 0, 3, 0x10]
      packets.append([0xE0, 11, 0x8B, 9] + property(0x1F, "goobye"))
    }
    return packets
  }

  struct Result: Equatable {
    var sent: [UInt8] = []
    var events: [ReportedEvent] = []
    var cause: CloseReason.Cause?
    var reason: [UInt8] = []
    var packets: UInt64 = 0
  }

  static func converse(_ version: ProtocolVersion, _ pieces: [[UInt8]]) throws -> Result {
    let harness = SessionHarness(version)
    for qos in [.atLeastOnce, .exactlyOnce] as [QoS] {
      for cookie in 1...3 as ClosedRange<UInt64> {
        try harness.publish(qos: qos, cookie: cookie + UInt64(qos.rawValue) * 10)
      }
    }
    harness.open()
    var result = Result()
    for piece in pieces {
      // What is behind an event with views waits until that is taken.
      var rest = piece
      repeat {
        rest = harness.receive(rest)
        result.sent += harness.drain()
        result.events += harness.events()
      } while !rest.isEmpty && harness.wantsReceive
      result.sent += harness.drain()
      if !rest.isEmpty { break }
    }
    result.cause = harness.ending?.cause
    result.reason = harness.ending.map { harness.received($0.reasonString) } ?? []
    result.packets = harness.counters.packetsReceived.uint64
    return result
  }

  @Test(arguments: bothVersions)
  func anyPieces(version: ProtocolVersion) throws {
    let conversation = Self.conversation(version)
    // CONNACK first, so that the messages are on their way in every variant; DISCONNECT last, as it takes
    // back what has not been sent.
    let end = version == .v5_0 ? conversation.count - 1 : conversation.count
    let stages = [conversation[..<1], conversation[1..<end], conversation[end...]].map { Array($0.joined()) }
    let expected = try Self.converse(version, stages)
    var answers = pubrel(4) + pubrel(5) + pubrel(4) + pubrel(6)
    answers += pubrel(902, version == .v5_0 ? 0x92 : 0)
    var messages: [UInt8] = []
    for identifier: UInt16 in 1...6 {
      messages += publish(version, qos: identifier <= 3 ? .atLeastOnce : .exactlyOnce, identifier: identifier)
    }
    #expect(expected.sent == messages + answers)
    #expect(
      expected.events == [
        .connected(sessionPresent: false), .delivered(12),
        version == .v5_0 ? .refused(11, 0x97) : .delivered(11), .delivered(22), .delivered(21),
        .delivered(13),
        .delivered(23),
      ])
    #expect(expected.packets == UInt64(conversation.count))
    #expect(expected.cause == (version == .v5_0 ? .disconnected : nil))
    #expect(expected.reason == (version == .v5_0 ? "goobye".bytes : []))

    for size in 1...40 {
      let pieces = stages.flatMap { Self.cut($0, size) }
      #expect(try Self.converse(version, pieces) == expected, "pieces of \(size)")
    }
    var random = SeededRandom(seed: 7)
    for run in 0..<300 {
      var pieces: [[UInt8]] = []
      for stage in stages {
        var rest = stage[...]
        while !rest.isEmpty {
          let piece = rest.prefix(1 + random.below(12))
          pieces.append(Array(piece))
          rest = rest.dropFirst(piece.count)
        }
      }
      #expect(try Self.converse(version, pieces) == expected, "run \(run)")
    }
  }

  private static func cut(_ bytes: [UInt8], _ size: Int) -> [[UInt8]] {
    stride(from: 0, to: bytes.count, by: size).map {
      Array(bytes[$0..<min($0 + size, bytes.count)])
    }
  }

  // MARK: The end

  struct ProtocolViolation: Sendable, CustomTestStringConvertible {
    let statement: String
    let packet: [UInt8]
    let cause: CloseReason.Cause
    let code: UInt8
    var versions = bothVersions
    var testDescription: String { statement }
  }

  /// Malformed Packets (§4.13); Protocol Errors are in ProtocolViolationTests.
  static let violations: [ProtocolViolation] = [
    ProtocolViolation(statement: "type 0", packet: hex("00 00"), cause: .malformed(.packetType), code: 0x81),
    ProtocolViolation(
      statement: "reserved flags", packet: hex("41 02 00 01"), cause: .malformed(.reservedFlags), code: 0x81),
    ProtocolViolation(
      statement: "Remaining Length of five bytes", packet: hex("40 80 80 80 80 01"),
      cause: .malformed(.remainingLength), code: 0x81),
    ProtocolViolation(
      statement: "Packet Identifier 0", packet: puback(0), cause: .malformed(.packetIdentifier), code: 0x81),
    ProtocolViolation(
      statement: "half a PUBACK", packet: hex("40 01 00"), cause: .malformed(.truncated), code: 0x81),
    ProtocolViolation(
      statement: "PINGRESP with a body", packet: hex("D0 01 00"), cause: .malformed(.trailingBytes),
      code: 0x81),
    ProtocolViolation(
      statement: "PUBACK with a code of 5.0", packet: puback(1, 0x80), cause: .malformed(.trailingBytes),
      code: 0x81, versions: [.v3_1_1]),
    ProtocolViolation(
      statement: "PUBACK with an unknown code", packet: puback(1, 0x01), cause: .malformed(.reasonCode),
      code: 0x81, versions: [.v5_0]),
    ProtocolViolation(
      statement: "a property twice", packet: hex("40 0C 00 01 00 08 1F 00 01 61 1F 00 01 61"),
      cause: .malformed(.propertyRepeated), code: 0x82, versions: [.v5_0]),
    ProtocolViolation(
      statement: "AUTH in 3.1.1", packet: hex("F0 00"), cause: .malformed(.packetType), code: 0,
      versions: [.v3_1_1]),
  ]

  /// The connection ends with the cause, 5.0 says why, and nothing behind it is looked at.
  @Test(arguments: violations)
  func violation(_ violation: ProtocolViolation) throws {
    for version in violation.versions {
      for piece in [1, .max] {
        let harness = PublishTests.harness(version)
        try harness.publish(qos: .atLeastOnce, cookie: 1)
        try harness.publish(qos: .atLeastOnce, cookie: 2)
        _ = harness.drain()
        let packetsBefore = harness.counters.packetsReceived.uint64
        harness.receive(puback(1) + violation.packet + puback(2), piece: piece)
        #expect(harness.ending?.cause == violation.cause, "\(version)")
        #expect(harness.ending?.reasonCode == (version == .v5_0 ? violation.code : nil))
        #expect(!harness.isConnected)
        #expect(!harness.wantsReceive)
        #expect(harness.nextDeadline == nil)
        #expect(harness.events() == [.delivered(1)])
        #expect(harness.counters.packetsReceived.uint64 <= packetsBefore + 2)
        #expect(harness.outboxNumbers.inFlight == 1)
        #expect(harness.drain() == (version == .v5_0 ? [0xE0, 1, violation.code] : []))
        #expect(!harness.wantsTransmit)
        // The message is not lost.
        harness.reconnect(sessionPresent: true)
        #expect(harness.ending == nil)
        #expect(harness.drain() == publish(version, qos: .atLeastOnce, identifier: 2, duplicate: true))
      }
    }
  }

  /// Behind the end nothing of the outbox is sent, but for the rest of the packet that was begun.
  @Test(arguments: bothVersions)
  func endInTheMiddleOfAPacket(version: ProtocolVersion) throws {
    let harness = PublishTests.harness(version)
    try harness.publish("a", [1, 2, 3])
    try harness.publish("b", [1, 2, 3])
    let message = publish(version, "a", [1, 2, 3], qos: .atMostOnce)
    #expect(harness.transmit(4) == Array(message.prefix(4)))
    harness.receive(hex("00 00"))
    #expect(harness.drain() == (version == .v5_0 ? Array(message.dropFirst(4)) + [0xE0, 1, 0x81] : []))
    #expect(harness.ending?.cause == .malformed(.packetType))
  }

  @Test func disconnectFromTheServer() throws {
    for (packet, code) in [(hex("E0 00"), 0), (hex("E0 01 8B"), 0x8B), (hex("E0 02 98 00"), 0x98)]
      as [([UInt8], UInt8)]
    {
      let harness = PublishTests.harness(.v5_0)
      try harness.publish(qos: .atLeastOnce)
      harness.receive(packet + puback(1))
      #expect(harness.ending?.cause == .disconnected)
      #expect(harness.ending?.reasonCode == code)
      #expect(harness.drain() == [])
    }
    for piece in [1, 3, .max] {
      let harness = PublishTests.harness(.v5_0)
      let texts = property(0x1F, "moved") + property(0x1C, "abc")
      harness.receive(pingresp + [0xE0, 16, 0x9D, 14] + texts, piece: piece)
      let ending = try #require(harness.ending)
      #expect(harness.received(ending.reasonString) == "moved".bytes)
      #expect(harness.received(ending.serverReference) == "abc".bytes)
    }
  }

  // MARK: Sizes

  @Test(arguments: bothVersions)
  func largerThanTheBuffer(version: ProtocolVersion) {
    for isConnected in [false, true] {
      // 2 + 62 bytes would fit, 2 + 63 do not.
      let harness = SessionHarness(version, receiveBytes: 64)
      harness.open()
      if isConnected { harness.accept() }
      let first: UInt8 = isConnected ? 0x40 : 0x20
      harness.receive([first, 63])
      #expect(harness.ending?.cause == .violation(.packetTooLarge))
      #expect(!harness.wantsReceive)
      #expect(harness.drain() == (version == .v5_0 ? [0xE0, 1, 0x95] : []))
    }
    let harness = SessionHarness(version, receiveBytes: 64)
    harness.connect()
    harness.receive([0x30, 0xFF, 0xFF, 0xFF, 0x7F])
    // Before 5.0 the server has not been told how much there is room for (LargeMessageTests).
    #expect(harness.ending?.cause == (version == .v5_0 ? .violation(.packetTooLarge) : nil))
  }

  @Test func asLargeAsTheBuffer() throws {
    let harness = SessionHarness(.v5_0, receiveBytes: 64)
    harness.connect()
    _ = harness.events()
    for turn: UInt16 in 1...3 {
      try harness.publish(qos: .atLeastOnce, cookie: UInt64(turn))
      _ = harness.drain()
      let reason = String(repeating: "r", count: 55)
      // A piece before it, so that it doesn't begin at the front of the buffer.
      harness.receive(
        pingresp + [0x40, 62, 0, UInt8(turn), 0x80, 58] + property(0x1F, reason), piece: Int(turn) * 20)
      #expect(harness.ending == nil)
      #expect(harness.events() == [.refused(UInt64(turn), 0x80)])
    }
  }

  /// More answers than the control queue holds: parsing waits, and goes on when they are sent.
  @Test(arguments: bothVersions, [64, 200, 1024])
  func fullControlQueue(version: ProtocolVersion, receiveBytes: Int) {
    let harness = SessionHarness(version, receiveBytes: receiveBytes)
    harness.connect()
    _ = harness.events()
    let identifiers = (1...500).map { UInt16($0) }
    var rest = harness.receive(identifiers.flatMap { pubrec($0) })
    #expect(!rest.isEmpty)
    #expect(!harness.wantsReceive)
    var sent: [UInt8] = []
    while !rest.isEmpty {
      let before = rest.count
      while let bytes = harness.transmit(7) { sent += bytes }
      #expect(harness.wantsReceive)
      rest = harness.receive(rest)
      #expect(rest.count < before)
      if rest.count == before { return }
    }
    sent += harness.drain()
    #expect(packets(sent) == identifiers.map { pubrel($0, version == .v5_0 ? 0x92 : 0) })
    #expect(harness.counters.packetsReceived.uint64 == 501)
    #expect(harness.ending == nil)
  }
}
