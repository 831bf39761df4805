import CPlatform

/// Linux's look-up of a name, one at a time.
struct Resolver: ~Copyable {
  /// Readable when there is an answer; -1 while nothing is being looked up.
  private(set) var descriptor: Int32 = -1

  /// A look-up is under way, or its answer has not been read.
  var isBusy: Bool { descriptor >= 0 }

  deinit { if descriptor >= 0 { platform_close(descriptor) } }

  /// Starts to look a name up. `host` ends with a zero.
  @_optimize(size)
  mutating func start(_ host: Span<UInt8>, port: UInt16) throws(PlatformError) {
    cancel()
    // C reads the host up to its zero.
    let result = unsafe host.withUnsafeBytes { host in
      unsafe platform_resolve(host.assumingMemoryBound(to: CChar.self).baseAddress, port)
    }
    guard result >= 0 else { throw PlatformError(code: -result) }
    descriptor = result
  }

  @_optimize(size)
  mutating func answer() -> Resolution {
    var addresses = AddressList()
    var error: Int32 = 0
    let socket = descriptor
    let result = unsafe addresses.withForeign { unsafe platform_resolved(socket, $0, &error) }
    guard result != 0 else { return .pending }
    cancel()
    switch Int(result) {
    case 1: return .addresses(addresses)
    case PLATFORM_NO_ADDRESS: return .noAddress(error)
    default: return .failed(error)
    }
  }

  /// Closes the descriptor. The thread of a look-up under way ends by itself.
  mutating func cancel() {
    guard descriptor >= 0 else { return }
    platform_close(descriptor)
    descriptor = -1
  }
}
