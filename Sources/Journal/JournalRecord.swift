public import Storage

/// The records that a session writes (docs/journal.md has their bytes). The log itself does not look at them: they are
/// here so that the session and what only reads its file have them from one place.
public enum JournalRecord {
  public enum Kind: UInt8, BitwiseCopyable {
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
    /// The last number that a received message has got, and those of messages that the application is not done with.
    case numbers = 6
    /// The wall clock when this commit was filled. A reader need not know it.
    case time = 128
  }

  /// Records from this kind on may be left out by whoever does not know them; those below may not.
  public static var firstOptional: UInt8 { 128 }

  /// What `Record.flags` has for a message.
  public enum Flags {
    public static var isUrgent: UInt8 { 1 }
    public static var isReleased: UInt8 { 2 }
  }

  /// What comes before the packet in the body of a message.
  public struct MessageHeader: BitwiseCopyable {
    /// When it was added, among all messages of its queue.
    public var serial: Counter
    public var cookie: Counter
    /// 0: it has none that is fixed.
    public var identifier: UInt16
    /// `MessageFlags`, as far as they belong to the message.
    public var flags: UInt32
    /// How many seconds were left when the record was written; 0: it does not expire.
    public var expiry: UInt32
    /// Where the Message Expiry Interval is in the packet; 0: nowhere.
    public var expiryOffset: UInt32

    public static var size: Int { 30 }

    /// The bit of `flags` that says that the packet is one of 5.0.
    public static var hasProperties: UInt32 { 1 << 7 }

    @inline(__always)
    public init(
      serial: Counter, cookie: Counter, identifier: UInt16, flags: UInt32, expiry: UInt32,
      expiryOffset: UInt32
    ) {
      self.serial = serial
      self.cookie = cookie
      self.identifier = identifier
      self.flags = flags
      self.expiry = expiry
      self.expiryOffset = expiryOffset
    }

    @_optimize(size)
    public func put(into commit: inout Commit) {
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
  public init?(_ body: Span<UInt8>) {
    guard body.count > Self.size else { return nil }
    serial = Counter(low: body.littleEndian32(at: 0), high: body.littleEndian32(at: 4))
    cookie = Counter(low: body.littleEndian32(at: 8), high: body.littleEndian32(at: 12))
    identifier = body.littleEndian16(at: 16)
    flags = body.littleEndian32(at: 18)
    expiry = body.littleEndian32(at: 22)
    expiryOffset = body.littleEndian32(at: 26)
  }
}
