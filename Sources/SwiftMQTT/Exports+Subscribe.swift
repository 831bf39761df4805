// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapter 7: subscriptions.

public import CSwiftMQTT
import MQTTClient
import MQTTSession
import MQTTWire
import Storage

@c @implementation
public func smq_subscribe(
  _ client: OpaquePointer?, _ subscriptions: UnsafePointer<smq_subscriptions>?
) -> Int32 {
  unsafe changeSubscriptions(.subscribe, client, subscriptions)
}

@c @implementation
public func smq_unsubscribe(
  _ client: OpaquePointer?, _ subscriptions: UnsafePointer<smq_subscriptions>?
) -> Int32 {
  unsafe changeSubscriptions(.unsubscribe, client, subscriptions)
}

@c @implementation
public func smq_subscribe_to(
  _ client: OpaquePointer?, _ filter: UnsafePointer<CChar>?, _ qos: UInt32, _ cookie: UInt64
) -> Int32 {
  unsafe changeSubscriptions(.subscribe, client, filter, qos, cookie)
}

@c @implementation
public func smq_unsubscribe_from(
  _ client: OpaquePointer?, _ filter: UnsafePointer<CChar>?, _ cookie: UInt64
) -> Int32 {
  unsafe changeSubscriptions(.unsubscribe, client, filter, 0, cookie)
}

/// Handles one Topic Filter. It calls the exported function: a third call of the generic one would
/// take 110 bytes more.
@inline(never)
private func changeSubscriptions(
  _ type: ControlPacketType, _ client: OpaquePointer?, _ filter: UnsafePointer<CChar>?, _ qos: UInt32,
  _ cookie: UInt64
) -> Int32 {
  guard let filter = unsafe filter else { return Status.null.rawValue }
  var subscription = unsafe smq_subscription()
  unsafe subscription.filter = smq_string(filter)
  // A larger value is wrong, and stays wrong when it is clamped.
  unsafe subscription.qos = UInt8(clamping: qos)
  return unsafe withUnsafePointer(to: subscription) { first in
    var subscriptions = unsafe smq_subscriptions()
    unsafe subscriptions.size = UInt32(MemoryLayout<smq_subscriptions>.size)
    unsafe subscriptions.count = 1
    unsafe subscriptions.list = first
    unsafe subscriptions.cookie = cookie
    return unsafe type == .subscribe
      ? smq_subscribe(client, &subscriptions) : smq_unsubscribe(client, &subscriptions)
  }
}

private func changeSubscriptions(
  _ type: ControlPacketType, _ client: OpaquePointer?,
  _ subscriptions: UnsafePointer<smq_subscriptions>?
) -> Int32 {
  status { () throws(Status) in
    guard let subscriptions = unsafe subscriptions else { throw .null }
    let slot = try unsafe slot(client)
    try unsafe checkSize(
      subscriptions, subscriptions.pointee.size, known: MemoryLayout<smq_subscriptions>.size)
    guard unsafe subscriptions.pointee.reserved == 0 else { throw .structSize }
    let count = unsafe subscriptions.pointee.count
    let identifier = unsafe subscriptions.pointee.identifier
    guard count >= 1, count <= 65_535, identifier <= UInt32(VariableByteInteger.maximum),
      identifier == 0 || type == .subscribe
    else { throw .option }
    guard let first = unsafe subscriptions.pointee.list else { throw .null }
    let list = unsafe CallersList(first: first, count: Int(count))
    try list.check(type)
    let properties = try unsafe span(subscriptions.pointee.properties)
    do throws(SessionError) {
      let cookie = unsafe subscriptions.pointee.cookie
      if type == .subscribe {
        try unsafe slot.pointee.client.subscribe(
          list, properties: properties, identifier: identifier, cookie: cookie)
      } else {
        try unsafe slot.pointee.client.unsubscribe(list, properties: properties, cookie: cookie)
      }
    } catch {
      throw Status(error)
    }
    return Status.ok.rawValue
  }
}

/// The caller's array of `smq_subscription`, which lasts as long as the call it came with.
@safe private struct CallersList: SubscriptionList, BitwiseCopyable {
  private let first: UnsafePointer<smq_subscription>
  let count: Int

  /// The caller guarantees `count` elements at `first`.
  @unsafe init(first: UnsafePointer<smq_subscription>, count: Int) {
    unsafe self.first = first
    self.count = count
  }

  /// Checks what the other functions rely on.
  func check(_ type: ControlPacketType) throws(Status) {
    for index in 0..<count {
      let subscription = unsafe first[index]
      guard unsafe subscription.reserved == 0 else { throw .structSize }
      _ = try unsafe span(subscription.filter)
      guard type == .subscribe else { continue }
      guard unsafe subscription.qos <= 2 else { throw .qos }
      guard unsafe subscription.no_local | subscription.retain_as_published <= 1,
        unsafe subscription.retain_handling <= 2
      else { throw .option }
    }
  }

  @_lifetime(borrow self)
  func filter(at index: Int) -> Span<UInt8> {
    do throws(Status) {
      let span = try unsafe span(first[index].filter)
      return unsafe _overrideLifetime(span, borrowing: self)
    } catch {
      return Span()  // `check` has seen that it does not come to this
    }
  }

  func options(at index: Int) -> SubscriptionOptions {
    let subscription = unsafe first[index]
    return unsafe SubscriptionOptions(
      maximumQoS: QoS(rawValue: subscription.qos) ?? .atMostOnce, noLocal: subscription.no_local == 1,
      retainAsPublished: subscription.retain_as_published == 1,
      retainHandling: .init(rawValue: subscription.retain_handling) ?? .send)
  }
}
