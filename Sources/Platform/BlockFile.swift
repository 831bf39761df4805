import CPlatform

/// A file of whole blocks, locked as long as it is open; docs/journal.md says what is in it.
public struct BlockFile: ~Copyable {
  public static var blockSize: Int { PLATFORM_BLOCK }
  /// The longest path, in bytes.
  public static var longestPath: Int { PLATFORM_MAX_PATH }

  let descriptor: Int32

  /// Opens one that exists. `path` ends with a zero.
  @_optimize(size)
  public init(opening path: Span<UInt8>) throws(PlatformError) {
    // C reads the path up to its zero.
    descriptor = unsafe path.withUnsafeBytes { path in
      unsafe platform_store_open(path.assumingMemoryBound(to: CChar.self).baseAddress)
    }
    guard descriptor >= 0 else { throw PlatformError(code: -descriptor) }
  }

  /// Makes one of `block`, twice, and as many blocks of zeros. When this returns, the file is durable, with its path as
  /// its name, and `block` is zeros. Until then it has the other name. Both end with a zero.
  @_optimize(size)
  public init(
    creating path: Span<UInt8>, as name: inout MutableSpan<UInt8>, block: inout MutableSpan<UInt8>,
    blocks: UInt32
  ) throws(PlatformError) {
    precondition(block.count == Self.blockSize)
    // The same, and C uses one block.
    descriptor = unsafe path.withUnsafeBytes { path in
      unsafe name.withUnsafeMutableBytes { name in
        unsafe block.withUnsafeMutableBufferPointer { block in
          unsafe platform_store_create(
            path.assumingMemoryBound(to: CChar.self).baseAddress,
            name.assumingMemoryBound(to: CChar.self).baseAddress, block.baseAddress, blocks)
        }
      }
    }
    guard descriptor >= 0 else { throw PlatformError(code: -descriptor) }
  }

  deinit { platform_close(descriptor) }

  /// Fills `space`, which has room for whole blocks, from the block with the number `block` on.
  @_optimize(size)
  public func read(_ block: UInt32, into space: inout MutableSpan<UInt8>) throws(PlatformError) {
    let count = UInt32(truncatingIfNeeded: space.count / Self.blockSize)
    // C writes as many blocks.
    let error = unsafe space.withUnsafeMutableBufferPointer { space in
      unsafe platform_store_read(descriptor, block, count, space.baseAddress)
    }
    guard error == 0 else { throw PlatformError(code: error) }
  }
}

/// Where the blocks of one commit go: to one run of blocks in the file, or to two.
public struct BlockRuns: BitwiseCopyable {
  public let first: (block: UInt32, count: UInt32)
  public let second: (block: UInt32, count: UInt32)

  public init(first: (block: UInt32, count: UInt32), second: (block: UInt32, count: UInt32)) {
    self.first = first
    self.second = second
  }
}

/// The memory of a thread that writes a `BlockFile`. It lies in the caller's block.
@safe public struct BlockWriterMemory: BitwiseCopyable {
  private let writer = unsafe platform_writer()

  public init() {}
}

/// What completes the blocks of a commit before they are written, in the thread that writes them.
public typealias BlockFinisher = @convention(c) (UnsafeMutablePointer<UInt8>?, UInt32) -> Void

/// Writes commits to a `BlockFile`, one at a time: in a thread of its own, or in the caller's.
@safe struct BlockWriter: ~Copyable {
  private let file: BlockFile
  private let memory: UnsafeMutablePointer<platform_writer>
  private var hasThread = false
  /// The result of a write without a thread, until it is taken.
  private var error: Int32 = -1

  /// The caller guarantees that nothing else uses `memory`, and that `finish` changes nothing but the blocks.
  @unsafe init(
    _ file: consuming BlockFile, in memory: UnsafeMutablePointer<BlockWriterMemory>, poller: Int32?,
    finish: BlockFinisher
  ) throws(PlatformError) {
    unsafe memory.initialize(to: BlockWriterMemory())
    unsafe self.memory = UnsafeMutableRawPointer(memory).assumingMemoryBound(to: platform_writer.self)
    unsafe self.memory.pointee.file = file.descriptor
    unsafe self.memory.pointee.finish = finish
    self.file = file
    guard let poller else { return }
    let error = unsafe platform_writer_start(self.memory, poller, UInt32(Channel.store.rawValue))
    guard error == 0 else { throw PlatformError(code: error) }
    hasThread = true
  }

  deinit { if hasThread { unsafe platform_writer_stop(memory) } }

  /// The caller guarantees that the blocks stay where they are, and as they are, until there is a result.
  @unsafe mutating func write(_ blocks: inout MutableSpan<UInt8>, to runs: BlockRuns) {
    unsafe blocks.withUnsafeMutableBufferPointer { blocks in
      unsafe memory.pointee.commit = unsafe platform_commit(runs, at: blocks.baseAddress)
    }
    if hasThread { return unsafe platform_writer_write(memory) }
    let commit = unsafe memory.pointee.commit
    unsafe memory.pointee.finish(commit.bytes, commit.first_count &+ commit.second_count)
    unsafe error = platform_store_write(file.descriptor, &memory.pointee.commit)
  }

  /// What has become of it: 0, or the system's number; `nil`: it has not ended, or that was told already.
  mutating func result() -> Int32? {
    let result = hasThread ? unsafe platform_writer_result(memory) : error
    error = -1
    return result < 0 ? nil : result
  }
}

extension platform_commit {
  fileprivate init(_ runs: BlockRuns, at bytes: UnsafeMutablePointer<UInt8>?) {
    unsafe self.init(
      bytes: bytes, first_block: runs.first.block, first_count: runs.first.count,
      second_block: runs.second.block, second_count: runs.second.count)
  }
}
