import MQTTWire
import Testing

@Suite struct PingTests {
  static let requests = ["pingreq-311", "pingreq-5"]
  static let responses = ["pingresp-311", "pingresp-5"]

  @Test(arguments: requests)
  func encodes(name: String) {
    #expect(encoded(Ping.encodedSize) { Ping.encodeRequest(into: &$0) } == vector(name))
  }

  @Test(arguments: responses)
  func decodes(name: String) throws {
    let (header, body) = try split(vector(name), Vector.named(name).version)
    #expect(header.type == .pingresp)
    #expect(throws: Never.self) { try Ping.parseResponse(body.span) }
  }
}

@Suite struct DisconnectTests {
  struct Fields: Equatable, Sendable {
    var reasonCode: UInt8 = 0
    var reasonString: [UInt8] = []
    var serverReference: [UInt8] = []
  }

  static let sentCases: [String: ReasonCode] = [
    "disconnect-311": .success,
    "disconnect-5-normal": .success,
    "disconnect-5-with-will": .disconnectWithWillMessage,
    "disconnect-5-protocol-error": .protocolError,
  ]

  static let receivedCases: [String: Fields] = [
    "disconnect-5-normal": Fields(),
    "disconnect-5-normal-spelled-out": Fields(),
    "disconnect-5-protocol-error": Fields(reasonCode: 0x82),
    "disconnect-5-no-properties": Fields(reasonCode: 0x8B),
    "disconnect-5-every-property": Fields(
      reasonCode: 0x9C, reasonString: "busy".bytes, serverReference: "b:1883".bytes),
  ]

  private func packet(_ code: ReasonCode, _ version: ProtocolVersion) -> [UInt8] {
    let disconnect = Disconnect(reasonCode: code)
    return encoded(disconnect.encodedSize(version)) { disconnect.encode(into: &$0, version: version) }
  }

  @Test(arguments: sentCases.keys.sorted())
  func encodes(name: String) throws {
    #expect(packet(try #require(Self.sentCases[name]), Vector.named(name).version) == vector(name))
  }

  /// 3.1.1 has no Reason Code to say why.
  @Test func noReasonCodeInVersion311() {
    #expect(packet(.protocolError, .v3_1_1) == vector("disconnect-311"))
  }

  @Test(arguments: receivedCases.keys.sorted())
  func decodes(name: String) throws {
    let (header, body) = try split(vector(name), .v5_0)
    #expect(header.type == .disconnect)
    let parsed = try Disconnect(parsing: body.span)
    let fields = Fields(
      reasonCode: parsed.reasonCode, reasonString: body[parsed.reasonString],
      serverReference: body[parsed.serverReference])
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
