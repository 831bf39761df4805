public import Platform
import Transports

/// Why and where an attempt to connect, or a connection, ended (D9).
public struct ConnectionFailure<Details: BitwiseCopyable>: BitwiseCopyable {
  public let cause: FailureCause
  public let stage: FailureStage
  /// What the server said; `nil`: it was not the engine that ended the connection.
  public let details: Details?
  /// Milliseconds until the next attempt; `nil`: there will be none.
  public var retry: UInt32? = nil

  init(_ cause: FailureCause, at stage: FailureStage, details: Details? = nil) {
    self.cause = cause
    self.stage = stage
    self.details = details
  }
}

public enum FailureCause: BitwiseCopyable {
  case requested  // the application wanted it: no failure
  case refused
  case serverClosed  // and said so in a packet
  case malformed(rule: UInt8)  // the rules are the engine's
  case violation(rule: UInt8)
  case backlog  // the connection did what it was for, and the next one goes on
  case keepAlive
  case stream  // the application did not supply what it had begun
  case resolve(Int32)  // an EAI_… value
  case network(Int32)  // the system's number
  case closed
  case layer(Layer)  // which knows more
  case timeout
  case declined  // the application had no credentials

  /// That of the system, or of its resolver; 0: there is none.
  public var systemError: Int32 {
    switch self {
    case .network(let error), .resolve(let error): error
    default: 0
    }
  }

  /// The number that the log has for it.
  var ordinal: Int {
    switch self {
    case .requested: 0
    case .refused: 1
    case .serverClosed: 2
    case .malformed: 3
    case .violation, .backlog: 4
    case .keepAlive: 5
    case .stream: 6
    case .resolve: 7
    case .network: 8
    case .closed: 9
    case .timeout: 10
    case .declined: 11
    case .layer(.tls): 12
    case .layer(.proxy): 13
    case .layer(.webSocket): 14
    }
  }
}

/// The raw values are those of the header.
public enum FailureStage: UInt8, BitwiseCopyable {
  case none, resolve, connect
  case accept  // until the server has accepted the connection
  case connected, keepAlive, disconnect
  case acknowledgement  // of something that was sent
  case write, credentials
  case proxy, tls, webSocket

  init(_ stage: OpeningStage) {
    switch stage {
    case .resolve: self = .resolve
    case .connect: self = .connect
    case .proxy: self = .proxy
    case .tls: self = .tls
    case .webSocket: self = .webSocket
    }
  }
}

/// How often each cause has ended an attempt or a connection.
public struct FailureCounts: BitwiseCopyable {
  public private(set) var requested: UInt32 = 0
  public private(set) var refused: UInt32 = 0
  public private(set) var serverClosed: UInt32 = 0
  public private(set) var malformed: UInt32 = 0
  public private(set) var violation: UInt32 = 0
  public private(set) var keepAlive: UInt32 = 0
  public private(set) var stream: UInt32 = 0
  public private(set) var resolve: UInt32 = 0
  public private(set) var network: UInt32 = 0
  public private(set) var closed: UInt32 = 0
  public private(set) var timeout: UInt32 = 0
  public private(set) var declined: UInt32 = 0
  public private(set) var proxy: UInt32 = 0
  public private(set) var tls: UInt32 = 0
  public private(set) var webSocket: UInt32 = 0

  mutating func add(_ cause: FailureCause) {
    switch cause {
    case .requested: requested &+= 1
    case .refused: refused &+= 1
    case .serverClosed: serverClosed &+= 1
    case .malformed: malformed &+= 1
    case .violation, .backlog: violation &+= 1
    case .keepAlive: keepAlive &+= 1
    case .stream: stream &+= 1
    case .resolve: resolve &+= 1
    case .network: network &+= 1
    case .closed: closed &+= 1
    case .timeout: timeout &+= 1
    case .declined: declined &+= 1
    case .layer(.proxy): proxy &+= 1
    case .layer(.tls): tls &+= 1
    case .layer(.webSocket): webSocket &+= 1
    }
  }
}
