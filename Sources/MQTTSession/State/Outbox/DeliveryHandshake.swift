import MQTTWire

/// The state of a message in the outbox (§4.3).
///
///                  transmitted            PUBACK
///     queued ──────────────────▶ sent ──────────────▶ completed          QoS 1
///       │                         │ PUBREC           PUBCOMP
///       │ QoS 0: transmitted      └────▶ pubrelSent ───────▶ completed   QoS 2
///       └──────────▶ completed
///
/// `reserved` comes before `queued` while the application writes the payload. `completed` lasts until the
/// application has taken the completion; then the slot is `free`.
enum DeliveryState: UInt8, BitwiseCopyable {
  case reserved
  case queued
  case sent  // QoS 1: awaiting PUBACK; QoS 2: awaiting PUBREC
  case pubrelSent  // QoS 2: PUBREC came, PUBREL sent, awaiting PUBCOMP
  case completed
  case free

  /// Whether the message is not complete.
  var isOpen: Bool { rawValue < Self.completed.rawValue }

  /// Whether PUBLISH is to be sent, or may have to be resent.
  var mayBePublished: Bool { rawValue <= Self.sent.rawValue }
}

/// The table of the sender's side: what an acknowledgement does to a message (§4.3.2, §4.3.3). Everything
/// about QoS 1 and 2 that depends on the order of packets is decided here.
enum DeliveryHandshake {
  enum Step: BitwiseCopyable {
    case complete
    case refuse
    case sendPubrel  // becomes `pubrelSent`, and PUBREL is sent [MQTT-4.3.3-4]
    case resendPubrel  // PUBREL is sent once more
    case wait  // a server may repeat PUBREC before our PUBLISH comes again; it will acknowledge that one, too
    case unknown  // nothing waits for it
    case violation  // a packet that can't come here: Protocol Error
  }

  @inline(__always)
  static func step(
    qos: QoS, state: DeliveryState, on packet: ControlPacketType, isRefusal: Bool
  ) -> Step {
    switch (qos, state, packet, isRefusal) {
    case (.atLeastOnce, .sent, .puback, false): .complete
    case (.atLeastOnce, .sent, .puback, true): .refuse  // [MQTT-4.4.0-2]
    case (.exactlyOnce, .sent, .pubrec, false): .sendPubrel
    case (.exactlyOnce, .sent, .pubrec, true): .refuse  // [MQTT-4.3.3-9]: the id is free again
    case (.exactlyOnce, .pubrelSent, .pubrec, false): .resendPubrel
    case (.exactlyOnce, .pubrelSent, .pubcomp, false): .complete
    // "Packet Identifier not found": the server has no PUBREL to wait for, so it has the message.
    case (.exactlyOnce, .pubrelSent, .pubcomp, true): .complete
    case (_, .queued, _, _): .wait
    case (_, .completed, _, _), (_, .free, _, _), (_, .reserved, _, _): .unknown
    default: .violation
    }
  }
}
