public import CPlatform

/// What the driver needs of the system: time, chance, names, connections, and one place to wait for all of it.
///
/// Linux is one; that of the tests has a clock and a network of its own. Nothing here waits but `wait`.
public protocol Platform: ~Copyable {
  /// Milliseconds of a clock that never jumps, wrapping.
  func now() -> UInt32
  func randomNumber() -> UInt32

  // MARK: Waiting

  /// Turns readable when `wait` would not wait.
  var descriptor: Int32 { get }

  /// At most `timeout` milliseconds; -1: for ever.
  func wait(timeout: Int32) -> Waited

  /// What `wait` is about from now on; neither: nothing of this channel any more.
  mutating func watch(_ channel: Channel, readable: Bool, writable: Bool) throws(PlatformError)

  /// What lets any other thread end a `wait`. Opened when it is asked for first.
  mutating func wakeUp() throws(PlatformError) -> WakeUp

  // MARK: Names

  /// The address a numeric host is. `host` ends with a zero.
  func numeric(_ host: Span<UInt8>, port: UInt16) -> platform_addresses?

  /// Looks a name up: the channel `resolver` turns readable with the answer. One look-up at a time; a second call
  /// gives the first one up.
  mutating func resolve(_ host: Span<UInt8>, port: UInt16) throws(PlatformError)

  /// A look-up is under way, or its answer has not been read.
  var isResolving: Bool { get }

  mutating func resolved() -> Resolver.Answer

  // MARK: Connections

  /// Begins to connect. The channel turns writable when the outcome is known.
  mutating func connect(
    _ lane: Channel, to address: platform_address, port: UInt16
  ) throws(PlatformError)

  /// 0: connected; else errno.
  func outcome(_ lane: Channel) -> Int32

  func isOpen(_ lane: Channel) -> Bool

  /// Hands bytes over, from the front. `bytes` is not empty.
  mutating func send(_ lane: Channel, _ bytes: Span<UInt8>) -> Transfer

  /// Fills `space` from its front. `space` is not empty.
  mutating func receive(_ lane: Channel, into space: inout MutableSpan<UInt8>) -> Transfer

  /// Nothing more will be sent. What is on its way still arrives, as long as what the peer sends meanwhile is taken:
  /// a socket closed with bytes unread throws away what it has not sent.
  mutating func finish(_ lane: Channel)

  /// Throws away what came in.
  mutating func discard(_ lane: Channel) -> Transfer

  /// Ends the connection, or the attempt, at once. Harmless if it has ended.
  mutating func close(_ lane: Channel)
}

/// What one waits for: connections, of which several race to be the first, the answer of the resolver, other threads.
public enum Channel: UInt8, BitwiseCopyable {
  case lane0, lane1, lane2, lane3
  case resolver
  case wakeUp

  public static var count: Int { 6 }
  public static var lanes: Int { 4 }

  public static func lane(_ index: Int) -> Channel {
    Channel(rawValue: UInt8(truncatingIfNeeded: index & 3)) ?? .lane0
  }
}

/// What became of waiting.
public enum Waited: BitwiseCopyable {
  case ready(Readiness)  // for nothing: the time is up
  case interrupted  // a signal handler ran
  case failed(Int32)  // errno
}

/// What the channels are ready for. (Not an `OptionSet`: its array literals allocate.)
public struct Readiness: BitwiseCopyable, Equatable {
  /// Two bits for each channel, as `platform_wait` gives them.
  private let bits: UInt32

  public init(bits: UInt32 = 0) { self.bits = bits }

  public func isReadable(_ channel: Channel) -> Bool { of(channel) & UInt32(PLATFORM_READABLE) != 0 }
  public func isWritable(_ channel: Channel) -> Bool { of(channel) & UInt32(PLATFORM_WRITABLE) != 0 }
  public func isReady(_ channel: Channel) -> Bool { of(channel) != 0 }

  private func of(_ channel: Channel) -> UInt32 { bits >> (2 &* UInt32(channel.rawValue)) & 3 }
}
