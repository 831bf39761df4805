/// Which of several servers is next: each is tried once in a round, the last good one first.
public struct ServerRound: BitwiseCopyable {
  /// How many there are.
  private let count: UInt8
  private let isShuffled: Bool
  private var order = InlineArray<16, UInt8>(repeating: 0)
  private var position: UInt8 = 0
  /// The server of the last connection that lasted.
  private var good: UInt8? = nil

  /// The caller guarantees 1 ≤ count ≤ `HostPortList.maximum`.
  public init(count: Int, isShuffled: Bool) {
    self.count = UInt8(truncatingIfNeeded: count)
    self.isShuffled = isShuffled
  }

  public var current: Int { Int(order[Int(position)]) }

  /// A new round begins. `random` gives any numbers.
  @_optimize(size)
  public mutating func begin(random: () -> UInt32) {
    position = 0
    for index in 0..<Int(count) { order[index] = UInt8(truncatingIfNeeded: index) }
    if isShuffled {
      for index in 1..<max(Int(count), 1) {
        swap(index, Int(random().remainder(by: UInt32(truncatingIfNeeded: index &+ 1))))
      }
    }
    guard let good else { return }
    // The others stay as they are behind it.
    var index = 0
    while order[index] != good { index &+= 1 }
    while index > 0 {
      swap(index, index &- 1)
      index &-= 1
    }
  }

  /// The next server of the round. False: all have been tried.
  public mutating func advance() -> Bool {
    guard position &+ 1 < count else { return false }
    position &+= 1
    return true
  }

  /// The connection to the current one has lasted.
  public mutating func markGood() { good = order[Int(position)] }

  private mutating func swap(_ one: Int, _ other: Int) {
    let moved = order[one]
    order[one] = order[other]
    order[other] = moved
  }
}
