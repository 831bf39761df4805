/// The one word that all threads of a `MPSCQueue` change: the newest item of the chain; whether the owner
/// was woken up for this chain; and the number of the chain, which counts how often the owner has
/// collected, and wraps.
public struct ChainEnd: BitwiseCopyable {
  private static var itemBits: UInt { 0x1_FFFF }
  private static var wokenBit: UInt { 0x2_0000 }
  private static var chainBits: UInt { ~(itemBits | wokenBit) }

  let word: UInt

  init(word: UInt) { self.word = word }

  /// A slot plus one, 65,536 at the most; 0: the chain is empty.
  var newest: UInt32 { UInt32(truncatingIfNeeded: word & Self.itemBits) }

  /// A thread that finds it set must wake the owner up for the item that it adds. A thread that finds the
  /// chain empty must do so whatever the word says: that each item comes out depends on nothing more.
  var needsWakeUp: Bool { newest == 0 || word & Self.wokenBit == 0 }

  func isOfSameChain(as other: ChainEnd) -> Bool { (word ^ other.word) & Self.chainBits == 0 }

  func putting(_ item: UInt32) -> ChainEnd {
    ChainEnd(word: word & ~Self.itemBits | UInt(truncatingIfNeeded: item))
  }

  var woken: ChainEnd { ChainEnd(word: word | Self.wokenBit) }

  /// The next chain, which is empty.
  var collected: ChainEnd { ChainEnd(word: (word | ~Self.chainBits) &+ 1) }
}
