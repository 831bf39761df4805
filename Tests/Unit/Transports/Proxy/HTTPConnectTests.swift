import TestSupport
import Testing

@testable import Transports

@Suite struct HTTPConnectTests {
  private static func request(
    _ host: String, _ port: UInt16 = 8883, user: String = "", password: String = "", room: Int = 4096
  ) -> String? {
    let (host, user, password) = (host.bytes, user.bytes, password.bytes)
    return written(room: room) { target in
      HTTPConnect().request(
        host: host.span, port: port, user: user.span, password: password.span, into: &target)
    }.map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func theRequest() {
    #expect(
      Self.request("broker.test") == "CONNECT broker.test:8883 HTTP/1.1\r\nHost: broker.test:8883\r\n\r\n")
    #expect(
      Self.request("2001:db8::1", 1) == "CONNECT [2001:db8::1]:1 HTTP/1.1\r\nHost: [2001:db8::1]:1\r\n\r\n")
    #expect(
      Self.request("fe80::1%eth0", 65_535)
        == "CONNECT [fe80::1]:65535 HTTP/1.1\r\nHost: [fe80::1]:65535\r\n\r\n")
  }

  /// The example of RFC 7617 section 2.
  @Test func aPasswordIsSentInBase64() {
    #expect(
      Self.request("h", user: "Aladdin", password: "open sesame")
        == "CONNECT h:8883 HTTP/1.1\r\nHost: h:8883\r\n"
        + "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n")
    #expect(Self.request("h", user: "u")?.contains("Basic dTo=\r\n") == true)
    #expect(Self.request("h", user: "a:b", password: "c") == nil)
    #expect(Self.request("h", user: "a", password: "b:c")?.contains("Basic YTpiOmM=\r\n") == true)
  }

  /// A host may come from a server that redirects.
  @Test func aHostThatWouldBeMoreThanAHost() {
    for host in ["", "a b", "a\r\nX: y", "a\n", "a\0", "a\t", "a\u{7F}"] {
      #expect(Self.request(host) == nil)
    }
  }

  @Test func room() {
    let size = Self.request("h")!.utf8.count
    #expect(Self.request("h", room: size) != nil)
    for room in 0..<size { #expect(Self.request("h", room: room) == nil) }
  }

  private static func answer(
    _ text: String, _ pieces: Pieces? = nil
  ) -> (connect: HTTPConnect, step: HandshakeStep, taken: Int) {
    var connect = HTTPConnect()
    let bytes = text.bytes
    let (step, taken) = (pieces ?? Pieces(cutAt: [], of: bytes.count)).hand(bytes) {
      connect.receive($0, consumed: &$1)
    }
    return (connect, step, taken)
  }

  /// The last three are of tinyproxy, squid, and a proxy that takes its time.
  @Test(arguments: [
    "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n", "HTTP/1.1 204\r\n\r\n", "HTTP/1.1 299 Fine\n\n",
    "HTTP/1.0 200 Connection established\r\nProxy-agent: tinyproxy/1.11.1\r\n\r\n",
    "HTTP/1.1 200 Connection established\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
  ])
  func successesInEachSplit(text: String) {
    let count = text.utf8.count
    for pieces in Pieces.some(of: count + 5) {
      let (connect, step, taken) = Self.answer(text + "\u{16}\u{03}\u{01}\0\0", pieces)
      #expect(step == .done && taken == count && connect.status / 100 == 2 && !connect.isMalformed)
    }
    for end in 0..<count {
      let (_, step, taken) = Self.answer(text.prefixBytes(end))
      #expect(step == .needsBytes && taken == end)
    }
  }

  @Test(arguments: [
    (
      "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n", 407,
      "Proxy Authentication Required"
    ),
    ("HTTP/1.0 401 Unauthorized\r\nContent-Length: 5\r\n\r\nPage!", 401, "Unauthorized"),
    ("HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\n<html>", 403, "Forbidden"),
    ("HTTP/1.1 302 Found\r\nLocation: http://portal.test/login\r\n\r\n", 302, "http://portal.test/login"),
    ("HTTP/1.1 302 Found\r\n\r\n", 302, "Found"), ("HTTP/1.1 500\r\n\r\n", 500, ""),
  ])
  func refusalsKeepTheirReason(text: String, status: UInt16, reason: String) {
    for pieces in Pieces.some(of: text.utf8.count) {
      let (connect, step, _) = Self.answer(text, pieces)
      #expect(step == .failed && connect.status == status && connect.text.string == reason)
      #expect(!connect.isMalformed)
    }
  }

  @Test(arguments: ["\u{05}\u{00}", "SSH-2.0-x\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n"])
  func whatIsNoHTTP(text: String) {
    let (connect, step, _) = Self.answer(text)
    #expect(step == .failed && connect.isMalformed && connect.status == 0)
  }
}

extension String {
  func prefixBytes(_ count: Int) -> String { String(decoding: utf8.prefix(count), as: UTF8.self) }
}
