import Storage

/// A text in the buffer of a program, as far as there is room, with a zero behind it. It counts what there is no room for,
/// too, as snprintf() does.
@safe
public struct TextWriter {
  private let text: UnsafeMutablePointer<CChar>?
  private let capacity: Int
  public private(set) var count = 0

  /// The caller guarantees room for `capacity` bytes, unless `text` is nil.
  public init(_ text: UnsafeMutablePointer<CChar>?, _ capacity: Int) {
    unsafe self.text = unsafe text
    self.capacity = unsafe text == nil ? 0 : capacity
  }

  @inline(never)
  public mutating func add(_ byte: UInt8) {
    if count < capacity &- 1 { unsafe text?[count] = CChar(bitPattern: byte) }
    count &+= 1
  }

  /// A literal ends with a zero.
  @inline(never)
  public mutating func add(_ literal: StaticString) {
    unsafe add(name: UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self))
  }

  /// The caller guarantees a zero at its end.
  @inline(never)
  public mutating func add(name: UnsafePointer<CChar>?) {
    guard var next = unsafe name else { return }
    while unsafe next.pointee != 0 {
      unsafe add(UInt8(bitPattern: next.pointee))
      unsafe next += 1
    }
  }

  @inline(never)
  public mutating func add(_ number: UInt64) {
    let value = Counter(value: number)
    let size = Decimal.size(value)
    // 2 to the 64th has 20 digits.
    var digits = InlineArray<20, UInt8>(repeating: 0)
    var all = digits.mutableSpan
    var room = all._mutatingExtracting(0..<size)
    Decimal.write(value, into: &room)
    for index in 0..<size { add(room[index]) }
  }

  @inline(never)
  public mutating func add(_ number: Int32) {
    if number < 0 { add(UInt8(ascii: "-")) }
    add(Counter(number.magnitude).uint64)
  }

  /// Nothing if the number is `none`.
  public mutating func add(_ label: StaticString, _ number: Int32, unless none: Int32) {
    guard number != none else { return }
    add(label)
    add(number)
  }

  /// Nothing if the number is 0.
  public mutating func add(_ label: StaticString, _ number: UInt64) {
    guard number != 0 else { return }
    add(label)
    add(number)
  }

  /// UTF-8 between quotation marks. What controls a terminal (C0, DEL, C1) becomes \xNN, byte by byte.
  ///
  /// The caller guarantees that the bytes are there.
  @inline(never)
  public mutating func add(quoted data: UnsafeRawPointer?, _ size: Int) {
    guard let data = unsafe data else { return add("\"\"") }
    add(UInt8(ascii: "\""))
    var isControl = false
    for index in 0..<size {
      let byte = unsafe data.load(fromByteOffset: index, as: UInt8.self)
      let next = index + 1 < size ? unsafe data.load(fromByteOffset: index + 1, as: UInt8.self) : 0
      // U+0080 to U+009F are C2 80 to C2 9F.
      let begins = byte == 0xC2 && 0x80...0x9F ~= next
      let isEscaped = begins || isControl || byte < 0x20 || byte == 0x7F
      isControl = begins
      guard isEscaped else {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { add(UInt8(ascii: "\\")) }
        add(byte)
        continue
      }
      add("\\x")
      add(digit(byte >> 4))
      add(digit(byte & 15))
    }
    add(UInt8(ascii: "\""))
  }

  private func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") &+ value : UInt8(ascii: "A") &- 10 &+ value
  }

  /// Returns how long the whole is.
  public func finish() -> Int {
    if capacity > 0 { unsafe text?[min(count, capacity &- 1)] = 0 }
    return count
  }
}
