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

  public mutating func close() {
    guard descriptor >= 0 else { return }
    platform_close(descriptor)
    descriptor = -1
  }

  private func transfer(_ result: Int32) -> Transfer {
    switch result {
    case 1...: .moved(Int(result))
    case 0: .later
    case Int32.min: .closed
    default: .failed(-result)
    }
  }
}
