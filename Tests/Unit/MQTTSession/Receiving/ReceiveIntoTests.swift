import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// Large messages that are received into memory of the program.
@Suite struct ReceiveIntoTests {
  private typealias Large = LargeMessageTests

  /// How a program reads a message: what it lends when it has a part that others follow; `nil`: nothing.
  private typealias Plan = (_ part: Int) -> Int?

  /// What came of a stream of bytes from the server that is cut into pieces. The parts that the program lent
  /// memory for have to be in it, and nothing behind it may have changed.
  private static func messages(
    _ harness: SessionHarness, _ bytes: [UInt8], piece: (Int) -> Int, _ plan: Plan
  ) throws -> (messages: [ReceivedMessage], lentParts: Int) {
    var (messages, lentParts): ([ReceivedMessage], Int) = ([], 0)
    var lent: (memory: UnsafeMutableBufferPointer<UInt8>, size: Int)?
    func take() throws -> Bool {
      guard case .message(let message) = harness.event() else { return false }
      messages.append(message)
      if let (memory, size) = lent {
        let left = message.payloadSize - message.payloadOffset
        guard message.payload.count == min(size, left),
          Array(memory.prefix(min(size, left))) == message.payload,
          memory.dropFirst(message.payload.count).allSatisfy({ $0 == 0xEE })
        else { throw SessionError.option }
        lentParts += 1
        lent = nil
      }
      if !message.isLast, let size = plan(messages.count) { lent = (try harness.receive(into: size), size) }
      return true
    }
    var rest = bytes[...]
    for number in 0... where !rest.isEmpty {
      var part = Array(rest.prefix(max(1, piece(number))))
      rest = rest.dropFirst(part.count)
      while !part.isEmpty {
        part = harness.receive(part)
        guard try part.isEmpty || take() || harness.wantsReceive else { return (messages, lentParts) }
      }
      if rest.isEmpty { break }
    }
    while try take() {}
    return (messages, lentParts)
  }

  /// A client that has the first part of a message, and what the server sends behind that.
  private static func begun(
    _ version: ProtocolVersion = .v3_1_1, qos: QoS = .atLeastOnce, size: Int = 300,
    configure: (inout SessionHarness.Options) -> Void = { _ in }
  ) -> (harness: SessionHarness, first: ReceivedMessage, rest: [UInt8])? {
    let harness = Large.harness(version, parts: true, configure: configure)
    let rest = harness.receive(publish(version, "t", Large.payload(size), qos: qos, identifier: 3))
    guard case .message(let first) = harness.event() else { return nil }
    return (harness, first, rest)
  }

  // MARK: Every size, every split

  /// Memory of every size, also more than the payload, or nothing now and then, and a small message behind,
  /// cut into pieces of every size.
  @Test(arguments: bothVersions, allQoS)
  func everySplit(version: ProtocolVersion, qos: QoS) throws {
    var faults: [String] = []
    var lentParts = 0
    let small = publish(version, "s", [42], qos: .atLeastOnce, identifier: 10)
    for (buffer, topicSize, size) in [
      (64, 1, 62), (64, 1, 130), (64, 39, 100), (100, 10, 300), (129, 5, 500),
    ] {
      let topic = String(repeating: "t", count: topicSize)
      let properties = version == .v5_0 && topicSize % 2 == 0 ? userProperty("k", "v") : []
      let stream =
        publish(version, topic, Large.payload(size), qos: qos, identifier: 9, properties: properties) + small
      var expected = ReceivedMessage(topic, Large.payload(size), qos: qos)
      expected.properties = properties
      let plans: [Plan] = [
        { _ in .max }, { _ in 1 }, { _ in 7 }, { _ in buffer }, { $0 % 2 == 0 ? 20 : nil },
        { $0 == 2 ? 5 : nil },
        { $0 * 3 },
      ]
      for (number, plan) in plans.enumerated() {
        for piece in Array(1...30) + [50, 64, 100, 200, stream.count] {
          let harness = Large.harness(version, receiveBytes: buffer, parts: true)
          let (messages, lent) = try Self.messages(harness, stream, piece: { _ in piece }) {
            plan($0).map { min($0, 1000) }
          }
          lentParts += lent
          let name = "\(buffer) \(topicSize) \(size) plan \(number) in \(piece)"
          if Large.whole(Array(messages.dropLast())) != expected
            || messages.last != ReceivedMessage("s", [42], qos: .atLeastOnce)
            || harness.drain() != Large.acknowledgement(qos, 9) + puback(10)
            || harness.counters.messagesReceived.uint64 != 2 || harness.counters.packetsReceived.uint64 != 3
          {
            faults.append("\(name): \(messages.map(\.payload.count))")
          }
        }
      }
    }
    #expect(faults.isEmpty, "\(faults.prefix(3))")
    #expect(lentParts > 1000)
  }

  /// A receive buffer of 64 bytes, of which no byte more is ever in use, and a payload of two million.
  @Test func constantMemory() throws {
    let size = 2_000_000
    let harness = Large.harness(.v3_1_1, parts: true)
    let packet = publish(.v3_1_1, "t", Large.payload(size), qos: .exactlyOnce, identifier: 9)
    let calls = harness.counters.receiveCalls.uint64
    let (messages, lentParts) = try Self.messages(harness, packet, piece: { _ in .max }) { _ in size }
    #expect(Large.whole(messages) == ReceivedMessage("t", Large.payload(size), qos: .exactlyOnce))
    #expect(messages.count == 2 && lentParts == 1)
    // One for what the buffer takes, and one for the rest.
    #expect(harness.counters.receiveCalls.uint64 - calls == 2)
    #expect(harness.inbox.receiveBytesPeak == 64)
  }

  // MARK: When

  /// Only while the last event is a part that others follow.
  @Test(arguments: bothVersions)
  func wrongMoments(version: ProtocolVersion) throws {
    let harness = Large.harness(version, parts: true)
    func refused() -> Bool {
      do throws(SessionError) { try harness.receive(into: 10) } catch { return error == .state }
      return false
    }
    #expect(refused())
    harness.receive(publish(version, "s", [1], qos: .atLeastOnce, identifier: 1))
    #expect(refused())
    _ = harness.event()
    #expect(refused(), "a whole message")
    harness.session.releaseEvent()
    var rest = harness.receive(publish(version, "t", Large.payload(100), qos: .atLeastOnce, identifier: 3))
    #expect(refused(), "nobody has taken the part")
    _ = harness.event()
    harness.session.releaseEvent()
    #expect(refused(), "the part is released")
    rest = harness.receive(rest)
    guard case .message(let last) = harness.event() else { throw SessionError.state }
    #expect(rest.isEmpty && last.isLast)
    #expect(refused(), "the last part")
    harness.session.releaseEvent()
    #expect(refused())
    #expect(harness.drain() == puback(1) + puback(3))
  }

  /// What is not told in parts is not received into memory of the program.
  @Test func withoutParts() {
    let harness = Large.harness(.v3_1_1, parts: false)
    harness.receive(publish(.v3_1_1, "t", Large.payload(300), qos: .atMostOnce))
    #expect(throws: SessionError.state) { try harness.receive(into: 10) }
    _ = harness.event()
    #expect(throws: SessionError.state) { try harness.receive(into: 10) }
  }

  /// No byte is received before the part is released, which has its own in the receive buffer. What follows
  /// the payload is not received into the memory.
  @Test func notBeforeTheRelease() throws {
    guard let (harness, first, rest) = Self.begun() else { throw SessionError.state }
    let memory = try harness.receive(into: 1000)
    #expect(!harness.wantsReceive)
    harness.session.releaseEvent()
    #expect(harness.wantsReceive)
    // As much as the payload has, and no more.
    #expect(harness.receiveNothing() == 300 - first.payload.count)
    #expect(harness.receive(rest + [0xE0]) == [])
    #expect(
      Array(memory.prefix(rest.count)) == rest && memory.dropFirst(rest.count).allSatisfy { $0 == 0xEE })
  }

  /// The memory is replaced as long as nothing is in it.
  @Test func replaced() throws {
    guard let (harness, first, rest) = Self.begun() else { throw SessionError.state }
    let before = try harness.receive(into: 300)
    let after = try harness.receive(into: 300)
    harness.session.releaseEvent()
    #expect(harness.receive(rest) == [])
    guard case .message(let last) = harness.event() else { throw SessionError.state }
    #expect(last.isLast && first.payload + last.payload == Large.payload(300))
    #expect(before.allSatisfy { $0 == 0xEE })
    #expect(Array(after.prefix(last.payload.count)) == last.payload)
  }

  /// The same memory again, while the part in hand is in it: nothing is written there before that is
  /// released.
  @Test func theSameMemory() throws {
    guard let (harness, _, rest) = Self.begun() else { throw SessionError.state }
    let memory = try harness.receive(into: 20)
    harness.session.releaseEvent()
    harness.receive(Array(rest.prefix(20)))
    guard case .message(let second) = harness.event() else { throw SessionError.state }
    try harness.session.receive(into: unsafe LentSpace(start: memory.baseAddress, size: 20))
    #expect(harness.receive(Array(rest[20..<30])) == [])
    #expect(Array(memory.prefix(20)) == second.payload)
    harness.session.releaseEvent()
    #expect(Array(memory.prefix(10)) == Array(rest[20..<30]))
    harness.receive(Array(rest[30..<40]))
    guard case .message(let third) = harness.event() else { throw SessionError.state }
    #expect(third.payload == Array(rest[20..<40]) && Array(memory.prefix(20)) == third.payload)
  }

  // MARK: Taken back

  /// Before anything is in it, the message goes on as if nothing had been lent.
  @Test(arguments: [false, true])
  func takenBackEmpty(afterRelease: Bool) throws {
    guard let (harness, first, rest) = Self.begun() else { throw SessionError.state }
    let memory = try harness.receive(into: 300)
    if afterRelease { harness.session.releaseEvent() }
    try harness.endLending()
    #expect(!harness.hasEvent)
    harness.session.releaseEvent()
    let parts = [first] + Large.messages(harness, rest) { _ in 64 }
    #expect(Large.whole(parts) == ReceivedMessage("t", Large.payload(300), qos: .atLeastOnce))
    #expect(memory.allSatisfy { $0 == 0xEE })
    #expect(harness.drain() == puback(3))
  }

  /// What is in it is a part, and what follows is received as before.
  @Test func takenBackInTheMiddle() throws {
    guard let (harness, first, rest) = Self.begun() else { throw SessionError.state }
    let memory = try harness.receive(into: 300)
    harness.session.releaseEvent()
    harness.receive(Array(rest.prefix(20)))
    #expect(!harness.hasEvent)
    try harness.endLending()
    #expect(harness.hasEvent)
    try harness.endLending()
    guard case .message(let second) = harness.event() else { throw SessionError.state }
    #expect(second.payload == Array(rest.prefix(20)) && Array(memory.prefix(20)) == second.payload)
    #expect(second.payloadOffset == first.payload.count && !second.isLast)
    let parts = [first, second] + Large.messages(harness, Array(rest.dropFirst(20))) { _ in 64 }
    #expect(Large.whole(parts) == ReceivedMessage("t", Large.payload(300), qos: .atLeastOnce))
    #expect(memory.dropFirst(20).allSatisfy { $0 == 0xEE })
  }

  @Test func nothingToTakeBack() throws {
    let harness = SessionHarness()
    try harness.endLending()
    harness.connect()
    try harness.endLending()
    #expect(harness.events() == [.connected(sessionPresent: false)])
  }

  // MARK: The end of the connection

  /// Nothing is received into it any more, nothing of it is told, and the message begins anew.
  @Test(arguments: bothVersions, [QoS.atLeastOnce, .exactlyOnce])
  func lostInTheMiddle(version: ProtocolVersion, qos: QoS) throws {
    guard let (harness, _, rest) = Self.begun(version, qos: qos) else { throw SessionError.state }
    let memory = try harness.receive(into: 300)
    harness.session.releaseEvent()
    harness.receive(Array(rest.prefix(50)))
    harness.lose()
    #expect(harness.events() == [])
    try harness.endLending()
    #expect(harness.events() == [])
    memory.update(repeating: 0xEE)
    harness.connect(sessionPresent: true)
    #expect(harness.events() == [.connected(sessionPresent: true)])
    let packet = publish(version, "t", Large.payload(300), qos: qos, identifier: 3, duplicate: true)
    let parts = Large.messages(harness, packet) { _ in 64 }
    #expect(Large.whole(parts) == ReceivedMessage("t", Large.payload(300), qos: qos, duplicate: true))
    #expect(harness.drain() == Large.acknowledgement(qos, 3))
    #expect(memory.allSatisfy { $0 == 0xEE })
  }

  /// What the server has sent before it closed is received to its end.
  @Test func peerHasClosed() throws {
    guard let (harness, first, rest) = Self.begun() else { throw SessionError.state }
    try harness.receive(into: 300)
    harness.session.releaseEvent()
    harness.receive(Array(rest.prefix(50)))
    #expect(!harness.peerClosed())
    #expect(harness.receive(Array(rest.dropFirst(50))) == [])
    guard case .message(let last) = harness.event() else { throw SessionError.state }
    #expect(last.isLast && first.payload + last.payload == Large.payload(300))
  }

  // MARK: Handshakes

  /// `smq_hold` and `smq_ack` with the last part.
  @Test func held() throws {
    guard let (harness, _, rest) = Self.begun() else { throw SessionError.state }
    #expect(!harness.hold())
    try harness.receive(into: 300)
    harness.session.releaseEvent()
    harness.receive(rest)
    #expect(harness.drain() == [])
    _ = harness.event()
    let token = harness.token
    #expect(harness.hold())
    harness.session.releaseEvent()
    #expect(harness.drain() == [])
    try harness.acknowledge(token)
    #expect(harness.drain() == puback(3))
  }

  /// A reply is one with its last part.
  @Test func replies() throws {
    let harness = Large.harness(.v5_0, parts: true) { $0.replies = 1 }
    try harness.request(timeout: 5000, cookie: 8)
    let correlation = Array(ReadPublish(harness.drain(), .v5_0).properties.suffix(8))
    let reply = publish(
      .v5_0, "r", Large.payload(150), qos: .atMostOnce, properties: correlationData(correlation))
    let (parts, lentParts) = try Self.messages(harness, reply, piece: { _ in .max }) { _ in 60 }
    #expect(lentParts > 1)
    #expect(parts.last?.responseCookie == 8)
    #expect(parts.dropLast().allSatisfy { $0.responseCookie == nil })
  }

  /// An acknowledgement may be behind what has just filled the memory, in the transport.
  @Test func acknowledgementBehindIt() throws {
    guard let (harness, _, rest) = Self.begun(configure: { $0.ackTimeout = 1000 }) else {
      throw SessionError.state
    }
    try harness.publish(qos: .atLeastOnce)
    _ = harness.drain()
    try harness.receive(into: 300)
    harness.session.releaseEvent()
    harness.receive(rest)
    _ = harness.event()
    harness.session.releaseEvent()
    harness.advanceClock(1000)
    #expect(harness.ending == nil)
    harness.advanceClock(1000)
    #expect(harness.ending?.cause == .ackTimeout)
  }

  /// The last byte comes while there is no room for acknowledgements: nothing more is read, until there is.
  @Test func noRoomForAcknowledgements() throws {
    let harness = Large.harness(.v3_1_1, parts: true) {
      $0.holdsMessages = true
      $0.controlBytes = 32
    }
    var tokens: [UInt32] = []
    for identifier in UInt16(20)..<30 {
      harness.receive(publish(.v3_1_1, "h", qos: .atLeastOnce, identifier: identifier))
      _ = harness.event()
      tokens.append(harness.token)
      harness.session.releaseEvent()
    }
    let rest = harness.receive(publish(.v3_1_1, "t", Large.payload(300), qos: .atMostOnce, identifier: 0))
    guard case .message(let first) = harness.event() else { throw SessionError.state }
    try harness.receive(into: 300)
    harness.session.releaseEvent()
    for token in tokens { try harness.acknowledge(token) }
    #expect(harness.receive(rest) == [])
    #expect(!harness.hasEvent && !harness.wantsReceive)
    #expect(harness.drain().count == 4 * tokens.count)
    guard case .message(let last) = harness.event() else { return #expect(Bool(false)) }
    #expect(first.payload + last.payload == Large.payload(300) && last.isLast)
  }
}
