import Driver
import TestSupport
import Testing

@Suite struct ServerRoundTests {
  private static func order(_ round: ServerRound, _ count: Int) -> [Int] {
    var round = round
    var order = [round.current]
    while round.advance() { order.append(round.current) }
    return order
  }

  @Test func inOrder() {
    var round = ServerRound(count: 3, isShuffled: false)
    round.begin { 0 }
    #expect(Self.order(round, 3) == [0, 1, 2])
    _ = round.advance()
    round.markGood()
    round.begin { 0 }
    #expect(Self.order(round, 3) == [1, 0, 2])
    _ = round.advance()
    _ = round.advance()
    round.markGood()
    round.begin { 0 }
    #expect(Self.order(round, 3) == [2, 0, 1])
  }

  @Test func shuffled() {
    var random = SeededRandom(seed: 3)
    var firsts: Set<Int> = []
    for _ in 0..<200 {
      var round = ServerRound(count: 16, isShuffled: true)
      round.begin { UInt32(truncatingIfNeeded: random.next()) }
      let order = Self.order(round, 16)
      #expect(order.sorted() == Array(0..<16))
      firsts.insert(order[0])
    }
    #expect(firsts.count == 16)
  }
}
