// What the library takes and returns, as structs that own their bytes.

typealias Event = STOMP.Event

enum STOMP {
  static let off = UInt32.max

  struct Header: Equatable {
    let name: [UInt8]
    let value: [UInt8]
  }

  /// sst_frame, as far as needed here.
  struct Message {
    var destination: [UInt8]
    var body: [UInt8] = []
    var contentType: [UInt8] = []
    /// A list of the library's.
    var headers: [UInt8] = []
    var flags = 0
    var cookie: UInt64 = 0
    var transaction: UInt32 = 0
  }

  /// sst_options, as far as needed here.
  struct Options {
    var flags = 0
    var url: [UInt8] = []
    var host: [UInt8] = []
    var port: UInt32 = 0
    /// SST_STOMP_…; 0: any.
    var version: UInt32 = 0
    var virtualHost: [UInt8] = []
    var userName: [UInt8] = []
    var password: [UInt8] = []
    var headers: [UInt8] = []
    var heartBeatSend: UInt32 = 0
    var heartBeatReceive: UInt32 = 0
    var connectTimeout: UInt32 = 0
    var outboxBytes: UInt32 = 0
    var outboxFrames: UInt32 = 0
    var receiveBytes: UInt32 = 0
    var subscriptions: UInt32 = 0
    var subscriptionBytes: UInt32 = 0
    var heldMessages: UInt32 = 0
    var heldBytes: UInt32 = 0
    var controlBytes: UInt32 = 0
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
    var inspect: [UInt8] = []
    var journal: [UInt8] = []
    var journalBatch: UInt32 = 0
  }

  /// sst_event, with its own bytes.
  final class Event {
    var type = 0
    var status = 0
    var stage = 0
    var osError: Int32 = 0
    var rule: Int32 = 0
    var version: UInt32 = 0
    var completed = 0
    var retry: Int64 = 0
    var cookie: UInt64 = 0
    var token: UInt64 = 0
    var subscription = -1
    var part = 0
    var heartBeatSend: UInt32 = 0
    var heartBeatReceive: UInt32 = 0
    var destination: [UInt8] = []
    var contentType: [UInt8] = []
    var messageID: [UInt8] = []
    var headers: [Header] = []
    var payload: [UInt8] = []
    var payloadTotal = 0
    var text: [UInt8] = []
    /// Why an attempt, or the connection, ended.
    var failure = Failure()
  }
}
