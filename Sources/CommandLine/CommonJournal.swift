import Journal
import Storage

/// What a journal says, record by record, as far as that is the same for both libraries. A program's `JournalContent` adds
/// what its records mean.
class CommonJournal {
  /// How many blocks the ring has, and how many of them the next client needs.
  final private(set) var blocks: UInt32 = 0
  final private(set) var used: UInt32 = 0
  final private(set) var commits: UInt32 = 0
  final private(set) var failures: UInt32 = 0
  final private(set) var torn: UInt32 = 0
  /// When the last commit was filled: seconds since 1970; `nil`: it does not say.
  final private(set) var written: UInt32?

  // ---- What a program has

  /// Applies a record, as recovery does. Returns false if its kind is unknown.
  func apply(_ record: Record, _ body: Span<UInt8>) throws(JournalFault) -> Bool { false }

  /// After the last record.
  func finish() throws(JournalFault) {}

  /// The columns of the list but for the last one: what each is called, how wide it is, and on which side its blanks are.
  var columns: [(name: StaticString, width: Int, isNumber: Bool)] { [] }
  var lastColumn: StaticString { "" }

  /// A line for each message: the values of its columns, and of the last one, which is shown escaped.
  var rows: [(values: [[UInt8]], last: [UInt8])] { [] }

  /// What comes below the list.
  var rest: Text { Text() }

  /// The messages, in an array, and what JSON has besides.
  func addMessages(to json: inout JSONWriter) {}
  func addRest(to json: inout JSONWriter) {}

  // ---- What is the same

  /// Takes the records of the next commit.
  final func take(_ records: ByteRange, _ bytes: Span<UInt8>) throws(JournalFault) {
    written = Self.time(records, bytes)
    var reader = RecordReader(records)
    while let record = reader.next(bytes) {
      guard try !apply(record, bytes.extracting(record.body.range)) else { continue }
      guard record.kind >= JournalRecord.firstOptional else {
        throw JournalFault(
          text:
            "has a record of the unknown kind \(Int(record.kind)): use the \(Program.name) of the \(Program.library) that wrote it, if that is newer; otherwise the file is damaged"
        )
      }
    }
  }

  /// After the last commit.
  final func end(_ reader: LogReader, blocks: UInt32) throws(JournalFault) {
    self.blocks = blocks
    used = reader.space.used(from: reader.space.head)
    commits = reader.commits
    failures = reader.failures
    torn = reader.torn
    try finish()
  }

  private static func time(_ records: ByteRange, _ bytes: Span<UInt8>) -> UInt32? {
    var reader = RecordReader(records)
    while let record = reader.next(bytes) {
      if record.kind == JournalRecord.Kind.time.rawValue, record.body.count == 4 {
        return bytes.littleEndian32(at: record.body.offset)
      }
    }
    return nil
  }
}

extension Span<UInt8> {
  var array: [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count)
    for index in indices { result.append(self[index]) }
    return result
  }
}
