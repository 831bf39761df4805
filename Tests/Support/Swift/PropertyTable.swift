public import MQTTWire

/// A list of properties that the specification knows: in a packet, from one side, or in a Will.
public struct Place: Hashable, Sendable, CustomStringConvertible {
  /// `nil`: the Will.
  public let packet: ControlPacketType?
  public let sender: Sender

  public init(packet: ControlPacketType?, sender: Sender) {
    self.packet = packet
    self.sender = sender
  }

  public static func client(_ packets: ControlPacketType...) -> Set<Place> {
    Set(packets.map { Place(packet: $0, sender: .client) })
  }

  public static func server(_ packets: ControlPacketType...) -> Set<Place> {
    Set(packets.map { Place(packet: $0, sender: .server) })
  }

  public static func both(_ packets: ControlPacketType...) -> Set<Place> {
    Set(packets.flatMap { [Place(packet: $0, sender: .client), Place(packet: $0, sender: .server)] })
  }

  public static let will: Set<Place> = [Place(packet: nil, sender: .client)]

  /// Every packet type from either side, whether it exists or not, and the Will.
  public static let all: [Place] =
    (UInt8(1)...15).flatMap { number -> [Place] in
      let packet = ControlPacketType(rawValue: number)!
      return [Place(packet: packet, sender: .client), Place(packet: packet, sender: .server)]
    } + will

  public var description: String { packet.map { "\($0) from \(sender)" } ?? "Will" }
}

/// A row of Table 2-4, as we read it: the property, its type and limits, where it may be, and a value.
public struct PropertyRow: Sendable, CustomStringConvertible {
  public enum ValueType: Sendable {
    case byte, twoByteInteger, fourByteInteger, variableByteInteger, string, binaryData, stringPair
  }

  public let identifier: UInt8
  public let name: String
  public let type: ValueType
  /// Of a number: what its section allows.
  public let limits: ClosedRange<UInt32>
  public let places: Set<Place>
  public let value: [UInt8]
  /// What the value says, if that is a number.
  public let number: UInt32

  public init(
    _ identifier: UInt8, _ name: String, _ type: ValueType, _ limits: ClosedRange<UInt32> = 0 ... .max,
    in places: Set<Place>, _ value: String, _ number: UInt32 = 0
  ) {
    self.identifier = identifier
    self.name = name
    self.type = type
    self.limits = limits
    self.places = places
    self.value = hex(value)
    self.number = number
  }

  public var description: String { name }
  public var bytes: [UInt8] { [identifier] + value }

  /// Values out of range, as they are on the wire.
  public var refusedValues: [[UInt8]] {
    if limits == 0...1 { return [[2], [0x80], [0xFF]] }
    guard limits.lowerBound == 1 else { return [] }
    switch type {
    case .twoByteInteger: return [[0, 0]]
    case .fourByteInteger: return [[0, 0, 0, 0]]
    default: return [[0]]
    }
  }

  /// By identifier.
  public static let types: [ValueType?] = (0...255).map { number in
    table.first { $0.identifier == number }?.type
  }
}

extension PropertyRow {
  // Who sends what: Table 2-1; which of it has properties: §2.2.2.
  private static let connect = Place.client(.connect)
  private static let connack = Place.server(.connack)
  private static let publish = Place.both(.publish)
  private static let will = Place.will
  private static let auth = Place.both(.auth)
  /// §3.4.2.2.2 to §3.7.2.2.2, §3.9.2.1.2, §3.11.2.1.2, §3.14.2.2.3, §3.15.2.2.4.
  private static let withReasonString = connack.union(auth)
    .union(Place.both(.puback, .pubrec, .pubrel, .pubcomp, .disconnect))
    .union(Place.server(.suback, .unsuback))
  private static let withProperties = withReasonString.union(connect).union(publish).union(will)
    .union(Place.client(.subscribe, .unsubscribe))

  public static let table: [PropertyRow] = [
    PropertyRow(0x01, "Payload Format Indicator", .byte, 0...1, in: publish.union(will), "01", 1),
    PropertyRow(
      0x02, "Message Expiry Interval", .fourByteInteger, in: publish.union(will), "01 02 03 04", 0x0102_0304),
    PropertyRow(0x03, "Content Type", .string, in: publish.union(will), "00 01 63"),
    PropertyRow(0x08, "Response Topic", .string, in: publish.union(will), "00 01 72"),
    PropertyRow(0x09, "Correlation Data", .binaryData, in: publish.union(will), "00 02 00 FF"),
    // From a client in SUBSCRIBE, from a server in PUBLISH [MQTT-3.3.4-6].
    PropertyRow(
      0x0B, "Subscription Identifier", .variableByteInteger, 1...268_435_455,
      in: Place.server(.publish).union(Place.client(.subscribe)), "80 01", 128),
    // In DISCONNECT not from a server [MQTT-3.14.2-2].
    PropertyRow(
      0x11, "Session Expiry Interval", .fourByteInteger,
      in: connect.union(connack).union(Place.client(.disconnect)), "FF FF FF FF", .max),
    PropertyRow(0x12, "Assigned Client Identifier", .string, in: connack, "00 01 69"),
    PropertyRow(0x13, "Server Keep Alive", .twoByteInteger, in: connack, "00 00", 0),
    PropertyRow(0x15, "Authentication Method", .string, in: connect.union(connack).union(auth), "00 01 6D"),
    PropertyRow(0x16, "Authentication Data", .binaryData, in: connect.union(connack).union(auth), "00 01 00"),
    PropertyRow(0x17, "Request Problem Information", .byte, 0...1, in: connect, "01", 1),
    PropertyRow(0x18, "Will Delay Interval", .fourByteInteger, in: will, "00 00 00 01", 1),
    PropertyRow(0x19, "Request Response Information", .byte, 0...1, in: connect, "01", 1),
    PropertyRow(0x1A, "Response Information", .string, in: connack, "00 01 69"),
    // In DISCONNECT the server's (§3.14.2.2.5).
    PropertyRow(0x1C, "Server Reference", .string, in: connack.union(Place.server(.disconnect)), "00 01 73"),
    PropertyRow(0x1F, "Reason String", .string, in: withReasonString, "00 01 72"),
    PropertyRow(
      0x21, "Receive Maximum", .twoByteInteger, 1...65_535, in: connect.union(connack), "12 34", 0x1234),
    PropertyRow(0x22, "Topic Alias Maximum", .twoByteInteger, in: connect.union(connack), "00 00", 0),
    PropertyRow(0x23, "Topic Alias", .twoByteInteger, 1...65_535, in: publish, "FF FF", 65_535),
    PropertyRow(0x24, "Maximum QoS", .byte, 0...1, in: connack, "01", 1),
    PropertyRow(0x25, "Retain Available", .byte, 0...1, in: connack, "00", 0),
    PropertyRow(0x26, "User Property", .stringPair, in: withProperties, "00 01 6B 00 01 76"),
    PropertyRow(
      0x27, "Maximum Packet Size", .fourByteInteger, 1 ... .max, in: connect.union(connack), "00 00 00 01", 1),
    PropertyRow(0x28, "Wildcard Subscription Available", .byte, 0...1, in: connack, "01", 1),
    PropertyRow(0x29, "Subscription Identifier Available", .byte, 0...1, in: connack, "01", 1),
    PropertyRow(0x2A, "Shared Subscription Available", .byte, 0...1, in: connack, "01", 1),
  ]
}
