import MQTTWire
import TestSupport

/// What clients say to the server, and messages from one to the others.
extension BrokerModel {
  func handle(_ packet: Packet, _ connection: Connection) throws(Failure) {
    let program = connection.wire.program
    guard packet.type != .connect else {
      try require(!connection.isConnected, "a second CONNECT [MQTT-3.1.0-2]")
      return try connect(packet, connection)
    }
    try require(connection.isConnected, "\(packet.type) of \(program) before CONNECT [MQTT-3.1.0-1]")
    let version = connection.version
    switch packet.type {
    case .publish: try take(packet, connection)
    case .puback, .pubrec, .pubcomp: try acknowledged(packet, program)
    case .pubrel: release(packet.identifier, connection)
    case .subscribe:
      for filter in packet.filters {
        let text = filter.text
        sessions[program]!.subscriptions.removeAll { $0.filter == text }
        sessions[program]!.subscriptions.append((text, filter.qos))
      }
      let codes = packet.filters.map(\.qos)
      connection.wire.write(
        TestSupport.packet(
          0x90, twoBytes(packet.identifier) + (version == .v5_0 ? [0] : []) + codes))
    case .unsubscribe:
      connection.wire.write(Encoding.answer(.unsuback, packet.identifier, count: packet.count, version))
    case .pingreq: connection.wire.write([0xD0, 0])
    case .disconnect:
      close(connection)
      if version == .v5_0, sessions[program]?.keeps == false { sessions[program] = nil }
    default: throw Failure("\(packet.type) from a client")
    }
    pump(program)
  }

  // MARK: From a client

  private func take(_ packet: Packet, _ connection: Connection) throws(Failure) {
    let program = connection.wire.program
    let number = try world.ledger.find(packet.payload)
    let message = world.ledger.messages[number]
    try require(
      message.origin == program && message.qos == packet.qos, "message \(number) is not of \(program)")
    var topic = packet.topic
    if packet.topicAlias != 0 {
      if topic.isEmpty { topic = connection.aliases[packet.topicAlias] ?? [] }
      connection.aliases[packet.topicAlias] = topic
    }
    try require(!topic.isEmpty, "message \(number) without a topic")
    if connection.version == .v5_0, message.expiry > 0 {
      try require(
        packet.expiry > 0 && packet.expiry <= Int(message.expiry),
        "message \(number) expires in \(packet.expiry) s")
    }
    var properties: [UInt8] = []
    if !packet.responseTopic.isEmpty {
      properties += [0x08] + prefixed(packet.responseTopic)
    }
    if !packet.correlation.isEmpty {
      properties += [0x09] + prefixed(packet.correlation)
    }
    let body = (topic, properties)
    switch packet.qos {
    case 0: try accept(number, body)
    case 1:
      try accept(number, body)
      answer(.puback, packet.identifier, 0, connection)
    default:
      answer(.pubrec, packet.identifier, 0, connection)
      if let known = sessions[program]!.stored.first(where: { $0.identifier == packet.identifier }) {
        return try require(
          (known.number == number && packet.isDuplicate) || world.ledger.isServerUnreliable,
          "message \(number) with the identifier of message \(known.number)")
      }
      sessions[program]!.stored.append((packet.identifier, number))
      let isTooMuch = connection.version == .v5_0 && sessions[program]!.stored.count > traits.ownMaximum
      try require(!isTooMuch || world.ledger.isServerUnreliable, "more than Receive Maximum [MQTT-3.3.4-7]")
      try accept(number, body)
    }
  }

  private func release(_ identifier: UInt16, _ connection: Connection) {
    let program = connection.wire.program
    let count = sessions[program]!.stored.count
    sessions[program]!.stored.removeAll { $0.identifier == identifier }
    let isKnown = sessions[program]!.stored.count < count
    answer(.pubcomp, identifier, isKnown || connection.version != .v5_0 ? 0 : 0x92, connection)
  }

  private func answer(
    _ type: ControlPacketType, _ identifier: UInt16, _ code: UInt8, _ connection: Connection
  ) {
    connection.wire.write(
      Encoding.acknowledgement(type, identifier, code, connection.version, &world.random))
  }

  // MARK: To subscribers

  /// Somebody else publishes: so many at once.
  func publish(_ count: Int, qos: UInt8?) throws(Failure) {
    for _ in 0..<count {
      let message = world.ledger.draft(
        world.ledger.programs, qos: qos ?? UInt8(world.random.below(3)), size: 4 + world.random.below(30))
      world.ledger.add(message)
      try accept(message.number, (world.random.pick(world.scenario.topics), []))
    }
  }

  private func accept(_ number: Int, _ body: (topic: [UInt8], properties: [UInt8])) throws(Failure) {
    try world.ledger.taken(number)
    bodies[number] = body
    let qos = world.ledger.messages[number].qos
    for program in sessions.indices {
      guard let session = sessions[program] else { continue }
      let matching = session.subscriptions.filter { Self.matches($0.filter, body.topic) }
      guard let granted = matching.map(\.qos).max() else { continue }
      let effective = min(granted, qos)
      guard effective > 0 || connection(of: program) != nil else { continue }
      world.ledger.routed(number, to: program)
      sessions[program]!.queue.append((number, effective))
      pump(program)
    }
  }

  private static func matches(_ filter: [UInt8], _ topic: [UInt8]) -> Bool {
    guard filter.last == UInt8(ascii: "#") else { return filter == topic }
    return topic.starts(with: filter.dropLast())
  }

  func acknowledged(_ packet: Packet, _ program: Int) throws(Failure) {
    let name = "\(packet.type) \(packet.identifier) of \(program)"
    let isExact = !world.ledger.isServerUnreliable
    guard let index = sessions[program]!.flights.firstIndex(where: { $0.identifier == packet.identifier })
    else { return try require(!isExact, "\(name) for no message") }
    let flight = sessions[program]!.flights[index]
    try require(!flight.isDue || !isExact, "\(name) for a message that was not sent on this connection")
    let hasArrived = world.ledger.messages[flight.number].delivered[program] > 0
    try require(hasArrived || !isExact, "\(name), and message \(flight.number) was not handed out")
    switch (packet.type, flight.qos, flight.isReleased) {
    case (.puback, 1, _), (.pubcomp, 2, true): sessions[program]!.flights.remove(at: index)
    case (.pubrec, 2, false):
      sessions[program]!.flights[index].isReleased = true
      sessions[program]!.flights[index].isDue = true
    default: try require(!isExact, "\(name) for message \(flight.number) with QoS \(flight.qos)")
    }
  }

  /// What a kept session had waiting goes out at once; of QoS 2 no more than was asked for, unless there is a backlog.
  func flood(_ program: Int) {
    let session = sessions[program]!
    let hasQoS2 = session.queue.contains { $0.qos == 2 } || session.flights.contains { $0.qos == 2 }
    guard traits.hasBacklog || !hasQoS2 else { return }
    while let next = sessions[program]!.queue.first {
      guard next.qos < 2 || hasIdentifierRoom(program) else { return }
      sessions[program]!.queue.removeFirst()
      guard next.qos > 0 else { continue }
      world.counts[.flooded] += 1
      add(next.number, next.qos, program)
    }
  }

  private func hasIdentifierRoom(_ program: Int) -> Bool {
    if traits.hasBacklog { return true }
    return sessions[program]!.flights.count { $0.qos == 2 } < world.scenario.programs[program].unreleased
  }

  private func add(_ number: Int, _ qos: UInt8, _ program: Int) {
    var identifier = sessions[program]!.lastIdentifier &+ 1
    while identifier == 0 || sessions[program]!.flights.contains(where: { $0.identifier == identifier }) {
      identifier &+= 1
    }
    sessions[program]!.lastIdentifier = identifier
    sessions[program]!.flights.append(Flight(identifier: identifier, number: number, qos: qos))
  }

  /// Sends what may be sent: what is due again first, in its order [MQTT-4.6.0-1].
  func pump(_ program: Int) {
    guard let connection = connection(of: program), sessions[program] != nil else { return }
    let version = connection.version
    while true {
      if let index = sessions[program]!.flights.firstIndex(where: \.isDue) {
        let flight = sessions[program]!.flights[index]
        sessions[program]!.flights[index].isDue = false
        if flight.isReleased {
          connection.wire.write(
            Encoding.acknowledgement(.pubrel, flight.identifier, 0, version, &world.random))
        } else {
          sessions[program]!.flights[index].wasSent = true
          send(flight.number, flight.qos, flight.identifier, flight.wasSent, connection)
        }
        continue
      }
      guard let next = sessions[program]!.queue.first else { return }
      if next.qos > 0 {
        guard sessions[program]!.flights.count < connection.window, next.qos < 2 || hasIdentifierRoom(program)
        else {
          return
        }
        add(next.number, next.qos, program)
      } else {
        send(next.number, 0, 0, false, connection)
      }
      sessions[program]!.queue.removeFirst()
    }
  }

  private func send(
    _ number: Int, _ qos: UInt8, _ identifier: UInt16, _ isDuplicate: Bool, _ connection: Connection
  ) {
    guard let body = bodies[number] else { return }
    world.trace("server: message \(number) to \(connection.wire.program), identifier \(identifier)")
    connection.wire.write(
      TestSupport.publish(
        connection.version, body.topic,
        Ledger.payload(number, size: world.ledger.messages[number].size), qos: qos,
        identifier: identifier, duplicate: isDuplicate, properties: body.properties))
  }

  // MARK: At the end

  /// What is not done yet, if anything.
  func unfinished() -> String? {
    for program in sessions.indices {
      guard let session = sessions[program] else { continue }
      guard session.queue.isEmpty, session.flights.isEmpty else {
        return
          "\(session.queue.count) messages wait for \(program), \(session.flights.count) are on their way"
      }
      guard session.stored.isEmpty || world.ledger.isServerUnreliable else {
        return "\(session.stored.count) messages of \(program) are not released"
      }
    }
    return nil
  }
}
