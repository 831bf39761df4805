import Driver
import Storage
import Testing

@testable import STOMPClient

@Suite struct STOMPURLTests {
  /// Scheme, user, password, hosts with ports, path.
  private static func parts(_ text: String) -> String {
    let bytes = Array(text.utf8)
    func shown(_ range: ByteRange) -> String { String(decoding: bytes[range.range], as: UTF8.self) }
    do throws(URLError) {
      let parsed = try STOMPURL(parsing: bytes.span)
      let servers = (0..<parsed.url.servers.count).map {
        "\(shown(parsed.url.servers.host($0))):\(parsed.url.servers.port($0))"
      }
      let scheme = parsed.carrier.map { "\($0)" } ?? "-"
      return
        "\(scheme) \(shown(parsed.url.userName)) \(shown(parsed.url.password)) \(servers.joined(separator: ",")) \(shown(parsed.url.path))"
    } catch {
      return "\(error)"
    }
  }

  @Test(arguments: [
    ("stomp://h", "tcp   h:0 "), ("STOMP://u:p@h:61613/", "tcp u p h:61613 "),
    ("stomps://a,b:1", "tls   a:0,b:1 "),
    ("stomp+ssl://h", "tls   h:0 "), ("stomp+tls://h", "tls   h:0 "),
    ("stomp+ws://h/ws", "webSocket   h:0 /ws"),
    ("ws://h:15674/ws", "webSocket   h:15674 /ws"), ("wss://h", "secureWebSocket   h:0 "),
    ("stomp+wss://h/a?b", "secureWebSocket   h:0 /a?b"),
    ("unix:/run/stomp", "file   /run/stomp:0 "), ("h", "-   h:0 "), ("u@h:1", "- u  h:1 "),
  ])
  func good(_ text: String, _ expected: String) { #expect(Self.parts(text) == expected) }

  @Test(arguments: [
    ("mqtt://h", "unknownScheme"), ("stomp+x://h", "unknownScheme"), ("stomp:/h", "malformed(at: 7)"),
    ("stomp://", "malformed(at: 8)"),
    ("stomp://h/queue", "malformed(at: 10)"), ("stomp://h:0", "malformed(at: 10)"), ("", "malformed(at: 0)"),
    ("stomp://" + String(repeating: "h", count: 1100), "tooLong"),
  ])
  func bad(_ text: String, _ error: String) { #expect(Self.parts(text) == error) }
}
