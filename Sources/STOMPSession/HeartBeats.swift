import STOMPWire
import Storage

/// "Heart-beating": what was agreed in both directions, and when something is due. Bytes are life, not frames.
struct HeartBeats: BitwiseCopyable {
  /// What this side can do, and wants.
  let own: HeartBeat
  /// Milliseconds after which something has to be sent; 0: never.
  private var sendGap: UInt32 = 0
  /// Milliseconds after which the server is dead; 0: never.
  private var deadGap: UInt32 = 0
  /// What was agreed in both directions; 0: nothing.
  private(set) var agreed = HeartBeat.none
  private var lastSent = Instant(milliseconds: 0)
  private var lastHeard = Instant(milliseconds: 0)

  init(_ own: HeartBeat) { self.own = own }

  /// CONNECTED came.
  mutating func agree(with server: HeartBeat, at now: Instant) {
    let sends = own.agreed(with: server)
    let hears = server.agreed(with: own)
    agreed = HeartBeat(sends: sends, wants: hears)
    // "the sender MUST send new data at least every n milliseconds": timers are late, and networks delay.
    sendGap = sends &- sends / 5
    // "the receiver SHOULD be tolerant and take into account an error margin": after CONNECTED, ActiveMQ is silent for twice
    // the time that it promises, and a few milliseconds.
    let promised = min(hears, 0x2000_0000)
    deadGap = promised &* 2 &+ promised / 2
    lastSent = now
    lastHeard = now
  }

  /// Something is due at some time, in one direction at least.
  var areAgreed: Bool { sendGap | deadGap != 0 }

  mutating func stop() { (sendGap, deadGap) = (0, 0) }

  mutating func sent(at now: Instant) { lastSent = now }
  mutating func heard(at now: Instant) { lastHeard = now }

  func isDue(at now: Instant) -> Bool { sendDeadline?.isReached(at: now) ?? false }
  func isDead(at now: Instant) -> Bool { deadDeadline?.isReached(at: now) ?? false }

  var sendDeadline: Instant? { sendGap == 0 ? nil : lastSent.advanced(by: sendGap) }
  var deadDeadline: Instant? { deadGap == 0 ? nil : lastHeard.advanced(by: deadGap) }
}
