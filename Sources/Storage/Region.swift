/// A range of bytes in the block of memory that the caller handed over.
///
/// The caller promises at `smq_client_init` that the block outlives every region in it. The code below
/// relies on nothing else.
@safe public struct Region: ~Copyable {
  private let start: UnsafeMutablePointer<UInt8>
  public let count: Int

  /// The caller guarantees `count` bytes at `start` that nothing else uses.
  @unsafe init(start: UnsafeMutableRawPointer, count: Int) {
    unsafe self.start = start.bindMemory(to: UInt8.self, capacity: count)
    self.count = count
  }

  public var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      let span = unsafe Span(_unsafeStart: UnsafePointer(start), count: count)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  public var mutableBytes: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      let span = unsafe MutableSpan(_unsafeStart: start, count: count)
      return unsafe _overrideLifetime(span, mutating: &self)
    }
  }

  /// Returns `size` bytes from `offset` on.
  @_lifetime(borrow self)
  @inline(__always)
  public func bytes(at offset: Int, count size: Int) -> Span<UInt8> {
    precondition(offset >= 0 && size >= 0 && offset <= count &- size)
    let span = unsafe Span(_unsafeStart: UnsafePointer(start) + offset, count: size)
    return unsafe _overrideLifetime(span, borrowing: self)
  }

  /// Returns the bytes of one range, to be written.
  @_lifetime(&self)
  @inline(__always)
  public mutating func mutableBytes(in range: Range<Int>) -> MutableSpan<UInt8> {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    let span = unsafe MutableSpan(_unsafeStart: start + range.lowerBound, count: range.count)
    return unsafe _overrideLifetime(span, mutating: &self)
  }

  @inline(__always)
  public subscript(offset: Int) -> UInt8 {
    precondition(UInt(bitPattern: offset) < UInt(bitPattern: count))
    return unsafe start[offset]
  }

  /// Returns the number in two bytes, the high one first.
  @inline(__always)
  public func uint16(at offset: Int) -> UInt16 {
    precondition(offset >= 0 && offset <= count &- 2)
    return unsafe UInt16(bigEndian: UnsafeRawPointer(start + offset).loadUnaligned(as: UInt16.self))
  }

  // These are for `ByteQueue` and `ByteRing`, which have checked the offsets.

  @inline(__always)
  @unsafe func uncheckedByte(at offset: Int) -> UInt8 {
    assert(UInt(bitPattern: offset) < UInt(bitPattern: count))
    return unsafe start[offset]
  }

  @inline(__always)
  @unsafe func uncheckedLittleEndian(at offset: Int) -> UInt32 {
    assert(offset >= 0 && offset <= count &- 4)
    return unsafe UInt32(littleEndian: UnsafeRawPointer(start + offset).loadUnaligned(as: UInt32.self))
  }

  @_lifetime(borrow self)
  @inline(__always)
  @unsafe func uncheckedBytes(at offset: Int, count size: Int) -> Span<UInt8> {
    assert(offset >= 0 && size >= 0 && offset <= count &- size)
    let span = unsafe Span(_unsafeStart: UnsafePointer(start) + offset, count: size)
    return unsafe _overrideLifetime(span, borrowing: self)
  }

  @_lifetime(&self)
  @inline(__always)
  @unsafe mutating func uncheckedWriter(at offset: Int, count size: Int) -> UncheckedWriter {
    assert(offset >= 0 && size >= 0 && offset <= count &- size)
    let writer = unsafe UncheckedWriter(start: start + offset, count: size)
    return unsafe _overrideLifetime(writer, mutating: &self)
  }

  /// Returns a writer for a packet of at most `size` bytes at `offset`.
  ///
  /// The caller guarantees that it writes no more than that.
  @_lifetime(&self)
  @inline(__always)
  @unsafe public mutating func writer(at offset: Int, count size: Int) -> UncheckedWriter {
    precondition(offset >= 0 && size >= 0 && offset <= count &- size)
    let writer = unsafe UncheckedWriter(start: start + offset, count: size)
    return unsafe _overrideLifetime(writer, mutating: &self)
  }

  /// Overwrites bytes with zeros. Because the block belongs to the program, which may read it, the compiler
  /// must not remove these writes.
  public mutating func wipe(_ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    unsafe (start + range.lowerBound).update(repeating: 0, count: range.count)
  }

  /// Moves `count` bytes from one offset to another; the two ranges may overlap.
  public mutating func move(from source: Int, to target: Int, count moved: Int) {
    precondition(moved >= 0 && source >= 0 && target >= 0)
    precondition(source <= count - moved && target <= count - moved)
    unsafe UnsafeMutableRawPointer(start + target).copyMemory(
      from: UnsafeRawPointer(start + source), byteCount: moved)
  }
}

/// Copies `source` to the beginning of `target`, which must be at least as long.
@inline(__always)
public func copy(_ source: Span<UInt8>, into target: inout MutableSpan<UInt8>) {
  precondition(source.count <= target.count)
  unsafe source.withUnsafeBytes { source in
    unsafe target.withUnsafeMutableBytes { target in
      guard let from = source.baseAddress, let to = target.baseAddress else { return }
      // Embedded Swift 6.3.1 would turn `update(from:)` into a loop over single bytes.
      unsafe to.copyMemory(from: from, byteCount: source.count)
    }
  }
}
