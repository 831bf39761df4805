import Platform
public import Storage
public import Transports

/// What the layers of a transport can tell.
extension Driver where Engine: ~Copyable, Link == AnyTransport, System: ~Copyable {
  /// What the peer of a layer said at the end; `nil`: there are no layers.
  public var layerFailure: LayerFailure? { link.layerFailure }

  public var layerText: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { link.layerText }
  }

  /// Why TLS failed; `nil`: there is none.
  public var tlsFailure: TLSFailure? { link.tlsFailure }

  public var tlsSubject: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { link.tlsSubject }
  }

  public var tlsText: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { link.tlsText }
  }

  /// TLS carries the connection now.
  public var hasTLS: Bool { isOpen && link.hasTLS }

  public var hasWebSocket: Bool { link.hasWebSocket }

  /// The caller guarantees room for `size` bytes of a `smq_tls_info`. False: there is no connection over TLS.
  @unsafe public func describeTLS(at place: UnsafeMutableRawPointer, size: Int) -> Bool {
    guard hasTLS else { return false }
    return unsafe link.describeTLS(at: place, size: size)
  }

  /// The same for a `smq_tls_certificate`. False: there is none at this depth.
  @unsafe public func describeCertificate(
    _ depth: UInt32, at place: UnsafeMutableRawPointer, size: Int
  ) -> Bool {
    guard hasTLS else { return false }
    return unsafe link.describeCertificate(depth, at: place, size: size)
  }

  /// The next attempts go through these layers, to a socket of this kind.
  ///
  /// The caller guarantees that there is no attempt or connection, that the plan was made with these options, and
  /// that nothing else uses the block, which the layers before were not in.
  public mutating func replaceLayers(
    _ kind: AnyTransport.Kind, _ options: borrowing LayerOptions, plan: LayerPlan, block: borrowing Arena
  ) {
    changeLink { link in link.replaceLayers(kind, options, plan: plan, block: block) }
  }
}
