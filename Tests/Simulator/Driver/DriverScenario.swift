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

  init(_ random: inout SeededRandom, _ hardships: Hardships) {
    stopsThreads = hardships.stopsThreads
    topics = (0..<random.from(1...3)).map { "t/\($0)".bytes }
    length = random.pick([300, 2000, 2000, 8000, 30_000])
    faultPace = random.pick([0, 50, 200, 200, 1000, 5000])
    latency = random.pick([0...0, 0...3, 1...40, 20...400])
    // A slow link is not a narrow one, too: nothing would get through in the time of a Keep Alive.
    capacity = latency.upperBound > 40 ? 1000 : random.pick([16, 100, 1000, 65_536])
    partPercent = random.pick([0, 0, 10, 60])
    stepsClock = random.percent(4)
    clockStart = random.percent(30) ? .max - UInt32(random.below(20_000)) : UInt32(random.below(1 << 30))
    bursts = random.pick([0, 0, 1, 3])
    burst = random.pick([3, 10, 40])
    let count = random.percent(60) ? 2 : 1
    let first = ProgramTraits(&random)
    programs = [first] + (1..<count).map { _ in ProgramTraits(&random) }
    server = BrokerTraits(&random, hasBacklog: hardships.hasBacklog)
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

  init(_ random: inout SeededRandom) {
    style = random.percent(50) ? .loop : .waiting
    version = random.percent(60) ? .v5_0 : .v3_1_1
    fallback = version == .v5_0 && random.percent(10)
    keepsSession = random.percent(85)
    let servers = random.pick([1, 1, 1, 2, 3])
    let numeric = random.percent(30)
    url = "mqtt://" + (0..<servers).map { numeric ? "10.0.0.\($0)" : "s\($0)" }.joined(separator: ",")
    shuffles = random.percent(50)
    redirects = version == .v5_0 && random.percent(60)
    asksCredentials = random.percent(10)
    asksAddresses = random.percent(10)
    reconnects = random.percent(85)
    connectTimeout = random.pick([3000, 5000, 0, .max])
    shortest = random.pick([10, 50, 300, 1000])
    longest = max(shortest, random.pick([10, 400, 2000, 10_000]))
    jitter = random.pick([0, 1, 2, 3])
    stableTime = random.pick([1, 100, 1000, 5000])
    keepAlive = random.pick([.max, 1, 3, 30])
    pingTimeout = random.pick([300, 1000, 10_000])
    ackTimeout = random.pick([3000, 10_000, 0])
    writeTimeout = random.pick([2000, 10_000, 0])
    outboxBytes = random.pick([256, 600, 4096])
    outboxMessages = random.pick([1, 3, 8, 64])
    receiveBytes = random.pick([256, 300, 1024])
    receiveMaximum = random.pick([1, 2, 4, 20])
    unreleasedMaximum = random.pick([0, 0, 1, 2, 5])
    inFlightMaximum = random.pick([0, 1, 2, 10])
    urgentMessages = random.pick([0, 0, 2])
    replies = version == .v5_0 && !fallback ? random.pick([0, 2, 3]) : 0
    addresses = random.pick([0, 1, 2, 5])
    aliases = version == .v5_0 ? random.pick([0, 0, 2]) : 0
    submitMessages = random.pick([0, 1, 4, 16])
    threads = submitMessages > 0 ? random.from(1...3) : 0
    holds = random.percent(25)
    onlyConnected = random.percent(10)
    isLogged = random.percent(40)
    firstIdentifier = random.percent(30) ? UInt32(65_023 - random.below(8)) : UInt32(random.below(60_000))
    messages = random.pick([2, 6, 15, 30])
    pace = random.pick([5, 20, 100, 500])
    largest = random.pick([8, 40, 120])
    quietPercent = random.pick([0, 0, 40])
    expiryPercent = random.pick([0, 0, 30])
    leavePercent = random.pick([0, 0, 1, 3])
    hintPercent = random.pick([0, 0, 10])
    slowPercent = random.pick([0, 0, 5, 30])
    subscribedQoS = UInt8(random.pick([1, 2, 2, 0]))
    subscribesAll = random.percent(80)
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

  init(_ random: inout SeededRandom, hasBacklog: Bool) {
    self.hasBacklog = hasBacklog
    floods = random.percent(hasBacklog ? 80 : 30)
    window = random.pick([1, 3, 20])
    ownMaximum = random.pick([1, 3, 20, 65_535])
    refusePercent = random.pick([0, 0, 5, 20])
    redirectPercent = random.pick([0, 0, 10, 40])
    stopsSpeaking = random.percent(50)
    highestAddresses = random.from(1...4)
  }
}
