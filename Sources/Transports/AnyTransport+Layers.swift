public import Storage

/// What the layers tell the application, and what it tells them.
extension AnyTransport {
  /// The socket is connected, and the layers on it are not open yet.
  public var areLayersOpening: Bool { hasLayers && isConnected && layers.element.openingStage != nil }

  /// All layers of the attempt were open, if there is one that has failed since.
  public var haveLayersOpened: Bool { hasLayers && layers.element.hasOpened }

  public var hasTLS: Bool { hasLayers && isConnected && layers.element.isSecured }
  public var hasWebSocket: Bool { hasLayers && layers.element.hasWebSocket }

  /// What the peer of a layer has said; of TLS, `tlsFailure` says it.
  public var layerFailure: LayerFailure? { hasLayers ? layers.element.failure : nil }

  public var layerText: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      guard hasLayers else { return Span() }
      let count = min(Int(layers.element.failure.textCount), 125)
      return unsafe layers.bytes(count: count) { layers in
        unsafe withUnsafePointer(to: &layers.pointee.failure.text) { unsafe UnsafeRawPointer($0) }
      }
    }
  }

  public var tlsFailure: TLSFailure? {
    hasLayers && layers.element.hasTLS ? layers.element.tls.element.toldFailure : nil
  }

  public var tlsSubject: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      guard hasLayers, layers.element.hasTLS else { return Span() }
      return layers.bytes { layers, hand in hand(layers.tls.bytes { tls, hand in hand(tls.subject) }) }
    }
  }

  public var tlsText: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      guard hasLayers, layers.element.hasTLS else { return Span() }
      return layers.bytes { layers, hand in hand(layers.tls.bytes { tls, hand in hand(tls.message) }) }
    }
  }

  /// The caller guarantees room for `size` bytes of a `smq_tls_info`, and that `hasTLS`.
  @unsafe public func describeTLS(at place: UnsafeMutableRawPointer, size: Int) -> Bool {
    unsafe layers.element.tls.element.describe(at: place, size: size)
  }

  /// The same for a `smq_tls_certificate`.
  @unsafe public func describeCertificate(
    _ depth: UInt32, at place: UnsafeMutableRawPointer, size: Int
  ) -> Bool {
    unsafe layers.element.tls.element.describeCertificate(depth, at: place, size: size)
  }

  /// False: there is no room for it.
  public mutating func setWebSocketRequest(path: Span<UInt8>, headers: Span<UInt8>) -> Bool {
    layers.element.texts.setRequest(path: path, headers: headers)
  }

  /// Overwrites what is secret.
  public mutating func wipeSecrets() {
    guard hasLayers else { return }
    layers.element.end()
    layers.element.texts.wipe()
  }
}
