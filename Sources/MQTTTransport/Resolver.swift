public import CPlatform

/// The addresses of a server, and how they are found.
public struct Resolver: ~Copyable {
  /// Readable when there is an answer; -1 while nothing is being looked up.
  public private(set) var descriptor: Int32 = -1

  public enum Answer {
    case none  // not yet
    case addresses(platform_addresses)
    case noAddress(Int32)  // EAI_…
    case failed(Int32)  // errno
  }

  public init() {}

  /// One of those that were found; `index` is below their number.
  public static func address(_ index: Int, of found: platform_addresses) -> platform_address {
    precondition(index >= 0 && index < PLATFORM_MAX_ADDRESSES)
    // C's array is a tuple here, which knows no index.
    return unsafe withUnsafeBytes(of: found.list) { list in
      unsafe list.load(
        fromByteOffset: index &* MemoryLayout<platform_address>.stride, as: platform_address.self)
    }
  }

  /// A look-up is under way, or its answer has not been read.
  public var isBusy: Bool { descriptor >= 0 }

  deinit { if descriptor >= 0 { platform_close(descriptor) } }

  // C reads the host up to its zero, and writes one `platform_addresses` and one int32_t.

  /// The address a numeric host is. `host` ends with a zero.
  public static func numeric(_ host: Span<UInt8>, port: UInt16) -> platform_addresses? {
    var addresses = platform_addresses()
    let isNumeric = unsafe host.withUnsafeBytes { host in
      unsafe platform_parse_address(
        host.assumingMemoryBound(to: CChar.self).baseAddress, port, &addresses)
    }
    return isNumeric == 1 ? addresses : nil
  }

  /// Adds a numeric host, without a zero at its end, to the addresses to be tried. False: it is none, or they are too
  /// many.
  public static func add(_ host: Span<UInt8>, port: UInt16, to addresses: inout platform_addresses) -> Bool {
    var text = InlineArray<64, UInt8>(repeating: 0)
    guard host.count < 64 else { return false }
    for index in 0..<host.count {
      guard host[index] != 0 else { return false }
      text[index] = host[index]
    }
    return unsafe text.span.withUnsafeBytes { host in
      unsafe platform_parse_address(
        host.assumingMemoryBound(to: CChar.self).baseAddress, port, &addresses)
    } == 1
  }

  /// Starts to look a name up. `host` ends with a zero.
  public mutating func start(_ host: Span<UInt8>, port: UInt16) throws(PlatformError) {
    cancel()
    let result = unsafe host.withUnsafeBytes { host in
      unsafe platform_resolve(host.assumingMemoryBound(to: CChar.self).baseAddress, port)
    }
    guard result >= 0 else { throw PlatformError(errno: -result) }
    descriptor = result
  }

  public mutating func answer() -> Answer {
    var addresses = platform_addresses()
    var error: Int32 = 0
    let result = unsafe platform_resolved(descriptor, &addresses, &error)
    guard result != 0 else { return .none }
    cancel()
    switch Int(result) {
    case 1: return .addresses(addresses)
    case PLATFORM_NO_ADDRESS: return .noAddress(error)
    default: return .failed(error)
    }
  }

  /// Nobody is interested any more; a look-up under way ends by itself.
  public mutating func cancel() {
    guard descriptor >= 0 else { return }
    platform_close(descriptor)
    descriptor = -1
  }
}
