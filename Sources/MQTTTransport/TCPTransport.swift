public import CPlatform

/// A TCP connection.
public struct TCPTransport: ~Copyable, Transport {
  /// -1 while there is none.
  public private(set) var descriptor: Int32 = -1

  public init() {}

  deinit { if descriptor >= 0 { platform_close(descriptor) } }

  public var isOpen: Bool { descriptor >= 0 }

  /// Starts to connect to one of `addresses`. The descriptor turns writable when `outcome` is known.
  public mutating func connect(
    to addresses: platform_addresses, at index: UInt32
  ) throws(PlatformError) {
    close()
    let result = unsafe withUnsafePointer(to: addresses) { unsafe platform_tcp_connect($0, index) }
    guard result >= 0 else { throw PlatformError(errno: -result) }
    descriptor = result
  }

  /// How connecting went: 0, or errno.
  public func outcome() -> Int32 { platform_tcp_outcome(descriptor) }

  // C reads and writes just the bytes of the spans.

  public mutating func send(_ bytes: Span<UInt8>) -> Transfer {
    transfer(
      unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe platform_send(descriptor, bytes.baseAddress, bytes.count)
      })
  }

  public mutating func receive(into space: inout MutableSpan<UInt8>) -> Transfer {
    transfer(
      unsafe space.withUnsafeMutableBufferPointer { space in
        unsafe platform_receive(descriptor, space.baseAddress, space.count)
      })
  }

  /// Nothing more will be sent. What is on its way still arrives, as long as what the peer sends
  /// meanwhile is taken: a socket closed with bytes unread throws away what it has not sent.
  public mutating func finish() { platform_finish(descriptor) }

  /// Throws away what came in.
  public mutating func discard() -> Transfer { transfer(platform_discard(descriptor)) }

  public mutating func close() {
    guard descriptor >= 0 else { return }
    platform_close(descriptor)
    descriptor = -1
  }

  private func transfer(_ result: Int32) -> Transfer {
    if result > 0 { return .moved(Int(result)) }
    switch Int(result) {
    case PLATFORM_LATER: return .later
    case PLATFORM_CLOSED: return .closed
    default: return .failed(-result)
    }
  }
}
