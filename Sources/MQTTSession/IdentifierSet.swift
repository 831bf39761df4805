import FixedMemory
import MQTTWire

/// A set of Packet Identifiers, each with one mark: open addressing, never more than half full.
struct IdentifierSet: ~Copyable {
  /// 0: free. Else the identifier, and the mark above it.
  private var slots: Table<UInt32>
  private(set) var count = 0
  private(set) var markedCount = 0
  /// How many are not in the slot where they belong, as it was taken.
  private var displaced = 0

  private static var mark: UInt32 { 0x1_0000 }

  /// How many slots hold `count` identifiers: a power of two.
  static func slotCount(for count: Int) -> Int {
    var slots = 4
    while slots < 2 * min(count, 65_535) { slots *= 2 }
    return slots
  }

  init(slots: consuming Table<UInt32>) {
    self.slots = slots
    clear()
  }

  /// So many that one more would make it slow, or be lost.
  var isFull: Bool { count >= slots.count / 2 }

  func contains(_ identifier: PacketIdentifier) -> Bool { slots[find(identifier)] != 0 }

  func isMarked(_ identifier: PacketIdentifier) -> Bool { slots[find(identifier)] & Self.mark != 0 }

  /// Adds an identifier, or marks one that is there. When the set is full, one without a mark makes room.
  mutating func insert(_ identifier: PacketIdentifier) {
    if count == slots.count / 2, !contains(identifier) { removeUnmarked(near: identifier) }
    let slot = find(identifier)
    if slots[slot] == 0 {
      count &+= 1
      if slot != home(UInt32(identifier.rawValue)) { displaced &+= 1 }
    }
    if slots[slot] & Self.mark == 0 { markedCount &+= 1 }
    slots[slot] = UInt32(identifier.rawValue) | Self.mark
  }

  /// False: it was not there.
  mutating func remove(_ identifier: PacketIdentifier) -> Bool {
    var gap = find(identifier)
    guard slots[gap] != 0 else { return false }
    count &-= 1
    if slots[gap] & Self.mark != 0 { markedCount &-= 1 }
    if gap != home(UInt32(identifier.rawValue)) { displaced &-= 1 }
    if displaced > 0 { gap = closed(gap) }
    slots[gap] = 0
    return true
  }

  /// What was put further on because a slot was taken moves up. Returns where the gap is then.
  private mutating func closed(_ gap: Int) -> Int {
    var gap = gap
    var next = after(gap)
    while slots[next] != 0 {
      let home = home(slots[next])
      if (next &- home) & mask >= (next &- gap) & mask {
        slots[gap] = slots[next]
        if gap == home { displaced &-= 1 }
        gap = next
      }
      next = after(next)
    }
    return gap
  }

  private mutating func removeUnmarked(near identifier: PacketIdentifier) {
    var slot = home(UInt32(identifier.rawValue))
    for _ in 0..<slots.count {
      let entry = slots[slot]
      if entry & Self.mark == 0, let unmarked = PacketIdentifier(UInt16(truncatingIfNeeded: entry)) {
        _ = remove(unmarked)
        return
      }
      slot = after(slot)
    }
  }

  mutating func removeMarks() {
    guard markedCount > 0 else { return }
    for slot in 0..<slots.count { slots[slot] &= Self.mark &- 1 }
    markedCount = 0
  }

  mutating func removeAll() {
    guard count > 0 else { return }
    clear()
    displaced = 0
    count = 0
    markedCount = 0
  }

  private mutating func clear() {
    for slot in 0..<slots.count { slots[slot] = 0 }
  }

  /// The slot an identifier is in, or the free one where it belongs.
  private func find(_ identifier: PacketIdentifier) -> Int {
    let wanted = UInt32(identifier.rawValue)
    var slot = home(wanted)
    while slots[slot] != 0, slots[slot] & (Self.mark &- 1) != wanted { slot = after(slot) }
    return slot
  }

  private var mask: Int { slots.count &- 1 }

  private func after(_ slot: Int) -> Int { (slot &+ 1) & mask }

  /// Servers count upwards: consecutive identifiers lie side by side.
  private func home(_ entry: UInt32) -> Int { Int(truncatingIfNeeded: entry & (Self.mark &- 1)) & mask }
}
