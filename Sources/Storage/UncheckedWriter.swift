/// Encodes one packet into space whose size was checked once, instead of checking each field: for a message
/// these checks would be 8 to 15 instructions of 260 to 300.
///
/// The caller of `Region.writer` promises that what is written is no larger than the space that it asked
/// for. Debug builds, like those of the unit tests, check every write.
@safe public struct UncheckedWriter: PacketWriter, ~Copyable, ~Escapable {
  private var next: UnsafeMutableRawPointer
  private let end: UnsafeMutableRawPointer

  @_lifetime(borrow start)
  @inline(__always)
  @unsafe init(start: UnsafeMutableRawPointer, count: Int) {
    unsafe next = start
    unsafe end = start + count
  }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func put(_ byte: UInt8) { store(byte) }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func put(_ value: UInt16) { store(value.bigEndian) }

  @_lifetime(self: copy self)
  @inline(__always)
  public mutating func put(_ bytes: Span<UInt8>) {
    let target = unsafe next
    advance(by: bytes.count)
    unsafe bytes.withUnsafeBytes { bytes in
      guard let source = bytes.baseAddress else { return }
      unsafe target.copyMemory(from: source, byteCount: bytes.count)
    }
  }

  @_lifetime(self: copy self)
  @inline(__always)
  private mutating func store<Value: BitwiseCopyable>(_ value: Value) {
    let target = unsafe next
    advance(by: MemoryLayout<Value>.size)
    unsafe target.storeBytes(of: value, as: Value.self)
  }

  @_lifetime(self: copy self)
  @inline(__always)
  private mutating func advance(by count: Int) {
    unsafe next += count
    unsafe assert(next <= end)
  }
}
