public import CTLSEngine

/// The engine that the program has handed over, and its settings. It lives as long as the client.
@safe public struct TLSEngine: BitwiseCopyable {
  let functions: UnsafePointer<smq_tls_engine>
  let settings: UnsafeRawPointer?

  /// `nil`: the struct is not whole.
  ///
  /// The caller guarantees that `functions` points to an engine, or to one of another version with its size,
  /// and that its functions may be called with `settings` as long as the client lives.
  @unsafe public init?(_ functions: UnsafeRawPointer, settings: UnsafeRawPointer?) {
    let engine = unsafe functions.assumingMemoryBound(to: smq_tls_engine.self)
    guard unsafe Int(truncatingIfNeeded: engine.pointee.size) >= MemoryLayout<smq_tls_engine>.size,
      unsafe engine.pointee.connection_bytes != nil, unsafe engine.pointee.begin != nil,
      unsafe engine.pointee.receive_buffer != nil, unsafe engine.pointee.received != nil,
      unsafe engine.pointee.handshake != nil, unsafe engine.pointee.read != nil,
      unsafe engine.pointee.write != nil, unsafe engine.pointee.transmit != nil,
      unsafe engine.pointee.transmitted != nil, unsafe engine.pointee.finish != nil,
      unsafe engine.pointee.end != nil
    else { return nil }
    unsafe self.functions = unsafe engine
    unsafe self.settings = unsafe settings
  }

  /// How many bytes a connection needs; `nil`: the settings are not the engine's, or it is broken and wants too
  /// much.
  public var connectionBytes: Int? {
    let size = unsafe functions.pointee.connection_bytes?(settings) ?? 0
    return size > 0 && size <= 1 << 24 ? Int(truncatingIfNeeded: size) : nil
  }
}
