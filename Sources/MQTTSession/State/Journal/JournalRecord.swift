import Journal
import MQTTWire
import Storage

/// The records that a session writes (docs/journal.md has their bytes).
enum JournalRecord {
  enum Kind: UInt8, BitwiseCopyable {
    /// A message, with what is known of its delivery.
    case message = 1
    /// The Packet Identifier that a message is sent with from now on; 0: none, the session is a new one.
    case bound = 2
    /// PUBREC came for a message.
    case released = 3
    /// A message has ended.
    case ended = 4
    /// The Packet Identifiers of received QoS 2 messages whose PUBREL has not come: all of them.
    case inbound = 5
    /// How many QoS 2 messages from the server were released, and the numbers that the application has asked for.
    case numbers = 6
    /// The wall clock when this commit was filled. A reader need not know it.
    case time = 128
  }

  /// Records from this kind on may be left out by whoever does not know them; those below may not.
  static var firstOptional: UInt8 { 128 }

  /// What `Record.flags` has for a message.
  enum Flags {
    static var isUrgent: UInt8 { 1 }
    static var isReleased: UInt8 { 2 }
  }

  /// What comes before the packet in the body of a message.
  struct MessageHeader: BitwiseCopyable {
    /// When it was added, among all messages of its queue.
    var serial: Counter
    var cookie: Counter
    /// 0: it has none that is fixed.
    var identifier: UInt16
    /// `MessageFlags`, as far as they belong to the message.
    var flags: UInt32
    /// How many seconds were left when the record was written; 0: it does not expire.
    var expiry: UInt32
    /// Where the Message Expiry Interval is in the packet; 0: nowhere.
    var expiryOffset: UInt32

    static var size: Int { 30 }

    @_optimize(size)
    func put(into commit: inout Commit) {
      var header = InlineArray<30, UInt8>(repeating: 0)
      var bytes = header.mutableSpan
      bytes.put(serial.low, at: 0)
      bytes.put(serial.high, at: 4)
      bytes.put(cookie.low, at: 8)
      bytes.put(cookie.high, at: 12)
      bytes.put(identifier, at: 16)
      bytes.put(flags, at: 18)
      bytes.put(expiry, at: 22)
      bytes.put(expiryOffset, at: 26)
      commit.put(header.span)
    }
  }
}

extension JournalRecord.MessageHeader {
  @inline(never)
  @_optimize(size)
  init?(_ body: Span<UInt8>) {
    guard body.count > Self.size else { return nil }
    serial = Counter(low: body.littleEndian32(at: 0), high: body.littleEndian32(at: 4))
    cookie = Counter(low: body.littleEndian32(at: 8), high: body.littleEndian32(at: 12))
    identifier = body.littleEndian16(at: 16)
    flags = body.littleEndian32(at: 18)
    expiry = body.littleEndian32(at: 22)
    expiryOffset = body.littleEndian32(at: 26)
  }
}

extension JournalRecord.MessageHeader {
  /// Whether this is a message as the outbox has them. The checksum says that a record is whole, and not who wrote it.
  @inline(never)
  @_optimize(size)
  func describes(_ packet: Span<UInt8>) -> Bool {
    let kept = MessageFlags(kept: flags)
    let version: ProtocolVersion = kept.contains(.hasProperties) ? .v5_0 : .v3_1_1
    do throws(Malformed) {
      guard let fixed = try FixedHeader(parsing: packet, version: version), fixed.type == .publish,
        fixed.packetSize == packet.count, fixed.flags & ~Publish.duplicateFlag == kept.headerFlags
      else { return false }
      let body = packet.extracting(fixed.size..<packet.count)
      let publish = try ReceivedPublish(parsing: body, flags: fixed.flags, version: version)
      guard publish.qos != .atMostOnce else { return false }
      guard expiryOffset != 0 else { return true }
      let properties = fixed.size &+ publish.properties.offset
      let offset = Int(truncatingIfNeeded: expiryOffset)
      return offset > properties && offset &+ 4 <= properties &+ publish.properties.count
    } catch {
      return false
    }
  }
}
