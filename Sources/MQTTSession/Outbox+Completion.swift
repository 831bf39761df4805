import Storage
import MQTTWire

/// How messages end, and how their room comes back: the bytes at once, the descriptor when nobody has to hear of it any
/// more.
extension Outbox {
  /// Ends a message. If somebody wants to know, its slot is kept until the completion is taken.
  mutating func complete(_ slot: Int, _ outcome: Outcome, reasonCode: UInt8? = nil) {
    incomplete &-= 1
    count(outcome)
    let flags = descriptors[slot].flags
    if flags.contains(.hasNoTopic) { aliases.release(Int(descriptors[slot].tag)) }
    if flags.contains(.isStream) { stream = nil }
    if flags.contains(.isDismissed) || (flags.contains(.isQuiet) && outcome.isAsAsked) {
      descriptors[slot].state = .free
      if slot == first { giveBytesBack() }
      collect(slot)
      return
    }
    descriptors[slot].state = .completed
    descriptors[slot].outcome = outcome
    descriptors[slot].answer = reasonCode
    if slot == first { giveBytesBack() }
    queueCompletion(slot)
  }

  mutating func count(_ outcome: Outcome) {
    if outcome == .delivered { return delivered.increment() }
    failed.increment()
    switch outcome {
    case .expired: expired.increment()
    case .dropped, .disconnected: dropped.increment()
    case .replaced: replaced.increment()
    default: break
    }
  }

  mutating func queueCompletion(_ slot: Int) {
    descriptors[slot].link = Outbox.none
    let link = UInt32(truncatingIfNeeded: slot)
    if lastCompleted == Outbox.none {
      firstCompleted = link
    } else {
      descriptors[Int(truncatingIfNeeded: lastCompleted)].link = link
    }
    lastCompleted = link
  }

  @inline(__always)
  mutating func takeCompletion() -> Completion? {
    guard firstCompleted != Outbox.none else { return nil }
    noteMessagesPeak()
    let slot = Int(truncatingIfNeeded: firstCompleted)
    let descriptor = descriptors[slot]
    firstCompleted = descriptor.link
    if firstCompleted == Outbox.none { lastCompleted = Outbox.none }
    descriptors[slot].state = .free
    collect(slot)
    return Completion(
      cookie: descriptor.cookie, outcome: descriptor.outcome, reasonCode: descriptor.answer,
      latency: descriptor.flags.contains(.hasLatency) ? descriptor.since : nil,
      replyTag: descriptor.flags.contains(.isRequest) ? descriptor.tag : nil, slot: slot)
  }

  /// The same, once in the code.
  @inline(never)
  mutating func takeAnyCompletion() -> Completion? { takeCompletion() }

  /// Takes a completion out of their row: nobody wants it.
  mutating func dropCompletion(_ slot: Int) {
    let link = UInt32(truncatingIfNeeded: slot)
    let next = descriptors[slot].link
    var before = Outbox.none
    if firstCompleted == link {
      firstCompleted = next
    } else {
      before = firstCompleted
      while descriptors[Int(truncatingIfNeeded: before)].link != link {
        before = descriptors[Int(truncatingIfNeeded: before)].link
      }
      descriptors[Int(truncatingIfNeeded: before)].link = next
    }
    if lastCompleted == link { lastCompleted = before }
    descriptors[slot].state = .free
    collect(slot)
  }

  /// Gives the bytes of the messages at the front that have ended back.
  @inline(__always)
  mutating func giveBytesBack() {
    // Nearly always one.
    if live > 0, !descriptors[first].state.isOpen {
      first = slot(after: first)
      live &-= 1
      if live == 0 || !descriptors[first].state.isOpen { giveMoreBack() }
    }
    hasNewRoom = isStarved
  }

  @inline(never)
  private mutating func giveMoreBack() {
    while live > 0, !descriptors[first].state.isOpen {
      first = slot(after: first)
      live &-= 1
    }
    if live == 0 { roomEnd = 0 }
  }

  /// Nobody has to hear of this message any more: gives its descriptor back, and those behind it that waited for that.
  @inline(__always)
  mutating func collect(_ slot: Int) {
    guard slot == head else { return hasGap = true }
    // Nearly always one.
    guard collectHead() else { return }
    collectMore()
  }

  @inline(never)
  private mutating func collectMore() {
    while collectHead() { continue }
  }

  /// True: there may be another one.
  @inline(__always)
  private mutating func collectHead() -> Bool {
    guard stored > 0, descriptors[head].state == .free else { return false }
    if unsent == stored {
      // It ended without being sent; the send cursor stood on it.
      unsent &-= 1
      sendSlot = slot(after: sendSlot)
      readySlot = sendSlot
    }
    head = slot(after: head)
    headIdentifier = identifiers.next(after: headIdentifier)
    stored &-= 1
    if known > 0 { known &-= 1 }
    hasNewRoom = isStarved
    return stored > 0 && descriptors[head].state == .free
  }

  /// Takes the newest message back: it was never there.
  mutating func removeNewest(tailOffset offset: Int) {
    notePeaks()
    forgetNewest()
    moveTail(to: offset)
    live &-= 1
    unsent &-= 1
    incomplete &-= 1
    hasNewRoom = isStarved
  }

  mutating func forgetNewest() {
    row.count = 0
    tail = slot(before: tail)
    nextIdentifier = identifiers.advanced(headIdentifier, by: stored &- 1)
    stored &-= 1
  }

  mutating func takeRoomEvent() -> Bool {
    guard hasNewRoom else { return false }
    hasNewRoom = false
    isStarved = false
    return true
  }

  /// A descriptor behind the newest that says no more than how a message ended whose own place is another's now.
  mutating func noteCompletion(of message: Descriptor, _ outcome: Outcome, reasonCode: UInt8? = nil) {
    let slot = tail
    row.count = 0
    descriptors[slot] = message
    descriptors[slot].offset = UInt32(truncatingIfNeeded: tailOffset)
    descriptors[slot].length = 0
    descriptors[slot].state = .completed
    descriptors[slot].outcome = outcome
    descriptors[slot].answer = reasonCode
    tail = self.slot(after: slot)
    nextIdentifier = identifiers.next(after: nextIdentifier)
    stored &+= 1
    // It has no bytes: before others that have, it only takes part.
    if live > 0 { live &+= 1 } else { first = tail }
    unsent &+= 1
    queueCompletion(slot)
  }
}
