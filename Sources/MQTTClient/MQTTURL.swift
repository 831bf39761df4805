public import Driver
import Storage
public import Transports

/// The schemes of MQTT: what carries it, and whether TLS protects it.
public enum MQTTScheme: UInt8, BitwiseCopyable, Sendable {
  case mqtt, mqtts, ws, wss, unix

  public var isSecure: Bool { self == .mqtts || self == .wss }
  public var isWebSocket: Bool { self == .ws || self == .wss }

  public init?(_ text: Span<UInt8>, size: Int) {
    if ServerURL.hasScheme("mqtt", text, size: size) {
      self = .mqtt
    } else if ServerURL.hasScheme("mqtts", text, size: size) {
      self = .mqtts
    } else if ServerURL.hasScheme("ws", text, size: size) {
      self = .ws
    } else if ServerURL.hasScheme("wss", text, size: size) {
      self = .wss
    } else if ServerURL.hasScheme("unix", text, size: size) {
      self = .unix
    } else {
      return nil
    }
  }
}

extension MQTTScheme: URLScheme {
  public var form: URLForm { self == .unix ? .file : isWebSocket ? .serversAndPath : .servers }
}

public typealias MQTTURL = SchemedURL<MQTTScheme>

extension MQTTURL {
  @_optimize(size)
  public init(checking text: Span<UInt8>) throws(OptionsError) {
    do throws(URLError) {
      try self.init(parsing: text)
    } catch {
      throw OptionsError(error)
    }
  }
}

/// `socks5://[user[:password]@]host[:port][/]`, or `http://…`.
public struct ProxyURL: BitwiseCopyable {
  public let kind: LayerOptions.ProxyKind
  public let url: ServerURL

  /// `nil`: it is malformed, and where does not matter, because it is not the server's URL.
  @_optimize(size)
  public init?(parsing text: Span<UInt8>) {
    do throws(URLError) {
      guard let size = try ServerURL.schemeSize(of: text) else { return nil }
      // What distinguishes the two is who looks the server's name up, and here the proxy always does.
      if ServerURL.hasScheme("socks5", text, size: size) || ServerURL.hasScheme("socks5h", text, size: size) {
        kind = .socks5
      } else if ServerURL.hasScheme("http", text, size: size) {
        kind = .http
      } else {
        throw .unknownScheme
      }
      url = try ServerURL(parsing: text, schemeSize: size, form: .servers)
    } catch {
      return nil
    }
    guard url.servers.count == 1, text.count <= ServerURL.maximumAuthoritySize else { return nil }
  }
}

extension OptionsError {
  fileprivate init(_ error: URLError) {
    switch error {
    case .tooLong: self = .option
    case .malformed(let offset): self = .url(at: offset)
    case .unknownScheme: self = .notSupported(at: 0)
    }
  }
}
