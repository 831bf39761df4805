import CSwiftSTOMP
import Capture

// What Sources/CommandLine needs of a program: names, limits, and the numbers that the library has for what both
// libraries know.

typealias ClientOptions = STOMP.Options
typealias Library = STOMP

enum Program {
  static let name: StaticString = "sst"
  static let summary: StaticString = "a STOMP client for the command line"
  static let library: StaticString = "libswiftstomp"
  /// What was done with a message.
  static let sent: StaticString = "sent"
  /// The program for the other protocol, and its library.
  static let other: StaticString = "smq"
  static let otherLibrary: StaticString = "libswiftmqtt"
  static let speaksSTOMP = true
  /// What stands below the list of commands.
  static let note: StaticString = "\nsmq is the same for MQTT.\n"
  /// The largest body: a whole frame has to fit into the outbox. And who says so.
  static let largestMessage = 268_000_000
  static let limiter: StaticString = "libswiftstomp"
  static let port = 61613
  static let securePort = 61614
  /// The port that means TLS; 0: none does. ActiveMQ has WebSockets at 61614.
  static let impliesTLS: UInt32 = 0
  /// Who shows a pin: "as … it".
  static let pinSource: StaticString = "curl takes"
  /// What may follow '%' in -F.
  static let formatLetters: StaticString = "IJUXbcdhijlx"

  // ---- Of captures, and of clients that are looked at

  static let captured = CapturedProtocol.stomp
  static let otherCaptured = CapturedProtocol.mqtt
  static let otherCapture: StaticString = "these are packets of MQTT, which smq inspect shows"
  static let packet: StaticString = "frame"
  static let payload: StaticString = "body"
  static let clientKey: StaticString = "client"
  static let hasClientIDs = false
  static let metrics: StaticString = "swiftstomp"
  static let withoutNumbers: StaticString = "a capture has no numbers"
  static let filterHelp: StaticString =
    "a filter is destinations, names of frames, 'sent' or 'received'; /queue/* is all that begin like this"
  /// A destination, or its beginning and '*'.
  static func isFilter(_ word: [UInt8]) -> Bool { word.isUTF8 && !word.contains(0) }
  static func matches(filter: [UInt8], _ destination: [UInt8]) -> Bool {
    filter.last == 42 && destination.starts(with: filter.dropLast())
  }

  /// Whether these words of a line of an options file are followed by the rest of the line as one word.
  static func endsLine(_ words: [[UInt8]]) -> Bool { words.count == 1 }

  /// What `help --table` has besides.
  static var table: Text { "" }
}

extension STOMP {
  static let connected = SST_EVENT_CONNECTED
  static let ended = SST_EVENT_DISCONNECTED
  static let disconnected = SST_STATE_DISCONNECTED
  static let online = SST_STATE_CONNECTED
  static let recovered = SST_JOURNAL_RECOVERED
  static let webSocket = SST_OPTION_WEBSOCKET
  /// The broker did what the protocol does not allow.
  static let violation = SST_ERR_MALFORMED
  static let message = SST_EVENT_MESSAGE
  static let completed = SST_EVENT_COMPLETED
  static let room = SST_EVENT_ROOM
  static let firstPart = SST_PART_FIRST
  static let lastPart = SST_PART_LAST
}

enum Status {
  static let ok = SST_OK
  static let malformed = SST_ERR_MALFORMED
  static let refused = SST_ERR_REFUSED
  static let serverClosed = SST_ERR_SERVER_CLOSED
  static let resolve = SST_ERR_RESOLVE
  static let network = SST_ERR_NETWORK
  static let closed = SST_ERR_CLOSED
  static let timeout = SST_ERR_TIMEOUT
  static let tls = SST_ERR_TLS
  static let proxy = SST_ERR_PROXY
  static let webSocket = SST_ERR_WEBSOCKET
  static let full = SST_ERR_FULL
  static let journal = SST_ERR_JOURNAL
}

enum Stage {
  static let resolve = SST_STAGE_RESOLVE
  static let connect = SST_STAGE_CONNECT
  static let proxy = SST_STAGE_PROXY
  static let tls = SST_STAGE_TLS
  static let webSocket = SST_STAGE_WEBSOCKET
  /// Between CONNECT and what answers it.
  static let answer = SST_STAGE_ACCEPT
}

enum LogEntry {
  static let attempt = SST_LOG_ATTEMPT
  static let lookUp = SST_LOG_LOOK_UP
  static let addresses = SST_LOG_ADDRESSES
  static let address = SST_LOG_ADDRESS
  static let addressFailed = SST_LOG_ADDRESS_FAILED
  static let opened = SST_LOG_OPENED
  static let ended = SST_LOG_ENDED
  static let waiting = SST_LOG_WAITING
  static let blocked = SST_LOG_BLOCKED
  static let unblocked = SST_LOG_UNBLOCKED
}

extension Event {
  /// A completion is that of SUBSCRIBE.
  var isOfSubscription: Bool { completed == SST_COMPLETED_SUBSCRIBE }
}
