public import Platform
public import Storage

/// What carries the bytes of a connection: TCP, a socket in the file system, the application itself
/// (`CallerDriven`), or a layer on another transport, such as a proxy's handshake, TLS or WebSocket:
/// `Secured<TCP>` is a type.
///
/// All sockets are the system's, which is why each call is handed the system. No member has a default, because
/// a layer that forgets to pass a question on would answer it with that default.
public protocol Transport: ~Copyable {
  // MARK: Getters

  /// The system's poller tells of it. False: the application does, and has the clock, too.
  var isPolled: Bool { get }

  /// How far opening has come, or did when it failed.
  var stage: OpeningStage { get }

  /// When `timedOut` is to be called while it opens.
  var deadline: Instant? { get }

  /// A layer has read more than it has handed out, and the system will not tell of it. While the transport
  /// opens, `advance` goes on with it; then `receive` hands it out, and at the end `discard` throws it away. A
  /// layer that waits for something else than its own bytes answers `false`: the driver does not wait as long
  /// as this is true.
  var hasBuffered: Bool { get }

  /// Bytes that `send` has taken, or that a layer says by itself, wait for the system to take them: `flush`
  /// hands them down.
  var hasUnsent: Bool { get }

  /// How many addresses `provide` takes.
  var addressCapacity: Int { get }

  /// `open` was successful, and it was not closed since.
  func isOpen<System: Platform & ~Copyable>(on system: borrowing System) -> Bool

  /// The system has bytes, or the end.
  func isReadable(_ ready: Readiness) -> Bool

  /// The system takes bytes again.
  func isWritable(_ ready: Readiness) -> Bool

  // MARK: Opening

  /// Begins to open. `server` tells this server from others; `host` ends with a zero.
  mutating func open<System: Platform & ~Copyable>(
    _ server: Int, _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening

  /// Begins again with the very peer that it was open to. It is closed.
  mutating func reopen<System: Platform & ~Copyable>(
    _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening

  /// What it asked for with `needsAddresses`: at least one.
  mutating func provide<System: Platform & ~Copyable>(
    _ addresses: AddressList, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening

  /// Goes on with opening, as far as the system is ready.
  mutating func advance<System: Platform & ~Copyable>(
    _ ready: Readiness, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening

  /// `deadline` has been reached.
  mutating func timedOut<System: Platform & ~Copyable>(
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening

  // MARK: Open

  /// Hands bytes over, from the front. `bytes` is not empty.
  mutating func send<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, on system: inout System
  ) -> Transfer

  /// Hands over bytes that are in two places. Neither is empty. It may take less than the first of them.
  mutating func send<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, _ payload: Span<UInt8>, on system: inout System
  ) -> Transfer

  /// Hands down what waits, as far as the system takes it: how many bytes it took, or `wouldBlock` if none.
  mutating func flush<System: Platform & ~Copyable>(on system: inout System) -> Transfer

  /// Fills `space` from its front. `space` is not empty.
  mutating func receive<System: Platform & ~Copyable>(
    into space: inout MutableSpan<UInt8>, on system: inout System
  ) -> Transfer

  /// What the system is to tell from now on.
  mutating func watch<System: Platform & ~Copyable>(
    readable: Bool, writable: Bool, on system: inout System
  ) throws(PlatformError)

  // MARK: Bytes that the application carries

  /// The bytes pass through layers, whose buffers these are; otherwise they are the engine's own.
  var isLayered: Bool { get }

  /// The application has opened its transport.
  mutating func connected<System: Platform & ~Copyable>(on system: inout System) -> Opening

  /// Where the next bytes go; empty: none now.
  @_lifetime(&self) mutating func receiveSpace() -> MutableSpan<UInt8>

  /// `count` bytes were written to the front of `receiveSpace()`.
  mutating func received(_ count: Int)

  /// What the application is to send next.
  var output: Span<UInt8> { @_lifetime(borrow self) borrowing get }

  /// `count` bytes of it were sent, from the front.
  mutating func transmitted(_ count: Int)

  /// The peer has closed while the transport opened. Which layer takes that for a fault of its own, if one does.
  mutating func peerClosed() -> Layer?

  // MARK: The end

  /// Nothing more will be sent. What is on its way still arrives, as long as what comes meanwhile is
  /// discarded.
  mutating func shutdownWrite<System: Platform & ~Copyable>(on system: inout System)

  /// Throws away what came in. `closed`, once nothing more will.
  mutating func discard<System: Platform & ~Copyable>(on system: inout System) -> Transfer

  /// Ends the connection, or the attempt, at once. Harmless if it has ended.
  mutating func close<System: Platform & ~Copyable>(on system: inout System)
}

/// What became of opening, so far.
public enum Opening: BitwiseCopyable {
  case opening
  case open
  case failed(OpeningError)  // in the transport's `stage`
  case needsAddresses  // of the application: `provide`
  case needsTransport  // the application is to open it
}

public enum OpeningError: BitwiseCopyable {
  case resolver(Int32)  // an EAI_… value
  case system(Int32)  // the system's number
  case closed  // by the peer
  case layer(Layer)
}

/// How far opening has come. The layers come in this order.
public enum OpeningStage: UInt8, BitwiseCopyable { case resolve, connect, proxy, tls, webSocket }
