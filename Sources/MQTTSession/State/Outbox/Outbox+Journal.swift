import Journal
import MQTTWire
import Storage

/// What the journal hears of the messages: which there are, what becomes of them, and in which commit it is.
///
/// A message of QoS 1 may be sent before the journal has it. One of QoS 2 may not: a later message could
/// otherwise get its Packet Identifier after a crash, and the server would take that for a repetition. PUBREL
/// waits for the record that PUBREC came, or the PUBLISH would be sent again after it.
extension Outbox {
  /// Whether this outbox has a journal.
  var isJournaled: Bool {
    @inline(__always) get { Feature.hasJournal && !stored.isEmpty }
  }

  /// Whether something may have happened that the journal has not been told.
  var hasNews: Bool {
    guard isJournaled else { return false }
    return stored.element.nextChange != nil || hasUnconsidered
  }

  /// Whether the journal has not looked at the newest message: also because there was no entry for it.
  var hasUnconsidered: Bool {
    guard isJournaled, descriptors.count > 0 else { return false }
    let newest = descriptors[newestSlot]
    return !newest.flags.contains(.isConsidered) && newest.state != .reserved
  }

  /// Returns whether a message may not leave before a commit that it is in, or will be in.
  func waitsForJournal(_ message: Descriptor) -> Bool {
    guard message.qos == .exactlyOnce, !message.flags.contains(.mayLeave) else { return false }
    return message.flags.contains(.isStored) || !message.flags.contains(.isConsidered)
  }

  // MARK: Things that happened

  /// Takes up the messages that were added since the last time.
  @inline(never)
  @_optimize(size)
  mutating func considerNewMessages() {
    var slot = descriptors.tail
    var count = 0
    while count < descriptors.count {
      let before = descriptors.slot(before: slot)
      if descriptors[before].flags.contains(.isConsidered) { break }
      slot = before
      count &+= 1
    }
    for _ in 0..<count {
      let message = descriptors[slot]
      // What lies behind it waits with it, so that nothing is passed over.
      guard message.state != .reserved else { return }
      if message.isStorable {
        guard stored.element.add(slot, size: message.size) else { return }
        descriptors[slot].flags.set(.isStored, true)
      }
      descriptors[slot].flags.set(.isConsidered, true)
      slot = descriptors.slot(after: slot)
    }
  }

  /// Returns whether a message may take the place of the one in a slot. One that the journal is to have must not
  /// if it would need an entry: it would come behind messages that were added later.
  @_optimize(size)
  mutating func mayReplace(_ slot: Int, by flags: MessageFlags) -> Bool {
    considerNewMessages()
    return !flags.isAcknowledged || flags.contains(.isUnstored) || descriptors[slot].flags.contains(.isStored)
  }

  /// Handles that another message has taken the place of the one in a slot.
  @_optimize(size)
  mutating func replaced(_ slot: Int, wasStored: Bool, wasConsidered: Bool) {
    descriptors[slot].flags.set(.isConsidered, wasConsidered)
    guard wasStored else { return }
    let entry = stored.element.entry(of: slot)
    guard descriptors[slot].isStorable else { return stored.element.ended(entry) }
    stored.element.rewrite(entry)
    descriptors[slot].flags.set(.isStored, true)
  }

  /// Fixes the identifiers of the messages that are sent next, at most `count` of them, so that the next
  /// commit has them.
  @inline(never)
  @_optimize(size)
  mutating func bindNext(_ count: Int) {
    var slot = sendSlot
    for _ in 0..<min(count, unsent) {
      let message = descriptors[slot]
      if message.state == .queued, message.flags.contains(.isStored) {
        let entry = stored.element.entry(of: slot)
        if stored.element[entry].state == .queued {
          stored.element.set(entry, .bound)
          known = max(known, descriptors.index(of: slot) &+ 1)
        }
      }
      slot = descriptors.slot(after: slot)
    }
  }

  /// Handles that PUBREC came. Returns whether PUBREL has to wait for the journal.
  @_optimize(size)
  mutating func holdsPubrel(_ slot: Int) -> Bool {
    guard isJournaled, descriptors[slot].flags.contains(.isStored) else { return false }
    let entry = stored.element.entry(of: slot)
    if stored.element[entry].state != .released { stored.element.set(entry, .released) }
    return stored.element[entry].isQueued
  }

  /// Handles that the session is a new one: what the server knew of identifiers is gone.
  @inline(never)
  @_optimize(size)
  mutating func forgetIdentifiers() {
    var slot = descriptors.head
    for _ in 0..<descriptors.count {
      let message = descriptors[slot]
      if message.state == .queued, message.flags.contains(.isStored) {
        let entry = stored.element.entry(of: slot)
        if stored.element[entry].state == .bound { stored.element.set(entry, .queued) }
        descriptors[slot].flags.set(.mayLeave, false)
      }
      slot = descriptors.slot(after: slot)
    }
  }

  /// Whether PUBLISH would be sent next if the journal had the message.
  var holdsPublish: Bool {
    guard unsent > 0 else { return false }
    let next = descriptors[readySlot]
    return next.state == .queued && waitsForJournal(next)
  }

  /// Whether a PUBREL waits for the record that PUBREC came.
  @_optimize(size)
  var holdsAnyPubrel: Bool {
    var slot = descriptors.head
    for _ in 0..<known {
      let message = descriptors[slot]
      if message.state == .pubrelSent, message.flags.contains(.isStored),
        stored.element[stored.element.entry(of: slot)].isQueued
      {
        return true
      }
      slot = descriptors.slot(after: slot)
    }
    return false
  }

  // MARK: A commit

  /// Adds to a commit, which begins at `place`, what the journal is to be told, as far as it fits. Returns
  /// whether that was all.
  @_optimize(size)
  mutating func tell(_ commit: inout Commit, place: UInt32, second: UInt32, isUrgent: Bool) -> Bool {
    while let entry = stored.element.nextChange {
      guard tell(entry, &commit, place: place, second: second, isUrgent: isUrgent) else { return false }
    }
    return true
  }

  /// Adds the message that is in the oldest commit once more. Returns false if there is none, or if the commit is full.
  @_optimize(size)
  mutating func tellOldest(_ commit: inout Commit, place: UInt32, second: UInt32, isUrgent: Bool) -> Bool {
    guard isJournaled, let entry = stored.element.oldestEntry else { return false }
    stored.element.rewriteFirst(entry)
    return tell(entry, &commit, place: place, second: second, isUrgent: isUrgent)
  }

  /// Adds what is to be said about the first entry of those that have changed. Returns whether it fits.
  @inline(never)
  @_optimize(size)
  private mutating func tell(
    _ entry: Int, _ commit: inout Commit, place: UInt32, second: UInt32, isUrgent: Bool
  ) -> Bool {
    let change = stored.element[entry]
    if change.state == .ended, !change.isKnown {
      stored.element.forget()
      return true
    }
    let isMessage = change.needsMessage
    guard put(entry, change, isMessage, &commit, second: second, isUrgent: isUrgent) else { return false }
    stored.element.told(withMessage: isMessage, place: place)
    return true
  }

  /// Where the oldest commit begins that has one of the messages.
  var oldestPlace: UInt32? {
    guard isJournaled, let entry = stored.element.oldestEntry else { return nil }
    return stored.element[entry].place
  }

  @inline(never)
  @_optimize(size)
  private func put(
    _ entry: Int, _ change: StoredMessages.Entry, _ isMessage: Bool, _ commit: inout Commit, second: UInt32,
    isUrgent: Bool
  ) -> Bool {
    let slot = Int(change.slot)
    var flags = isUrgent ? JournalRecord.Flags.isUrgent : 0
    let subject = UInt16(truncatingIfNeeded: entry)
    let identifier = change.state == .queued ? 0 : identifier(at: descriptors.index(of: slot)).rawValue
    if isMessage {
      let message = descriptors[slot]
      let length = JournalRecord.MessageHeader.size &+ message.size
      guard commit.fits(length) else { return false }
      if change.state == .released { flags |= JournalRecord.Flags.isReleased }
      commit.begin(
        kind: JournalRecord.Kind.message.rawValue, flags: flags, subject: subject, length: length)
      let left = message.expiresAt > second ? message.expiresAt &- second : 1
      JournalRecord.MessageHeader(
        serial: change.serial, cookie: Counter(value: message.cookie), identifier: identifier,
        flags: message.flags.ofMessage, expiry: message.flags.contains(.expires) ? left : 0,
        expiryOffset: message.flags.contains(.expires) ? message.link : 0
      ).put(into: &commit)
      commit.put(bytes.bytes.extracting(message.start..<message.end))
      return true
    }
    guard commit.fits(change.state == .ended ? 0 : 2) else { return false }
    let kind: JournalRecord.Kind =
      switch change.state {
      case .ended: .ended
      case .released: .released
      default: .bound
      }
    commit.begin(kind: kind.rawValue, flags: flags, subject: subject, length: change.state == .ended ? 0 : 2)
    if change.state != .ended { commit.put(identifier) }
    return true
  }

  /// Handles that a commit is durable, or has failed. What waited for it may leave.
  @inline(never)
  @_optimize(size)
  mutating func written(_ isDurable: Bool) {
    while let entry = stored.element.takeWritten(isDurable) {
      let change = stored.element[entry]
      guard isDurable, change.state != .ended, change.state != .free else { continue }
      let slot = Int(change.slot)
      // What has taken its place meanwhile is not in the journal yet, nor that it has no identifier any more.
      if change.toldState != .queued, change.state != .queued, !change.isOutdated {
        descriptors[slot].flags.set(.mayLeave, true)
      }
      if change.toldState == .released, descriptors[slot].state == .pubrelSent {
        descriptors[slot].flags.set(.needsPubrel, true)
        pubrelSlot = descriptors.head
        pubrelsToCheck = known
      }
    }
  }
}

extension Outbox.Descriptor {
  /// Whether a journal can have it: all of it has to be in the ring, and nobody waits for a response to it.
  fileprivate var isStorable: Bool {
    guard state.isOpen, qos != .atMostOnce else { return false }
    return !flags.containsAny(.isStream, .isReference, .isRequest, .hasNoTopic, .isUnstored)
  }
}
