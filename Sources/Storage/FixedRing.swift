/// A ring of at most a fixed number of elements. They are added behind the last and removed at the front,
/// and none moves meanwhile.
///
/// A slot says where an element is in memory, an index how far it is from the front.
@safe public struct FixedRing<Element: BitwiseCopyable>: ~Copyable {
  private var table: Table<Element>
  /// The slot of the first element.
  public private(set) var head = 0
  /// The slot behind the last element: that of the next one.
  public private(set) var tail = 0
  public private(set) var count = 0

  public init(_ table: consuming Table<Element>) { self.table = table }

  // MARK: Getters

  public var capacity: Int {
    @inline(__always) get { table.count }
  }

  public var isFull: Bool {
    @inline(__always) get { count == table.count }
  }

  /// The element in a slot. It is undefined until it was written.
  public subscript(slot: Int) -> Element {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(table.address(of: slot)) }
    @inline(__always) unsafeMutableAddress { unsafe table.address(of: slot) }
  }

  /// The element at an index, which must be below `count`.
  public subscript(at index: Int) -> Element {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(table.address(of: slot(at: index))) }
    @inline(__always) unsafeMutableAddress { unsafe table.address(of: slot(at: index)) }
  }

  /// Returns the slot of the element at an index, from 0 to `capacity`.
  @inline(__always)
  public func slot(at index: Int) -> Int { slot(head, plus: index) }

  @inline(__always)
  public func slot(after slot: Int) -> Int { slot &+ 1 == table.count ? 0 : slot &+ 1 }

  @inline(__always)
  public func slot(before slot: Int) -> Int { slot == 0 ? table.count &- 1 : slot &- 1 }

  /// `distance` is from 0 to `capacity`.
  @inline(__always)
  public func slot(_ slot: Int, plus distance: Int) -> Int {
    let sum = slot &+ distance
    return sum >= table.count ? sum &- table.count : sum
  }

  /// Returns how far a slot is from the front; the inverse of `slot(at:)`.
  @inline(__always)
  public func index(of slot: Int) -> Int {
    slot >= head ? slot &- head : slot &- head &+ table.count
  }

  // MARK: At both ends

  /// Appends an element. There must be room: see `isFull`.
  @inline(__always)
  public mutating func append(_ element: Element) {
    precondition(count != table.count)
    unsafe table.address(ofValid: tail).pointee = element
    tail = slot(after: tail)
    count &+= 1
  }

  @inline(__always)
  public mutating func removeFirst() {
    precondition(count > 0)
    head = slot(after: head)
    count &-= 1
  }

  public mutating func removeLast() {
    precondition(count > 0)
    tail = slot(before: tail)
    count &-= 1
  }

  /// Removes the last element, so that the next one gets its slot.
  @inline(__always)
  public mutating func removeAll() {
    head = tail
    count = 0
  }

  /// Makes the ring what it was at first.
  public mutating func reset() {
    head = 0
    tail = 0
    count = 0
  }

  /// Moves the first element behind the last.
  public mutating func rotate() {
    precondition(count > 0)
    let element = self[head]
    removeFirst()
    append(element)
  }
}
