/// Numbers in decimal digits. They are divided in steps of 16 bits, because a processor of 32 bits would call its
/// compiler's own library for more.
public enum Decimal {
  public static func size(_ value: UInt32) -> Int {
    var size = 1
    var limit: UInt32 = 10
    while size < 10, value >= limit {
      size &+= 1
      limit = limit &* 10
    }
    return size
  }

  @inline(never)
  @_optimize(size)
  public static func size(_ value: Counter) -> Int {
    var rest = value
    var size = 0
    repeat {
      rest = rest.dividedByTen().quotient
      size &+= 1
    } while rest != Counter()
    return size
  }

  @_lifetime(target: copy target)
  public static func write(_ value: UInt32, into target: inout MutableSpan<UInt8>) {
    write(Counter(value), into: &target)
  }

  /// `target` has as many bytes as `size` says.
  @_lifetime(target: copy target)
  @inline(never)
  @_optimize(size)
  public static func write(_ value: Counter, into target: inout MutableSpan<UInt8>) {
    var rest = value
    for index in stride(from: target.count &- 1, through: 0, by: -1) {
      let (quotient, digit) = rest.dividedByTen()
      target[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit)
      rest = quotient
    }
  }
}

extension Decimal {
  /// Writes it behind the first `count` bytes, which become more. There is room.
  @_lifetime(target: copy target)
  @inline(never)
  @_optimize(size)
  public static func append(
    _ value: Counter, to target: inout MutableSpan<UInt8>, _ count: inout Int
  ) {
    let digits = size(value)
    var room = target._mutatingExtracting(count..<count &+ digits)
    write(value, into: &room)
    count &+= digits
  }
}

extension Counter {
  fileprivate func dividedByTen() -> (quotient: Counter, remainder: UInt32) {
    let first = Self.divide(0, high >> 16)
    let second = Self.divide(first.remainder, high & 0xFFFF)
    let third = Self.divide(second.remainder, low >> 16)
    let fourth = Self.divide(third.remainder, low & 0xFFFF)
    return (
      Counter(low: third.quotient << 16 | fourth.quotient, high: first.quotient << 16 | second.quotient),
      fourth.remainder
    )
  }

  /// `carried`, which is less than ten, times 2^16, and `part`.
  private static func divide(_ carried: UInt32, _ part: UInt32) -> (quotient: UInt32, remainder: UInt32) {
    let value = carried << 16 | part
    return (value / 10, value % 10)
  }
}
