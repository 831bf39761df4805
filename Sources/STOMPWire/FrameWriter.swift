public import Storage

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
