// Messages in; and what is told of a connection after its end.

import CMosquitto
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Storage

/// A message as the program gets it, with its memory.
@unsafe struct Arrived {
  var message: mosquitto_message
  var properties: OpaquePointer?
  let isDuplicate: Bool
  /// Of the whole, which may have been too large.
  let size: Int
  let isOversize: Bool
  let isAcknowledged: Bool
}

@unsafe struct OwedEvent {
  @unsafe enum Kind {
    case published(mid: Int32, code: Int32)
    case arrived(Arrived)
    /// One that was kept until PUBREL.
    case released(Arrived)
  }

  var next: UnsafeMutablePointer<OwedEvent>?
  let kind: Kind
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// A copy of it; the acknowledgement goes out first: programs rely on it. It has to go out in any case, as none of a later
  /// message would overtake it.
  func take(_ event: MessageEvent, of client: UnsafeMutablePointer<Client>) -> Arrived {
    let mid = unsafe event.token == 0 ? 0 : client.pointee.packetIdentifier(of: event.token) ?? 0
    let topic = unsafe bytes(event.topic, of: client, isAliased: event.isTopicAliased)
    let ownTopic = unsafe copy(topic)
    let ownPayload = unsafe copy(bytes(event.payload, of: client))
    let list = unsafe self.list(event.properties, of: client)
    return unsafe Arrived(
      message: mosquitto_message(
        mid: Int32(mid), topic: ownTopic, payload: UnsafeMutableRawPointer(ownPayload),
        payloadlen: Int32(clamping: event.payload.count), qos: Int32(event.qos.rawValue), retain: event.retain
      ),
      properties: list, isDuplicate: event.duplicate, size: event.payloadSize, isOversize: event.isOversize,
      isAcknowledged: event.token != 0 && acknowledge(event, of: client))
  }

  /// False: there is nothing to acknowledge any more.
  private func acknowledge(_ event: MessageEvent, of client: UnsafeMutablePointer<Client>) -> Bool {
    do throws(SessionError) {
      unsafe try client.pointee.acknowledge(event.token, reasonCode: 0, properties: Span())
    } catch {
      return false
    }
    unsafe flush()
    return true
  }

  /// A message has come: it is handed out, or kept until the server says that it knows.
  func tell(_ arrived: Arrived) {
    let message = unsafe arrived.message
    let mid = unsafe UInt16(truncatingIfNeeded: message.mid)
    unsafe logPublish(
      isReceived: true, duplicate: arrived.isDuplicate, qos: UInt8(truncatingIfNeeded: message.qos),
      retain: message.retain, mid: mid, topic: spanOrNone(message.topic), payloadSize: arrived.size)
    if unsafe arrived.isAcknowledged {
      unsafe log(message.qos == 1 ? SHIM_SENDING_PUBACK : SHIM_SENDING_PUBREC, message.mid, 0)
    }
    if unsafe !keepUntilReleased(arrived) { unsafe handOut(arrived) }
  }

  /// Calls on_message, and frees it.
  func handOut(_ arrived: Arrived) {
    var message = unsafe arrived.message
    let memory = unsafe message.payload
    defer { unsafe free(arrived) }
    guard unsafe !arrived.isOversize, unsafe message.topic != nil, unsafe memory != nil else { return }
    if unsafe message.payloadlen == 0 { unsafe message.payload = nil }
    let callbacks = unsafe pointee.callbacks
    let user = unsafe pointee.user
    if let function = unsafe callbacks.message { unsafe outside { unsafe function(handle, user, &message) } }
    if let function = unsafe callbacks.messageV5 {
      unsafe outside { unsafe function(handle, user, &message, arrived.properties) }
    }
  }

  func free(_ arrived: Arrived) {
    var properties = unsafe arrived.properties
    unsafe shim_free(arrived.message.topic)
    unsafe shim_free(arrived.message.payload)
    unsafe mosquitto_property_free_all(&properties)
  }

  // MARK: Owed

  func owe(_ kind: OwedEvent.Kind) {
    guard let memory = unsafe shim_allocate(MemoryLayout<OwedEvent>.size) else {
      unsafe free(kind)
      return
    }
    let owed = unsafe memory.bindMemory(to: OwedEvent.self, capacity: 1)
    unsafe owed.initialize(to: OwedEvent(next: nil, kind: kind))
    if let last = unsafe pointee.owedLast {
      unsafe last.pointee.next = unsafe owed
    } else {
      unsafe pointee.owed = unsafe owed
    }
    unsafe pointee.owedLast = unsafe owed
  }

  func takeOwed() -> OwedEvent.Kind? {
    guard let owed = unsafe pointee.owed else { return nil }
    let kind = unsafe owed.pointee.kind
    unsafe pointee.owed = unsafe owed.pointee.next
    if unsafe pointee.owed == nil { unsafe pointee.owedLast = nil }
    unsafe shim_free(owed)
    return unsafe kind
  }

  private func free(_ kind: OwedEvent.Kind) {
    switch unsafe kind {
    case .published: break
    case .arrived(let arrived), .released(let arrived): unsafe free(arrived)
    }
  }

  func freeOwed() {
    while let kind = unsafe takeOwed() { unsafe free(kind) }
  }
}
