import MQTTWire
import TestSupport
import Testing

@Suite struct AcknowledgementTests {
  struct Fields: Equatable, Sendable {
    var type: ControlPacketType
    var identifier: UInt16 = 10
    var reasonCode: UInt8 = 0
    var reasonString: [UInt8] = []
    /// As they are on the wire.
    var properties: [UInt8] = []
  }

  private static let reason: [UInt8] = hex("1F 00 02 6E 6F")
  private static let user: [UInt8] = hex("26 00 01 61 00 01 62")

  /// Both ways.
  static let cases: [String: Fields] = [
    "puback-311": Fields(type: .puback),
    "pubrec-311": Fields(type: .pubrec),
    "pubrel-311": Fields(type: .pubrel, identifier: 65_535),
    "pubcomp-311": Fields(type: .pubcomp, identifier: 0x1234),
    "puback-31": Fields(type: .puback),
    "pubrec-31": Fields(type: .pubrec),
    "pubrel-31": Fields(type: .pubrel, identifier: 65_535),
    "pubcomp-31": Fields(type: .pubcomp, identifier: 0x1234),
    "puback-5-short": Fields(type: .puback),
    "pubrec-5-short": Fields(type: .pubrec),
    "pubrel-5-short": Fields(type: .pubrel, identifier: 65_535),
    "pubcomp-5-short": Fields(type: .pubcomp, identifier: 0x1234),
    "puback-5-reason": Fields(type: .puback, reasonCode: 0x10),
    "pubrec-5-reason": Fields(type: .pubrec, reasonCode: 0x91),
    "pubrel-5-reason": Fields(type: .pubrel, identifier: 65_535, reasonCode: 0x92),
    "pubcomp-5-reason": Fields(type: .pubcomp, identifier: 0x1234, reasonCode: 0x92),
  ]

  /// And what a peer may send and we do not.
  static let receivedCases = cases.merging([
    "pubrel-31-again": Fields(type: .pubrel, identifier: 65_535),
    "puback-31-odd-flags": Fields(type: .puback),
    "puback-5-success-spelled-out": Fields(type: .puback),
    "puback-5-no-properties": Fields(type: .puback),
    "pubrec-5-no-properties": Fields(type: .pubrec, reasonCode: 0x87),
    "pubrel-5-no-properties": Fields(type: .pubrel, identifier: 65_535),
    "pubcomp-5-no-properties": Fields(type: .pubcomp, identifier: 0x1234, reasonCode: 0x92),
    "puback-5-every-property": Fields(
      type: .puback, reasonCode: 0x97, reasonString: "no".bytes, properties: reason + user + user),
    "pubrec-5-every-property": Fields(
      type: .pubrec, reasonCode: 0x80, reasonString: "no".bytes, properties: reason + user),
    "pubrel-5-every-property": Fields(
      type: .pubrel, identifier: 65_535, reasonCode: 0x92, reasonString: "no".bytes,
      properties: user + reason),
    "pubcomp-5-every-property": Fields(
      type: .pubcomp, identifier: 0x1234, reasonCode: 0x92, reasonString: "no".bytes,
      properties: reason + user),
    "puback-5-property-length-128": Fields(
      type: .puback, reasonCode: 0x80, reasonString: [UInt8](repeating: 0x61, count: 125),
      properties: hex("1F 00 7D 61*125")),
  ]) { $1 }

  @Test(arguments: cases.keys.sorted())
  func encodes(name: String) throws {
    let fields = try #require(Self.cases[name])
    let acknowledgement = Acknowledgement(
      type: fields.type, identifier: try #require(PacketIdentifier(fields.identifier)),
      reasonCode: try #require(ReasonCode(rawValue: fields.reasonCode)))
    let size = acknowledgement.encodedSize
    #expect(size <= Acknowledgement.maximumEncodedSize)
    #expect(encoded(size) { acknowledgement.encode(into: &$0) } == vector(name))
  }

  @Test(arguments: receivedCases.keys.sorted())
  func decodes(name: String) throws {
    let version = Vector.named(name).version
    let (header, body) = try split(vector(name), version)
    let parsed = try Acknowledgement(parsing: body.span, type: header.type, version: version)
    let fields = Fields(
      type: parsed.type, identifier: parsed.identifier.rawValue, reasonCode: parsed.reasonCode,
      reasonString: body[parsed.reasonString], properties: body[parsed.properties])
    #expect(fields == Self.receivedCases[name])
    #expect(parsed.isRefusal == (fields.reasonCode >= 0x80))
  }

  @Test(arguments: Kind.acknowledgements)
  func everyReasonCode(type: ControlPacketType, allowed: Set<UInt8>) throws {
    for code in UInt8.min ... .max {
      for body: [UInt8] in [[0, 10, code], [0, 10, code, 0]] {
        if allowed.contains(code) {
          let parsed = try Acknowledgement(parsing: body.span, type: type, version: .v5_0)
          #expect(parsed.reasonCode == code)
          #expect(parsed.identifier.rawValue == 10)
        } else {
          #expect(throws: Malformed.reasonCode) {
            try Acknowledgement(parsing: body.span, type: type, version: .v5_0)
          }
        }
      }
    }
  }

  @Test(arguments: Kind.acknowledgements)
  func sendsEveryReasonCode(type: ControlPacketType, allowed: Set<UInt8>) throws {
    for code in allowed {
      let acknowledgement = Acknowledgement(
        type: type, identifier: .first, reasonCode: try #require(ReasonCode(rawValue: code)))
      let packet = encoded(acknowledgement.encodedSize) { acknowledgement.encode(into: &$0) }
      let first = type.rawValue << 4 | (type == .pubrel ? 2 : 0)
      #expect(packet == (code == 0 ? [first, 2, 0, 1] : [first, 3, 0, 1, code]))
    }
  }
}
