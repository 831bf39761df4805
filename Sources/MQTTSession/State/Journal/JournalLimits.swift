import Journal

/// What follows from the size of the largest commit.
public enum JournalLimits {
  /// The largest packet that fits into a commit, and into none but that.
  @_optimize(size)
  public static func largestPacket(batchBytes: Int) -> Int {
    room(batchBytes) &- Record.headerSize &- JournalRecord.MessageHeader.size
  }

  /// The largest packet that is accepted. `grows`: it also has to fit as a later process may have it.
  @_optimize(size)
  public static func largestMessage(batchBytes: Int, grows: Bool) -> Int {
    largestPacket(batchBytes: batchBytes) &- (grows ? growth : 0)
  }

  /// A message of an older version has a Property Length of 0 in 5.0, and may need another byte of Remaining Length.
  private static var growth: Int { 2 }

  /// How many bytes an outbox keeps free where messages may have an older version than the next process begins with. No
  /// message has less than 7 bytes.
  @_optimize(size)
  public static func reserve(messages: Int, bytes: Int) -> Int {
    min(growth &* messages, (bytes &+ 8) / 9 &* growth)
  }

  /// How many identifiers of received messages fit, beside numbers for so many.
  @_optimize(size)
  public static func largestList(batchBytes: Int, numbers: Int) -> Int {
    let record = numbers > 0 ? Record.headerSize &+ 8 &+ 10 &* numbers : 0
    return max(0, room(batchBytes) &- Record.headerSize &- record) / 2
  }

  /// How many QoS 2 messages from the server may be unreleased; `wanted` 0: as many as fit.
  @_optimize(size)
  public static func unreleased(_ wanted: Int, batchBytes: Int, numbers: Int) -> Int {
    wanted > 0 ? wanted : min(largestList(batchBytes: batchBytes, numbers: numbers), 65_535)
  }

  /// How many blocks a ring needs at least for messages of so many bytes, and the list of identifiers: twice what they
  /// take, so that cleaning writes each at most once more, and some commits, so that it never waits for room. A commit of
  /// one or two blocks may have room for one message alone, and then takes twice as much for it.
  @_optimize(size)
  public static func ringBlocks(bytes: Int, messages: Int, unreleased: Int, batchBytes: Int) -> Int {
    let perBlock = Block.room / (Record.headerSize &+ JournalRecord.MessageHeader.size)
    let packed = (bytes &+ 2 &* unreleased) / Block.room &+ messages / perBlock &+ 3
    let live = batchBytes > 2 &* Block.size ? packed : 2 &* packed
    return max(2 &* live &+ 8 &* (batchBytes / Block.size), Int(Superblock.blockCounts.lowerBound))
  }

  private static func room(_ batchBytes: Int) -> Int { batchBytes / Block.size &* Block.room }
}
