/// One element in the caller's block, or none: for a part that few need, and that takes no memory from the others.
@safe public struct Cell<Element: ~Copyable>: ~Copyable {
  private let start: UnsafeMutablePointer<Element>?

  /// Empty, if the place has no room.
  public init(_ place: Place<Element>, in block: borrowing MemoryBlock, _ makeElement: () -> Element) {
    guard place.count > 0 else {
      unsafe start = nil
      return
    }
    let start = unsafe block.start(of: place)
    unsafe start.initialize(to: makeElement())
    unsafe self.start = start
  }

  deinit { unsafe start?.deinitialize(count: 1) }

  @inline(__always)
  public var isEmpty: Bool { unsafe start == nil }

  /// Of a cell that is not empty.
  public var element: Element {
    @inline(__always) unsafeAddress {
      guard let start = unsafe start else { preconditionFailure() }
      return unsafe UnsafePointer(start)
    }
    @inline(__always) unsafeMutableAddress {
      guard let start = unsafe start else { preconditionFailure() }
      return unsafe start
    }
  }

  /// For what depends on the element's lifetime.
  @inline(__always)
  public func read<Result>(_ body: (borrowing Element) -> Result) -> Result { body(element) }
}
