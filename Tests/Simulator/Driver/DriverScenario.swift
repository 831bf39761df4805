import MQTTWire
import TestSupport

/// What a run has only if it is asked for.
struct Hardships: Sendable {
  /// The server may send more QoS 2 messages, in a session that it kept, than a client has places for.
  var hasBacklog = false
  /// A thread that submits may be stopped between its two steps.
  var stopsThreads = false
}

/// What a run of drivers is like; decided before it begins.
struct DriverScenario {
  let programs: [ProgramTraits]
  let server: BrokerTraits
  let topics: [[UInt8]]
  /// How long things go wrong, in milliseconds.
  let length: Int
  /// The mean time between two faults; 0: nothing goes wrong.
  let faultPace: Int
  /// One way, in milliseconds.
  let latency: ClosedRange<Int>
  /// How many bytes are on their way until a client has to wait.
  let capacity: Int
  /// How often somebody else publishes many messages at once, and at most how many.
  let bursts: Int
  let burst: Int
  /// Of a hundred transfers, how many move only a part.
  let partPercent: Int
  let clockStart: UInt32
  let stepsClock: Bool
  /// Between the two steps of submitting.
  let stopsThreads: Bool

  init(_ chance: inout SeededRandom, _ hardships: Hardships) {
    stopsThreads = hardships.stopsThreads
    topics = (0..<chance.from(1...3)).map { Array("t/\($0)".utf8) }
    length = chance.pick([300, 2000, 2000, 8000, 30_000])
    faultPace = chance.pick([0, 50, 200, 200, 1000, 5000])
    latency = chance.pick([0...0, 0...3, 1...40, 20...400])
    // A slow link is not a narrow one, too: nothing would get through in the time of a Keep Alive.
    capacity = latency.upperBound > 40 ? 1000 : chance.pick([16, 100, 1000, 65_536])
    partPercent = chance.pick([0, 0, 10, 60])
    stepsClock = chance.percent(4)
    clockStart = chance.percent(30) ? .max - UInt32(chance.below(20_000)) : UInt32(chance.below(1 << 30))
    bursts = chance.pick([0, 0, 1, 3])
    burst = chance.pick([3, 10, 40])
    let count = chance.percent(60) ? 2 : 1
    let first = ProgramTraits(&chance)
    programs = [first] + (1..<count).map { _ in ProgramTraits(&chance) }
    server = BrokerTraits(&chance, hasBacklog: hardships.hasBacklog)
  }
}

/// How a client's options are, and how its program goes about its work.
struct ProgramTraits {
  enum Style { case loop, waiting }

  let style: Style
  let version: ProtocolVersion
  let fallback: Bool
  let keepsSession: Bool
  let url: String
  let shuffles: Bool
  let redirects: Bool
  let asksCredentials: Bool
  let asksAddresses: Bool
  let reconnects: Bool
  let connectTimeout: UInt32
  let shortest: UInt32
  let longest: UInt32
  let jitter: UInt32
  let stableTime: UInt32
  let keepAlive: UInt32
  let pingTimeout: UInt32
  let ackTimeout: UInt32
  let writeTimeout: UInt32
  let outboxBytes: UInt32
  let outboxMessages: UInt32
  let receiveBytes: UInt32
  let receiveMaximum: UInt32
  let unreleasedMaximum: UInt32
  let inFlightMaximum: UInt32
  let urgentMessages: UInt32
  let replies: UInt32
  let addresses: UInt32
  let aliases: UInt32
  let submitMessages: UInt32
  let threads: Int
  let holds: Bool
  let onlyConnected: Bool
  let isLogged: Bool
  let firstIdentifier: UInt32

  // The program.
  let messages: Int
  /// Milliseconds between two things it does, at most.
  let pace: Int
  let largest: Int
  let quietPercent: Int
  let expiryPercent: Int
  let leavePercent: Int
  let hintPercent: Int
  /// Of a hundred turns, after how many it does not look for a while.
  let slowPercent: Int
  let subscribedQoS: UInt8
  let subscribesAll: Bool

  init(_ chance: inout SeededRandom) {
    style = chance.percent(50) ? .loop : .waiting
    version = chance.percent(60) ? .v5_0 : .v3_1_1
    fallback = version == .v5_0 && chance.percent(10)
    keepsSession = chance.percent(85)
    let servers = chance.pick([1, 1, 1, 2, 3])
    let numeric = chance.percent(30)
    url = "mqtt://" + (0..<servers).map { numeric ? "10.0.0.\($0)" : "s\($0)" }.joined(separator: ",")
    shuffles = chance.percent(50)
    redirects = version == .v5_0 && chance.percent(60)
    asksCredentials = chance.percent(10)
    asksAddresses = chance.percent(10)
    reconnects = chance.percent(85)
    connectTimeout = chance.pick([3000, 5000, 0, .max])
    shortest = chance.pick([10, 50, 300, 1000])
    longest = max(shortest, chance.pick([10, 400, 2000, 10_000]))
    jitter = chance.pick([0, 1, 2, 3])
    stableTime = chance.pick([1, 100, 1000, 5000])
    keepAlive = chance.pick([.max, 1, 3, 30])
    pingTimeout = chance.pick([300, 1000, 10_000])
    ackTimeout = chance.pick([3000, 10_000, 0])
    writeTimeout = chance.pick([2000, 10_000, 0])
    outboxBytes = chance.pick([256, 600, 4096])
    outboxMessages = chance.pick([1, 3, 8, 64])
    receiveBytes = chance.pick([256, 300, 1024])
    receiveMaximum = chance.pick([1, 2, 4, 20])
    unreleasedMaximum = chance.pick([0, 0, 1, 2, 5])
    inFlightMaximum = chance.pick([0, 1, 2, 10])
    urgentMessages = chance.pick([0, 0, 2])
    replies = version == .v5_0 && !fallback ? chance.pick([0, 2, 3]) : 0
    addresses = chance.pick([0, 1, 2, 5])
    aliases = version == .v5_0 ? chance.pick([0, 0, 2]) : 0
    submitMessages = chance.pick([0, 1, 4, 16])
    threads = submitMessages > 0 ? chance.from(1...3) : 0
    holds = chance.percent(25)
    onlyConnected = chance.percent(10)
    isLogged = chance.percent(40)
    firstIdentifier = chance.percent(30) ? UInt32(65_023 - chance.below(8)) : UInt32(chance.below(60_000))
    messages = chance.pick([2, 6, 15, 30])
    pace = chance.pick([5, 20, 100, 500])
    largest = chance.pick([8, 40, 120])
    quietPercent = chance.pick([0, 0, 40])
    expiryPercent = chance.pick([0, 0, 30])
    leavePercent = chance.pick([0, 0, 1, 3])
    hintPercent = chance.pick([0, 0, 10])
    slowPercent = chance.pick([0, 0, 5, 30])
    subscribedQoS = UInt8(chance.pick([1, 2, 2, 0]))
    subscribesAll = chance.percent(80)
  }

  /// How many QoS 2 messages there is a place for, as the header says of `unreleased_maximum`.
  var unreleased: Int {
    if unreleasedMaximum > 0 { return Int(unreleasedMaximum) }
    return keepsSession ? 65_535 : Int(receiveMaximum)
  }
}

/// How the server behaves.
struct BrokerTraits {
  /// In a session that it kept it sends all it has at once, whatever it was told.
  let floods: Bool
  let hasBacklog: Bool
  let window: Int
  let ownMaximum: Int
  let refusePercent: Int
  let redirectPercent: Int
  let stopsSpeaking: Bool
  let highestAddresses: Int

  init(_ chance: inout SeededRandom, hasBacklog: Bool) {
    self.hasBacklog = hasBacklog
    floods = chance.percent(hasBacklog ? 80 : 30)
    window = chance.pick([1, 3, 20])
    ownMaximum = chance.pick([1, 3, 20, 65_535])
    refusePercent = chance.pick([0, 0, 5, 20])
    redirectPercent = chance.pick([0, 0, 10, 40])
    stopsSpeaking = chance.percent(50)
    highestAddresses = chance.from(1...4)
  }
}
