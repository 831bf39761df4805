import Driver
import STOMPClient
import STOMPSession

/// The status codes of the header.
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
  case destination = -112
  case tooLarge = -114
  case header = -116
  case token = -117
  case subscription = -119
  case transaction = -120
  case body = -121
  case full = -201
  case noDescriptor = -202
  case noThread = -204
  case inspect = -205
  case malformed = -301
  case refused = -303
  case serverClosed = -304
  case heartBeat = -305
  case unknown = -306
  case receiveTooLarge = -307
  case serverLimit = -308
  case dropped = -311
  case resolve = -401
  case network = -402
  case closed = -403
  case timeout = -404
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
  init(_ error: STOMPOptionsError, _ urlOffset: inout Int?) {
    switch error {
    case .option: self = .option
    case .header: self = .header
    case .url(let offset):
      urlOffset = offset
      self = .url
    case .notSupported(let offset):
      urlOffset = offset
      self = .notSupported
    }
  }

  init(_ error: STOMPError) {
    self =
      switch error {
      case .leaving, .state: .state
      case .version: .notSupported
      case .destination: .destination
      case .header: .header
      case .body: .body
      case .token: .token
      case .subscription: .subscription
      case .transaction: .transaction
      case .tooLarge: .tooLarge
      case .full: .full
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

  init(_ outcome: FrameOutcome) {
    self =
      switch outcome {
      case .delivered: .ok
      case .refused: .refused
      case .unknown: .unknown
      case .connectionLost, .dropped: .dropped
      case .version: .serverLimit
      case .journal: .journal
      }
  }

  init(_ result: SubscriptionResult.Kind) {
    self =
      switch result {
      case .subscribed, .unsubscribed: .ok
      case .refused: .refused
      case .version, .unsubscribeVersion: .serverLimit
      case .unsubscribeUnknown: .unknown
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

  init(_ cause: FailureCause) {
    self =
      switch cause {
      case .requested: .ok
      case .refused: .refused
      case .serverClosed: .serverClosed
      case .malformed: .malformed
      // There is one violation, and neither backlog nor streams.
      case .violation, .backlog, .stream: .receiveTooLarge
      case .keepAlive: .heartBeat
      case .resolve: .resolve
      case .network: .network
      case .closed: .closed
      case .timeout: .timeout
      case .declined: .credentials
      case .layer(.proxy): .proxy
      case .layer(.tls): .tls
      case .layer(.webSocket): .webSocket
      }
  }
}

extension FailureCause {
  /// The rules of the header are those of `MalformedFrame`, from 1 on.
  var rule: Int32 { if case .malformed(let rule) = self { Int32(rule) + 1 } else { 0 } }
}
