/// The rules for Topic Filters (§4.7) and Shared Subscriptions (§4.8.2).
public enum TopicFilter {
  public enum Fault: Error {
    case empty  // [MQTT-4.7.3-1]
    case tooLong  // [MQTT-4.7.3-3]
    case utf8  // [MQTT-3.8.3-1], [MQTT-4.7.3-2]
    case multiLevelWildcard  // [MQTT-4.7.1-1]: '#' not last, or not alone in its level
    case singleLevelWildcard  // [MQTT-4.7.1-2]: '+' not alone in its level
    case shareName  // [MQTT-4.8.2-1], [MQTT-4.8.2-2]
  }

  /// Checks what the specification requires of a filter that is to be sent.
  public static func validate(_ filter: Span<UInt8>) throws(Fault) {
    guard filter.count > 0 else { throw .empty }
    guard filter.count <= UTF8EncodedString.maximumSize else { throw .tooLong }
    guard UTF8EncodedString.isValid(filter) else { throw .utf8 }
    let start = try skipShare(filter)
    guard start < filter.count else { throw .shareName }
    for index in start..<filter.count {
      let beginsLevel = index == start || filter[index - 1] == slash
      switch filter[index] {
      case plus:
        let endsLevel = index + 1 == filter.count || filter[index + 1] == slash
        guard beginsLevel && endsLevel else { throw .singleLevelWildcard }
      case hash:
        guard beginsLevel && index + 1 == filter.count else { throw .multiLevelWildcard }
      default: break
      }
    }
  }

  /// Returns whether a filter, which must be valid, has a wildcard.
  public static func hasWildcard(_ filter: Span<UInt8>) -> Bool {
    for index in 0..<filter.count where filter[index] == plus || filter[index] == hash { return true }
    return false
  }

  /// Returns whether it begins with `$share/`: a Shared Subscription.
  public static func isShared(_ filter: Span<UInt8>) -> Bool {
    let prefix: InlineArray<7, UInt8> = [0x24, 0x73, 0x68, 0x61, 0x72, 0x65, slash]
    guard filter.count >= 7 else { return false }
    for index in 0..<7 where filter[index] != prefix[index] { return false }
    return true
  }

  /// Returns whether a Topic Name matches the filter (§4.7.1, §4.7.2). Both must be valid. The share name
  /// of a Shared Subscription is ignored.
  @inline(never)
  public static func matches(_ filter: Span<UInt8>, topic: Span<UInt8>) -> Bool {
    guard topic.count > 0, filter.count > 0 else { return false }
    guard var position = try? skipShare(filter), position < filter.count else { return false }
    // A wildcard at the beginning does not match the topics that servers keep for themselves
    // [MQTT-4.7.2-1].
    let isReserved = topic[0] == UInt8(ascii: "$")
    if isReserved, filter[position] == plus || filter[position] == hash { return false }

    var index = 0
    while position < filter.count {
      switch filter[position] {
      case hash:
        return true
      case plus:
        while index < topic.count, topic[index] != slash { index += 1 }
        position += 1
      default:
        guard index < topic.count, topic[index] == filter[position] else {
          // "a/#" also matches "a", the level above the wildcard.
          return index == topic.count && position + 2 == filter.count && filter[position] == slash
            && filter[position + 1] == hash
        }
        index += 1
        position += 1
      }
    }
    return index == topic.count
  }

  /// Returns where the filter itself begins in a filter that is valid: behind `$share/name/`, or at 0.
  public static func start(_ filter: Span<UInt8>) -> Int { (try? skipShare(filter)) ?? 0 }

  /// Returns the same, or throws what is wrong with the share name.
  private static func skipShare(_ filter: Span<UInt8>) throws(Fault) -> Int {
    guard isShared(filter) else { return 0 }
    var index = 7
    while index < filter.count, filter[index] != slash {
      guard filter[index] != plus, filter[index] != hash else { throw .shareName }
      index += 1
    }
    // A name that is not empty, a slash, and a filter that is not empty.
    guard index > 7, index < filter.count else { throw .shareName }
    return index + 1
  }

  static var slash: UInt8 { UInt8(ascii: "/") }
  static var plus: UInt8 { UInt8(ascii: "+") }
  static var hash: UInt8 { UInt8(ascii: "#") }
}
