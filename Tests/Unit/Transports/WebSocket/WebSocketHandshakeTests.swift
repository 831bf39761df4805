import TestSupport
import Testing

@testable import Transports

/// RFC 6455 section 4, the client's side.
@Suite struct WebSocketHandshakeTests {
  /// The key of section 1.3 in plain bytes.
  private static let nonce = "the sample nonce".bytes
  private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
  private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

  static func handshake() -> WebSocketHandshake {
    var nonce = InlineArray<16, UInt8>(repeating: 0)
    for (index, byte) in Self.nonce.enumerated() { nonce[index] = byte }
    return WebSocketHandshake(nonce: nonce)
  }

  // MARK: The request

  private static func request(
    path: String = "/mqtt", host: String = "broker.test", port: UInt16? = nil, subprotocols: String = "mqtt",
    headers: String = "", room: Int = 8192
  ) -> String? {
    let (path, host, subprotocols, headers) = (path.bytes, host.bytes, subprotocols.bytes, headers.bytes)
    return written(room: room) { target in
      handshake().request(
        WebSocketRequest(
          path: path.span, host: host.span, port: port, subprotocols: subprotocols.span, headers: headers.span
        ),
        into: &target)
    }.map { String(decoding: $0, as: UTF8.self) }
  }

  // The macro takes no spans.
  private static func isValid(path: [UInt8]) -> Bool { WebSocketHandshake.isValid(path: path.span) }
  private static func isValid(headers: [UInt8]) -> Bool { WebSocketHandshake.isValid(headers: headers.span) }
  private static func isValid(subprotocols: [UInt8]) -> Bool {
    WebSocketHandshake.isValid(subprotocols: subprotocols.span)
  }

  private static func lines(
    path: String = "/mqtt", host: String = "Host: broker.test\r\n",
    end: String = "Sec-WebSocket-Protocol: mqtt\r\n"
  ) -> String {
    "GET \(path) HTTP/1.1\r\n\(host)Upgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(key)\r\n\(end)\r\n"
  }

  @Test func theRequest() {
    #expect(Self.request() == Self.lines())
    #expect(Self.request(port: 8080) == Self.lines(host: "Host: broker.test:8080\r\n"))
    #expect(Self.request(host: "::1") == Self.lines(host: "Host: [::1]\r\n"))
    #expect(Self.request(host: "fe80::1%lo", port: 1) == Self.lines(host: "Host: [fe80::1]:1\r\n"))
    #expect(Self.request(path: "") == Self.lines(path: "/"))
    #expect(Self.request(path: "?a=b&c=%20") == Self.lines(path: "/?a=b&c=%20"))
    #expect(Self.request(subprotocols: "") == Self.lines(end: ""))
    #expect(
      Self.request(subprotocols: "mqttv3.1, mqtt")
        == Self.lines(end: "Sec-WebSocket-Protocol: mqttv3.1, mqtt\r\n"))
    let headers = "Origin: http://a.test\r\nX-Empty:\r\n"
    #expect(
      Self.request(headers: headers) == Self.lines(end: "Sec-WebSocket-Protocol: mqtt\r\n" + headers))
  }

  @Test func hostMayBeAnother() {
    let headers = "Authorization: Bearer x\r\nHOST: other.test\r\n"
    #expect(
      Self.request(headers: headers)
        == Self.lines(host: "", end: "Sec-WebSocket-Protocol: mqtt\r\n" + headers))
    #expect(Self.request(headers: "Host: a\r\nhost: b\r\n") == nil)
  }

  @Test func aRequestOfFourKibibytesAndTheRoomForIt() {
    let path = "/mqtt?X-Amz-Security-Token=" + String(repeating: "a", count: 4000)
    let size = Self.request(path: path)!.utf8.count
    #expect(Self.request(path: path, room: size) == Self.lines(path: path))
    #expect(Self.request(path: path, room: size - 1) == nil)
    let small = Self.request()!.utf8.count
    for room in 0..<small { #expect(Self.request(room: room) == nil) }
  }

  @Test(arguments: [
    "mqtt", "a/b", "/a b", "/a\r\nX: y", "/a\n", "/a\r", "/\0", "/\t", "/\u{7F}", "/\u{E9}", "/a#b", "#",
    "http://a/",
  ])
  func pathsThatAreNone(path: String) {
    #expect(Self.request(path: path) == nil)
    #expect(!Self.isValid(path: path.bytes))
  }

  @Test func eachCharacterOfAPath() {
    for byte in UInt8.min...UInt8.max {
      let isPrintable = 0x21...0x7E ~= byte && byte != UInt8(ascii: "#")
      #expect(Self.isValid(path: [UInt8(ascii: "/"), byte]) == isPrintable, "\(byte)")
    }
  }

  @Test(arguments: [
    "mqtt,", ",mqtt", "mqtt,,mqttv3.1", " ", ",", "a b", "mqtt\r\nX: y", "mqtt\0", "a/b", "\"mqtt\"",
    "\u{E9}",
  ])
  func subprotocolsThatAreNone(subprotocols: String) {
    #expect(Self.request(subprotocols: subprotocols) == nil)
    #expect(!Self.isValid(subprotocols: subprotocols.bytes))
  }

  /// RFC 9110 section 5.6.2.
  @Test func eachCharacterOfAToken() {
    let symbols = "!#$%&'*+-.^_`|~".bytes
    for byte in UInt8.min...UInt8.max {
      let isLetter = (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
      let isToken = isLetter || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || symbols.contains(byte)
      #expect(HTTPText.isTokenCharacter(byte) == isToken, "\(byte)")
    }
  }

  @Test(arguments: [
    "X: y", "X: y\n", "X: y\r", "X: y\r\n\r\n", "\r\n", "X\r\n", ": y\r\n", "X y: z\r\n", "X : y\r\n",
    " X: y\r\n", "X: y\r\n z\r\n", "X: a\0b\r\n", "X: a\rb\r\n", "X: a\nb\r\n", "X: \u{1B}\r\n",
    "X: \u{7F}\r\n",
    "Upgrade: h2c\r\n", "connection: close\r\n", "SEC-WEBSOCKET-KEY: x\r\n", "Sec-WebSocket-Version: 8\r\n",
    "Sec-WebSocket-Protocol: x\r\n", "Sec-WebSocket-Extensions: permessage-deflate\r\n",
    "Sec-WebSocket-Accept: x\r\n", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n",
    "A: b\r\nUpgrade: x\r\n", "X: y\r\nZ",
  ])
  func headersThatAreRefused(headers: String) {
    #expect(Self.request(headers: headers) == nil)
    #expect(!Self.isValid(headers: headers.bytes))
  }

  @Test func headersThatAreAccepted() {
    for headers in ["X: a\tb  c\r\n", "X: \u{E9}\r\n", "X:y\r\nX:z\r\n", "Upgrades: x\r\nConnections: y\r\n"]
    {
      #expect(Self.isValid(headers: headers.bytes))
    }
  }

  @Test func hostsThatWouldBeMoreThanAHost() {
    for host in ["", "a b", "a\r\nX: y", "a\0"] { #expect(Self.request(host: host) == nil) }
  }

  // MARK: The reply

  private static func answer(
    _ text: String, subprotocols: String = "mqtt", _ pieces: Pieces? = nil
  ) -> (handshake: WebSocketHandshake, step: HandshakeStep, taken: Int) {
    var handshake = handshake()
    let bytes = text.bytes
    let offered = subprotocols.bytes
    let (step, taken) = (pieces ?? Pieces(cutAt: [], of: bytes.count)).hand(bytes) {
      handshake.receive($0, consumed: &$1, subprotocols: offered.span)
    }
    return (handshake, step, taken)
  }

  /// A reply with other lines in place of some.
  private static func reply(
    _ status: String = "101 Switching Protocols", upgrade: String? = "Upgrade: websocket",
    connection: String? = "Connection: Upgrade", accept: String? = "Sec-WebSocket-Accept: \(accept)",
    more: String? = nil
  ) -> String {
    let lines = ["HTTP/1.1 \(status)", upgrade, connection, accept, more]
    return lines.compactMap { $0 }.map { $0 + "\r\n" }.joined() + "\r\n"
  }

  /// The reply of section 1.3, those of Mosquitto and nginx, and one that is as different as it may be.
  @Test(arguments: [
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nServer: nginx/1.22.1\r\nDate: Mon, 23 Nov 2026 00:00:00 GMT\r\n"
      + "Connection: upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
    "HTTP/1.1 100 Continue\r\nUpgrade: nothing\r\n\r\nHTTP/1.1 101\nCONNECTION: keep-alive,\n UPGRADE \n"
      + "upgrade:h2c\nUPGRADE:\tWEBSOCKET\nsec-websocket-accept:s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\n\n",
  ])
  func repliesInEachSplit(text: String) {
    let count = text.utf8.count
    for pieces in Pieces.some(of: count + 2) {
      let (handshake, step, taken) = Self.answer(text + "\u{02}\u{00}", pieces)
      #expect(step == .done && taken == count && handshake.status == 101 && handshake.fault == .none)
    }
    for end in 0..<count { #expect(Self.answer(text.prefixBytes(end)).step == .needsBytes) }
  }

  @Test(arguments: [
    (reply(upgrade: nil), WebSocketHandshake.Fault.upgrade), (reply(upgrade: "Upgrade: h2c"), .upgrade),
    (reply(upgrade: "Upgrade: websockets"), .upgrade), (reply(upgrade: "Upgrade: web socket"), .upgrade),
    (reply(upgrade: "Upgraded: websocket"), .upgrade), (reply(connection: nil), .connection),
    (reply(connection: "Connection: keep-alive"), .connection),
    (reply(connection: "Connection:"), .connection),
    (reply(accept: nil), .accept), (reply(accept: "Sec-WebSocket-Accept:"), .accept),
    (reply(accept: "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo"), .accept),
    (reply(accept: "Sec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo="), .accept),
    (reply(accept: "Sec-WebSocket-Accept: \(key)"), .accept),
    (reply(more: "Sec-WebSocket-Accept: \(accept)"), .accept),
    (reply(more: "Sec-WebSocket-Extensions: permessage-deflate"), .extensions),
    (reply(more: "Sec-WebSocket-Protocol: mqttv3.1"), .subprotocol),
    (reply(more: "Sec-WebSocket-Protocol: MQTT"), .subprotocol),
    (reply(more: "Sec-WebSocket-Protocol:"), .subprotocol),
    (reply(more: "Sec-WebSocket-Protocol: mqtt, mqtt"), .subprotocol),
    (reply(more: "Sec-WebSocket-Protocol: mqtt\r\nSec-WebSocket-Protocol: mqtt"), .subprotocol),
    (reply("200 OK"), .status), (reply("404 Not Found"), .status), (reply("426 Upgrade Required"), .status),
    ("HTTP/1.2\r\n\r\n", .malformed), ("\u{20}\u{02}\0\0", .malformed),
  ])
  func eachRuleBroken(text: String, fault: WebSocketHandshake.Fault) {
    let (handshake, step, _) = Self.answer(text)
    #expect(step == .failed && handshake.fault == fault)
  }

  @Test func theReasonOfARefusal() {
    var (handshake, _, _) = Self.answer("HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nforbidden")
    #expect(handshake.status == 403 && handshake.text.string == "Forbidden")
    (handshake, _, _) = Self.answer("HTTP/1.1 301 Moved\r\nLocation: wss://other.test/mqtt\r\n\r\n")
    #expect(handshake.status == 301 && handshake.text.string == "wss://other.test/mqtt")
  }

  @Test func eachSubprotocolThatWasOffered() {
    for name in ["mqttv3.1", "mqtt"] {
      let text = Self.reply(more: "Sec-WebSocket-Protocol: \(name)")
      #expect(Self.answer(text, subprotocols: "mqttv3.1 ,mqtt").step == .done)
      #expect(Self.answer(text, subprotocols: "").handshake.fault == .subprotocol)
    }
    #expect(Self.answer(Self.reply(), subprotocols: "").step == .done)
  }

  @Test func aHeadThatDoesNotEnd() {
    let text = "HTTP/1.1 101 x\r\n" + String(repeating: "a: b\r\n", count: 3000)
    let (handshake, step, taken) = Self.answer(text)
    #expect(step == .failed && handshake.fault == .malformed && taken == 16_384)
  }

  @Test func randomRepliesNeverSucceedByAccident() {
    var random = SeededRandom(seed: 6455)
    let right = Self.reply(more: "Sec-WebSocket-Protocol: mqtt").bytes
    for _ in 0..<4000 {
      var bytes = right
      for _ in 0...random.below(3) {
        bytes[random.below(bytes.count)] = random.pick([10, 13, 32, 44, 58, 0x61, 0xFF])
      }
      var handshake = Self.handshake()
      let offered = "mqtt".bytes
      let pieces = Pieces(cutAt: [random.below(bytes.count)], of: bytes.count)
      let (step, taken) = pieces.hand(bytes) {
        handshake.receive($0, consumed: &$1, subprotocols: offered.span)
      }
      #expect(taken <= bytes.count)
      #expect(step == .failed ? handshake.fault != .none : handshake.fault == .none)
      if step == .done { #expect(String(decoding: bytes, as: UTF8.self).contains(Self.accept)) }
    }
  }
}
