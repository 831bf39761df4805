import MQTTWire
import Storage

/// Topic Filters, each with the handler that the application has set for the messages that match.
///
/// In a table with an index, a filter is found by its hash. For each shape in use, a topic can match one text of
/// a filter: see `FilterShape`. So a topic costs a look-up for each shape, however many filters there are.
/// Filters beyond the shapes that there is room for, and those whose shape cannot be said, are in one chain, and
/// compared one after the other.
struct HandlerTable: ~Copyable {
  /// Opaque values of the application: a function, and a pointer for it.
  struct Handler: BitwiseCopyable {
    let function: UInt
    let user: UInt
  }

  /// A shape that filters of the table have.
  struct UsedShape: BitwiseCopyable {
    var shape: FilterShape
    var filters: UInt32
  }

  enum Fault: Error, BitwiseCopyable {
    case index
    case topicFilter
    case utf8
    case tooLarge
    case full
  }

  private let inPlace = InPlace()
  private var handlers: Table<Handler>
  private var filters: TextTable
  private var shapes: Table<UsedShape>
  private(set) var shapeCount = 0
  /// How many filters are found without a shape.
  private(set) var shapeless = 0

  /// The hash of all filters without a shape, which no other filter has: see `TopicHash.short`.
  private static var shapelessHash: UInt16 { .max }
  static var shapeMaximum: Int { 32 }

  @inline(never)
  @_optimize(size)
  init(_ plan: Plan, in block: borrowing Arena) {
    handlers = block.table(plan.handlers)
    filters = TextTable(plan.filters, in: block)
    shapes = block.table(plan.shapes)
  }

  struct Plan {
    let handlers: ArenaSlice<Handler>
    let shapes: ArenaSlice<UsedShape>
    let filters: TextTable.Plan

    @inline(never)
    @_optimize(size)
    init(entries: Int, bytes: Int, in plan: inout ArenaLayout) {
      handlers = plan.reserve(entries, of: Handler.self)
      shapes = plan.reserve(
        entries > HashIndex.slotsWithout ? HandlerTable.shapeMaximum : 0, of: UsedShape.self)
      filters = TextTable.Plan(slots: entries, bytes: bytes, in: &plan)
    }
  }

  /// Replaces an entry, or changes nothing. An empty filter clears it.
  @_optimize(size)
  mutating func set(
    _ index: UInt32, filter: Span<UInt8>, handler: Handler
  ) throws(Fault) {
    guard index < UInt32(truncatingIfNeeded: handlers.count) else { throw .index }
    if filter.count > 0 {
      do throws(TopicFilter.Fault) {
        try TopicFilter.validate(filter)
      } catch {
        if case .utf8 = error { throw .utf8 }
        throw .topicFilter
      }
    }
    let slot = Int(truncatingIfNeeded: index)
    let old = filters.range(slot).count
    guard filter.count <= filters.capacity else { throw .tooLarge }
    guard filter.count <= filters.free &+ old else { throw .full }
    if old > 0 { remove(slot) }
    guard filter.count > 0 else { return }
    add(slot, filter)
    handlers[slot] = handler
  }

  private mutating func add(_ slot: Int, _ filter: Span<UInt8>) {
    let text = filter.extracting(TopicFilter.start(filter)..<filter.count)
    guard filters.hasIndex, let shape = FilterShape(text), let index = index(of: shape) else {
      shapeless &+= 1
      return filters.add(slot, filter, Self.shapelessHash)
    }
    shapes[index].filters &+= 1
    filters.add(slot, filter, TopicHash.short(of: text))
  }

  private mutating func remove(_ slot: Int) {
    if filters.hash(slot) == Self.shapelessHash {
      shapeless &-= 1
    } else if let shape = shape(slot), let index = index(of: shape) {
      shapes[index].filters &-= 1
      if shapes[index].filters == 0 {
        shapeCount &-= 1
        shapes[index] = shapes[shapeCount]
      }
    }
    filters.remove(slot)
  }

  private func shape(_ slot: Int) -> FilterShape? {
    let filter = filters.text(slot)
    return FilterShape(filter.extracting(TopicFilter.start(filter)..<filter.count))
  }

  /// Returns where a shape is in `shapes`, and adds it if it is not there; `nil`: there is no room.
  private mutating func index(of shape: FilterShape) -> Int? {
    for index in 0..<shapeCount where shapes[index].shape == shape { return index }
    guard shapeCount < shapes.count else { return nil }
    shapes[shapeCount] = UsedShape(shape: shape, filters: 0)
    shapeCount &+= 1
    return shapeCount &- 1
  }

  /// Returns the first entry behind `index` whose filter matches a topic. An index of -1 begins with the
  /// first.
  @inline(never)
  @_optimize(size)
  func firstMatch(_ topic: Span<UInt8>, after index: Int) -> Int? {
    var first: Int? = nil
    // Those without a shape come first.
    var shape = shapeless > 0 ? -1 : 0
    while shape < shapeCount {
      let hash = shape < 0 ? Self.shapelessHash : TopicHash.short(shapes[shape].shape.hash(topic))
      var candidate = filters.first(hash)
      while let slot = candidate {
        if slot > index, slot < first ?? .max, TopicFilter.matches(filters.text(slot), topic: topic) {
          first = slot
          // Without an index they come in their order.
          if !filters.hasIndex { return slot }
        }
        candidate = filters.next(slot)
      }
      shape &+= 1
    }
    return first
  }

  subscript(index: Int) -> Handler { handlers[index] }
}
