import MQTTWire
import TestSupport
import Testing

@Suite struct DisconnectTests {
  struct Fields: Equatable, Sendable {
    var reasonCode: UInt8 = 0
    var reasonString: [UInt8] = []
    var serverReference: [UInt8] = []
    /// As they are on the wire.
    var properties: [UInt8] = []
  }

  struct Sent: Sendable {
    var reasonCode = ReasonCode.success
    /// `nil`: in the short form, which has none.
    var properties: [UInt8]? = nil
  }

  private static let users: [UInt8] = hex("26 00 01 61 00 01 62 26 00 01 61 00 01 63")

  static let sentCases: [String: Sent] = [
    "disconnect-31": Sent(),
    "disconnect-311": Sent(),
    "disconnect-5-normal": Sent(),
    "disconnect-5-with-will": Sent(reasonCode: .disconnectWithWillMessage),
    "disconnect-5-protocol-error": Sent(reasonCode: .protocolError),
    "disconnect-5-sent-session-expiry": Sent(properties: hex("11 00 00 00 78")),
    "disconnect-5-every-sent-property": Sent(
      reasonCode: .disconnectWithWillMessage,
      properties: hex("11 00 00 00 78 1F 00 03 62 79 65") + users),
    "disconnect-5-empty-properties": Sent(properties: []),
    "disconnect-5-property-length-128": Sent(
      reasonCode: .unspecifiedError, properties: hex("1F 00 7D 61*125")),
  ]

  static let receivedCases: [String: Fields] = [
    "disconnect-5-normal": Fields(),
    "disconnect-5-normal-spelled-out": Fields(),
    "disconnect-5-protocol-error": Fields(reasonCode: 0x82),
    "disconnect-5-no-properties": Fields(reasonCode: 0x8B),
    "disconnect-5-empty-properties": Fields(),
    "disconnect-5-every-property": Fields(
      reasonCode: 0x9C, reasonString: "busy".bytes, serverReference: "b:1883".bytes,
      properties: Array(vector("disconnect-5-every-property")[4...])),
    "disconnect-5-property-length-128": Fields(
      reasonCode: 0x80, reasonString: [UInt8](repeating: 0x61, count: 125),
      properties: hex("1F 00 7D 61*125")),
  ]

  private func packet(_ code: ReasonCode, _ version: ProtocolVersion) -> [UInt8] {
    let disconnect = Disconnect(reasonCode: code)
    return encoded(disconnect.encodedSize(version)) { disconnect.encode(into: &$0, version: version) }
  }

  private func packet(_ code: ReasonCode, properties: [UInt8]) -> [UInt8] {
    let length = Disconnect.remainingLength(properties: properties.span)
    return encoded(1 + VariableByteInteger.encodedSize(length) + length) {
      Disconnect.encode(into: &$0, reasonCode: code, properties: properties.span)
    }
  }

  @Test(arguments: sentCases.keys.sorted())
  func encodes(name: String) throws {
    let sent = try #require(Self.sentCases[name])
    guard let properties = sent.properties else {
      #expect(packet(sent.reasonCode, Vector.named(name).version) == vector(name))
      return
    }
    #expect(packet(sent.reasonCode, properties: properties) == vector(name))
    var reader = PropertyReader(properties.span, in: .packet(.disconnect, from: .client))
    while try reader.next() != nil {}
    #expect(reader.position == properties.count)
  }

  /// Before 5.0 there was no Reason Code to say why.
  @Test func noReasonCodeBeforeVersion5() {
    #expect(packet(.protocolError, .v3_1) == vector("disconnect-31"))
    #expect(packet(.protocolError, .v3_1_1) == vector("disconnect-311"))
  }

  @Test(arguments: receivedCases.keys.sorted())
  func decodes(name: String) throws {
    let (header, body) = try split(vector(name), .v5_0)
    #expect(header.type == .disconnect)
    let parsed = try Disconnect(parsing: body.span)
    let fields = Fields(
      reasonCode: parsed.reasonCode, reasonString: body[parsed.reasonString],
      serverReference: body[parsed.serverReference], properties: body[parsed.properties])
    #expect(fields == Self.receivedCases[name])
  }

  /// §3.14.2.1 [MQTT-3.14.2-1]: below 0x80 a server has only Normal disconnection (0x04 is the client's). A
  /// code of 0x80 and above which is not in the table still says that there was an error (§2.4).
  @Test func everyReasonCode() {
    for code in UInt8.min ... .max {
      let body = [code]
      if code == 0 || code >= 0x80 {
        #expect((try? Disconnect(parsing: body.span))?.reasonCode == code)
      } else {
        #expect(throws: Malformed.reasonCode) { try Disconnect(parsing: body.span) }
      }
    }
  }
}
