import Journal
import MQTTWire
import Storage

/// How messages end, and how their room is freed: the bytes at once, the descriptor when nothing remains to
/// be reported.
extension Outbox {
  /// Completes a message. If that is to be reported, its descriptor is kept until the completion is taken.
  @inline(never)
  mutating func complete(_ slot: Int, _ result: DeliveryResult, reasonCode: UInt8? = nil) {
    finish(slot, result, reasonCode: reasonCode, latency: nil)
  }

  /// Does the same, inlined where it runs for each message. `latency` is how long the server took, in
  /// milliseconds.
  @inline(always)
  mutating func finish(_ slot: Int, _ result: DeliveryResult, reasonCode: UInt8?, latency: UInt32?) {
    incomplete &-= 1
    count(result)
    var flags = descriptors[slot].flags
    openBytes &-= descriptors[slot].size
    if flags.containsAny(.hasNoTopic, .isStream, .isReference, .isExpendable, .isStored) {
      flags = freeParts(of: slot)
    }
    let isUnwanted =
      result.isAsAsked ? flags.containsAny(.isDismissed, .isQuiet) : flags.contains(.isDismissed)
    if isUnwanted {
      descriptors[slot].state = .free
      if slot == first { freeBytes() }
      return freeDescriptor(slot)
    }
    if let latency {
      descriptors[slot].since = latency
      flags.set(.hasLatency, true)
    }
    flags.set(.hasReasonCode, reasonCode != nil)
    descriptors[slot].flags = flags
    descriptors[slot].reasonCode = reasonCode ?? 0
    descriptors[slot].result = result
    descriptors[slot].state = .completed
    queueCompletion(slot)
    if slot == first { freeBytes() }
  }

  /// Frees what a message has beside its bytes in the ring. Returns the flags that it has then.
  @inline(never)
  private mutating func freeParts(of slot: Int) -> MessageFlags {
    let message = descriptors[slot]
    if message.flags.contains(.hasNoTopic) { aliases.removeUser(Int(message.tag)) }
    if message.flags.contains(.isStream) { stream = nil }
    if message.flags.contains(.isReference) { giveBack(message.tag) }
    if message.flags.contains(.isExpendable) { removeExpendable(slot) }
    if message.flags.contains(.isStored) {
      stored.element.ended(stored.element.entry(of: slot))
      descriptors[slot].flags.set(.isStored, false)
    }
    return descriptors[slot].flags
  }

  @inline(__always)
  mutating func count(_ result: DeliveryResult) {
    if result == .delivered { return delivered.increment() }
    countFailure(result)
  }

  @inline(never)
  private mutating func countFailure(_ result: DeliveryResult) {
    failed.increment()
    switch result {
    case .expired: expired.increment()
    case .dropped, .disconnected: dropped.increment()
    case .replaced: replaced.increment()
    default: break
    }
  }

  /// The slot of the next completion, if its message was delivered and is no request.
  @inline(__always)
  var plainCompletion: Int? {
    guard firstCompleted != Outbox.none else { return nil }
    let slot = Int(truncatingIfNeeded: firstCompleted)
    guard descriptors[slot].result == .delivered, !descriptors[slot].flags.contains(.isRequest) else {
      return nil
    }
    return slot
  }

  /// Takes the next completion, unless its message is a request.
  @inline(__always)
  mutating func takeBareCompletion() -> Completion? {
    guard firstCompleted != Outbox.none else { return nil }
    guard !descriptors[Int(truncatingIfNeeded: firstCompleted)].flags.contains(.isRequest) else { return nil }
    return takeCompletion()
  }

  @inline(__always)
  mutating func queueCompletion(_ slot: Int) {
    descriptors[slot].link = Outbox.none
    let link = UInt32(truncatingIfNeeded: slot)
    let previous = lastCompleted
    lastCompleted = link
    guard previous != Outbox.none else { return firstCompleted = link }
    descriptors[Int(truncatingIfNeeded: previous)].link = link
  }

  /// Takes the completion in `slot`, which is the first of the list.
  @inline(__always)
  mutating func takeCompletion(first slot: Int) -> Completion {
    recordMessagesPeak()
    let descriptor = descriptors[slot]
    firstCompleted = descriptor.link
    if firstCompleted == Outbox.none { lastCompleted = Outbox.none }
    descriptors[slot].state = .free
    freeDescriptor(slot)
    return Completion(
      cookie: descriptor.cookie, result: descriptor.result, reasonCode: descriptor.serverReason,
      latency: descriptor.flags.contains(.hasLatency) ? descriptor.since : nil,
      responseTag: descriptor.flags.contains(.isRequest) ? descriptor.tag : nil, slot: slot)
  }

  /// Takes the next completion of any kind. Kept out of line: inlined at each call, it takes 300 bytes
  /// more.
  @inline(never)
  mutating func takeCompletion() -> Completion? {
    guard firstCompleted != Outbox.none else { return nil }
    return takeCompletion(first: Int(truncatingIfNeeded: firstCompleted))
  }

  /// Removes a completion that is not to be reported from the list.
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
    freeDescriptor(slot)
  }

  /// Frees the bytes of the messages at the front that are complete.
  @inline(__always)
  mutating func freeBytes() {
    // Nearly always exactly one message is complete.
    if live > 0, !descriptors[first].state.isOpen {
      first = descriptors.slot(after: first)
      live &-= 1
      if live == 0 || !descriptors[first].state.isOpen { freeMoreBytes() }
    }
    hasNewRoom = isStarved
  }

  @inline(never)
  private mutating func freeMoreBytes() {
    while live > 0, !descriptors[first].state.isOpen {
      first = descriptors.slot(after: first)
      live &-= 1
    }
    if live == 0 { bytes.forgetRoom() }
  }

  /// Frees the descriptor of a message about which nothing remains to be reported, and those behind it that
  /// waited for that.
  @inline(__always)
  mutating func freeDescriptor(_ slot: Int) {
    guard slot == descriptors.head else { return addGap() }
    freeHead()
    if hasFreeHead { freeMoreDescriptors() }
  }

  @inline(never)
  private mutating func freeMoreDescriptors() {
    while hasFreeHead {
      freeHead()
      gaps &-= 1
    }
    gapsChanged()
  }

  private var hasFreeHead: Bool {
    @inline(__always) get { descriptors.count > 0 && descriptors[descriptors.head].state == .free }
  }

  @inline(__always)
  private mutating func freeHead() {
    if unsent == descriptors.count {
      // The message ended without being sent, while `sendSlot` pointed to it.
      unsent &-= 1
      sendSlot = descriptors.slot(after: sendSlot)
      readySlot = sendSlot
    }
    if Feature.hasOverflow, expendable.from == descriptors.head { passExpendable() }
    descriptors.removeFirst()
    headIdentifier = identifiers.next(after: headIdentifier)
    if known > 0 { known &-= 1 }
    hasNewRoom = isStarved
  }

  /// Removes the newest message as if it had never been added.
  mutating func removeNewest(tailOffset offset: Int) {
    recordPeaks()
    openBytes &-= descriptors[newestSlot].size
    descriptors.removeLast()
    numbersChanged()
    bytes.moveTail(to: offset)
    live &-= 1
    unsent &-= 1
    incomplete &-= 1
    hasNewRoom = isStarved
  }

  /// Handles that the newest messages are gone, or have other indexes.
  mutating func numbersChanged() {
    batch.count = 0
    nextIdentifier = identifiers.advanced(headIdentifier, by: descriptors.count)
  }

  mutating func takeRoomEvent() -> Bool {
    guard hasNewRoom else { return false }
    hasNewRoom = false
    isStarved = false
    return true
  }

  /// Appends a descriptor that reports only how a message ended whose own descriptor another message has
  /// taken.
  mutating func appendCompletion(of message: Descriptor, _ result: DeliveryResult, reasonCode: UInt8? = nil) {
    let slot = descriptors.tail
    batch.count = 0
    var completed = message
    completed.offset = UInt32(truncatingIfNeeded: bytes.tail)
    completed.length = 0
    completed.flags.set(.isStored, false)
    completed.flags.set(.isConsidered, false)
    completed.state = .completed
    completed.result = result
    completed.serverReason = reasonCode
    descriptors.append(completed)
    nextIdentifier = identifiers.next(after: nextIdentifier)
    // It has no bytes. It counts as one that has if a message in front of it has some.
    if live > 0 { live &+= 1 } else { first = descriptors.tail }
    unsent &+= 1
    queueCompletion(slot)
  }
}
