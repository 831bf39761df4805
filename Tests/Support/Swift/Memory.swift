public import Storage

/// Memory for parts of a session that are tested by themselves. It has to outlive them.
public final class Memory {
  private let size: Int
  private let start: UnsafeMutableRawPointer
  private var plan = ArenaLayout()

  public init(_ size: Int) {
    self.size = size
    start = .allocate(byteCount: size, alignment: ArenaLayout.alignment)
    start.initializeMemory(as: UInt8.self, repeating: 1, count: size)
  }

  deinit { start.deallocate() }

  public func table<Element: BitwiseCopyable>(_ count: Int, of type: Element.Type) -> Table<Element> {
    let place = plan.reserve(count, of: type)
    precondition(plan.byteCount <= size)
    return Arena(start: start).table(place)
  }

  public func region(_ count: Int) -> Region {
    let place = plan.reserve(count, of: UInt8.self)
    precondition(plan.byteCount <= size)
    return Arena(start: start).region(place)
  }
}
