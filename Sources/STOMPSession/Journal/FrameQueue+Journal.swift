import Journal
import STOMPWire
import Storage

/// What the journal hears of the frames: which there are, which have ended, and in which commit it is. None waits for it: a
/// frame that is sent before the journal has it is confirmed by its receipt, as any other.
extension FrameQueue {
  var isJournaled: Bool {
    @inline(__always) get { !stored.isEmpty }
  }

  /// Whether something has happened that the journal has not been told.
  var hasNews: Bool { isJournaled && (stored.element.nextChange != nil || late > 0) }

  // MARK: A commit

  /// Adds to a commit, which begins at `place`, what the journal is to be told, as far as it fits. Returns whether that was
  /// all.
  @_optimize(size)
  mutating func tell(_ commit: inout Commit, place: UInt32) -> Bool {
    repeat {
      addLate()
      while let entry = stored.element.nextChange {
        guard tell(entry, &commit, place: place) else { return false }
      }
      // What need not be said has left its entries.
    } while late > 0 && stored.element.hasRoom
    return late == 0
  }

  /// Adds the frame that is in the oldest commit once more. Returns false if there is none, or if the commit is full.
  @_optimize(size)
  mutating func tellOldest(_ commit: inout Commit, place: UInt32) -> Bool {
    guard let entry = stored.element.oldestEntry else { return false }
    stored.element.rewriteFirst(entry)
    return tell(entry, &commit, place: place)
  }

  /// Where the oldest commit begins that has one of the frames.
  var oldestPlace: UInt32? { stored.element.oldestEntry.map { stored.element[$0].place } }

  /// Adds what is to be said about the first entry of those that have changed. Returns whether it fits.
  @inline(never)
  @_optimize(size)
  private mutating func tell(_ entry: Int, _ commit: inout Commit, place: UInt32) -> Bool {
    let change = stored.element[entry]
    if change.state == .ended, !change.isKnown {
      stored.element.forget()
      return true
    }
    guard change.needsMessage ? putFrame(entry, change, &commit) : putEnd(entry, &commit) else {
      return false
    }
    stored.element.told(withMessage: change.needsMessage, place: place)
    return true
  }

  private func putFrame(_ entry: Int, _ change: StoredMessages.Entry, _ commit: inout Commit) -> Bool {
    let frame = self[slot: Int(change.slot)]
    let length = FrameRecord.Header.size &+ Int(frame.size)
    guard commit.fits(length) else { return false }
    commit.begin(
      kind: FrameRecord.Kind.frame.rawValue, subject: UInt16(truncatingIfNeeded: entry), length: length)
    FrameRecord.Header(
      serial: change.serial, cookie: Counter(value: frame.cookie),
      flags: frame.isQuiet ? FrameRecord.Header.isQuiet : 0, dialect: frame.dialect.rawValue
    ).put(into: &commit)
    let start = Int(frame.offset)
    commit.put(bytes.extracting(start..<start &+ Int(frame.size)))
    return true
  }

  private func putEnd(_ entry: Int, _ commit: inout Commit) -> Bool {
    // A frame that is stored changes once: it ends.
    guard commit.fits(0) else { return false }
    commit.begin(
      kind: FrameRecord.Kind.ended.rawValue, subject: UInt16(truncatingIfNeeded: entry), length: 0)
    return true
  }

  /// Handles that a commit is durable, or has failed.
  @_optimize(size)
  mutating func written(_ isDurable: Bool) {
    while stored.element.takeWritten(isDurable) != nil {}
  }

  // MARK: Frames that an earlier process has accepted

  /// Puts one back, before the first connection. Returns false if there is no room. It may have been sent.
  @inline(never)
  @_optimize(size)
  mutating func restore(
    _ entry: Int, _ header: FrameRecord.Header, _ frame: Span<UInt8>, _ dialect: Dialect
  ) -> Bool {
    guard let offset = place(for: frame.count) else { return false }
    let number = nextNumber
    var target = space(at: offset, count: frame.count)
    copy(frame, into: &target)
    StoredFrame.setNumber(number, in: &target)
    var restored = Entry(
      cookie: header.cookie.uint64, offset: UInt32(truncatingIfNeeded: offset),
      size: UInt32(truncatingIfNeeded: frame.count), transaction: 0, kind: .send, hasReceipt: true,
      isRepeatable: true, isQuiet: header.flags & FrameRecord.Header.isQuiet != 0)
    restored.isRepeated = true
    restored.isStored = true
    restored.dialect = dialect
    let slot = nextSlot
    append(restored)
    stored.element.restored(entry, in: slot)
    return true
  }
}
