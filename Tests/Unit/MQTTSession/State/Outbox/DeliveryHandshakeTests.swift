import MQTTWire
import TestSupport
import Testing

@testable import MQTTSession

@Suite struct DeliveryHandshakeTests {
  /// §4.3.2, §4.3.3 and §4.4 once more, in words: QoS, state, packet, whether it refuses, what follows.
  static let table = """
    1 sent puback accepts complete
    1 sent puback refuses refuse
    2 sent pubrec accepts sendPubrel
    2 sent pubrec refuses refuse
    2 pubrelSent pubrec accepts resendPubrel
    2 pubrelSent pubcomp accepts complete
    2 pubrelSent pubcomp refuses complete
    """

  /// All 3 × 6 × 15 × 2 combinations. Of what was sent, what the table does not name is a Protocol Error.
  @Test func everyCombination() throws {
    var rows: [String: String] = [:]
    for line in Self.table.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      rows[words.dropLast().joined(separator: " ")] = words[4]
    }
    let states: [DeliveryState] = [.reserved, .queued, .sent, .pubrelSent, .completed, .free]
    var count = 0
    for qos in allQoS {
      for state in states {
        for type in try (1...15).map({ try #require(ControlPacketType(rawValue: $0)) }) {
          for isRefusal in [false, true] {
            let row = "\(qos.rawValue) \(state) \(type) \(isRefusal ? "refuses" : "accepts")"
            let step = DeliveryHandshake.step(qos: qos, state: state, on: type, isRefusal: isRefusal)
            let otherwise =
              switch state {
              case .queued: "wait"
              case .sent, .pubrelSent: "violation"
              case .reserved, .completed, .free: "unknown"
              }
            #expect("\(step)" == rows[row] ?? otherwise, "\(row)")
            if rows[row] != nil { count += 1 }
          }
        }
      }
    }
    #expect(count == rows.count && count == 7)
  }
}
