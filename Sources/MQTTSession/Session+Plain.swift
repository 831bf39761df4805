public import Storage
public import MQTTWire

/// A message that came whole, without properties and under its own topic.
public struct PlainMessage: BitwiseCopyable {
  /// In `Session.receivedBytes`, until the event is released.
  public var topic = ByteRange.empty
  public var payload = ByteRange.empty
  public var qos = QoS.atMostOnce
  public var retain = false
  /// What it is acknowledged by; 0: nothing to acknowledge.
  public var token: UInt32 = 0
}

extension MessageEvent {
  /// The same message as the long way tells it.
  public init(_ message: PlainMessage) {
    topic = message.topic
    isTopicAliased = false
    payload = message.payload
    payloadOffset = 0
    payloadSize = message.payload.count
    isFirst = true
    isLast = true
    isOversize = false
    properties = .empty
    qos = message.qos
    retain = message.retain
    duplicate = false
    subscriptionIdentifier = 0
    token = message.token
    replyCookie = nil
  }
}

/// What a message has to be like to be published the short way, so that one look at it tells. It follows from the state of
/// the session, and is worked out anew when that changes.
struct FastPathLimits: BitwiseCopyable, Equatable {
  /// Of `MessageFlags`.
  var allowed: UInt32 = 0
  /// Of a packet, in bytes; 0: none may go.
  var maximumSize: UInt16 = 0
  /// How many bytes of properties a packet has: their length alone, or not even that.
  var propertyBytes: UInt8 = 0
}

/// The short way for what comes most: messages and acknowledgements that say nothing special. It does what the long way
/// does, and where it does not apply it changes nothing and leaves the packet to that.
extension Session {
  // MARK: Things the application wants

  /// Takes a message into the outbox that is no more than topic and payload. False: nothing has changed, and `publish`
  /// says what is the matter, or takes it.
  @inline(__always)
  public mutating func publishPlain(
    topic: Span<UInt8>, payload: Span<UInt8>, _ flags: MessageFlags, cookie: UInt64
  ) -> Bool {
    assert(fastPathLimits == currentFastPathLimits)
    guard flags.bits & ~fastPathLimits.allowed == 0, flags.bits & 3 != 3, TopicName.isValid(topic),
      outbox.appendPlain(topic: topic, payload: payload, flags, cookie: cookie, fastPathLimits)
    else { return false }
    counters.messagesPublished.increment()
    return true
  }

  /// Something has changed that decides what goes the short way.
  @inline(never)
  mutating func updateFastPath() {
    fastPathLimits = currentFastPathLimits
    isFastPathOpen = fastPathIsPossible
  }

  var fastPathIsPossible: Bool {
    phase == .connected && !isPeerGone && incoming == nil && view == nil && lostSubscription == nil
      && replyCheck == nil && urgent.isEmpty
  }

  var currentFastPathLimits: FastPathLimits {
    guard !isLeaving, !needsConnection || phase == .connected else { return FastPathLimits() }
    var allowed: UInt32 = MessageFlags.Flag.isQuiet.bit
    if limits.retainAvailable { allowed |= MessageFlags.Flag.retain.bit }
    if limits.maximumQoS > 0 { allowed |= 1 }
    if limits.maximumQoS > 1 { allowed |= 2 }
    return FastPathLimits(
      allowed: allowed,
      maximumSize: UInt16(
        truncatingIfNeeded: min(Outbox.plainMaximum, min(limits.maximumPacketSize, outbox.byteCapacity))),
      propertyBytes: acceptedVersion.hasProperties ? 1 : 0)
  }

  // MARK: Things that happened

  /// Works through acknowledgements of four bytes, as long as nothing else comes.
  mutating func parsePlainAcknowledgements() {
    guard phase == .connected, incoming == nil, !isPeerGone else { return }
    var count = 0
    while let (type, identifier) = receiver.plainAcknowledgement, handlePlain(type, identifier) {
      receiver.consume(Acknowledgement.plainSize)
      count &+= 1
    }
    guard count > 0 else { return }
    counters.packetsReceived.add(count)
    answered()
  }

  @inline(__always)
  private mutating func handlePlain(_ type: UInt8, _ identifier: PacketIdentifier) -> Bool {
    switch type {
    case Acknowledgement.pubackFirstByte:
      return outbox.completePlain(
        identifier, .atLeastOnce, hasReasonCode: version.hasProperties, quota: &quota)
    case Acknowledgement.pubcompFirstByte:
      return outbox.completePlain(identifier, .exactlyOnce, hasReasonCode: false, quota: &quota)
    case Acknowledgement.pubrecFirstByte:
      guard control.hasRoom, outbox.releasePlain(identifier, hasReasonCode: version.hasProperties) else {
        return false
      }
      control.appendPlain(Acknowledgement.pubrelFirstByte, identifier)
      return true
    case Acknowledgement.pubrelFirstByte:
      guard !DropIn.isOn, control.hasRoom, !inbox.hasPending, inbox.released(identifier) else { return false }
      control.appendPlain(Acknowledgement.pubcompFirstByte, identifier)
      return true
    default:
      return false
    }
  }

  // MARK: Outputs

  /// `nextPlainCompletion` is worth asking.
  @inline(__always)
  public var hasCompletion: Bool { outbox.hasCompletion }

  /// The next event, if it is that a message has arrived, without anything special, and nothing has to be told before it.
  @inline(__always)
  public mutating func nextPlainCompletion() -> Completion? {
    guard isFastPathOpen, !eventIsBorrowed, outbox.hasPlainCompletion else { return nil }
    return outbox.takeCompletion()
  }

  /// The next event, if it is a message without anything special and nothing has to be told before it: `shown`. Releases
  /// the one before. False: `nextEvent` knows.
  @inline(__always)
  public mutating func showNextPlainMessage() -> Bool {
    assert(isFastPathOpen == fastPathIsPossible)
    guard isFastPathOpen, shownSize > 0, !outbox.hasCompletion, !requests.hasFailure,
      !subscriptions.hasRefused
    else { return false }
    if isShownTaken {
      releaseShown()
      guard showPlain() else {
        parse()
        return false
      }
    }
    takeShown()
    return true
  }

  /// There is a message for which nobody has asked yet.
  var isShownWaiting: Bool { shownSize > 0 && !isShownTaken }

  @inline(__always)
  mutating func takeShown() {
    isShownTaken = true
    isViewHeld = holdsMessages
  }

  /// The application has done with the message that was handed out last.
  @inline(__always)
  mutating func releaseShown() {
    receiver.consume(shownSize)
    shownSize = 0
    isShownTaken = false
    if shown.token != 0, !isViewHeld { acceptShown() }
    isViewHeld = false
  }

  @inline(__always)
  mutating func acceptShown() {
    guard isFastPathOpen, control.hasRoom, let (identifier, qos) = inbox.takeFirst(shown.token) else {
      return acceptLater(shown.token)
    }
    control.appendPlain(
      qos == .atLeastOnce ? Acknowledgement.pubackFirstByte : Acknowledgement.pubrecFirstByte, identifier)
  }

  @inline(never)
  mutating func acceptLater(_ token: UInt32) {
    _ = inbox.accept(token, reasonCode: ReasonCode.success.rawValue)
  }

  /// Makes an event of the packet at the front, if it is as simple as that. There is no other event.
  @inline(__always)
  mutating func showPlain() -> Bool {
    guard let found = receiver.plainMessage(hasProperties: version.hasProperties),
      found.packetSize <= ownMaximumPacketSize
    else { return false }
    shown.token = 0
    if found.qos != .atMostOnce {
      guard control.hasRoom, let identifier = found.identifier,
        let token = inbox.addPlain(identifier, qos: found.qos)
      else { return false }
      shown.token = token
    }
    counters.messagesReceived.increment()
    counters.packetsReceived.increment()
    shown.topic = found.topic
    shown.payload = found.payload
    shown.qos = found.qos
    shown.retain = found.retain
    shownSize = found.packetSize
    return true
  }
}
