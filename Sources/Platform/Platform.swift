/// What the driver and the transports need of a system: time, random numbers, one place to wait, names, and
/// sockets.
///
/// Linux is one; the tests and the simulator have one each, with a clock and a network of their own. It
/// speaks neither C nor the error numbers of one kernel: a number that it throws is passed on and never
/// looked at. Nothing waits but `wait`.
public protocol Platform: ~Copyable {
  /// Milliseconds of a clock that never jumps, wrapping.
  func now() -> UInt32
  func randomNumber() -> UInt32

  /// The same, as bytes that nobody can guess.
  func fillRandom(_ bytes: inout MutableSpan<UInt8>)

  /// Seconds since 1970, as the wall clock has them: it may jump, and be wrong.
  func wallClock() -> Int64

  // MARK: Waiting

  /// Turns readable when `wait` would not wait.
  var descriptor: Int32 { get }

  /// At most `timeout` milliseconds; -1: without end. For the first `busy` microseconds of them it looks again
  /// and again instead of sleeping.
  func wait(timeout: Int32, busy: UInt32) -> PollResult

  /// Says what `wait` waits for on this channel from now on; neither: nothing.
  mutating func watch(_ channel: Channel, readable: Bool, writable: Bool) throws(PlatformError)

  /// Lets any other thread end a `wait`. It is opened by the first call.
  mutating func wakeUp() throws(PlatformError) -> WakeUp

  // MARK: Names

  /// The address a numeric host is. `host` ends with a zero.
  func numeric(_ host: Span<UInt8>, port: UInt16) -> AddressList?

  /// Looks a name up: the channel `resolver` turns readable with the answer. One look-up at a time; a second
  /// call gives the first one up.
  mutating func resolve(_ host: Span<UInt8>, port: UInt16) throws(PlatformError)

  /// A look-up is under way, or its answer has not been read.
  var isResolving: Bool { get }

  mutating func resolved() -> Resolution

  /// Gives up a look-up whose answer is not wanted any more. Harmless if there is none.
  mutating func cancelResolving()

  // MARK: Sockets

  /// Begins to connect. The socket turns writable when the outcome is known.
  mutating func connect(_ socket: Channel, to address: IPAddress, port: UInt16) throws(PlatformError)

  /// The same for a socket in the file system; `path` ends with a zero.
  mutating func connect(_ socket: Channel, toPath path: Span<UInt8>) throws(PlatformError)

  /// Why it could not connect; 0: it is connected.
  func connectError(_ socket: Channel) -> Int32

  func isOpen(_ socket: Channel) -> Bool

  /// Hands bytes over, from the front. `bytes` is not empty.
  mutating func send(_ socket: Channel, _ bytes: Span<UInt8>) -> Transfer

  /// Hands over bytes that are in two places, in one call. Neither is empty.
  mutating func send(_ socket: Channel, _ bytes: Span<UInt8>, _ payload: Span<UInt8>) -> Transfer

  /// Fills `space` from its front. `space` is not empty.
  mutating func receive(_ socket: Channel, into space: inout MutableSpan<UInt8>) -> Transfer

  /// Nothing more will be sent. What is on its way still arrives, as long as what the peer sends meanwhile is
  /// taken: a socket closed with bytes unread throws away what it has not sent.
  mutating func shutdownWrite(_ socket: Channel)

  /// Throws away what came in.
  mutating func discard(_ socket: Channel) -> Transfer

  /// Ends the connection, or the attempt, at once. Harmless if it has ended.
  mutating func close(_ socket: Channel)

  // MARK: The file of a journal

  /// Begins to write blocks and to make them durable. The channel `store` turns readable when that has ended. Until
  /// `written` says so, `blocks` stay where they are, and as they are.
  mutating func write(_ blocks: inout MutableSpan<UInt8>, to runs: BlockRuns)

  /// What has become of it: 0, or the system's number; `nil`: it has not ended, or that was told already.
  mutating func written() -> Int32?
}

extension Platform where Self: ~Copyable {
  /// Waits without looking first.
  @inline(__always)
  public func wait(timeout: Int32) -> PollResult { wait(timeout: timeout, busy: 0) }

  /// A system may take the first of them alone: what is left is sent next.
  public mutating func send(_ socket: Channel, _ bytes: Span<UInt8>, _ payload: Span<UInt8>) -> Transfer {
    send(socket, bytes)
  }

  public mutating func connect(_ socket: Channel, toPath path: Span<UInt8>) throws(PlatformError) {
    throw PlatformError(code: SystemError.notSupported)
  }

  public mutating func write(_ blocks: inout MutableSpan<UInt8>, to runs: BlockRuns) {}
  public mutating func written() -> Int32? { nil }
}

/// What a platform waits for: sockets, of which several race to be the first, the answer of the resolver, other
/// threads, a file, and programs that look on.
public enum Channel: UInt8, BitwiseCopyable {
  case socket0, socket1, socket2, socket3
  case resolver
  case wakeUp
  case store
  case inspection

  public static var count: Int { 8 }
  public static var sockets: Int { 4 }

  public static func socket(_ index: Int) -> Channel {
    Channel(rawValue: UInt8(truncatingIfNeeded: index & 3)) ?? .socket0
  }
}

/// What became of waiting.
public enum PollResult: BitwiseCopyable {
  case ready(Readiness)  // nothing is ready: the time is up
  case interrupted  // a signal handler ran
  case failed(Int32)  // the system's number
}

/// What a socket, or a transport, did with bytes.
public enum Transfer: BitwiseCopyable {
  case transferred(Int)  // this many, at least one
  case wouldBlock  // none now; the platform tells when
  case closed  // the peer has closed
  case failed(Int32)  // the system's number
  case broken(Layer)  // a layer above the system, which knows why
}

/// What may lie between a socket and the protocol.
public enum Layer: UInt8, BitwiseCopyable { case proxy, tls, webSocket }

/// What the channels are ready for. (Not an `OptionSet`: its array literals allocate.)
public struct Readiness: BitwiseCopyable, Equatable {
  /// Two bits for each channel, as `platform_wait` gives them: readable, writable.
  private let bits: UInt32

  public init(bits: UInt32 = 0) { self.bits = bits }

  public func isReadable(_ channel: Channel) -> Bool { of(channel) & 1 != 0 }
  public func isWritable(_ channel: Channel) -> Bool { of(channel) & 2 != 0 }
  public func isReady(_ channel: Channel) -> Bool { of(channel) != 0 }

  private func of(_ channel: Channel) -> UInt32 { bits >> (2 &* UInt32(channel.rawValue)) & 3 }
}
