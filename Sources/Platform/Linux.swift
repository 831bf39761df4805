import CPlatform

/// Sockets, epoll, and libc's resolver in a thread of its own.
public struct Linux: ~Copyable, Platform {
  public let descriptor: Int32
  private var resolver = Resolver()
  /// -1 while there is none.
  private var sockets = InlineArray<4, Int32>(repeating: -1)
  /// What each channel is watched for, to leave out system calls that change nothing.
  private var watched = InlineArray<6, UInt8>(repeating: 0)
  /// -1 until `wakeUp` is called first.
  private var event: Int32 = -1

  /// That of the journal, if there is one.
  private var writer: BlockWriter? = nil

  /// What the program wants of its sockets; `nil`: nothing.
  private let options: SocketOptions.Stored

  /// For a client whose application has the transport: no descriptor, and no system call but for random
  /// numbers.
  public init() {
    options = SocketOptions.Stored()
    descriptor = -1
  }

  public init(_ options: SocketOptions.Stored) throws(PlatformError) {
    self.options = options
    descriptor = platform_poller_open()
    guard descriptor >= 0 else { throw PlatformError(code: -descriptor) }
  }

  /// The caller guarantees that nothing else uses `memory`, and that `finish` changes nothing but the blocks. Without a
  /// thread, `write` waits for the disk.
  @unsafe public mutating func attach(
    _ file: consuming BlockFile, in memory: UnsafeMutablePointer<BlockWriterMemory>, hasThread: Bool,
    finish: BlockFinisher
  ) throws(PlatformError) {
    unsafe writer = try BlockWriter(file, in: memory, poller: hasThread ? descriptor : nil, finish: finish)
  }

  deinit {
    for index in 0..<Channel.sockets where sockets[index] >= 0 { platform_close(sockets[index]) }
    if event >= 0 { platform_close(event) }
    if descriptor >= 0 { platform_close(descriptor) }
  }

  public func now() -> UInt32 { platform_now_ms() }

  public func randomNumber() -> UInt32 { platform_random() }

  public func fillRandom(_ bytes: inout MutableSpan<UInt8>) {
    // C writes just the bytes of the span.
    unsafe bytes.withUnsafeMutableBytes { bytes in
      unsafe platform_random_bytes(bytes.baseAddress, bytes.count)
    }
  }

  public func wallClock() -> Int64 { platform_wall_clock_s() }

  // MARK: Waiting

  // C writes one uint32_t.

  public func wait(timeout: Int32, busy: UInt32) -> PollResult {
    var ready: UInt32 = 0
    let result = unsafe platform_wait(descriptor, timeout, busy, &ready)
    if result < 0 { return .failed(-result) }
    return result == Int32(PLATFORM_INTERRUPTED) ? .interrupted : .ready(Readiness(bits: ready))
  }

  public mutating func watch(
    _ channel: Channel, readable: Bool, writable: Bool
  ) throws(PlatformError) {
    let bits = UInt8((readable ? PLATFORM_READABLE : 0) | (writable ? PLATFORM_WRITABLE : 0))
    let index = Int(channel.rawValue)
    guard watched[index] != bits else { return }
    let target = channel == .resolver ? resolver.descriptor : sockets[index]
    let isNew = watched[index] == 0
    watched[index] = bits
    guard bits != 0 else {
      // epoll reports a broken descriptor again and again, even one that is watched for nothing.
      return platform_poller_remove(descriptor, target)
    }
    let result = platform_poller_set(
      descriptor, target, UInt32(channel.rawValue), Int32(bits), isNew ? 1 : 0)
    guard result == 0 else {
      watched[index] = 0
      throw PlatformError(code: -result)
    }
  }

  public mutating func wakeUp() throws(PlatformError) -> WakeUp {
    if event < 0 {
      let result = platform_wake_open(descriptor, UInt32(Channel.wakeUp.rawValue))
      guard result >= 0 else { throw PlatformError(code: -result) }
      event = result
    }
    return WakeUp(descriptor: event)
  }

  private mutating func forget(_ channel: Channel) {
    _ = try? watch(channel, readable: false, writable: false)
  }

  // MARK: Names

  public func numeric(_ host: Span<UInt8>, port: UInt16) -> AddressList? {
    var addresses = AddressList()
    return addresses.append(terminated: host, port: port) ? addresses : nil
  }

  public mutating func resolve(_ host: Span<UInt8>, port: UInt16) throws(PlatformError) {
    forget(.resolver)
    try resolver.start(host, port: port)
  }

  public var isResolving: Bool { resolver.isBusy }

  public mutating func resolved() -> Resolution {
    // The answer closes the descriptor.
    let wasWatched = watched[Int(Channel.resolver.rawValue)] != 0
    forget(.resolver)
    let answer = resolver.answer()
    if case .pending = answer, wasWatched { _ = try? watch(.resolver, readable: true, writable: false) }
    return answer
  }

  public mutating func cancelResolving() {
    forget(.resolver)
    resolver.cancel()
  }

  // MARK: Sockets

  public mutating func connect(
    _ socket: Channel, to address: IPAddress, port: UInt16
  ) throws(PlatformError) {
    close(socket)
    var address = address
    // An `IPAddress` is a `platform_address`: see there.
    let result = unsafe withUnsafeMutablePointer(to: &address) { address in
      unsafe platform_tcp_connect(
        UnsafeRawPointer(address).assumingMemoryBound(to: platform_address.self), port, options.address)
    }
    guard result >= 0 else { throw PlatformError(code: -result) }
    sockets[Int(socket.rawValue)] = result
  }

  public mutating func connect(_ socket: Channel, toPath path: Span<UInt8>) throws(PlatformError) {
    close(socket)
    let result = unsafe path.withUnsafeBytes { path in
      unsafe platform_unix_connect(path.assumingMemoryBound(to: CChar.self).baseAddress)
    }
    guard result >= 0 else { throw PlatformError(code: -result) }
    sockets[Int(socket.rawValue)] = result
  }

  public func connectError(_ socket: Channel) -> Int32 { platform_connect_error(descriptor(of: socket)) }

  public func isOpen(_ socket: Channel) -> Bool { descriptor(of: socket) >= 0 }

  // C reads and writes just the bytes of the spans.

  public func send(_ socket: Channel, _ bytes: Span<UInt8>) -> Transfer {
    transfer(
      unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe platform_send(descriptor(of: socket), bytes.baseAddress, bytes.count)
      })
  }

  public func send(_ socket: Channel, _ bytes: Span<UInt8>, _ payload: Span<UInt8>) -> Transfer {
    transfer(
      unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe payload.withUnsafeBufferPointer { payload in
          unsafe platform_send_both(
            descriptor(of: socket), bytes.baseAddress, bytes.count, payload.baseAddress, payload.count)
        }
      })
  }

  public func receive(_ socket: Channel, into space: inout MutableSpan<UInt8>) -> Transfer {
    transfer(
      unsafe space.withUnsafeMutableBufferPointer { space in
        unsafe platform_receive(descriptor(of: socket), space.baseAddress, space.count)
      })
  }

  public func shutdownWrite(_ socket: Channel) { platform_shutdown_write(descriptor(of: socket)) }

  public func discard(_ socket: Channel) -> Transfer { transfer(platform_discard(descriptor(of: socket))) }

  public mutating func close(_ socket: Channel) {
    guard isOpen(socket) else { return }
    // A forked child may hold it open.
    forget(socket)
    platform_close(descriptor(of: socket))
    sockets[Int(socket.rawValue)] = -1
  }

  // MARK: The file of a journal

  public mutating func write(_ blocks: inout MutableSpan<UInt8>, to runs: BlockRuns) {
    // The driver leaves them alone until `written` has answered.
    unsafe writer?.write(&blocks, to: runs)
  }

  public mutating func written() -> Int32? { writer?.result() }

  // MARK: Helpers

  /// -1: it is not open.
  public func descriptor(of socket: Channel) -> Int32 { sockets[Int(socket.rawValue)] }

  private func transfer(_ result: Int32) -> Transfer {
    if result > 0 { return .transferred(Int(result)) }
    switch Int(result) {
    case PLATFORM_WOULD_BLOCK: return .wouldBlock
    case PLATFORM_CLOSED: return .closed
    default: return .failed(-result)
    }
  }
}
