/// For each group of slots a lower bound of the numbers that belong to them, and for each group of groups
/// another: finds the slots with a small number without looking at all. With 65,535 slots that takes some 150
/// comparisons.
///
/// A bound is lowered with each number. Nothing raises it when a slot is no longer in use: who finds it too low
/// looks at the group and says what it is.
public struct SlotMinima: ~Copyable {
  /// Those of the groups, and behind them those of the groups of groups.
  private var bounds: Table<UInt32>
  /// How many of them are of groups of slots.
  private let groups: Int

  /// How many slots a group has, and how many groups one of those.
  public static var groupSize: Int { 64 }

  private static func groups(_ count: Int) -> Int { (count &+ groupSize &- 1) / groupSize }

  /// Returns how many bounds so many slots need.
  public static func boundCount(slots: Int) -> Int { groups(slots) &+ groups(groups(slots)) }

  public init(_ bounds: consuming Table<UInt32>, slots: Int) {
    self.bounds = bounds
    groups = Self.groups(slots)
    removeAll()
  }

  @_optimize(size)
  public mutating func removeAll() {
    for index in 0..<bounds.count { bounds[index] = .max }
  }

  /// No number is lower.
  public var least: UInt32 {
    var least = UInt32.max
    for index in groups..<bounds.count { least = min(least, bounds[index]) }
    return least
  }

  /// Records the number of a slot.
  @inline(never)
  public mutating func add(_ number: UInt32, at slot: Int) {
    let group = slot / Self.groupSize
    let above = groups &+ group / Self.groupSize
    bounds[group] = min(bounds[group], number)
    bounds[above] = min(bounds[above], number)
  }

  /// Sets the bound of a group whose slots have no number below `least`.
  @_optimize(size)
  public mutating func set(_ group: Int, _ least: UInt32) {
    bounds[group] = least
    let above = group / Self.groupSize
    var leastOfAll = UInt32.max
    let first = above &* Self.groupSize
    for group in first..<min(first &+ Self.groupSize, groups) { leastOfAll = min(leastOfAll, bounds[group]) }
    bounds[groups &+ above] = leastOfAll
  }

  /// Returns the first group, from one on, that may have a number of at most `limit`.
  @_optimize(size)
  public func group(from start: Int, atMost limit: UInt32) -> Int? {
    var group = start
    while group < groups {
      if bounds[groups &+ group / Self.groupSize] > limit {
        group = (group / Self.groupSize &+ 1) &* Self.groupSize
      } else if bounds[group] > limit {
        group &+= 1
      } else {
        return group
      }
    }
    return nil
  }
}
