import MQTTWire
import Storage
import TestSupport
import Testing

/// Does a topic find the filters of a shape that match it?
@Suite struct FilterShapeTests {
  private static func shape(_ filter: String) -> FilterShape? {
    let bytes = Array(filter.utf8)
    return FilterShape(bytes.span)
  }

  private static func finds(_ filter: String, _ topic: String) -> Bool {
    let filterBytes = Array(filter.utf8)
    let topicBytes = Array(topic.utf8)
    guard let shape = FilterShape(filterBytes.span) else { return false }
    return shape.hash(topicBytes.span) == TopicHash.of(filterBytes.span)
  }

  @Test(arguments: [
    ("a", "a"), ("a/b", "a/b"), ("/", "/"), ("a/+", "a/b"), ("a/+/c", "a/b/c"), ("+", "a"), ("+/+", "/"),
    ("#", "a/b/c"), ("a/#", "a/b/c"), ("a/#", "a"), ("a/+/#", "a/b"), ("a/+/#", "a/b/c/d"), ("/#", "/"),
    ("+/#", "a"), ("a//#", "a//x"), ("a/+/c/+/#", "a//c/d"),
  ])
  func found(filter: String, topic: String) { #expect(Self.finds(filter, topic)) }

  @Test(arguments: [
    ("a", "b"), ("a/b", "a"), ("a/+", "a"), ("a/+", "a/b/c"), ("+", "a/b"), ("a/#", "b"), ("a/b/#", "a"),
    ("a/+/#", "a"), ("+/b", "a/c"),
  ])
  func others(filter: String, topic: String) { #expect(!Self.finds(filter, topic)) }

  /// Only wildcards make a shape, and where they are.
  @Test func equality() {
    for filters in [["a", "a/b", "/"], ["a/+", "b/+", "b/+/c/d"], ["#"], ["+"], ["a/#", "b/#"], ["a/+/#"]] {
      let shapes = filters.map { Self.shape($0) }
      #expect(shapes.allSatisfy { $0 != nil && $0 == shapes[0] }, "\(filters)")
    }
    let all = ["a", "+", "#", "a/+", "a/#", "+/+", "+/#", "a/+/#", "a/b/#", "a/+/+"].map { Self.shape($0) }
    for (index, shape) in all.enumerated() { #expect(!all[..<index].contains(shape)) }
  }

  /// The last levels that a shape can say, and the first that it cannot.
  @Test func levels() {
    func filter(_ level: Int, _ end: String) -> String { String(repeating: "a/", count: level) + end }
    #expect(Self.finds(filter(25, "+"), filter(25, "x")) && Self.shape(filter(26, "+")) == nil)
    #expect(Self.finds(filter(62, "#"), filter(62, "x")) && Self.shape(filter(63, "#")) == nil)
    #expect(Self.finds(filter(62, "#"), String(filter(62, "").dropLast())))
    #expect(Self.finds(filter(500, "a"), filter(500, "a")))
    #expect(Self.shape(filter(25, "+")) != Self.shape(filter(24, "+")))
  }

  /// What matches is found, for any two.
  @Test func againstMatching() {
    let levels = ["", "a", "b", "+"]
    var filters = [""]
    for _ in 0..<3 { filters += filters.flatMap { one in levels.map { one + $0 + "/" } } }
    filters = Set(filters.flatMap { [String($0.dropLast()), $0 + "#"] }).sorted().filter { !$0.isEmpty }
    let topics = filters.filter { !$0.contains("+") && !$0.contains("#") }
    var matched = 0
    for filter in filters {
      for topic in topics {
        let filterBytes = Array(filter.utf8)
        let topicBytes = Array(topic.utf8)
        guard TopicFilter.matches(filterBytes.span, topic: topicBytes.span) else { continue }
        matched += 1
        if !Self.finds(filter, topic) { Issue.record("\(filter) does not find \(topic)") }
      }
    }
    #expect(matched > 500)
  }
}
