import Testing

@testable import Storage

/// The real queue under all interleavings of two threads that submit and the owner: every state that they can come to, at the
/// granularity of the calls. What lies beneath that, and weak memory, is for Tests/Models/submit.pml.
@Suite struct MPSCQueueInterleavingTests {
  private struct Submitter: Hashable {
    enum Step { case put, look, wake, note }
    var step = Step.put
    var found = UInt(0)
    var returned: UInt32 = 0
  }

  private struct World: Hashable {
    var queue: [UInt8]
    var submitters = [Submitter(), Submitter()]
    /// How many of each thread's items the owner has taken.
    var taken: [UInt32] = [0, 0]
    /// A wake-up is on its way.
    var edge = false
    var isAsleep = false
  }

  private final class Search {
    let box: Box
    let messages: UInt32
    /// Whether the threads do what `isWakeUpDue` says.
    let wakes: Bool
    var seen: Set<World> = []
    var ends = 0
    var forgotten = 0
    var outOfOrder = 0

    init(slots: Int, messages: UInt32, wakes: Bool) {
      box = Box(slots: slots)
      self.messages = messages
      self.wakes = wakes
    }

    func run() {
      var worlds = [World(queue: box.contents)]
      while let world = worlds.popLast() {
        guard seen.insert(world).inserted else { continue }
        if world.isAsleep, !world.edge {
          if zip(world.submitters, world.taken).contains(where: { $0.returned > $1 }) { forgotten += 1 }
          if world.taken == [messages, messages] { ends += 1 }
        }
        for thread in 0..<2 {
          if let next = submit(thread, from: world) { worlds.append(next) }
        }
        worlds.append(turn(from: world))
      }
    }

    private func submit(_ thread: Int, from world: World) -> World? {
      var next = world
      var submitter = world.submitters[thread]
      let found = ChainEnd(word: submitter.found)
      box.contents = world.queue
      switch submitter.step {
      case .put:
        guard submitter.returned < messages, let found = box.put(submitter.returned, thread: UInt32(thread))
        else { return nil }
        submitter.found = found.word
        submitter.step = .look
      case .look:
        submitter.step = .wake
        if !wakes || !box.queue.isWakeUpDue(for: found) {
          submitter.step = .put
          submitter.returned += 1
        }
      case .wake:
        next.edge = true
        submitter.step = .note
      case .note:
        box.queue.markWakeUpDone(for: found)
        submitter.step = .put
        submitter.returned += 1
      }
      next.submitters[thread] = submitter
      next.queue = box.contents
      return next
    }

    /// The owner goes to sleep; or it is woken up, or looks up for some other reason, and takes what is there.
    private func turn(from world: World) -> World {
      var next = world
      next.isAsleep.toggle()
      guard world.isAsleep else { return next }
      next.edge = false
      box.contents = world.queue
      box.owner.collect()
      while let item = box.take() {
        if item.number != next.taken[Int(item.thread)] { outOfOrder += 1 }
        next.taken[Int(item.thread)] += 1
      }
      next.queue = box.contents
      return next
    }
  }

  /// Nothing whose `smq_submit` has returned lies there while the owner sleeps and no wake-up is on its way.
  @Test(arguments: [(8, 2), (1, 2), (2, 3)]) func nothingIsForgotten(slots: Int, messages: UInt32) {
    let search = Search(slots: slots, messages: messages, wakes: true)
    search.run()
    #expect(search.forgotten == 0)
    #expect(search.outOfOrder == 0)
    #expect(search.ends > 0)
    #expect(search.seen.count > 100)
  }

  /// It would be seen.
  @Test func withoutWakeUps() {
    let search = Search(slots: 8, messages: 1, wakes: false)
    search.run()
    #expect(search.forgotten > 0)
  }
}
