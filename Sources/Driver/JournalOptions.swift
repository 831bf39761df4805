import Journal
public import Platform
import Storage

/// A journal, but for the path of its file.
public struct JournalOptions: BitwiseCopyable {
  /// The largest commit: whole blocks.
  public let batchBytes: Int
  public let delay: UInt32
  public let isStrict: Bool
  public let tellsStored: Bool
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

/// What a caller asks for of a journal, as it comes: 0 is the default everywhere.
public struct JournalRequest: BitwiseCopyable {
  public var bytes: UInt32 = 0
  public var delay: UInt32 = 0
  public var batchBytes: UInt32 = 0
  /// As in the headers: 1 strict, 2 without a thread, 4 tells what is stored; others are the protocol's.
  public var flags: UInt32 = 0

  public init() {}

  public var isDefault: Bool { bytes | delay | batchBytes | flags == 0 }
}

extension NumberCheck {
  /// Checks it. `leastBlocks` says how many blocks the ring needs if so many bytes are the largest commit.
  @inline(never)
  @_optimize(size)
  public mutating func journal(_ request: JournalRequest, leastBlocks: (Int) -> Int) -> JournalOptions {
    let delay = value(request.delay, default: 20, maximum: 60_000)
    let batch = value(request.batchBytes, default: 16_384, minimum: 4096, maximum: 1_048_576)
    let batchBytes = (Int(batch) &+ Block.size &- 1) / Block.size &* Block.size
    let size = value(request.bytes, default: 0, minimum: 65_536, maximum: 1_073_741_824)
    let least = UInt32(truncatingIfNeeded: leastBlocks(batchBytes))
    let blocks = size == 0 ? least : size / 4096 &- 2
    if blocks < least || blocks > 262_144 { areValid = false }
    return JournalOptions(
      batchBytes: batchBytes, delay: delay, isStrict: request.flags & 1 != 0,
      tellsStored: request.flags & 4 != 0, leastBlocks: least, blocks: blocks, keepsSize: size == 0,
      hasThread: request.flags & 2 == 0)
  }

  /// Whether a file can have this path, or none is asked for.
  public static func isPath(_ text: Span<UInt8>) -> Bool {
    guard text.count <= BlockFile.longestPath else { return false }
    for index in text.indices where text[index] == 0 { return false }
    return true
  }
}
