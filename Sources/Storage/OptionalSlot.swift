/// One element in the caller's block, or none: for a part that few clients need, and that takes no memory
/// from the others.
@safe public struct OptionalSlot<Element: ~Copyable>: ~Copyable {
  // It comes first and is no optional, because the thread sanitizer of Swift 6.3.1 takes the first field
  // for the address of `element`.
  private let start: UnsafeMutablePointer<Element>
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

  /// Calls `body` with the element, for results whose lifetime depends on it.
  @inline(__always)
  public func read<Result>(_ body: (borrowing Element) -> Result) -> Result { body(element) }
}
