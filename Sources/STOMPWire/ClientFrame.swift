public import Storage

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

public struct FrameSize: FrameOutput, ~Copyable, ~Escapable {
  public private(set) var count = 0
  private let version: STOMPVersion
  /// CONNECT has no escapes.
  private var escapes: Bool

  @_lifetime(immortal)
  public init(_ version: STOMPVersion, escapes: Bool = true) {
    self.version = version
    self.escapes = escapes
  }

  @inline(__always)
  public mutating func begin(_ command: ClientCommand) {
    escapes = command != .connect
    count = command.name.utf8CodeUnitCount &+ 1
  }

  @inline(__always)
  public mutating func header(_ name: StaticString, _ value: Span<UInt8>) {
    count &+= name.utf8CodeUnitCount &+ size(value) &+ 2
  }

  @inline(__always)
  public mutating func header(_ name: Span<UInt8>, _ value: Span<UInt8>) {
    count &+= size(name) &+ size(value) &+ 2
  }

  public mutating func headers(_ bytes: Span<UInt8>) {
    var list = HeaderList(bytes)
    while let pair = list.next() {
      if HeaderText.isPlainText(bytes.extracting(pair.text)) {
        count &+= pair.name.count &+ pair.value.count &+ 2
      } else {
        header(bytes.extracting(pair.name.range), bytes.extracting(pair.value.range))
      }
    }
  }

  @inline(__always)
  public mutating func header(_ name: StaticString, verbatim value: Span<UInt8>) {
    count &+= name.utf8CodeUnitCount &+ value.count &+ 2
  }

  @inline(__always)
  public mutating func header(_ name: StaticString, _ value: UInt32) {
    header(name, value, digits: Decimal.size(value))
  }

  @inline(__always)
  public mutating func header(_ name: StaticString, _ value: UInt32, digits: Int) {
    count &+= name.utf8CodeUnitCount &+ digits &+ 2
  }

  @inline(__always)
  public mutating func header(_ name: StaticString, _ value: StaticString) {
    count &+= name.utf8CodeUnitCount &+ value.utf8CodeUnitCount &+ 2
  }

  @inline(__always)
  public mutating func header(_ name: StaticString, letter: UInt8, _ number: UInt32) {
    header(name, number)
    count &+= 1
  }

  @inline(__always)
  public mutating func header(_ name: StaticString, _ value: HeartBeat) {
    count &+= name.utf8CodeUnitCount &+ Decimal.size(value.sends) &+ Decimal.size(value.wants) &+ 3
  }

  @inline(__always)
  public mutating func header(
    _ name: StaticString, versions oldest: STOMPVersion, _ newest: STOMPVersion
  ) {
    count &+= name.utf8CodeUnitCount &+ 4 &* Int(newest.rawValue &- oldest.rawValue) &+ 5
  }

  /// The blank line, the bytes, and the zero behind them.
  @inline(__always)
  public mutating func body(_ bytes: Span<UInt8>) { count &+= bytes.count &+ 2 }

  private func size(_ text: Span<UInt8>) -> Int { escapes ? Escapes.size(text, version) : text.count }
}

/// Writes into space whose size a `FrameSize` has said, without checking each write: of a small frame these checks would be a
/// fifth. Debug builds, like those of the unit tests, check them.
@safe public struct FrameWriter: FrameOutput, ~Copyable, ~Escapable {
  private let start: UnsafeMutableRawPointer
  private var next: UnsafeMutableRawPointer
  private let end: UnsafeMutableRawPointer
  private let version: STOMPVersion
  private var escapes: Bool
  /// What of the frame depends on the version.
  public private(set) var dialect = Dialect.any

  @_lifetime(copy target)
  @inline(__always)
  public init(
    _ target: consuming MutableSpan<UInt8>, _ version: STOMPVersion, escapes: Bool = true
  ) {
    let count = target.count
    // The span stays borrowed for as long as the writer lives.
    let memory = unsafe target.withUnsafeMutableBytes { unsafe $0.baseAddress.unsafelyUnwrapped }
    unsafe start = memory
    unsafe next = memory
    unsafe end = memory + count
    self.version = version
    self.escapes = escapes
  }

  public var count: Int { unsafe next - start }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func begin(_ command: ClientCommand) {
    escapes = command != .connect
    put(command.name)
    put(lineFeed)
  }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func header(_ name: StaticString, _ value: Span<UInt8>) {
    put(name)
    put(colon)
    put(text: value)
    put(lineFeed)
  }

  @_lifetime(self: copy self)
  public mutating func header(_ name: Span<UInt8>, _ value: Span<UInt8>) {
    put(text: name)
    put(colon)
    put(text: value)
    put(lineFeed)
  }

  @_lifetime(self: copy self)
  public mutating func headers(_ bytes: Span<UInt8>) {
    var list = HeaderList(bytes)
    while let pair = list.next() {
      if HeaderText.isPlainText(bytes.extracting(pair.text)) {
        put(bytes.extracting(pair.name.range))
        put(colon)
        put(bytes.extracting(pair.value.range))
        put(lineFeed)
      } else {
        header(bytes.extracting(pair.name.range), bytes.extracting(pair.value.range))
      }
    }
  }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func header(_ name: StaticString, verbatim value: Span<UInt8>) {
    put(name)
    put(colon)
    put(value)
    put(lineFeed)
  }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func header(_ name: StaticString, _ value: UInt32) {
    put(name)
    put(colon)
    put(number: value)
    put(lineFeed)
  }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func header(_ name: StaticString, _ value: UInt32, digits: Int) {
    put(name)
    put(colon)
    put(number: value, digits: digits)
    put(lineFeed)
  }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func header(_ name: StaticString, _ value: StaticString) {
    put(name)
    put(colon)
    put(value)
    put(lineFeed)
  }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func header(_ name: StaticString, letter: UInt8, _ number: UInt32) {
    put(name)
    put(colon)
    put(letter)
    put(number: number)
    put(lineFeed)
  }

  @_lifetime(self: copy self)
  public mutating func header(_ name: StaticString, _ value: HeartBeat) {
    put(name)
    put(colon)
    put(number: value.sends)
    put(UInt8(ascii: ","))
    put(number: value.wants)
    put(lineFeed)
  }

  /// "a comma separated list of incrementing STOMP protocol versions".
  @_lifetime(self: copy self)
  public mutating func header(
    _ name: StaticString, versions oldest: STOMPVersion, _ newest: STOMPVersion
  ) {
    put(name)
    put(colon)
    for number in oldest.rawValue...newest.rawValue {
      if number > oldest.rawValue { put(UInt8(ascii: ",")) }
      put("1.")
      put(UInt8(ascii: "0") &+ number &- STOMPVersion.v10.rawValue)
    }
    put(lineFeed)
  }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func body(_ bytes: Span<UInt8>) {
    put(lineFeed)
    put(bytes)
    put(0)
  }

  private var colon: UInt8 { UInt8(ascii: ":") }

  @_lifetime(self: copy self)
  @inline(__always)
  private mutating func put(_ byte: UInt8) {
    let place = unsafe next
    advance(by: 1)
    unsafe place.storeBytes(of: byte, as: UInt8.self)
  }

  @_lifetime(self: copy self)
  @inline(__always)
  private mutating func put(_ text: StaticString) {
    let place = unsafe next
    advance(by: text.utf8CodeUnitCount)
    unsafe place.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
  }

  @_lifetime(self: copy self)
  @inline(__always)
  private mutating func put(_ bytes: Span<UInt8>) {
    let place = unsafe next
    advance(by: bytes.count)
    unsafe bytes.withUnsafeBytes { bytes in
      guard let source = bytes.baseAddress else { return }
      unsafe place.copyMemory(from: source, byteCount: bytes.count)
    }
  }

  @_lifetime(self: copy self)
  @_optimize(speed)
  private mutating func put(number: UInt32) { put(number: number, digits: Decimal.size(number)) }

  @_lifetime(self: copy self)
  @inline(__always)
  private mutating func put(number: UInt32, digits: Int) {
    advance(by: digits)
    var place = unsafe next
    var rest = number
    repeat {
      unsafe place -= 1
      unsafe place.storeBytes(of: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10), as: UInt8.self)
      rest /= 10
    } while rest > 0
  }

  @_lifetime(self: copy self)
  @inline(__always)
  private mutating func advance(by count: Int) {
    unsafe next += count
    unsafe assert(next <= end)
  }

  @_lifetime(self: copy self)
  private mutating func put(text: Span<UInt8>) {
    guard escapes, Escapes.needsEscapes(text) else { return put(text) }
    guard version.hasEscapes else {
      dialect = .unescaped
      return put(text)
    }
    for index in 0..<text.count {
      let letter = Escapes.letter(for: text[index], version)
      if letter == 0 {
        put(text[index])
      } else {
        if dialect != .carriageReturns { dialect = .escaped }
        if text[index] == carriageReturn { dialect = .carriageReturns }
        put(UInt8(ascii: "\\"))
        put(letter)
      }
    }
  }
}

/// Which versions read a frame as it was meant.
public enum Dialect: UInt8, BitwiseCopyable {
  case any
  case unescaped  // it has bytes that later versions take for escapes
  case escaped
  case carriageReturns  // it has an escape of 1.2

  public func fits(_ version: STOMPVersion) -> Bool {
    switch self {
    case .any: true
    case .unescaped: !version.hasEscapes
    case .escaped: version.hasEscapes
    case .carriageReturns: version.hasCarriageReturns
    }
  }
}
