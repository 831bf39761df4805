public import FixedMemory
public import MQTTWire

/// A message that came whole, without properties and under its own topic.
public struct PlainMessage: BitwiseCopyable {
  /// In `Session.receivedBytes`, until the event is released.
  public let topic: Extent
  public let payload: Extent
  public let qos: QoS
  public let retain: Bool
  /// What it is acknowledged by; 0: nothing to acknowledge.
  public let serial: UInt32
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
    serial = message.serial
    replyCookie = nil
  }
}

/// The short way for what comes most: messages and acknowledgements that say nothing special. It does what the long way
/// does, and where it does not apply it changes nothing and leaves the packet to that.
extension Session {
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
    case Acknowledgement.pubackFirstByte, Acknowledgement.pubcompFirstByte:
      return outbox.completePlain(
        identifier, hasReasonCode: version.hasProperties, isPubcomp: type == Acknowledgement.pubcompFirstByte,
        quota: &quota)
    case Acknowledgement.pubrecFirstByte:
      guard control.hasRoom, outbox.releasePlain(identifier, hasReasonCode: version.hasProperties) else {
        return false
      }
      control.appendPlain(Acknowledgement.pubrelFirstByte, identifier)
      return true
    case Acknowledgement.pubrelFirstByte:
      guard control.hasRoom, !inbox.hasPending, inbox.released(identifier) else { return false }
      control.appendPlain(Acknowledgement.pubcompFirstByte, identifier)
      return true
    default:
      return false
    }
  }

  // MARK: Outputs

  /// The next event, if it is a message's completion without anything special and nothing has to be told before it.
  @inline(__always)
  public mutating func nextPlainCompletion() -> Completion? {
    guard !isDelivering, lostSubscription == nil, urgent.isEmpty, outbox.hasPlainCompletion else {
      return nil
    }
    return outbox.takeCompletion()
  }

  /// The next event, if it is a message without anything special and nothing has to be told before it. Releases the one
  /// before.
  @inline(__always)
  public mutating func nextPlainMessage() -> PlainMessage? {
    guard view == nil || isViewTaken, lostSubscription == nil, phase == .connected, incoming == nil,
      !isPeerGone,
      urgent.isEmpty, replyCheck == nil, !outbox.hasCompletion, !requests.hasFailure,
      !subscriptions.hasRefused
    else { return nil }
    let hasReleased = isHoldingBack
    if shownSize > 0 {
      releaseShown()
    } else if isViewTaken {
      releaseView()
      sendAcknowledgements()
    }
    if let message = showPlain() { return message }
    if hasReleased { parse() }
    return nil
  }

  /// The application has done with the message that was handed out last.
  @inline(__always)
  mutating func releaseShown() {
    receiver.consume(shownSize)
    shownSize = 0
    if shownSerial != 0, !isViewHeld { acceptShown() }
    isViewHeld = false
  }

  @inline(never)
  private mutating func acceptShown() {
    if phase == .connected, !isPeerGone, control.hasRoom, let (identifier, qos) = inbox.takeFirst(shownSerial)
    {
      control.appendPlain(
        qos == .atLeastOnce ? Acknowledgement.pubackFirstByte : Acknowledgement.pubrecFirstByte, identifier)
    } else {
      _ = inbox.accept(shownSerial, reasonCode: ReasonCode.success.rawValue)
    }
  }

  @inline(__always)
  private mutating func showPlain() -> PlainMessage? {
    guard control.hasRoom, let found = receiver.plainMessage(hasProperties: version.hasProperties),
      found.packetSize <= ownMaximumPacketSize
    else { return nil }
    var serial: UInt32 = 0
    if found.qos != .atMostOnce {
      guard let identifier = found.identifier, let number = inbox.addPlain(identifier, qos: found.qos) else {
        return nil
      }
      serial = number
    }
    counters.messagesReceived.increment()
    counters.packetsReceived.increment()
    shownSize = found.packetSize
    shownSerial = serial
    isViewHeld = holdsMessages
    return PlainMessage(
      topic: found.topic, payload: found.payload, qos: found.qos, retain: found.retain, serial: serial)
  }
}
