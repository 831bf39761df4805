import MQTTWire
import Storage
import TestSupport
import Testing

@testable import SwiftMQTT

/// `smq_handle` and `smq_next_match`: which entry does a topic find?
@Suite struct HandlerTableTests {
  /// A table in memory of its own, beside what it should have in it.
  final class Pair {
    private let memory: UnsafeMutableRawPointer
    private var table: HandlerTable
    let bytes: Int
    private(set) var filters: [String?]
    private(set) var users: [UInt]

    init(entries: Int, bytes: Int) {
      var layout = ArenaLayout()
      let plan = HandlerTable.Plan(entries: entries, bytes: bytes, in: &layout)
      memory = .allocate(byteCount: max(layout.byteCount, 1), alignment: ArenaLayout.alignment)
      memory.initializeMemory(as: UInt8.self, repeating: 1, count: layout.byteCount)
      table = HandlerTable(plan, in: Arena(start: memory))
      self.bytes = bytes
      self.filters = [String?](repeating: nil, count: entries)
      users = [UInt](repeating: 0, count: entries)
    }

    deinit { memory.deallocate() }

    /// What the table answers; the model follows if it has taken it.
    func set(_ index: UInt32, _ filter: String, user: UInt = 0) -> HandlerTable.Fault? {
      let bytes = Array(filter.utf8)
      do throws(HandlerTable.Fault) {
        try table.set(
          index, filter: bytes.span, handler: HandlerTable.Handler(function: user &+ 1, user: user))
      } catch {
        return error
      }
      filters[Int(index)] = filter.isEmpty ? nil : filter
      users[Int(index)] = user
      return nil
    }

    /// Every entry that matches, one after the other.
    func matches(_ topic: String) -> [Int] {
      let bytes = Array(topic.utf8)
      var matches: [Int] = []
      var last = -1
      while let next = table.firstMatch(bytes.span, after: last) {
        matches.append(next)
        last = next
      }
      return matches
    }

    func expected(_ topic: String) -> [Int] {
      filters.indices.filter { index in filters[index].map { Self.matches($0, topic) } ?? false }
    }

    var shapeCount: Int { table.shapeCount }
    var shapeless: Int { table.shapeless }

    func user(_ index: Int) -> UInt { table[index].user }
    func function(_ index: Int) -> UInt { table[index].function }

    /// §4.7, in the plainest way.
    static func matches(_ filter: String, _ topic: String) -> Bool {
      var levels = filter.split(separator: "/", omittingEmptySubsequences: false)
      if levels[0] == "$share" { levels.removeFirst(2) }
      let names = topic.split(separator: "/", omittingEmptySubsequences: false)
      if topic.hasPrefix("$"), levels[0] == "+" || levels[0] == "#" { return false }
      for (index, level) in levels.enumerated() {
        if level == "#" { return true }
        if index >= names.count { return false }
        if level != "+" && level != names[index] { return false }
      }
      return levels.count == names.count
        || (levels.count == names.count + 1 && levels.last == "#")
    }
  }

  @Test func inTheOrderOfTheTable() {
    let pair = Pair(entries: 5, bytes: 100)
    for (index, filter) in ["a/b", "a/+", "#", "$share/g/a/b", "c"].enumerated() {
      #expect(pair.set(UInt32(index), filter, user: UInt(index) * 10) == nil)
    }
    #expect(pair.matches("a/b") == [0, 1, 2, 3])
    #expect(pair.matches("a") == [2])
    #expect(pair.matches("c") == [2, 4])
    #expect(pair.matches("$SYS/x") == [])
    #expect(pair.user(4) == 40 && pair.function(4) == 41)
    #expect(pair.set(1, "") == nil)
    #expect(pair.matches("a/b") == [0, 2, 3])
    #expect(pair.set(0, "x/y/z", user: 7) == nil)
    #expect(pair.matches("a/b") == [2, 3])
    #expect(pair.matches("x/y/z") == [0, 2])
    #expect(pair.user(0) == 7)
  }

  @Test func wrongCalls() {
    let pair = Pair(entries: 2, bytes: 20)
    #expect(pair.set(0, "keep") == nil)
    for filter in ["a#", "#/a", "a+/b", "$share/g", "$share//x"] {
      #expect(pair.set(0, filter) == .topicFilter, "\(filter)")
      #expect(pair.set(1, filter) == .topicFilter, "\(filter)")
    }
    #expect(pair.set(0, "a\0") == .utf8)
    for index: UInt32 in [2, 3, .max] {
      #expect(pair.set(index, "a") == .index)
      #expect(pair.set(index, "") == .index)
    }
    #expect(pair.matches("keep") == [0])
    let none = Pair(entries: 0, bytes: 0)
    #expect(none.set(0, "a") == .index)
    #expect(none.matches("a") == [])
  }

  /// What is replaced makes room for what replaces it.
  @Test func full() {
    let pair = Pair(entries: 3, bytes: 10)
    #expect(pair.set(0, "12345") == nil)
    #expect(pair.set(1, "123456") == .full)
    #expect(pair.set(1, "12345678901") == .tooLarge)
    #expect(pair.set(1, "67890") == nil)
    #expect(pair.set(2, "x") == .full)
    #expect(pair.set(0, "54321") == nil)
    #expect(pair.set(0, "123456") == .full)
    #expect(pair.matches("54321") == [0])
    #expect(pair.set(1, "") == nil)
    #expect(pair.set(0, "1234567890") == nil)
    #expect(pair.matches("1234567890") == [0])
  }

  /// Random filters set, replaced and cleared, against a plain array.
  @Test(arguments: [(1, 8), (2, 12), (4, 20), (16, 50), (17, 60), (40, 120)])
  func randomRuns(entries: Int, bytes: Int) {
    let filters = [
      "", "a", "b", "a/b", "a/+", "+/b", "#", "a/#", "+", "+/+", "a/b/c", "/a", "a/", "$share/g/a",
      "$share/g/#",
      "$SYS/#", "a/b/c/d/e/f",
    ]
    let topics = ["a", "b", "a/b", "a/c", "c/b", "a/b/c", "/a", "a/", "$SYS/x", "a/b/c/d/e/f", "x/y/z"]
    var full = 0
    var matched = 0
    for seed in UInt64(0)..<50 {
      var state = seed &* 2 &+ 1
      func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % bound
      }
      let pair = Pair(entries: entries, bytes: bytes)
      for step in 0..<60 {
        let index = below(entries)
        let filter = filters[below(filters.count)]
        let used = pair.filters.enumerated().reduce(0) {
          $0 + ($1.offset == index ? 0 : $1.element?.utf8.count ?? 0)
        }
        let fault = pair.set(UInt32(index), filter, user: UInt(step))
        let size = filter.utf8.count
        if fault != (size > bytes ? .tooLarge : used + size > bytes ? .full : nil) {
          Issue.record("seed \(seed), step \(step): \(filter) gives \(String(describing: fault))")
        }
        if fault != nil { full += 1 }
        let topic = topics[below(topics.count)]
        let matches = pair.matches(topic)
        if matches != pair.expected(topic) || matches.contains(where: { pair.user($0) != pair.users[$0] }) {
          Issue.record("seed \(seed), step \(step): \(topic) finds \(matches)")
        }
        matched += matches.count
      }
    }
    #expect(full > 50)
    #expect(matched > 50)
  }

  /// A table with an index finds what one without finds, whatever shapes its filters have: more than it has room for,
  /// and some that are no shape. Long levels have the same beginning.
  @Test(arguments: [17, 100, 400])
  func manyShapes(entries: Int) {
    var matched = 0
    let depth = entries < 50 ? 2 : 7
    for seed in UInt64(0)..<20 {
      var random = SeededRandom(seed: seed)
      let levels = ["a", "b", "", "gateway-1", "gateway-2"]
      func topic(_ count: Int) -> String {
        (0..<count).map { _ in random.pick(levels) }.joined(separator: "/")
      }
      func filter() -> String {
        if random.percent(10) { return "" }
        if random.percent(5) { return String(repeating: "a/", count: 25 + random.below(3)) + "+" }
        var parts = (0..<1 + random.below(depth)).map { _ in random.percent(40) ? "+" : random.pick(levels) }
        if random.percent(30) { parts.append("#") }
        let filter = parts.joined(separator: "/")
        return filter.isEmpty ? "#" : random.percent(10) ? "$share/group/" + filter : filter
      }
      let pair = Pair(entries: entries, bytes: entries * 60)
      for step in 0..<4 * entries {
        #expect(pair.set(UInt32(random.below(entries)), filter(), user: UInt(step)) == nil)
        guard step % 10 == 0 else { continue }
        let name =
          random.percent(5) ? String(repeating: "a/", count: 26) + "x" : topic(1 + random.below(depth))
        guard !name.isEmpty else { continue }
        let matches = pair.matches(name)
        if matches != pair.expected(name) || matches.contains(where: { pair.user($0) != pair.users[$0] }) {
          Issue.record("seed \(seed), step \(step): \(name) finds \(matches)")
          return
        }
        matched += matches.count
      }
    }
    #expect(matched > 300)
  }

  /// Shapes that are no longer used make room for others: the table does not get slower with time.
  @Test func shapesComeAndGo() {
    let pair = Pair(entries: 17, bytes: 1700)
    for turn in 0..<200 {
      let level = turn % 25
      let filter = String(repeating: "a/", count: level) + "+"
      #expect(pair.set(0, filter, user: UInt(turn)) == nil)
      #expect(pair.shapeCount == 1 && pair.shapeless == 0)
      #expect(pair.matches(String(repeating: "a/", count: level) + "x") == [0])
    }
    #expect(pair.set(0, "") == nil)
    #expect(pair.shapeCount == 0 && pair.shapeless == 0)
    // No more than there is room for; what is left is found as well.
    let many = Pair(entries: 40, bytes: 4000)
    for index in 0..<40 {
      let filter = String(repeating: index % 2 == 0 ? "a/" : "+/", count: 1 + index / 2) + "#"
      #expect(many.set(UInt32(index), filter) == nil)
    }
    #expect(many.shapeCount == HandlerTable.shapeMaximum && many.shapeless == 8)
    #expect(many.matches(String(repeating: "a/", count: 20) + "x") == Array(0..<40))
    for index in 0..<40 { #expect(many.set(UInt32(index), "a") == nil) }
    #expect(many.shapeCount == 1 && many.shapeless == 0)
  }
}
