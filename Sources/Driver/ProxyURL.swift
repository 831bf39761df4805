import Storage
public import Transports

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
