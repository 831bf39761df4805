// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The rules of libmosquitto for topics. They are laxer than those of the specification and of MQTTWire: an
// empty topic is accepted, and so is one that is not UTF-8, and a Shared Subscription is a filter like any
// other.

import CMosquitto
import MQTTWire

@c public func mosquitto_pub_topic_check(_ topic: UnsafePointer<CChar>?) -> Int32 {
  guard let topic = unsafe topic else { return Int32(MOSQ_ERR_INVAL) }
  return unsafe status(isName(span(topic)))
}

@c public func mosquitto_pub_topic_check2(_ topic: UnsafePointer<CChar>?, _ size: Int) -> Int32 {
  guard let topic = unsafe topic, 0...UTF8EncodedString.maximumSize ~= size else {
    return Int32(MOSQ_ERR_INVAL)
  }
  return unsafe status(isName(span(UnsafeRawPointer(topic), size)))
}

@c public func mosquitto_sub_topic_check(_ topic: UnsafePointer<CChar>?) -> Int32 {
  guard let topic = unsafe topic else { return Int32(MOSQ_ERR_INVAL) }
  return unsafe status(isFilter(span(topic)))
}

@c public func mosquitto_sub_topic_check2(_ topic: UnsafePointer<CChar>?, _ size: Int) -> Int32 {
  guard let topic = unsafe topic, 0...UTF8EncodedString.maximumSize ~= size else {
    return Int32(MOSQ_ERR_INVAL)
  }
  return unsafe status(isFilter(span(UnsafeRawPointer(topic), size)))
}

@c public func mosquitto_topic_matches_sub(
  _ filter: UnsafePointer<CChar>?, _ topic: UnsafePointer<CChar>?, _ result: UnsafeMutablePointer<Bool>?
) -> Int32 {
  guard let result = unsafe result else { return Int32(MOSQ_ERR_INVAL) }
  unsafe result.pointee = false
  guard let filter = unsafe filter, let topic = unsafe topic, unsafe filter.pointee != 0,
    unsafe topic.pointee != 0
  else {
    return Int32(MOSQ_ERR_INVAL)
  }
  let comparison = unsafe compare(span(filter), span(topic))
  unsafe result.pointee = comparison == .match
  return status(comparison != .invalid)
}

/// As with libmosquitto, filter and topic end at their zero, whatever the sizes are.
@c public func mosquitto_topic_matches_sub2(
  _ filter: UnsafePointer<CChar>?, _ filterSize: Int, _ topic: UnsafePointer<CChar>?, _ topicSize: Int,
  _ result: UnsafeMutablePointer<Bool>?
) -> Int32 {
  unsafe mosquitto_topic_matches_sub(filter, topic, result)
}

private enum Comparison { case match, noMatch, invalid }

private var slash: UInt8 { UInt8(ascii: "/") }
private var plus: UInt8 { UInt8(ascii: "+") }
private var hash: UInt8 { UInt8(ascii: "#") }

private func status(_ isValid: Bool) -> Int32 { Int32(isValid ? MOSQ_ERR_SUCCESS : MOSQ_ERR_INVAL) }

private func isName(_ topic: Span<UInt8>) -> Bool {
  topic.count <= UTF8EncodedString.maximumSize && !hasWildcard(topic, from: 0)
}

private func isFilter(_ filter: Span<UInt8>) -> Bool {
  guard filter.count <= UTF8EncodedString.maximumSize else { return false }
  for index in 0..<filter.count {
    switch filter[index] {
    case plus: guard isAlone(filter, index) else { return false }
    case hash: guard isAlone(filter, index), index + 1 == filter.count else { return false }
    default: break
    }
  }
  return true
}

/// Compares filter and topic up to the first difference, and checks only what it has compared. So it depends
/// on the other whether an invalid filter or topic is refused or does not match.
private func compare(_ filter: Span<UInt8>, _ topic: Span<UInt8>) -> Comparison {
  // A filter that begins with a wildcard does not match topics that begin with $ [MQTT-4.7.2-1].
  guard (filter[0] == UInt8(ascii: "$")) == (topic[0] == UInt8(ascii: "$")) else { return .noMatch }
  var place = 0
  var index = 0
  while place < filter.count {
    let isAtEnd = index == topic.count
    guard isAtEnd || !isWildcard(topic[index]) else { return .invalid }
    switch filter[place] {
    case plus:
      guard isAlone(filter, place) else { return .invalid }
      place += 1
      while index < topic.count, topic[index] != slash {
        guard !isWildcard(topic[index]) else { return .invalid }
        index += 1
      }
    case hash:
      guard isAlone(filter, place), place + 1 == filter.count else { return .invalid }
      return hasWildcard(topic, from: index) ? .invalid : .match
    case let byte where !isAtEnd && byte == topic[index]:
      place += 1
      index += 1
    default:
      return isAtEnd ? compareWithNothing(filter, place) : compareWithOther(filter, place)
    }
  }
  guard !hasWildcard(topic, from: index) else { return .invalid }
  return index == topic.count ? .match : .noMatch
}

/// "/#" matches the level above it, too. Behind a '+', what follows it is not checked.
private func compareWithNothing(_ filter: Span<UInt8>, _ place: Int) -> Comparison {
  let rest = filter.count - place
  if rest >= 2, filter[place] == slash, filter[place + 1] == hash,
    rest == 2 || place > 0 && filter[place - 1] == plus
  {
    return .match
  }
  return compareWithOther(filter, place)
}

private func compareWithOther(_ filter: Span<UInt8>, _ place: Int) -> Comparison {
  for index in place..<filter.count where filter[index] == hash && index + 1 < filter.count {
    return .invalid
  }
  return .noMatch
}

/// Whether a wildcard is alone in its level. A zero in front of it counts as the beginning.
private func isAlone(_ filter: Span<UInt8>, _ index: Int) -> Bool {
  (index == 0 || filter[index - 1] == slash || filter[index - 1] == 0)
    && (index + 1 == filter.count || filter[index + 1] == slash)
}

private func isWildcard(_ byte: UInt8) -> Bool { byte == plus || byte == hash }

private func hasWildcard(_ topic: Span<UInt8>, from start: Int) -> Bool {
  for index in start..<topic.count where isWildcard(topic[index]) { return true }
  return false
}
