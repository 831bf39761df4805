import MQTTWire
import TestSupport
import Testing

@Suite struct PingTests {
  static let requests = ["pingreq-31", "pingreq-311", "pingreq-5"]
  static let responses = ["pingresp-31", "pingresp-311", "pingresp-5"]

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
