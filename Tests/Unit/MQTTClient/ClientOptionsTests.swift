import MQTTSession
import MQTTWire
import TestSupport
import Testing

@testable import MQTTClient

/// Options as a caller might give them; the rest is what `RequestedOptions` begins with.
struct Request: Sendable {
  var host = "h".bytes
  var clientID: [UInt8] = []
  var userName: [UInt8] = []
  var password: [UInt8] = []
  var keepSession = false
  var version: UInt32 = 0
  var port: UInt32 = 0
  var keepAlive: UInt32 = 0
  var sessionExpiry: UInt32 = 0
  var statesExpiry = false
  var connectTimeout: UInt32 = 0
  var pingTimeout: UInt32 = 0
  var outboxBytes: UInt32 = 0
  var outboxMessages: UInt32 = 0
  var receiveBytes: UInt32 = 0
  var inFlightMaximum: UInt32 = 0
  var will: Will?

  struct Will: Sendable {
    var topic = "w".bytes
    var payload: [UInt8] = []
    var qos: UInt8 = 0
    var retain: UInt8 = 0
  }

  /// What becomes of them: the numbers and CONNECT, or the error.
  struct Result: Equatable {
    var host: [UInt8] = []
    var numbers: [String: Int] = [:]
    var connect: [UInt8] = []
    var error: String?

    init(error: String) { self.error = error }

    init(_ options: borrowing ClientOptions) {
      for index in 0..<options.driver.hosts.count { host.append(options.driver.hosts[index]) }
      numbers = [
        "port": Int(options.driver.port), "keepAlive": Int(options.session.connect.keepAlive),
        "sessionExpiry": Int(options.session.connect.session.sessionExpiryInterval),
        "connectTimeout": Int(options.driver.connectTimeout), "pingTimeout": Int(options.session.pingTimeout),
        "outboxBytes": options.session.outboxBytes, "outboxMessages": options.session.outboxMessages,
        "receiveBytes": options.session.receiveBytes, "inFlightMaximum": options.session.inFlightMaximum,
        "version": Int(options.session.connect.version.rawValue),
      ]
      connect = [UInt8](repeating: 0, count: options.session.connect.encodedSize)
      do {
        var writer = ByteWriter(connect.mutableSpan)
        options.session.connect.encode(into: &writer)
      }
    }
  }

  var result: Result {
    let willTopic = will?.topic ?? []
    let willPayload = will?.payload ?? []
    var request = RequestedOptions()
    request.connection.host = host.span
    request.clientID = clientID.span
    request.userName = userName.span
    request.password = password.span
    request.keepSession = keepSession
    request.protocolVersion = version
    request.connection.port = port
    request.keepAlive = keepAlive
    request.sessionExpiry = sessionExpiry
    request.statesExpiry = statesExpiry
    request.connection.connectTimeout = connectTimeout
    request.pingTimeout = pingTimeout
    request.outboxBytes = outboxBytes
    request.outboxMessages = outboxMessages
    request.receiveBytes = receiveBytes
    request.inFlightMaximum = inFlightMaximum
    if let will {
      request.hasWill = true
      request.willQoS = will.qos
      request.willRetain = will.retain
    }
    request.willTopic = willTopic.span
    request.willPayload = willPayload.span
    do throws(OptionsError) {
      return Result(try ClientOptions(checking: request))
    } catch {
      return Result(error: ParsedURL.name(error))
    }
  }

  func with(_ change: (inout Request) -> Void) -> Request {
    var changed = self
    change(&changed)
    return changed
  }
}

@Suite struct ClientOptionsTests {
  /// As swiftmqtt.h promises them.
  @Test func defaults() {
    let result = Request().result
    #expect(result.error == nil)
    #expect(result.host == "h".bytes)
    #expect(
      result.numbers == [
        "port": 1883, "keepAlive": 60, "sessionExpiry": 0, "connectTimeout": 30_000, "pingTimeout": 10_000,
        "outboxBytes": 65_536, "outboxMessages": 256, "receiveBytes": 4096, "inFlightMaximum": 0,
        "version": 4,
      ])
    #expect(result.connect == [0x10, 12, 0, 4] + "MQTT".bytes + [4, 2, 0, 60, 0, 0])
  }

  struct Range: Sendable, CustomTestStringConvertible {
    let name: String
    let field: WritableKeyPath<Request, UInt32> & Sendable
    let minimum: UInt32
    let maximum: UInt32
    let usual: Int
    /// What SMQ_OFF makes of it, if that is allowed.
    var off: Int?
    var testDescription: String { name }
  }

  static let ranges: [Range] = [
    Range(name: "port", field: \.port, minimum: 1, maximum: 65_535, usual: 1883),
    Range(name: "keepAlive", field: \.keepAlive, minimum: 1, maximum: 65_535, usual: 60, off: 0),
    Range(
      name: "connectTimeout", field: \.connectTimeout, minimum: 1, maximum: 86_400_000, usual: 30_000, off: 0),
    Range(name: "pingTimeout", field: \.pingTimeout, minimum: 1, maximum: 86_400_000, usual: 10_000),
    Range(name: "outboxBytes", field: \.outboxBytes, minimum: 64, maximum: 268_435_456, usual: 65_536),
    Range(name: "outboxMessages", field: \.outboxMessages, minimum: 1, maximum: 65_023, usual: 256),
    Range(name: "receiveBytes", field: \.receiveBytes, minimum: 64, maximum: 268_435_456, usual: 4096),
    Range(name: "inFlightMaximum", field: \.inFlightMaximum, minimum: 1, maximum: 65_535, usual: 0),
  ]

  @Test(arguments: ranges)
  func edges(range: Range) {
    for version: UInt32 in [4, 5] {
      func value(_ value: UInt32) -> Request.Result {
        Request().with {
          $0[keyPath: range.field] = value; $0.version = version
        }.result
      }
      #expect(value(0).numbers[range.name] == range.usual)
      for good in [range.minimum, range.minimum + 1, range.maximum - 1, range.maximum] {
        #expect(value(good).numbers[range.name] == Int(good))
      }
      var bad: [UInt32] = [range.maximum + 1, .max - 1, 0x8000_0000]
      if range.minimum > 1 { bad += [1, range.minimum - 1] }
      for bad in bad { #expect(value(bad).error == "option", "\(bad)") }
      if let off = range.off {
        #expect(value(.max).numbers[range.name] == off)
      } else {
        #expect(value(.max).error == "option")
      }
    }
  }

  @Test func protocolVersions() {
    #expect(Request(version: 4).result.numbers["version"] == 4)
    #expect(Request(version: 5).result.numbers["version"] == 5)
    #expect(Request(clientID: "c".bytes, version: 3).result.numbers["version"] == 3)
    for version: UInt32 in [1, 2, 6, 7, 255, 256, 260, 261, 0x0400_0000, .max] {
      #expect(Request(version: version).result.error == "not supported 0")
    }
  }

  /// 3.1 §3.1: a Client Identifier of 1 to 23 characters.
  @Test func clientIdentifierOf31() {
    for count in [0, 1, 23, 24, 65_535] {
      let request = Request(clientID: [UInt8](repeating: 0x63, count: count), version: 3)
      #expect(request.result.error == (1...23 ~= count ? nil : "clientID"), "\(count)")
    }
  }

  @Test func hosts() {
    #expect(Request(host: []).result.error == "option")
    #expect(Request(host: [UInt8](repeating: 0x68, count: 253)).result.error == nil)
    #expect(Request(host: [UInt8](repeating: 0x68, count: 254)).result.error == "option")
    for byte in UInt8.min ... .max {
      let isPrintable = byte > 0x20 && byte < 0x7F
      #expect(Request(host: [0x61, byte]).result.error == (isPrintable ? nil : "option"), "\(byte)")
    }
  }

  @Test func texts() {
    let longest = [UInt8](repeating: 0x61, count: 65_535)
    let tooLong = longest + [0x61]
    let fields: [WritableKeyPath<Request, [UInt8]>] = [\.clientID, \.userName, \.password]
    let request = Request(userName: "u".bytes, version: 4)
    for field in fields {
      #expect(request.with { $0[keyPath: field] = longest }.result.error == nil)
      #expect(request.with { $0[keyPath: field] = tooLong }.result.error == "option")
    }
    for wrong in [[0xFF], [0x61, 0], [0xC3], [0xED, 0xA0, 0x80]] as [[UInt8]] {
      #expect(request.with { $0.clientID = wrong }.result.error == "utf8")
      #expect(request.with { $0.userName = wrong }.result.error == "utf8")
      // A password is Binary Data.
      #expect(request.with { $0.password = wrong }.result.error == nil)
    }
  }

  // MARK: Contradictions

  /// [MQTT-3.1.3-7]
  @Test func sessionNeedsAClientID() {
    for version: UInt32 in [4, 5] {
      #expect(Request(keepSession: true, version: version).result.error == "clientID")
      #expect(Request(clientID: "c".bytes, keepSession: true, version: version).result.error == nil)
      #expect(Request(version: version).result.error == nil)
    }
  }

  /// [MQTT-3.1.2-22] of 3.1.1
  @Test func passwordWithoutUserName() {
    #expect(Request(password: "p".bytes, version: 4).result.error == "option")
    #expect(Request(userName: "u".bytes, password: "p".bytes, version: 4).result.error == nil)
    #expect(Request(password: "p".bytes, version: 5).result.error == nil)
  }

  @Test func sessionExpiry() {
    #expect(Request(version: 4, sessionExpiry: 1).result.error == "option")
    #expect(Request(version: 4, sessionExpiry: .max).result.error == "option")
    let kept = Request(clientID: "c".bytes, keepSession: true)
    #expect(kept.with { $0.version = 4 }.result.numbers["sessionExpiry"] == 0)
    #expect(kept.with { $0.version = 5 }.result.numbers["sessionExpiry"] == Int(UInt32.max))
    #expect(Request(version: 5).result.numbers["sessionExpiry"] == 0)
    for value: UInt32 in [1, 3600, .max - 1, .max] {
      #expect(
        kept.with {
          $0.version = 5; $0.sessionExpiry = value
        }.result.numbers["sessionExpiry"] == Int(value))
    }
  }

  @Test func sessionExpiryOfZero() {
    let stated = Request(clientID: "c".bytes, keepSession: true, statesExpiry: true)
    #expect(stated.with { $0.version = 4 }.result.error == "option")
    for value: UInt32 in [0, 1, .max] {
      #expect(
        stated.with {
          $0.version = 5; $0.sessionExpiry = value
        }.result.numbers["sessionExpiry"] == Int(value))
    }
    #expect(Request(version: 5, statesExpiry: true).result.numbers["sessionExpiry"] == 0)
  }

  // MARK: The Will

  @Test func wills() {
    func error(_ change: (inout Request.Will) -> Void) -> String? {
      var will = Request.Will()
      change(&will)
      return Request(will: will).result.error
    }
    #expect(error { _ in } == nil)
    for qos: UInt8 in [0, 1, 2] { #expect(error { $0.qos = qos } == nil) }
    for qos: UInt8 in [3, 4, 255] { #expect(error { $0.qos = qos } == "qos") }
    #expect(error { $0.retain = 1 } == nil)
    #expect(error { $0.retain = 2 } == "option")
    for topic in ["", "+", "#", "a/#"] { #expect(error { $0.topic = topic.bytes } == "topicName") }
    #expect(error { $0.topic = [UInt8](repeating: 0x61, count: 65_535) } == nil)
    #expect(error { $0.topic = [UInt8](repeating: 0x61, count: 65_536) } == "topicName")
    #expect(error { $0.topic = [0xFF] } == "utf8")
    #expect(error { $0.payload = [UInt8](repeating: 0, count: 65_535) } == nil)
    #expect(error { $0.payload = [UInt8](repeating: 0, count: 65_536) } == "tooLarge")
  }

  /// Nothing gets lost on the way to CONNECT.
  @Test func everythingIsSaid() {
    var request = Request(
      clientID: "c".bytes, userName: "u".bytes, password: "p".bytes, keepSession: true, version: 4,
      keepAlive: 258, will: Request.Will(topic: "w".bytes, payload: "x".bytes, qos: 2, retain: 1))
    let texts = [0, 1, 0x63, 0, 1, 0x77, 0, 1, 0x78, 0, 1, 0x75, 0, 1, 0x70] as [UInt8]
    #expect(request.result.connect == [0x10, 25, 0, 4] + "MQTT".bytes + [4, 0xF4, 1, 2] + texts)
    request.version = 5
    request.receiveBytes = 0x0102_0304
    request.keepSession = false
    var connect: [UInt8] = [0x10, 35, 0, 4] + "MQTT".bytes
    connect += [5, 0xF6, 1, 2, 8, 0x21, 0, 64, 0x27, 1, 2, 3, 4]
    connect += texts[..<3] + [0] + texts[3...]
    #expect(request.result.connect == connect)
  }
}
