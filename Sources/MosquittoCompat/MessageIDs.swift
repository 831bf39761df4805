import MQTTClient
import MQTTWire
import Storage

/// A message id, from 1 to 65,535 and again from 1, with the count of ids that were assigned by then.
struct Mid: BitwiseCopyable {
  static var all: UInt32 { 65_535 }

  let count: UInt32

  var mid: UInt16 { UInt16(truncatingIfNeeded: (count &- 1) % Self.all &+ 1) }

  /// All have been assigned since that one.
  func isRound(since older: UInt32) -> Bool { count &- older >= Self.all }

  /// 2 to the power of 32 is one more than a multiple of 65,535.
  var following: Mid { Mid(count: count == .max ? 1 : count &+ 1) }
}

/// What a cookie of the core's says: the message id, above it what it is the id of, and of a message whether
/// it is QoS 2. The upper half is the count of ids by then. Nothing is shifted: `1 << 16` widens the 16,
/// which the compiler takes for an allocation on armv7.
enum Cookie {
  static var publish: UInt64 { 0 }
  static var subscribe: UInt64 { 0x1_0000 }
  static var unsubscribe: UInt64 { 0x2_0000 }
  static var exactlyOnce: UInt64 { 0x4_0000 }

  static func of(_ mid: Mid) -> UInt64 { Counter(low: UInt32(mid.mid), high: mid.count).uint64 }

  static func mid(_ cookie: UInt64) -> Int32 { Int32(truncatingIfNeeded: cookie & 0xFFFF) }
  static func kind(_ cookie: UInt64) -> UInt64 { cookie & 0x3_0000 }
  static func isExactlyOnce(_ cookie: UInt64) -> Bool { cookie & exactlyOnce != 0 }
}

extension Mosquitto.Locked {
  /// The next message id, which is the Packet Identifier on the wire. A function that assigns it sets
  /// `midCount`.
  var nextMid: Mid {
    var next = Mid(count: state.midCount).following
    for _ in 0..<Mid.all {
      guard isInUse(&next) else { break }
      next = next.following
    }
    return next
  }

  /// Whether something that is queued, or not acknowledged, has this message id. `mid` may move on past
  /// others in use.
  private func isInUse(_ mid: inout Mid) -> Bool {
    if let identifier = PacketIdentifier(mid.mid), hasClient, client.isIdentifierInUse(identifier, mid.count)
    {
      return true
    }
    return isBeforeConnect(&mid) || isQueuedSubscription(mid)
  }

  /// The messages are in the order of their ids: nothing is searched before the ids have come round since the
  /// first. Those behind the one that has this id mostly have the next ones.
  private func isBeforeConnect(_ mid: inout Mid) -> Bool {
    guard let first = state.messagesBeforeConnect.first, mid.isRound(since: first.mid.count) else {
      return false
    }
    var isFound = false
    var rest = state.messagesBeforeConnect.elements
    while let message = rest.next() {
      let isAcknowledged = message.qos != .atMostOnce
      if !isFound {
        isFound = isAcknowledged && message.mid.mid == mid.mid
      } else if isAcknowledged, message.mid.mid == mid.following.mid {
        mid = mid.following
      } else {
        break
      }
    }
    return isFound
  }

  private func isQueuedSubscription(_ mid: Mid) -> Bool {
    guard let first = state.queuedSubscriptions.first, mid.isRound(since: Counter.high(first.cookie)) else {
      return false
    }
    return state.queuedSubscriptions.first { Cookie.mid($0.cookie) == Int32(mid.mid) } != nil
  }
}
