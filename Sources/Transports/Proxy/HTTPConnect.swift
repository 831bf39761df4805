import Storage

/// Asks an HTTP proxy for a connection (CONNECT, RFC 9110 section 9.3.6). What follows the head of its response is
/// the server's if the response is a success. Otherwise it is a page that is not read.
public struct HTTPConnect: BitwiseCopyable {
  private var head = HTTPResponseHead()
  /// The proxy has answered with something else than HTTP.
  public private(set) var isMalformed = false

  public init() {}

  /// 0: there was no response yet.
  public var status: UInt16 { head.status }

  /// The reason phrase; of a redirection, its Location.
  public var text: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { head.text }
  }

  /// Writes the request, and returns its size. `nil`: there is no room for it, or the host has blanks or control
  /// characters, or the user name has a colon (RFC 7617 section 2).
  @_optimize(size)
  public func request(
    host: Span<UInt8>, port: UInt16, user: Span<UInt8>, password: Span<UInt8>,
    into target: inout MutableSpan<UInt8>
  ) -> Int? {
    guard HTTPText.isValid(host: host) else { return nil }
    for index in 0..<user.count where user[index] == UInt8(ascii: ":") { return nil }
    var writer = RequestWriter(target._mutatingExtracting(...))
    writer.put("CONNECT ")
    writer.put(host: host, port: port)
    writer.put(" HTTP/1.1\r\nHost: ")
    writer.put(host: host, port: port)
    if user.count | password.count > 0 {
      writer.put("\r\nProxy-Authorization: Basic ")
      let colon: StaticString = ":"
      var base64 = Base64()
      base64.encode(user, into: &writer)
      base64.encode(colon.bytes, into: &writer)
      base64.encode(password, into: &writer)
      base64.finish(into: &writer)
    }
    writer.put("\r\n\r\n")
    return writer.size
  }

  /// Reads from `bytes[consumed...]`, and adds to `consumed` what it has taken.
  @_optimize(size)
  public mutating func receive(_ bytes: Span<UInt8>, consumed: inout Int) -> HandshakeStep {
    // Each turn takes a line at least, or is the last one.
    while true {
      switch head.next(bytes, &consumed) {
      case .needsBytes: return .needsBytes
      case .header: break
      case .end:
        guard status < 200 else { return status < 300 ? .done : .failed }
        head.restart()
      case .malformed, .tooLong:
        isMalformed = true
        return .failed
      }
    }
  }
}
