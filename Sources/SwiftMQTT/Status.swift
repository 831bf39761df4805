import CSwiftMQTT
import MQTTClient
import MQTTSession

/// The status codes of the header. Raw values come from there: a test compares them.
enum Status: Int32, Error {
  case ok = 0
  case null = -101
  case structSize = -102
  case memorySize = -103
  case memoryAlignment = -104
  case client = -105
  case state = -106
  case option = -107
  case url = -108
  case notSupported = -109
  case clientID = -110
  case qos = -111
  case topicName = -112
  case utf8 = -113
  case tooLarge = -114
  case full = -201
  case malformed = -301
  case protocolError = -302
  case refused = -303
  case serverClosed = -304
  case keepAlive = -305
  case sessionLost = -306
  case receiveTooLarge = -307
  case resolve = -401
  case network = -402
  case closed = -403
  case timeout = -404

  /// `urlOffset` is set where the error has one.
  init(_ error: OptionsError, _ urlOffset: inout Int?) {
    switch error {
    case .url(let offset), .notSupported(let offset): urlOffset = offset
    default: break
    }
    self =
      switch error {
      case .option: .option
      case .url: .url
      case .notSupported: .notSupported
      case .clientID: .clientID
      case .qos: .qos
      case .topicName: .topicName
      case .utf8: .utf8
      case .tooLarge: .tooLarge
      }
  }

  init(_ error: SessionError) {
    self =
      switch error {
      case .leaving: .state
      case .topicName: .topicName
      case .utf8: .utf8
      case .tooLarge: .tooLarge
      case .full: .full
      case .qosNotSupported: .qos
      case .retainNotSupported: .notSupported
      }
  }

  init(_ outcome: Outcome) {
    self =
      switch outcome {
      case .delivered: .ok
      case .refused: .refused
      case .sessionLost: .sessionLost
      case .packetTooLarge: .tooLarge
      case .qosNotSupported: .qos
      case .retainNotSupported: .notSupported
      }
  }

  init(_ cause: Failure.Cause) {
    self =
      switch cause {
      case .requested: .ok
      case .refused: .refused
      case .serverClosed: .serverClosed
      case .malformed: .malformed
      case .protocolError: .protocolError
      case .receivedTooLarge: .receiveTooLarge
      case .keepAlive: .keepAlive
      case .resolve: .resolve
      case .network: .network
      case .closed: .closed
      case .timeout: .timeout
      }
  }

  var name: StaticString {
    switch self {
    case .ok: "SMQ_OK"
    case .null: "SMQ_ERR_NULL"
    case .structSize: "SMQ_ERR_STRUCT_SIZE"
    case .memorySize: "SMQ_ERR_MEMORY_SIZE"
    case .memoryAlignment: "SMQ_ERR_MEMORY_ALIGNMENT"
    case .client: "SMQ_ERR_CLIENT"
    case .state: "SMQ_ERR_STATE"
    case .option: "SMQ_ERR_OPTION"
    case .url: "SMQ_ERR_URL"
    case .notSupported: "SMQ_ERR_NOT_SUPPORTED"
    case .clientID: "SMQ_ERR_CLIENT_ID"
    case .qos: "SMQ_ERR_QOS"
    case .topicName: "SMQ_ERR_TOPIC_NAME"
    case .utf8: "SMQ_ERR_UTF8"
    case .tooLarge: "SMQ_ERR_TOO_LARGE"
    case .full: "SMQ_ERR_FULL"
    case .malformed: "SMQ_ERR_MALFORMED"
    case .protocolError: "SMQ_ERR_PROTOCOL"
    case .refused: "SMQ_ERR_REFUSED"
    case .serverClosed: "SMQ_ERR_SERVER_CLOSED"
    case .keepAlive: "SMQ_ERR_KEEP_ALIVE"
    case .sessionLost: "SMQ_ERR_SESSION_LOST"
    case .receiveTooLarge: "SMQ_ERR_RECEIVE_TOO_LARGE"
    case .resolve: "SMQ_ERR_RESOLVE"
    case .network: "SMQ_ERR_NETWORK"
    case .closed: "SMQ_ERR_CLOSED"
    case .timeout: "SMQ_ERR_TIMEOUT"
    }
  }
}

/// The stages of the header, in its order.
extension Failure.Stage {
  var number: Int32 {
    switch self {
    case .none: Int32(SMQ_STAGE_NONE)
    case .resolve: Int32(SMQ_STAGE_RESOLVE)
    case .connect: Int32(SMQ_STAGE_CONNECT)
    case .connack: Int32(SMQ_STAGE_CONNACK)
    case .connected: Int32(SMQ_STAGE_CONNECTED)
    case .keepAlive: Int32(SMQ_STAGE_KEEP_ALIVE)
    case .disconnect: Int32(SMQ_STAGE_DISCONNECT)
    }
  }

  static func name(_ number: Int32) -> StaticString {
    switch Int(number) {
    case SMQ_STAGE_NONE: "none"
    case SMQ_STAGE_RESOLVE: "resolve"
    case SMQ_STAGE_CONNECT: "connect"
    case SMQ_STAGE_CONNACK: "connack"
    case SMQ_STAGE_CONNECTED: "connected"
    case SMQ_STAGE_KEEP_ALIVE: "keep alive"
    case SMQ_STAGE_DISCONNECT: "disconnect"
    default: "unknown stage"
    }
  }
}
