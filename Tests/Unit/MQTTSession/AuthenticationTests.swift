import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Enhanced authentication (§4.12): whose turn is it, and what if somebody does not wait for his?
@Suite struct AuthenticationTests {
  static let method = authenticationMethod("SCRAM")

  static func harness(
    _ version: ProtocolVersion = .v5_0, configure: (inout SessionHarness.Options) -> Void = { _ in }
  )
    -> SessionHarness
  {
    SessionHarness(version) {
      $0.keepAlive = 0
      if version == .v5_0 { $0.properties = userProperty("before", "x") + method + authenticationData([1]) }
      configure(&$0)
    }
  }

  static func connected(configure: (inout SessionHarness.Options) -> Void = { _ in }) -> SessionHarness {
    let harness = harness(configure: configure)
    harness.connect(properties: method)
    _ = harness.events()
    return harness
  }

  static func sent(_ code: UInt8, _ data: [UInt8] = [], properties: [UInt8] = []) -> [UInt8] {
    auth(code, method + (data.isEmpty ? [] : authenticationData(data)) + properties)
  }

  // MARK: With CONNECT

  /// [MQTT-4.12.0-3] [MQTT-4.12.0-5]
  @Test func exchange() throws {
    let harness = Self.harness()
    harness.open()
    #expect(throws: SessionError.state) { try harness.authenticate(0x18) }
    for turn: UInt8 in 1...3 {
      harness.receive(
        auth(
          0x18, authenticationData([turn]) + Self.method + property(0x1F, "go on") + userProperty("k", "v")))
      guard case .authentication(let event) = harness.session.nextEvent() else {
        Issue.record("no event")
        return
      }
      #expect(event.reasonCode == 0x18)
      #expect(harness.received(event.data) == [turn])
      #expect(harness.received(event.reasonString) == "go on".bytes)
      #expect(
        harness.received(event.properties)
          == authenticationData([turn]) + Self.method + property(0x1F, "go on") + userProperty("k", "v"))
      #expect(throws: SessionError.state) { try harness.authenticate(0x19) }
      try harness.authenticate(0x18, [turn, 9], properties: userProperty("a", "b"))
      #expect(throws: SessionError.state) { try harness.authenticate(0x18) }
      #expect(harness.drain() == Self.sent(0x18, [turn, 9], properties: userProperty("a", "b")))
      #expect(harness.events() == [])
    }
    harness.receive(connack(.v5_0, properties: Self.method))
    #expect(harness.events() == [.connected(sessionPresent: false)])
    #expect(harness.isConnected)
  }

  /// The server asks for nothing, or refuses.
  @Test func withoutAnExchange() {
    let harness = Self.connected()
    #expect(harness.isConnected)
    let refused = Self.harness()
    refused.open()
    refused.receive(connack(.v5_0, code: 0x8C))
    #expect(refused.ending?.cause == .refused)
    #expect(refused.ending?.reasonCode == 0x8C)
  }

  /// It may take its time; nothing else is sent meanwhile.
  @Test func nothingElseBeforeConnack() throws {
    let harness = Self.harness()
    harness.open()
    try harness.publish(qos: .atLeastOnce)
    try harness.subscribe(["f"])
    harness.receive(auth(0x18, Self.method))
    _ = harness.events()
    try harness.authenticate(0x18)
    #expect(harness.wantsTransmit)
    #expect(harness.drain(piece: 3) == Self.sent(0x18))
    #expect(harness.drain() == [])
    #expect(harness.nextDeadline == nil)
    harness.accept(properties: Self.method)
    #expect(packets(harness.drain()).count == 2)
  }

  // MARK: While connected

  /// [MQTT-4.12.1-1]
  @Test func again() throws {
    let harness = Self.connected()
    for turn: UInt8 in 1...2 {
      #expect(throws: SessionError.state) { try harness.authenticate(0x18) }
      try harness.authenticate(0x19, [turn])
      #expect(throws: SessionError.state) { try harness.authenticate(0x19) }
      #expect(throws: SessionError.state) { try harness.authenticate(0x18) }
      // Messages go on.
      try harness.publish(isQuiet: true)
      #expect(harness.drain() == Self.sent(0x19, [turn]) + publish(.v5_0, qos: .atMostOnce))
      harness.receive(auth(0x18, Self.method + authenticationData([7])))
      harness.receive(publish(.v5_0, qos: .atMostOnce))
      #expect(harness.events() == [.authentication(0x18, [7]), .message(ReceivedMessage("a"))])
      #expect(throws: SessionError.state) { try harness.authenticate(0x19) }
      try harness.authenticate(0x18)
      #expect(harness.drain() == Self.sent(0x18))
      harness.receive(auth(0x00, Self.method))
      #expect(harness.events() == [.authentication(0x00, [])])
    }
    // What was under way is over with the connection.
    try harness.authenticate(0x19)
    harness.lose()
    #expect(throws: SessionError.state) { try harness.authenticate(0x19) }
    harness.connect(properties: Self.method)
    try harness.authenticate(0x19)
  }

  /// [MQTT-4.12.1-2]: the server ends the connection, and the next one begins anew.
  @Test func againRefused() throws {
    let harness = Self.connected()
    try harness.authenticate(0x19)
    _ = harness.drain()
    harness.receive(disconnect(0x87))
    #expect(harness.ending?.cause == .disconnected)
    #expect(harness.ending?.reasonCode == 0x87)
    #expect(throws: SessionError.state) { try harness.authenticate(0x18) }
    harness.lose()
    harness.connect(properties: Self.method)
    try harness.authenticate(0x19)
    #expect(harness.drain() == Self.sent(0x19))
  }

  // MARK: What is not allowed

  /// [MQTT-4.12.0-5] [MQTT-4.12.0-6]: another method, none, one where there is none, somebody else's turn.
  @Test func wrongPackets() {
    let other = authenticationMethod("OTHER")
    let cases: [(hasMethod: Bool, isConnected: Bool, packet: [UInt8])] = [
      (true, false, auth(0x18, other)), (true, false, auth(0x18, authenticationMethod("SCRAN"))),
      (true, false, auth(0x18, authenticationMethod("SCRA"))),
      (true, false, auth(0x18, authenticationMethod(""))),
      (true, false, auth(0x00, Self.method)), (true, false, connack(.v5_0)),
      (true, false, connack(.v5_0, properties: other)),
      (false, false, auth(0x18, Self.method)), (false, false, connack(.v5_0, properties: Self.method)),
      (true, true, auth(0x18, Self.method)), (true, true, auth(0x00, Self.method)),
      (false, true, auth(0x18, Self.method)), (false, true, auth(0x00, Self.method)),
      (false, true, hex("F0 00")),
    ]
    for (hasMethod, isConnected, packet) in cases {
      let harness = Self.harness { if !hasMethod { $0.properties = [] } }
      harness.open()
      if isConnected { harness.accept(properties: hasMethod ? Self.method : []) }
      _ = harness.events()
      harness.receive(packet)
      #expect(harness.ending?.cause == .violation(.unexpectedAuthentication), "\(packet)")
      #expect(harness.drain() == [0xE0, 1, 0x82], "\(packet)")
      #expect(harness.events() == [], "\(packet)")
    }
  }

  /// The server may not ask twice, nor end what it has asked for.
  @Test func outOfTurn() throws {
    for (first, second) in [(0x18, 0x18), (0x18, 0x00), (0x00, 0x00), (0x00, 0x18)] as [(UInt8, UInt8)] {
      let harness = Self.connected()
      try harness.authenticate(0x19)
      _ = harness.drain()
      harness.receive(auth(first, Self.method))
      _ = harness.events()
      #expect(harness.ending == nil)
      harness.receive(auth(second, Self.method))
      #expect(harness.ending?.cause == .violation(.unexpectedAuthentication), "\(first) \(second)")
    }
    let harness = Self.harness()
    harness.open()
    harness.receive(auth(0x18, Self.method))
    _ = harness.events()
    harness.receive(auth(0x18, Self.method))
    #expect(harness.ending?.cause == .violation(.unexpectedAuthentication))
  }

  /// An AUTH with Remaining Length 0 says Success, without properties (§3.15.2.1): where Success is due it is taken,
  /// though [MQTT-4.12.0-5] wants the method of the server. Elsewhere it is a Protocol Error like any Success.
  @Test func remainingLength0() throws {
    let harness = Self.connected()
    try harness.authenticate(0x19)
    _ = harness.drain()
    harness.receive(hex("F0 00"))
    #expect(harness.events() == [.authentication(0x00, [])])
    #expect(harness.ending == nil)
    harness.receive(hex("F0 00"))
    #expect(harness.ending?.cause == .violation(.unexpectedAuthentication))
    #expect(harness.drain() == [0xE0, 1, 0x82])
    let connecting = Self.harness()
    connecting.open()
    connecting.receive(hex("F0 00"))
    #expect(connecting.ending?.cause == .violation(.unexpectedAuthentication))
    // Its turn is over until we have answered.
    let asked = Self.connected()
    try asked.authenticate(0x19)
    _ = asked.drain()
    asked.receive(auth(0x18, Self.method))
    _ = asked.events()
    asked.receive(hex("F0 00"))
    #expect(asked.ending?.cause == .violation(.unexpectedAuthentication))
  }

  /// [MQTT-3.15.2-1] [MQTT-4.12.0-7]
  @Test func wrongCalls() throws {
    let harness = Self.connected()
    for code: UInt8 in [0x00, 0x01, 0x17, 0x1A, 0x80, 0xFF] {
      #expect(throws: SessionError.reasonCode) { try harness.authenticate(code) }
    }
    for properties in [
      Self.method, authenticationData([1]), topicAlias(1), [0x1F], property(0x1F, "a") + property(0x1F, "b"),
    ] {
      #expect(throws: SessionError.property) { try harness.authenticate(0x19, properties: properties) }
    }
    #expect(throws: SessionError.tooLarge) {
      try harness.authenticate(0x19, [UInt8](repeating: 0, count: 600))
    }
    #expect(throws: SessionError.tooLarge) {
      try harness.authenticate(0x19, [UInt8](repeating: 0, count: 65_536))
    }
    #expect(harness.drain() == [])
    for version in bothVersions {
      let without = SessionHarness(version)
      without.connect()
      #expect(throws: SessionError.state) { try without.authenticate(0x19) }
      #expect(throws: SessionError.state) { try without.authenticate(0x18) }
    }
    harness.session.beginDisconnect(reasonCode: 0, properties: Span())
    #expect(throws: SessionError.state) { try harness.authenticate(0x19) }
  }

  /// As large as the control queue can ever take; as large as the server takes.
  @Test func sizes() throws {
    for size in 90...120 {
      for limit in [0, 110] as [UInt16] {
        let harness = Self.harness { $0.controlBytes = 128 }
        harness.connect(properties: Self.method + (limit == 0 ? [] : maximumPacketSize(limit)))
        _ = harness.events()
        let data = [UInt8](repeating: 5, count: size)
        let packet = Self.sent(0x19, data)
        if packet.count <= (limit == 0 ? 120 : 110) {
          try harness.authenticate(0x19, data)
          #expect(harness.drain() == packet)
        } else {
          #expect(throws: SessionError.tooLarge) { try harness.authenticate(0x19, data) }
        }
      }
    }
  }

  /// Behind acknowledgements that wait to be sent there may be no room now.
  @Test func full() throws {
    let harness = Self.connected { $0.controlBytes = 64 }
    for identifier: UInt16 in 900..<909 { harness.receive(pubrec(identifier)) }
    #expect(throws: SessionError.full) { try harness.authenticate(0x19, [1, 2, 3]) }
    _ = harness.drain()
    try harness.authenticate(0x19, [1, 2, 3])
    #expect(harness.drain() == Self.sent(0x19, [1, 2, 3]))
  }

  /// A server that only knows 3.1.1 has never heard of it, and what was asked for is not silently left out.
  @Test func noFallback() {
    let harness = Self.harness { $0.allowsFallback = true }
    harness.session.connectionOpened()
    #expect(!harness.fallBack())
  }
}
