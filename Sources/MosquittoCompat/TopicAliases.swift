import CMosquitto
import MQTTWire

/// The topics that a program has given numbers to. Each message goes with its topic all the same: the core has Topic Aliases
/// of its own. With the lock held, and valid for one connection [MQTT-3.3.2-7].
extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// The topic of a message: the one given, which the alias among the properties then stands for, or what the alias stands
  /// for. nil: there is none.
  func topic(
    _ topic: UnsafePointer<CChar>?, withAliasIn properties: OpaquePointer?
  ) -> UnsafePointer<CChar>? {
    var number: UInt16 = 0
    let found = unsafe mosquitto_property_read_int16(
      properties, Int32(PropertyIdentifier.topicAlias.rawValue), &number, false)
    let isGiven = unsafe !isEmpty(topic)
    guard unsafe found != nil else { return unsafe isGiven ? topic : nil }
    var next = unsafe pointee.aliases
    while let alias = unsafe next, unsafe alias.pointee.number != number {
      unsafe next = unsafe alias.pointee.next
    }
    guard isGiven, let topic = unsafe topic else { return unsafe UnsafePointer(next?.pointee.topic) }
    guard let copy = unsafe copied(topic) else { return nil }
    if let alias = unsafe next {
      unsafe shim_free(alias.pointee.topic)
      unsafe alias.pointee.topic = unsafe copy
      return unsafe topic
    }
    guard let memory = unsafe shim_allocate(MemoryLayout<Mosquitto.Alias>.size) else {
      unsafe shim_free(copy)
      return nil
    }
    let alias = unsafe memory.bindMemory(to: Mosquitto.Alias.self, capacity: 1)
    unsafe alias.initialize(to: Mosquitto.Alias(next: pointee.aliases, number: number, topic: copy))
    unsafe pointee.aliases = unsafe alias
    return unsafe topic
  }

  func freeAliases() {
    while let alias = unsafe pointee.aliases {
      unsafe pointee.aliases = unsafe alias.pointee.next
      unsafe shim_free(alias.pointee.topic)
      unsafe shim_free(alias)
    }
  }
}
