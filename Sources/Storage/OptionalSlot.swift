/// One element in the caller's block, or none: for a part that few clients need, and that takes no memory
/// from the others.
@safe public struct OptionalSlot<Element: ~Copyable>: ~Copyable {
  // It comes first and is no optional, because the thread sanitizer of Swift 6.3.1 takes the first field
  // for the address of `element`.
  private let start: UnsafeMutablePointer<Element>
  /// As a pointer to nowhere it would be no field, and cost 50 instructions in each turn of the loop.
  public let isEmpty: Bool

  /// Makes an empty slot if the slice has no room, or if nothing is ever there.
  @inline(__always)
  public init(
    _ slice: ArenaSlice<Element>, in block: borrowing Arena, if isThere: Bool = true,
    _ makeElement: () -> Element
  ) {
    unsafe start = block.start(of: slice)
    isEmpty = !isThere || slice.count == 0
    if isThere, !isEmpty { unsafe start.initialize(to: makeElement()) }
  }

  /// Makes an empty slot. Nobody looks where its element would be.
  @inline(__always)
  public init() {
    unsafe start = UnsafeMutablePointer(bitPattern: 8).unsafelyUnwrapped
    isEmpty = true
  }

  deinit { if !isEmpty { unsafe start.deinitialize(count: 1) } }

  /// The element of a slot that is not empty.
  public var element: Element {
    @inline(__always) unsafeAddress {
      precondition(!isEmpty)
      return unsafe UnsafePointer(start)
    }
    @inline(__always) unsafeMutableAddress {
      precondition(!isEmpty)
      return unsafe start
    }
  }

  /// Where the element is as long as the slot lives, for a function of C that is called with it.
  @unsafe public var address: UnsafeMutableRawPointer {
    precondition(!isEmpty)
    return unsafe UnsafeMutableRawPointer(start)
  }

  /// Calls `body` with the element, for results whose lifetime depends on it.
  @inline(__always)
  public func read<Result>(_ body: (borrowing Element) -> Result) -> Result { body(element) }

  /// The same for a change.
  @inline(__always)
  public mutating func change<Result>(_ body: (inout Element) -> Result) -> Result { body(&element) }

  // The element has these bytes as long as it is in the slot, wherever they are.

  /// Returns the bytes that `body` hands on: some that the element has.
  @_lifetime(borrow self)
  @inline(__always)
  public func bytes(_ body: (borrowing Element, (Span<UInt8>) -> Void) -> Void) -> Span<UInt8> {
    var start: UnsafePointer<UInt8>? = nil
    var count = 0
    body(element) { bytes in
      unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe start = bytes.baseAddress
        count = bytes.count
      }
    }
    guard let start = unsafe start else { return Span() }
    let span = unsafe Span(_unsafeStart: start, count: count)
    return unsafe _overrideLifetime(span, borrowing: self)
  }

  /// Returns `count` bytes where `place` says, for what a borrowed element may have been copied with: a value of its own.
  /// The caller guarantees that they are the element's.
  @_lifetime(borrow self)
  @unsafe public func bytes(
    count: Int, at place: (UnsafeMutablePointer<Element>) -> UnsafeRawPointer
  ) -> Span<UInt8> {
    precondition(!isEmpty)
    let first = unsafe place(start).assumingMemoryBound(to: UInt8.self)
    let span = unsafe Span(_unsafeStart: first, count: count)
    return unsafe _overrideLifetime(span, borrowing: self)
  }

  /// Returns the same, to be written.
  @_lifetime(&self)
  @inline(__always)
  public mutating func mutableBytes(
    _ body: (inout Element, (inout MutableSpan<UInt8>) -> Void) -> Void
  ) -> MutableSpan<UInt8> {
    var start: UnsafeMutablePointer<UInt8>? = nil
    var count = 0
    body(&element) { bytes in
      unsafe bytes.withUnsafeMutableBufferPointer { bytes in
        unsafe start = bytes.baseAddress
        count = bytes.count
      }
    }
    guard let start = unsafe start else { return MutableSpan() }
    let span = unsafe MutableSpan(_unsafeStart: start, count: count)
    return unsafe _overrideLifetime(span, mutating: &self)
  }
}
