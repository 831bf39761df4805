import CPlatform

/// What the program wants of its sockets; zero: as the system has it.
public struct SocketOptions: BitwiseCopyable {
  private var options = platform_socket_options()

  public init() {}

  /// Milliseconds.
  public var userTimeout: UInt32 {
    get { options.user_timeout_ms }
    set { options.user_timeout_ms = newValue }
  }

  /// Seconds.
  public var keepAlive: UInt32 {
    get { options.keep_alive_s }
    set { options.keep_alive_s = newValue }
  }

  /// 0 to 63.
  public var differentiatedServices: UInt32 {
    get { options.dscp }
    set { options.dscp = newValue }
  }

  /// Microseconds.
  public var busyPoll: UInt32 {
    get { options.busy_poll_us }
    set { options.busy_poll_us = newValue }
  }

  /// The interface that is used. False: it is no name of one.
  @_optimize(size)
  public mutating func setDevice(_ name: Span<UInt8>) -> Bool {
    // The struct has room for sixteen bytes with the zero.
    guard name.count < 16 else { return false }
    for index in 0..<name.count where name[index] <= 0x20 || name[index] >= 0x7F { return false }
    unsafe withUnsafeMutableBytes(of: &options.device) { room in
      for index in 0..<name.count { unsafe room[index] = name[index] }
    }
    return true
  }

  /// Where connections come from. False: it is no numeric address.
  @_optimize(size)
  public mutating func setSource(_ address: Span<UInt8>) -> Bool {
    var list = AddressList()
    guard list.append(numeric: address, port: 0) else { return false }
    options.has_source = 1
    options.source = unsafe unsafeBitCast(list[0], to: platform_address.self)
    return true
  }

  public var isDefault: Bool {
    options.user_timeout_ms | options.keep_alive_s | options.dscp | options.has_source | options.busy_poll_us
      == 0
      && options.device.0 == 0
  }

  /// Options that lie where they stay, or none.
  @safe public struct Stored: BitwiseCopyable {
    let address: UnsafePointer<platform_socket_options>?

    public init() { unsafe address = nil }

    /// The caller guarantees that they stay at `address` as long as the platform lives.
    @unsafe public init(at address: UnsafePointer<SocketOptions>) {
      unsafe self.address = UnsafeRawPointer(address).assumingMemoryBound(to: platform_socket_options.self)
    }
  }
}
