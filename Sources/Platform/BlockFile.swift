import CPlatform

/// A file of whole blocks, locked as long as it is open; docs/journal.md says what is in it.
public struct BlockFile: ~Copyable {
  public static var blockSize: Int { PLATFORM_BLOCK }
  /// The longest path, in bytes.
  public static var longestPath: Int { PLATFORM_MAX_PATH }

  /// -1: it is another's to close.
  fileprivate(set) var descriptor: Int32

  /// Opens one that exists. `path` ends with a zero.
  @_optimize(size)
  public init(opening path: Span<UInt8>) throws(PlatformError) {
    // C reads the path up to its zero.
    descriptor = unsafe path.withUnsafeBytes { path in
      unsafe platform_store_open(path.assumingMemoryBound(to: CChar.self).baseAddress)
    }
    guard descriptor >= 0 else { throw PlatformError(code: -descriptor) }
  }

  /// Makes one of `block`, twice, and as many blocks of zeros; `block` is zeros afterwards. Until it gets its path as its name,
  /// the file has the other one. Unless it `replaces` a file, there must be none at the path. Both end with a zero.
  @_optimize(size)
  public init(
    creating path: Span<UInt8>, as name: Span<UInt8>, replaces: Bool, block: inout MutableSpan<UInt8>,
    blocks: UInt32
  ) throws(PlatformError) {
    precondition(block.count == Self.blockSize)
    // The same, and C uses one block.
    descriptor = unsafe path.withUnsafeBytes { path in
      unsafe name.withUnsafeBytes { name in
        unsafe block.withUnsafeMutableBufferPointer { block in
          unsafe platform_store_create(
            path.assumingMemoryBound(to: CChar.self).baseAddress,
            name.assumingMemoryBound(to: CChar.self).baseAddress, replaces ? 1 : 0, block.baseAddress, blocks)
        }
      }
    }
    guard descriptor >= 0 else { throw PlatformError(code: -descriptor) }
  }

  deinit { if descriptor >= 0 { platform_close(descriptor) } }

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

  /// Writes whole blocks from the one with the number `block` on, before the file has its name.
  @_optimize(size)
  public func write(_ blocks: Span<UInt8>, to block: UInt32) throws(PlatformError) {
    let count = UInt32(truncatingIfNeeded: blocks.count / Self.blockSize)
    // C reads as many blocks.
    let error = unsafe blocks.withUnsafeBufferPointer { blocks in
      unsafe platform_store_put(descriptor, block, count, blocks.baseAddress)
    }
    guard error == 0 else { throw PlatformError(code: error) }
  }

  /// When this returns, the file is durable, with its path as its name.
  @_optimize(size)
  public func getName(_ path: Span<UInt8>, insteadOf name: inout MutableSpan<UInt8>) throws(PlatformError) {
    // C reads each up to its zero.
    let error = unsafe path.withUnsafeBytes { path in
      unsafe name.withUnsafeMutableBytes { name in
        unsafe platform_store_name(
          descriptor, path.assumingMemoryBound(to: CChar.self).baseAddress,
          name.assumingMemoryBound(to: CChar.self).baseAddress)
      }
    }
    guard error == 0 else { throw PlatformError(code: error) }
  }

  /// Removes one that did not get its name.
  @_optimize(size)
  public static func discard(_ name: Span<UInt8>) {
    unsafe name.withUnsafeBytes { name in
      unsafe platform_store_discard(name.assumingMemoryBound(to: CChar.self).baseAddress)
    }
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

/// Writes commits to a `BlockFile`, one at a time: in a thread of its own, or in the caller's. It is a pointer, because
/// every client has room for one.
@safe struct BlockWriter: ~Copyable {
  private let memory: UnsafeMutablePointer<platform_writer>

  /// `poller` is `nil`: without a thread. The caller guarantees that nothing else uses `memory`, and that `finish` changes
  /// nothing but the blocks.
  @_optimize(size)
  @unsafe init(
    _ file: consuming BlockFile, in memory: UnsafeMutablePointer<BlockWriterMemory>, poller: Int32?,
    finish: BlockFinisher
  ) throws(PlatformError) {
    unsafe memory.initialize(to: BlockWriterMemory())
    let writer = unsafe UnsafeMutableRawPointer(memory).assumingMemoryBound(to: platform_writer.self)
    unsafe writer.pointee.file = file.descriptor
    unsafe writer.pointee.finish = finish
    let error = unsafe platform_writer_start(writer, poller ?? -1, UInt32(Channel.store.rawValue))
    guard error == 0 else { throw PlatformError(code: error) }
    file.descriptor = -1
    unsafe self.memory = writer
  }

  deinit { unsafe platform_writer_stop(memory) }

  /// The caller guarantees that the blocks stay where they are, and as they are, until there is a result.
  @_optimize(size)
  @unsafe mutating func write(_ blocks: inout MutableSpan<UInt8>, to runs: BlockRuns) {
    unsafe blocks.withUnsafeMutableBufferPointer { blocks in
      unsafe memory.pointee.commit = unsafe platform_commit(runs, at: blocks.baseAddress)
    }
    unsafe platform_writer_write(memory)
  }

  /// What has become of it: 0, or the system's number; `nil`: it has not ended, or that was told already.
  mutating func result() -> Int32? {
    let result = unsafe platform_writer_result(memory)
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
