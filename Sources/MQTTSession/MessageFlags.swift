import MQTTWire

/// What a descriptor of the outbox says with one bit each. Not an OptionSet: that counts as an allocation
/// (docs/decisions/0007).
public struct MessageFlags: BitwiseCopyable {
  private(set) var bits: UInt32

  struct Flag: BitwiseCopyable {
    let bit: UInt32
  }

  init(qos: QoS) { bits = UInt32(qos.rawValue) }

  init(qos: QoS, retain: Bool, isQuiet: Bool) {
    self.init(qos: qos)
    set(.retain, retain)
    set(.isQuiet, isQuiet)
  }

  /// QoS, retain and quiet as they lie in `smq_message`, one byte each from the lowest on. Whether anything else is set
  /// there, `FastPathLimits` sees.
  @inline(__always)
  public init(plain bits: UInt32) { self.bits = bits }

  var qos: QoS {
    switch bits & 3 {
    case 0: .atMostOnce
    case 1: .atLeastOnce
    default: .exactlyOnce
    }
  }

  /// Its end is no more than that of any message, and this is its QoS.
  @inline(__always)
  func isPlain(_ qos: QoS) -> Bool {
    let care =
      Flag.hasAlias.bit | Flag.hasNoTopic.bit | Flag.needsTopic.bit | Flag.isStream.bit | Flag.isRequest.bit
      | Flag.isDismissed.bit
    return bits & (care | 3) == UInt32(qos.rawValue)
  }

  /// The flags of a PUBLISH with this QoS and retain (§3.3.1).
  @inline(__always)
  var publishFlags: UInt8 { UInt8(truncatingIfNeeded: (bits & 3) << 1 | bits >> 8 & 1) }

  /// `hasProperties`, if there is that byte of them.
  @inline(__always)
  static func propertyBit(_ bytes: UInt8) -> UInt32 { UInt32(truncatingIfNeeded: bytes) << 7 }

  @inline(__always)
  func adding(_ others: UInt32) -> MessageFlags { MessageFlags(plain: bits | others) }

  @inline(__always)
  func contains(_ flag: Flag) -> Bool { bits & flag.bit != 0 }

  @inline(__always)
  mutating func set(_ flag: Flag, _ isSet: Bool) {
    if isSet { bits |= flag.bit } else { bits &= ~flag.bit }
  }
}

extension MessageFlags.Flag {
  /// PUBREL is to be sent again on this connection.
  static var needsRelease: Self { Self(bit: 1 << 2) }
  static var hasReasonCode: Self { Self(bit: 1 << 3) }
  static var expires: Self { Self(bit: 1 << 4) }
  /// `since` is how long the server took.
  static var hasLatency: Self { Self(bit: 1 << 5) }
  /// It may make room for others.
  static var isExpendable: Self { Self(bit: 1 << 6) }
  /// Encoded as 5.0 has it.
  static var hasProperties: Self { Self(bit: 1 << 7) }
  static var retain: Self { Self(bit: 1 << 8) }
  /// The first property is a Topic Alias of the connection it was encoded for.
  static var hasAlias: Self { Self(bit: 1 << 9) }
  /// It has an alias instead of a topic.
  static var hasNoTopic: Self { Self(bit: 1 << 10) }
  /// Its alias is of a connection that is gone: its topic has to be put in front of it.
  static var needsTopic: Self { Self(bit: 1 << 11) }
  /// Its payload is not in the ring.
  static var isStream: Self { Self(bit: 1 << 12) }
  /// Somebody waits for a reply.
  static var isRequest: Self { Self(bit: 1 << 13) }
  /// A request whose end has been told: of this message nobody wants to hear.
  static var isDismissed: Self { Self(bit: 1 << 14) }
  /// A newer message with the same topic takes its place; `tag` is the topic's hash.
  static var isLatest: Self { Self(bit: 1 << 15) }
  /// No completion if all goes well.
  static var isQuiet: Self { Self(bit: 1 << 16) }
}
