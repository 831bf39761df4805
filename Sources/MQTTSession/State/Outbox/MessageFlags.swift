import Journal
import MQTTWire
import Storage

/// The flags of a descriptor. They are no OptionSet, because that counts as an allocation
/// (docs/decisions/0007).
public struct MessageFlags: BitwiseCopyable {
  private(set) var bits: UInt32

  static var qosBits: UInt32 { 3 }

  struct Flag: BitwiseCopyable {
    let bit: UInt32
  }

  @inline(__always)
  public init(qos: QoS, retain: Bool = false, isQuiet: Bool = false) {
    bits = UInt32(qos.rawValue) | (retain ? Flag.retain.bit : 0) | (isQuiet ? Flag.isQuiet.bit : 0)
  }

  /// Reads QoS, retain and quiet from three bytes, the lowest first. It returns `nil` if a byte has another
  /// value, or if the fourth is not 0.
  @inline(__always)
  public init?(bytes: UInt32) {
    guard bytes & ~(Self.qosBits | Flag.retain.bit | Flag.isQuiet.bit) == 0,
      bytes & Self.qosBits != Self.qosBits
    else { return nil }
    bits = bytes
  }

  @inline(__always)
  func adding(_ flag: Flag, if isSet: Bool) -> MessageFlags {
    var flags = self
    flags.bits |= isSet ? flag.bit : 0
    return flags
  }

  @inline(__always)
  var qos: QoS { QoS(rawValue: UInt8(truncatingIfNeeded: bits & Self.qosBits)) ?? .exactlyOnce }

  /// QoS 1 or 2.
  @inline(__always)
  var isAcknowledged: Bool { bits & Self.qosBits != 0 }

  /// The flags of a PUBLISH with this QoS and retain (§3.3.1).
  @inline(__always)
  var headerFlags: UInt8 { UInt8(truncatingIfNeeded: (bits & Self.qosBits) << 1 | bits >> 8 & 1) }

  /// Returns whether one of these flags is set.
  @inline(__always)
  func containsAny(_ one: Flag, _ other: Flag) -> Bool { bits & (one.bit | other.bit) != 0 }

  @inline(__always)
  func containsAny(_ one: Flag, _ other: Flag, _ third: Flag) -> Bool {
    bits & (one.bit | other.bit | third.bit) != 0
  }

  @inline(__always)
  func containsAny(_ one: Flag, _ other: Flag, _ third: Flag, _ fourth: Flag) -> Bool {
    bits & (one.bit | other.bit | third.bit | fourth.bit) != 0
  }

  @inline(__always)
  func contains(_ flag: Flag) -> Bool { bits & flag.bit != 0 }

  @inline(__always)
  func containsAny(_ one: Flag, _ other: Flag, _ third: Flag, _ fourth: Flag, _ fifth: Flag) -> Bool {
    bits & (one.bit | other.bit | third.bit | fourth.bit | fifth.bit) != 0
  }

  /// Those that belong to the message, wherever it is: what a journal keeps of them.
  var ofMessage: UInt32 { bits & Self.keptBits }

  private static var keptBits: UInt32 {
    qosBits | Flag.expires.bit | Flag.isExpendable.bit | Flag.hasProperties.bit | Flag.retain.bit
      | Flag.isLatest.bit | Flag.isQuiet.bit
  }

  /// What a journal has kept.
  init(kept: UInt32) { bits = kept & Self.keptBits }

  @inline(__always)
  mutating func set(_ flag: Flag, _ isSet: Bool) {
    if isSet { bits |= flag.bit } else { bits &= ~flag.bit }
  }
}

extension MessageFlags.Flag {
  /// One that is never set, if this build has nothing that would.
  @inline(__always)
  init(bit: UInt32, if isThere: Bool) { self.init(bit: isThere ? bit : 0) }

  /// PUBREL is to be sent again on this connection.
  static var needsPubrel: Self { Self(bit: 1 << 2) }
  static var hasReasonCode: Self { Self(bit: 1 << 3) }
  static var expires: Self { Self(bit: 1 << 4, if: Feature.hasExpiry) }
  /// `since` is how long the server took.
  static var hasLatency: Self { Self(bit: 1 << 5) }
  /// It may make room for others, as long as no byte of it was sent. It loses the flag when it is sent, or has
  /// ended.
  static var isExpendable: Self { Self(bit: 1 << 6, if: Feature.hasOverflow) }
  /// Encoded as 5.0 has it.
  static var hasProperties: Self { Self(bit: JournalRecord.MessageHeader.hasProperties) }
  static var retain: Self { Self(bit: 1 << 8) }
  /// The first property is a Topic Alias of the connection it was encoded for.
  static var hasAlias: Self { Self(bit: 1 << 9, if: Feature.hasTopicAliases) }
  /// It has an alias instead of a topic.
  static var hasNoTopic: Self { Self(bit: 1 << 10, if: Feature.hasTopicAliases) }
  /// Its alias is of a connection that is gone: its topic has to be put in front of it.
  static var needsTopic: Self { Self(bit: 1 << 11, if: Feature.hasTopicAliases) }
  /// Its payload is not in the ring.
  static var isStream: Self { Self(bit: 1 << 12, if: Feature.hasStreams) }
  /// The application waits for a response.
  static var isRequest: Self { Self(bit: 1 << 13, if: Feature.hasReplies) }
  /// A request whose end was reported: its message gets no completion.
  static var isDismissed: Self { Self(bit: 1 << 14, if: Feature.hasReplies) }
  /// A newer message with the same topic takes its place; `tag` is the topic's hash, by which it is in `latest`.
  /// It goes with `isExpendable`.
  static var isLatest: Self { Self(bit: 1 << 15, if: Feature.hasOverflow) }
  /// Its payload is in the program's memory; `tag` is its index in `references`.
  static var isReference: Self { Self(bit: 1 << 17, if: Feature.hasReferences) }
  /// The journal has looked at it.
  static var isConsidered: Self { Self(bit: 1 << 18, if: Feature.hasJournal) }
  /// It has an entry in `stored`.
  static var isStored: Self { Self(bit: 1 << 19, if: Feature.hasJournal) }
  /// Of QoS 2, in an outbox with a journal: that has the message and its Packet Identifier, so it may be sent.
  static var mayLeave: Self { Self(bit: 1 << 20, if: Feature.hasJournal) }
  /// The journal is not to have it.
  static var isUnstored: Self { Self(bit: 1 << 21, if: Feature.hasJournal) }
  /// No completion if all goes well.
  static var isQuiet: Self { Self(bit: 1 << 16) }
}

extension Publish {
  /// Returns what the descriptor says about the message itself.
  @inline(__always)
  func flags(_ options: PublishOptions) -> MessageFlags {
    MessageFlags(qos: qos, retain: retain, isQuiet: options.isQuiet)
      .adding(.isUnstored, if: options.isUnstored)
  }

  /// Makes a message of a topic and a payload alone.
  @_lifetime(copy topic, copy payload)
  @inline(__always)
  init(topic: Span<UInt8>, payload: Span<UInt8>, _ flags: MessageFlags) {
    self.init(topic: topic, payload: payload, headerFlags: flags.headerFlags)
  }
}
