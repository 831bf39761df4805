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
  init?(_ text: Span<UInt8>, size: Int) {
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

/// The URL of a server, or of several, or their names and ports alone.
public struct STOMPURL: BitwiseCopyable {
  /// `nil`: there is none, and other options say what carries STOMP.
  public let scheme: STOMPScheme?
  /// Its user name and password are login and passcode.
  public let url: ServerURL

  @_optimize(size)
  public init(parsing text: Span<UInt8>) throws(URLError) {
    let size = try ServerURL.schemeSize(of: text)
    scheme = size.flatMap { STOMPScheme(text, size: $0) }
    if let size, scheme == nil {
      // One slash makes no scheme.
      _ = try ServerURL.authorityStart(in: text, schemeSize: size)
      throw .unknownScheme
    }
    url = try ServerURL(
      parsing: text, schemeSize: size,
      form: scheme == .unix ? .file : scheme?.isWebSocket == true ? .serversAndPath : .servers)
    guard scheme?.isWebSocket == true || text.count <= ServerURL.maximumAuthoritySize else { throw .tooLong }
  }
}
