/// A run of bytes inside the block of memory the caller handed over.
///
/// The block outlives every region carved from it: that is the caller's promise at
/// `smq_client_init`, and the only thing the code below relies on.
@safe public struct Region: ~Copyable {
  private let start: UnsafeMutablePointer<UInt8>
  public let count: Int

  /// The caller guarantees `count` bytes at `start` that nobody else touches.
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

  /// `size` bytes from `offset` on.
  @_lifetime(borrow self)
  @inline(__always)
  public func bytes(at offset: Int, count size: Int) -> Span<UInt8> {
    precondition(offset >= 0 && size >= 0 && offset <= count &- size)
    let span = unsafe Span(_unsafeStart: UnsafePointer(start) + offset, count: size)
    return unsafe _overrideLifetime(span, borrowing: self)
  }

  /// The bytes of one range, to be written.
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

  /// Two bytes, the high one first.
  @inline(__always)
  public func uint16(at offset: Int) -> UInt16 {
    precondition(offset >= 0 && offset <= count &- 2)
    return unsafe UInt16(bigEndian: UnsafeRawPointer(start + offset).loadUnaligned(as: UInt16.self))
  }

  // For `ByteQueue` and `ByteRing`, which know that the places are inside.

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

  /// For a packet of `size` bytes at most, from `offset` on.
  ///
  /// The caller guarantees that it writes no more than that.
  @_lifetime(&self)
  @inline(__always)
  @unsafe public mutating func writer(at offset: Int, count size: Int) -> UncheckedWriter {
    precondition(offset >= 0 && size >= 0 && offset <= count &- size)
    let writer = unsafe UncheckedWriter(start: start + offset, count: size)
    return unsafe _overrideLifetime(writer, mutating: &self)
  }

  /// Overwrites what was there with zeros. The block belongs to somebody else, who may look at it: no compiler may leave that out.
  public mutating func wipe(_ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    unsafe (start + range.lowerBound).update(repeating: 0, count: range.count)
  }

  /// Moves `count` bytes from one offset to another; the two runs may overlap.
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
      // Not `update(from:)`, which Embedded Swift 6.3.1 turns into a loop over single bytes.
      unsafe to.copyMemory(from: from, byteCount: source.count)
    }
  }
}
