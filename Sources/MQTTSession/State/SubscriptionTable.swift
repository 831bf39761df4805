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
    /// Subscription Identifier; 0: none.
    var identifier: UInt32
    var offset: UInt32
    var size: UInt16
    var options: UInt8
    var state: State
    /// Why it was refused.
    var reasonCode: UInt8
  }

  private var entries: Table<Entry>
  private var filters: PackedStrings
  private(set) var count = 0
  private var refused = 0
  private var lost = 0

  init(entries: consuming Table<Entry>, filters: consuming Region) {
    self.entries = entries
    self.filters = PackedStrings(region: filters)
    for index in 0..<self.entries.count {
      self.entries[index] = Entry(
        identifier: 0, offset: 0, size: 0, options: 0, state: .free, reasonCode: 0)
    }
  }

  var capacity: Int { entries.count }

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
  mutating func add(_ filter: Span<UInt8>, _ options: SubscriptionOptions, identifier: UInt32) {
    var slot = find(filter)
    if slot == nil {
      slot = free
      guard let slot else { return }
      let range = filters.append(filter)
      entries[slot].offset = UInt32(truncatingIfNeeded: range.offset)
      entries[slot].size = UInt16(truncatingIfNeeded: range.count)
      count &+= 1
    }
    guard let slot else { return }
    entries[slot].identifier = identifier
    entries[slot].options = options.rawValue
    setState(slot, .subscribing)
  }

  mutating func remove(_ filter: Span<UInt8>) {
    if let slot = find(filter) { remove(slot) }
  }

  private mutating func remove(_ slot: Int) {
    guard entries[slot].state != .free else { return }
    let removed = filter(slot)
    filters.remove(removed)
    count &-= 1
    for index in 0..<entries.count where entries[index].state != .free {
      entries[index].offset = PackedStrings.offset(entries[index].offset, without: removed)
    }
    setState(slot, .free)
  }

  /// Removes a refused subscription that was reported, unless the application has subscribed to it again
  /// since.
  mutating func forget(_ slot: Int) {
    if entries[slot].state == .refused { remove(slot) }
  }

  // MARK: Things that happened

  /// Handles the acknowledgement of a SUBSCRIBE. A refusal removes the subscription.
  mutating func acknowledged(_ filter: Span<UInt8>, isRefused: Bool) {
    guard let slot = find(filter), entries[slot].state == .subscribing else { return }
    if isRefused { remove(slot) } else { setState(slot, .granted) }
  }

  /// Marks a subscription that was granted once and not again.
  mutating func refuse(_ filter: Span<UInt8>, _ reasonCode: UInt8) {
    if let slot = find(filter) { refuse(slot, reasonCode) }
  }

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
    for slot in 0..<entries.count where entries[slot].state == .granted { setState(slot, .lost) }
  }

  /// Marks as lost what is being resubscribed: without SUBACK it has to be sent again, whatever the next
  /// server has.
  mutating func connectionLost() {
    for slot in 0..<entries.count where entries[slot].state == .resubscribing { setState(slot, .lost) }
  }

  // MARK: Outputs

  /// The next one to resubscribe; `markResubscribing` follows when its SUBSCRIBE is in the subscribe queue.
  var firstLost: Int? {
    guard lost > 0 else { return nil }
    for slot in 0..<entries.count where entries[slot].state == .lost { return slot }
    return nil
  }

  mutating func markResubscribing(_ slot: Int) { setState(slot, .resubscribing) }

  var hasRefused: Bool { refused > 0 }

  var firstRefused: Int? {
    guard refused > 0 else { return nil }
    for slot in 0..<entries.count where entries[slot].state == .refused { return slot }
    return nil
  }

  subscript(slot: Int) -> Entry { entries[slot] }

  /// Returns the range of a filter in `bytes`.
  func filter(_ slot: Int) -> ByteRange {
    ByteRange(offset: Int(truncatingIfNeeded: entries[slot].offset), count: Int(entries[slot].size))
  }

  var bytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { filters.bytes }
  }

  // MARK: Helpers

  private mutating func setState(_ slot: Int, _ state: State) {
    if entries[slot].state == .refused { refused &-= 1 }
    if entries[slot].state == .lost { lost &-= 1 }
    if state == .refused { refused &+= 1 }
    if state == .lost { lost &+= 1 }
    entries[slot].state = state
  }

  private var free: Int? {
    for slot in 0..<entries.count where entries[slot].state == .free { return slot }
    return nil
  }

  private func find(_ filter: Span<UInt8>) -> Int? {
    for slot in 0..<entries.count
    where entries[slot].state != .free && filters.isEqual(self.filter(slot), to: filter) {
      return slot
    }
    return nil
  }
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
