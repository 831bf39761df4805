import MQTTWire
import Storage

/// The Session State (§4.1) and the events that the application has not taken yet: what outlives a
/// connection.
struct SessionState: ~Copyable {
  var outbox: Outbox
  /// The priority queue: messages that go first; empty: there is no room for such.
  var urgent: OptionalSlot<Outbox>
  var inbox: Inbox
  var subscribeQueue: SubscribeQueue
  var subscriptions: SubscriptionTable
  var responses: PendingResponses
  var expiry = ExpiryClock()
  /// When `timedOut` found that a response was overdue.
  var overdueAt: Instant? = nil
  /// The subscription whose loss is reported by the event that was handed out last.
  var lostSubscription: UInt16? = nil
  /// How many QoS 1 and 2 messages were sent; wraps.
  var order: UInt16 = 0

  init(
    _ options: borrowing SessionOptions, plan: borrowing SessionPlan, block: borrowing Arena, random: UInt32
  ) {
    outbox = Outbox(
      bytes: block.region(plan.outbox), descriptors: block.table(plan.descriptors),
      prefix: block.region(plan.prefix),
      aliases: SentAliases(
        plan.aliasesSent, topics: block.region(plan.topicsSent), topicBytes: options.aliasBytes, in: block),
      references: ReferenceTable(block.table(plan.references)),
      latest: LatestChains(block.table(plan.latest)),
      expiries: block.table(plan.expiries), stored: plan.journal.stored(in: block, isUrgent: false),
      messages: options.outboxMessages, identifiers: .messages,
      random: UInt16(truncatingIfNeeded: random))
    urgent = OptionalSlot(plan.urgent, in: block, if: Feature.hasUrgent) {
      Outbox(
        bytes: block.region(plan.urgentBytes), descriptors: block.table(plan.urgentDescriptors),
        prefix: block.region(plan.none),
        aliases: SentAliases(
          plan.noAliases, topics: block.region(plan.none), topicBytes: 0, in: block),
        references: ReferenceTable(block.table(plan.noReferences)),
        latest: LatestChains(block.table(plan.urgentLatest)), expiries: block.table(plan.urgentExpiries),
        stored: plan.journal.stored(in: block, isUrgent: true), messages: options.urgentMessages,
        identifiers: .urgent,
        random: UInt16(truncatingIfNeeded: random >> 16))
    }
    inbox = Inbox(
      ring: block.table(plan.inbox), links: block.table(plan.inboxLinks),
      awaitingPubrel: IdentifierSet(slots: block.table(plan.awaitingPubrel)))
    subscribeQueue = SubscribeQueue(
      bytes: block.region(plan.subscribeBytes), table: block.table(plan.subscribeQueue))
    subscriptions = SubscriptionTable(plan.subscriptions, in: block)
    responses = PendingResponses(entries: block.table(plan.responses), mark: random)
  }

  /// There is room for urgent messages.
  var hasUrgent: Bool {
    @inline(__always) get { Feature.hasUrgent && !urgent.isEmpty }
  }

  /// Whether every message, SUBSCRIBE and UNSUBSCRIBE is complete.
  var isDrained: Bool {
    outbox.incomplete == 0 && (!hasUrgent || urgent.element.incomplete == 0)
      && subscribeQueue.incomplete == 0
  }

  /// How many PUBLISH, PUBREL, SUBSCRIBE and UNSUBSCRIBE packets are wholly sent and not acknowledged.
  var unacknowledged: Int {
    outbox.unacknowledged &+ (hasUrgent ? urgent.element.unacknowledged : 0) &+ subscribeQueue.incomplete
      &- subscribeQueue.queued
  }

  /// The second in which the first message expires; `nil` if none does.
  var earliestExpiry: UInt32? {
    guard Feature.hasExpiry else { return nil }
    guard hasUrgent, let second = urgent.element.nextExpiry else { return outbox.nextExpiry }
    return min(second, outbox.nextExpiry ?? second)
  }

  /// Whether a part of an urgent message is sent, so that the rest of it is next.
  var isInsideUrgent: Bool { hasUrgent && urgent.element.isInsidePacket }

  mutating func advance(to now: Instant) {
    outbox.advance(to: now)
    if hasUrgent { urgent.element.advance(to: now) }
  }

  /// Has to be called before an acknowledgement removes something.
  mutating func recordPeaks() {
    outbox.recordPeaks()
    if hasUrgent { urgent.element.recordPeaks() }
  }

  /// Completes the messages that have expired.
  mutating func expire(quota: inout SendQuota) {
    guard Feature.hasExpiry else { return }
    outbox.expire(at: expiry.seconds, quota: &quota)
    if hasUrgent { urgent.element.expire(at: expiry.seconds, quota: &quota) }
  }

  /// Keeps the Session State when the connection is lost [MQTT-4.1.0-1].
  mutating func connectionLost(dropsAtMostOnce: Bool, dropsSubscribes: Bool) {
    outbox.connectionLost()
    if dropsAtMostOnce || DropIn.isOn { outbox.dropAtMostOnce() }
    if hasUrgent {
      urgent.element.connectionLost()
      if dropsAtMostOnce { urgent.element.dropAtMostOnce() }
    }
    if dropsSubscribes { subscribeQueue.removeAll() } else { subscribeQueue.connectionLost() }
    subscriptions.connectionLost()
  }

  /// Prepares to resend what is not complete on a new connection, depending on whether the server has kept
  /// the session (§4.4).
  mutating func connected(
    _ version: ProtocolVersion, sessionPresent: Bool, repeatsExactlyOnce: Bool, quota: inout SendQuota,
    limits: ServerLimits
  ) {
    outbox.connected(
      version, sessionPresent: sessionPresent, repeatsExactlyOnce: repeatsExactlyOnce, order: order,
      quota: &quota, limits: limits)
    if hasUrgent {
      urgent.element.connected(
        version, sessionPresent: sessionPresent, repeatsExactlyOnce: repeatsExactlyOnce, order: order,
        quota: &quota, limits: limits)
    }
    subscribeQueue.connected(version, limits: limits)
  }
}
