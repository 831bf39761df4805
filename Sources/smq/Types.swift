// What the library takes and returns, as structs that own their bytes.

typealias Event = MQTT.Event

enum MQTT {
  static let off = UInt32.max
  static let forever = UInt32.max

  struct Message {
    var topic: [UInt8] = []
    var payload: [UInt8] = []
    /// Replaces `payload`, if it is set.
    var large: LargePayload?
    var properties: [UInt8] = []
    var qos: UInt8 = 0
    var retain = false
    var quiet = false
    var cookie: UInt64 = 0

    var content: Content {
      get { large.map { .large($0) } ?? .bytes(payload) }
      set {
        switch newValue {
        case .bytes(let bytes): (payload, large) = (bytes, nil)
        case .large(let source): (payload, large) = ([], source)
        }
      }
    }
  }

  struct Filter {
    var filter: [UInt8]
    var qos: UInt8 = 0
    var retainAsPublished = false
    var retainHandling: UInt8 = 0
  }

  /// smq_options, as far as needed here.
  struct Options {
    var flags = 0
    var url: [UInt8] = []
    var host: [UInt8] = []
    var port: UInt32 = 0
    var version: UInt32 = 4
    var clientID: [UInt8] = []
    var userName: [UInt8] = []
    var password: [UInt8] = []
    var will: Message?
    var properties: [UInt8] = []
    var keepAlive: UInt32 = 0
    var sessionExpiry: UInt32 = 0
    var connectTimeout: UInt32 = 0
    var outboxBytes: UInt32 = 0
    var outboxMessages: UInt32 = 0
    var receiveBytes: UInt32 = 0
    var streamBytes: UInt32 = 0
    var inFlightMaximum: UInt32 = 0
    var receiveMaximum: UInt32 = 0
    var unreleasedMaximum: UInt32 = 0
    var maximumPacket: UInt32 = 0
    var requests: UInt32 = 0
    var requestBytes: UInt32 = 0
    var subscriptions: UInt32 = 0
    var subscriptionBytes: UInt32 = 0
    var aliasesIn: UInt32 = 0
    var aliasesOut: UInt32 = 0
    var reconnectMinimum: UInt32 = 0
    var tls: TLSSettings?
    var tlsName: [UInt8] = []
    var alpn: [UInt8] = []
    var proxy: [UInt8] = []
    var webSocketPath: [UInt8] = []
    var webSocketHeaders: [UInt8] = []
    var webSocketProtocol: [UInt8] = []
    var bindDevice: [UInt8] = []
    var bindAddress: [UInt8] = []
    var dscp: UInt32 = 0
    var tcpKeepAlive: UInt32 = 0
    var journal: [UInt8] = []
    var journalBatch: UInt32 = 0
    var inspect: [UInt8] = []
  }

  /// smq_event, with its own bytes.
  final class Event {
    var type = 0
    var status = 0
    var stage = 0
    var osError: Int32 = 0
    var reasonCode = -1
    var sessionPresent = false
    var version: UInt32 = 0
    var rule: Int32 = 0
    var cookie: UInt64 = 0
    var completed = 0
    var reasonString: [UInt8] = []
    var serverReference: [UInt8] = []
    var properties: [UInt8] = []
    var reasonCodes: [UInt8] = []
    var topic: [UInt8] = []
    var payload: [UInt8] = []
    var payloadOffset = 0
    var payloadTotal = 0
    var qos: UInt8 = 0
    var retain = false
    var part = 0
    var retry: Int64 = 0
    /// Why an attempt, or the connection, ended.
    var failure = Failure()
  }

  /// smq_server.
  struct Server {
    var version: UInt32 = 0
    var sessionExpiry: UInt32 = 0
    var receiveMaximum: UInt32 = 0
    var maximumPacket: UInt32 = 0
    var maximumQoS: UInt32 = 0
    var retain = false
    var wildcards = false
    var shared = false
    var identifiers = false
    var aliases: UInt32 = 0
    var keepAlive: UInt32 = 0
  }

  /// A property of a list. `name` is that of a User Property.
  struct Property {
    var identifier: Int
    var number: UInt32
    var name: [UInt8]
    var value: [UInt8]
  }
}

enum PropertyKind {
  case number, bytes, pair
}
