import MQTTWire
import TestSupport
import Testing

@Suite struct AuthTests {
  struct Fields: Equatable, Sendable {
    var reasonCode: UInt8 = 0x18
    var method: [UInt8] = []
    var data: [UInt8] = []
    var reasonString: [UInt8] = []
    /// As they are on the wire.
    var properties: [UInt8] = []
  }

  private static let plain: [UInt8] = hex("15 00 05 50 4C 41 49 4E")
  private static let someData: [UInt8] = hex("16 00 03 00 FF 80")
  private static let user: [UInt8] = hex("26 00 01 61 00 01 62")

  private static let both: [String: Fields] = [
    "auth-5-continue": Fields(
      method: "PLAIN".bytes, data: [0x00, 0xFF, 0x80], properties: plain + someData),
    "auth-5-every-property": Fields(
      method: "PLAIN".bytes, data: [0x00, 0xFF, 0x80], reasonString: "ok".bytes,
      properties: hex("1F 00 02 6F 6B") + plain + user + someData + user),
    "auth-5-property-length-128": Fields(
      method: "m".bytes, data: [UInt8](repeating: 0xFF, count: 121),
      properties: hex("15 00 01 6D 16 00 79 FF*121")),
  ]

  static let sentCases = both.merging([
    "auth-5-reauthenticate": Fields(reasonCode: 0x19, method: "PLAIN".bytes, properties: plain)
  ]) { $1 }

  static let receivedCases = both.merging([
    "auth-5-success": Fields(reasonCode: 0, method: "PLAIN".bytes, properties: plain),
    "auth-5-success-short": Fields(reasonCode: 0),
    "auth-5-empty-method": Fields(properties: hex("15 00 00")),
  ]) { $1 }

  @Test(arguments: sentCases.keys.sorted())
  func encodes(name: String) throws {
    let fields = try #require(Self.sentCases[name])
    let code = try #require(ReasonCode(rawValue: fields.reasonCode))
    let length = Auth.remainingLength(properties: fields.properties.span)
    let packet = encoded(1 + VariableByteInteger.encodedSize(length) + length) {
      Auth.encode(into: &$0, reasonCode: code, properties: fields.properties.span)
    }
    #expect(packet == vector(name))
    var reader = PropertyReader(fields.properties.span, in: .packet(.auth, from: .client))
    while try reader.next() != nil {}
    #expect(reader.position == fields.properties.count)
  }

  @Test(arguments: receivedCases.keys.sorted())
  func decodes(name: String) throws {
    let (header, body) = try split(vector(name), .v5_0)
    #expect(header.type == .auth)
    let auth = try Auth(parsing: body.span)
    let fields = Fields(
      reasonCode: auth.reasonCode, method: body[auth.method], data: body[auth.data],
      reasonString: body[auth.reasonString], properties: body[auth.properties])
    #expect(fields == Self.receivedCases[name])
  }

  /// Table 3-11 [MQTT-3.15.2-1]: from a server Success and Continue authentication.
  @Test func everyReasonCode() throws {
    for code in UInt8.min ... .max {
      let body = [code, UInt8(Self.plain.count)] + Self.plain
      if code == 0x00 || code == 0x18 {
        #expect(try Auth(parsing: body.span).reasonCode == code)
      } else {
        #expect(throws: Malformed.reasonCode) { try Auth(parsing: body.span) }
      }
    }
  }
}
