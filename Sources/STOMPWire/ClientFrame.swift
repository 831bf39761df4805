import Storage

/// What a client sends.
public enum ClientCommand: UInt8, BitwiseCopyable, Sendable {
  case connect, send, subscribe, unsubscribe, ack, nack, begin, commit, abort, disconnect

  /// CONNECT rather than STOMP: servers of 1.0 know it, too.
  @inline(__always)
  var name: StaticString {
    switch self {
    case .connect: "CONNECT"
    case .send: "SEND"
    case .subscribe: "SUBSCRIBE"
    case .unsubscribe: "UNSUBSCRIBE"
    case .ack: "ACK"
    case .nack: "NACK"
    case .begin: "BEGIN"
    case .commit: "COMMIT"
    case .abort: "ABORT"
    case .disconnect: "DISCONNECT"
    }
  }
}

/// The size of a frame, and the frame itself: what describes one is run twice, first with a `FrameSize` and then with a
/// `FrameWriter` that has as much room as that says.
public protocol FrameOutput: ~Copyable, ~Escapable {
  @_lifetime(self: copy self)
  mutating func begin(_ command: ClientCommand)
  /// The value is escaped, if the version has that.
  @_lifetime(self: copy self)
  mutating func header(_ name: StaticString, _ value: Span<UInt8>)
  /// The name is escaped, too.
  @_lifetime(self: copy self)
  mutating func header(_ name: Span<UInt8>, _ value: Span<UInt8>)
  /// All of a list (`HeaderList`), names and values escaped.
  @_lifetime(self: copy self)
  mutating func headers(_ list: Span<UInt8>)
  /// The value is as it came from the server, or has nothing to escape.
  @_lifetime(self: copy self)
  mutating func header(_ name: StaticString, verbatim value: Span<UInt8>)
  @_lifetime(self: copy self)
  mutating func header(_ name: StaticString, _ value: UInt32)
  /// Its digits were counted.
  @_lifetime(self: copy self)
  mutating func header(_ name: StaticString, _ value: UInt32, digits: Int)
  @_lifetime(self: copy self)
  mutating func header(_ name: StaticString, _ value: StaticString)
  /// A letter and a number.
  @_lifetime(self: copy self)
  mutating func header(_ name: StaticString, letter: UInt8, _ number: UInt32)
  @_lifetime(self: copy self)
  mutating func header(_ name: StaticString, _ value: HeartBeat)
  @_lifetime(self: copy self)
  mutating func header(_ name: StaticString, versions oldest: STOMPVersion, _ newest: STOMPVersion)
  @_lifetime(self: copy self)
  mutating func body(_ bytes: Span<UInt8>)
}

extension FrameOutput where Self: ~Copyable & ~Escapable {
  /// Ends a frame without a body.
  @_lifetime(self: copy self)
  public mutating func end() { body(Span()) }
}
