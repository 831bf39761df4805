import Driver
import MQTTSession
import MQTTWire
import Platform
import Storage
import Testing

@testable import MQTTClient

/// What becomes of messages that other threads submit. The threads themselves are in MPSCQueueTests and Tests/Threads.
@Suite struct SubmittingTests {
  static func rig(
    _ world: World = World(), messages: UInt32 = 4, configure: (inout RequestedOptions) -> Void = { _ in }
  ) throws -> ClientRig {
    try ClientRig(world) {
      $0.submitMessages = messages
      configure(&$0)
    }
  }

  private func cookies(_ told: [Told]) -> [UInt64] {
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
    let rig = try Self.rig()
    for cookie in 1...4 {
      try rig.submit("a", qos: cookie == 2 ? .atMostOnce : .atLeastOnce, cookie: UInt64(cookie))
    }
    #expect(rig.client.nextTimeout(at: rig.now) == 0)
    rig.connect()
    let told = rig.run(100)
    #expect(cookies(told).sorted() == [1, 2, 3, 4])
    #expect(rig.world.packets.map { $0.first }.filter { $0 >> 4 == 3 } == [0x32, 0x30, 0x32, 0x32])
    #expect(rig.client.submissionNumbers.taken.uint64 == 4)
    #expect(rig.client.submissionNumbers.waiting == 0)
    #expect(rig.client.submissionNumbers.peak == 4)
    #expect(rig.client.nextTimeout(at: rig.now) != 0)
  }

  /// The outbox is full: the rest waits, then submitting is refused. Nobody is told that there is room who was not told
  /// that there was none; and a client that can do nothing does nothing.
  @Test func backPressure() throws {
    let rig = try Self.rig { $0.outboxMessages = 2 }
    for cookie in 1...4 { try rig.submit("a", cookie: UInt64(cookie)) }
    #expect(error { () throws(SessionError) in try rig.submit("a") } == .full)
    #expect(rig.run(10).isEmpty)
    #expect(rig.client.submissionNumbers.waiting == 2)
    for cookie in 5...6 { try rig.submit("a", cookie: UInt64(cookie)) }
    #expect(error { () throws(SessionError) in try rig.submit("a") } == .full)
    #expect(rig.run(10).isEmpty)
    #expect(rig.client.submissionNumbers.waiting == 4)
    #expect(rig.client.submissionNumbers.refused.uint64 == 2)
    #expect(rig.client.nextTimeout(at: rig.now) != 0)
    let before = rig.world.wakeUps
    #expect(rig.run(1000).isEmpty)
    #expect(rig.world.wakeUps - before < 5)
    rig.connect()
    let told = rig.run(100)
    #expect(cookies(told) == [1, 2, 3, 4, 5, 6])
    #expect(told.allSatisfy { $0.what != .other })
  }

  /// At the brim of descriptors nothing can be dropped that is to be reported: what would make room waits, and does not
  /// keep the client busy.
  @Test func nothingToDrop() throws {
    let rig = try Self.rig { $0.outboxMessages = 2 }
    for cookie in 1...3 { try rig.submit("a", cookie: UInt64(cookie), overflow: .dropOldest) }
    _ = rig.client.service(at: rig.now)
    #expect(rig.client.submissionNumbers.waiting == 1)
    try #require(rig.client.nextTimeout(at: rig.now) != 0)
    rig.connect()
    #expect(cookies(rig.run(100)) == [1, 2, 3])
  }

  /// However much is submitted, other things get their turn.
  @Test func aTurnIsBounded() throws {
    let rig = try Self.rig(messages: 1024) {
      $0.outboxMessages = 2000
      $0.outboxBytes = 100_000
    }
    for _ in 0..<1024 { try rig.submit("a") }
    var turns = 0
    while rig.client.submissionNumbers.waiting > 0 {
      let before = rig.client.submissionNumbers.waiting
      #expect(rig.client.nextTimeout(at: rig.now) == 0)
      _ = rig.client.service(at: rig.now)
      #expect(before - rig.client.submissionNumbers.waiting == 256)
      turns += 1
    }
    #expect(turns == 4)
    #expect(rig.client.outboxNumbers.ordinary.messages == 1024)
  }

  /// `wait` goes on with what the first turn has left.
  @Test func waitTakesAll() throws {
    let rig = try Self.rig(messages: 1024) {
      $0.outboxMessages = 2000
      $0.outboxBytes = 100_000
    }
    for _ in 0..<1000 { try rig.submit("a") }
    #expect(rig.run(5).isEmpty)
    #expect(rig.client.outboxNumbers.ordinary.messages == 1000)
  }

  // MARK: Leaving

  /// What was submitted before is delivered first, though the outbox takes one at a time.
  @Test func leavingWaitsForWhatWasSubmitted() throws {
    let rig = try Self.rig(messages: 8) { $0.outboxMessages = 1 }
    rig.connect()
    _ = rig.run(10)
    for cookie in 1...4 { try rig.submit("a", cookie: UInt64(cookie)) }
    try rig.disconnect(drain: 1000)
    try rig.submit("a", cookie: 5)
    let told = rig.run(50)
    #expect(cookies(told) == [1, 2, 3, 4])
    #expect(told.last?.what == .disconnected(.requested, .none, retry: nil))
    #expect(rig.world.packets.last?.first == 0xE0)
    // What came too late is there for the next connection.
    #expect(rig.state == .disconnected)
    rig.connect()
    #expect(cookies(rig.run(50)) == [5])
  }

  @Test func leavingInAHurryWaitsForNothing() throws {
    let rig = try Self.rig { $0.outboxMessages = 1 }
    let world = rig.world
    world.server.ignores = [3]
    rig.connect()
    _ = rig.run(10)
    for cookie in 1...4 { try rig.submit("a", cookie: UInt64(cookie)) }
    try rig.disconnect(drain: 100)
    let told = rig.run(3000)
    #expect(cookies(told) == [])
    #expect(told.count == 1)
    #expect(told.first?.what == .disconnected(.requested, .none, retry: nil))
    #expect(rig.client.submissionNumbers.waiting == 3)
    #expect(rig.client.outboxNumbers.ordinary.messages == 1)
    world.server.ignores = []
    rig.connect()
    #expect(cookies(rig.run(50)) == [1, 2, 3, 4])
  }

  // MARK: Waiting

  @Test func waitingForEverIsNotPointless() throws {
    // On this platform a wait without end fails: nothing would ever happen.
    let rig = try Self.rig()
    #expect(rig.client.wait(timeout: -1) == .failed)
    let other = try ClientRig()
    #expect(other.client.wait(timeout: -1) == .wouldWaitForever)
  }

  @Test func anOpenReservationHoldsBack() throws {
    let rig = try Self.rig()
    let topic = Array("a".utf8)
    var handling = PublishOptions(cookie: 9, isQuiet: false)
    handling.kind = .reserved
    _ = try rig.client.publish(
      Publish(topic: topic.span, payloadSize: 3, qos: .atLeastOnce, retain: false, properties: Span()),
      handling,
      at: rig.now)
    try rig.submit("b", cookie: 1)
    _ = rig.client.service(at: rig.now)
    #expect(rig.client.submissionNumbers.waiting == 1)
    #expect(rig.client.nextTimeout(at: rig.now) != 0)
    try rig.client.abort()
    #expect(rig.client.nextTimeout(at: rig.now) == 0)
    _ = rig.client.service(at: rig.now)
    #expect(rig.client.submissionNumbers.waiting == 0)
    #expect(rig.client.outboxNumbers.ordinary.messages == 1)
  }

  // MARK: Expiry

  /// It counts from the moment at which the message was submitted.
  @Test(arguments: [false, true]) func expiresWhileItWaits(inProperties: Bool) throws {
    let rig = try Self.rig {
      $0.outboxMessages = 1
      $0.protocolVersion = 5
    }
    try rig.submit("a", cookie: 1)
    if inProperties {
      try rig.submit("a", cookie: 2, properties: [0x02, 0, 0, 0, 2])
      try rig.submit("a", cookie: 3, properties: [0x02, 0, 0, 0, 60])
    } else {
      try rig.submit("a", cookie: 2, expiry: 2)
      try rig.submit("a", cookie: 3, expiry: 60)
    }
    #expect(rig.run(3000).isEmpty)
    rig.connect()
    #expect(cookies(rig.run(100)) == [1, 2, 3])
    #expect(rig.client.outboxNumbers.expired.uint64 == 1)
    #expect(rig.client.outboxNumbers.delivered.uint64 == 2)
    let sent = rig.world.bodies.filter { $0[0] >> 4 == 3 }
    #expect(sent.count == 2)
    // Topic, identifier, length of the properties, then the Message Expiry Interval: what is left of it.
    #expect(Array(sent[1][7...]) == [5, 0x02, 0, 0, 0, 57])
  }

  /// The owner sleeps until a thread has been at its door.
  @Test func wakesTheOwner() throws {
    var linux = try Linux(userTimeout: 0)
    let rig = try ClientRig(wakeUp: try linux.wakeUp()) { $0.submitMessages = 4 }
    func isWoken() -> Bool {
      guard case .ready(let ready) = linux.wait(timeout: 0) else { return false }
      return ready.isReadable(.wakeUp)
    }
    #expect(!isWoken())
    for cookie in 1...2 {
      try rig.submit("a", cookie: UInt64(cookie))
      #expect(isWoken())
      try rig.submit("a")
      // Once is enough until the owner has looked.
      #expect(!isWoken())
      _ = rig.client.service(at: rig.now)
    }
  }

  // MARK: What is refused

  /// Each outbox has its own size.
  @Test func urgentOnesHaveTheirOwnRoom() throws {
    for (urgent, ordinary) in [(64, 256), (256, 64)] as [(UInt32, UInt32)] {
      let rig = try Self.rig {
        $0.urgentMessages = 1
        $0.urgentBytes = urgent
        $0.outboxBytes = ordinary
      }
      let isUrgentTooLarge = error { () throws(SessionError) in
        try rig.submit("a", payload: 100, isUrgent: true)
      }
      let isTooLarge = error { () throws(SessionError) in try rig.submit("a", payload: 100) }
      #expect(isUrgentTooLarge == (urgent < 100 ? .tooLarge : nil))
      #expect(isTooLarge == (ordinary < 100 ? .tooLarge : nil))
    }
  }

  @Test func refusesAndChangesNothing() throws {
    let rig = try Self.rig {
      $0.submitBytes = 16
      $0.outboxBytes = 64
    }
    let large = try Self.rig { $0.outboxBytes = 64 }
    let modern = try Self.rig { $0.protocolVersion = 5 }
    let none = try ClientRig()
    typealias Attempt = () throws(SessionError) -> Void
    let attempts: [(SessionError, Attempt)] = [
      (.notSupported, { () throws(SessionError) in try none.submit("a") }),
      (.notSupported, { () throws(SessionError) in try rig.submit("a", isUrgent: true) }),
      (.topicName, { () throws(SessionError) in try rig.submit("a/#") }),
      (.topicName, { () throws(SessionError) in try rig.submit("") }),
      (.utf8, { () throws(SessionError) in try rig.submit("a\0") }),
      (.tooLarge, { () throws(SessionError) in try rig.submit("a", payload: 16) }),
      (.tooLarge, { () throws(SessionError) in try rig.submit("12345678901234567") }),
      (.tooLarge, { () throws(SessionError) in try large.submit("a", payload: 58) }),
      (.option, { () throws(SessionError) in try rig.submit("a", properties: [0x01, 1]) }),
      (.property, { () throws(SessionError) in try modern.submit("a", properties: [0x01, 2]) }),
      (.property, { () throws(SessionError) in try modern.submit("a", properties: [0x23, 0, 1]) }),
      (
        .property,
        { () throws(SessionError) in try modern.submit("a", expiry: 1, properties: [0x02, 0, 0, 0, 1]) }
      ),
    ]
    for (expected, attempt) in attempts { #expect(error(attempt) == expected) }
    for rig in [rig, large, modern, none] {
      #expect(rig.client.submissionNumbers.waiting == 0)
      #expect(rig.client.submissionNumbers.taken.uint64 == 0)
    }
    try rig.submit("a", payload: 15)
    try large.submit("a", payload: 57)
    _ = large.client.service(at: large.now)
    #expect(large.client.outboxNumbers.ordinary.bytes == 64)
  }

  @Test(arguments: [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (65_536, 65_536)] as [(UInt32, Int)])
  func roundsUp(messages: UInt32, slots: Int) throws {
    var request = RequestedOptions()
    let host = Array("server".utf8)
    request.host = host.span
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
      try Self.rig(messages: messages) { $0.submitBytes = bytes }
    }
  }
}
