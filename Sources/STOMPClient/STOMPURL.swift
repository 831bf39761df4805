public import Driver
import Storage

/// The schemes of STOMP: what carries it, and whether TLS protects it.
public enum STOMPScheme: UInt8, BitwiseCopyable, Sendable {
  case stomp, stomps, ws, wss, unix

  public var isSecure: Bool { self == .stomps || self == .wss }
  public var isWebSocket: Bool { self == .ws || self == .wss }

  /// The port that servers listen at: 61613 and 61614 are those of ActiveMQ and RabbitMQ.
  public var usualPort: UInt16 {
    switch self {
    case .stomp: 61_613
    case .stomps: 61_614
    case .ws: 80
    case .wss: 443
    case .unix: 0
    }
  }

  /// `stomp+ssl` is how ActiveMQ writes it.
  public init?(_ text: Span<UInt8>, size: Int) {
    let names: InlineArray<9, (name: StaticString, scheme: STOMPScheme)> = [
      ("stomp", .stomp), ("stomps", .stomps), ("stomp+ssl", .stomps), ("stomp+tls", .stomps), ("ws", .ws),
      ("stomp+ws", .ws), ("wss", .wss), ("stomp+wss", .wss), ("unix", .unix),
    ]
    for index in names.indices where ServerURL.hasScheme(names[index].name, text, size: size) {
      self = names[index].scheme
      return
    }
    return nil
  }
}

extension STOMPScheme: URLScheme {
  public var form: URLForm { self == .unix ? .file : isWebSocket ? .serversAndPath : .servers }
}

/// User name and password are login and passcode.
public typealias STOMPURL = SchemedURL<STOMPScheme>
