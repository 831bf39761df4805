/// Memory that the program lends to be filled, from the front, until it is told that it is its own again.
@safe public struct LentSpace: BitwiseCopyable {
  private let start: UnsafeMutableRawPointer?
  public private(set) var size: Int
  /// How many bytes are filled.
  public private(set) var count = 0

  /// A size with its highest bit set is a very large one, not a negative number.
  ///
  /// The caller guarantees that the `size` bytes at `start` are used by nobody else until they are filled and
  /// handed out, taken back, or the connection is over.
  @unsafe public init(start: UnsafeMutableRawPointer?, size: Int) {
    unsafe self.start = start
    self.size = size < 0 ? .max : size
  }

  /// No memory.
  public init() { unsafe self.init(start: nil, size: 0) }

  public var isFull: Bool { count == size }

  /// What is filled.
  public var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      guard let start = unsafe start else { return Span() }
      let first = unsafe UnsafePointer(start.assumingMemoryBound(to: UInt8.self))
      return unsafe _overrideLifetime(Span(_unsafeStart: first, count: count), borrowing: self)
    }
  }

  /// What is left to be filled; `append` says how many bytes came.
  public var rest: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      guard let start = unsafe start else { return MutableSpan() }
      let next = unsafe (start + count).assumingMemoryBound(to: UInt8.self)
      return unsafe _overrideLifetime(
        MutableSpan(_unsafeStart: next, count: size &- count), mutating: &self)
    }
  }

  /// Handles that bytes were written to the front of `rest`.
  public mutating func append(_ added: Int) {
    // Neither number is negative.
    precondition(UInt(bitPattern: added) <= UInt(bitPattern: size &- count))
    count &+= added
  }

  /// Copies bytes, as far as there is room for them. Returns how many.
  @_optimize(size)
  public mutating func fill(from bytes: Span<UInt8>) -> Int {
    let copied = min(bytes.count, size &- count)
    unsafe bytes.withUnsafeBytes { bytes in
      guard let start = unsafe start, let from = bytes.baseAddress else { return }
      unsafe (start + count).copyMemory(from: from, byteCount: copied)
    }
    count &+= copied
    return copied
  }

  /// Gives up what is not filled.
  public mutating func giveUpRest() { size = count }

  /// Returns as much of memory in which nothing is filled yet, at most.
  public func first(_ limit: Int) -> LentSpace { unsafe LentSpace(start: start, size: min(size, limit)) }
}
