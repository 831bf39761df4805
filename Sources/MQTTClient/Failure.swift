public import MQTTSession
public import MQTTWire
public import Storage

/// Why and where an attempt to connect, or a connection, ended (D9).
public struct Failure: BitwiseCopyable {
  public enum Cause: BitwiseCopyable {
    case requested  // the application wanted it: no failure
    case refused
    case serverClosed
    case malformed(Malformed)
    case violation(ProtocolViolation)
    case backlog
    case keepAlive
    case stream
    case resolve(Int32)  // EAI_…
    case network(Int32)  // errno
    case closed
    case timeout
    case withheld  // the application had no credentials

    /// As they are counted.
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
      case .withheld: 11
      }
    }
  }

  /// How often what ended an attempt or a connection.
  public struct Counts: BitwiseCopyable {
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
    public private(set) var withheld: UInt32 = 0

    mutating func add(_ cause: Cause) {
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
      case .withheld: withheld &+= 1
      }
    }
  }

  /// The raw values are those of the header.
  public enum Stage: UInt8, BitwiseCopyable {
    case none, resolve, connect, connack, connected, keepAlive, disconnect, answer, write, credentials
  }

  public let cause: Cause
  public let stage: Stage
  /// What the server said, if it said anything; the extents are in `Client.receivedBytes`.
  public var reasonCode: UInt8? = nil
  public var reasonString = ByteRange.empty
  public var serverReference = ByteRange.empty
  public var properties = ByteRange.empty
  /// Milliseconds until the next attempt; `nil`: there will be none.
  public var retry: UInt32? = nil
}
