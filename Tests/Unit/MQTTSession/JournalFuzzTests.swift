import MQTTSession
import MQTTWire
import TestSupport
import Testing

/// Messages of both directions, cuts, crashes and commits that fail, in any order: what was stored arrives,
/// and what has QoS 2 arrives once.
@Suite struct JournalFuzzTests {
  /// A server that forgets nothing.
  struct Server {
    /// QoS 2 messages that came and were not released.
    var known: Set<UInt16> = []
    /// How often each message came.
    var received: [[UInt8]: Int] = [:]
    /// Messages for the client that are not complete, by identifier.
    var sent: [UInt16: (payload: [UInt8], isReleased: Bool)] = [:]
    var toClient: [[UInt8]] = []
    private let version: ProtocolVersion
    private var nextIdentifier: UInt16 = 1

    init(_ version: ProtocolVersion) { self.version = version }

    mutating func handle(_ packet: [UInt8]) {
      switch packet[0] >> 4 {
      case 3:
        let message = ReadPublish(packet, version)
        switch message.qos {
        case 1: toClient.append(puback(message.identifier))
        default:
          toClient.append(pubrec(message.identifier))
          if !known.insert(message.identifier).inserted { return }
        }
        received[message.payload, default: 0] += 1
      case 6:
        known.remove(UInt16(packet[2]) << 8 | UInt16(packet[3]))
        toClient.append(pubcomp(UInt16(packet[2]) << 8 | UInt16(packet[3])))
      case 5:
        let identifier = UInt16(packet[2]) << 8 | UInt16(packet[3])
        guard sent[identifier] != nil else { return }
        sent[identifier]!.isReleased = true
        toClient.append(pubrel(identifier))
      case 7: sent[UInt16(packet[2]) << 8 | UInt16(packet[3])] = nil
      default: break
      }
    }

    /// Sends a message of QoS 2, with one of few identifiers: each is soon used again.
    mutating func send(_ payload: [UInt8]) -> Bool {
      let identifier = nextIdentifier
      guard sent[identifier] == nil else { return false }
      nextIdentifier = nextIdentifier % 4 + 1
      sent[identifier] = (payload, false)
      toClient.append(publish(version, "s", payload, qos: .exactlyOnce, identifier: identifier))
      return true
    }

    mutating func reconnected() {
      toClient = sent.sorted { $0.key < $1.key }.map { identifier, message in
        message.isReleased
          ? pubrel(identifier)
          : publish(version, "s", message.payload, qos: .exactlyOnce, identifier: identifier, duplicate: true)
      }
    }
  }

  final class Run {
    private var random: SeededRandom
    private let version: ProtocolVersion
    private let journal: JournalHarness
    private var server: Server
    private var toServer: [[UInt8]] = []
    private var isConnected = false
    private var number: UInt8 = 0
    private var count = 0
    /// What was published, and whether that was durable once.
    private var published: [[UInt8]: (qos: QoS, isStored: Bool)] = [:]
    /// What was published by this process.
    private var isOfThisProcess: Set<[UInt8]> = []
    private var delivered: [[UInt8]: Int] = [:]
    /// What the client has handed out since the journal last had all.
    private var uncertain: Set<[UInt8]> = []
    private var mayComeTwice: Set<[UInt8]> = []
    private(set) var crashes = 0

    init(seed: UInt64) throws {
      random = SeededRandom(seed: seed)
      version = random.pick(bothVersions)
      journal = try JournalHarness(version, blocks: UInt32(SeededRandom(seed: seed ^ 1).first(20...40)))
      server = Server(version)
    }

    private func unique() -> [UInt8] {
      count += 1
      return "\(count)".bytes
    }

    func run() throws {
      for _ in 0..<200 { try step() }
      // Peace: everything arrives.
      for _ in 0..<400 {
        if !isConnected { connect() }
        journal.commit()
        exchange()
        if server.sent.isEmpty, journal.session.isDrained { break }
      }
      #expect(server.sent.isEmpty && journal.session.isDrained)
      for (payload, message) in published {
        let times = server.received[payload] ?? 0
        if message.qos == .exactlyOnce { #expect(times <= 1, "\(payload) came \(times) times") }
        if message.isStored { #expect(times >= 1, "\(payload) was stored, and is lost") }
      }
      for (payload, times) in delivered where times > 1 {
        #expect(mayComeTwice.contains(payload), "\(payload) was handed out \(times) times")
      }
    }

    private func step() throws {
      switch random.below(16) {
      case 0...3:
        let qos = random.pick([QoS.atLeastOnce, .exactlyOnce, .exactlyOnce])
        let payload = unique()
        guard (try? journal.session.publish("c", payload, qos: qos, isQuiet: random.percent(50))) != nil
        else { return }
        published[payload] = (qos, false)
        isOfThisProcess.insert(payload)
      case 4: if server.send(unique()) {}
      case 5: if !journal.write() { noteStored() }
      case 6, 7: if !journal.pending.isEmpty { journal.sync() }
      case 8: if !journal.pending.isEmpty, random.percent(40) { journal.fail(arrived: random.percent(50)) }
      case 9:
        journal.commit()
        noteStored()
      case 10...12: exchange()
      case 13: if isConnected, random.percent(50) { cut() }
      case 14: if !isConnected { connect() }
      default:
        guard random.percent(40) else { return }
        try journal.crash(arrived: random.percent(50))
        crashes += 1
        isOfThisProcess = []
        mayComeTwice.formUnion(uncertain)
        isConnected = false
        toServer = []
        server.toClient = []
      }
    }

    /// All that was published is durable, unless a commit is on its way.
    private func noteStored() {
      guard journal.session.isJournalCurrent else { return }
      for payload in isOfThisProcess { published[payload]!.isStored = true }
      uncertain = []
    }

    private func connect() {
      journal.session.connect(sessionPresent: true)
      isConnected = true
      server.reconnected()
      takeEvents()
    }

    private func cut() {
      journal.session.lose()
      isConnected = false
      toServer = []
      server.toClient = []
    }

    /// Some packets of both sides arrive.
    private func exchange() {
      guard isConnected else { return }
      toServer += packets(journal.session.drain())
      for _ in 0..<random.from(0...toServer.count) where !toServer.isEmpty {
        server.handle(toServer.removeFirst())
      }
      for _ in 0..<random.from(0...server.toClient.count) where !server.toClient.isEmpty {
        journal.session.receive(server.toClient.removeFirst())
        takeEvents()
      }
      toServer += packets(journal.session.drain())
    }

    private func takeEvents() {
      for event in journal.session.events() {
        if case .message(let message) = event {
          delivered[message.payload, default: 0] += 1
          uncertain.insert(message.payload)
        }
      }
    }
  }

  @Test(arguments: 1...300)
  func anyHistory(seed: UInt64) throws {
    let run = try Run(seed: seed)
    try run.run()
  }
}

extension SeededRandom {
  fileprivate func first(_ range: ClosedRange<Int>) -> Int {
    var copy = self
    return copy.from(range)
  }
}
