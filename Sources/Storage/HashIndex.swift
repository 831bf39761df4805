/// Finds the slots of a table by a hash. Its owner compares what it finds: slots with other hashes are among
/// them.
///
/// A table of at most `slotsWithout` slots has no index, and takes no memory for one. Then all of its slots are
/// found, whatever the hash, from the first to the last.
public struct HashIndex: ~Copyable {
  /// For each slot the next one of its chain, and behind these the first one of each chain. There are as many
  /// chains as the next power of two, so a chain rarely has more than two slots. A slot is counted from 1 on;
  /// 0 ends a chain.
  private var links: Table<UInt16>
  private let count: Int

  /// The largest table without an index.
  public static var slotsWithout: Int { 16 }

  /// Returns how many links a table of `count` slots needs: `count` is at most 65,535.
  @inline(__always)
  public static func linkCount(for count: Int, without: Int = slotsWithout) -> Int {
    count > without ? linkCount(indexed: count) : 0
  }

  @inline(never)
  @_optimize(size)
  private static func linkCount(indexed count: Int) -> Int {
    var chains = 1
    while chains < count { chains &*= 2 }
    return count &+ chains
  }

  @inline(__always)
  public init(links: consuming Table<UInt16>, count: Int) {
    self.links = links
    self.count = count
    removeAll()
  }

  /// Whether there is no index.
  public var isEmpty: Bool {
    @inline(__always) get { links.count == 0 }
  }

  @inline(__always)
  public mutating func removeAll() { links.clear() }

  /// Adds a slot, which must not be in the index.
  @inline(never)
  @_optimize(size)
  public mutating func insert(_ slot: Int, _ hash: UInt32) {
    guard !isEmpty else { return }
    let chain = chain(hash)
    links[slot] = links[chain]
    links[chain] = UInt16(truncatingIfNeeded: slot &+ 1)
  }

  /// Removes a slot that was added with this hash.
  @inline(never)
  @_optimize(size)
  public mutating func remove(_ slot: Int, _ hash: UInt32) {
    guard !isEmpty else { return }
    var index = chain(hash)
    while links[index] != 0 {
      let next = Int(links[index]) &- 1
      if next == slot {
        links[index] = links[slot]
        return
      }
      index = next
    }
  }

  /// Returns the first slot that may have this hash.
  @inline(never)
  @_optimize(size)
  public func first(_ hash: UInt32) -> Int? {
    isEmpty ? count > 0 ? 0 : nil : slot(at: chain(hash))
  }

  /// Returns the next slot that may have the hash of this one.
  @inline(__always)
  public func next(_ slot: Int) -> Int? {
    isEmpty ? slot &+ 1 < count ? slot &+ 1 : nil : linked(slot)
  }

  @inline(never)
  @_optimize(size)
  private func linked(_ slot: Int) -> Int? { self.slot(at: slot) }

  private func chain(_ hash: UInt32) -> Int {
    let chains = links.count &- count
    return count &+ (Int(truncatingIfNeeded: hash) & (chains &- 1))
  }

  private func slot(at index: Int) -> Int? {
    links[index] == 0 ? nil : Int(links[index]) &- 1
  }
}
