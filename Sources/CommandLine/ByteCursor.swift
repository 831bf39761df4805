/// Reads bytes that nothing is known of, from the front of a range: each call is `nil`, or false, and takes nothing where
/// they end too early.
struct ByteCursor {
  private let all: [UInt8]
  private(set) var position: Int
  private let start: Int
  private let end: Int

  init(_ bytes: [UInt8], _ range: Range<Int>? = nil) {
    all = bytes
    start = range?.lowerBound ?? 0
    position = start
    end = range?.upperBound ?? bytes.count
  }

  var rest: [UInt8] { Array(all[position..<end]) }
  var isAtEnd: Bool { position == end }

  var peek: UInt8? { position < end ? all[position] : nil }

  mutating func byte() -> UInt8? {
    guard position < end else { return nil }
    defer { position += 1 }
    return all[position]
  }

  mutating func bytes(_ count: Int) -> [UInt8]? {
    guard count >= 0, count <= end - position else { return nil }
    defer { position += count }
    return Array(all[position..<position + count])
  }

  mutating func skip(_ count: Int) -> Bool {
    guard count >= 0, count <= end - position else { return false }
    position += count
    return true
  }

  // ---- Numbers

  mutating func big16() -> UInt16? { bytes(2).map { UInt16($0[0]) << 8 | UInt16($0[1]) } }

  // ---- As pcapng has them

  /// A number of 32 bits that counts something; `nil`: nothing has so many, either.
  mutating func little() -> Int? { little32().flatMap { Int(exactly: $0) } }

  mutating func little16() -> UInt16? { bytes(2).map { UInt16($0[1]) << 8 | UInt16($0[0]) } }

  mutating func little32() -> UInt32? {
    bytes(4).map { $0.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
  }

  /// An option of a block; `nil`: there is none any more.
  mutating func option() -> (code: UInt16, value: [UInt8])? {
    guard let code = little16(), let count = little16(), code != 0, let value = bytes(Int(count)) else {
      return nil
    }
    _ = skip((4 - Int(count) % 4) % 4)
    return (code, value)
  }

  /// Goes on to the next multiple of four bytes behind the beginning of the range.
  mutating func align() -> Bool { skip((4 - (position - start) % 4) % 4) }
}
