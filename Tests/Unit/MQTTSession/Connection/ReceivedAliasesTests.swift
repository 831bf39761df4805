import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// Topic Aliases of the server (§3.3.2.3.4): does the program get the right topic?
@Suite struct ReceivedAliasesTests {
  static func receiver(_ maximum: Int = 3, bytes: Int = 8) -> SessionHarness {
    let harness = SessionHarness(.v5_0) {
      $0.aliasesReceived = maximum
      $0.aliasBytes = bytes
    }
    harness.connect()
    _ = harness.events()
    return harness
  }

  static func topics(_ harness: SessionHarness) -> [String] {
    harness.events().map {
      guard case .message(let message) = $0 else { return "\($0)" }
      return message.isOversize ? "(\(message.topic))" : message.topic
    }
  }

  @Test func resolved() {
    let harness = Self.receiver()
    harness.receive(
      SentAliasesTests.establishing("abc", 1) + SentAliasesTests.using(1)
        + SentAliasesTests.establishing("d", 3) + SentAliasesTests.using(1))
    harness.receive(
      SentAliasesTests.using(3) + SentAliasesTests.establishing("e/f", 1) + SentAliasesTests.using(1)
        + SentAliasesTests.plain("g"))
    #expect(Self.topics(harness) == ["abc", "abc", "d", "abc", "d", "e/f", "e/f", "g"])
  }

  /// Known, but longer than there is room for: the payload is there, the topic is not.
  @Test func longTopics() {
    let harness = Self.receiver(bytes: 4)
    harness.receive(
      SentAliasesTests.establishing("abcd", 1) + SentAliasesTests.establishing("abcde", 2)
        + SentAliasesTests.using(2) + SentAliasesTests.using(1)
        + SentAliasesTests.establishing("abcdef", 1) + SentAliasesTests.using(1)
        + SentAliasesTests.establishing("a", 1) + SentAliasesTests.using(1))
    #expect(Self.topics(harness) == ["abcd", "abcde", "()", "abcd", "abcdef", "()", "a", "a"])
    harness.receive(publish(.v5_0, "", [1, 2], qos: .atMostOnce, properties: topicAlias(2)))
    guard case .message(let message) = harness.event() else {
      Issue.record("no message")
      return
    }
    #expect(message.payload == [1, 2])
    #expect(message.isOversize)
  }

  /// [MQTT-3.3.2-7] [MQTT-3.3.2-8]: what an alias stood for is forgotten with the connection.
  @Test func forgottenWithTheConnection() {
    let harness = Self.receiver()
    harness.receive(SentAliasesTests.establishing("abc", 1))
    _ = harness.events()
    harness.reconnect(sessionPresent: true)
    _ = harness.events()
    harness.receive(SentAliasesTests.using(1))
    #expect(harness.ending?.cause == .violation(.unknownTopicAlias))
    #expect(harness.drain() == [0xE0, 1, 0x82])
  }

  @Test func wrongAliases() {
    for (maximum, packet, violation, code) in [
      (3, SentAliasesTests.establishing("abc", 4), ProtocolViolation.topicAlias, 0x94),
      (3, SentAliasesTests.using(4), .topicAlias, 0x94),
      (0, SentAliasesTests.establishing("abc", 1), .topicAlias, 0x94),
      (3, SentAliasesTests.using(2), .unknownTopicAlias, 0x82),
      (3, SentAliasesTests.using(65_535), .topicAlias, 0x94),
    ] as [(Int, [UInt8], ProtocolViolation, UInt8)] {
      let harness = Self.receiver(maximum)
      harness.receive(packet)
      #expect(harness.ending?.cause == .violation(violation))
      #expect(harness.drain() == [0xE0, 1, code])
      #expect(harness.events() == [])
    }
    let harness = Self.receiver()
    harness.receive(SentAliasesTests.establishing("abc", 0))
    #expect(harness.ending?.cause == .malformed(.propertyValue))
  }

  /// The topic of the event that is out stays, whatever lies behind it.
  @Test func topicsLastAsLongAsTheirEvent() {
    let harness = Self.receiver()
    harness.receive(
      SentAliasesTests.establishing("abc", 1) + SentAliasesTests.using(1)
        + SentAliasesTests.establishing("xyz", 1) + SentAliasesTests.using(1))
    _ = harness.event()
    guard case .message(let event) = harness.session.nextEvent() else {
      Issue.record("no message")
      return
    }
    #expect(event.isTopicAliased)
    #expect(harness.aliasedTopic(event.topic) == "abc".bytes)
    harness.receive(SentAliasesTests.plain("g"))
    #expect(harness.aliasedTopic(event.topic) == "abc".bytes)
    #expect(Self.topics(harness) == ["xyz", "xyz", "g"])
  }
}
