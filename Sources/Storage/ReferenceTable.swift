/// Bytes that the program lends until it is told that they are its own again.
@safe public struct LentBytes: BitwiseCopyable {
  fileprivate let start: UnsafeRawPointer?
  public let count: Int

  /// The caller guarantees that `count` bytes at `start` stay as they are until the message that they belong
  /// to is complete, or the client is closed.
  @unsafe public init(start: UnsafeRawPointer?, count: Int) {
    unsafe self.start = start
    self.count = count
  }
}

/// The payloads that are not copied: where they are in the program's memory.
///
/// It is the one place with pointers of the program to what a message says. A message has the index of its
/// payload here, so the outbox could be written to a file.
public struct ReferenceTable: ~Copyable {
  public struct Entry: BitwiseCopyable {
    fileprivate var bytes: LentBytes
    /// Of a free entry, the next free one.
    fileprivate var next: Int
  }

  private var entries: Table<Entry>
  /// How many entries have ever been in use: those behind them are undefined.
  private var used = 0
  private var firstFree: Int? = nil

  public init(_ entries: consuming Table<Entry>) { self.entries = entries }

  public var capacity: Int { entries.count }

  /// Adds an entry and returns its index; `nil`: there is no room.
  public mutating func add(_ bytes: LentBytes) -> Int? {
    let entry = Entry(bytes: bytes, next: entries.count)
    if let index = firstFree {
      let next = entries[index].next
      firstFree = next < entries.count ? next : nil
      entries[index] = entry
      return index
    }
    guard used < entries.count else { return nil }
    entries[used] = entry
    used &+= 1
    return used &- 1
  }

  /// Frees an entry, which must be in use.
  public mutating func remove(_ index: Int) {
    entries[index] = Entry(bytes: unsafe LentBytes(start: nil, count: 0), next: firstFree ?? entries.count)
    firstFree = index
  }

  public func count(_ index: Int) -> Int { entries[index].bytes.count }

  /// Returns the last `count` bytes of an entry.
  @_lifetime(borrow self)
  public func last(_ count: Int, of index: Int) -> Span<UInt8> {
    let bytes = entries[index].bytes
    guard count > 0, count <= bytes.count, let start = unsafe bytes.start else { return Span() }
    let rest = unsafe (start + (bytes.count &- count)).assumingMemoryBound(to: UInt8.self)
    return unsafe _overrideLifetime(Span(_unsafeStart: rest, count: count), borrowing: self)
  }
}
