import MQTTSession
import MQTTWire
import TestSupport

// Plain enumerations: they may stand in tables of tests. (Inside their module they need not say so.)
extension DeliveryResult: @unchecked Sendable {}
extension CloseReason.Cause: @unchecked Sendable {}

let bothVersions: [ProtocolVersion] = [.v3_1_1, .v5_0]
let allQoS: [QoS] = [.atMostOnce, .atLeastOnce, .exactlyOnce]

extension CloseReason.Cause: Equatable {
  public static func == (one: Self, other: Self) -> Bool {
    switch (one, other) {
    case (.malformed(let one), .malformed(let other)): one == other
    default: "\(one)" == "\(other)"
    }
  }
}
