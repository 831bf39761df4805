import CPlatform

/// A socket in the file system to which programs of this machine connect that want to be told what a client does. They
/// read datagrams; one that they send is a question. Whoever opens it ends it: the small profile has none, and no code
/// that would close it.
public struct InspectionSocket: ~Copyable {
  /// How many programs may be connected at a time.
  public static var readers: Int { 4 }
  /// The longest path, in bytes.
  public static var longestPath: Int { Int(PLATFORM_MAX_SOCKET_PATH) }

  /// What became of sending a datagram.
  public enum Sending: BitwiseCopyable {
    case sent
    case full  // the reader has not read what it was sent before
    case gone
  }

  private var poller: Int32 = -1
  /// -1: it is not open.
  private var listener: Int32 = -1
  /// Which file the path led to.
  private var file = platform_file()
  /// -1: there is none.
  private var connected = InlineArray<4, Int32>(repeating: -1)

  public init() {}

  /// `path` ends with a zero. The poller tells of what happens here as `Channel.inspection`.
  @_optimize(size)
  public mutating func open(
    at path: Span<UInt8>, permissions: UInt32, poller: Int32
  ) throws(PlatformError) {
    self.poller = poller
    // C reads the path up to its zero.
    let result = unsafe path.withUnsafeBytes { path in
      unsafe platform_listen(path.assumingMemoryBound(to: CChar.self).baseAddress, permissions, &file)
    }
    guard result >= 0 else { throw PlatformError(code: -result) }
    listener = result
    let watched = platform_poller_set(
      poller, listener, UInt32(Channel.inspection.rawValue), Int32(PLATFORM_READABLE | PLATFORM_ONCE), 1)
    guard watched == 0 else {
      end(path, Span())
      listener = -1
      throw PlatformError(code: -watched)
    }
  }

  /// Closes it, and the connections: nobody finds it any more. Who is connected is sent a last datagram, if it is not
  /// empty. `path` is that of `open`. Nothing may be called after this.
  @_optimize(size)
  public func end(_ path: Span<UInt8>, _ last: Span<UInt8>) {
    guard listener >= 0 else { return }
    var file = file
    unsafe path.withUnsafeBytes { path in
      unsafe platform_unlink_socket(path.assumingMemoryBound(to: CChar.self).baseAddress, &file)
    }
    for index in 0..<Self.readers where connected[index] >= 0 {
      if !last.isEmpty {
        _ = unsafe last.withUnsafeBufferPointer { last in
          unsafe platform_send(connected[index], last.baseAddress, last.count)
        }
      }
      platform_close(connected[index])
    }
    platform_close(listener)
  }

  public func isConnected(_ reader: Int) -> Bool { connected[reader] >= 0 }

  /// Lets the next program in that waits. Returns its number; `nil`: none waits. One for which there is no room is turned
  /// away. The poller tells once of programs that come, so this is called until none waits.
  @_optimize(size)
  public mutating func accept() -> Int? {
    for _ in 0..<Self.longestQueue {
      let descriptor = platform_accept(listener)
      guard descriptor >= 0 else { return nil }
      if let reader = keep(descriptor) { return reader }
      platform_close(descriptor)
    }
    return nil
  }

  /// More than the system lets wait.
  private static var longestQueue: Int { 16 }

  private mutating func keep(_ descriptor: Int32) -> Int? {
    for index in 0..<Self.readers where connected[index] < 0 {
      let result = platform_poller_set(
        poller, descriptor, UInt32(Channel.inspection.rawValue), Int32(PLATFORM_READABLE), 1)
      guard result == 0 else { return nil }
      connected[index] = descriptor
      return index
    }
    return nil
  }

  /// Takes a question of a reader: its first byte; `nil`: it has none. One that has gone is forgotten.
  @_optimize(size)
  public mutating func question(of reader: Int) -> UInt8? {
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    var space = bytes.mutableSpan
    // C fills no more than the span.
    let result = unsafe space.withUnsafeMutableBufferPointer { space in
      unsafe platform_receive(connected[reader], space.baseAddress, space.count)
    }
    if result > 0 { return bytes[0] }
    if result != Int32(PLATFORM_WOULD_BLOCK) { forget(reader) }
    return nil
  }

  /// Sends one datagram.
  @_optimize(size)
  public mutating func send(_ bytes: Span<UInt8>, to reader: Int) -> Sending {
    let result = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe platform_send(connected[reader], bytes.baseAddress, bytes.count)
    }
    if result > 0 { return .sent }
    if result == Int32(PLATFORM_WOULD_BLOCK) { return .full }
    forget(reader)
    return .gone
  }

  private mutating func forget(_ reader: Int) {
    platform_poller_remove(poller, connected[reader])
    platform_close(connected[reader])
    connected[reader] = -1
  }
}

/// The time of day.
public enum WallClock {
  /// Microseconds since 1970, so many milliseconds ago.
  public static func microseconds(ago age: UInt32) -> (high: UInt32, low: UInt32) {
    var halves = InlineArray<2, UInt32>(repeating: 0)
    var span = halves.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { unsafe platform_wall_clock_us(age, $0.baseAddress) }
    return (halves[1], halves[0])
  }
}
