import Storage
import TestSupport
import Testing

@testable import Journal
@testable import MQTTSession

/// Does the journal hear of everything that becomes of a message, whichever commits fail?
@Suite struct StoredMessagesTests {
  /// What a journal knows: by entry, the message's serial number and its state.
  typealias Known = [Int: (serial: UInt32, state: StoredMessages.State)]

  /// The queue, beside what it is kept for.
  final class Pair {
    private let memory = Memory(65_536)
    var stored: StoredMessages
    /// The messages that have not ended, by slot.
    private(set) var live: [Int: (serial: UInt32, state: StoredMessages.State)] = [:]
    private(set) var disk: Known = [:]
    private var flight: Known? = nil
    private var places: [UInt32: UInt32] = [:]
    private var nextSerial: UInt32 = 0
    private var nextPlace: UInt32 = 0
    let slots: Int

    init(slots: Int, entries: Int) {
      self.slots = slots
      stored = StoredMessages(
        entries: memory.table(entries, of: StoredMessages.Entry.self),
        numbers: memory.table(slots, of: UInt16.self), largestPacket: 1000, reserve: 0)
    }

    func add(_ slot: Int) -> Bool {
      guard stored.add(slot, size: 10) else { return false }
      nextSerial += 1
      live[slot] = (nextSerial, .queued)
      return true
    }

    func set(_ slot: Int, _ state: StoredMessages.State) {
      live[slot]?.state = state
      stored.set(stored.entry(of: slot), state)
    }

    func end(_ slot: Int) {
      live[slot] = nil
      stored.ended(stored.entry(of: slot))
    }

    /// It counts as one more message.
    func rewrite(_ slot: Int) {
      stored.rewrite(stored.entry(of: slot))
      nextSerial += 1
    }

    func move(_ slot: Int, to target: Int) {
      live[target] = live.removeValue(forKey: slot)
      stored.moved(from: slot, to: target)
    }

    /// Puts at most `count` changes into a commit.
    func write(_ count: Int) {
      guard flight == nil else { return }
      var after = disk
      for _ in 0..<count {
        guard let entry = stored.nextChange else { break }
        let change = stored[entry]
        if change.state == .ended {
          guard change.isKnown else {
            stored.forget()
            continue
          }
          after[entry] = nil
          stored.told(withMessage: false, place: nextPlace)
        } else {
          // A message that the journal does not have cannot be told of without itself.
          #expect(change.isStored || live[Int(change.slot)] != nil)
          after[entry] = (change.serial.number, change.state)
          if change.needsMessage { places[change.serial.number] = nextPlace }
          stored.told(withMessage: change.needsMessage, place: nextPlace)
        }
      }
      flight = after
    }

    func written(_ isDurable: Bool) {
      if isDurable, let flight { disk = flight }
      flight = nil
      nextPlace += 1
      while stored.takeWritten(isDurable) != nil {}
    }

    /// What the journal would recover, without the messages of which it has not yet heard the end.
    func check() {
      for (entry, known) in disk where stored[entry].state != .free {
        let now = stored[entry]
        if now.serial.number == known.serial, now.state == known.state { continue }
        #expect(now.isQueued, "the journal will not hear of entry \(entry)")
      }
      for (slot, message) in live {
        let entry = stored.entry(of: slot)
        #expect(Int(stored[entry].slot) == slot && stored[entry].serial.number == message.serial)
        #expect(stored[entry].state == message.state)
        #expect(disk[entry]?.serial == message.serial || stored[entry].isQueued)
      }
      if let oldest = stored.oldestEntry {
        for slot in live.keys {
          let entry = stored[stored.entry(of: slot)]
          #expect(!entry.isStored || entry.place >= stored[oldest].place)
        }
      }
    }
  }

  @Test(arguments: 1...60)
  func anyHistory(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let slots = random.from(2...12)
    let pair = Pair(slots: slots, entries: random.from(slots...slots + 8))
    for _ in 0..<400 {
      let slot = random.below(slots)
      switch random.below(8) {
      case 0, 1: if pair.live[slot] == nil { _ = pair.add(slot) }
      case 2: if pair.live[slot] != nil { pair.set(slot, random.pick([.bound, .released])) }
      case 3: if pair.live[slot] != nil { pair.end(slot) }
      case 4: if pair.live[slot] != nil { pair.rewrite(slot) }
      case 5:
        let target = random.below(slots)
        if pair.live[slot] != nil, pair.live[target] == nil { pair.move(slot, to: target) }
      case 6: pair.write(random.from(1...5))
      default: pair.written(random.percent(70))
      }
      pair.check()
    }
    for _ in 0..<100 {
      pair.written(true)
      pair.write(100)
    }
    pair.written(true)
    // Now the journal knows it all.
    #expect(pair.disk.count == pair.live.count)
    for (slot, message) in pair.live {
      let known = pair.disk[pair.stored.entry(of: slot)]
      #expect(known?.serial == message.serial && known?.state == message.state)
    }
    for slot in 0..<slots where pair.live[slot] == nil { #expect(pair.add(slot)) }
  }

  /// What ended before its commit takes no room in any.
  @Test func whatEndsAtOnceIsNeverWritten() {
    let pair = Pair(slots: 4, entries: 4)
    for _ in 0..<100 {
      #expect(pair.add(1))
      pair.end(1)
      pair.write(10)
      pair.written(true)
      #expect(pair.disk.isEmpty)
    }
  }

  /// The oldest message keeps the head of the log until it has ended, or was written again.
  @Test func theOldest() {
    let pair = Pair(slots: 4, entries: 4)
    for slot in 0..<3 {
      #expect(pair.add(slot))
      pair.write(1)
      pair.written(true)
    }
    #expect(pair.stored.oldestEntry.map { pair.stored[$0].slot } == 0)
    pair.rewrite(0)
    pair.write(1)
    #expect(pair.stored.oldestEntry.map { pair.stored[$0].slot } == 1)
    pair.written(true)
    pair.end(1)
    #expect(pair.stored.oldestEntry.map { pair.stored[$0].slot } == 2)
    pair.end(2)
    #expect(pair.stored.oldestEntry.map { pair.stored[$0].slot } == 0)
    pair.end(0)
    #expect(pair.stored.oldestEntry == nil)
  }
}

extension Counter {
  fileprivate var number: UInt32 { Counter.uint32(uint64) ?? .max }
}
