import CSwiftMQTT
import Driver
import MQTTClient
import MQTTSession
import MQTTWire

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
  case topicFilter = -115
  case property = -116
  case token = -117
  case reasonCode = -118
  case full = -201
  case noDescriptor = -202
  case offline = -203
  case noThread = -204
  case inspect = -205
  case malformed = -301
  case protocolError = -302
  case refused = -303
  case serverClosed = -304
  case keepAlive = -305
  case sessionLost = -306
  case receiveTooLarge = -307
  case serverLimit = -308
  case receiveMaximum = -309
  case expired = -310
  case dropped = -311
  case replaced = -312
  case resolve = -401
  case network = -402
  case closed = -403
  case timeout = -404
  case stream = -405
  case credentials = -406
  case tls = -407
  case proxy = -408
  case webSocket = -409
  case journal = -501
  case journalLocked = -502
  case journalCorrupt = -503
  case journalOther = -504
  case journalSize = -505

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
      case .property: .property
      }
  }

  init(_ error: SessionError) {
    self =
      switch error {
      case .leaving, .state: .state
      case .topicName: .topicName
      case .topicFilter: .topicFilter
      case .property: .property
      case .option: .option
      case .reasonCode: .reasonCode
      case .token: .token
      case .utf8: .utf8
      case .tooLarge: .tooLarge
      case .full: .full
      case .offline: .offline
      case .qosNotSupported: .qos
      case .retainNotSupported, .notSupported: .notSupported
      case .journal: .journal
      }
  }

  init(_ error: JournalError) {
    self =
      switch error {
      case .system: .journal
      case .locked: .journalLocked
      case .corrupt: .journalCorrupt
      case .other: .journalOther
      case .size: .journalSize
      }
  }

  init(_ outcome: DeliveryResult) {
    self =
      switch outcome {
      case .delivered: .ok
      case .refused: .refused
      case .sessionLost: .sessionLost
      case .aboveLimit: .serverLimit
      case .expired: .expired
      case .dropped, .disconnected: .dropped
      case .replaced: .replaced
      case .aborted: .stream
      case .unreadable: .protocolError
      }
  }

  init(_ cause: FailureCause) {
    self =
      switch cause {
      case .requested: .ok
      case .refused: .refused
      case .serverClosed: .serverClosed
      case .malformed: .malformed
      case .backlog: .receiveMaximum
      case .violation(let rule): Status(ProtocolViolation(rawValue: rule))
      case .keepAlive: .keepAlive
      case .resolve: .resolve
      case .network: .network
      case .closed: .closed
      case .timeout: .timeout
      case .declined: .credentials
      case .stream: .stream
      case .layer(.proxy): .proxy
      case .layer(.tls): .tls
      case .layer(.webSocket): .webSocket
      }
  }

  private init(_ violation: ProtocolViolation?) {
    self =
      switch violation {
      case .receiveMaximum: .receiveMaximum
      case .packetTooLarge: .receiveTooLarge
      default: .protocolError
      }
  }

  init(_ error: QueryError) {
    self =
      switch error {
      case .token: .token
      case .state: .state
      case .option: .option
      }
  }

  init(_ fault: TopicFilter.Fault) {
    if case .utf8 = fault { self = .utf8 } else { self = .topicFilter }
  }

  init(_ fault: TopicName.Fault) {
    if case .utf8 = fault { self = .utf8 } else { self = .topicName }
  }
}

/// The rules of the header: those of `Malformed`, then those of `ProtocolViolation`.
extension FailureCause {
  var rule: Int32 {
    switch self {
    case .malformed(let rule): Int32(rule) + 1
    case .violation(let rule): Int32(rule)
    default: 0
    }
  }
}
