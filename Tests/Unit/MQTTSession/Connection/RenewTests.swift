import MQTTWire
import Testing

@testable import MQTTSession

/// What a program that is used to another library wants of a session that it goes on with: docs/decisions/0024.
@Suite struct RenewTests {
  private static func rig(_ version: ProtocolVersion, configure: (inout Rig.Options) -> Void = { _ in })
    -> Rig
  {
    SubscribeQueueTests.rig(version) {
      $0.connectBytes = 300
      configure(&$0)
    }
  }

  @Test(arguments: bothVersions)
  func connectSaysSomethingElse(version: ProtocolVersion) throws {
    let rig = Self.rig(version)
    try rig.publish("a", qos: .exactlyOnce, cookie: 3)
    _ = rig.drain()
    rig.receive(publish(version, qos: .exactlyOnce, identifier: 9))
    _ = rig.events()
    _ = rig.drain()
    rig.lose()
    #expect(rig.renew { $0.userName = "somebody" })
    let named = Rig(version) { $0.userName = "somebody" }
    #expect(rig.open() == named.open())
    rig.accept(sessionPresent: true)
    #expect(packets(rig.drain()) == [publish(version, qos: .exactlyOnce, identifier: 1, duplicate: true)])
    // It knows of the message that it has had.
    rig.receive(publish(version, qos: .exactlyOnce, identifier: 9, duplicate: true))
    #expect(rig.drain() == pubrec(9))
    #expect(rig.events() == [.connected(sessionPresent: true)])
  }

  @Test func notOnAConnectionNorBeyondItsRoom() {
    let rig = Self.rig(.v5_0)
    #expect(!rig.renew { $0.userName = "somebody" })
    rig.lose()
    #expect(!rig.renew { $0.userName = String(repeating: "x", count: 300) })
    #expect(!rig.renew(.v3_1_1) { _ in })
    #expect(!rig.renew { $0.receiveMaximum = 65 })
    #expect(!rig.renew { $0.receiveBytes = 1025 })
    #expect(!rig.renew { $0.aliasesReceived = 1 })
    #expect(rig.open() == Rig(.v5_0) { _ in }.open())
  }

  @Test(arguments: bothVersions)
  func exactlyOnceIsSentAgain(version: ProtocolVersion) throws {
    let rig = Self.rig(version) { $0.repeatsExactlyOnce = true }
    try rig.publish(qos: .exactlyOnce, cookie: 1)
    _ = rig.drain()
    // Sent, and then waiting to be sent again in a session that is lost, too.
    for _ in 0..<2 {
      rig.reconnect(sessionPresent: true)
      rig.reconnect(sessionPresent: false)
      #expect(rig.drain() == publish(version, qos: .exactlyOnce, identifier: 1))
    }
    _ = rig.events()
    rig.receive(pubrec(1) + pubcomp(1))
    #expect(rig.events() == [.delivered(1)])
  }

  @Test(arguments: bothVersions)
  func requestsEndWithTheConnection(version: ProtocolVersion) throws {
    let rig = Self.rig(version) { $0.forgetsRequests = true }
    try rig.subscribe(["a"], qos: .atLeastOnce, cookie: 7)
    _ = rig.drain()
    try rig.subscribe(["b"], qos: .atLeastOnce, cookie: 8)
    _ = rig.transmit(3)
    rig.reconnect(sessionPresent: false)
    #expect(rig.drain() == [])
    #expect(rig.isDrained)
    #expect(rig.events() == [.connected(sessionPresent: false)])
    try rig.subscribe(["c"], qos: .atLeastOnce, cookie: 9)
    #expect(rig.drain().count > 0)
  }
}
