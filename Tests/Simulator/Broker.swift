import MQTTSession
import MQTTWire
import TestSupport

/// A server with one client: exact about the protocol, at random in everything that it leaves open. Messages that
/// other clients publish to this one begin here, and those that it publishes end here.
final class Broker: Server {
  /// A message on its way to the session.
  struct Flight {
    let identifier: UInt16
    let number: Int
    let qos: UInt8
    /// PUBREC came: PUBREL instead of PUBLISH.
    var isReleased = false
    /// PUBLISH or PUBREL is to be sent.
    var isDue = true
    /// PUBLISH, or PUBREL, was sent on an earlier connection.
    var wasSent = false
    var wasReleased = false
  }

  struct Answer {
    let type: ControlPacketType
    let identifier: UInt16
    var code: UInt8 = 0
    var count = 0
  }

  let world: World

  // The Session State. Messages to the session are in Broker+Messages.swift.
  private var hasSession = false
  /// The session is gone, and the client has not been told yet. A server that forgets this, and says later that there is
  /// a session, leaves a client no way to know.
  private var isForgetting = false
  var queue: [Int] = []
  var flights: [Flight] = []
  /// QoS 2 messages that came, and were not yet released.
  private var stored: [(identifier: UInt16, number: Int)] = []
  var lastIdentifier: UInt16 = 0

  // The connection.
  var link: Link? = nil
  private var stream = PacketStream(from: .client)
  var version = ProtocolVersion.v3_1_1
  private var isConnected = false
  private var connections = 0
  var window = 0
  var maximumPacketSize = Int.max
  private var aliasesReceived: [UInt16: [UInt8]] = [:]
  var aliasMaximum = 0
  var aliasesSent: [Int] = []
  /// One queue for each type: the order holds within it.
  private var answers: [[Answer]] = [[], [], [], []]
  private var published = 0
  private(set) var sessionsLost = 0

  init(world: World) { self.world = world }

  func checkQuiet() throws(Failure) {
    try require(isConnected && queue.isEmpty, "\(queue.count) messages were not sent")
    try require(answers.allSatisfy(\.isEmpty) && stream.isEmpty, "the server has not answered")
    if let flight = flights.first {
      throw Failure(
        "the server waits for the end of message \(flight.number), identifier \(flight.identifier)")
    }
    for (identifier, number) in stored {
      let outcome = world.ledger.messages[number].outcome
      // It could not be sent again within the limits of a later connection.
      let isGivenUp = outcome == .aboveLimit || outcome == .aborted
      try require(isGivenUp, "the server waits for PUBREL of message \(number), identifier \(identifier)")
    }
  }

  var traits: ServerTraits { world.scenario.server }

  func noticed(by client: Int) { isForgetting = false }

  // MARK: What the other clients do

  /// Another client publishes. False: there were enough messages.
  func publish() -> Bool {
    guard published < world.scenario.messages, hasSession else { return false }
    published += 1
    let message = world.ledger.draft(
      Ledger.server, topic: world.random.below(world.ledger.topics.count),
      qos: UInt8(world.random.below(traits.highestQoS + 1)), size: world.size(traits.largest))
    world.ledger.add(message)
    queue.append(message.number)
    world.trace("server: message \(message.number), QoS \(message.qos), \(message.size) bytes, to be sent")
    return true
  }

  // MARK: The connection

  func open(_ link: Link, from client: Int) throws(Failure) {
    if let old = self.link {
      // What came on the old connection is looked at before the new one, or never.
      if world.random.percent(50) {
        old.up.arrive(old.up.count)
        while self.link === old, try receive(old) {}
      }
      drop()
    }
    self.link = link
  }

  private func drop() {
    link = nil
    isConnected = false
    stream.removeAll()
    answers = [[], [], [], []]
  }

  func act() throws(Failure) -> Bool {
    guard let link else { return false }
    var hasActed = false
    for _ in 0..<(world.isEnding ? 50 : world.random.from(1...4)) {
      let didReceive = try receive(link)
      guard self.link === link else { return true }
      guard send(link) || didReceive else { break }
      hasActed = true
    }
    return hasActed
  }

  private func receive(_ link: Link) throws(Failure) -> Bool {
    if link.up.isAtEnd {
      world.trace("server: the connection is gone")
      drop()
      return true
    }
    let packet: Packet
    if let next = try stream.next(version) {
      packet = next
    } else {
      guard link.up.arrived > 0 else { return false }
      stream.append(link.up.read(world.portion(of: link.up.arrived)))
      guard let next = try stream.next(version) else { return true }
      packet = next
    }
    world.trace("server: got \(packet.type) \(packet.identifier)")
    try handle(packet, link)
    return true
  }

  private func handle(_ packet: Packet, _ link: Link) throws(Failure) {
    switch packet.type {
    case .connect: connect(packet, link)
    case .publish: try take(packet)
    case .puback, .pubrec, .pubcomp: try acknowledged(packet)
    case .pubrel: try release(packet.identifier)
    case .subscribe: answer(.init(type: .suback, identifier: packet.identifier, count: packet.count))
    case .unsubscribe: answer(.init(type: .unsuback, identifier: packet.identifier, count: packet.count))
    case .pingreq: answer(.init(type: .pingresp, identifier: 0))
    case .disconnect:
      link.closeByServer()
      drop()
    default: throw Failure("\(packet.type) from a client")
    }
  }

  private func answer(_ answer: Answer) {
    let queue =
      switch answer.type {
      case .puback: 0
      case .pubrec: 1
      case .pubcomp: 2
      default: 3
      }
    answers[queue].append(answer)
  }

  // MARK: CONNECT

  private func connect(_ packet: Packet, _ link: Link) {
    version = packet.version
    connections += 1
    if version == .v5_0, let last = world.scenario.fallsBackAfter, connections > last {
      link.down.write(Encoding.versionRefused(version, &world.random))
      link.closeByServer()
      return drop()
    }
    if !world.isEnding, world.random.percent(traits.unavailablePercent) {
      link.down.write(Encoding.serverUnavailable(version))
      link.closeByServer()
      return drop()
    }
    if hasSession, packet.cleanStart || (!world.isEnding && world.random.percent(traits.sessionLossPercent)) {
      isForgetting = true
    }
    if isForgetting { forget() }
    isConnected = true
    window = version == .v5_0 ? packet.receiveMaximum : traits.window
    maximumPacketSize = packet.maximumPacketSize
    aliasMaximum = min(packet.topicAliasMaximum, traits.aliases)
    aliasesSent = []
    aliasesReceived = [:]
    link.down.write(
      connack(version, sessionPresent: hasSession, properties: limits()))
    hasSession = true
    for index in flights.indices {
      flights[index].wasSent = flights[index].wasSent || !flights[index].isDue || flights[index].isReleased
      flights[index].wasReleased =
        flights[index].wasReleased || (flights[index].isReleased && !flights[index].isDue)
      flights[index].isDue = true
    }
  }

  private func forget() {
    world.trace("server: forgets the session")
    sessionsLost += 1
    hasSession = false
    for number in queue { world.ledger.messages[number].isAbandoned = true }
    for flight in flights { world.ledger.messages[flight.number].isAbandoned = true }
    queue = []
    flights = []
    // It said with PUBREC that these are its own.
    if traits.deliversOnRelease {
      for message in stored { try? world.ledger.delivered(message.number) }
    }
    stored = []
  }

  private func limits() -> [UInt8] {
    guard version == .v5_0 else { return [] }
    var list: [UInt8] = []
    if traits.hasSmallWindow { list += [0x21] + twoBytes(world.random.from(1...4)) }
    if world.random.percent(60) { list += [0x22] + twoBytes(world.random.from(1...4)) }
    guard !world.isEnding, world.random.percent(traits.limitPercent) else { return list }
    if world.random.percent(50) { list += [0x24, UInt8(world.random.below(2))] }
    if world.random.percent(50) { list += [0x27, 0, 0] + twoBytes(world.random.from(20...100)) }
    return list
  }

  // MARK: Messages from the session

  private func take(_ packet: Packet) throws(Failure) {
    let message = try world.ledger.find(packet.payload)
    let identifier = packet.identifier
    let code: UInt8 = message.isRefused ? 0x97 : version == .v5_0 && world.random.percent(10) ? 0x10 : 0
    switch packet.qos {
    case 0: try world.ledger.delivered(message.number)
    case 1:
      if !message.isRefused { try world.ledger.delivered(message.number) }
      answer(.init(type: .puback, identifier: identifier, code: code))
    default:
      answer(.init(type: .pubrec, identifier: identifier, code: code))
      if let known = stored.first(where: { $0.identifier == identifier }) {
        return try require(
          known.number == message.number && packet.isDuplicate,
          "message \(message.number) with the identifier of message \(known.number)")
      }
      guard !message.isRefused else { return }
      stored.append((identifier, message.number))
      if !traits.deliversOnRelease { try world.ledger.delivered(message.number) }
    }
  }

  private func release(_ identifier: UInt16) throws(Failure) {
    guard let index = stored.firstIndex(where: { $0.identifier == identifier }) else {
      return answer(.init(type: .pubcomp, identifier: identifier, code: version == .v5_0 ? 0x92 : 0))
    }
    let message = stored.remove(at: index)
    if traits.deliversOnRelease { try world.ledger.delivered(message.number) }
    answer(.init(type: .pubcomp, identifier: identifier))
  }

  // MARK: What it sends

  private func send(_ link: Link) -> Bool {
    guard isConnected else { return false }
    let ready = answers.indices.filter { !answers[$0].isEmpty }
    if !ready.isEmpty, world.random.percent(60) || !canPublish {
      send(answers[world.random.pick(ready)].removeFirst(), link)
      return true
    }
    guard canPublish else { return false }
    publishNext(link)
    return true
  }

  private func send(_ answer: Answer, _ link: Link) {
    world.trace("server: sends \(answer.type) \(answer.identifier) \(answer.code)")
    switch answer.type {
    case .suback, .unsuback:
      link.down.write(Encoding.answer(answer.type, answer.identifier, count: answer.count, version))
    case .pingresp: link.down.write([0xD0, 0])
    default:
      link.down.write(
        Encoding.acknowledgement(answer.type, answer.identifier, answer.code, version, &world.random))
    }
  }
}
