/// A set of identifiers from 1 to 65,535. It never holds more than `maximum`, so every search in it ends.
///
/// A small set is a hash table with open addressing that is at most half full, and each identifier has a
/// mark: this takes 32 bits a slot. From 513 identifiers on a bitmap of all 65,535 identifiers takes no
/// more, so it is used instead. It has no marks, because they only say what may be removed when there is no
/// room.
public struct IdentifierSet: ~Copyable {
  /// In a hash table: 0 is free; otherwise the identifier, and the mark above it. In a bitmap: the bits of
  /// 32 identifiers.
  private var slots: Table<UInt32>
  private var identifiers: UInt16 = 0 {
    didSet { changes &+= 1 }
  }
  /// Counts what was added and removed; wraps.
  public private(set) var changes: UInt32 = 0
  private(set) var marked: UInt16 = 0
  /// How many are not in the slot where they belong, because it was taken.
  private var displaced: UInt16 = 0

  private static var mark: UInt32 { 0x1_0000 }
  private static var mapSlots: Int { 65_536 / 32 }

  /// Returns how many slots `count` identifiers need: a power of two.
  public static func slotCount(for count: Int) -> Int {
    var slots = 4
    while slots < 2 * count, slots < mapSlots { slots *= 2 }
    return slots
  }

  public init(slots: consuming Table<UInt32>) {
    self.slots = slots
    clear()
  }

  public var count: Int { Int(identifiers) }

  /// How many identifiers there is room for.
  public var maximum: Int { isMap ? 65_535 : slots.count / 2 }

  public var isFull: Bool { count >= maximum }

  public func contains(_ identifier: UInt16) -> Bool {
    if isMap { return slots[word(identifier)] & bit(identifier) != 0 }
    return slots[find(identifier)] != 0
  }

  public func isMarked(_ identifier: UInt16) -> Bool {
    !isMap && slots[find(identifier)] & Self.mark != 0
  }

  /// Adds an identifier with a mark, or marks one that is there. Returns false, and changes nothing, if
  /// there is no room.
  public mutating func insert(_ identifier: UInt16) -> Bool {
    isMap ? insertIntoMap(identifier) : insertIntoHashTable(identifier)
  }

  /// Adds an identifier without a mark. One that is there stays as it is.
  @inline(never)
  @_optimize(size)
  public mutating func insertUnmarked(_ identifier: UInt16) {
    guard !contains(identifier), insert(identifier), !isMap else { return }
    slots[find(identifier)] &= ~Self.mark
    marked &-= 1
  }

  /// Removes an identifier. Returns false if it was not there.
  public mutating func remove(_ identifier: UInt16) -> Bool {
    isMap ? removeFromMap(identifier) : removeFromHashTable(identifier)
  }

  /// Removes the identifiers without a mark. In a bitmap there is room for all.
  public mutating func removeUnmarked() {
    guard !isMap, identifiers > marked else { return }
    for slot in 0..<slots.count {
      // The identifier that moves up into the gap has to be checked, too.
      while slots[slot] != 0, slots[slot] & Self.mark == 0 {
        guard removeFromHashTable(UInt16(truncatingIfNeeded: slots[slot])) else { break }
      }
    }
  }

  public mutating func removeMarks() {
    guard marked > 0 else { return }
    for slot in 0..<slots.count { slots[slot] &= Self.mark &- 1 }
    marked = 0
  }

  @inline(never)
  @_optimize(size)
  public mutating func removeAll() {
    guard identifiers > 0 else { return }
    clear()
    displaced = 0
    identifiers = 0
    marked = 0
  }

  private mutating func clear() {
    for slot in 0..<slots.count { slots[slot] = 0 }
  }

  // MARK: All of them

  /// Returns an identifier, and moves `cursor` on, which begins at 0; `nil`: there are no more. Their order is any.
  public func next(after cursor: inout Int) -> UInt16? {
    if isMap {
      while cursor < 65_535 {
        cursor &+= 1
        let identifier = UInt16(truncatingIfNeeded: cursor)
        if contains(identifier) { return identifier }
      }
      return nil
    }
    while cursor < slots.count {
      let entry = slots[cursor]
      cursor &+= 1
      if entry != 0 { return UInt16(truncatingIfNeeded: entry) }
    }
    return nil
  }

  // MARK: The map

  private var isMap: Bool { slots.count == Self.mapSlots }

  private func word(_ identifier: UInt16) -> Int {
    Int(truncatingIfNeeded: identifier >> 5)
  }

  private func bit(_ identifier: UInt16) -> UInt32 {
    1 << UInt32(identifier & 31)
  }

  private mutating func insertIntoMap(_ identifier: UInt16) -> Bool {
    let word = word(identifier)
    let bit = bit(identifier)
    if slots[word] & bit == 0 { identifiers &+= 1 }
    slots[word] |= bit
    return true
  }

  private mutating func removeFromMap(_ identifier: UInt16) -> Bool {
    let word = word(identifier)
    let bit = bit(identifier)
    guard slots[word] & bit != 0 else { return false }
    identifiers &-= 1
    slots[word] &= ~bit
    return true
  }

  // MARK: The hash table

  private mutating func insertIntoHashTable(_ identifier: UInt16) -> Bool {
    let slot = find(identifier)
    let entry = slots[slot]
    if entry == 0 {
      guard !isFull else { return false }
      identifiers &+= 1
      if slot != home(UInt32(identifier)) { displaced &+= 1 }
    }
    if entry & Self.mark == 0 { marked &+= 1 }
    slots[slot] = UInt32(identifier) | Self.mark
    return true
  }

  private mutating func removeFromHashTable(_ identifier: UInt16) -> Bool {
    var gap = find(identifier)
    guard slots[gap] != 0 else { return false }
    identifiers &-= 1
    if slots[gap] & Self.mark != 0 { marked &-= 1 }
    if gap != home(UInt32(identifier)) { displaced &-= 1 }
    if displaced > 0 { gap = closed(gap) }
    slots[gap] = 0
    return true
  }

  /// Returns the slot that an identifier is in, or the free one where it belongs. There is always one,
  /// because half of them are free.
  @inline(__always)
  private func find(_ identifier: UInt16) -> Int {
    let wanted = UInt32(identifier)
    let slot = home(wanted)
    let entry = slots[slot]
    return entry == 0 || entry & (Self.mark &- 1) == wanted ? slot : findFurther(wanted, from: slot)
  }

  @inline(never)
  private func findFurther(_ wanted: UInt32, from home: Int) -> Int {
    var slot = home
    for _ in 0..<slots.count {
      if slots[slot] == 0 || slots[slot] & (Self.mark &- 1) == wanted { break }
      slot = after(slot)
    }
    return slot
  }

  /// Moves up an identifier that was put further on because its slot was taken. Returns where the gap is
  /// then.
  private mutating func closed(_ gap: Int) -> Int {
    var gap = gap
    var next = after(gap)
    for _ in 0..<slots.count {
      if slots[next] == 0 { break }
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

  private var mask: Int { slots.count &- 1 }

  private func after(_ slot: Int) -> Int { (slot &+ 1) & mask }

  /// Servers count upwards, so consecutive identifiers are side by side.
  private func home(_ entry: UInt32) -> Int { Int(truncatingIfNeeded: entry & (Self.mark &- 1)) & mask }
}
