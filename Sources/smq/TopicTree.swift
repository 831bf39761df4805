/// How much was published below each level of the topics.
struct TopicTree {
  struct Node {
    /// The level.
    let name: [UInt8]
    let parent: Int
    let depth: Int
    /// In the order of their names.
    var children: [Int] = []
    /// Everything below counts, too.
    var messages: Int64 = 0
    var bytes: Int64 = 0
    /// As of the last `rest()`.
    fileprivate var messagesBefore: Int64 = 0
    fileprivate var bytesBefore: Int64 = 0
    /// Between the last two.
    var newMessages: Int64 = 0
    var newBytes: Int64 = 0
    /// What is below is not shown.
    var isFolded = false
  }

  enum Order { case messages, bytes, total, name }

  /// The first one is the root.
  private(set) var nodes = [Node(name: [], parent: -1, depth: -1)]
  /// Messages whose topics were not counted one by one, because there are too many.
  private(set) var others: Int64 = 0

  private static let mostNodes = 20_000
  /// Of all names.
  private static let mostBytes = 16 << 20
  private var nameBytes = 0
  private static let deepest = 32

  mutating func add(_ topic: [UInt8], bytes: Int64) {
    var node = 0
    count(0, bytes)
    for level in levels(of: topic) {
      guard let next = child(of: node, level) else {
        others += 1
        return
      }
      node = next
      count(node, bytes)
    }
  }

  /// An interval is over.
  mutating func beginInterval() {
    for node in nodes.indices {
      nodes[node].newMessages = nodes[node].messages - nodes[node].messagesBefore
      nodes[node].newBytes = nodes[node].bytes - nodes[node].bytesBefore
      nodes[node].messagesBefore = nodes[node].messages
      nodes[node].bytesBefore = nodes[node].bytes
    }
  }

  mutating func fold(_ node: Int) { nodes[node].isFolded.toggle() }

  /// All that are shown, from the top: at most `most`.
  func shown(by order: Order, most: Int) -> [Int] {
    var result: [Int] = []
    // What is to be listed, the next one last.
    var waiting = sorted(nodes[0].children, by: order)
    while let node = waiting.popLast(), result.count < most {
      result.append(node)
      if !nodes[node].isFolded { waiting += sorted(nodes[node].children, by: order) }
    }
    return result
  }

  // ---- Helpers

  private mutating func count(_ node: Int, _ bytes: Int64) {
    nodes[node].messages += 1
    nodes[node].bytes += bytes
  }

  /// The levels, of which those that are too deep are one.
  private func levels(of topic: [UInt8]) -> [[UInt8]] {
    topic.split(separator: 47, maxSplits: Self.deepest, omittingEmptySubsequences: false).map { Array($0) }
  }

  private mutating func child(of node: Int, _ name: [UInt8]) -> Int? {
    let place = place(of: name, in: nodes[node].children)
    if place < nodes[node].children.count {
      let found = nodes[node].children[place]
      if nodes[found].name == name { return found }
    }
    guard nodes.count < Self.mostNodes, nameBytes + name.count <= Self.mostBytes else { return nil }
    nameBytes += name.count
    nodes.append(Node(name: name, parent: node, depth: nodes[node].depth + 1))
    nodes[node].children.insert(nodes.count - 1, at: place)
    return nodes.count - 1
  }

  /// Where the first name lies that does not come before this one. (A dictionary hashes with arc4random(), which is newer
  /// than the oldest libc that smq runs on.)
  private func place(of name: [UInt8], in children: [Int]) -> Int {
    var (low, high) = (0, children.count)
    while low < high {
      let middle = (low + high) / 2
      if nodes[children[middle]].name.lexicographicallyPrecedes(name) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low
  }

  /// The first one is last.
  private func sorted(_ list: [Int], by order: Order) -> [Int] {
    list.sorted { left, right in
      let (left, right) = (nodes[left], nodes[right])
      switch order {
      case .messages where left.newMessages != right.newMessages: return left.newMessages < right.newMessages
      case .bytes where left.newBytes != right.newBytes: return left.newBytes < right.newBytes
      case .total where left.messages != right.messages: return left.messages < right.messages
      default: return right.name.lexicographicallyPrecedes(left.name)
      }
    }
  }
}
