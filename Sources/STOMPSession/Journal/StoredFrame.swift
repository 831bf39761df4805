import STOMPWire
import Storage

/// SEND as the journal keeps it: its receipt is the first header and has a number of ten digits, so that a later process can
/// write its own number there.
enum StoredFrame {
  /// What stands for the number until it is written.
  static var noNumber: StaticString { "0000000000" }

  private static var start: StaticString { "SEND\nreceipt:" }
  private static var digits: Range<Int> {
    start.utf8CodeUnitCount..<start.utf8CodeUnitCount &+ noNumber.utf8CodeUnitCount
  }

  @_lifetime(frame: copy frame)
  static func setNumber(_ number: UInt32, in frame: inout MutableSpan<UInt8>) {
    var target = frame._mutatingExtracting(digits)
    Decimal.write(number, into: &target)
  }

  /// Whether these bytes may be one. A frame that was stored is one: this sees that what a library with a mistake has written
  /// breaks no connection.
  static func isOne(_ frame: Span<UInt8>) -> Bool {
    guard frame.count > digits.upperBound &+ 2, frame[frame.count &- 1] == 0,
      frame[digits.upperBound] == UInt8(ascii: "\n"),
      frame.extracting(0..<digits.lowerBound).equals(start)
    else { return false }
    for index in digits where !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= frame[index]) { return false }
    return true
  }
}
