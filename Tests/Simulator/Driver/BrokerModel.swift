import MQTTWire
import TestSupport

/// A server with several clients: it keeps sessions, hands messages on, and forgets what it is told to forget.
final class BrokerModel {
  /// A message on its way to a subscriber.
  struct Flight {
    let identifier: UInt16
    let number: Int
    let qos: UInt8
    var isReleased = false
    var isDue = true
    var wasSent = false
  }

  struct Session {
    let program: Int
    var keeps = false
    /// The client knows that it is a new one.
    var isNoticed = false
    var subscriptions: [(filter: [UInt8], qos: UInt8)] = []
    var queue: [(number: Int, qos: UInt8)] = []
    var flights: [Flight] = []
    /// QoS 2 messages that came, and were not yet released.
    var stored: [(identifier: UInt16, number: Int)] = []
    var lastIdentifier: UInt16 = 0
  }

  final class Connection {
    let wire: Wire
    var stream = PacketStream(from: .client)
    var version = ProtocolVersion.v3_1_1
    var isConnected = false
    var isOver = false
    var keepAlive = 0
    var lastHeard: UInt64 = 0
    var window = 0
    var aliases: [UInt16: [UInt8]] = [:]

    init(_ wire: Wire) { self.wire = wire }
  }

  let world: DriverWorld
  var traits: BrokerTraits { world.scenario.server }
  private(set) var isUp = true
  private var stalledUntil: UInt64 = 0
  /// By program.
  var sessions: [Session?]
  private var snapshot: [Session?]
  private(set) var connections: [Connection] = []
  /// How often each was told that there is no session.
  private(set) var newSessions: [Int]
  /// What is known of each message beside its payload.
  var bodies: [Int: (topic: [UInt8], properties: [UInt8])] = [:]

  init(_ world: DriverWorld) {
    self.world = world
    sessions = [Session?](repeating: nil, count: world.scenario.programs.count)
    snapshot = sessions
    newSessions = [Int](repeating: 0, count: sessions.count)
  }

  func connection(of program: Int) -> Connection? {
    connections.first { $0.isConnected && $0.wire.program == program }
  }

  func noticed(by program: Int) { sessions[program]?.isNoticed = true }

  // MARK: What the network tells

  func accepted(_ wire: Wire) { connections.append(Connection(wire)) }

  func lost(_ wire: Wire) throws(Failure) {
    guard let connection = connections.first(where: { $0.wire === wire }) else { return }
    try take(connection)
    drop(connection)
  }

  func read(_ wire: Wire) throws(Failure) {
    guard let connection = connections.first(where: { $0.wire === wire }) else { return }
    guard world.now >= stalledUntil else { return }
    try take(connection)
  }

  private func take(_ connection: Connection) throws(Failure) {
    while !connection.isOver, !connection.wire.unread.isEmpty {
      connection.stream.append(connection.wire.takeUnread(connection.wire.unread.count))
      while !connection.isOver, let packet = try connection.stream.next(connection.version) {
        world.trace("server: got \(packet.type) \(packet.identifier) of \(connection.wire.program)")
        connection.lastHeard = world.now
        try handle(packet, connection)
      }
    }
  }

  /// The connection is over for the server.
  private func drop(_ connection: Connection) {
    guard !connection.isOver else { return }
    connection.isOver = true
    connections.removeAll { $0 === connection }
    guard connection.isConnected else { return }
    let program = connection.wire.program
    if sessions[program]?.keeps == false { sessions[program] = nil }
  }

  func close(_ connection: Connection) {
    drop(connection)
    connection.wire.closeByServer()
  }

  // MARK: What goes wrong

  /// When what was sent was held up last.
  var lastTrouble: UInt64 = 0

  func stall(_ duration: Int) {
    stalledUntil = world.now + UInt64(duration)
    lastTrouble = max(lastTrouble, stalledUntil)
    world.at(stalledUntil) { [self] () throws(Failure) in
      for connection in connections { try read(connection.wire) }
    }
  }

  func takeSnapshot() { snapshot = sessions }

  enum Memory { case kept, lost, old }

  func restart(_ memory: Memory, after duration: Int) {
    isUp = false
    for connection in connections {
      drop(connection)
      connection.wire.resetByServer()
    }
    switch memory {
    case .kept: break
    case .lost: sessions = sessions.map { _ in nil }
    case .old:
      world.ledger.isServerUnreliable = true
      sessions = snapshot
    }
    takeSnapshot()
    world.after(duration) { [self] () throws(Failure) in isUp = true }
  }

  func forget(_ program: Int) {
    if let connection = connection(of: program) { close(connection) }
    sessions[program] = nil
    snapshot[program] = nil
  }

  private func watch(_ connection: Connection) {
    guard connection.keepAlive > 0 else { return }
    let end = connection.lastHeard + UInt64(1500 * connection.keepAlive)
    world.at(end) { [self] () throws(Failure) in
      guard !connection.isOver else { return }
      guard world.now >= connection.lastHeard + UInt64(1500 * connection.keepAlive) else {
        return watch(connection)
      }
      // What is still on its way it cannot blame the client for, nor that the program does not look.
      let scenario = world.scenario
      let isSlow =
        scenario.programs[connection.wire.program].slowPercent > 0 || scenario.capacity < 1000
        || scenario.latency.upperBound > 40
      guard connection.wire.isDead || world.hasSteppedClock || isSlow || lastTrouble + 5000 > world.now else {
        throw Failure("\(connection.wire.program) was silent for one and a half Keep Alive [MQTT-3.1.2-20]")
      }
      close(connection)
    }
  }

  // MARK: CONNECT

  func connect(_ packet: Packet, _ connection: Connection) throws(Failure) {
    let program = connection.wire.program
    let version = packet.version
    connection.version = version
    if version == .v5_0, traits.stopsSpeaking, world.scenario.programs[program].fallback {
      if world.random.percent(60) { connection.wire.write(Encoding.versionRefused(version, &world.random)) }
      return close(connection)
    }
    if !world.isPeaceful, world.random.percent(traits.refusePercent) {
      world.counts[.refused] += 1
      connection.wire.write(Encoding.serverUnavailable(version))
      return close(connection)
    }
    if !world.isPeaceful, version == .v5_0, world.random.percent(traits.redirectPercent) {
      let reference = reference()
      connection.wire.write(
        TestSupport.packet(
          0x20, [0, world.random.percent(50) ? 0x9C : 0x9D, UInt8(reference.count)] + reference))
      return close(connection)
    }
    for old in connections where old.isConnected && old.wire.program == program {
      close(old)
    }
    if packet.cleanStart || sessions[program]?.isNoticed == false { sessions[program] = nil }
    let isPresent = sessions[program] != nil
    if !isPresent {
      sessions[program] = Session(program: program)
      newSessions[program] += 1
    }
    sessions[program]?.keeps = version == .v5_0 ? packet.sessionExpiry > 0 : !packet.cleanStart
    connection.isConnected = true
    connection.keepAlive = packet.keepAlive
    connection.lastHeard = world.now
    let own = version == .v5_0 ? packet.receiveMaximum : traits.window
    connection.window = own
    for index in sessions[program]!.flights.indices { sessions[program]!.flights[index].isDue = true }
    var properties: [UInt8] = []
    if version == .v5_0 {
      if traits.ownMaximum < 65_535 { properties += [0x21] + twoBytes(traits.ownMaximum) }
      properties += [0x22] + twoBytes(2)
    }
    world.trace("server: accepts \(program), session present: \(isPresent)")
    connection.wire.write(connack(version, sessionPresent: isPresent, properties: properties))
    watch(connection)
    if isPresent, traits.floods { flood(program) }
    pump(program)
  }

  /// A Server Reference with all that belongs to it.
  func reference() -> [UInt8] {
    [0x1C] + prefixed("r\(world.random.below(2)):1884".bytes)
  }

  /// The server wants a client to go elsewhere, now.
  func sendAway(_ program: Int) {
    guard let connection = connection(of: program), connection.version == .v5_0 else { return }
    let reference = reference()
    connection.wire.write(
      TestSupport.packet(0xE0, [world.random.percent(50) ? 0x9C : 0x9D, UInt8(reference.count)] + reference))
    close(connection)
  }
}
