public import Storage

/// How many bytes a frame has.
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
