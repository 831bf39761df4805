import CTLSEngine
import Platform
import Storage

/// A connection of a TLS engine: the only text that calls its functions, and turns their pointers into spans.
///
/// An engine is C, and trusted like the rest of the program. What it says about sizes is checked nevertheless,
/// where a wrong one would leave a buffer.
@safe struct TLSConnection: ~Copyable {
  private let engine: TLSEngine
  private let memory: UnsafeMutableRawPointer
  private let size: Int
  /// `begin` was successful, and `end` was not called since.
  private(set) var isBegun = false
  /// How reading has ended. What was read before is handed out first, and then the end is asked for again, but not
  /// of the engine: most are not to be called after a failure.
  private var ended: Transfer? = nil
  /// The engine has failed: nothing is written any more.
  private(set) var isBroken = false
  /// In the block, too, because its texts are handed out.
  private let failure: UnsafeMutablePointer<smq_tls_failure>

  /// The caller guarantees that nothing else uses the slices.
  @unsafe init(
    _ engine: TLSEngine, in block: borrowing Arena, _ slice: ArenaSlice<UInt64>,
    failure: ArenaSlice<smq_tls_failure>
  ) {
    self.engine = engine
    unsafe memory = UnsafeMutableRawPointer(block.start(of: slice))
    size = slice.count &* MemoryLayout<UInt64>.stride
    unsafe self.failure = block.start(of: failure)
    clearFailure()
  }

  /// Whom the connection is to.
  struct Target: ~Escapable {
    /// Ends with a zero.
    let name: Span<UInt8>
    let address: IPAddress?
    let port: UInt16
    let alpn: Span<UInt8>
    /// `nil`: the engine uses its own clock.
    let now: Int64?

    @_lifetime(copy name, copy alpn)
    init(name: Span<UInt8>, address: IPAddress?, port: UInt16, alpn: Span<UInt8>, now: Int64?) {
      self.name = name
      self.address = address
      self.port = port
      self.alpn = alpn
      self.now = now
    }
  }

  // MARK: The handshake

  @_optimize(size)
  mutating func begin(_ target: borrowing Target) -> Bool {
    end()
    clearFailure()
    // A TLS library takes an empty name for none that is to be checked, and a dot in front for any name below it.
    guard target.name.count > 1, target.name[0] != UInt8(ascii: ".") else {
      unsafe failure.pointee.cause = Int32(SMQ_TLS_NAME)
      return false
    }
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    var told = unsafe smq_tls_target()
    unsafe told.size = UInt32(truncatingIfNeeded: MemoryLayout<smq_tls_target>.size)
    unsafe told.port = target.port
    if let now = target.now {
      unsafe told.now_valid = 1
      unsafe told.now_s = now
    }
    if var address = target.address {
      let isV4 = address.isV4
      unsafe told.address_size = isV4 ? 4 : 16
      unsafe withUnsafeMutableBytes(of: &told.address) { room in
        unsafe withUnsafeBytes(of: &address.bytes) { bytes in
          for index in 0..<(isV4 ? 4 : 16) { unsafe room[index] = bytes[isV4 ? index &+ 12 : index] }
        }
      }
    }
    let result = unsafe target.name.withUnsafeBytes { name in
      unsafe target.alpn.withUnsafeBytes { alpn in
        unsafe told.name = name.baseAddress?.assumingMemoryBound(to: CChar.self)
        unsafe told.name_size = max(name.count, 1) &- 1
        unsafe told.alpn = alpn.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe told.alpn_size = alpn.count
        return unsafe engine.functions.pointee.begin?(engine.settings, memory, size, &told, failure) ?? -1
      }
    }
    isBegun = result == 0
    ended = nil
    isBroken = false
    return isBegun
  }

  enum Handshake { case done, needsBytes, failed }

  mutating func handshake() -> Handshake {
    let result = unsafe engine.functions.pointee.handshake?(memory, failure) ?? -1
    return result > 0 ? .done : result == 0 ? .needsBytes : .failed
  }

  /// The peer has closed before the handshake was over.
  mutating func closed(hasReceived: Bool) {
    guard unsafe failure.pointee.cause == SMQ_TLS_NONE else { return }
    unsafe failure.pointee.cause = Int32(hasReceived ? SMQ_TLS_CLOSED : SMQ_TLS_NOT_TLS)
  }

  // MARK: Bytes of the network

  /// Where they go; empty: what is there is to be read first.
  @_lifetime(&self)
  mutating func receiveBuffer() -> MutableSpan<UInt8> {
    var start: UnsafeMutableRawPointer? = nil
    var count = 0
    unsafe engine.functions.pointee.receive_buffer?(memory, &start, &count)
    guard let start = unsafe start, count > 0 else { return MutableSpan() }
    let span = unsafe MutableSpan(
      _unsafeStart: start.assumingMemoryBound(to: UInt8.self), count: min(count, 1 << 24))
    return unsafe _overrideLifetime(span, mutating: &self)
  }

  mutating func received(_ count: Int) { unsafe engine.functions.pointee.received?(memory, count) }

  /// What waits to be sent.
  var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      guard isBegun else { return Span() }
      var start: UnsafeRawPointer? = nil
      var count = 0
      unsafe engine.functions.pointee.transmit?(memory, &start, &count)
      guard let start = unsafe start, count > 0 else { return Span() }
      let span = unsafe Span(
        _unsafeStart: start.assumingMemoryBound(to: UInt8.self), count: min(count, 1 << 24))
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  mutating func transmitted(_ count: Int) { unsafe engine.functions.pointee.transmitted?(memory, count) }

  // MARK: Bytes of the protocol

  /// `wouldBlock`: it needs more bytes of the network.
  mutating func read(into space: inout MutableSpan<UInt8>) -> Transfer {
    if let ended { return ended }
    let result = unsafe space.withUnsafeMutableBytes { space in
      unsafe engine.functions.pointee.read?(memory, space.baseAddress, space.count, failure) ?? -1
    }
    if result > 0 { return .transferred(min(Int(result), space.count)) }
    guard result < 0 else { return .wouldBlock }
    isBroken = result != SMQ_TLS_END
    let end: Transfer = isBroken ? .broken(.tls) : .closed
    ended = end
    return end
  }

  /// `wouldBlock`: what waits is to be sent first.
  mutating func write(_ bytes: Span<UInt8>) -> Transfer {
    if isBroken { return .broken(.tls) }
    let result = unsafe bytes.withUnsafeBytes { bytes in
      unsafe engine.functions.pointee.write?(memory, bytes.baseAddress, bytes.count, failure) ?? -1
    }
    if result > 0 { return .transferred(min(Int(result), bytes.count)) }
    isBroken = result < 0
    return isBroken ? .broken(.tls) : .wouldBlock
  }

  // MARK: The end

  mutating func finish() { if isBegun { unsafe engine.functions.pointee.finish?(memory) } }

  /// Overwrites the memory, which had keys. Who has a connection calls this before it is gone: Swift 6.3.1 finds no
  /// `deinit` of another module.
  mutating func end() {
    guard isBegun else { return }
    isBegun = false
    unsafe engine.functions.pointee.end?(memory)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
  }

  // MARK: What can be asked

  var toldFailure: TLSFailure {
    unsafe TLSFailure(
      cause: failure.pointee.cause, alert: failure.pointee.alert, depth: failure.pointee.depth,
      notBefore: failure.pointee.not_before_s, notAfter: failure.pointee.not_after_s,
      native: failure.pointee.native)
  }

  // An array of C is imported as a tuple, whose elements are contiguous.

  /// Of the certificate at fault.
  var subject: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      let start = unsafe withUnsafePointer(to: &failure.pointee.subject) { unsafe UnsafeRawPointer($0) }
      return unsafe text(at: start)
    }
  }

  /// What the library says.
  var message: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      let start = unsafe withUnsafePointer(to: &failure.pointee.text) { unsafe UnsafeRawPointer($0) }
      return unsafe text(at: start)
    }
  }

  /// The caller guarantees an array of `textSize` bytes of the failure.
  @_lifetime(borrow self)
  @unsafe private func text(at start: UnsafeRawPointer) -> Span<UInt8> {
    let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
    var count = 0
    while count < Self.textSize, unsafe bytes[count] != 0 { count &+= 1 }
    let span = unsafe Span(_unsafeStart: bytes, count: count)
    return unsafe _overrideLifetime(span, borrowing: self)
  }

  private static var textSize: Int { 128 }

  /// Fills in what the engine knows about the open connection. False: it does not tell.
  ///
  /// The caller guarantees room for `size` bytes of a `smq_tls_info`.
  @unsafe func describe(at place: UnsafeMutableRawPointer, size: Int) -> Bool {
    guard isBegun, unsafe size == MemoryLayout<smq_tls_info>.size,
      let tell = unsafe engine.functions.pointee.info
    else { return false }
    var info = unsafe smq_tls_info()
    unsafe info.size = UInt32(truncatingIfNeeded: size)
    unsafe tell(memory, &info)
    unsafe place.copyMemory(from: &info, byteCount: size)
    return true
  }

  /// The same about a certificate of the server. False: there is none.
  ///
  /// The caller guarantees room for `size` bytes of a `smq_tls_certificate`.
  @unsafe func describeCertificate(_ depth: UInt32, at place: UnsafeMutableRawPointer, size: Int) -> Bool {
    guard isBegun, size == MemoryLayout<smq_tls_certificate>.size,
      let tell = unsafe engine.functions.pointee.certificate
    else { return false }
    let certificate = unsafe place.assumingMemoryBound(to: smq_tls_certificate.self)
    unsafe place.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    unsafe certificate.pointee.size = UInt32(truncatingIfNeeded: size)
    return unsafe tell(memory, depth, certificate) > 0
  }

  private mutating func clearFailure() {
    var cleared = smq_tls_failure()
    cleared.size = UInt32(truncatingIfNeeded: MemoryLayout<smq_tls_failure>.size)
    cleared.alert = -1
    cleared.depth = -1
    unsafe failure.initialize(to: cleared)
  }
}
