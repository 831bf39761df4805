import MQTTWire
import TestSupport
import Testing

@Suite struct PacketIdentifierTests {
  private func identifier(_ number: UInt16) throws -> PacketIdentifier {
    try #require(PacketIdentifier(number))
  }

  /// [MQTT-2.2.1-3] ([MQTT-2.3.1-1] in 3.1.1): not 0.
  @Test func everyNumberButZero() {
    #expect(PacketIdentifier(0) == nil)
    #expect((1...65_535).allSatisfy { PacketIdentifier($0)?.rawValue == $0 })
    #expect(PacketIdentifier.first.rawValue == 1)
  }

  /// Once round from several places: each identifier of a message once, as far from the start as there were
  /// steps; those of requests are not on the way.
  @Test(arguments: [1, 2, 3, 32_767, 32_768, 65_022, 65_023, 65_024, 65_025, 65_278, 65_279] as [UInt16])
  func onceRound(number: UInt16) throws {
    let start = try identifier(number)
    let range = number <= 65_023 ? IdentifierRange.messages : .urgent
    #expect(range.contains(start))
    #expect(range.count == (number <= 65_023 ? 65_023 : 256))
    var seen = [Bool](repeating: false, count: 65_536)
    var current = start
    var wrong = 0
    for steps in 0..<range.count {
      if seen[Int(current.rawValue)] || range.distance(from: start, to: current) != steps { wrong += 1 }
      if range.advanced(start, by: steps) != current { wrong += 1 }
      seen[Int(current.rawValue)] = true
      current = range.next(after: current)
    }
    #expect(wrong == 0)
    #expect(current == start)
    #expect(!seen[0])
    for place in 0..<256 {
      let request = PacketIdentifier.subscribe(place)
      #expect(!seen[Int(request.rawValue)])
      #expect(request.subscribeIndex == place)
      #expect(range.distance(from: start, to: request) == .max)
    }
    let other = range.contains(.first) ? IdentifierRange.urgent : .messages
    for bits in 0...65_535 as ClosedRange<UInt16> {
      if !range.contains(range.any(bits)) { wrong += 1 }
      if range.distance(from: start, to: other.any(bits)) != .max { wrong += 1 }
    }
    #expect(wrong == 0)
    #expect(PacketIdentifier.subscribe(0).rawValue == 65_280)
    #expect(PacketIdentifier.subscribe(255).rawValue == 65_535)
  }

  /// Every identifier of a message: to the next it is one step, and back all the others.
  @Test func everyNext() throws {
    var wrong: [UInt16] = []
    let start = PacketIdentifier.first
    let range = IdentifierRange.messages
    for number in 1...65_023 as ClosedRange<UInt16> {
      let current = try #require(PacketIdentifier(number))
      let next = number == 65_023 ? 1 : number + 1
      let following = range.next(after: current)
      if following.rawValue != next || range.distance(from: current, to: following) != 1
        || range.distance(from: following, to: current) != 65_022
        || range.distance(from: current, to: current) != 0
        || current.subscribeIndex != nil || range.advanced(start, by: Int(number) - 1) != current
      {
        wrong.append(number)
      }
    }
    #expect(wrong == [])
  }
}
