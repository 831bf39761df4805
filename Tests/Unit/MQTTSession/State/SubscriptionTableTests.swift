import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

/// What was subscribed to survives a server that lost it.
@Suite struct SubscriptionTableTests {
  static func rig(
    _ version: ProtocolVersion = .v5_0, configure: (inout Rig.Options) -> Void = { _ in }
  ) -> Rig {
    let rig = Rig(version) {
      $0.subscriptions = 8
      configure(&$0)
    }
    rig.connect()
    _ = rig.events()
    return rig
  }

  /// Answers every SUBSCRIBE and UNSUBSCRIBE that is sent; returns what they are about.
  static func answer(_ rig: Rig, refusing refused: Set<String> = []) -> [String] {
    var asked: [String] = []
    var more = packets(rig.drain())
    while !more.isEmpty {
      for packet in more where packet[0] == 0x82 || packet[0] == 0xA2 {
        let version = rig.session.version
        let identifier = UInt16(packet[2]) << 8 | UInt16(packet[3])
        var position = version == .v5_0 ? 5 + Int(packet[4]) : 4
        var codes: [UInt8] = []
        while position < packet.count {
          let size = Int(packet[position]) << 8 | Int(packet[position + 1])
          let filter = String(decoding: packet[position + 2..<position + 2 + size], as: UTF8.self)
          position += 2 + size
          if packet[0] == 0x82 {
            asked.append("\(filter) \(packet[position])")
            position += 1
          } else {
            asked.append("-\(filter)")
          }
          codes.append(refused.contains(filter) ? 0x80 : 0)
        }
        rig.receive(
          packet[0] == 0x82 ? suback(version, identifier, codes) : unsuback(version, identifier, codes))
      }
      more = packets(rig.drain())
    }
    return asked
  }

  @Test(arguments: [
    (Resubscribing.ifLost, true, false), (.ifLost, false, true), (.always, true, true),
    (.always, false, true),
    (.never, false, false),
  ])
  func policies(policy: Resubscribing, sessionPresent: Bool, isRepeated: Bool) throws {
    for version in bothVersions {
      let rig = Self.rig(version) { $0.resubscribing = policy }
      try rig.subscribe(["a/+", "b"], qos: .exactlyOnce, cookie: 1)
      _ = Self.answer(rig)
      #expect(rig.events() == [.answered(1, [0, 0], refusal: nil)])
      for _ in 0..<3 {
        rig.reconnect(sessionPresent: sessionPresent)
        #expect(Self.answer(rig) == (isRepeated ? ["a/+ 2", "b 2"] : []))
        #expect(rig.events() == [.connected(sessionPresent: sessionPresent)])
        #expect(rig.isDrained)
      }
    }
  }

  /// 3.1 cannot say whether it has the session.
  @Test func in31() throws {
    let rig = Self.rig(.v3_1)
    try rig.subscribe(["a"])
    _ = Self.answer(rig)
    rig.reconnect(sessionPresent: false)
    #expect(Self.answer(rig) == ["a 0"])
  }

  /// Options and Subscription Identifier are as they were asked for last; what was unsubscribed from stays away.
  @Test func asAskedForLast() throws {
    let rig = Self.rig()
    let options = SubscriptionOptions(
      maximumQoS: .atLeastOnce, noLocal: true, retainAsPublished: true, retainHandling: .sendIfNew)
    try rig.subscribe(["a", "b", "c"], qos: .exactlyOnce)
    try rig.subscribe(Filters([("b", options)]), identifier: 300)
    try rig.unsubscribe(["c", "never"])
    _ = Self.answer(rig)
    _ = rig.events()
    rig.reconnect(sessionPresent: false)
    let sent = packets(rig.drain())
    #expect(
      sent == [
        packet(0x82, [0xFF, 0x03, 0, 0, 1, 0x61, 2]),
        packet(0x82, [0xFF, 0x04, 3, 0x0B, 0xAC, 0x02, 0, 1, 0x62, options.rawValue]),
      ])
  }

  /// What is not answered when the connection ends is sent by the request queue: not twice.
  @Test func notTwice() throws {
    let rig = Self.rig()
    try rig.subscribe(["a"], cookie: 1)
    _ = rig.drain()
    rig.reconnect(sessionPresent: false)
    #expect(Self.answer(rig) == ["a 0"])
    #expect(rig.events() == [.connected(sessionPresent: false), .answered(1, [0], refusal: nil)])
    // And what was being subscribed to again when it ended: once on the next, though that one has the session.
    rig.reconnect(sessionPresent: false)
    _ = rig.drain()
    rig.reconnect(sessionPresent: true)
    #expect(Self.answer(rig) == ["a 0"])
    rig.reconnect(sessionPresent: true)
    #expect(Self.answer(rig) == [])
  }

  /// A refusal ends it: at once in its completion, later in an event of its own.
  @Test func refusals() throws {
    let rig = Self.rig()
    try rig.subscribe(["a", "b", "c"], cookie: 1)
    _ = Self.answer(rig, refusing: ["b"])
    #expect(rig.events() == [.answered(1, [0, 0x80, 0], refusal: 0x80)])
    rig.reconnect(sessionPresent: false)
    #expect(Self.answer(rig, refusing: ["a"]) == ["a 0", "c 0"])
    #expect(rig.events() == [.connected(sessionPresent: false), .subscriptionLost("a", 0x80)])
    #expect(!rig.hasEvent)
    rig.reconnect(sessionPresent: false)
    #expect(Self.answer(rig, refusing: ["c"]) == ["c 0"])
    // The application may ask once more before the event is released.
    #expect(rig.event() == .connected(sessionPresent: false))
    #expect(rig.event() == .subscriptionLost("c", 0x80))
    try rig.subscribe(["c"])
    #expect(Self.answer(rig) == ["c 0"])
    _ = rig.events()
    rig.reconnect(sessionPresent: false)
    #expect(Self.answer(rig) == ["c 0"])
  }

  /// A server that cannot do it any more.
  @Test func limits() throws {
    let rig = Self.rig()
    try rig.subscribe(["a/#", "b"])
    _ = Self.answer(rig)
    _ = rig.events()
    rig.lose()
    rig.connect(properties: wildcardAvailable(0))
    #expect(Self.answer(rig) == ["b 0"])
    #expect(rig.events() == [.connected(sessionPresent: false), .subscriptionLost("a/#", 0x83)])
  }

  /// An answer that cannot be read: there is an event, unless the application has lost interest.
  @Test(arguments: [true, false])
  func unreadable(isWanted: Bool) throws {
    let rig = Self.rig()
    try rig.subscribe(["a"])
    _ = Self.answer(rig)
    _ = rig.events()
    rig.reconnect(sessionPresent: false)
    _ = rig.events()
    _ = rig.drain()
    if !isWanted { try rig.unsubscribe(["a"], cookie: 7) }
    rig.receive(suback(.v5_0, 65_281, [0, 0]))
    #expect(rig.ending?.cause == .violation(.reasonCodeCount))
    #expect(rig.hasEvent == isWanted)
    #expect(rig.events() == (isWanted ? [.subscriptionLost("a", 0x83)] : []))
    rig.reconnect(sessionPresent: false)
    #expect(Self.answer(rig) == (isWanted ? [] : ["-a"]))
  }

  /// More than the request queue holds follow as it has room, and the application's own go between them.
  @Test func moreThanTheQueueHolds() throws {
    let rig = Self.rig {
      $0.requests = 2
      $0.subscriptions = 40
      $0.subscriptionBytes = 400
    }
    for number in 0..<40 {
      try rig.subscribe(["f/\(number)"])
      _ = Self.answer(rig)
      _ = rig.events()
    }
    rig.reconnect(sessionPresent: false)
    #expect(packets(rig.drain()).count == 2)
    #expect(!rig.wantsTransmit)
    rig.reconnect(sessionPresent: false)
    #expect(Self.answer(rig) == (0..<40).map { "f/\($0) 0" })
    #expect(rig.isDrained)
  }

  /// Full is an answer before anything is asked for; what is there already takes no room.
  @Test func full() throws {
    let rig = Self.rig {
      $0.subscriptions = 2
      $0.subscriptionBytes = 10
    }
    try rig.subscribe(["12345"])
    #expect(throws: SessionError.full) { try rig.subscribe(["a", "b"]) }
    #expect(throws: SessionError.full) { try rig.subscribe(["123456"]) }
    try rig.subscribe(["12345", "67890"])
    try rig.unsubscribe(["12345"])
    try rig.subscribe(["abcde"])
    _ = Self.answer(rig)
    _ = rig.events()
    rig.reconnect(sessionPresent: false)
    #expect(Self.answer(rig).sorted() == ["67890 0", "abcde 0"])
  }

  /// Random calls, answers and connections: what is subscribed to again is what a list in the simplest form says.
  @Test func randomRuns() throws {
    for seed in UInt64(0)..<400 {
      var random = SeededRandom(seed: seed)
      let rig = Self.rig(random.percent(50) ? .v5_0 : .v3_1_1) {
        $0.requests = 3
        $0.subscriptions = 5
        $0.subscriptionBytes = 24
      }
      var wanted: [String: UInt8] = [:]
      let filters = ["a", "b/+", "ccc", "d/#", "eeeeeee", "f", "+"]
      for _ in 0..<60 {
        let filter = filters[random.below(filters.count)]
        switch random.below(10) {
        case 0..<5:
          let qos = allQoS[random.below(3)]
          do throws(SessionError) {
            try rig.subscribe([filter], qos: qos)
            let refused = random.percent(20)
            wanted[filter] = refused ? nil : qos.rawValue
            _ = Self.answer(rig, refusing: refused ? [filter] : [])
          } catch {}
        case 5..<7:
          try rig.unsubscribe([filter])
          wanted[filter] = nil
          _ = Self.answer(rig)
        default:
          let isLost = random.percent(60)
          rig.reconnect(sessionPresent: !isLost)
          let refused = random.percent(20) ? filter : ""
          let expected = isLost ? wanted.map { "\($0.key) \($0.value)" }.sorted() : []
          #expect(Self.answer(rig, refusing: [refused]).sorted() == expected, "seed \(seed)")
          if isLost { wanted[refused] = nil }
        }
        _ = rig.events()
        let bytes = wanted.keys.reduce(0) { $0 + $1.utf8.count }
        #expect(wanted.count <= 5 && bytes <= 24)
      }
    }
  }
}
