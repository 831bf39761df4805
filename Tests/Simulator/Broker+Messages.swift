import MQTTWire
import TestSupport

/// Messages on their way from the server to the session (§4.3, as the sender).
extension Broker {
  func acknowledged(_ packet: Packet) throws(Failure) {
    let name = "\(packet.type) \(packet.identifier)"
    guard let index = flights.firstIndex(where: { $0.identifier == packet.identifier }) else {
      throw Failure("\(name) for no message")
    }
    let flight = flights[index]
    try require(!flight.isDue, "\(name) for a message that was not sent on this connection")
    switch (packet.type, flight.qos, flight.isReleased) {
    case (.puback, 1, _): flights.remove(at: index)
    case (.pubrec, 2, false) where packet.isRefusal: flights.remove(at: index)
    case (.pubrec, 2, false):
      flights[index].isReleased = true
      flights[index].isDue = true
    case (.pubcomp, 2, true):
      // Unknown can only be what was released before.
      try require(packet.code == 0 || flight.wasReleased, "\(name) says that it does not know the message")
      flights.remove(at: index)
    default: throw Failure("\(name) for message \(flight.number) with QoS \(flight.qos)")
    }
  }

  /// PUBLISH or PUBREL could be sent.
  var canPublish: Bool {
    if flights.contains(where: \.isDue) { return true }
    guard let next = queue.first else { return false }
    return world.ledger.messages[next].qos == 0 || flights.count < window
  }

  /// What is due again goes first, in the order of the messages [MQTT-4.4.0-1].
  func publishNext(_ link: Link) {
    if let index = flights.firstIndex(where: \.isDue) {
      flights[index].isDue = false
      let flight = flights[index]
      if !flight.isReleased, packetSize(world.ledger.messages[flight.number]) > maximumPacketSize {
        // It was not known on the last connection, which was not one of 5.0.
        flights.remove(at: index)
        return world.ledger.messages[flight.number].isAbandoned = true
      }
      guard flight.isReleased else { return publish(flight.number, flight.identifier, flight.wasSent, link) }
      world.trace("server: sends pubrel \(flight.identifier)")
      return link.down.write(
        Encoding.acknowledgement(.pubrel, flight.identifier, 0, version, &world.random))
    }
    let number = queue.removeFirst()
    let message = world.ledger.messages[number]
    guard packetSize(message) <= maximumPacketSize else {
      // Not to be sent [MQTT-3.1.2-24].
      world.trace("server: leaves message \(number) out")
      return world.ledger.messages[number].isWithdrawn = true
    }
    guard message.qos > 0 else { return publish(number, 0, false, link) }
    let identifier = nextIdentifier()
    flights.append(Flight(identifier: identifier, number: number, qos: message.qos, isDue: false))
    publish(number, identifier, false, link)
  }

  private func nextIdentifier() -> UInt16 {
    var identifier: UInt16 =
      switch traits.identifiers {
      case .lowest: 1
      case .inTurn: lastIdentifier &+ 1
      case .scattered: 256 * UInt16(1 + world.random.below(100))
      }
    while identifier == 0 || flights.contains(where: { $0.identifier == identifier }) { identifier &+= 1 }
    lastIdentifier = identifier
    return identifier
  }

  /// In its largest form without optional properties.
  private func packetSize(_ message: Ledger.Message) -> Int {
    let body = 2 + world.ledger.topics[message.topic].count + 2 + 1 + message.size
    return body + (body < 128 ? 2 : 3)
  }

  private func publish(_ number: Int, _ identifier: UInt16, _ isDuplicate: Bool, _ link: Link) {
    let message = world.ledger.messages[number]
    var topic = world.ledger.topics[message.topic]
    var properties: [UInt8] = []
    if version == .v5_0, packetSize(message) + 60 <= maximumPacketSize {
      properties = alias(message.topic, &topic)
      if world.random.percent(20) { properties += [0x0B, 0x07] }
      if world.random.percent(20) {
        properties += [0x26] + prefixed("name".bytes) + prefixed("value".bytes)
      }
    }
    world.trace(
      "server: sends message \(number), identifier \(identifier)\(isDuplicate ? ", again" : "")"
        + ", topic of \(topic.count) bytes, properties of \(properties.count)")
    link.down.write(
      TestSupport.publish(
        version, topic, Ledger.payload(number, size: message.size), qos: message.qos,
        identifier: identifier, duplicate: isDuplicate, properties: properties))
  }

  /// A Topic Alias, known or new; the topic may then be left out.
  private func alias(_ topic: Int, _ name: inout [UInt8]) -> [UInt8] {
    guard aliasMaximum > 0, world.random.percent(70) else { return [] }
    var place = aliasesSent.firstIndex(of: topic)
    if place != nil {
      if world.random.percent(80) { name = [] }
    } else if aliasesSent.count < aliasMaximum {
      aliasesSent.append(topic)
      place = aliasesSent.count - 1
    } else {
      place = world.random.below(aliasesSent.count)
      aliasesSent[place!] = topic
    }
    return [0x23] + twoBytes(place! + 1)
  }
}
