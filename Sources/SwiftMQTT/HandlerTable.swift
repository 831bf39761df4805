import MQTTWire
import Storage

/// Topic Filters, each with the handler that the application has set for the messages that match.
struct HandlerTable: ~Copyable {
  /// Opaque values of the application: a function, and a pointer for it.
  struct Handler: BitwiseCopyable {
    let function: UInt
    let user: UInt
  }

  struct Entry: BitwiseCopyable {
    var offset: UInt32
    /// 0: free.
    var size: UInt32
    var handler: Handler

    var filter: ByteRange {
      ByteRange(offset: Int(truncatingIfNeeded: offset), count: Int(truncatingIfNeeded: size))
    }
  }

  enum Fault: Error, BitwiseCopyable {
    case index
    case topicFilter
    case utf8
    case tooLarge
    case full
  }

  private var entries: Table<Entry>
  private var filters: PackedStrings

  @_optimize(size)
  init(entries: consuming Table<Entry>, filters: consuming Region) {
    self.entries = entries
    self.filters = PackedStrings(region: filters)
    for index in 0..<self.entries.count {
      self.entries[index] = Entry(offset: 0, size: 0, handler: Handler(function: 0, user: 0))
    }
  }

  struct Plan {
    let entries: ArenaSlice<Entry>
    let filters: ArenaSlice<UInt8>

    init(entries: Int, bytes: Int, in plan: inout ArenaLayout) {
      self.entries = plan.reserve(entries, of: Entry.self)
      filters = plan.reserve(bytes, of: UInt8.self)
    }
  }

  var isEmpty: Bool { !Feature.hasHandlers || entries.count == 0 }

  /// Replaces an entry, or changes nothing. An empty filter clears it.
  @_optimize(size)
  mutating func set(
    _ index: UInt32, filter: Span<UInt8>, handler: Handler
  ) throws(Fault) {
    guard index < UInt32(truncatingIfNeeded: entries.count) else { throw .index }
    if filter.count > 0 {
      do throws(TopicFilter.Fault) {
        try TopicFilter.validate(filter)
      } catch {
        if case .utf8 = error { throw .utf8 }
        throw .topicFilter
      }
    }
    let slot = Int(truncatingIfNeeded: index)
    let old = Int(truncatingIfNeeded: entries[slot].size)
    guard filter.count <= filters.capacity else { throw .tooLarge }
    guard filter.count <= filters.free &+ old else { throw .full }
    remove(slot)
    let range = filters.append(filter)
    entries[slot] = Entry(
      offset: UInt32(truncatingIfNeeded: range.offset), size: UInt32(truncatingIfNeeded: range.count),
      handler: handler)
  }

  @_optimize(size)
  private mutating func remove(_ slot: Int) {
    guard entries[slot].size > 0 else { return }
    let removed = entries[slot].filter
    filters.remove(removed)
    for index in 0..<entries.count {
      entries[index].offset = PackedStrings.offset(entries[index].offset, without: removed)
    }
    entries[slot].size = 0
  }

  /// Returns the first entry behind `index` whose filter matches a topic. An index of -1 begins with the
  /// first.
  func firstMatch(_ topic: Span<UInt8>, after index: Int) -> Int? {
    var slot = index &+ 1
    while slot < entries.count {
      let entry = entries[slot]
      if entry.size > 0, TopicFilter.matches(filter(entry), topic: topic) { return slot }
      slot &+= 1
    }
    return nil
  }

  subscript(index: Int) -> Handler { entries[index].handler }

  @_lifetime(borrow self)
  private borrowing func filter(_ entry: Entry) -> Span<UInt8> {
    filters.bytes.extracting(entry.filter.range)
  }
}
