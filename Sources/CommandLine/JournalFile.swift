import CTool
import Journal
import Storage

/// Why a journal cannot be read.
struct JournalFault: Error {
  /// What is said after the file's name.
  let text: Text
  /// A client that has written meanwhile may be the reason.
  var mayPass = true

  static func damaged(_ reason: Text) -> JournalFault {
    let advice: Text =
      "move it away, and the client makes a new one; the messages in this one are not delivered then"
    return JournalFault(text: "is damaged, and a client refuses it: \(reason): \(advice)")
  }
}

/// The file of a client's journal, which is read and nothing else: no lock is taken, because a client that starts would
/// be refused, and a client that runs may write meanwhile.
struct JournalFile {
  let path: [UInt8]

  /// More blocks than any commit has: 1 MiB (journal_batch_bytes).
  private static let capacity = 256
  private static let attempts = 10

  init(_ path: [UInt8]) { self.path = path }

  func read() throws(ExitError) -> JournalContent {
    var found: tool_file?
    for _ in 0..<Self.attempts {
      let descriptor = try open()
      defer { System.close(descriptor) }
      let before = System.state(descriptor)
      guard before.size >= 0 else {
        throw ExitError(text: "\(path.printable) is not a file: give the one that --journal names")
      }
      do throws(JournalFault) {
        return try content(of: descriptor)
      } catch {
        // The clock of files ticks some hundred times a second, so the same time twice, with a pause between, says
        // that nothing was written.
        let isSame =
          before.isSame(as: System.state(descriptor)) && found.map { before.isSame(as: $0) } ?? false
        guard error.mayPass && !isSame else {
          throw ExitError(text: "\(path.printable) \(error.text)")
        }
        found = before
        var nothing: [System.Wait] = []
        System.poll(&nothing, 50)
      }
    }
    throw ExitError(
      text: "\(path.printable) is being written all the time: try again when its client has less to do")
  }

  private func open() throws(ExitError) -> Int32 {
    let descriptor = System.openItself(path)
    if descriptor == -Int32(TOOL_ELOOP) {
      throw ExitError(
        text: "\(path.printable) is a symbolic link, which no client follows: give the file that it names")
    }
    guard descriptor >= 0 else {
      throw ExitError(text: "cannot open \(path.printable): \(System.errorText(-descriptor))")
    }
    return descriptor
  }

  private func content(of descriptor: Int32) throws(JournalFault) -> JournalContent {
    let content = JournalContent()
    try System.withRegion(Self.capacity * Block.size) { (region: inout Region) throws(JournalFault) in
      let superblock = try self.superblock(of: descriptor, &region)
      var reader = LogReader(superblock, capacity: UInt32(Self.capacity))
      while true {
        switch reader.next(&region) {
        case .read(let block, let count, let offset):
          let range = offset..<offset + Int(count) * Block.size
          guard try read(descriptor, block, into: &region, range) else {
            throw .damaged("it ends before its ring of \(superblock.blocks) blocks does")
          }
          reader.wasRead()
        case .records(let records):
          try content.take(records, region.bytes)
        case .end:
          try content.end(reader, blocks: superblock.blocks)
          return
        case .failed(.corrupt):
          throw .damaged("a block that was written completely is not as it was written")
        case .failed(.buffer):
          throw .damaged("a commit has more blocks than any client writes")
        }
      }
    }
    return content
  }

  private func superblock(of descriptor: Int32, _ region: inout Region) throws(JournalFault) -> Superblock {
    var found: Superblock?
    for index in 0..<UInt32(Superblock.count) where found == nil {
      guard try read(descriptor, index, into: &region, 0..<Block.size) else { continue }
      do throws(Superblock.Mistake) {
        found = try Superblock(region.bytes(at: 0, count: Block.size))
      } catch {
        guard case .unknown = error else {
          throw JournalFault(
            text: "was made by a newer version of \(Program.library): use its \(Program.name)", mayPass: false
          )
        }
      }
    }
    guard let found else {
      throw JournalFault(
        text: "is not a journal, or both of its first blocks are damaged: give the file that --journal names")
    }
    guard (found.owner == FrameRecord.owner) == Program.speaksSTOMP else {
      throw JournalFault(
        text: "is a journal of \(Program.otherLibrary): use \(Program.other) journal", mayPass: false)
    }
    return found
  }

  /// Returns false if the file ends before that.
  private func read(
    _ descriptor: Int32, _ block: UInt32, into region: inout Region, _ range: Range<Int>
  ) throws(JournalFault) -> Bool {
    let count = System.read(descriptor, at: Int64(block) * Int64(Block.size), into: &region, range)
    guard count >= 0 else {
      throw JournalFault(text: "cannot be read: \(System.errorText(Int32(-count)))", mayPass: false)
    }
    return count == range.count
  }
}

extension tool_file {
  fileprivate func isSame(as other: tool_file) -> Bool {
    size == other.size && changed_s == other.changed_s && changed_ns == other.changed_ns
  }
}
