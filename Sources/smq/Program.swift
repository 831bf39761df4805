import CSwiftMQTT
import Capture

// What Sources/CommandLine needs of a program: names, limits, and the numbers that the library has for what both
// libraries know.

typealias ClientOptions = MQTT.Options
typealias Library = MQTT

enum Program {
  static let name: StaticString = "smq"
  static let summary: StaticString = "an MQTT client for the command line"
  static let library: StaticString = "libswiftmqtt"
  /// What was done with a message.
  static let sent: StaticString = "published"
  /// The program for the other protocol, and its library.
  static let other: StaticString = "sst"
  static let otherLibrary: StaticString = "libswiftstomp"
  static let speaksSTOMP = false
  /// What stands below the list of commands.
  static let note: StaticString =
    "\npub, sub and rr take the options of mosquitto_pub, mosquitto_sub and mosquitto_rr.\n"
  /// The largest payload that a message may have, if the rest of it had no bytes (section 2.1.4); and who says so.
  static let largestMessage = 268_435_455
  static let limiter: StaticString = "MQTT"
  static let port = 1883
  static let securePort = 8883
  /// As with mosquitto_pub and its like, this port means TLS, unless the URL has another scheme. 0: none does.
  static let impliesTLS: UInt32 = 8883
  /// Who shows a pin: "as … it".
  static let pinSource: StaticString = "smq check prints"
  /// What may follow '%' in -F.
  static let formatLetters: StaticString = "ACDEFIJPRSUXjlmpqrtx"

  // ---- Of captures, and of clients that are looked at

  static let captured = CapturedProtocol.mqtt
  static let otherCaptured = CapturedProtocol.stomp
  static let otherCapture: StaticString = "these are frames of STOMP, which sst inspect shows"
  static let packet: StaticString = "packet"
  static let payload: StaticString = "payload"
  static let clientKey: StaticString = "client_id"
  static let hasClientIDs = true
  static let metrics: StaticString = "swiftmqtt"
  static let withoutNumbers: StaticString = "a broker, and a capture, have no numbers"
  static let filterHelp: StaticString =
    "a filter is Topic Filters, names of packets, 'sent' or 'received'; topic ABC is ABC/#"
  static func isFilter(_ word: [UInt8]) -> Bool { MQTT.checkFilter(word) == SMQ_OK }
  static func matches(filter: [UInt8], _ topic: [UInt8]) -> Bool {
    MQTT.matches(filter: filter, topic: topic)
  }

  /// Whether these words of a line of an options file are followed by the rest of the line as one word.
  static func endsLine(_ words: [[UInt8]]) -> Bool {
    let isProperty = words.first.map { $0 == "-D" || $0 == "--property" } ?? false
    return isProperty ? words.count == (words.count > 2 && isPair(words[2]) ? 4 : 3) : words.count == 1
  }

  /// What `help --table` has besides.
  static var table: Text {
    var text = Text()
    for property in propertyNames {
      let packets = PropertyPacket.all.filter { property.packets & $0.packet.rawValue != 0 }
      text += "property\t\(property.name)\t\(listed(packets.map { $0.name }))\n"
    }
    return text
  }
}

extension MQTT {
  static let connected = SMQ_EVENT_CONNECTED
  static let ended = SMQ_EVENT_DISCONNECTED
  static let disconnected = SMQ_STATE_DISCONNECTED
  static let online = SMQ_STATE_CONNECTED
  static let recovered = SMQ_JOURNAL_RECOVERED
  static let webSocket = SMQ_OPTION_WEBSOCKET
  /// The broker did what the protocol does not allow.
  static let violation = SMQ_ERR_PROTOCOL
  static let message = SMQ_EVENT_MESSAGE
  static let completed = SMQ_EVENT_COMPLETED
  static let room = SMQ_EVENT_ROOM
  static let firstPart = SMQ_PART_FIRST
  static let lastPart = SMQ_PART_LAST
}

enum Status {
  static let ok = SMQ_OK
  static let malformed = SMQ_ERR_MALFORMED
  static let refused = SMQ_ERR_REFUSED
  static let serverClosed = SMQ_ERR_SERVER_CLOSED
  static let resolve = SMQ_ERR_RESOLVE
  static let network = SMQ_ERR_NETWORK
  static let closed = SMQ_ERR_CLOSED
  static let timeout = SMQ_ERR_TIMEOUT
  static let tls = SMQ_ERR_TLS
  static let proxy = SMQ_ERR_PROXY
  static let webSocket = SMQ_ERR_WEBSOCKET
  static let full = SMQ_ERR_FULL
  static let journal = SMQ_ERR_JOURNAL
}

enum Stage {
  static let resolve = SMQ_STAGE_RESOLVE
  static let connect = SMQ_STAGE_CONNECT
  static let proxy = SMQ_STAGE_PROXY
  static let tls = SMQ_STAGE_TLS
  static let webSocket = SMQ_STAGE_WEBSOCKET
  /// Between CONNECT and what answers it.
  static let answer = SMQ_STAGE_CONNACK
}

enum LogEntry {
  static let attempt = SMQ_LOG_ATTEMPT
  static let lookUp = SMQ_LOG_LOOK_UP
  static let addresses = SMQ_LOG_ADDRESSES
  static let address = SMQ_LOG_ADDRESS
  static let addressFailed = SMQ_LOG_ADDRESS_FAILED
  static let opened = SMQ_LOG_OPENED
  static let ended = SMQ_LOG_ENDED
  static let waiting = SMQ_LOG_WAITING
  static let blocked = SMQ_LOG_BLOCKED
  static let unblocked = SMQ_LOG_UNBLOCKED
}

extension Event {
  /// A completion is that of SUBSCRIBE.
  var isOfSubscription: Bool { completed == SMQ_COMPLETED_SUBSCRIBE }
}
