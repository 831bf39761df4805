import MQTTSession
import MQTTWire
import TestSupport

/// What a run is like; decided before it begins.
struct Scenario {
  enum Shape {
    case broker  // one session and a server
    case pair  // two sessions, joined by a relay
  }

  let shape: Shape
  let version: ProtocolVersion
  /// The server stops speaking 5.0 after so many connections.
  let fallsBackAfter: Int?
  let keepsSession: Bool
  let steps: Int
  /// At most, from each side.
  let messages: Int
  let topics: [[UInt8]]
  let clients: [ClientTraits]
  let server: ServerTraits

  // The network.
  let cutPermille: Int
  let linkCapacity: Int
  /// How often the network does something beside what else happens.
  let hastePercent: Int
  /// Milliseconds per step.
  let pace: Int

  static let allTopics: [[UInt8]] = [
    Array("a".utf8), Array("t/1".utf8), Array("plant/7".utf8), Array("plant/hall 3/pump".utf8),
    [UInt8](repeating: UInt8(ascii: "L"), count: 90),
  ]

  init(_ chance: inout SeededRandom) {
    shape = chance.percent(60) ? .broker : .pair
    version = chance.percent(65) ? .v5_0 : .v3_1_1
    let fallsBack = shape == .broker && version == .v5_0 && chance.percent(10)
    fallsBackAfter = fallsBack ? chance.below(4) : nil
    keepsSession = chance.percent(85)
    steps = chance.pick([50, 200, 400, 800])
    messages = chance.pick([3, 10, 30, 60, 100])
    topics = Self.pickTopics(&chance)
    cutPermille = chance.pick([0, 2, 8, 8, 20, 50])
    linkCapacity = chance.pick([1, 7, 60, 500, 500, 65_536])
    hastePercent = chance.pick([0, 20, 50, 80])
    pace = chance.pick([1, 10, 200, 3000])
    let first = ClientTraits(&chance, version, fallsBack: fallsBack)
    clients = shape == .pair ? [first, ClientTraits(&chance, version, fallsBack: false)] : [first]
    server = ServerTraits(&chance, first, hasWindow: version == .v5_0 && !fallsBack)
  }

  private static func pickTopics(_ chance: inout SeededRandom) -> [[UInt8]] {
    // The long one is above some receive buffers as a whole.
    let all = chance.percent(15) ? allTopics : Array(allTopics.dropLast())
    return (0..<chance.from(1...4)).map { _ in chance.pick(all) }
  }

  /// How many messages a session may have in flight. Before 5.0 nobody tells it what the other side takes.
  func inFlightMaximum(of client: Int) -> Int {
    let own = clients[client].inFlightMaximum
    guard shape == .pair, version != .v5_0 else { return own }
    return min(own, clients[1 - client].receiveMaximum)
  }
}

/// How a session's options are, and how its application goes about its work.
struct ClientTraits {
  let outboxBytes: Int
  let outboxMessages: Int
  /// Messages may be dropped, replaced and urgent.
  let hasPolicies: Bool
  let urgentMessages: Int
  let urgentBytes: Int
  let receiveBytes: Int
  let inFlightMaximum: Int
  let receiveMaximum: Int
  let controlBytes: Int
  let requests: Int
  let subscribeBytes: Int
  let aliasesReceived: Int
  let aliasesSent: Int
  let aliasBytes: Int
  let streamBytes: Int
  let maximumPacketSize: Int
  let keepAlive: UInt16
  let deliversParts: Bool
  let holdsMessages: Bool
  let allowsFallback: Bool
  /// The first connection begins a new session, whatever there was.
  let beginsNewSession: Bool
  let firstIdentifier: UInt16

  // The application.
  let holdPercent: Int
  let refusePercent: Int
  let quietPercent: Int
  let specialPercent: Int
  /// How much of its turns it takes to do what.
  let publishWeight: Int
  let eventWeight: Int
  let acknowledgeWeight: Int
  let requestWeight: Int
  let leaveWeight: Int
  let largest: Int

  init(_ chance: inout SeededRandom, _ version: ProtocolVersion, fallsBack: Bool) {
    let isTiny = chance.percent(40)
    outboxBytes = isTiny ? chance.pick([64, 70, 100, 150]) : chance.pick([150, 300, 1000, 4096])
    outboxMessages = isTiny ? chance.from(1...3) : chance.pick([2, 5, 8, 32])
    hasPolicies = chance.percent(40)
    urgentMessages = hasPolicies ? chance.pick([1, 2, 5]) : 0
    urgentBytes = hasPolicies ? chance.pick([64, 100, 1000]) : 0
    receiveBytes = chance.percent(50) ? chance.from(64...130) : chance.pick([200, 300, 1024])
    inFlightMaximum = chance.pick([1, 2, 3, 8, 65_535])
    receiveMaximum = chance.pick([1, 1, 2, 3, 8, 20])
    controlBytes = chance.pick([64, 64, 70, 100, 512])
    requests = chance.pick([1, 2, 8])
    subscribeBytes = chance.pick([64, 100, 1024])
    aliasesReceived = chance.pick([0, 0, 1, 2, 5])
    aliasesSent = chance.pick([0, 0, 1, 2, 5])
    aliasBytes = chance.pick([5, 20, 128])
    streamBytes = chance.pick([0, 64, 200])
    deliversParts = chance.percent(40)
    holdsMessages = chance.percent(25)
    let limits = [0, 0, receiveBytes, receiveBytes + 50, 2 * receiveBytes]
    maximumPacketSize = version == .v5_0 ? chance.pick(limits) : 0
    keepAlive = chance.pick([0, 0, 0, 2, 30])
    allowsFallback = fallsBack
    beginsNewSession = version == .v5_0 && chance.percent(20)
    // Now and then where the identifiers begin again.
    firstIdentifier =
      chance.percent(30) ? UInt16(65_023 - chance.below(12)) : UInt16(1 + chance.below(65_023))
    holdPercent = chance.pick([0, 0, 30, 80])
    refusePercent = version == .v5_0 && !fallsBack ? chance.pick([0, 0, 10]) : 0
    quietPercent = chance.pick([0, 20, 100])
    specialPercent = chance.pick([0, 0, 30])
    publishWeight = chance.pick([1, 5, 10])
    eventWeight = chance.pick([2, 10, 20])
    acknowledgeWeight = chance.pick([1, 5, 10])
    requestWeight = chance.pick([0, 0, 2])
    leaveWeight = chance.percent(10) ? 1 : 0
    largest = chance.pick([10, 50, 300, 300])
  }
}

/// How the server behaves.
struct ServerTraits {
  /// Which Packet Identifier it takes next.
  enum Identifiers {
    case lowest  // used again at once
    case inTurn
    case scattered  // those that a hash table could put into one place
  }

  /// QoS 1 and 2 messages in flight to a session that has not said how many it takes.
  let window: Int
  let highestQoS: Int
  let publishWeight: Int
  let largest: Int
  /// A QoS 2 message goes on to its receivers with PUBREL; else when it comes.
  let deliversOnRelease: Bool
  let refusePercent: Int
  let sessionLossPercent: Int
  let limitPercent: Int
  let unavailablePercent: Int
  let hasSmallWindow: Bool
  let aliases: Int
  let identifiers: Identifiers

  init(_ chance: inout SeededRandom, _ client: ClientTraits, hasWindow: Bool) {
    // Without QoS 2 a session before 5.0 can take any number: the link waits.
    highestQoS = chance.pick([1, 2, 2, 2])
    let isBoundless = !hasWindow && highestQoS == 1 && chance.percent(50)
    window = isBoundless ? 30 : chance.from(1...client.receiveMaximum)
    publishWeight = chance.pick([0, 5, 10])
    largest = chance.pick([10, client.receiveBytes, 3 * client.receiveBytes])
    deliversOnRelease = chance.percent(50)
    refusePercent = hasWindow ? chance.pick([0, 0, 15]) : 0
    sessionLossPercent = chance.pick([0, 0, 0, 10, 40])
    limitPercent = hasWindow ? chance.pick([0, 0, 0, 30]) : 0
    unavailablePercent = chance.pick([0, 0, 10])
    hasSmallWindow = chance.percent(50)
    aliases = chance.pick([0, 0, 1, 3])
    identifiers = chance.pick([.lowest, .lowest, .inTurn, .scattered])
  }
}
