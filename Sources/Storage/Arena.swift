/// The layout of the caller's block, which is planned before there is a block.
///
/// `smq_client_size` and `smq_client_init` make the same layout, so that they cannot disagree.
public struct ArenaLayout {
  /// The alignment of the whole block, and the largest of any slice.
  public static var alignment: Int { 8 }

  /// How many bytes the block needs.
  public private(set) var byteCount = 0

  public init() {}

  #if SWIFTMQTT_POISON
    /// The bytes behind each slice that nothing uses, so that the address sanitizer sees an access beyond
    /// its end.
    private static var gap: Int { poisonedSize }
  #else
    @inline(__always)
    private static var gap: Int { 0 }
  #endif

  /// Reserves a slice of `count` elements.
  public mutating func reserve<Element>(_ count: Int, of type: Element.Type) -> ArenaSlice<Element>
  where Element: ~Copyable {
    precondition(MemoryLayout<Element>.alignment <= Self.alignment)
    let mask = MemoryLayout<Element>.alignment - 1
    let offset = (byteCount + mask) & ~mask
    byteCount = offset + MemoryLayout<Element>.stride * count + Self.gap
    return ArenaSlice(offset: offset, count: count)
  }
}

/// A reserved slice: `count` elements, `offset` bytes into the block.
public struct ArenaSlice<Element: ~Copyable>: BitwiseCopyable {
  public let offset: Int
  public let count: Int
}

/// The caller's block, which is divided according to a layout.
@safe public struct Arena: ~Copyable {
  private let start: UnsafeMutableRawPointer

  /// The caller guarantees `byteCount` bytes of the layout at `start`, aligned to `ArenaLayout.alignment`,
  /// as long as a part of the block is in use.
  @unsafe public init(start: UnsafeMutableRawPointer) {
    unsafe self.start = start
  }

  public func region(_ slice: ArenaSlice<UInt8>) -> Region {
    markEnd(of: slice)
    return unsafe Region(start: start + slice.offset, count: slice.count)
  }

  public func table<Element: BitwiseCopyable>(_ slice: ArenaSlice<Element>) -> Table<Element> {
    markEnd(of: slice)
    return unsafe Table(start: start + slice.offset, count: slice.count)
  }

  /// Returns the start of a slice that is neither a region nor a table: its elements cannot be copied, or
  /// several threads use them.
  @unsafe public func start<Element: ~Copyable>(of slice: ArenaSlice<Element>) -> UnsafeMutablePointer<
    Element
  > {
    markEnd(of: slice)
    return unsafe (start + slice.offset).bindMemory(to: Element.self, capacity: slice.count)
  }

  /// Marks the end of a slice for the address sanitizer.
  @inline(__always)
  private func markEnd<Element: ~Copyable>(of slice: ArenaSlice<Element>) {
    #if SWIFTMQTT_POISON
      unsafe poison(start + slice.offset + MemoryLayout<Element>.stride * slice.count, poisonedSize)
    #endif
  }
}

#if SWIFTMQTT_POISON
  // Only the build that is fuzzed (Tests/Fuzz) has this. A test that frees the block or uses it anew makes it
  // readable again.

  private var poisonedSize: Int { 32 }

  @_silgen_name("__asan_poison_memory_region")
  private func poison(_ start: UnsafeMutableRawPointer, _ size: Int)
#endif
