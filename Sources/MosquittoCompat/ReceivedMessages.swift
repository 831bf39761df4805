// Messages that the client receives.

import CMosquitto
import MQTTClient
import MQTTSession
import MQTTWire
import Storage

/// A message as the program gets it, with memory of its own.
@safe struct ReceivedMessage: BitwiseCopyable {
  let message: mosquitto_message
  let properties: OpaquePointer?
  let isDuplicate: Bool
  /// The size of the whole payload, which may have been too large.
  let size: Int
  let isOversize: Bool
  let isAcknowledged: Bool

  func free() {
    var properties = unsafe properties
    unsafe shim_free(message.topic)
    unsafe shim_free(message.payload)
    unsafe mosquitto_property_free_all(&properties)
  }
}

extension Mosquitto.Locked {
  /// Copies a message. Its acknowledgement is sent before any callback, because programs rely on that. It has
  /// to be sent in any case, because no acknowledgement of a later message would overtake it.
  mutating func take(_ event: MessageEvent) -> ReceivedMessage {
    let mid = event.token == 0 ? 0 : client.packetIdentifier(of: event.token) ?? 0
    let topic = unsafe copy(event.topic, isAliased: event.isTopicAliased)
    let payload = unsafe copy(event.payload)
    let properties = unsafe propertyList(event.properties)
    let message = unsafe mosquitto_message(
      mid: Int32(mid), topic: topic, payload: UnsafeMutableRawPointer(payload),
      payloadlen: Int32(clamping: event.payload.count), qos: Int32(event.qos.rawValue), retain: event.retain)
    return unsafe ReceivedMessage(
      message: message, properties: properties, isDuplicate: event.duplicate, size: event.payloadSize,
      isOversize: event.isOversize, isAcknowledged: event.token != 0 && acknowledge(event))
  }

  /// False: there is nothing to acknowledge any more.
  private mutating func acknowledge(_ event: MessageEvent) -> Bool {
    do throws(SessionError) {
      try client.acknowledge(event.token, reasonCode: 0, properties: Span())
    } catch {
      return false
    }
    flush()
    return true
  }

  /// Hands a message to the program, or keeps it until the server has sent PUBREL.
  mutating func deliver(_ received: ReceivedMessage) {
    let message = unsafe received.message
    unsafe logPublish(
      isReceived: true, duplicate: received.isDuplicate, qos: UInt8(truncatingIfNeeded: message.qos),
      retain: message.retain, mid: UInt16(truncatingIfNeeded: message.mid), topic: spanOrNone(message.topic),
      payloadSize: received.size)
    if received.isAcknowledged {
      unsafe log(message.qos == 1 ? SHIM_SENDING_PUBACK : SHIM_SENDING_PUBREC, message.mid, 0)
    }
    if !keepUntilReleased(received) { callMessage(received) }
  }

  /// Calls on_message, and frees the message.
  mutating func callMessage(_ received: ReceivedMessage) {
    defer { received.free() }
    var message = unsafe received.message
    guard !received.isOversize, unsafe message.topic != nil, unsafe message.payload != nil else { return }
    if unsafe message.payloadlen == 0 { unsafe message.payload = nil }
    let callbacks = state.callbacks
    let user = unsafe state.user
    if let function = unsafe callbacks.message { unsafe callProgram { unsafe function($0, user, &message) } }
    if let function = unsafe callbacks.messageV5 {
      unsafe callProgram { unsafe function($0, user, &message, received.properties) }
    }
  }

  // MARK: Copies

  /// A copy of bytes of an event, with a zero behind them; nil: there is no memory.
  func copy(_ range: ByteRange, isAliased: Bool = false) -> UnsafeMutablePointer<CChar>? {
    unsafe bytes(range, isAliased: isAliased).withUnsafeBytes { unsafe shim_copy($0.baseAddress, $0.count) }
  }

  func propertyList(_ range: ByteRange) -> OpaquePointer? {
    guard !range.isEmpty else { return nil }
    return unsafe MosquittoCompat.propertyList(of: bytes(range))
  }

  /// They lie in the client's block, and stay what they are until the event is released or the lock is given
  /// up.
  @_lifetime(borrow self)
  func bytes(_ range: ByteRange, isAliased: Bool = false) -> Span<UInt8> {
    guard !range.isEmpty,
      let start = unsafe isAliased ? startOfTopics(client) : startOfBytes(client)
    else { return Span() }
    // The client is part of the state, which nothing else changes as long as `self` is borrowed.
    return unsafe _overrideLifetime(span(start + range.offset, range.count), borrowing: self)
  }
}

private func startOfBytes(_ client: borrowing Client) -> UnsafeRawPointer? {
  unsafe client.receivedBytes.withUnsafeBytes { $0.baseAddress }
}

private func startOfTopics(_ client: borrowing Client) -> UnsafeRawPointer? {
  unsafe client.aliasedTopics.withUnsafeBytes { $0.baseAddress }
}
