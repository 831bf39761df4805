import Driver
import Storage
import TestSupport
import Testing

/// A schedule, and memory for it.
private final class ScheduleHarness {
  private let block: UnsafeMutableRawPointer
  private var schedule: Schedule<UInt8>

  init(members: Int) {
    var plan = ArenaLayout()
    let slice = Schedule<UInt8>.reserve(members: members, in: &plan)
    block = .allocate(byteCount: plan.byteCount, alignment: ArenaLayout.alignment)
    schedule = Schedule(slice, in: Arena(start: block), value: 7)
  }

  deinit { block.deallocate() }

  var earliest: Int { schedule.earliest }
  func timeout(at now: Instant) -> Int32 { schedule.timeout(at: now) }
  func set(_ member: Int, due deadline: Instant?) { schedule.set(member, due: deadline) }
  func first(in queue: ScheduleQueue) -> Int? { schedule.first(in: queue) }
  func move(_ member: Int, to queue: ScheduleQueue) { schedule.move(member, to: queue) }
  subscript(member: Int) -> UInt8 {
    get { schedule[member] }
    set { schedule[member] = newValue }
  }
}

@Suite struct ScheduleTests {
  /// Against the naive text: a list that is searched, at a time that is about to wrap.
  @Test(arguments: [1, 2, 3, 7, 64, 500])
  func theEarliestDeadline(members: Int) {
    let schedule = ScheduleHarness(members: members)
    var random = SeededRandom(seed: UInt64(members))
    let now = Instant(milliseconds: .max - 500)
    var model = [UInt32?](repeating: nil, count: members)
    for _ in 0..<20_000 {
      let member = random.below(members)
      if random.percent(30) {
        model[member] = nil
        schedule.set(member, due: nil)
      } else {
        let after = UInt32(random.below(1000))
        model[member] = after
        schedule.set(member, due: now.advanced(by: after))
      }
      let least = model.compactMap { $0 }.min()
      #expect(schedule.timeout(at: now) == least.map { Int32($0) } ?? -1)
      if least != nil { #expect(model[schedule.earliest] == least) }
    }
  }

  /// Against lists: a member is in one queue, and they are first in, first out.
  @Test(arguments: [1, 2, 5, 40])
  func queues(members: Int) {
    let schedule = ScheduleHarness(members: members)
    var random = SeededRandom(seed: UInt64(members))
    let queues: [ScheduleQueue] = [.unused, .touched, .ready, .parked]
    var model: [[Int]] = [Array(0..<members), [], [], []]
    for _ in 0..<20_000 {
      let member = random.below(members)
      for queue in queues { model[queue.rawValue].removeAll { $0 == member } }
      let target = random.pick(queues)
      model[target.rawValue].append(member)
      schedule.move(member, to: target)
      for queue in queues { #expect(schedule.first(in: queue) == model[queue.rawValue].first) }
    }
    // All the rest comes in order.
    for queue in queues.dropLast() {
      while let first = schedule.first(in: queue) {
        #expect(first == model[queue.rawValue].removeFirst())
        schedule.move(first, to: .parked)
      }
      #expect(model[queue.rawValue].isEmpty)
    }
  }

  @Test func values() {
    let schedule = ScheduleHarness(members: 3)
    #expect((0..<3).map { schedule[$0] } == [7, 7, 7])
    schedule[1] = 9
    #expect((0..<3).map { schedule[$0] } == [7, 9, 7])
  }
}
