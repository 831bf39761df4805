import Driver
import MQTTWire
import TestSupport
import Testing

@testable import MQTTClient

/// The fields of a URL, or why it has none, as plain values.
struct ParsedURL: Equatable, Sendable {
  var userName = ""
  var password = ""
  var servers: [Server] = []
  var carrier: Carrier? = .tcp
  var path = ""
  var error: String?

  struct Server: Equatable, Sendable {
    var host: String
    var port: UInt16
  }

  init(
    host: String, port: UInt16 = 0, userName: String = "", password: String = "", more: [Server] = [],
    carrier: Carrier? = .tcp, path: String = ""
  ) {
    self.carrier = carrier
    self.path = path
    servers = [Server(host: host, port: port)] + more
    self.userName = userName
    self.password = password
  }

  init(parsing text: [UInt8]) {
    do throws(OptionsError) {
      let parsed = try MQTTURL(checking: text.span)
      carrier = parsed.carrier
      let url = parsed.url
      path = String(decoding: text[url.path.range], as: UTF8.self)
      // An extent outside would trap here.
      userName = String(decoding: text[url.userName.range], as: UTF8.self)
      password = String(decoding: text[url.password.range], as: UTF8.self)
      servers = (0..<url.servers.count).map {
        Server(
          host: String(decoding: text[url.servers.host($0).range], as: UTF8.self), port: url.servers.port($0))
      }
    } catch {
      self.error = Self.name(error)
    }
  }

  static func name(_ error: OptionsError) -> String {
    switch error {
    case .url(let offset): "url \(offset)"
    case .notSupported(let offset): "not supported \(offset)"
    default: "\(error)"
    }
  }
}

@Suite struct MQTTURLTests {
  static let good: [String: ParsedURL] = [
    "mqtt://localhost": ParsedURL(host: "localhost"),
    "mqtt://localhost/": ParsedURL(host: "localhost"),
    "MQTT://h": ParsedURL(host: "h"),
    "mQtT://h:1": ParsedURL(host: "h", port: 1),
    "mqtt://broker.example.org:1883": ParsedURL(host: "broker.example.org", port: 1883),
    "mqtt://broker.example.org:1883/": ParsedURL(host: "broker.example.org", port: 1883),
    "mqtt://h:65535": ParsedURL(host: "h", port: 65_535),
    "mqtt://h:0001883": ParsedURL(host: "h", port: 1883),
    "mqtt://192.0.2.7": ParsedURL(host: "192.0.2.7"),
    "mqtt://[::1]": ParsedURL(host: "::1"),
    "mqtt://[2001:DB8::a]:1884/": ParsedURL(host: "2001:DB8::a", port: 1884),
    "mqtt://[::ffff:192.0.2.7]:1": ParsedURL(host: "::ffff:192.0.2.7", port: 1),
    "mqtt://my_host-2": ParsedURL(host: "my_host-2"),
    "mqtt://u@h": ParsedURL(host: "h", userName: "u"),
    "mqtt://u:p@h:1/": ParsedURL(host: "h", port: 1, userName: "u", password: "p"),
    "mqtt://u:@h": ParsedURL(host: "h", userName: "u"),
    "mqtt://u:p:q@h": ParsedURL(host: "h", userName: "u", password: "p:q"),
    "mqtt://u%40x:p%2Fq%3a@[::1]": ParsedURL(host: "::1", userName: "u%40x", password: "p%2Fq%3a"),
    "mqtt://a-._~!$&'()*+,;=:b@h": ParsedURL(host: "h", userName: "a-._~!$&'()*+,;=", password: "b"),
    "mqtt://%01@h": ParsedURL(host: "h", userName: "%01"),
    "mqtt://a,b": ParsedURL(host: "a", more: [.init(host: "b", port: 0)]),
    "mqtt://u,v:p,q@a:1,[::1]:2,c/": ParsedURL(
      host: "a", port: 1, userName: "u,v", password: "p,q",
      more: [.init(host: "::1", port: 2), .init(host: "c", port: 0)]),
    "mqtt://h0,h1,h2,h3,h4,h5,h6,h7,h8,h9,ha,hb,hc,hd,he,hf": ParsedURL(
      host: "h0", more: (1..<16).map { .init(host: "h" + String($0, radix: 16), port: 0) }),
    "mqtts://h": ParsedURL(host: "h", carrier: .tls),
    "MQTTS://u:p@h:8884/": ParsedURL(host: "h", port: 8884, userName: "u", password: "p", carrier: .tls),
    "ws://h": ParsedURL(host: "h", carrier: .webSocket),
    "ws://h/": ParsedURL(host: "h", carrier: .webSocket, path: "/"),
    "wss://u@a:1,[::1]:2/mqtt?X-Amz-Date=1&x=%2f,@:": ParsedURL(
      host: "a", port: 1, userName: "u", more: [.init(host: "::1", port: 2)], carrier: .secureWebSocket,
      path: "/mqtt?X-Amz-Date=1&x=%2f,@:"),
    "unix:/run/mqtt.sock": ParsedURL(host: "/run/mqtt.sock", carrier: .file),
    "unix:///run/mqtt.sock": ParsedURL(host: "/run/mqtt.sock", carrier: .file),
    // Without a scheme.
    "m": ParsedURL(host: "m", carrier: nil),
    "localhost": ParsedURL(host: "localhost", carrier: nil),
    "localhost/": ParsedURL(host: "localhost", carrier: nil),
    "mqtt": ParsedURL(host: "mqtt", carrier: nil),
    "mqtt:1883": ParsedURL(host: "mqtt", port: 1883, carrier: nil),
    "unix": ParsedURL(host: "unix", carrier: nil),
    "unix:1": ParsedURL(host: "unix", port: 1, carrier: nil),
    "192.0.2.7:1884": ParsedURL(host: "192.0.2.7", port: 1884, carrier: nil),
    "[::1]:1884": ParsedURL(host: "::1", port: 1884, carrier: nil),
    "my-host.example": ParsedURL(host: "my-host.example", carrier: nil),
    "u@h": ParsedURL(host: "h", userName: "u", carrier: nil),
    "u:p@a:1,b": ParsedURL(
      host: "a", port: 1, userName: "u", password: "p", more: [.init(host: "b", port: 0)], carrier: nil),
  ]

  static let bad: [String: String] = [
    // The scheme.
    "mqtt:/": "url 6",
    "mqtt:/h": "url 6",
    "://h": "url 0",
    " mqtt://h": "url 0",
    "mqtt ://h": "url 4",
    // None.
    "": "url 0",
    "mqtt:": "url 5",
    "mqtt//h": "url 5",
    "localhost:": "url 10",
    "localhost/a": "url 10",
    ":1": "url 0",
    "::1": "url 0",
    "a,": "url 2",
    "tcp://h": "not supported 0",
    "mqtt5://h": "not supported 0",
    "nqtt://h": "not supported 0",
    "mqtu://h": "not supported 0",
    "mqtt+ssl://h": "not supported 0",
    // The host.
    "mqtt://": "url 7",
    "mqtt:///": "url 7",
    "mqtt://:1883": "url 7",
    "mqtt://u@": "url 9",
    "mqtt://u@:1": "url 9",
    "mqtt://h h": "url 8",
    "mqtt://h\u{e4}": "url 8",
    "mqtt://h?x": "url 9", "mqtt://h/?x=1": "url 10",
    "mqtt://h#x": "url 8",
    "mqtt://h%41": "url 8",
    "mqtt://u@h@i": "url 10",
    "mqtt://h/topic": "url 9",
    "mqtt://h//": "url 9",
    "mqtt://[": "url 8",
    "mqtt://[]": "url 8",
    "mqtt://[::1": "url 11",
    "mqtt://[::1]x": "url 12",
    "mqtt://[fe80::1%eth0]": "url 15",
    "mqtt://[g]": "url 8",
    "mqtt://[1]": "url 8",
    "mqtt://[192.0.2.7]": "url 8",
    "mqtt://::1": "url 7",
    // The port.
    "mqtt://h:": "url 9",
    "mqtt://h:/": "url 9",
    "mqtt://h:0": "url 9",
    "mqtt://h:000": "url 9",
    "mqtt://h:65536": "url 9",
    "mqtt://h:99999999999999999999999999": "url 9",
    "mqtt://h:18x3": "url 11",
    "mqtt://h:-1": "url 9",
    "mqtt://h:1:2": "url 10",
    "mqtt://h,": "url 9",
    "mqtt://,h": "url 7",
    "mqtt://h,,i": "url 9",
    "mqtt://h:1,i:0": "url 13",
    "mqtt://h,[::1": "url 13",
    "mqtt://0,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,g": "url 39",
    // The path.
    "ws://h?x=1": "url 6",
    "ws://h/a b": "url 8",
    "ws://h/a#b": "url 8",
    "ws://h/\u{e4}": "url 7",
    "ws:/h": "url 4",
    "wss:///": "url 6",
    "unix:": "url 5",
    "unix:/": "url 5",
    "unix:run/mqtt.sock": "url 5",
    "unix://": "url 7",
    "unix://x/a": "url 7",
    "unix:/a b": "url 7",
    "unixx:/a": "url 7",
    // User and password.
    "mqtt://@h": "url 7",
    "mqtt://:p@h": "url 7",
    "mqtt://u v@h": "url 8",
    "mqtt://u%@h": "url 8",
    "mqtt://u%4@h": "url 8",
    "mqtt://u%4g@h": "url 8",
    "mqtt://u%g4@h": "url 8",
    "mqtt://u%00@h": "url 8",
    "mqtt://u:p%00@h": "url 10",
    "mqtt://u:[@h": "url 9",
    "mqtt://\u{e4}@h": "url 7",
    "mqtt://u/v@h": "url 9",
  ]

  @Test(arguments: good.keys.sorted())
  func isRead(text: String) {
    #expect(ParsedURL(parsing: Array(text.utf8)) == Self.good[text])
  }

  @Test(arguments: bad.keys.sorted())
  func isRefused(text: String) {
    #expect(ParsedURL(parsing: Array(text.utf8)).error == Self.bad[text])
  }

  @Test func atMost1024Bytes() {
    let longest = "mqtt://" + String(repeating: "h", count: 1017)
    #expect(ParsedURL(parsing: Array(longest.utf8)).servers.first?.host.count == 1017)
    #expect(ParsedURL(parsing: Array((longest + "h").utf8)).error == "option")
  }

  /// A signed path is long, and a name is not.
  @Test func atMost4096BytesWithAPath() {
    let longest = "ws://h/" + String(repeating: "x", count: 4089)
    #expect(ParsedURL(parsing: Array(longest.utf8)).path.utf8.count == 4090)
    #expect(ParsedURL(parsing: Array((longest + "x").utf8)).error == "option")
    let name = String(repeating: "h", count: 1019)
    #expect(ParsedURL(parsing: Array("ws://\(name)/".utf8)).error == nil)
    #expect(ParsedURL(parsing: Array("ws://\(name)h/".utf8)).error == "option")
  }

  /// Every place an error names lies in the text, or just behind it.
  static func hasGoodOffset(_ parsed: ParsedURL, _ size: Int) -> Bool {
    guard let error = parsed.error else { return true }
    guard let offset = Int(error.split(separator: " ").last ?? "") else { return false }
    return offset >= 0 && offset <= size
  }

  @Test(arguments: good.keys.sorted())
  func prefixes(text: String) {
    let bytes = Array(text.utf8)
    for count in 0...bytes.count {
      let prefix = Array(bytes.prefix(count))
      let parsed = ParsedURL(parsing: prefix)
      #expect(Self.hasGoodOffset(parsed, count), "\(String(decoding: prefix, as: UTF8.self))")
      // "mqtt" is a host, and "mqtt:" one whose port is missing.
      let isUnfinished = prefix.last == UInt8(ascii: ":") && !prefix.contains(UInt8(ascii: "/"))
      if prefix.isEmpty || isUnfinished { #expect(parsed.error != nil) }
    }
  }

  @Test(arguments: good.keys.sorted())
  func mutations(text: String) {
    let bytes = Array(text.utf8)
    var wrong: [[UInt8]] = []
    for index in bytes.indices {
      for byte in UInt8.min ... .max {
        var mutated = bytes
        mutated[index] = byte
        let parsed = ParsedURL(parsing: mutated)
        let isASCII = byte > 0x20 && byte < 0x7F
        if !Self.hasGoodOffset(parsed, bytes.count) || (parsed.error == nil && !isASCII) {
          wrong.append(mutated)
        }
      }
    }
    #expect(wrong == [])
  }

  static func decoded(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    var target = [UInt8](repeating: 0xAA, count: bytes.count)
    let count: Int
    do {
      var span = target.mutableSpan
      count = ServerURL.decode(bytes.span, into: &span)
    }
    return Array(target.prefix(count))
  }

  @Test func percentDecoding() {
    #expect(Self.decoded("") == [])
    #expect(Self.decoded("plain") == Array("plain".utf8))
    #expect(Self.decoded("%41") == [0x41])
    #expect(Self.decoded("u%40x%3a%3A%2f") == Array("u@x::/".utf8))
    #expect(Self.decoded("%c3%A4") == [0xC3, 0xA4])
    #expect(Self.decoded("%2541") == Array("%41".utf8))
    for byte in UInt8.min ... .max {
      let digits = String(byte, radix: 16)
      let text = "%" + (digits.count == 1 ? "0" : "") + digits
      #expect(Self.decoded(text) == [byte])
      #expect(Self.decoded(text.uppercased()) == [byte])
    }
  }
}
