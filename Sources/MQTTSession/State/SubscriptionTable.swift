import MQTTWire
import Storage

/// What the application has subscribed to, so that the session can resubscribe when the server has lost it.
/// The table says what is wanted, not what a server has: it outlives every connection.
struct SubscriptionTable: ~Copyable {
  enum State: UInt8, BitwiseCopyable {
    case free
    /// Its SUBSCRIBE is in the subscribe queue, which sends it on every connection until it is
    /// acknowledged.
    case subscribing
    case granted
    /// The server has lost it.
    case lost
    /// A SUBSCRIBE that resubscribes is in the subscribe queue.
    case resubscribing
    /// The server did not grant it again, and the application has not been told yet.
    case refused
  }

  struct Entry: BitwiseCopyable {
    /// Subscription Identifier; 0: none. Of a free entry, how many entries further the next free one is than the
    /// one behind it; so those that were never used need nothing but zeros.
    var identifier: UInt32
    var options: UInt8
    var state: State
    /// Why it was refused.
    var reasonCode: UInt8
  }

  /// The entries of one state: how many, and the first.
  private struct Entries: BitwiseCopyable {
    var count: UInt16 = 0
    var first: UInt16 = 0

    /// Counts an entry that has changed. `first` moves back only to an entry that gets the state, which happens
    /// to all of them at once: so the search for the next one is short on average.
    @inline(never)
    @_optimize(size)
    mutating func update(
      _ state: State, _ slot: Int, from old: State, to new: State, in entries: borrowing Table<Entry>
    ) {
      if old == state { count &-= 1 }
      if new == state {
        if count == 0 || slot < first { first = UInt16(truncatingIfNeeded: slot) }
        count &+= 1
      }
      while count > 0, entries[Int(first)].state != state { first &+= 1 }
    }
  }

  private var entries: Table<Entry>
  private var filters: TextTable
  private var refused = Entries()
  private var lost = Entries()
  private var firstFree: UInt16 = 0
  private let inPlace = InPlace()

  struct Plan: BitwiseCopyable {
    let entries: ArenaSlice<Entry>
    let filters: TextTable.Plan

    init(entries: Int, bytes: Int, in plan: inout ArenaLayout) {
      self.entries = plan.reserve(entries, of: Entry.self)
      filters = TextTable.Plan(slots: entries, bytes: bytes, in: &plan)
    }
  }

  @inline(never)
  @_optimize(size)
  init(_ plan: Plan, in block: borrowing Arena) {
    entries = block.table(plan.entries)
    filters = TextTable(plan.filters, in: block)
    entries.clear()
  }

  var capacity: Int { entries.count }

  var count: Int { filters.count }

  // MARK: What the application wants

  /// Returns whether all of a list would fit beside what is there.
  func hasRoom<List: SubscriptionList & ~Copyable & ~Escapable>(for list: borrowing List) -> Bool {
    var more = 0
    var bytes = 0
    for index in 0..<list.count where find(list.filter(at: index)) == nil {
      more &+= 1
      bytes &+= list.filter(at: index).count
      guard count &+ more <= entries.count, bytes <= filters.free else { return false }
    }
    return true
  }

  /// The caller has seen that there is room.
  @inline(never)
  @_optimize(size)
  mutating func add(_ filter: Span<UInt8>, _ options: SubscriptionOptions, identifier: UInt32) {
    let slot: Int
    if let known = filters.find(filter) {
      slot = known
    } else {
      slot = Int(firstFree)
      firstFree = UInt16(truncatingIfNeeded: UInt32(firstFree) &+ 1 &+ entries[slot].identifier)
      filters.add(slot, filter, filters.hash(of: filter))
    }
    entries[slot].identifier = identifier
    entries[slot].options = options.rawValue
    setState(slot, .subscribing)
  }

  mutating func remove(_ filter: Span<UInt8>) {
    if let slot = find(filter) { remove(slot) }
  }

  @inline(never)
  @_optimize(size)
  private mutating func remove(_ slot: Int) {
    guard entries[slot].state != .free else { return }
    filters.remove(slot)
    setState(slot, .free)
    entries[slot].identifier = UInt32(firstFree) &- UInt32(truncatingIfNeeded: slot &+ 1)
    firstFree = UInt16(truncatingIfNeeded: slot)
  }

  /// Removes a refused subscription that was reported, unless the application has subscribed to it again
  /// since.
  mutating func forget(_ slot: Int) {
    if entries[slot].state == .refused { remove(slot) }
  }

  // MARK: Things that happened

  /// Handles the acknowledgement of a SUBSCRIBE. A refusal removes the subscription.
  @inline(never)
  @_optimize(size)
  mutating func acknowledged(_ filter: Span<UInt8>, isRefused: Bool) {
    guard let slot = find(filter), entries[slot].state == .subscribing else { return }
    if isRefused { remove(slot) } else { setState(slot, .granted) }
  }

  /// Marks a subscription that was granted once and not again.
  mutating func refuse(_ filter: Span<UInt8>, _ reasonCode: UInt8) {
    if let slot = find(filter) { refuse(slot, reasonCode) }
  }

  @inline(never)
  @_optimize(size)
  mutating func refuse(_ slot: Int, _ reasonCode: UInt8) {
    guard entries[slot].state == .lost || entries[slot].state == .resubscribing else { return }
    setState(slot, .refused)
    entries[slot].reasonCode = reasonCode
  }

  /// Marks a subscription that was granted again.
  mutating func grant(_ filter: Span<UInt8>) {
    if let slot = find(filter), entries[slot].state == .resubscribing { setState(slot, .granted) }
  }

  /// Marks all granted subscriptions as lost, because the server has none of them.
  mutating func sessionLost() {
    for slot in 0..<(count > 0 ? entries.count : 0) where entries[slot].state == .granted {
      setState(slot, .lost)
    }
  }

  /// Marks as lost what is being resubscribed: without SUBACK it has to be sent again, whatever the next
  /// server has.
  mutating func connectionLost() {
    for slot in 0..<(count > 0 ? entries.count : 0) where entries[slot].state == .resubscribing {
      setState(slot, .lost)
    }
  }

  // MARK: Outputs

  /// The next one to resubscribe; `markResubscribing` follows when its SUBSCRIBE is in the subscribe queue.
  var firstLost: Int? { lost.count > 0 ? Int(lost.first) : nil }

  mutating func markResubscribing(_ slot: Int) { setState(slot, .resubscribing) }

  var hasRefused: Bool { refused.count > 0 }

  var firstRefused: Int? { hasRefused ? Int(refused.first) : nil }

  subscript(slot: Int) -> Entry { entries[slot] }

  /// Returns the range of a filter in `bytes`.
  func filter(_ slot: Int) -> ByteRange { filters.range(slot) }

  var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { filters.bytes }
  }

  // MARK: Helpers

  @inline(never)
  @_optimize(size)
  private mutating func setState(_ slot: Int, _ state: State) {
    let old = entries[slot].state
    entries[slot].state = state
    // Nearly all of them go from one of the first states to another.
    guard max(old.rawValue, state.rawValue) >= State.lost.rawValue else { return }
    lost.update(.lost, slot, from: old, to: state, in: entries)
    refused.update(.refused, slot, from: old, to: state, in: entries)
  }

  private func find(_ filter: Span<UInt8>) -> Int? { filters.find(filter) }
}

/// One entry of the table, as the list of a SUBSCRIBE.
struct Resubscription: SubscriptionList, ~Escapable {
  private let filter: Span<UInt8>
  private let entry: SubscriptionTable.Entry

  @_lifetime(copy filter)
  init(_ filter: Span<UInt8>, _ entry: SubscriptionTable.Entry) {
    self.filter = filter
    self.entry = entry
  }

  var count: Int { 1 }

  @_lifetime(borrow self)
  func filter(at index: Int) -> Span<UInt8> { filter }

  func options(at index: Int) -> SubscriptionOptions {
    let bits = entry.options
    return SubscriptionOptions(
      maximumQoS: QoS(rawValue: bits & 3) ?? .atMostOnce, noLocal: bits & 4 != 0,
      retainAsPublished: bits & 8 != 0,
      retainHandling: .init(rawValue: bits >> 4 & 3) ?? .send)
  }
}
