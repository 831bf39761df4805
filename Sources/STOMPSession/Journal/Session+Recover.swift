public import Journal
import STOMPWire
public import Storage

/// Taking up what an earlier process has promised. It comes before the first connection, and before anything is sent.
///
/// The log is read twice: first which frames there are, then the frames themselves, in their order.
extension STOMPSession {
  /// Begins with a new file, which has this superblock and zeros: there is nothing to be taken up.
  @_optimize(size)
  public mutating func beginJournal(_ superblock: Superblock) {
    journal.element.space = LogSpace(superblock)
    journal.element.isOpen = true
  }

  /// Begins with the file that has this superblock.
  @_optimize(size)
  public mutating func beginRecovery(_ superblock: Superblock) {
    let reader = LogReader(superblock, capacity: journal.element.blockCount)
    journal.element.recovery = FrameJournal.Recovery(reader)
    outbox.stored.element.beginRecovery()
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

  public mutating func recoveryRead() { journal.element.recovery?.reader.wasRead() }

  /// Goes on as far as it gets without reading.
  @inline(never)
  @_optimize(size)
  public mutating func recover() -> RecoveryStep {
    while true {
      guard let step = journal.change({ $0.readOn() }) else { return .failed(.corrupt) }
      switch step {
      case .read(let block, let count, let offset): return .read(block: block, count: count, offset: offset)
      case .failed(let mistake): return .failed(mistake == .buffer ? .size : .corrupt)
      case .records(let records):
        let isRestoring = journal.element.recovery?.isRestoring ?? false
        if let error = isRestoring ? restore(records) : apply(records) { return .failed(error) }
      case .end: if let error = order() { return .failed(error) }
      }
      if journal.element.recovery?.isRestoring ?? false, let end = seekNext() { return end }
    }
  }

  // MARK: The first time: which there are

  @inline(never)
  @_optimize(size)
  private mutating func apply(_ records: ByteRange) -> RecoveryError? {
    var reader = RecordReader(records)
    let place = journal.element.place
    while let record = journal.element.next(&reader) {
      guard let kind = FrameRecord.Kind(rawValue: record.kind) else {
        // What a newer library may leave out, it marks so.
        if record.kind >= JournalRecord.firstOptional { continue }
        return .corrupt
      }
      let entry = Int(record.subject)
      guard entry < outbox.stored.element.capacity else {
        // What is said of a frame that is not there any more is of no use.
        if kind == .frame { return .size }
        continue
      }
      switch kind {
      case .ended: outbox.stored.element.found(entry, .free, value: 0)
      case .frame:
        guard let header = header(of: record) else { return .corrupt }
        outbox.stored.element.found(entry, serial: header.serial, place: place, .queued, value: 0)
      }
    }
    return nil
  }

  private func header(of record: Record) -> FrameRecord.Header? {
    FrameRecord.Header(journal.element.commit.blocks.bytes.extracting(record.body.range))
  }

  @_optimize(size)
  private mutating func order() -> RecoveryError? {
    guard let recovery = journal.element.recovery, !recovery.isRestoring else { return nil }
    guard let count = outbox.stored.element.orderFound() else { return .size }
    journal.element.recovery?.count = count
    journal.element.recovery?.isRestoring = true
    return nil
  }

  // MARK: The second time: the frames themselves

  /// Looks for the commit of the next frame. Returns a step if that was the last one.
  @_optimize(size)
  private mutating func seekNext() -> RecoveryStep? {
    guard let recovery = journal.element.recovery else { return nil }
    guard recovery.next < recovery.count else {
      finish(recovery)
      return .done
    }
    let place = outbox.stored.element[outbox.stored.element.found(at: recovery.next)].place
    journal.element.recovery?.reader.read(commitAt: place)
    return nil
  }

  /// Several frames of this commit may follow each other; one that comes before them has it read again.
  @inline(never)
  @_optimize(size)
  private mutating func restore(_ records: ByteRange) -> RecoveryError? {
    var reader = RecordReader(records)
    var isFirst = true
    while let recovery = journal.element.recovery, recovery.next < recovery.count {
      let entry = outbox.stored.element.found(at: recovery.next)
      let wanted = outbox.stored.element[entry]
      // An older commit may have another frame with this entry.
      guard wanted.place == journal.element.place, let record = find(entry, wanted.serial, &reader) else {
        return isFirst ? .corrupt : nil
      }
      if let error = journal.change({ Self.restore(record, entry, of: &$0, into: &outbox) }) { return error }
      journal.element.recovery?.next &+= 1
      isFirst = false
    }
    return nil
  }

  @_optimize(size)
  private func find(_ entry: Int, _ serial: Counter, _ reader: inout RecordReader) -> Record? {
    while let record = journal.element.next(&reader) {
      guard record.kind == FrameRecord.Kind.frame.rawValue, Int(record.subject) == entry,
        let header = header(of: record), header.serial == serial
      else { continue }
      return record
    }
    return nil
  }

  @_optimize(size)
  private static func restore(
    _ record: Record, _ entry: Int, of journal: inout FrameJournal, into outbox: inout FrameQueue
  ) -> RecoveryError? {
    let body = journal.commit.blocks.bytes.extracting(record.body.range)
    guard let header = FrameRecord.Header(body), let dialect = Dialect(rawValue: header.dialect) else {
      return .corrupt
    }
    let frame = body.extracting(FrameRecord.Header.size..<body.count)
    guard StoredFrame.isOne(frame) else { return .corrupt }
    return outbox.restore(entry, header, frame, dialect) ? nil : .size
  }

  @_optimize(size)
  private mutating func finish(_ recovery: FrameJournal.Recovery) {
    let space = recovery.reader.space
    journal.element.space = space
    journal.element.torn = recovery.reader.torn
    journal.element.recovery = nil
    journal.element.isOpen = true
    outbox.stored.element.endRecovery(recovery.count) { space.age(of: $0) }
    journal.element.durablePosition = outbox.stored.element.lastSerial
    journal.element.news.recovered = recovery.count
  }
}
