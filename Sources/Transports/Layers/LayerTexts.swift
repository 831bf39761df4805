import Storage

/// The names and secrets that layers need when they open, and the host of the attempt.
struct LayerTexts: ~Copyable {
  /// The host first, in `Layers.hostSize` bytes; behind it what stays as it is.
  private var region: Region
  private var hostCount: UInt8 = 0
  private(set) var port: UInt16 = 0
  let usualPort: UInt16
  let proxyPort: UInt16
  /// Each ends with a zero that does not count.
  private var proxyHostRange = ByteRange.empty
  private var tlsNameRange = ByteRange.empty
  private var proxyUserRange = ByteRange.empty
  private var proxyPasswordRange = ByteRange.empty
  private var alpnRange = ByteRange.empty
  private var subprotocolRange = ByteRange.empty
  /// The path, and behind it the headers.
  private var request: Region
  private var pathCount: UInt16 = 0
  private var requestCount: UInt16 = 0

  @_optimize(size)
  init(_ options: borrowing LayerOptions, texts: consuming Region, request: consuming Region) {
    region = texts
    self.request = request
    usualPort = options.usualPort
    proxyPort = options.proxyPort
    var end = Layers.hostSize
    proxyHostRange = Self.put(options.proxyHost, into: &region, at: &end, terminated: true)
    tlsNameRange = Self.put(options.tlsName, into: &region, at: &end, terminated: true)
    proxyUserRange = Self.put(options.proxyUser, into: &region, at: &end)
    proxyPasswordRange = Self.put(options.proxyPassword, into: &region, at: &end)
    alpnRange = Self.put(options.alpn, into: &region, at: &end)
    subprotocolRange = Self.put(options.subprotocols, into: &region, at: &end)
    if options.isWebSocket { _ = setRequest(path: options.path, headers: options.headers) }
  }

  private static func put(
    _ text: Span<UInt8>, into region: inout Region, at end: inout Int, terminated: Bool = false
  ) -> ByteRange {
    guard region.count > 0 else { return .empty }
    let range = ByteRange(offset: end, count: text.count)
    var room = region.mutableBytes(in: end..<end &+ text.count &+ (terminated ? 1 : 0))
    copy(text, into: &room)
    if terminated { room[text.count] = 0 }
    end &+= text.count &+ (terminated ? 1 : 0)
    return range
  }

  /// The server of the attempt. The options have checked that there is room.
  mutating func setServer(_ host: Span<UInt8>, port: UInt16) {
    let count = min(host.count, Layers.hostSize)
    var room = region.mutableBytes(in: 0..<count)
    copy(host.extracting(first: count), into: &room)
    hostCount = UInt8(truncatingIfNeeded: max(count, 1) &- 1)
    self.port = port
  }

  /// The next request of WebSocket. False: there is no room for it.
  mutating func setRequest(path: Span<UInt8>, headers: Span<UInt8>) -> Bool {
    guard path.count <= request.count, headers.count <= request.count &- path.count else { return false }
    var room = request.mutableBytes(in: 0..<path.count)
    copy(path, into: &room)
    var rest = request.mutableBytes(in: path.count..<path.count &+ headers.count)
    copy(headers, into: &rest)
    pathCount = UInt16(truncatingIfNeeded: path.count)
    requestCount = UInt16(truncatingIfNeeded: path.count &+ headers.count)
    return true
  }

  /// Overwrites them all: a path may be signed, a header may be a token.
  mutating func wipe() {
    region.wipe(0..<region.count)
    request.wipe(0..<request.count)
  }

  // MARK: Getters

  @_lifetime(borrow self)
  private func text(_ range: ByteRange, and more: Int = 0) -> Span<UInt8> {
    region.bytes(at: range.offset, count: range.count &+ more)
  }

  var host: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { region.bytes(at: 0, count: Int(hostCount)) }
  }
  /// With its zero.
  var proxyHost: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { text(proxyHostRange, and: 1) }
  }
  var proxyUser: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { text(proxyUserRange) }
  }
  var proxyPassword: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { text(proxyPasswordRange) }
  }
  var alpn: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { text(alpnRange) }
  }
  var subprotocols: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { text(subprotocolRange) }
  }
  var path: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { request.bytes(at: 0, count: Int(pathCount)) }
  }
  var headers: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { request.bytes(at: Int(pathCount), count: Int(requestCount &- pathCount)) }
  }

  /// What an HTTP request calls the server: a file has no name.
  var requestHost: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { host.count > 0 && host[0] == UInt8(ascii: "/") ? localhostName.bytes : host }
  }

  /// What the certificate has to be for: the name of the options, or the host without what a certificate does
  /// not have, a zone and a dot at its end.
  var certificateName: ByteRange {
    let start = tlsNameRange.isEmpty ? 0 : tlsNameRange.offset
    var count = tlsNameRange.isEmpty ? Int(hostCount) : tlsNameRange.count
    for index in 0..<count where region[start &+ index] == UInt8(ascii: "%") {
      count = index
      break
    }
    if count > 1, region[start &+ count &- 1] == UInt8(ascii: ".") { count &-= 1 }
    return ByteRange(offset: start, count: count)
  }

  @_lifetime(borrow self)
  func bytes(_ range: ByteRange) -> Span<UInt8> { text(range) }
}

private var localhostName: StaticString { "localhost" }
