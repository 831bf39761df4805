// Messages that were published without a connection: libmosquitto takes them, and sends them on the next one.

import CMosquitto
import MQTTClient
import MQTTWire

/// A message and its id, with copies of all it needs.
@safe struct MessageBeforeConnect: BitwiseCopyable {
  let mid: Mid
  let topic: Mosquitto.Text
  let topicSize: Int
  let payload: Mosquitto.Text
  let payloadSize: Int
  let qos: QoS
  let retain: Bool
  let properties: OpaquePointer?

  func free() {
    var properties = unsafe properties
    unsafe shim_free(topic)
    unsafe shim_free(payload)
    unsafe mosquitto_property_free_all(&properties)
  }
}

extension Mosquitto.Locked {
  /// Puts a message into the outbox if there is a client that takes it, else into the list.
  mutating func keepUntilConnected(
    _ mid: Mid, _ topic: UnsafePointer<CChar>, _ topicSize: Int, _ payload: UnsafeRawPointer?,
    _ payloadSize: Int, _ qos: QoS, _ retain: Bool, _ properties: OpaquePointer?
  ) -> Int32 {
    // Not before those that are in the list already.
    if hasClient, state.messagesBeforeConnect.isEmpty, !state.areOptionsChanged || mayStoreAtOnce {
      let result = unsafe publish(
        mid, span(UnsafeRawPointer(topic), topicSize), spanOrNone(payload, payloadSize), qos, retain,
        properties)
      if result == MOSQ_ERR_SUCCESS, client.hasJournal { flush() }
      guard result == MOSQ_ERR_NO_CONN else { return result }
    }
    let size = topicSize &+ payloadSize
    let limit = Int(truncatingIfNeeded: Limits.outboxBytes)
    // It has to be refused now: when the outbox refuses it later, there is no call that could return that.
    let most = Limits.messageBytes(isStored: mayBeStored)
    guard unsafe size &+ encodedSize(of: properties) &+ Self.mostOverhead <= most else {
      return MOSQ_ERR_OVERSIZE_PACKET
    }
    guard UInt32(state.messagesBeforeConnect.count) < Limits.outboxMessages,
      state.bytesBeforeConnect &+ size <= limit
    else { return MOSQ_ERR_NOMEM }
    var ownProperties: OpaquePointer? = nil
    let ownTopic = unsafe shim_copy(topic, topicSize)
    let ownPayload = unsafe shim_copy(payload, payloadSize)
    guard let ownTopic = unsafe ownTopic, let ownPayload = unsafe ownPayload,
      unsafe mosquitto_property_copy_all(&ownProperties, properties) == MOSQ_ERR_SUCCESS
    else {
      unsafe shim_free(ownTopic)
      unsafe shim_free(ownPayload)
      return MOSQ_ERR_NOMEM
    }
    let message = unsafe MessageBeforeConnect(
      mid: mid, topic: ownTopic, topicSize: topicSize, payload: ownPayload, payloadSize: payloadSize,
      qos: qos,
      retain: retain, properties: ownProperties)
    guard state.messagesBeforeConnect.append(message) else {
      message.free()
      return MOSQ_ERR_NOMEM
    }
    state.bytesBeforeConnect &+= size
    return MOSQ_ERR_SUCCESS
  }

  /// The client has a journal, and stays what it is: the program has changed what CONNECT says, and no more.
  var mayStoreAtOnce: Bool {
    hasClient && client.hasJournal && UInt32(client.version.rawValue) == state.version
  }

  /// The client has a journal, or the next one will have, as far as is known by now.
  private var mayBeStored: Bool {
    hasClient ? client.hasJournal : unsafe !state.cleanSession && state.id != nil && Limits.hasJournals
  }

  /// The bytes of PUBLISH besides topic, payload and properties: the Fixed Header, and the lengths of the
  /// three.
  private static var mostOverhead: Int { 5 + 2 + 2 + 4 }

  /// Publishes as many as there is room for. The rest follows when there is more.
  mutating func publishMessagesBeforeConnect() {
    while let message = state.messagesBeforeConnect.first {
      let result = unsafe publish(
        shifted(message.mid), span(UnsafeRawPointer(message.topic), message.topicSize),
        spanOrNone(UnsafeRawPointer(message.payload), message.payloadSize), message.qos, message.retain,
        message.properties)
      if result == MOSQ_ERR_NOMEM || result == MOSQ_ERR_NO_CONN { return }
      dropMessageBeforeConnect()
    }
  }

  mutating func freeMessagesBeforeConnect() {
    while !state.messagesBeforeConnect.isEmpty { dropMessageBeforeConnect() }
  }

  private mutating func dropMessageBeforeConnect() {
    guard let message = state.messagesBeforeConnect.removeFirst() else { return }
    state.bytesBeforeConnect &-= message.topicSize &+ message.payloadSize
    message.free()
  }
}
