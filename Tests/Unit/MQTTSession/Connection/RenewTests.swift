import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// What a program that is used to another library wants of a session that it goes on with: docs/decisions/0024.
@Suite struct RenewTests {
  private static func harness(
    _ version: ProtocolVersion, configure: (inout SessionHarness.Options) -> Void = { _ in }
  )
    -> SessionHarness
  {
    SubscribeQueueTests.harness(version) {
      $0.connectBytes = 300
      configure(&$0)
    }
  }

  @Test(arguments: bothVersions)
  func connectSaysSomethingElse(version: ProtocolVersion) throws {
    let harness = Self.harness(version)
    try harness.publish("a", qos: .exactlyOnce, cookie: 3)
    _ = harness.drain()
    harness.receive(publish(version, qos: .exactlyOnce, identifier: 9))
    _ = harness.events()
    _ = harness.drain()
    harness.lose()
    #expect(harness.renew { $0.userName = "somebody" })
    let named = SessionHarness(version) { $0.userName = "somebody" }
    #expect(harness.open() == named.open())
    harness.accept(sessionPresent: true)
    #expect(packets(harness.drain()) == [publish(version, qos: .exactlyOnce, identifier: 1, duplicate: true)])
    // It knows of the message that it has had.
    harness.receive(publish(version, qos: .exactlyOnce, identifier: 9, duplicate: true))
    #expect(harness.drain() == pubrec(9))
    #expect(harness.events() == [.connected(sessionPresent: true)])
  }

  @Test func notOnAConnectionNorBeyondItsRoom() {
    let harness = Self.harness(.v5_0)
    #expect(!harness.renew { $0.userName = "somebody" })
    harness.lose()
    #expect(!harness.renew { $0.userName = String(repeating: "x", count: 300) })
    #expect(!harness.renew(.v3_1_1) { _ in })
    #expect(!harness.renew { $0.receiveMaximum = 65 })
    #expect(!harness.renew { $0.receiveBytes = 1025 })
    #expect(!harness.renew { $0.aliasesReceived = 1 })
    #expect(harness.open() == SessionHarness(.v5_0) { _ in }.open())
  }

  @Test(arguments: bothVersions)
  func exactlyOnceIsSentAgain(version: ProtocolVersion) throws {
    let harness = Self.harness(version) { $0.repeatsExactlyOnce = true }
    try harness.publish(qos: .exactlyOnce, cookie: 1)
    _ = harness.drain()
    // Sent, and then waiting to be sent again in a session that is lost, too.
    for _ in 0..<2 {
      harness.reconnect(sessionPresent: true)
      harness.reconnect(sessionPresent: false)
      #expect(harness.drain() == publish(version, qos: .exactlyOnce, identifier: 1))
    }
    _ = harness.events()
    harness.receive(pubrec(1) + pubcomp(1))
    #expect(harness.events() == [.delivered(1)])
  }

  @Test(arguments: bothVersions)
  func requestsEndWithTheConnection(version: ProtocolVersion) throws {
    let harness = Self.harness(version) { $0.dropsSubscribes = true }
    try harness.subscribe(["a"], qos: .atLeastOnce, cookie: 7)
    _ = harness.drain()
    try harness.subscribe(["b"], qos: .atLeastOnce, cookie: 8)
    _ = harness.transmit(3)
    harness.reconnect(sessionPresent: false)
    #expect(harness.drain() == [])
    #expect(harness.isDrained)
    #expect(harness.events() == [.connected(sessionPresent: false)])
    try harness.subscribe(["c"], qos: .atLeastOnce, cookie: 9)
    #expect(harness.drain().count > 0)
  }
}
