import CMosquitto

/// A list whose elements are allocated one by one, because libmosquitto has no limit that could be reserved
/// beforehand. What an element owns is not freed with it.
@safe struct LinkedList<Element: BitwiseCopyable> {
  @safe fileprivate struct Node: BitwiseCopyable {
    var next: UnsafeMutablePointer<Node>?
    var element: Element
  }

  // Nobody but the list has pointers to its nodes, which live until their element is removed.
  private var start: UnsafeMutablePointer<Node>? = nil
  private var end: UnsafeMutablePointer<Node>? = nil
  private(set) var count = 0

  static var bytesOfNode: Int { MemoryLayout<Node>.size }

  var isEmpty: Bool { count == 0 }

  var first: Element? { unsafe start?.pointee.element }

  /// False: there is no memory.
  mutating func append(_ element: Element) -> Bool {
    guard let memory = unsafe shim_allocate(MemoryLayout<Node>.size) else { return false }
    let node = unsafe memory.bindMemory(to: Node.self, capacity: 1)
    unsafe node.initialize(to: Node(next: nil, element: element))
    if let last = unsafe end { unsafe last.pointee.next = unsafe node } else { unsafe start = unsafe node }
    unsafe end = unsafe node
    count &+= 1
    return true
  }

  mutating func removeFirst() -> Element? { removeFirst { _ in true } }

  /// Removes the first element of which this is true.
  mutating func removeFirst(where isWanted: (Element) -> Bool) -> Element? {
    var before: UnsafeMutablePointer<Node>? = nil
    var next = unsafe start
    while let node = unsafe next {
      let element = unsafe node.pointee.element
      unsafe next = unsafe node.pointee.next
      if isWanted(element) {
        if let before = unsafe before {
          unsafe before.pointee.next = unsafe next
        } else {
          unsafe start = unsafe next
        }
        if unsafe next == nil { unsafe end = unsafe before }
        count &-= 1
        unsafe shim_free(node)
        return element
      }
      unsafe before = unsafe node
    }
    return nil
  }

  func first(where isWanted: (Element) -> Bool) -> Element? {
    var rest = elements
    while let element = rest.next() {
      if isWanted(element) { return element }
    }
    return nil
  }

  /// Replaces the first element of which this is true. False: there is none.
  mutating func replaceFirst(with new: Element, where isWanted: (Element) -> Bool) -> Bool {
    var next = unsafe start
    while let node = unsafe next {
      if unsafe isWanted(node.pointee.element) {
        unsafe node.pointee.element = new
        return true
      }
      unsafe next = unsafe node.pointee.next
    }
    return false
  }

  var elements: Iterator { unsafe Iterator(start) }

  /// It is valid as long as the list does not change. A Sequence could make an array, which allocates.
  @safe struct Iterator {
    private var node: UnsafeMutablePointer<Node>?

    fileprivate init(_ node: UnsafeMutablePointer<Node>?) { unsafe self.node = unsafe node }

    mutating func next() -> Element? {
      guard let node = unsafe node else { return nil }
      unsafe self.node = unsafe node.pointee.next
      return unsafe node.pointee.element
    }
  }
}
