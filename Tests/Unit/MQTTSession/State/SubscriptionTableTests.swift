import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// What was subscribed to survives a server that lost it.
@Suite struct SubscriptionTableTests {
  static func harness(
    _ version: ProtocolVersion = .v5_0, configure: (inout SessionHarness.Options) -> Void = { _ in }
  ) -> SessionHarness {
    let harness = SessionHarness(version) {
      $0.subscriptions = 8
      configure(&$0)
    }
    harness.connect()
    _ = harness.events()
    return harness
  }

  /// Answers every SUBSCRIBE and UNSUBSCRIBE that is sent; returns what they are about.
  static func answer(_ harness: SessionHarness, refusing refused: Set<String> = []) -> [String] {
    var asked: [String] = []
    var more = packets(harness.drain())
    while !more.isEmpty {
      for packet in more where packet[0] == 0x82 || packet[0] == 0xA2 {
        let version = harness.session.version
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
        harness.receive(
          packet[0] == 0x82 ? suback(version, identifier, codes) : unsuback(version, identifier, codes))
      }
      more = packets(harness.drain())
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
      let harness = Self.harness(version) { $0.resubscribing = policy }
      try harness.subscribe(["a/+", "b"], qos: .exactlyOnce, cookie: 1)
      _ = Self.answer(harness)
      #expect(harness.events() == [.answered(1, [0, 0], refusal: nil)])
      for _ in 0..<3 {
        harness.reconnect(sessionPresent: sessionPresent)
        #expect(Self.answer(harness) == (isRepeated ? ["a/+ 2", "b 2"] : []))
        #expect(harness.events() == [.connected(sessionPresent: sessionPresent)])
        #expect(harness.isDrained)
      }
    }
  }

  /// 3.1 cannot say whether it has the session.
  @Test func in31() throws {
    let harness = Self.harness(.v3_1)
    try harness.subscribe(["a"])
    _ = Self.answer(harness)
    harness.reconnect(sessionPresent: false)
    #expect(Self.answer(harness) == ["a 0"])
  }

  /// Options and Subscription Identifier are as they were asked for last; what was unsubscribed from stays away.
  @Test func asAskedForLast() throws {
    let harness = Self.harness()
    let options = SubscriptionOptions(
      maximumQoS: .atLeastOnce, noLocal: true, retainAsPublished: true, retainHandling: .sendIfNew)
    try harness.subscribe(["a", "b", "c"], qos: .exactlyOnce)
    try harness.subscribe(Filters([("b", options)]), identifier: 300)
    try harness.unsubscribe(["c", "never"])
    _ = Self.answer(harness)
    _ = harness.events()
    harness.reconnect(sessionPresent: false)
    let sent = packets(harness.drain())
    #expect(
      sent == [
        packet(0x82, [0xFF, 0x03, 0, 0, 1, 0x61, 2]),
        packet(0x82, [0xFF, 0x04, 3, 0x0B, 0xAC, 0x02, 0, 1, 0x62, options.rawValue]),
      ])
  }

  /// What is not answered when the connection ends is sent by the request queue: not twice.
  @Test func notTwice() throws {
    let harness = Self.harness()
    try harness.subscribe(["a"], cookie: 1)
    _ = harness.drain()
    harness.reconnect(sessionPresent: false)
    #expect(Self.answer(harness) == ["a 0"])
    #expect(harness.events() == [.connected(sessionPresent: false), .answered(1, [0], refusal: nil)])
    // And what was being subscribed to again when it ended: once on the next, though that one has the session.
    harness.reconnect(sessionPresent: false)
    _ = harness.drain()
    harness.reconnect(sessionPresent: true)
    #expect(Self.answer(harness) == ["a 0"])
    harness.reconnect(sessionPresent: true)
    #expect(Self.answer(harness) == [])
  }

  /// A refusal ends it: at once in its completion, later in an event of its own.
  @Test func refusals() throws {
    let harness = Self.harness()
    try harness.subscribe(["a", "b", "c"], cookie: 1)
    _ = Self.answer(harness, refusing: ["b"])
    #expect(harness.events() == [.answered(1, [0, 0x80, 0], refusal: 0x80)])
    harness.reconnect(sessionPresent: false)
    #expect(Self.answer(harness, refusing: ["a"]) == ["a 0", "c 0"])
    #expect(harness.events() == [.connected(sessionPresent: false), .subscriptionLost("a", 0x80)])
    #expect(!harness.hasEvent)
    harness.reconnect(sessionPresent: false)
    #expect(Self.answer(harness, refusing: ["c"]) == ["c 0"])
    // The application may ask once more before the event is released.
    #expect(harness.event() == .connected(sessionPresent: false))
    #expect(harness.event() == .subscriptionLost("c", 0x80))
    try harness.subscribe(["c"])
    #expect(Self.answer(harness) == ["c 0"])
    _ = harness.events()
    harness.reconnect(sessionPresent: false)
    #expect(Self.answer(harness) == ["c 0"])
  }

  /// A server that cannot do it any more.
  @Test func limits() throws {
    let harness = Self.harness()
    try harness.subscribe(["a/#", "b"])
    _ = Self.answer(harness)
    _ = harness.events()
    harness.lose()
    harness.connect(properties: wildcardAvailable(0))
    #expect(Self.answer(harness) == ["b 0"])
    #expect(harness.events() == [.connected(sessionPresent: false), .subscriptionLost("a/#", 0x83)])
  }

  /// An answer that cannot be read: there is an event, unless the application has lost interest.
  @Test(arguments: [true, false])
  func unreadable(isWanted: Bool) throws {
    let harness = Self.harness()
    try harness.subscribe(["a"])
    _ = Self.answer(harness)
    _ = harness.events()
    harness.reconnect(sessionPresent: false)
    _ = harness.events()
    _ = harness.drain()
    if !isWanted { try harness.unsubscribe(["a"], cookie: 7) }
    harness.receive(suback(.v5_0, 65_281, [0, 0]))
    #expect(harness.ending?.cause == .violation(.reasonCodeCount))
    #expect(harness.hasEvent == isWanted)
    #expect(harness.events() == (isWanted ? [.subscriptionLost("a", 0x83)] : []))
    harness.reconnect(sessionPresent: false)
    #expect(Self.answer(harness) == (isWanted ? [] : ["-a"]))
  }

  /// More than the request queue holds follow as it has room, and the application's own go between them.
  @Test func moreThanTheQueueHolds() throws {
    let harness = Self.harness {
      $0.requests = 2
      $0.subscriptions = 40
      $0.subscriptionBytes = 400
    }
    for number in 0..<40 {
      try harness.subscribe(["f/\(number)"])
      _ = Self.answer(harness)
      _ = harness.events()
    }
    harness.reconnect(sessionPresent: false)
    #expect(packets(harness.drain()).count == 2)
    #expect(!harness.wantsTransmit)
    harness.reconnect(sessionPresent: false)
    #expect(Self.answer(harness) == (0..<40).map { "f/\($0) 0" })
    #expect(harness.isDrained)
  }

  /// Full is an answer before anything is asked for; what is there already takes no room.
  @Test func full() throws {
    let harness = Self.harness {
      $0.subscriptions = 2
      $0.subscriptionBytes = 10
    }
    try harness.subscribe(["12345"])
    #expect(throws: SessionError.full) { try harness.subscribe(["a", "b"]) }
    #expect(throws: SessionError.full) { try harness.subscribe(["123456"]) }
    try harness.subscribe(["12345", "67890"])
    try harness.unsubscribe(["12345"])
    try harness.subscribe(["abcde"])
    _ = Self.answer(harness)
    _ = harness.events()
    harness.reconnect(sessionPresent: false)
    #expect(Self.answer(harness).sorted() == ["67890 0", "abcde 0"])
  }

  /// Random calls, answers and connections: what is subscribed to again is what a list in the simplest form says.
  @Test func randomRuns() throws {
    for seed in UInt64(0)..<400 {
      var random = SeededRandom(seed: seed)
      let harness = Self.harness(random.percent(50) ? .v5_0 : .v3_1_1) {
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
            try harness.subscribe([filter], qos: qos)
            let refused = random.percent(20)
            wanted[filter] = refused ? nil : qos.rawValue
            _ = Self.answer(harness, refusing: refused ? [filter] : [])
          } catch {}
        case 5..<7:
          try harness.unsubscribe([filter])
          wanted[filter] = nil
          _ = Self.answer(harness)
        default:
          let isLost = random.percent(60)
          harness.reconnect(sessionPresent: !isLost)
          let refused = random.percent(20) ? filter : ""
          let expected = isLost ? wanted.map { "\($0.key) \($0.value)" }.sorted() : []
          #expect(Self.answer(harness, refusing: [refused]).sorted() == expected, "seed \(seed)")
          if isLost { wanted[refused] = nil }
        }
        _ = harness.events()
        let bytes = wanted.keys.reduce(0) { $0 + $1.utf8.count }
        #expect(wanted.count <= 5 && bytes <= 24)
      }
    }
  }

  /// The table beside a list of its entries: what is there, in which state, and which is the first of a state.
  @Test(arguments: [1, 8, 16, 17, 60])
  func againstAList(capacity: Int) {
    var found = [0, 0]
    for seed in UInt64(0)..<100 {
      var random = SeededRandom(seed: seed)
      let bytes = capacity * 6
      var layout = ArenaLayout()
      let plan = SubscriptionTable.Plan(entries: capacity, bytes: bytes, in: &layout)
      let memory = UnsafeMutableRawPointer.allocate(
        byteCount: layout.byteCount, alignment: ArenaLayout.alignment)
      defer { memory.deallocate() }
      memory.initializeMemory(as: UInt8.self, repeating: 1, count: layout.byteCount)
      var table = SubscriptionTable(plan, in: Arena(start: memory))
      var entries: [String: (state: SubscriptionTable.State, identifier: UInt32, code: UInt8)] = [:]
      func text(_ slot: Int) -> String {
        let text = table.bytes.extracting(table.filter(slot).range)
        return String(decoding: (0..<text.count).map { text[$0] }, as: UTF8.self)
      }
      for step in 0..<400 {
        let filter = "f/\(random.below(2 * capacity))"
        let filterBytes = Array(filter.utf8)
        switch random.below(100) {
        case 0..<35:
          let options = SubscriptionOptions(maximumQoS: .atLeastOnce)
          let hasRoom = table.hasRoom(for: Filters([(filter, options)]))
          let used = entries.keys.reduce(0) { $0 + $1.utf8.count }
          let expected =
            entries[filter] != nil || (entries.count < capacity && used + filterBytes.count <= bytes)
          #expect(hasRoom == expected)
          guard hasRoom else { continue }
          table.add(filterBytes.span, options, identifier: UInt32(step))
          entries[filter] = (.subscribing, UInt32(step), 0)
        case 35..<50:
          table.remove(filterBytes.span)
          entries[filter] = nil
        case 50..<70:
          let isRefused = random.percent(20)
          table.acknowledged(filterBytes.span, isRefused: isRefused)
          if entries[filter]?.state == .subscribing {
            if isRefused { entries[filter] = nil } else { entries[filter]!.state = .granted }
          }
        case 70..<73:
          table.sessionLost()
          for (filter, entry) in entries where entry.state == .granted { entries[filter]!.state = .lost }
        case 73..<76:
          table.connectionLost()
          for (filter, entry) in entries where entry.state == .resubscribing {
            entries[filter]!.state = .lost
          }
        case 76..<88:
          guard let slot = table.firstLost else { continue }
          found[0] += 1
          #expect(entries[text(slot)]?.state == .lost)
          table.markResubscribing(slot)
          entries[text(slot)]!.state = .resubscribing
        case 88..<92:
          table.refuse(filterBytes.span, 0x87)
          if let state = entries[filter]?.state, state == .lost || state == .resubscribing {
            entries[filter]!.state = .refused
            entries[filter]!.code = 0x87
          }
        case 92..<96:
          table.grant(filterBytes.span)
          if entries[filter]?.state == .resubscribing { entries[filter]!.state = .granted }
        default:
          guard let slot = table.firstRefused else { continue }
          found[1] += 1
          #expect(table[slot].reasonCode == 0x87)
          entries[text(slot)] = nil
          table.forget(slot)
        }
        var slots: [SubscriptionTable.State: [Int]] = [:]
        for slot in 0..<capacity where table[slot].state != .free {
          let entry = entries[text(slot)]
          #expect(entry?.state == table[slot].state && entry?.identifier == table[slot].identifier)
          slots[table[slot].state, default: []].append(slot)
        }
        let hasAll = table.count == entries.count && slots.values.reduce(0) { $0 + $1.count } == entries.count
        let isFirst = table.firstLost == slots[.lost]?.first && table.firstRefused == slots[.refused]?.first
        if !hasAll || !isFirst {
          Issue.record("seed \(seed), step \(step): \(slots), \(entries)")
          return
        }
      }
    }
    #expect(found[0] > 50 && found[1] > 5, "\(found)")
  }
}
