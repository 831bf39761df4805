import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// What becomes of a message when its connection ends (§4.1, §4.4).
@Suite struct ResumeTests {
  enum State: CaseIterable { case queued, partlySent, sent, pubrelSent, completed }

  struct Case: Sendable, CustomTestStringConvertible {
    let qos: QoS
    let state: State
    /// What goes out on the next connection, and what is told then.
    let present: [String]
    let lost: [String]

    var testDescription: String { "\(qos) \(state)" }
  }

  /// `new`: PUBLISH as if for the first time; `again`: with DUP; `release`: PUBREL; the rest is told.
  static let cases: [Case] = [
    Case(qos: .atMostOnce, state: .queued, present: ["new"], lost: ["new"]),
    Case(qos: .atLeastOnce, state: .queued, present: ["new"], lost: ["new"]),
    Case(qos: .exactlyOnce, state: .queued, present: ["new"], lost: ["new"]),
    // Never whole at the server: not sent.
    Case(qos: .atMostOnce, state: .partlySent, present: ["new"], lost: ["new"]),
    Case(qos: .atLeastOnce, state: .partlySent, present: ["new"], lost: ["new"]),
    Case(qos: .exactlyOnce, state: .partlySent, present: ["new"], lost: ["new"]),
    Case(qos: .atLeastOnce, state: .sent, present: ["again"], lost: ["new"]),
    Case(qos: .exactlyOnce, state: .sent, present: ["again"], lost: ["sessionLost"]),
    Case(qos: .exactlyOnce, state: .pubrelSent, present: ["release"], lost: ["delivered"]),
    Case(qos: .atMostOnce, state: .completed, present: ["delivered"], lost: ["delivered"]),
    Case(qos: .atLeastOnce, state: .completed, present: ["delivered"], lost: ["delivered"]),
    Case(qos: .exactlyOnce, state: .completed, present: ["delivered"], lost: ["delivered"]),
  ]

  /// Brings message 1 into the state.
  static func harness(_ version: ProtocolVersion, _ qos: QoS, _ state: State) throws -> SessionHarness {
    let harness = PublishTests.harness(version)
    if state == .queued {
      harness.lose()
      try harness.publish(qos: qos, cookie: 1)
      return harness
    }
    try harness.publish(qos: qos, cookie: 1)
    if state == .partlySent {
      _ = harness.transmit(publish(version, qos: qos, identifier: 1).count - 1)
      return harness
    }
    _ = harness.drain()
    switch (qos, state) {
    case (.exactlyOnce, .pubrelSent): harness.receive(pubrec(1))
    case (.atLeastOnce, .completed): harness.receive(puback(1))
    case (.exactlyOnce, .completed): harness.receive(pubrec(1) + pubcomp(1))
    default: break
    }
    return harness
  }

  @Test(arguments: cases, bothVersions)
  func nextConnection(_ test: Case, version: ProtocolVersion) throws {
    for isPresent in [false, true] {
      let harness = try Self.harness(version, test.qos, test.state)
      if test.state == .pubrelSent { _ = harness.drain() }
      harness.reconnect(sessionPresent: isPresent)
      let first = publish(version, qos: test.qos, identifier: 1)
      let again = publish(version, qos: test.qos, identifier: 1, duplicate: true)
      let sent = harness.drain()
      var told = harness.events()
      #expect(told.removeFirst() == .connected(sessionPresent: isPresent))
      switch (isPresent ? test.present : test.lost)[0] {
      case "new":
        #expect(sent == first)
        #expect(told == (test.qos == .atMostOnce ? [.delivered(1)] : []))
      case "again":
        #expect(sent == again)
        #expect(told == [])
      case "release":
        #expect(sent == pubrel(1))
        #expect(told == [])
      case "sessionLost":
        #expect(sent == [])
        #expect(told == [.failed(1, .sessionLost)])
      default:
        #expect(sent == [])
        #expect(told == [.delivered(1)])
      }
      // And then it ends, once.
      if told.isEmpty, test.qos == .atLeastOnce { harness.receive(puback(1)) }
      if told.isEmpty, test.qos == .exactlyOnce {
        if sent != pubrel(1) { harness.receive(pubrec(1)) }
        harness.receive(pubcomp(1))
        _ = harness.drain()
      }
      told += harness.events()
      #expect(told.count == 1)
      #expect(harness.outbox.messages == 0)
      #expect(harness.outboxNumbers.inFlight == 0)
      #expect(harness.isDrained)
    }
  }

  /// PUBREL that was asked for but never left is not forgotten.
  @Test func pubrelThatDidNotLeave() throws {
    let harness = try Self.harness(.v3_1_1, .exactlyOnce, .pubrelSent)
    harness.reconnect(sessionPresent: true)
    #expect(harness.drain() == pubrel(1))
    harness.reconnect(sessionPresent: true)
    #expect(harness.drain() == pubrel(1))
    harness.receive(pubcomp(1))
    #expect(harness.isDrained)
  }

  /// [MQTT-4.6.0-1]: the original order, whatever was acknowledged in between.
  @Test(arguments: bothVersions)
  func originalOrder(version: ProtocolVersion) throws {
    let harness = PublishTests.harness(version)
    for index in 0..<9 { try harness.publish(qos: index % 2 == 0 ? .atLeastOnce : .exactlyOnce) }
    // Of 1 to 9 the last is not sent whole.
    let size = publish(version, qos: .atLeastOnce, identifier: 1).count
    _ = harness.transmit(9 * size - 2)
    harness.receive(puback(3) + pubrec(6) + pubrec(4) + pubrec(2) + pubcomp(4))
    harness.reconnect(sessionPresent: true)
    let sent = packets(harness.drain())
    #expect(
      sent == [pubrel(2), pubrel(6)]
        + [
          publish(version, qos: .atLeastOnce, identifier: 1, duplicate: true),
          publish(version, qos: .atLeastOnce, identifier: 5, duplicate: true),
          publish(version, qos: .atLeastOnce, identifier: 7, duplicate: true),
          publish(version, qos: .exactlyOnce, identifier: 8, duplicate: true),
          publish(version, qos: .atLeastOnce, identifier: 9),
        ])
  }

  /// DUP is for what the session's server may have; a new session knows nothing.
  @Test(arguments: bothVersions)
  func duplicateFlagIsTakenBack(version: ProtocolVersion) throws {
    let harness = try Self.harness(version, .atLeastOnce, .sent)
    harness.reconnect(sessionPresent: true)
    let again = publish(version, qos: .atLeastOnce, identifier: 1, duplicate: true)
    #expect(harness.drain() == again)
    harness.reconnect(sessionPresent: true)
    #expect(harness.transmit(2) == Array(again.prefix(2)))
    harness.reconnect(sessionPresent: true)
    #expect(harness.drain() == again)
    harness.reconnect(sessionPresent: false)
    #expect(harness.drain() == publish(version, qos: .atLeastOnce, identifier: 1))
    // Taken up, and lost before it was sent again.
    harness.reconnect(sessionPresent: true)
    harness.reconnect(sessionPresent: false)
    #expect(harness.drain() == publish(version, qos: .atLeastOnce, identifier: 1))
  }

  /// A QoS 2 message that the first connection sent: the server may have it, even though the second,
  /// in the same session, ended before it was sent again. Sending it in a third as if it were new
  /// could deliver it twice.
  @Test(arguments: bothVersions, [0, 3])
  func exactlyOnceIsNotSentAnew(version: ProtocolVersion, resent: Int) throws {
    let harness = try Self.harness(version, .exactlyOnce, .sent)
    harness.reconnect(sessionPresent: true)
    if resent > 0 { _ = harness.transmit(resent) }
    _ = harness.events()
    harness.reconnect(sessionPresent: false)
    #expect(harness.drain() == [])
    #expect(harness.events() == [.connected(sessionPresent: false), .failed(1, .sessionLost)])
  }

  /// Messages that the new server can't take end with their own outcome; the others go on.
  @Test func tighterLimits() throws {
    let (tooLarge, noQoS, noRetain): (UInt8, UInt8, UInt8) = (0x95, 0x9B, 0x9A)
    let cases: [([UInt8], [UInt8?])] = [
      (maximumQoS(1), [nil, nil, noQoS, nil, nil]),
      (maximumQoS(0), [nil, noQoS, noQoS, nil, nil]),
      (retainAvailable(0), [nil, nil, nil, noRetain, nil]),
      (maximumPacketSize(25), [nil, nil, nil, nil, tooLarge]),
      (
        maximumPacketSize(25) + maximumQoS(0) + retainAvailable(0),
        [nil, noQoS, noQoS, noRetain, tooLarge]
      ),
    ]
    for (properties, codes) in cases {
      for isSent in [false, true] {
        let harness = PublishTests.harness(.v5_0)
        if !isSent { harness.lose() }
        for qos in allQoS { try harness.publish(qos: qos, cookie: UInt64(qos.rawValue), isQuiet: true) }
        try harness.publish(retain: true, cookie: 3, isQuiet: true)
        try harness.publish("a", [UInt8](repeating: 0, count: 20), cookie: 4, isQuiet: true)
        // QoS 0 is done with when it is sent.
        if isSent { _ = harness.drain() }
        harness.reconnect(sessionPresent: true, properties: properties)
        let failed = codes.enumerated().compactMap { index, code -> ReportedEvent? in
          guard let code, !isSent || index == 1 || index == 2 else { return nil }
          return .aboveLimit(UInt64(index), code)
        }
        #expect(harness.events() == [.connected(sessionPresent: true)] + failed)
        let open = isSent ? 2 : 5
        #expect(packets(harness.drain()).count == open - failed.count)
        #expect(harness.ending == nil)
      }
    }
  }

  /// A completion that was not taken keeps its place over any number of connections.
  @Test func completionsOutliveConnections() throws {
    let harness = PublishTests.harness(.v3_1_1)
    for cookie in 1...3 { try harness.publish(cookie: UInt64(cookie)) }
    _ = harness.drain()
    harness.lose()
    #expect(harness.event() == .delivered(1))
    harness.connect()
    #expect(harness.drain() == [])
    harness.reconnect(sessionPresent: true)
    #expect(harness.events() == [.connected(sessionPresent: true), .delivered(2), .delivered(3)])
    #expect(harness.outbox.messages == 0)
  }

  /// More PUBREL packets than the control queue holds.
  @Test(arguments: bothVersions)
  func manyReleases(version: ProtocolVersion) throws {
    let harness = PublishTests.harness(version, outboxMessages: 200, firstIdentifier: 65_250)
    for cookie in UInt64(0)..<200 { try harness.publish(qos: .exactlyOnce, cookie: cookie) }
    let identifiers = packets(harness.drain()).map { UInt16($0[5]) << 8 | UInt16($0[6]) }
    for identifier in identifiers {
      harness.receive(pubrec(identifier))
      _ = harness.drain()
    }
    harness.reconnect(sessionPresent: true)
    #expect(harness.wantsTransmit)
    #expect(packets(harness.drain()) == identifiers.map { pubrel($0) })
    #expect(!harness.wantsTransmit)
    for identifier in identifiers { harness.receive(pubcomp(identifier)) }
    #expect(harness.events().count == 201)
    #expect(harness.outbox.messages == 0)
  }
}
