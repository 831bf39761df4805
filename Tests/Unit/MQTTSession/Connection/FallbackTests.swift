import MQTTWire
import Testing

@testable import MQTTSession

/// CONNECT in every version that may be spoken, and the way from one to the next (docs/decisions/0005).
@Suite struct FallbackTests {
  /// CONNECT by the book.
  static func connect(
    _ version: ProtocolVersion, flags: UInt8, clientID: String = "rig", userName: String = "",
    password: String = "", properties: [UInt8] = []
  ) -> [UInt8] {
    func text(_ text: String) -> [UInt8] { twoBytes(UInt16(text.utf8.count)) + text.bytes }
    let name = text(version == .v3_1 ? "MQIsdp" : "MQTT")
    let credentials = [userName, password].flatMap { $0.isEmpty ? [] : text($0) }
    return packet(
      0x10,
      name + [version.rawValue, flags, 0, 60] + list(version, properties) + text(clientID) + credentials)
  }

  static func rig(_ version: ProtocolVersion = .v5_0, configure: (inout Rig.Options) -> Void = { _ in })
    -> Rig
  {
    Rig(version) {
      $0.allowsFallback = true
      $0.maximumPacketSize = 0
      configure(&$0)
    }
  }

  /// What a server does that does not know the version.
  static func isRefused(_ rig: Rig) -> Bool {
    let version = rig.spoken
    rig.receive(connack(version, code: version == .v5_0 ? 0x84 : 1))
    guard rig.serverRejectedVersion else { return false }
    rig.lose()
    return true
  }

  @Test func downToTheOldest() {
    let rig = Self.rig()
    #expect(rig.open() == Self.connect(.v5_0, flags: 0))
    #expect(Self.isRefused(rig))
    #expect(rig.fallBack())
    #expect(rig.open() == Self.connect(.v3_1_1, flags: 0))
    #expect(Self.isRefused(rig))
    #expect(rig.fallBack())
    #expect(rig.open() == Self.connect(.v3_1, flags: 0))
    rig.accept()
    #expect(rig.isConnected)
    #expect(rig.spoken == .v3_1)
    // It stays with what was accepted.
    rig.lose()
    rig.session.connecting()
    #expect(rig.open() == Self.connect(.v3_1, flags: 0))
    #expect(!rig.fallBack())
  }

  /// An attempt that came to nothing begins again with the newest.
  @Test func nothingIsLearntFromAFailure() {
    let rig = Self.rig()
    rig.open()
    #expect(rig.fallBack())
    rig.lose()
    rig.open()
    rig.lose()
    rig.session.connecting()
    #expect(rig.open() == Self.connect(.v5_0, flags: 0))
    rig.accept()
    #expect(rig.isConnected)
  }

  /// Another refusal is not about the version.
  @Test func otherRefusals() {
    for (version, codes) in [(.v5_0, [0x80, 0x85, 0x87]), (.v3_1_1, [2, 3, 4, 5])]
      as [(ProtocolVersion, [UInt8])]
    {
      for code in codes {
        let rig = Self.rig(version)
        rig.open()
        rig.receive(connack(version, code: code))
        #expect(rig.ending?.cause == .refused)
        #expect(!rig.serverRejectedVersion)
      }
    }
  }

  /// Neither is a connection that is closed without a word, before the server has CONNECT, or once it has said
  /// anything, on this connection or on one before.
  @Test func closedWithoutAWord() {
    let rig = Self.rig()
    rig.session.connectionOpened()
    #expect(!rig.serverRejectedVersion)
    _ = rig.transmit(1)
    #expect(rig.serverRejectedVersion)
    _ = rig.drain()
    #expect(rig.serverRejectedVersion)
    rig.receive([0x20])
    #expect(!rig.serverRejectedVersion)
    rig.lose()
    rig.open()
    #expect(rig.serverRejectedVersion)
    rig.accept()
    rig.lose()
    rig.open()
    #expect(!rig.serverRejectedVersion)
  }

  @Test func onlyIfAsked() {
    for version in [ProtocolVersion.v5_0, .v3_1_1, .v3_1] {
      let rig = Rig(version)
      rig.open()
      #expect(!rig.fallBack())
      #expect(rig.spoken == version)
    }
  }

  struct Case: Sendable {
    var version = ProtocolVersion.v5_0
    var clientID = "rig"
    var userName = ""
    var password = ""
    /// Where it goes from there.
    let versions: [ProtocolVersion]
  }

  /// What cannot be said in an older version keeps from it: a password alone in 3.1.1 [MQTT-3.1.2-22], no client id
  /// or a long one in 3.1.
  @Test(arguments: [
    Case(versions: [.v3_1_1, .v3_1]), Case(userName: "u", password: "p", versions: [.v3_1_1, .v3_1]),
    Case(password: "p", versions: []), Case(userName: "u", versions: [.v3_1_1, .v3_1]),
    Case(clientID: "", versions: [.v3_1_1]),
    Case(clientID: String(repeating: "c", count: 23), versions: [.v3_1_1, .v3_1]),
    Case(clientID: String(repeating: "c", count: 24), versions: [.v3_1_1]),
    Case(version: .v3_1_1, versions: [.v3_1]), Case(version: .v3_1_1, clientID: "", versions: []),
    Case(version: .v3_1, versions: []),
  ])
  func whereTo(_ test: Case) {
    let rig = Self.rig(test.version) {
      $0.clientID = test.clientID
      $0.userName = test.userName
      $0.password = test.password
      $0.keepSession = false
    }
    let flags: UInt8 = 2 + (test.userName.isEmpty ? 0 : 0x80) + (test.password.isEmpty ? 0 : 0x40)
    let way = [test.version] + test.versions
    for version in way {
      #expect(rig.spoken == version)
      #expect(
        rig.open()
          == Self.connect(
            version, flags: flags, clientID: test.clientID, userName: test.userName, password: test.password))
      #expect(rig.fallBack() == (version != way.last))
      rig.lose()
    }
  }

  /// What needs 5.0 is left out.
  @Test func whatIsLeftOut() {
    let properties = userProperty("k", "v") + [0x19, 1]
    let rig = Self.rig {
      $0.properties = properties
      $0.sessionExpiry = 9
      $0.aliasesReceived = 3
    }
    #expect(
      rig.open()
        == Self.connect(
          .v5_0, flags: 0, properties: property(0x11, number: 9) + topicAliasMaximum(3) + properties))
    #expect(rig.fallBack())
    rig.lose()
    #expect(rig.open() == Self.connect(.v3_1_1, flags: 0))
    rig.accept()
    rig.receive(publish(.v3_1_1, "a", [1], qos: .atMostOnce))
    #expect(rig.events() == [.connected(sessionPresent: false), .message(ReceivedMessage("a", [1]))])
  }

  /// A limit that only 5.0 was told of cannot be broken by a server of 3.1.1.
  @Test func limitThatWasNotSaid() {
    let rig = Rig(.v5_0) {
      $0.allowsFallback = true
      $0.receiveBytes = 128
      $0.maximumPacketSize = 128
    }
    rig.open()
    #expect(rig.fallBack())
    rig.lose()
    rig.connect()
    _ = rig.events()
    rig.receive(publish(.v3_1_1, "a", [UInt8](repeating: 0, count: 300), qos: .atMostOnce))
    while rig.receiveNothing() > 0, rig.event() != nil {}
    #expect(rig.ending == nil)
  }

  // MARK: The client id (`%`)

  @Test(arguments: [.v3_1, .v3_1_1, .v5_0] as [ProtocolVersion], [false, true])
  func template(version: ProtocolVersion, fallback: Bool) {
    let texts: [(String, String)] = [
      ("gateway-%%", "gateway-A05F"), ("%", "A0"), ("%a%", "A0a5F"), ("none", "none"), ("%%%%", "A05F00FF"),
    ]
    for (template, id) in texts {
      let rig = Rig(version) {
        $0.clientID = template
        $0.isClientIDTemplate = true
        $0.allowsFallback = fallback
        $0.userName = "u%"
        $0.maximumPacketSize = 0
      }
      var bytes: [UInt8] = [0xA0, 0x5F, 0x00, 0xFF]
      rig.session.fillClientID { bytes.removeFirst() }
      #expect(rig.clientID == id)
      var isLast = false
      while !isLast {
        #expect(rig.open() == Self.connect(rig.spoken, flags: 0x80, clientID: id, userName: "u%"))
        rig.lose()
        isLast = !rig.fallBack()
      }
      #expect(rig.spoken == (fallback ? .v3_1 : version))
    }
  }

  /// As it is.
  @Test func noTemplate() {
    let rig = Self.rig { $0.clientID = "100%" }
    #expect(rig.open() == Self.connect(.v5_0, flags: 0, clientID: "100%"))
    #expect(rig.clientID == "100%")
  }

  // MARK: Clean Start

  /// `SMQ_OPTION_NEW_SESSION`: on the first connection that is accepted, and then no more.
  @Test func newSessionOnce() {
    let rig = Rig(.v5_0) {
      $0.beginsNewSession = true
      $0.maximumPacketSize = 0
    }
    for _ in 0..<2 {
      #expect(rig.open() == Self.connect(.v5_0, flags: 2))
      rig.receive(connack(.v5_0, code: 0x88))
      rig.lose()
    }
    rig.open()
    // [MQTT-3.2.2-4]
    rig.receive(connack(.v5_0, sessionPresent: true))
    #expect(rig.ending?.cause == .violation(.unwantedSession))
    rig.lose()
    #expect(rig.open() == Self.connect(.v5_0, flags: 2))
    rig.accept()
    rig.lose()
    #expect(rig.open() == Self.connect(.v5_0, flags: 0))
    rig.accept(sessionPresent: true)
    #expect(rig.isConnected)
  }

  /// 3.1.1 cannot say so without giving up the session for good: what it takes up is what it said.
  @Test(arguments: [false, true])
  func newSessionInAnOlderVersion(isPresent: Bool) {
    let rig = Self.rig { $0.beginsNewSession = true }
    #expect(rig.open() == Self.connect(.v5_0, flags: 2))
    #expect(rig.fallBack())
    rig.lose()
    #expect(rig.open() == Self.connect(.v3_1_1, flags: 0))
    rig.accept(sessionPresent: isPresent)
    #expect(rig.isConnected)
    #expect(rig.events() == [.connected(sessionPresent: isPresent)])
  }

  // MARK: What is queued

  /// TopicAliasesTests, SubscribeQueueTests, StreamTests and ReservationTests look at the packets. Here: nothing is forgotten
  /// on the way back.
  @Test func queuedOverAFailedFallback() throws {
    let rig = Self.rig()
    try rig.publish("t", [1], qos: .atLeastOnce, cookie: 1, properties: userProperty("k", "v"))
    try rig.subscribe(["f"], identifier: 4)
    rig.open()
    #expect(rig.fallBack())
    rig.lose()
    rig.open()
    rig.receive(connack(.v3_1_1, code: 3))
    rig.lose()
    rig.session.connecting()
    rig.connect()
    #expect(
      rig.drain()
        == request(.v5_0, 0x82, 65_280, [("f", 0)], properties: [0x0B, 4])
        + publish(.v5_0, "t", [1], qos: .atLeastOnce, identifier: 1, properties: userProperty("k", "v")))
  }

  /// Once an older version was accepted what needs 5.0 is refused.
  @Test func afterwards() throws {
    let rig = Self.rig()
    rig.open()
    #expect(rig.fallBack())
    rig.lose()
    rig.connect()
    #expect(throws: SessionError.option) { try rig.publish("t", properties: userProperty("k", "v")) }
    #expect(throws: SessionError.option) { try rig.subscribe(["f"], identifier: 1) }
    try rig.publish("t", expiry: 5)
    #expect(rig.drain() == publish(.v3_1_1, "t", qos: .atMostOnce))
  }
}
