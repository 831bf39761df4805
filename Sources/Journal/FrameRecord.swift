public import Storage

/// The records of a session of STOMP (docs/journal.md has their bytes). Their kinds are none of `JournalRecord`, so that neither
/// takes those of the other for its own.
public enum FrameRecord {
  public enum Kind: UInt8, BitwiseCopyable {
    /// SEND, as it goes to the server.
    case frame = 16
    /// The frame has ended.
    case ended = 17
  }

  /// Whose a journal is: all those of STOMP have one owner, which is no Client Identifier of MQTT.
  public static var owner: Salt { Salt(hashing: ("STOMP\0" as StaticString).bytes) }

  /// What comes before the frame in the body of its record.
  public struct Header: BitwiseCopyable {
    /// When it was added, among all frames.
    public var serial: Counter
    public var cookie: Counter
    public var flags: UInt8
    /// Which versions it is written for: `Dialect` of STOMPWire.
    public var dialect: UInt8

    public static var size: Int { 18 }
    /// Nobody is told that it was delivered.
    public static var isQuiet: UInt8 { 1 }

    public init(serial: Counter, cookie: Counter, flags: UInt8, dialect: UInt8) {
      self.serial = serial
      self.cookie = cookie
      self.flags = flags
      self.dialect = dialect
    }

    /// `nil`: there is no frame behind it.
    @_optimize(size)
    public init?(_ body: Span<UInt8>) {
      guard body.count > Self.size else { return nil }
      serial = Counter(low: body.littleEndian32(at: 0), high: body.littleEndian32(at: 4))
      cookie = Counter(low: body.littleEndian32(at: 8), high: body.littleEndian32(at: 12))
      flags = body[16]
      dialect = body[17]
    }

    @_optimize(size)
    public func put(into commit: inout Commit) {
      var header = InlineArray<18, UInt8>(repeating: 0)
      var bytes = header.mutableSpan
      bytes.put(serial.low, at: 0)
      bytes.put(serial.high, at: 4)
      bytes.put(cookie.low, at: 8)
      bytes.put(cookie.high, at: 12)
      bytes[16] = flags
      bytes[17] = dialect
      commit.put(header.span)
    }
  }

  // MARK: What follows from the size of the largest commit

  /// The largest frame that fits into a commit.
  public static func largestFrame(batchBytes: Int) -> Int {
    batchBytes / Block.size &* Block.room &- Record.headerSize &- Header.size
  }

  /// How many blocks a ring needs at least for so many frames, with so many bytes: twice what they take, so that cleaning
  /// writes each at most once more, and some commits, so that it never waits for room. A commit of one or two blocks may have
  /// room for one frame alone, and then takes twice as much for it.
  @_optimize(size)
  public static func ringBlocks(bytes: Int, frames: Int, batchBytes: Int) -> Int {
    let perBlock = Block.room / (Record.headerSize &+ Header.size)
    let packed = bytes / Block.room &+ frames / perBlock &+ 3
    let live = batchBytes > 2 &* Block.size ? packed : 2 &* packed
    return max(2 &* live &+ 8 &* (batchBytes / Block.size), Int(Superblock.blockCounts.lowerBound))
  }
}
