public import MQTTWire

// Plain enumerations: they may stand in tables of tests. (Inside their module they need not say so.)
extension ProtocolVersion: @unchecked Sendable {}
extension ControlPacketType: @unchecked Sendable {}
extension PropertyIdentifier: @unchecked Sendable {}
extension QoS: @unchecked Sendable {}
extension ReasonCode: @unchecked Sendable {}
extension Sender: @unchecked Sendable {}
extension PropertyContext: @unchecked Sendable {}
extension SubscriptionOptions: @unchecked Sendable {}

extension ProtocolVersion {
  public static let all: [ProtocolVersion] = [.v3_1, .v3_1_1, .v5_0]
}
