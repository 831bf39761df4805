/// A journal, but for the path of its file.
public struct JournalOptions: BitwiseCopyable {
  let batchBytes: Int
  let delay: UInt32
  let isStrict: Bool
  let tellsStored: Bool
  /// Of so many received messages at a time.
  let numbers: Int
  /// How many blocks the ring needs at least, and how many it is to have.
  public let leastBlocks: UInt32
  public let blocks: UInt32
  /// A file that has more than it needs stays as it is, because no size was asked for.
  let keepsSize: Bool
  /// A thread writes it; else whatever lets the driver go on waits for the disk.
  public let hasThread: Bool

  /// Whether a file whose ring has so many blocks is to stay as it is.
  func wants(_ count: UInt32) -> Bool { keepsSize ? count >= leastBlocks : count == blocks }
}
