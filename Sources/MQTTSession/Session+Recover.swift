public import Journal
import MQTTWire
public import Storage

/// Taking up what an earlier process has promised. It comes before the first connection, and before anything
/// is published.
///
/// The log is read twice: first what became of each message, then the messages that are left, in their order.
extension Session {
  /// Begins with the file that has this superblock.
  @_optimize(size)
  public mutating func beginRecovery(_ superblock: Superblock) {
    let reader = LogReader(superblock, capacity: journal.element.blockCount)
    journal.element.recovery = SessionJournal.Recovery(reader)
    state.outbox.stored.element.beginRecovery()
    if state.hasUrgent { state.urgent.element.stored.element.beginRecovery() }
  }

  /// Begins with a new file, which has this superblock and zeros: there is nothing to be taken up.
  @_optimize(size)
  public mutating func beginJournal(_ superblock: Superblock) {
    journal.element.space = LogSpace(superblock)
    journal.element.isOpen = true
  }

  /// Reads the whole log after `beginRecovery`, and takes up nothing.
  @_optimize(size)
  public mutating func survey() -> RecoveryStep {
    while true {
      guard let step = journal.change({ $0.readOn() }) else { return .failed(.corrupt) }
      switch step {
      case .read(let block, let count, let offset): return .read(block: block, count: count, offset: offset)
      case .failed(let mistake): return .failed(mistake == .buffer ? .size : .corrupt)
      case .records: continue
      case .end: return .done
      }
    }
  }

  /// After `survey`: how the log gets into another file; `nil`: that is too small for it.
  @_optimize(size)
  public func move(to superblock: Superblock) -> LogMove? {
    guard let reader = journal.element.recovery?.reader else { return nil }
    return LogMove(reader, to: superblock, spare: journal.element.blockCount)
  }

  /// Where blocks are to be read to.
  public var recoverySpace: MutableSpan<UInt8> {
    @_lifetime(&self)
    mutating get {
      journal.mutableBytes { journal, use in
        var bytes = journal.commit.blocks.mutableBytes
        use(&bytes)
      }
    }
  }

  public mutating func recoveryRead() { journal.change { $0.wasRead() } }

  /// Goes on as far as it gets without reading. `wallClock`: seconds since 1970, as far as the system knows.
  @inline(never)
  @_optimize(size)
  public mutating func recover(at now: Instant, wallClock: UInt32) -> RecoveryStep {
    advance(to: now)
    while true {
      guard let step = journal.change({ $0.readOn() }) else { return .failed(.corrupt) }
      switch step {
      case .read(let block, let count, let offset): return .read(block: block, count: count, offset: offset)
      case .failed(let mistake): return .failed(mistake == .buffer ? .size : .corrupt)
      case .records(let records):
        let error = journal.element.isRestoring ? restore(records, wallClock) : apply(records)
        if let error { return .failed(error) }
      case .end: if let error = order() { return .failed(error) }
      }
      if journal.element.isRestoring, let end = seekNext() { return end }
    }
  }

  // MARK: The first time: what became of each

  @inline(never)
  @_optimize(size)
  private mutating func apply(_ records: ByteRange) -> RecoveryError? {
    var reader = RecordReader(records)
    let place = journal.element.place
    while let record = journal.element.next(&reader) {
      let isUrgent = record.flags & JournalRecord.Flags.isUrgent != 0
      guard let kind = JournalRecord.Kind(rawValue: record.kind) else {
        // What a newer library may leave out, it marks so.
        if record.kind >= JournalRecord.firstOptional { continue }
        return .corrupt
      }
      if kind == .time { continue }
      if kind == .inbound {
        guard applyInbound(record, place) else { return .size }
        continue
      }
      if kind == .numbers {
        guard journal.change({ $0.applyNumbers(record.body) }) else { return .size }
        continue
      }
      guard !isUrgent || state.hasUrgent else {
        // What is said of a message that is not there any more is of no use.
        if kind == .message { return .size }
        continue
      }
      let isDone =
        isUrgent
        ? journal.change { $0.apply(record, kind, &state.urgent.element.stored.element, place) }
        : journal.change { $0.apply(record, kind, &state.outbox.stored.element, place) }
      guard isDone else { return .size }
    }
    return nil
  }

  /// Returns false if there are more identifiers than this client has room for.
  @inline(never)
  @_optimize(size)
  private mutating func applyInbound(_ record: Record, _ place: UInt32) -> Bool {
    state.inbox.awaitingPubrel.removeAll()
    var offset = record.body.offset
    while offset &+ 2 <= record.body.end {
      let identifier = journal.element.commit.blocks.bytes.littleEndian16(at: offset)
      guard !state.inbox.awaitingPubrel.isFull else { return false }
      if identifier != 0 { state.inbox.awaitingPubrel.insertUnmarked(identifier) }
      offset &+= 2
    }
    journal.element.inboundPlace = place
    return true
  }

  @inline(never)
  @_optimize(size)
  private mutating func order() -> RecoveryError? {
    guard !journal.element.isRestoring else { return nil }
    guard let count = state.outbox.orderFound() else { return .size }
    var urgent = 0
    if state.hasUrgent {
      guard let count = state.urgent.element.orderFound() else { return .size }
      urgent = count
    }
    journal.element.beginRestoring(count, urgent: urgent)
    return nil
  }

  // MARK: The second time: the messages themselves

  /// Looks for the commit of the next message. Returns a step if that was the last one.
  @inline(never)
  @_optimize(size)
  private mutating func seekNext() -> RecoveryStep? {
    guard let recovery = journal.element.recovery else { return nil }
    if recovery.next == recovery.count &+ recovery.urgentCount {
      finishRecovery(recovery)
      return .done
    }
    let place =
      recovery.isUrgent
      ? state.urgent.element.placeFound(at: recovery.next &- recovery.count)
      : state.outbox.placeFound(at: recovery.next)
    journal.change { $0.seek(place) }
    return nil
  }

  @inline(never)
  @_optimize(size)
  private mutating func restore(_ records: ByteRange, _ wallClock: UInt32) -> RecoveryError? {
    let clock = SessionJournal.RecoveryClock(
      second: state.expiry.seconds, passed: journal.element.passed(records, wallClock))
    let version = identity.acceptedVersion
    var reader = RecordReader(records)
    // Several messages of this commit may follow each other; one that comes before them has it read again.
    var isFirst = true
    while let recovery = journal.element.recovery, recovery.next < recovery.count &+ recovery.urgentCount {
      let index = recovery.isUrgent ? recovery.next &- recovery.count : recovery.next
      let isUrgent = recovery.isUrgent
      let result = journal.change {
        isUrgent
          ? $0.restore(&state.urgent.element, at: index, isUrgent: true, &reader, clock, version)
          : $0.restore(&state.outbox, at: index, isUrgent: false, &reader, clock, version)
      }
      switch result {
      case .restored: journal.change { $0.advance() }
      case .notHere: return isFirst ? .corrupt : nil
      case .noRoom: return .size
      case .corrupt: return .corrupt
      }
      isFirst = false
    }
    return nil
  }

  @inline(never)
  @_optimize(size)
  private mutating func finishRecovery(_ recovery: SessionJournal.Recovery) {
    let space = recovery.reader.space
    journal.element.space = space
    journal.element.torn = recovery.reader.torn
    journal.element.recovery = nil
    journal.element.isOpen = true
    journal.element.durablePosition = acceptedPosition
    journal.element.news.recovered = recovery.count &+ recovery.urgentCount
    journal.element.inboundVersion = state.inbox.awaitingPubrel.changes
    journal.element.durableInboundVersion = journal.element.inboundVersion
    journal.element.numbersVersion = journal.element.numbers.changes
    journal.element.durableNumbersVersion = journal.element.numbers.changes
    state.order = UInt16(truncatingIfNeeded: recovery.count &+ recovery.urgentCount)
    state.outbox.endRecovery(recovery.count, space)
    if state.hasUrgent { state.urgent.element.endRecovery(recovery.urgentCount, space) }
  }
}
