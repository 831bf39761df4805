public import MQTTWire

/// A packet, a version that has it, and a side that sends it.
public struct Kind: Hashable, Sendable, CustomStringConvertible {
  public let type: ControlPacketType
  public let version: ProtocolVersion
  public let sender: Sender

  public init(type: ControlPacketType, version: ProtocolVersion, sender: Sender) {
    self.type = type
    self.version = version
    self.sender = sender
  }

  /// Table 2-1. DISCONNECT came from the client only before 5.0, which brought AUTH.
  public static let all: [Kind] = ProtocolVersion.all.flatMap { version -> [Kind] in
    let client: [ControlPacketType] = [.connect, .subscribe, .unsubscribe, .pingreq, .disconnect]
    let server: [ControlPacketType] = [.connack, .suback, .unsuback, .pingresp]
    let both: [ControlPacketType] = [.publish, .puback, .pubrec, .pubrel, .pubcomp]
    let new: [ControlPacketType] = version == .v5_0 ? [.auth] : []
    return (client + both + new).map { Kind(type: $0, version: version, sender: .client) }
      + (server + both + new + (version == .v5_0 ? [.disconnect] : []))
      .map { Kind(type: $0, version: version, sender: .server) }
  }

  public static let sent = all.filter { $0.sender == .client }
  public static let received = all.filter { $0.sender == .server }

  /// Where its properties stand.
  public var place: Place { Place(packet: type, sender: sender) }
  public var description: String { "\(type) \(version) from \(sender)" }
}

extension Place {
  /// The rows of Table 2-4 that have this place, by their identifiers.
  public var rows: [PropertyRow?] { Self.rowsByPlace[self] ?? [] }

  private static let rowsByPlace: [Place: [PropertyRow?]] = {
    var byPlace: [Place: [PropertyRow?]] = [:]
    for row in PropertyRow.table {
      for place in row.places {
        byPlace[place, default: Array(repeating: nil, count: 256)][Int(row.identifier)] = row
      }
    }
    return byPlace
  }()

  /// What there may be.
  public var identifiers: Set<UInt8> { Set(rows.compactMap { $0?.identifier }) }

  /// User Property anywhere; Subscription Identifier in a PUBLISH from a server (§3.3.2.3.8).
  public func mayRepeat(_ identifier: UInt8) -> Bool {
    identifier == 0x26 || identifier == 0x0B && packet == .publish
  }
}

/// The Reason Codes that a packet may carry, by the specification's tables; before 5.0 its return codes.
extension Kind {
  public var codes: Set<UInt8> {
    switch (type, version) {
    case (.connack, .v5_0): Set(Self.refusals + [0])
    case (.connack, _): Set(0...5)
    case (.puback, .v5_0), (.pubrec, .v5_0), (.pubrel, .v5_0), (.pubcomp, .v5_0):
      Self.acknowledgements.first { $0.0 == type }!.1
    case (.suback, .v3_1): [0, 1, 2]
    case (.suback, .v3_1_1): [0, 1, 2, 0x80]
    case (.suback, .v5_0): Self.subackCodes
    case (.unsuback, .v5_0): Self.unsubackCodes
    case (.disconnect, .v5_0): sender == .client ? Self.clientsDisconnect : Self.serversDisconnect
    case (.auth, _): sender == .client ? [0x18, 0x19] : [0x00, 0x18]  // Table 3-11
    default: []
    }
  }

  /// Table 3-1 of 5.0, without Success.
  public static let refusals: [UInt8] =
    Array(0x80...0x8A) + [0x8C, 0x90, 0x95, 0x97, 0x99, 0x9A, 0x9B, 0x9C, 0x9D, 0x9F]

  /// Tables 3-4 to 3-7 [MQTT-3.4.2-1] [MQTT-3.5.2-1] [MQTT-3.6.2-1] [MQTT-3.7.2-1].
  public static let acknowledgements: [(ControlPacketType, Set<UInt8>)] = [
    (.puback, [0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99]),
    (.pubrec, [0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99]),
    (.pubrel, [0x00, 0x92]),
    (.pubcomp, [0x00, 0x92]),
  ]

  /// Tables 3-8 and 3-9.
  public static let subackCodes: Set<UInt8> = [
    0x00, 0x01, 0x02, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2,
  ]
  public static let unsubackCodes: Set<UInt8> = [0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91]

  /// Table 3-10, where it is "Client or Server".
  private static let bothsDisconnect: Set<UInt8> = [
    0x00, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
  ]
  private static let clientsDisconnect = bothsDisconnect.union([0x04])
  private static let serversDisconnect = bothsDisconnect.union([
    0x87, 0x89, 0x8B, 0x8D, 0x8E, 0x8F, 0x9A, 0x9B, 0x9C, 0x9D, 0x9E, 0x9F, 0xA0, 0xA1, 0xA2,
  ])
}
