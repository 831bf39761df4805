public import Storage

/// Writes lines of a name, a space and a number, as far as there is room: a line that does not fit is left out, and all
/// that follow it.
public struct NumberLines: ~Copyable, ~Escapable {
  private var target: MutableSpan<UInt8>
  /// How many bytes are written.
  public private(set) var count = 0
  private var isFull = false

  @_lifetime(copy target)
  public init(_ target: consuming MutableSpan<UInt8>) { self.target = target }

  @_lifetime(self: copy self)
  @inline(never)
  @_optimize(size)
  public mutating func put(_ name: StaticString, _ value: Counter) {
    isFull = isFull || name.utf8CodeUnitCount &+ 22 > target.count &- count
    guard !isFull else { return }
    put(name.bytes)
    put(UInt8(ascii: " "))
    put(value)
    put(UInt8(ascii: "\n"))
  }

  @_lifetime(self: copy self)
  @inline(never)
  public mutating func put(_ name: StaticString, _ value: UInt32) { put(name, Counter(value)) }

  @_lifetime(self: copy self)
  public mutating func put(_ name: StaticString, _ value: Int) {
    put(name, UInt32(truncatingIfNeeded: value))
  }

  /// A line of a name, a space, which of several numbers it is, a space, and the number.
  @_lifetime(self: copy self)
  @inline(never)
  @_optimize(size)
  public mutating func put(_ name: StaticString, _ index: Int, _ value: UInt32) {
    isFull = isFull || name.utf8CodeUnitCount &+ 24 > target.count &- count
    guard !isFull else { return }
    put(name.bytes)
    put(UInt8(ascii: " "))
    put(Counter(UInt32(truncatingIfNeeded: index)))
    put(UInt8(ascii: " "))
    put(Counter(value))
    put(UInt8(ascii: "\n"))
  }

  @_lifetime(self: copy self)
  private mutating func put(_ value: Counter) { Decimal.append(value, to: &target, &count) }

  @_lifetime(self: copy self)
  private mutating func put(_ byte: UInt8) {
    target[count] = byte
    count &+= 1
  }

  @_lifetime(self: copy self)
  @inline(never)
  @_optimize(size)
  private mutating func put(_ bytes: Span<UInt8>) {
    for index in 0..<bytes.count { put(bytes[index]) }
  }
}
