import Glibc
import Testing

@testable import Storage

/// A queue in memory of its own.
final class Box: @unchecked Sendable {
  struct Header: BitwiseCopyable {
    var thread: UInt32
    var number: UInt32
  }

  let queue: MPSCQueue<Header>
  var owner: MPSCConsumer<Header>
  let byteCount: Int
  private let memory: UnsafeMutableRawPointer

  init(slots: Int, slotSize: Int = 4) {
    var plan = ArenaLayout()
    let place = MPSCQueue<Header>.Plan(slots: slots, slotSize: slotSize, in: &plan)
    byteCount = plan.byteCount
    memory = .allocate(byteCount: max(byteCount, 8), alignment: ArenaLayout.alignment)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    queue = MPSCQueue(place, in: Arena(start: memory))
    owner = MPSCConsumer(queue)
  }

  deinit { memory.deallocate() }

  /// All that the queue consists of, to go back to.
  var contents: [UInt8] {
    get { [UInt8](UnsafeRawBufferPointer(start: memory, count: byteCount)) }
    set { newValue.withUnsafeBytes { memory.copyMemory(from: $0.baseAddress!, byteCount: byteCount) } }
  }

  // The macros of the tests want values that can be copied.
  var count: Int { owner.count }
  var peak: Int { owner.peak }
  var putTotal: UInt64 { owner.totals.put.uint64 }
  var refusedTotal: UInt64 { owner.totals.refused.uint64 }
  var hasUncollected: Bool { owner.hasUncollected }

  /// `nil`: there is no room.
  func put(_ number: UInt32, thread: UInt32 = 0) -> ChainEnd? {
    let outcome = queue.put(Header(thread: thread, number: number)) { space in
      for index in 0..<space.count { space[index] = UInt8(truncatingIfNeeded: number &+ thread) }
    }
    if case .put(let found) = outcome { return found }
    return nil
  }

  /// The oldest item that was collected, if its bytes are those that were put.
  func take() -> Header? {
    guard owner.hasCollected else { return nil }
    let header = owner.header
    for index in 0..<owner.bytes.count {
      guard owner.bytes[index] == UInt8(truncatingIfNeeded: header.number &+ header.thread) else {
        return nil
      }
    }
    owner.removeFirst()
    return header
  }

  func takeAll() -> [UInt32] {
    owner.collect()
    var numbers: [UInt32] = []
    while let header = take() { numbers.append(header.number) }
    return numbers
  }
}

@Suite struct MPSCQueueTests {
  @Test func firstInFirstOut() {
    let box = Box(slots: 8)
    #expect(box.put(1) != nil)
    #expect(box.put(2) != nil)
    #expect(box.put(3) != nil)
    #expect(box.takeAll() == [1, 2, 3])
    #expect(box.put(4) != nil)
    #expect(box.takeAll() == [4])
    #expect(box.takeAll() == [])
  }

  /// What was collected and not taken stays in front of what comes later.
  @Test func collectsBehindWhatIsThere() {
    let box = Box(slots: 8)
    for number in 1...3 { _ = box.put(UInt32(number)) }
    box.owner.collect()
    #expect(box.take()?.number == 1)
    #expect(box.put(4) != nil)
    #expect(box.put(5) != nil)
    #expect(box.hasUncollected)
    box.owner.collect()
    #expect(!box.hasUncollected)
    #expect(box.takeAll() == [2, 3, 4, 5])
  }

  @Test(arguments: [1, 2, 64]) func isBounded(slots: Int) {
    let box = Box(slots: slots)
    for round in 0..<5 {
      for number in 0..<slots { #expect(box.put(UInt32(number)) != nil) }
      #expect(box.put(99) == nil)
      box.owner.collect()
      // What is collected is not yet taken.
      #expect(box.put(99) == nil)
      #expect(box.count == slots)
      #expect(box.takeAll() == (0..<UInt32(slots)).map { $0 })
      #expect(box.count == 0)
      #expect(box.peak == slots)
      #expect(box.putTotal == UInt64((round + 1) * slots))
      #expect(box.refusedTotal == UInt64((round + 1) * 2))
    }
  }

  @Test func takesNoMoreMemoryThanItSays() {
    #expect(Box(slots: 0).byteCount == 0)
    #expect(Box(slots: 0).count == 0)
    for (slots, slotSize) in [(1, 16), (64, 256), (1024, 100)] {
      let header = MemoryLayout<Box.Header>.stride
      #expect(Box(slots: slots, slotSize: slotSize).byteCount == slots * (header + 8 + slotSize) + 136)
    }
  }

  /// Four threads put into few slots while a fifth takes: nothing is lost, nothing comes twice, each thread's items
  /// come in its order, and the bytes are those of their header. Where there are few slots nearly every item waits for one,
  /// and each wait gives the processor away: fewer items show as much.
  @Test(arguments: zip([1, 4, 256], [5_000, 5_000, 20_000] as [UInt32])) func manyThreads(
    slots: Int, each: UInt32
  ) {
    let threads = 4
    let box = Box(slots: slots, slotSize: 24)
    let putters = (0..<threads).map { thread in
      Thread {
        for number in 0..<each { while box.put(number, thread: UInt32(thread)) == nil { sched_yield() } }
      }
    }
    var next = [UInt32](repeating: 0, count: threads)
    var broken = 0
    while next.contains(where: { $0 < each }) {
      box.owner.collect()
      if !box.owner.hasCollected { sched_yield() }
      while box.owner.hasCollected {
        guard let header = box.take() else { broken += 1; box.owner.removeFirst(); continue }
        if header.number != next[Int(header.thread)] { broken += 1 }
        next[Int(header.thread)] = header.number + 1
      }
    }
    for putter in putters { putter.join() }
    #expect(broken == 0)
    #expect(box.takeAll() == [])
    #expect(box.count == 0)
    #expect(box.putTotal == UInt64(threads) * UInt64(each))
    #expect(box.peak <= slots)
  }
}

/// A thread that runs a closure.
private final class Thread {
  private let body: @Sendable () -> Void
  private var thread = pthread_t()

  init(_ body: @escaping @Sendable () -> Void) {
    self.body = body
    let started = pthread_create(
      &thread, nil,
      { argument in
        Unmanaged<Thread>.fromOpaque(argument!).takeRetainedValue().body()
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
    precondition(started == 0)
  }

  func join() { pthread_join(thread, nil) }
}
