import MQTTWire
import Testing

@testable import MQTTSession

/// Enhanced authentication (§4.12): whose turn is it, and what if somebody does not wait for his?
@Suite struct AuthenticationTests {
  static let method = authenticationMethod("SCRAM")

  static func rig(_ version: ProtocolVersion = .v5_0, configure: (inout Rig.Options) -> Void = { _ in })
    -> Rig
  {
    Rig(version) {
      $0.keepAlive = 0
      if version == .v5_0 { $0.properties = userProperty("before", "x") + method + authenticationData([1]) }
      configure(&$0)
    }
  }

  static func connected(configure: (inout Rig.Options) -> Void = { _ in }) -> Rig {
    let rig = rig(configure: configure)
    rig.connect(properties: method)
    _ = rig.events()
    return rig
  }

  static func sent(_ code: UInt8, _ data: [UInt8] = [], properties: [UInt8] = []) -> [UInt8] {
    auth(code, method + (data.isEmpty ? [] : authenticationData(data)) + properties)
  }

  // MARK: With CONNECT

  /// [MQTT-4.12.0-3] [MQTT-4.12.0-5]
  @Test func exchange() throws {
    let rig = Self.rig()
    rig.open()
    #expect(throws: SessionError.state) { try rig.authenticate(0x18) }
    for turn: UInt8 in 1...3 {
      rig.receive(
        auth(
          0x18, authenticationData([turn]) + Self.method + property(0x1F, "go on") + userProperty("k", "v")))
      guard case .authentication(let event) = rig.session.nextEvent() else {
        Issue.record("no event")
        return
      }
      #expect(event.reasonCode == 0x18)
      #expect(rig.received(event.data) == [turn])
      #expect(rig.received(event.reasonString) == "go on".bytes)
      #expect(
        rig.received(event.properties)
          == authenticationData([turn]) + Self.method + property(0x1F, "go on") + userProperty("k", "v"))
      #expect(throws: SessionError.state) { try rig.authenticate(0x19) }
      try rig.authenticate(0x18, [turn, 9], properties: userProperty("a", "b"))
      #expect(throws: SessionError.state) { try rig.authenticate(0x18) }
      #expect(rig.drain() == Self.sent(0x18, [turn, 9], properties: userProperty("a", "b")))
      #expect(rig.events() == [])
    }
    rig.receive(connack(.v5_0, properties: Self.method))
    #expect(rig.events() == [.connected(sessionPresent: false)])
    #expect(rig.isConnected)
  }

  /// The server asks for nothing, or refuses.
  @Test func withoutAnExchange() {
    let rig = Self.connected()
    #expect(rig.isConnected)
    let refused = Self.rig()
    refused.open()
    refused.receive(connack(.v5_0, code: 0x8C))
    #expect(refused.ending?.cause == .refused)
    #expect(refused.ending?.reasonCode == 0x8C)
  }

  /// It may take its time; nothing else is sent meanwhile.
  @Test func nothingElseBeforeConnack() throws {
    let rig = Self.rig()
    rig.open()
    try rig.publish(qos: .atLeastOnce)
    try rig.subscribe(["f"])
    rig.receive(auth(0x18, Self.method))
    _ = rig.events()
    try rig.authenticate(0x18)
    #expect(rig.wantsTransmit)
    #expect(rig.drain(piece: 3) == Self.sent(0x18))
    #expect(rig.drain() == [])
    #expect(rig.nextDeadline == nil)
    rig.accept(properties: Self.method)
    #expect(packets(rig.drain()).count == 2)
  }

  // MARK: While connected

  /// [MQTT-4.12.1-1]
  @Test func again() throws {
    let rig = Self.connected()
    for turn: UInt8 in 1...2 {
      #expect(throws: SessionError.state) { try rig.authenticate(0x18) }
      try rig.authenticate(0x19, [turn])
      #expect(throws: SessionError.state) { try rig.authenticate(0x19) }
      #expect(throws: SessionError.state) { try rig.authenticate(0x18) }
      // Messages go on.
      try rig.publish(isQuiet: true)
      #expect(rig.drain() == Self.sent(0x19, [turn]) + publish(.v5_0, qos: .atMostOnce))
      rig.receive(auth(0x18, Self.method + authenticationData([7])))
      rig.receive(publish(.v5_0, qos: .atMostOnce))
      #expect(rig.events() == [.authentication(0x18, [7]), .message(ReceivedMessage("a"))])
      #expect(throws: SessionError.state) { try rig.authenticate(0x19) }
      try rig.authenticate(0x18)
      #expect(rig.drain() == Self.sent(0x18))
      rig.receive(auth(0x00, Self.method))
      #expect(rig.events() == [.authentication(0x00, [])])
    }
    // What was under way is over with the connection.
    try rig.authenticate(0x19)
    rig.lose()
    #expect(throws: SessionError.state) { try rig.authenticate(0x19) }
    rig.connect(properties: Self.method)
    try rig.authenticate(0x19)
  }

  /// [MQTT-4.12.1-2]: the server ends the connection, and the next one begins anew.
  @Test func againRefused() throws {
    let rig = Self.connected()
    try rig.authenticate(0x19)
    _ = rig.drain()
    rig.receive(disconnect(0x87))
    #expect(rig.ending?.cause == .disconnected)
    #expect(rig.ending?.reasonCode == 0x87)
    #expect(throws: SessionError.state) { try rig.authenticate(0x18) }
    rig.lose()
    rig.connect(properties: Self.method)
    try rig.authenticate(0x19)
    #expect(rig.drain() == Self.sent(0x19))
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
      let rig = Self.rig { if !hasMethod { $0.properties = [] } }
      rig.open()
      if isConnected { rig.accept(properties: hasMethod ? Self.method : []) }
      _ = rig.events()
      rig.receive(packet)
      #expect(rig.ending?.cause == .violation(.unexpectedAuthentication), "\(packet)")
      #expect(rig.drain() == [0xE0, 1, 0x82], "\(packet)")
      #expect(rig.events() == [], "\(packet)")
    }
  }

  /// The server may not ask twice, nor end what it has asked for.
  @Test func outOfTurn() throws {
    for (first, second) in [(0x18, 0x18), (0x18, 0x00), (0x00, 0x00), (0x00, 0x18)] as [(UInt8, UInt8)] {
      let rig = Self.connected()
      try rig.authenticate(0x19)
      _ = rig.drain()
      rig.receive(auth(first, Self.method))
      _ = rig.events()
      #expect(rig.ending == nil)
      rig.receive(auth(second, Self.method))
      #expect(rig.ending?.cause == .violation(.unexpectedAuthentication), "\(first) \(second)")
    }
    let rig = Self.rig()
    rig.open()
    rig.receive(auth(0x18, Self.method))
    _ = rig.events()
    rig.receive(auth(0x18, Self.method))
    #expect(rig.ending?.cause == .violation(.unexpectedAuthentication))
  }

  /// An AUTH with Remaining Length 0 says Success, without properties (§3.15.2.1): where Success is due it is taken,
  /// though [MQTT-4.12.0-5] wants the method of the server. Elsewhere it is a Protocol Error like any Success.
  @Test func remainingLength0() throws {
    let rig = Self.connected()
    try rig.authenticate(0x19)
    _ = rig.drain()
    rig.receive(hex("F0 00"))
    #expect(rig.events() == [.authentication(0x00, [])])
    #expect(rig.ending == nil)
    rig.receive(hex("F0 00"))
    #expect(rig.ending?.cause == .violation(.unexpectedAuthentication))
    #expect(rig.drain() == [0xE0, 1, 0x82])
    let connecting = Self.rig()
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
    let rig = Self.connected()
    for code: UInt8 in [0x00, 0x01, 0x17, 0x1A, 0x80, 0xFF] {
      #expect(throws: SessionError.reasonCode) { try rig.authenticate(code) }
    }
    for properties in [
      Self.method, authenticationData([1]), topicAlias(1), [0x1F], property(0x1F, "a") + property(0x1F, "b"),
    ] {
      #expect(throws: SessionError.property) { try rig.authenticate(0x19, properties: properties) }
    }
    #expect(throws: SessionError.tooLarge) { try rig.authenticate(0x19, [UInt8](repeating: 0, count: 600)) }
    #expect(throws: SessionError.tooLarge) {
      try rig.authenticate(0x19, [UInt8](repeating: 0, count: 65_536))
    }
    #expect(rig.drain() == [])
    for version in bothVersions {
      let without = Rig(version)
      without.connect()
      #expect(throws: SessionError.state) { try without.authenticate(0x19) }
      #expect(throws: SessionError.state) { try without.authenticate(0x18) }
    }
    rig.session.beginDisconnect(reasonCode: 0, properties: Span())
    #expect(throws: SessionError.state) { try rig.authenticate(0x19) }
  }

  /// As large as the control queue can ever take; as large as the server takes.
  @Test func sizes() throws {
    for size in 90...120 {
      for limit in [0, 110] as [UInt16] {
        let rig = Self.rig { $0.controlBytes = 128 }
        rig.connect(properties: Self.method + (limit == 0 ? [] : maximumPacketSize(limit)))
        _ = rig.events()
        let data = [UInt8](repeating: 5, count: size)
        let packet = Self.sent(0x19, data)
        if packet.count <= (limit == 0 ? 120 : 110) {
          try rig.authenticate(0x19, data)
          #expect(rig.drain() == packet)
        } else {
          #expect(throws: SessionError.tooLarge) { try rig.authenticate(0x19, data) }
        }
      }
    }
  }

  /// Behind acknowledgements that wait to be sent there may be no room now.
  @Test func full() throws {
    let rig = Self.connected { $0.controlBytes = 64 }
    for identifier: UInt16 in 900..<909 { rig.receive(pubrec(identifier)) }
    #expect(throws: SessionError.full) { try rig.authenticate(0x19, [1, 2, 3]) }
    _ = rig.drain()
    try rig.authenticate(0x19, [1, 2, 3])
    #expect(rig.drain() == Self.sent(0x19, [1, 2, 3]))
  }

  /// A server that only knows 3.1.1 has never heard of it, and what was asked for is not silently left out.
  @Test func noFallback() {
    let rig = Self.rig { $0.allowsFallback = true }
    rig.session.connectionOpened()
    #expect(!rig.fallBack())
  }
}
