import Journal
import MQTTWire
import Storage

/// What a recovery has found so far.
extension SessionJournal {
  struct Recovery: BitwiseCopyable {
    var reader: LogReader
    /// How many messages there are, and how many urgent ones; once the log was read for the first time.
    var count = 0
    var urgentCount = 0
    var isRestoring = false
    /// How many of them are back.
    var next = 0

    init(_ reader: LogReader) { self.reader = reader }

    var isUrgent: Bool { next >= count }
  }

  enum Restored: BitwiseCopyable { case restored, notHere, noRoom, corrupt }

  /// What a recovery knows of the time.
  struct RecoveryClock: BitwiseCopyable {
    /// That of the session.
    let second: UInt32
    /// How many seconds ago the commit was filled.
    let passed: UInt32

    /// A message whose time is up is restored all the same: it ends as expired, and the application hears of it.
    func left(of expiry: UInt32) -> UInt32 { expiry > passed ? expiry &- passed : 0 }
  }

  /// How many seconds ago a commit was filled, as the wall clock says. It may be wrong after a reboot: what lies in the
  /// future, or decades ago, does not count.
  @inline(never)
  @_optimize(size)
  func passed(_ records: ByteRange, _ wallClock: UInt32) -> UInt32 {
    var reader = RecordReader(records)
    while let record = next(&reader) {
      guard record.kind == JournalRecord.Kind.time.rawValue, record.body.count == 4 else { continue }
      let passed = wallClock &- commit.blocks.bytes.littleEndian32(at: record.body.offset)
      return passed < 1 << 29 ? passed : 0
    }
    return 0
  }

  var isRestoring: Bool { recovery?.isRestoring ?? false }

  /// Where the commit begins whose records came last.
  var place: UInt32 { recovery?.reader.position.place ?? 0 }

  @_optimize(size)
  mutating func readOn() -> LogReader.Step? {
    guard var reader = recovery?.reader else { return nil }
    let step = reader.next(&commit.blocks)
    recovery?.reader = reader
    return step
  }

  mutating func wasRead() { recovery?.reader.wasRead() }

  mutating func seek(_ place: UInt32) { recovery?.reader.read(commitAt: place) }

  mutating func advance() { recovery?.next &+= 1 }

  @_optimize(size)
  mutating func beginRestoring(_ count: Int, urgent: Int) {
    recovery?.count = count
    recovery?.urgentCount = urgent
    recovery?.isRestoring = true
  }

  func next(_ records: inout RecordReader) -> Record? { records.next(commit.blocks.bytes) }

  /// Notes what a record says of a message. Returns false if there are more than this client has room for.
  @inline(never)
  @_optimize(size)
  func apply(
    _ record: Record, _ kind: JournalRecord.Kind, _ messages: inout StoredMessages, _ place: UInt32
  ) -> Bool {
    let entry = Int(record.subject)
    guard entry < messages.capacity else { return kind != .message }
    let body = commit.blocks.bytes.extracting(record.body.range)
    let identifier =
      kind == .bound || kind == .released ? body.count == 2 ? body.littleEndian16(at: 0) : 0 : 0
    switch kind {
    case .message:
      guard let header = JournalRecord.MessageHeader(body) else { return false }
      messages.found(
        entry, serial: header.serial, place: place,
        record.flags & JournalRecord.Flags.isReleased != 0
          ? .released : header.identifier == 0 ? .queued : .bound,
        value: header.identifier)
    case .bound: messages.found(entry, identifier == 0 ? .queued : .bound, value: identifier)
    case .released: messages.found(entry, .released, value: identifier)
    case .ended: messages.found(entry, .free, value: 0)
    case .inbound, .numbers, .time: break
    }
    return true
  }

  /// Looks for the message at an index of the order in the records that follow, and puts it into an outbox.
  @inline(never)
  @_optimize(size)
  func restore(
    _ outbox: inout Outbox, at index: Int, isUrgent: Bool, _ records: inout RecordReader,
    _ clock: RecoveryClock, _ version: ProtocolVersion
  ) -> Restored {
    let entry = outbox.stored.element.found(at: index)
    let wanted = outbox.stored.element[entry]
    let flag = isUrgent ? JournalRecord.Flags.isUrgent : 0
    // An older commit may have another message with this entry.
    guard wanted.place == place else { return .notHere }
    while let record = next(&records) {
      guard record.kind == JournalRecord.Kind.message.rawValue, Int(record.subject) == entry,
        record.flags & JournalRecord.Flags.isUrgent == flag
      else { continue }
      let body = commit.blocks.bytes.extracting(record.body.range)
      guard var header = JournalRecord.MessageHeader(body), header.serial == wanted.serial else { continue }
      if header.expiry > 0 { header.expiry = clock.left(of: header.expiry) }
      let packet = body.extracting(JournalRecord.MessageHeader.size..<body.count)
      let isReleased = wanted.state == .released
      guard header.describes(packet), !isReleased || MessageFlags(kept: header.flags).qos == .exactlyOnce
      else { return .corrupt }
      guard
        let slot = outbox.restore(
          header, packet, wanted.state, identifier: wanted.slot, order: order(index, isUrgent),
          second: clock.second, version: version)
      else { return .noRoom }
      outbox.stored.element.restored(entry, in: slot)
      return .restored
    }
    return .notHere
  }

  /// In which order messages of both queues are sent again: no record says when they were sent first, so urgent ones
  /// come first again.
  private func order(_ index: Int, _ isUrgent: Bool) -> UInt16 {
    UInt16(truncatingIfNeeded: isUrgent ? index : index &+ (recovery?.urgentCount ?? 0))
  }
}
