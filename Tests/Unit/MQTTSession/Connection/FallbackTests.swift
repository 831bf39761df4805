import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// CONNECT in every version that may be spoken, and the way from one to the next (docs/decisions/0005).
@Suite struct FallbackTests {
  /// CONNECT by the book.
  static func connect(
    _ version: ProtocolVersion, flags: UInt8, clientID: String = "abc", userName: String = "",
    password: String = "", properties: [UInt8] = []
  ) -> [UInt8] {
    func text(_ text: String) -> [UInt8] { twoBytes(UInt16(text.utf8.count)) + text.bytes }
    let name = text(version == .v3_1 ? "MQIsdp" : "MQTT")
    let credentials = [userName, password].flatMap { $0.isEmpty ? [] : text($0) }
    return packet(
      0x10,
      name + [version.rawValue, flags, 0, 60] + list(version, properties) + text(clientID) + credentials)
  }

  static func harness(
    _ version: ProtocolVersion = .v5_0, configure: (inout SessionHarness.Options) -> Void = { _ in }
  )
    -> SessionHarness
  {
    SessionHarness(version) {
      $0.allowsFallback = true
      $0.maximumPacketSize = 0
      configure(&$0)
    }
  }

  /// What a server does that does not know the version.
  static func isRefused(_ harness: SessionHarness) -> Bool {
    let version = harness.spoken
    harness.receive(connack(version, code: version == .v5_0 ? 0x84 : 1))
    guard harness.serverRejectedVersion else { return false }
    harness.lose()
    return true
  }

  @Test func downToTheOldest() {
    let harness = Self.harness()
    #expect(harness.open() == Self.connect(.v5_0, flags: 0))
    #expect(Self.isRefused(harness))
    #expect(harness.fallBack())
    #expect(harness.open() == Self.connect(.v3_1_1, flags: 0))
    #expect(Self.isRefused(harness))
    #expect(harness.fallBack())
    #expect(harness.open() == Self.connect(.v3_1, flags: 0))
    harness.accept()
    #expect(harness.isConnected)
    #expect(harness.spoken == .v3_1)
    // It stays with what was accepted.
    harness.lose()
    harness.session.connecting()
    #expect(harness.open() == Self.connect(.v3_1, flags: 0))
    #expect(!harness.fallBack())
  }

  /// An attempt that came to nothing begins again with the newest.
  @Test func nothingIsLearntFromAFailure() {
    let harness = Self.harness()
    harness.open()
    #expect(harness.fallBack())
    harness.lose()
    harness.open()
    harness.lose()
    harness.session.connecting()
    #expect(harness.open() == Self.connect(.v5_0, flags: 0))
    harness.accept()
    #expect(harness.isConnected)
  }

  /// Another refusal is not about the version.
  @Test func otherRefusals() {
    for (version, codes) in [(.v5_0, [0x80, 0x85, 0x87]), (.v3_1_1, [2, 3, 4, 5])]
      as [(ProtocolVersion, [UInt8])]
    {
      for code in codes {
        let harness = Self.harness(version)
        harness.open()
        harness.receive(connack(version, code: code))
        #expect(harness.ending?.cause == .refused)
        #expect(!harness.serverRejectedVersion)
      }
    }
  }

  /// Neither is a connection that is closed without a word, before the server has CONNECT, or once it has said
  /// anything, on this connection or on one before.
  @Test func closedWithoutConnack() {
    let harness = Self.harness()
    harness.session.connectionOpened()
    #expect(!harness.serverRejectedVersion)
    _ = harness.transmit(1)
    #expect(harness.serverRejectedVersion)
    _ = harness.drain()
    #expect(harness.serverRejectedVersion)
    harness.receive([0x20])
    #expect(!harness.serverRejectedVersion)
    harness.lose()
    harness.open()
    #expect(harness.serverRejectedVersion)
    harness.accept()
    harness.lose()
    harness.open()
    #expect(!harness.serverRejectedVersion)
  }

  @Test func onlyIfAsked() {
    for version in [ProtocolVersion.v5_0, .v3_1_1, .v3_1] {
      let harness = SessionHarness(version)
      harness.open()
      #expect(!harness.fallBack())
      #expect(harness.spoken == version)
    }
  }

  struct Case: Sendable {
    var version = ProtocolVersion.v5_0
    var clientID = "abc"
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
    let harness = Self.harness(test.version) {
      $0.clientID = test.clientID
      $0.userName = test.userName
      $0.password = test.password
      $0.keepSession = false
    }
    let flags: UInt8 = 2 + (test.userName.isEmpty ? 0 : 0x80) + (test.password.isEmpty ? 0 : 0x40)
    let way = [test.version] + test.versions
    for version in way {
      #expect(harness.spoken == version)
      #expect(
        harness.open()
          == Self.connect(
            version, flags: flags, clientID: test.clientID, userName: test.userName, password: test.password))
      #expect(harness.fallBack() == (version != way.last))
      harness.lose()
    }
  }

  /// What needs 5.0 is left out.
  @Test func whatIsLeftOut() {
    let properties = userProperty("k", "v") + [0x19, 1]
    let harness = Self.harness {
      $0.properties = properties
      $0.sessionExpiry = 9
      $0.aliasesReceived = 3
    }
    #expect(
      harness.open()
        == Self.connect(
          .v5_0, flags: 0, properties: property(0x11, number: 9) + topicAliasMaximum(3) + properties))
    #expect(harness.fallBack())
    harness.lose()
    #expect(harness.open() == Self.connect(.v3_1_1, flags: 0))
    harness.accept()
    harness.receive(publish(.v3_1_1, "a", [1], qos: .atMostOnce))
    #expect(harness.events() == [.connected(sessionPresent: false), .message(ReceivedMessage("a", [1]))])
  }

  /// A limit that only 5.0 was told of cannot be broken by a server of 3.1.1.
  @Test func limitThatWasNotSaid() {
    let harness = SessionHarness(.v5_0) {
      $0.allowsFallback = true
      $0.receiveBytes = 128
      $0.maximumPacketSize = 128
    }
    harness.open()
    #expect(harness.fallBack())
    harness.lose()
    harness.connect()
    _ = harness.events()
    harness.receive(publish(.v3_1_1, "a", [UInt8](repeating: 0, count: 300), qos: .atMostOnce))
    while harness.receiveNothing() > 0, harness.event() != nil {}
    #expect(harness.ending == nil)
  }

  // MARK: The client id (`%`)

  @Test(arguments: [.v3_1, .v3_1_1, .v5_0] as [ProtocolVersion], [false, true])
  func template(version: ProtocolVersion, fallback: Bool) {
    let texts: [(String, String)] = [
      ("gateway-%%", "gateway-A05F"), ("%", "A0"), ("%a%", "A0a5F"), ("none", "none"), ("%%%%", "A05F00FF"),
    ]
    for (template, id) in texts {
      let harness = SessionHarness(version) {
        $0.clientID = template
        $0.isClientIDTemplate = true
        $0.allowsFallback = fallback
        $0.userName = "u%"
        $0.maximumPacketSize = 0
      }
      var bytes: [UInt8] = [0xA0, 0x5F, 0x00, 0xFF]
      harness.session.fillClientID { bytes.removeFirst() }
      #expect(harness.clientID == id)
      var isLast = false
      while !isLast {
        #expect(harness.open() == Self.connect(harness.spoken, flags: 0x80, clientID: id, userName: "u%"))
        harness.lose()
        isLast = !harness.fallBack()
      }
      #expect(harness.spoken == (fallback ? .v3_1 : version))
    }
  }

  /// As it is.
  @Test func noTemplate() {
    let harness = Self.harness { $0.clientID = "100%" }
    #expect(harness.open() == Self.connect(.v5_0, flags: 0, clientID: "100%"))
    #expect(harness.clientID == "100%")
  }

  // MARK: Clean Start

  /// `SMQ_OPTION_NEW_SESSION`: on the first connection that is accepted, and then no more.
  @Test func newSessionOnce() {
    let harness = SessionHarness(.v5_0) {
      $0.beginsNewSession = true
      $0.maximumPacketSize = 0
    }
    for _ in 0..<2 {
      #expect(harness.open() == Self.connect(.v5_0, flags: 2))
      harness.receive(connack(.v5_0, code: 0x88))
      harness.lose()
    }
    harness.open()
    // [MQTT-3.2.2-4]
    harness.receive(connack(.v5_0, sessionPresent: true))
    #expect(harness.ending?.cause == .violation(.unwantedSession))
    harness.lose()
    #expect(harness.open() == Self.connect(.v5_0, flags: 2))
    harness.accept()
    harness.lose()
    #expect(harness.open() == Self.connect(.v5_0, flags: 0))
    harness.accept(sessionPresent: true)
    #expect(harness.isConnected)
  }

  /// 3.1.1 cannot say so without giving up the session for good: what it takes up is what it said.
  @Test(arguments: [false, true])
  func newSessionInAnOlderVersion(isPresent: Bool) {
    let harness = Self.harness { $0.beginsNewSession = true }
    #expect(harness.open() == Self.connect(.v5_0, flags: 2))
    #expect(harness.fallBack())
    harness.lose()
    #expect(harness.open() == Self.connect(.v3_1_1, flags: 0))
    harness.accept(sessionPresent: isPresent)
    #expect(harness.isConnected)
    #expect(harness.events() == [.connected(sessionPresent: isPresent)])
  }

  // MARK: What is queued

  /// SentAliasesTests, SubscribeQueueTests, StreamTests and ReservationTests look at the packets. Here: nothing is forgotten
  /// on the way back.
  @Test func queuedOverAFailedFallback() throws {
    let harness = Self.harness()
    try harness.publish("t", [1], qos: .atLeastOnce, cookie: 1, properties: userProperty("k", "v"))
    try harness.subscribe(["f"], identifier: 4)
    harness.open()
    #expect(harness.fallBack())
    harness.lose()
    harness.open()
    harness.receive(connack(.v3_1_1, code: 3))
    harness.lose()
    harness.session.connecting()
    harness.connect()
    #expect(
      harness.drain()
        == request(.v5_0, 0x82, 65_280, [("f", 0)], properties: [0x0B, 4])
        + publish(.v5_0, "t", [1], qos: .atLeastOnce, identifier: 1, properties: userProperty("k", "v")))
  }

  /// Once an older version was accepted what needs 5.0 is refused.
  @Test func afterwards() throws {
    let harness = Self.harness()
    harness.open()
    #expect(harness.fallBack())
    harness.lose()
    harness.connect()
    #expect(throws: SessionError.option) { try harness.publish("t", properties: userProperty("k", "v")) }
    #expect(throws: SessionError.option) { try harness.subscribe(["f"], identifier: 1) }
    try harness.publish("t", expiry: 5)
    #expect(harness.drain() == publish(.v3_1_1, "t", qos: .atMostOnce))
  }
}
