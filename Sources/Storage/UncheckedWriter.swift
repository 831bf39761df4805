/// Writes front to back into a place whose size was checked once, instead of each field anew.
///
/// Each `put` is unsafe: the caller guarantees that what is written fits, as its size is what the place was asked for with. Debug
/// builds check it with every write. `ByteWriter` is the same with a check each time; here that would take a message 8 to
/// 15 instructions of 260 to 300.
@safe public struct UncheckedWriter: ~Copyable, ~Escapable {
  private var next: UnsafeMutableRawPointer
  #if DEBUG
    private var left: Int
  #endif

  @_lifetime(borrow start)
  @inline(__always)
  @unsafe init(start: UnsafeMutableRawPointer, count: Int) {
    unsafe next = start
    #if DEBUG
      left = count
    #endif
  }

  @_lifetime(self: copy self)
  @inline(__always)
  @unsafe public mutating func put(_ byte: UInt8) { unsafe store(byte) }

  /// A Two Byte Integer of MQTT: the high byte first.
  @_lifetime(self: copy self)
  @inline(__always)
  @unsafe public mutating func put(_ value: UInt16) { unsafe store(value.bigEndian) }

  @_lifetime(self: copy self)
  @inline(__always)
  @unsafe public mutating func put(_ bytes: Span<UInt8>) {
    let place = unsafe next
    unsafe bytes.withUnsafeBytes { bytes in
      guard let from = bytes.baseAddress else { return }
      unsafe place.copyMemory(from: from, byteCount: bytes.count)
    }
    advance(by: bytes.count)
  }

  @_lifetime(self: copy self)
  @inline(__always)
  @unsafe private mutating func store<Value: BitwiseCopyable>(_ value: Value) {
    unsafe next.storeBytes(of: value, as: Value.self)
    advance(by: MemoryLayout<Value>.size)
  }

  @_lifetime(self: copy self)
  @inline(__always)
  private mutating func advance(by count: Int) {
    unsafe next += count
    #if DEBUG
      left -= count
      precondition(left >= 0)
    #endif
  }
}
