import MQTTWire
import Testing

/// Control Packets as the specification describes them, in both directions and every version: what the tests
/// hold this module against. Written from the specification; of the module it uses the names of packets,
/// versions and sides.
enum Model {
  enum Packet: Equatable, Sendable {
    case connect(Connect)
    /// The code is a Connect Return code before 5.0.
    case connack(sessionPresent: Bool, code: UInt8, properties: [Property])
    case publish(Publish)
    /// PUBACK, PUBREC, PUBREL and PUBCOMP.
    case acknowledgement(ControlPacketType, identifier: UInt16, code: UInt8, properties: [Property])
    case subscribe(identifier: UInt16, properties: [Property], subscriptions: [Subscription])
    case unsubscribe(identifier: UInt16, properties: [Property], filters: [[UInt8]])
    /// SUBACK and UNSUBACK.
    case answer(ControlPacketType, identifier: UInt16, properties: [Property], codes: [UInt8])
    /// PINGREQ and PINGRESP.
    case ping(ControlPacketType)
    case disconnect(code: UInt8, properties: [Property])
    case auth(code: UInt8, properties: [Property])
  }

  struct Connect: Equatable, Sendable {
    var cleanStart: Bool
    var keepAlive: UInt16
    var properties: [Property]
    var clientIdentifier: [UInt8]
    var will: Will?
    var userName: [UInt8]?
    var password: [UInt8]?
  }

  struct Will: Equatable, Sendable {
    var qos: UInt8
    var retain: Bool
    var properties: [Property]
    var topic: [UInt8]
    var payload: [UInt8]
  }

  struct Publish: Equatable, Sendable {
    var duplicate: Bool
    var qos: UInt8
    var retain: Bool
    var topic: [UInt8]
    /// `nil` with QoS 0.
    var identifier: UInt16?
    var properties: [Property]
    var payload: [UInt8]
  }

  struct Subscription: Equatable, Sendable {
    var filter: [UInt8]
    var qos: UInt8
    var noLocal = false
    var retainAsPublished = false
    var retainHandling: UInt8 = 0
  }

  struct Property: Equatable, Sendable {
    enum Value: Equatable, Sendable {
      case number(UInt32)
      /// A UTF-8 Encoded String, or Binary Data.
      case bytes([UInt8])
      case pair([UInt8], [UInt8])
    }

    var identifier: UInt8
    var value: Value
  }
}

extension Model.Packet {
  var type: ControlPacketType {
    switch self {
    case .connect: .connect
    case .connack: .connack
    case .publish: .publish
    case .acknowledgement(let type, _, _, _), .answer(let type, _, _, _), .ping(let type): type
    case .subscribe: .subscribe
    case .unsubscribe: .unsubscribe
    case .disconnect: .disconnect
    case .auth: .auth
    }
  }

  /// Those of the Will are not among them.
  var properties: [Model.Property] {
    switch self {
    case .connect(let connect): connect.properties
    case .publish(let publish): publish.properties
    case .connack(_, _, let properties), .acknowledgement(_, _, _, let properties),
      .subscribe(_, let properties, _), .unsubscribe(_, let properties, _), .answer(_, _, let properties, _),
      .disconnect(_, let properties), .auth(_, let properties):
      properties
    case .ping: []
    }
  }
}

/// A packet, a version that has it, and a side that sends it.
struct Kind: Hashable, Sendable, CustomTestStringConvertible {
  let type: ControlPacketType
  let version: ProtocolVersion
  let sender: Sender

  /// Table 2-1. DISCONNECT came from the client only before 5.0, which brought AUTH.
  static let all: [Kind] = ProtocolVersion.all.flatMap { version -> [Kind] in
    let client: [ControlPacketType] = [.connect, .subscribe, .unsubscribe, .pingreq, .disconnect]
    let server: [ControlPacketType] = [.connack, .suback, .unsuback, .pingresp]
    let both: [ControlPacketType] = [.publish, .puback, .pubrec, .pubrel, .pubcomp]
    let new: [ControlPacketType] = version == .v5_0 ? [.auth] : []
    return (client + both + new).map { Kind(type: $0, version: version, sender: .client) }
      + (server + both + new + (version == .v5_0 ? [.disconnect] : []))
      .map { Kind(type: $0, version: version, sender: .server) }
  }

  static let sent = all.filter { $0.sender == .client }
  static let received = all.filter { $0.sender == .server }

  /// Where its properties stand.
  var place: Place { Place(packet: type, sender: sender) }
  var testDescription: String { "\(type) \(version) from \(sender)" }
}

extension Place {
  /// The rows of Table 2-4 that have this place, by their identifiers.
  var rows: [PropertyRow?] { Self.rowsByPlace[self] ?? [] }

  private static let rowsByPlace: [Place: [PropertyRow?]] = {
    var byPlace: [Place: [PropertyRow?]] = [:]
    for row in PropertyTests.table {
      for place in row.places {
        byPlace[place, default: Array(repeating: nil, count: 256)][Int(row.identifier)] = row
      }
    }
    return byPlace
  }()

  /// What there may be.
  var identifiers: Set<UInt8> { Set(rows.compactMap { $0?.identifier }) }

  /// User Property anywhere; Subscription Identifier in a PUBLISH from a server (§3.3.2.3.8).
  func mayRepeat(_ identifier: UInt8) -> Bool {
    identifier == 0x26 || identifier == 0x0B && packet == .publish
  }
}

/// The Reason Codes that a packet may carry, by the specification's tables; before 5.0 its return codes.
extension Kind {
  var codes: Set<UInt8> {
    switch (type, version) {
    case (.connack, .v5_0): Set(ConnackTests.refusals + [0])
    case (.connack, _): Set(0...5)
    case (.puback, .v5_0), (.pubrec, .v5_0), (.pubrel, .v5_0), (.pubcomp, .v5_0):
      AcknowledgementTests.allowed.first { $0.0 == type }!.1
    case (.suback, .v3_1): [0, 1, 2]
    case (.suback, .v3_1_1): [0, 1, 2, 0x80]
    case (.suback, .v5_0): SubscriptionAnswerTests.subackCodes
    case (.unsuback, .v5_0): SubscriptionAnswerTests.unsubackCodes
    case (.disconnect, .v5_0): sender == .client ? Self.clientsDisconnect : Self.serversDisconnect
    case (.auth, _): sender == .client ? [0x18, 0x19] : [0x00, 0x18]  // Table 3-11
    default: []
    }
  }

  /// Table 3-10, where it is "Client or Server".
  private static let bothsDisconnect: Set<UInt8> = [
    0x00, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99,
  ]
  private static let clientsDisconnect = bothsDisconnect.union([0x04])
  private static let serversDisconnect = bothsDisconnect.union([
    0x87, 0x89, 0x8B, 0x8D, 0x8E, 0x8F, 0x9A, 0x9B, 0x9C, 0x9D, 0x9E, 0x9F, 0xA0, 0xA1, 0xA2,
  ])
}
