/// A fixed number of elements in the caller's block.
///
/// Elements are undefined until they are written: the owner of the table writes a slot before it reads it.
@safe public struct Table<Element: BitwiseCopyable>: ~Copyable {
  private let start: UnsafeMutablePointer<Element>
  public let count: Int

  /// The caller guarantees room for `count` aligned elements at `start` that nothing else uses.
  @unsafe init(start: UnsafeMutableRawPointer, count: Int) {
    unsafe self.start = start.bindMemory(to: Element.self, capacity: count)
    self.count = count
  }

  /// Fills all elements with zeros, which must be a value of each of their fields.
  @inline(__always)
  public mutating func clear() {
    guard count > 0 else { return }
    unsafe UnsafeMutableRawPointer(start).initializeMemory(
      as: UInt8.self, repeating: 0, count: count &* MemoryLayout<Element>.stride)
  }

  /// It is accessed in place, so that changing one field of an element does not copy the rest.
  public subscript(slot: Int) -> Element {
    @inline(__always) unsafeAddress { unsafe UnsafePointer(address(of: slot)) }
    @inline(__always) unsafeMutableAddress { unsafe address(of: slot) }
  }

  @inline(__always)
  @unsafe func address(of slot: Int) -> UnsafeMutablePointer<Element> {
    precondition(UInt(bitPattern: slot) < UInt(bitPattern: count))
    return unsafe start + slot
  }

  /// The caller guarantees that there is such a slot.
  @inline(__always)
  @unsafe func address(ofValid slot: Int) -> UnsafeMutablePointer<Element> {
    assert(UInt(bitPattern: slot) < UInt(bitPattern: count))
    return unsafe start + slot
  }
}
