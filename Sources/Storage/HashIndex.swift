/// Finds the slots of a table by a hash. Its owner compares what it finds: slots with other hashes are among
/// them.
///
/// A table of at most `slotsWithout` slots has no index, and takes no memory for one. Then all of its slots are
/// found, whatever the hash, from the first to the last.
public struct HashIndex: ~Copyable {
  /// The first slot of each chain, and behind these, for each slot, the next one of its chain. There are as many
  /// chains as the power of two from the number of slots on, so a chain rarely has more than two slots. A slot is
  /// counted from 1 on; 0 ends a chain.
  private var links: Table<UInt16>

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
  public init(links: consuming Table<UInt16>) {
    self.links = links
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
    let chains = chains
    let chain = Int(truncatingIfNeeded: hash) & (chains &- 1)
    links[chains &+ slot] = links[chain]
    links[chain] = UInt16(truncatingIfNeeded: slot &+ 1)
  }

  /// Removes a slot that was added with this hash.
  @inline(never)
  @_optimize(size)
  public mutating func remove(_ slot: Int, _ hash: UInt32) {
    guard !isEmpty else { return }
    let chains = chains
    var index = Int(truncatingIfNeeded: hash) & (chains &- 1)
    while links[index] != 0 {
      let next = chains &+ Int(links[index]) &- 1
      if next == chains &+ slot {
        links[index] = links[next]
        return
      }
      index = next
    }
  }

  /// Returns the first slot that may have this hash; without an index, the first of `count` slots.
  @inline(never)
  @_optimize(size)
  public func first(_ hash: UInt32, of count: Int) -> Int? {
    isEmpty ? count > 0 ? 0 : nil : slot(at: Int(truncatingIfNeeded: hash) & (chains &- 1))
  }

  /// Returns the next slot that may have the hash of this one; without an index, the next of `count` slots.
  @inline(__always)
  public func next(_ slot: Int, of count: Int) -> Int? {
    isEmpty ? slot &+ 1 < count ? slot &+ 1 : nil : linked(slot)
  }

  @inline(never)
  @_optimize(size)
  private func linked(_ slot: Int) -> Int? { self.slot(at: chains &+ slot) }

  /// How many chains there are: the power of two from half of all links on.
  private var chains: Int {
    let half = UInt32(truncatingIfNeeded: (links.count &- 1) / 2)
    return Int(truncatingIfNeeded: UInt32.max >> half.leadingZeroBitCount) &+ 1
  }

  private func slot(at index: Int) -> Int? {
    links[index] == 0 ? nil : Int(links[index]) &- 1
  }
}
