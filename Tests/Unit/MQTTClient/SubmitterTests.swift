import Driver
import MQTTSession
import MQTTWire
import Platform
import Storage
import TestSupport
import Testing

@testable import MQTTClient

/// What becomes of messages that other threads submit. The threads themselves are in MPSCQueueTests and Tests/Threads.
@Suite struct SubmitterTests {
  static func harness(
    _ world: World = World(), messages: UInt32 = 4, configure: (inout RequestedOptions) -> Void = { _ in }
  ) throws -> ClientHarness {
    try ClientHarness(world) {
      $0.submitMessages = messages
      configure(&$0)
    }
  }

  private func cookies(_ told: [ReportedEvent]) -> [UInt64] {
    told.compactMap { if case .completed(let cookie) = $0.what { cookie } else { nil } }
  }

  private func error(_ body: () throws(SessionError) -> Void) -> SessionError? {
    do throws(SessionError) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  @Test func arrivesInOrder() throws {
    let harness = try Self.harness()
    for cookie in 1...4 {
      try harness.submit("a", qos: cookie == 2 ? .atMostOnce : .atLeastOnce, cookie: UInt64(cookie))
    }
    #expect(harness.client.nextTimeout(at: harness.now) == 0)
    harness.connect()
    let told = harness.run(100)
    #expect(cookies(told).sorted() == [1, 2, 3, 4])
    #expect(harness.world.packets.map { $0.first }.filter { $0 >> 4 == 3 } == [0x32, 0x30, 0x32, 0x32])
    #expect(harness.client.submissionNumbers.taken.uint64 == 4)
    #expect(harness.client.submissionNumbers.waiting == 0)
    #expect(harness.client.submissionNumbers.peak == 4)
    #expect(harness.client.nextTimeout(at: harness.now) != 0)
  }

  /// The outbox is full: the rest waits, then submitting is refused. Nobody is told that there is room who was not told
  /// that there was none; and a client that can do nothing does nothing.
  @Test func backPressure() throws {
    let harness = try Self.harness { $0.outboxMessages = 2 }
    for cookie in 1...4 { try harness.submit("a", cookie: UInt64(cookie)) }
    #expect(error { () throws(SessionError) in try harness.submit("a") } == .full)
    #expect(harness.run(10).isEmpty)
    #expect(harness.client.submissionNumbers.waiting == 2)
    for cookie in 5...6 { try harness.submit("a", cookie: UInt64(cookie)) }
    #expect(error { () throws(SessionError) in try harness.submit("a") } == .full)
    #expect(harness.run(10).isEmpty)
    #expect(harness.client.submissionNumbers.waiting == 4)
    #expect(harness.client.submissionNumbers.refused.uint64 == 2)
    #expect(harness.client.nextTimeout(at: harness.now) != 0)
    let before = harness.world.wakeUps
    #expect(harness.run(1000).isEmpty)
    #expect(harness.world.wakeUps - before < 5)
    harness.connect()
    let told = harness.run(100)
    #expect(cookies(told) == [1, 2, 3, 4, 5, 6])
    #expect(told.allSatisfy { $0.what != .other })
  }

  /// When all descriptors are taken, nothing can be dropped that is to be reported: what would make room waits, and does not
  /// keep the client busy.
  @Test func nothingToDrop() throws {
    let harness = try Self.harness { $0.outboxMessages = 2 }
    for cookie in 1...3 { try harness.submit("a", cookie: UInt64(cookie), overflow: .dropOldest) }
    _ = harness.client.service(at: harness.now)
    #expect(harness.client.submissionNumbers.waiting == 1)
    try #require(harness.client.nextTimeout(at: harness.now) != 0)
    harness.connect()
    #expect(cookies(harness.run(100)) == [1, 2, 3])
  }

  /// However much is submitted, other things get their turn.
  @Test func aTurnIsBounded() throws {
    let harness = try Self.harness(messages: 1024) {
      $0.outboxMessages = 2000
      $0.outboxBytes = 100_000
    }
    for _ in 0..<1024 { try harness.submit("a") }
    var turns = 0
    while harness.client.submissionNumbers.waiting > 0 {
      let before = harness.client.submissionNumbers.waiting
      #expect(harness.client.nextTimeout(at: harness.now) == 0)
      _ = harness.client.service(at: harness.now)
      #expect(before - harness.client.submissionNumbers.waiting == 256)
      turns += 1
    }
    #expect(turns == 4)
    #expect(harness.client.outboxNumbers.ordinary.messages == 1024)
  }

  /// `wait` goes on with what the first turn has left.
  @Test func waitTakesAll() throws {
    let harness = try Self.harness(messages: 1024) {
      $0.outboxMessages = 2000
      $0.outboxBytes = 100_000
    }
    for _ in 0..<1000 { try harness.submit("a") }
    #expect(harness.run(5).isEmpty)
    #expect(harness.client.outboxNumbers.ordinary.messages == 1000)
  }

  // MARK: Leaving

  /// What was submitted before is delivered first, though the outbox takes one at a time.
  @Test func leavingWaitsForWhatWasSubmitted() throws {
    let harness = try Self.harness(messages: 8) { $0.outboxMessages = 1 }
    harness.connect()
    _ = harness.run(10)
    for cookie in 1...4 { try harness.submit("a", cookie: UInt64(cookie)) }
    try harness.disconnect(drain: 1000)
    try harness.submit("a", cookie: 5)
    let told = harness.run(50)
    #expect(cookies(told) == [1, 2, 3, 4])
    #expect(told.last?.what == .disconnected(.requested, .none, retry: nil))
    #expect(harness.world.packets.last?.first == 0xE0)
    // What came too late is there for the next connection.
    #expect(harness.state == .disconnected)
    harness.connect()
    #expect(cookies(harness.run(50)) == [5])
  }

  @Test func leavingInAHurryWaitsForNothing() throws {
    let harness = try Self.harness { $0.outboxMessages = 1 }
    let world = harness.world
    world.server.ignores = [3]
    harness.connect()
    _ = harness.run(10)
    for cookie in 1...4 { try harness.submit("a", cookie: UInt64(cookie)) }
    try harness.disconnect(drain: 100)
    let told = harness.run(3000)
    #expect(cookies(told) == [])
    #expect(told.count == 1)
    #expect(told.first?.what == .disconnected(.requested, .none, retry: nil))
    #expect(harness.client.submissionNumbers.waiting == 3)
    #expect(harness.client.outboxNumbers.ordinary.messages == 1)
    world.server.ignores = []
    harness.connect()
    #expect(cookies(harness.run(50)) == [1, 2, 3, 4])
  }

  // MARK: Waiting

  @Test func waitingForeverIsAllowed() throws {
    // On this platform a wait without end fails: nothing would ever happen.
    let harness = try Self.harness()
    #expect(harness.client.wait(timeout: -1) == .failed)
    let other = try ClientHarness()
    #expect(other.client.wait(timeout: -1) == .wouldWaitForever)
  }

  @Test func anOpenReservationHoldsBack() throws {
    let harness = try Self.harness()
    let topic = Array("a".utf8)
    var options = PublishOptions(cookie: 9, isQuiet: false)
    options.kind = .reserved
    _ = try harness.client.publish(
      Publish(topic: topic.span, payloadSize: 3, qos: .atLeastOnce, retain: false, properties: Span()),
      options,
      at: harness.now)
    try harness.submit("b", cookie: 1)
    _ = harness.client.service(at: harness.now)
    #expect(harness.client.submissionNumbers.waiting == 1)
    #expect(harness.client.nextTimeout(at: harness.now) != 0)
    try harness.client.abort()
    #expect(harness.client.nextTimeout(at: harness.now) == 0)
    _ = harness.client.service(at: harness.now)
    #expect(harness.client.submissionNumbers.waiting == 0)
    #expect(harness.client.outboxNumbers.ordinary.messages == 1)
  }

  // MARK: Expiry

  /// It counts from the moment at which the message was submitted.
  @Test(arguments: [false, true]) func expiresWhileItWaits(inProperties: Bool) throws {
    let harness = try Self.harness {
      $0.outboxMessages = 1
      $0.protocolVersion = 5
    }
    try harness.submit("a", cookie: 1)
    if inProperties {
      try harness.submit("a", cookie: 2, properties: [0x02, 0, 0, 0, 2])
      try harness.submit("a", cookie: 3, properties: [0x02, 0, 0, 0, 60])
    } else {
      try harness.submit("a", cookie: 2, expiry: 2)
      try harness.submit("a", cookie: 3, expiry: 60)
    }
    #expect(harness.run(3000).isEmpty)
    harness.connect()
    #expect(cookies(harness.run(100)) == [1, 2, 3])
    #expect(harness.client.outboxNumbers.expired.uint64 == 1)
    #expect(harness.client.outboxNumbers.delivered.uint64 == 2)
    let sent = harness.world.bodies.filter { $0[0] >> 4 == 3 }
    #expect(sent.count == 2)
    // Topic, identifier, length of the properties, then the Message Expiry Interval: what is left of it.
    #expect(Array(sent[1][7...]) == [5, 0x02, 0, 0, 0, 57])
  }

  /// The owner sleeps until a thread has submitted something.
  @Test func wakesTheOwner() throws {
    var linux = try Linux(SocketOptions.Stored())
    let harness = try ClientHarness(wakeUp: try linux.wakeUp()) { $0.submitMessages = 4 }
    func isWoken() -> Bool {
      guard case .ready(let ready) = linux.wait(timeout: 0) else { return false }
      return ready.isReadable(.wakeUp)
    }
    #expect(!isWoken())
    for cookie in 1...2 {
      try harness.submit("a", cookie: UInt64(cookie))
      #expect(isWoken())
      try harness.submit("a")
      // Once is enough until the owner has looked.
      #expect(!isWoken())
      _ = harness.client.service(at: harness.now)
    }
  }

  // MARK: What is refused

  /// Each outbox has its own size.
  @Test func urgentOnesHaveTheirOwnRoom() throws {
    for (urgent, ordinary) in [(64, 256), (256, 64)] as [(UInt32, UInt32)] {
      let harness = try Self.harness {
        $0.urgentMessages = 1
        $0.urgentBytes = urgent
        $0.outboxBytes = ordinary
      }
      let isUrgentTooLarge = error { () throws(SessionError) in
        try harness.submit("a", payload: 100, isUrgent: true)
      }
      let isTooLarge = error { () throws(SessionError) in try harness.submit("a", payload: 100) }
      #expect(isUrgentTooLarge == (urgent < 100 ? .tooLarge : nil))
      #expect(isTooLarge == (ordinary < 100 ? .tooLarge : nil))
    }
  }

  @Test func refusesAndChangesNothing() throws {
    let harness = try Self.harness {
      $0.submitBytes = 16
      $0.outboxBytes = 64
    }
    let large = try Self.harness { $0.outboxBytes = 64 }
    let modern = try Self.harness { $0.protocolVersion = 5 }
    let none = try ClientHarness()
    typealias Attempt = () throws(SessionError) -> Void
    let attempts: [(SessionError, Attempt)] = [
      (.notSupported, { () throws(SessionError) in try none.submit("a") }),
      (.notSupported, { () throws(SessionError) in try harness.submit("a", isUrgent: true) }),
      (.topicName, { () throws(SessionError) in try harness.submit("a/#") }),
      (.topicName, { () throws(SessionError) in try harness.submit("") }),
      (.utf8, { () throws(SessionError) in try harness.submit("a\0") }),
      (.tooLarge, { () throws(SessionError) in try harness.submit("a", payload: 16) }),
      (.tooLarge, { () throws(SessionError) in try harness.submit("12345678901234567") }),
      (.tooLarge, { () throws(SessionError) in try large.submit("a", payload: 58) }),
      (.option, { () throws(SessionError) in try harness.submit("a", properties: [0x01, 1]) }),
      (.property, { () throws(SessionError) in try modern.submit("a", properties: [0x01, 2]) }),
      (.property, { () throws(SessionError) in try modern.submit("a", properties: [0x23, 0, 1]) }),
      (
        .property,
        { () throws(SessionError) in try modern.submit("a", expiry: 1, properties: [0x02, 0, 0, 0, 1]) }
      ),
    ]
    for (expected, attempt) in attempts { #expect(error(attempt) == expected) }
    for harness in [harness, large, modern, none] {
      #expect(harness.client.submissionNumbers.waiting == 0)
      #expect(harness.client.submissionNumbers.taken.uint64 == 0)
    }
    try harness.submit("a", payload: 15)
    try large.submit("a", payload: 57)
    _ = large.client.service(at: large.now)
    #expect(large.client.outboxNumbers.ordinary.bytes == 64)
  }

  @Test(arguments: [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (65_536, 65_536)] as [(UInt32, Int)])
  func roundsUp(messages: UInt32, slots: Int) throws {
    var request = RequestedOptions()
    let host = Array("server".utf8)
    request.connection.host = host.span
    request.submitMessages = messages
    request.submitBytes = 16
    var plan = ArenaLayout()
    _ = ClientPlan(try ClientOptions(checking: request), in: &plan)
    request.submitMessages = 0
    var without = ArenaLayout()
    _ = ClientPlan(try ClientOptions(checking: request), in: &without)
    #expect(plan.byteCount - without.byteCount == (slots == 0 ? 0 : slots * 56 + 136))
  }

  @Test(
    arguments: [(65_537, 16), (4, 15), (4, 1_048_577), (512, 1_048_576), (257, 1_048_576)]
      as [(UInt32, UInt32)])
  func outOfRange(messages: UInt32, bytes: UInt32) {
    #expect(throws: OptionsError.self) {
      try Self.harness(messages: messages) { $0.submitBytes = bytes }
    }
  }
}
