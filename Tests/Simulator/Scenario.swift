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
    "a".bytes, "t/1".bytes, "plant/7".bytes, "plant/hall 3/pump".bytes,
    [UInt8](repeating: UInt8(ascii: "L"), count: 90),
  ]

  init(_ random: inout SeededRandom) {
    shape = random.percent(60) ? .broker : .pair
    version = random.percent(65) ? .v5_0 : .v3_1_1
    let fallsBack = shape == .broker && version == .v5_0 && random.percent(10)
    fallsBackAfter = fallsBack ? random.below(4) : nil
    keepsSession = random.percent(85)
    steps = random.pick([50, 200, 400, 800])
    messages = random.pick([3, 10, 30, 60, 100])
    topics = Self.pickTopics(&random)
    cutPermille = random.pick([0, 2, 8, 8, 20, 50])
    linkCapacity = random.pick([1, 7, 60, 500, 500, 65_536])
    hastePercent = random.pick([0, 20, 50, 80])
    pace = random.pick([1, 10, 200, 3000])
    let first = ClientTraits(&random, version, fallsBack: fallsBack)
    clients = shape == .pair ? [first, ClientTraits(&random, version, fallsBack: false)] : [first]
    server = ServerTraits(&random, first, hasWindow: version == .v5_0 && !fallsBack)
  }

  private static func pickTopics(_ random: inout SeededRandom) -> [[UInt8]] {
    // The long one is above some receive buffers as a whole.
    let all = random.percent(15) ? allTopics : Array(allTopics.dropLast())
    return (0..<random.from(1...4)).map { _ in random.pick(all) }
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

  init(_ random: inout SeededRandom, _ version: ProtocolVersion, fallsBack: Bool) {
    let isTiny = random.percent(40)
    outboxBytes = isTiny ? random.pick([64, 70, 100, 150]) : random.pick([150, 300, 1000, 4096])
    outboxMessages = isTiny ? random.from(1...3) : random.pick([2, 5, 8, 32])
    hasPolicies = random.percent(40)
    urgentMessages = hasPolicies ? random.pick([1, 2, 5]) : 0
    urgentBytes = hasPolicies ? random.pick([64, 100, 1000]) : 0
    receiveBytes = random.percent(50) ? random.from(64...130) : random.pick([200, 300, 1024])
    inFlightMaximum = random.pick([1, 2, 3, 8, 65_535])
    receiveMaximum = random.pick([1, 1, 2, 3, 8, 20])
    controlBytes = random.pick([64, 64, 70, 100, 512])
    requests = random.pick([1, 2, 8])
    subscribeBytes = random.pick([64, 100, 1024])
    aliasesReceived = random.pick([0, 0, 1, 2, 5])
    aliasesSent = random.pick([0, 0, 1, 2, 5])
    aliasBytes = random.pick([5, 20, 128])
    streamBytes = random.pick([0, 64, 200])
    deliversParts = random.percent(40)
    holdsMessages = random.percent(25)
    let limits = [0, 0, receiveBytes, receiveBytes + 50, 2 * receiveBytes]
    maximumPacketSize = version == .v5_0 ? random.pick(limits) : 0
    keepAlive = random.pick([0, 0, 0, 2, 30])
    allowsFallback = fallsBack
    beginsNewSession = version == .v5_0 && random.percent(20)
    // Now and then where the identifiers begin again.
    firstIdentifier =
      random.percent(30) ? UInt16(65_023 - random.below(12)) : UInt16(1 + random.below(65_023))
    holdPercent = random.pick([0, 0, 30, 80])
    refusePercent = version == .v5_0 && !fallsBack ? random.pick([0, 0, 10]) : 0
    quietPercent = random.pick([0, 20, 100])
    specialPercent = random.pick([0, 0, 30])
    publishWeight = random.pick([1, 5, 10])
    eventWeight = random.pick([2, 10, 20])
    acknowledgeWeight = random.pick([1, 5, 10])
    requestWeight = random.pick([0, 0, 2])
    leaveWeight = random.percent(10) ? 1 : 0
    largest = random.pick([10, 50, 300, 300])
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

  init(_ random: inout SeededRandom, _ client: ClientTraits, hasWindow: Bool) {
    // Without QoS 2 a session before 5.0 can take any number: the link waits.
    highestQoS = random.pick([1, 2, 2, 2])
    let isBoundless = !hasWindow && highestQoS == 1 && random.percent(50)
    window = isBoundless ? 30 : random.from(1...client.receiveMaximum)
    publishWeight = random.pick([0, 5, 10])
    largest = random.pick([10, client.receiveBytes, 3 * client.receiveBytes])
    deliversOnRelease = random.percent(50)
    refusePercent = hasWindow ? random.pick([0, 0, 15]) : 0
    sessionLossPercent = random.pick([0, 0, 0, 10, 40])
    limitPercent = hasWindow ? random.pick([0, 0, 0, 30]) : 0
    unavailablePercent = random.pick([0, 0, 10])
    hasSmallWindow = random.percent(50)
    aliases = random.pick([0, 0, 1, 3])
    identifiers = random.pick([.lowest, .lowest, .inTurn, .scattered])
  }
}
