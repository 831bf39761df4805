public import Storage

/// Which levels of a Topic Filter are wildcards. With the levels of a Topic Name in the place of the others,
/// a shape gives the text of the only filter of that shape that may match the name.
///
/// Filters without wildcards have the same shape, whatever their number of levels; and so have "a/+" and
/// "b/+/c", because the name has the levels behind the last wildcard.
public struct FilterShape: BitwiseCopyable, Equatable {
  /// From the lowest bit on, whether a level is '+'; in the highest six, the level of '#' and 1, or 0 if there
  /// is none.
  private var bits: UInt32 = 0

  private static var plusLevels: UInt32 { 26 }

  /// `nil`: a '+' is behind 26 levels, or '#' behind 63. The filter must be valid, and have no share name.
  @inline(never)
  @_optimize(size)
  public init?(_ filter: Span<UInt8>) {
    var level: UInt32 = 0
    for index in 0..<filter.count {
      switch filter[index] {
      case TopicFilter.slash: level &+= 1
      case TopicFilter.plus:
        guard level < Self.plusLevels else { return nil }
        bits |= 1 << level
      case TopicFilter.hash:
        guard level < 63 else { return nil }
        bits |= (level &+ 1) << Self.plusLevels
      default: break
      }
    }
  }

  /// Returns the hash of the filter that may match a Topic Name.
  @inline(never)
  @_optimize(size)
  public func hash(_ topic: Span<UInt8>) -> UInt32 {
    var hash = TopicHash()
    var level: UInt32 = 0
    var index = 0
    // Without '#' it is never reached.
    let multiLevel = bits >> Self.plusLevels &- 1
    while level != multiLevel {
      let isPlus = level < Self.plusLevels && bits >> level & 1 != 0
      if isPlus { hash.add(TopicFilter.plus) }
      while index < topic.count, topic[index] != TopicFilter.slash {
        if !isPlus { hash.add(topic[index]) }
        index &+= 1
      }
      // "a/#" also matches "a", the level above the wildcard.
      if index == topic.count, level &+ 1 != multiLevel { return hash.value }
      hash.add(TopicFilter.slash)
      index = min(index &+ 1, topic.count)
      level &+= 1
    }
    hash.add(TopicFilter.hash)
    return hash.value
  }
}
