import MQTTWire
import TestSupport

/// Sees every byte that a session sends and that it is given, and knows what it may send now: the rules of
/// §4.3, §4.4, §4.6 and §4.9 as a server could see them broken.
final class WireRules {
  /// A message that was sent and that the server may not be done with.
  private struct Flight {
    let identifier: UInt16
    let number: Int
    let qos: UInt8
    var isReleased = false
    /// On which it was sent last.
    var connection: Int
  }

  private struct Due {
    let type: ControlPacketType
    let identifier: UInt16
  }

  private let name: Int
  private let world: World
  private let inFlightMaximum: Int
  private var ledger: Ledger { world.ledger }

  // The session.
  private var flights: [Flight] = []
  private(set) var connections = 0
  /// How often the server said that there is no session.
  private(set) var sessionsLost = 0

  // The connection.
  private(set) var version = ProtocolVersion.v3_1_1
  private var sent = PacketStream(from: .client)
  private var parsedPackets: UInt64 = 0
  private var received = PacketStream(from: .server)
  private(set) var isAccepted = false
  private var isFirst = true
  private var hasLeft = false
  private var receiveMaximum = 65_535
  private var maximumPacketSize = Int.max
  private var maximumQoS: UInt8 = 2
  private var topicAliasMaximum = 0
  private var aliases: [UInt16: [UInt8]] = [:]
  private var lastNumber = -1
  private var lastUrgent = -1
  /// PUBACK and PUBREC leave in the order of the messages.
  private var acknowledgementsDue: [Due] = []
  /// The PUBLISH at the front of what was received is counted, but not there yet as a whole.
  private var isPublishBegun = false
  private var releasesDue: [UInt16] = []
  /// Those of earlier connections.
  private var releasesDueAgain: [UInt16] = []
  private var completionsDue: [UInt16] = []
  private var requests: [Due] = []
  private var pings = 0
  /// Nothing more is to be said but CONNECT.
  var isSilenceExpected = false

  init(name: Int, world: World, inFlightMaximum: Int) {
    self.name = name
    self.world = world
    self.inFlightMaximum = inFlightMaximum
  }

  func connectionOpened(_ version: ProtocolVersion) {
    self.version = version
    connections += 1
    sent.removeAll()
    received.removeAll()
    isAccepted = false
    isFirst = true
    hasLeft = false
    receiveMaximum = 65_535
    maximumPacketSize = .max
    maximumQoS = 2
    topicAliasMaximum = 0
    aliases = [:]
    lastNumber = -1
    lastUrgent = -1
    acknowledgementsDue = []
    isPublishBegun = false
    releasesDue = []
    releasesDueAgain = []
    completionsDue = []
    requests = []
    pings = 0
  }

  // MARK: What it sends

  func sent(_ bytes: [UInt8]) throws(Failure) {
    sent.append(bytes)
    while let packet = try sent.next(version) {
      try require(!hasLeft, "\(packet.type) after DISCONNECT [MQTT-3.14.4-1]")
      try require(isFirst == (packet.type == .connect), "\(packet.type) as the first packet [MQTT-3.1.0-1]")
      isFirst = false
      try require(isAccepted || packet.type == .connect, "\(packet.type) before CONNACK")
      try require(packet.range.count <= maximumPacketSize, "\(packet.type) of \(packet.range.count) bytes")
      try require(
        !isSilenceExpected || packet.type == .connect || packet.type == .pingreq,
        "\(packet.type), with everything done")
      try sent(packet)
    }
  }

  private func sent(_ packet: Packet) throws(Failure) {
    switch packet.type {
    case .connect: break
    case .publish: try sentPublish(packet)
    case .puback, .pubrec:
      let due = acknowledgementsDue.first
      try require(
        due?.type == packet.type && due?.identifier == packet.identifier,
        "\(packet.type) \(packet.identifier), due is \(due.map { "\($0.type) \($0.identifier)" } ?? "none")")
      acknowledgementsDue.removeFirst()
    case .pubrel: try sentPubrel(packet.identifier)
    case .pubcomp:
      try require(
        completionsDue.first == packet.identifier,
        "PUBCOMP \(packet.identifier), due is \(completionsDue.first ?? 0)")
      completionsDue.removeFirst()
    case .subscribe, .unsubscribe: try sentRequest(packet)
    case .pingreq: pings += 1
    case .disconnect: hasLeft = true
    default: throw Failure("\(packet.type) from a client")
    }
  }

  private func sentPublish(_ packet: Packet) throws(Failure) {
    let message = try ledger.find(packet.payload)
    let name = "message \(message.number)"
    try require(message.origin == self.name, "\(name) is not of this session")
    try require(!message.isWithdrawn, "\(name) was taken back and is sent")
    try require(
      message.qos == packet.qos && !packet.retain, "\(name) with QoS \(packet.qos), RETAIN \(packet.retain)")
    try require(packet.qos <= maximumQoS, "\(name) is above Maximum QoS [MQTT-3.2.2-11]")
    try require(try topic(packet).elementsEqual(ledger.topics[message.topic]), "\(name) with another topic")
    // Also what is sent again is sent in its old place [MQTT-4.6.0-1].
    if message.isUrgent {
      try require(message.number > lastUrgent, "\(name) behind message \(lastUrgent)")
      lastUrgent = message.number
    } else if !message.isLatest {
      try require(message.number > lastNumber, "\(name) behind message \(lastNumber)")
      lastNumber = message.number
    }
    guard packet.qos > 0 else {
      return try require(message.outcome == nil, "\(name) has ended and is sent")
    }
    try require(!message.isAcknowledged, "\(name) is acknowledged and sent again")
    let inFlight = flights.count { $0.isReleased || $0.connection == connections }
    try require(
      inFlight < min(receiveMaximum, inFlightMaximum), "\(name) is above Receive Maximum [MQTT-3.3.4-7]")
    try record(packet, message)
  }

  /// A message with QoS 1 or 2 is on its way.
  private func record(_ packet: Packet, _ message: Ledger.Message) throws(Failure) {
    let name = "message \(message.number)"
    if let index = flights.firstIndex(where: { $0.identifier == packet.identifier }) {
      let flight = flights[index]
      try require(
        flight.number == message.number && !flight.isReleased,
        "\(name) uses identifier \(flight.identifier) of message \(flight.number) [MQTT-2.2.1-3]")
      try require(flight.connection < connections, "\(name) is sent twice on a connection")
      try require(packet.isDuplicate, "\(name) is sent again without DUP [MQTT-3.3.1-1]")
      flights[index].connection = connections
      world.counts[.resent] += 1
      return
    }
    try require(!flights.contains { $0.number == message.number }, "\(name) with another identifier")
    try require(
      !requests.contains { $0.identifier == packet.identifier }, "\(name) uses a request's identifier")
    try require(!packet.isDuplicate, "\(name) is sent for the first time with DUP [MQTT-3.3.1-1]")
    flights.append(
      Flight(
        identifier: packet.identifier, number: message.number, qos: message.qos, connection: connections))
  }

  private func topic(_ packet: Packet) throws(Failure) -> [UInt8] {
    let topic = packet.topic
    guard packet.topicAlias != 0 else { return topic }
    world.counts[.aliased] += 1
    try require(
      Int(packet.topicAlias) <= topicAliasMaximum, "Topic Alias \(packet.topicAlias) [MQTT-3.3.2-9]")
    if !topic.isEmpty { aliases[packet.topicAlias] = topic }
    guard let known = aliases[packet.topicAlias] else { throw Failure("Topic Alias without a topic") }
    return known
  }

  private func sentPubrel(_ identifier: UInt16) throws(Failure) {
    if releasesDueAgain.first == identifier {
      releasesDueAgain.removeFirst()
      world.counts[.releasedAgain] += 1
    } else {
      try require(
        releasesDue.first == identifier,
        "PUBREL \(identifier), due are \(releasesDueAgain) again and \(releasesDue)")
      releasesDue.removeFirst()
    }
  }

  private func sentRequest(_ packet: Packet) throws(Failure) {
    let isUsed =
      requests.contains { $0.identifier == packet.identifier }
      || flights.contains { $0.identifier == packet.identifier }
    try require(!isUsed, "\(packet.type) uses identifier \(packet.identifier) again [MQTT-2.2.1-3]")
    requests.append(Due(type: packet.type, identifier: packet.identifier))
  }

  // MARK: What it is given

  func received(_ bytes: [UInt8]) { received.append(bytes) }

  /// So many packets it has looked at, of all that it was given: what is behind them it cannot know.
  func parsed(_ total: UInt64) throws(Failure) {
    while parsedPackets < total {
      guard let packet = try received.next(version) else {
        throw Failure("more packets parsed than received")
      }
      parsedPackets += 1
      if packet.type == .publish {
        recordBegun(packet.qos, packet.identifier)
        isPublishBegun = false
      } else {
        received(packet)
      }
    }
    if let begun = received.begunPublish() { recordBegun(begun.qos, begun.identifier) }
  }

  /// A message that is known already can be acknowledged before all of it is there again.
  private func recordBegun(_ qos: UInt8, _ identifier: UInt16) {
    guard !isPublishBegun, qos > 0 else { return }
    isPublishBegun = true
    acknowledgementsDue.append(Due(type: qos == 1 ? .puback : .pubrec, identifier: identifier))
  }

  private func received(_ packet: Packet) {
    switch packet.type {
    case .connack: accepted(packet)
    case .puback, .pubcomp: finish(packet.identifier)
    case .pubrec where packet.isRefusal: finish(packet.identifier)
    case .pubrec:
      releasesDue.append(packet.identifier)
      if let index = flights.firstIndex(where: { $0.identifier == packet.identifier }) {
        flights[index].isReleased = true
      }
    case .pubrel: completionsDue.append(packet.identifier)
    case .suback, .unsuback: requests.removeAll { $0.identifier == packet.identifier }
    case .pingresp: pings -= 1
    default: break
    }
  }

  private func finish(_ identifier: UInt16) {
    guard let index = flights.firstIndex(where: { $0.identifier == identifier }) else { return }
    ledger.messages[flights[index].number].isAcknowledged = true
    flights.remove(at: index)
  }

  private func accepted(_ connack: Packet) {
    guard connack.code == 0 else { return }
    isAccepted = true
    receiveMaximum = connack.receiveMaximum
    maximumPacketSize = connack.maximumPacketSize
    maximumQoS = connack.maximumQoS
    topicAliasMaximum = connack.topicAliasMaximum
    if connack.sessionPresent {
      // Urgent messages first, here too.
      let released = flights.filter(\.isReleased).map(\.identifier)
      releasesDueAgain = released.filter { $0 >= 65_024 } + released.filter { $0 < 65_024 }
    } else {
      sessionsLost += 1
      for flight in flights { ledger.messages[flight.number].isAbandoned = true }
      flights = []
    }
  }

  // MARK: At the end

  /// Nothing is owed to the server.
  func checkQuiet() throws(Failure) {
    try require(sent.isEmpty && received.isEmpty, "half a packet")
    try require(acknowledgementsDue.isEmpty, "\(acknowledgementsDue.count) acknowledgements are missing")
    try require(releasesDue.isEmpty && releasesDueAgain.isEmpty, "PUBREL is missing")
    try require(completionsDue.isEmpty, "PUBCOMP is missing")
    try require(requests.isEmpty && pings == 0, "a request without an answer")
    for flight in flights {
      let outcome = ledger.messages[flight.number].outcome
      try require(
        outcome == .aboveLimit || outcome == .aborted,
        "message \(flight.number) is in flight, with identifier \(flight.identifier)")
    }
  }
}
