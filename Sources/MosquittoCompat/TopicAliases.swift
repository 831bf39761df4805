import CMosquitto
import MQTTWire

/// A topic, and the number that the program has given to it.
@safe struct Alias: BitwiseCopyable {
  let number: UInt16
  let topic: Mosquitto.Text
}

/// Topic Aliases that a program has set. Each message is sent with its topic all the same, because the core
/// has Topic Aliases of its own. They are valid for one connection [MQTT-3.3.2-7].
extension Mosquitto.Locked {
  /// The topic of a message: the one given, for which the alias among the properties then stands, or what the
  /// alias stands for. nil: there is none.
  mutating func topic(
    _ topic: UnsafePointer<CChar>?, withAliasIn properties: OpaquePointer?
  ) -> UnsafePointer<CChar>? {
    var number: UInt16 = 0
    let found = unsafe mosquitto_property_read_int16(
      properties, Int32(PropertyIdentifier.topicAlias.rawValue), &number, false)
    let isIdentifierInUse = unsafe !isEmpty(topic)
    guard unsafe found != nil else { return unsafe isIdentifierInUse ? topic : nil }
    let old = state.aliases.first { $0.number == number }
    guard isIdentifierInUse, let topic = unsafe topic else {
      return unsafe old.map { unsafe UnsafePointer($0.topic) }
    }
    guard let copy = unsafe copied(topic) else { return nil }
    let new = unsafe Alias(number: number, topic: copy)
    if let old, state.aliases.replaceFirst(with: new, where: { $0.number == number }) {
      unsafe shim_free(old.topic)
    } else if !state.aliases.append(new) {
      unsafe shim_free(copy)
      return nil
    }
    return unsafe topic
  }

  mutating func freeAliases() {
    while let alias = state.aliases.removeFirst() { unsafe shim_free(alias.topic) }
  }
}
