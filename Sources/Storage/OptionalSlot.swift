/// One element in the caller's block, or none: for a part that few need, and that takes no memory from the others.
@safe public struct OptionalSlot<Element: ~Copyable>: ~Copyable {
  // First, and no optional: the thread sanitizer of Swift 6.3.1 takes what is first for the address of `element`.
  private let start: UnsafeMutablePointer<Element>
  public let isEmpty: Bool

  /// Empty, if the place has no room, or nothing is ever there.
  @inline(__always)
  public init(
    _ place: ArenaSlice<Element>, in block: borrowing Arena, if isThere: Bool = true,
    _ makeElement: () -> Element
  ) {
    unsafe start = block.start(of: place)
    isEmpty = !isThere || place.count == 0
    if isThere, !isEmpty { unsafe start.initialize(to: makeElement()) }
  }

  deinit { if !isEmpty { unsafe start.deinitialize(count: 1) } }

  /// Of a cell that is not empty.
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

  /// For what depends on the element's lifetime.
  @inline(__always)
  public func read<Result>(_ body: (borrowing Element) -> Result) -> Result { body(element) }
}
