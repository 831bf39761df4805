/// Bytes that a person reads, or that go over a wire: written as a literal, `"\(name): \(count) lines"`.
///
/// It is not a `String`, which would bring the tables of Unicode, larger than the rest of this program.
struct Text: ExpressibleByStringInterpolation {
  var bytes: [UInt8]

  init(_ bytes: [UInt8] = []) { self.bytes = bytes }
  @inline(never) init(stringLiteral value: StaticString) { bytes = value.bytes }
  init(stringInterpolation: Interpolation) { bytes = stringInterpolation.bytes }

  struct Interpolation: StringInterpolationProtocol {
    var bytes: [UInt8] = []

    @inline(never) init(literalCapacity: Int, interpolationCount: Int) {
      bytes.reserveCapacity(literalCapacity + 16 * interpolationCount)
    }

    @inline(never) mutating func appendLiteral(_ literal: StaticString) { bytes += literal.bytes }
    @inline(never) mutating func appendInterpolation(_ text: Text) { bytes += text.bytes }
    @inline(never) mutating func appendInterpolation(_ text: StaticString) { bytes += text.bytes }
    @inline(never) mutating func appendInterpolation(_ text: [UInt8]) { bytes += text }
    @inline(never) mutating func appendInterpolation(_ number: Int) { bytes += decimal(Int64(number)) }
    @inline(never) mutating func appendInterpolation(_ number: Int64) { bytes += decimal(number) }
    @inline(never) mutating func appendInterpolation(_ number: UInt64) { bytes += decimal(unsigned: number) }
    @inline(never) mutating func appendInterpolation(_ number: UInt32) { bytes += decimal(Int64(number)) }
  }

  var isEmpty: Bool { bytes.isEmpty }

  @inline(never) static func += (left: inout Text, right: Text) { left.bytes += right.bytes }
  @inline(never) static func + (left: Text, right: Text) -> Text { Text(left.bytes + right.bytes) }
  static func == (left: Text, right: Text) -> Bool { left.bytes == right.bytes }
}

/// An error that ends the program: the reason, in one line, and the exit status. A mistake in the command line is one
/// (`usageError`), a connection that is refused or lost is another.
struct ExitError: Error {
  let text: Text
  var status: Int32 = 1
  /// The error is in the command line, so a hint at `--help` follows.
  var isUsage = false
}

/// A number in decimal digits, with leading zeros up to `digits`.
@inline(never)
func decimal(_ number: Int64, digits: Int = 1) -> [UInt8] {
  (number < 0 ? [45] : []) + decimal(unsigned: number.magnitude, digits: digits)
}

@inline(never)
func decimal(unsigned number: UInt64, digits: Int = 1) -> [UInt8] {
  var reversed: [UInt8] = []
  var rest = number
  repeat {
    reversed.append(48 + UInt8(truncatingIfNeeded: rest % 10))
    rest /= 10
  } while rest > 0
  while reversed.count < digits { reversed.append(48) }
  reversed.reverse()
  return reversed
}

/// A number of thousandths, as a decimal fraction with `places` (1 to 3) of them.
func fraction(thousandths: Int64, places: Int) -> Text {
  let unit: Int64 = places == 3 ? 1 : places == 2 ? 10 : 100
  let rounded = (thousandths + unit / 2) / unit
  let scale = 1000 / unit
  return "\(rounded / scale).\(decimal(rounded % scale, digits: places))"
}

/// With a comma between each three digits.
func grouped(_ number: Int64) -> Text {
  let digits = decimal(number)
  var result: [UInt8] = []
  for (index, digit) in digits.enumerated() {
    if index > 0 && (digits.count - index) % 3 == 0 { result.append(44) }
    result.append(digit)
  }
  return Text(result)
}

/// The value of a hexadecimal digit; nil if it is not one.
func hexadecimalValue(_ digit: UInt8) -> UInt8? {
  switch digit {
  case 48...57: digit - 48
  case 65...70: digit - 55
  case 97...102: digit - 87
  default: nil
  }
}

extension [UInt8] {
  /// A whole decimal number in the range; nil if these bytes are not one.
  func number(in range: ClosedRange<Int64>) -> Int64? {
    let isNegative = first == 45
    let digits = self[(isNegative || first == 43 ? 1 : 0)...]
    guard !digits.isEmpty && digits.count <= 18 else { return nil }
    var value: Int64 = 0
    for byte in digits {
      guard (48...57).contains(byte) else { return nil }
      value = value * 10 + Int64(byte - 48)
    }
    if isNegative { value = -value }
    return range.contains(value) ? value : nil
  }

  func begins(with start: StaticString) -> Bool {
    let wanted = start.bytes
    return count >= wanted.count && Array(self[..<wanted.count]) == wanted
  }

  static func == (left: [UInt8], right: StaticString) -> Bool { left == right.bytes }

  /// In hexadecimal digits.
  var hexadecimal: [UInt8] { flatMap { [hexadecimalDigit($0 >> 4), hexadecimalDigit($0 & 15)] } }

  /// In lower-case ASCII.
  var uppercased: [UInt8] { map { (97...122).contains($0) ? $0 - 32 : $0 } }
  var lowercased: [UInt8] { map { (65...90).contains($0) ? $0 + 32 : $0 } }
}
