import TestSupport
import Testing

@testable import Storage

/// Does a ring find room for a run wherever there is some, and never where a run lies?
@Suite struct ByteRingTests {
  /// The ring as its owner uses it, beside an array of its runs, from the oldest to the newest.
  final class Pair {
    struct Run {
      let offset: Int
      var bytes: [UInt8]
      var range: Range<Int> { offset..<offset + bytes.count }
    }

    private let memory: Memory
    private var ring: ByteRing
    private(set) var runs: [Run] = []
    let capacity: Int
    /// How often a run began at the front although the last one did not end there.
    private(set) var wraps = 0

    init(capacity: Int) {
      self.capacity = capacity
      memory = Memory(capacity)
      ring = ByteRing(region: memory.region(capacity))
    }

    var head: Int? { runs.first?.offset }
    /// Where the next run is to begin, if it fits there.
    private(set) var tail = 0

    /// Where a run of `size` bytes can lie: at the tail, else at the front.
    private func place(_ size: Int) -> Int? {
      var isFree = [Bool](repeating: true, count: capacity)
      for run in runs { for offset in run.range { isFree[offset] = false } }
      let places = runs.isEmpty ? [0] : [tail, 0]
      return places.first { place in
        place + size <= capacity && isFree[place..<place + size].allSatisfy { $0 }
      }
    }

    /// False: the ring is wrong. `wasTaken` says whether there was room.
    func append(_ bytes: [UInt8], wasTaken: inout Bool) -> Bool {
      let expected = place(bytes.count)
      let fits = ring.fits(bytes.count)
      if fits, ring.tail != expected { return false }
      guard fits || ring.room(for: bytes.count, head: head) == expected else { return false }
      guard let expected else { return true }
      if expected == 0, !runs.isEmpty { wraps += 1 }
      if !fits {
        ring.open(at: expected, head: head)
        guard ring.fits(bytes.count),
          !ring.fits((runs.isEmpty || expected > head! ? capacity : head!) - expected + 1)
        else { return false }
      }
      var writer = ring.append(bytes.count)
      writer.put(bytes.span)
      runs.append(Run(offset: expected, bytes: bytes))
      tail = expected + bytes.count
      wasTaken = true
      return true
    }

    func append(_ bytes: [UInt8]) -> Bool {
      var wasTaken = false
      return append(bytes, wasTaken: &wasTaken) && wasTaken
    }

    /// There is no room, and the ring says so.
    func refuses(_ size: Int) -> Bool {
      var wasTaken = false
      return append([UInt8](repeating: 0, count: size), wasTaken: &wasTaken) && !wasTaken
    }

    func removeFirst() {
      runs.removeFirst()
      if runs.isEmpty { removeAll() }
    }

    private func removeAll() {
      ring.removeAll()
      tail = 0
    }

    func removeLast() {
      let last = runs.removeLast()
      tail = last.offset
      if runs.isEmpty { removeAll() } else { ring.moveTail(to: tail) }
    }

    func overwrite(_ index: Int, _ bytes: [UInt8]) {
      let run = runs[index]
      if bytes.count % 2 == 0 {
        var target = ring.mutableBytes(in: run.range)
        copy(bytes.span, into: &target)
      } else {
        var writer = ring.writer(at: run.offset, count: run.bytes.count)
        writer.put(bytes.span)
      }
      runs[index].bytes.replaceSubrange(0..<bytes.count, with: bytes)
    }

    /// Inside a run, its first bytes to its end.
    func move(_ index: Int, _ count: Int) {
      let (run, size) = (runs[index], runs[index].bytes.count)
      ring.move(from: run.offset, to: run.range.upperBound - count, count: count)
      runs[index].bytes.replaceSubrange(size - count..<size, with: run.bytes.prefix(count))
    }

    func forgetRoom() { ring.forgetRoom() }

    func wipe() {
      ring.wipe()
      for index in runs.indices {
        runs[index].bytes = [UInt8](repeating: 0, count: runs[index].bytes.count)
      }
    }

    /// From the oldest run to the tail: all runs, and what was left free when one began at the front.
    private var used: Int {
      var used = 0
      let next = runs.dropFirst().map(\.offset) + [tail]
      for (run, next) in zip(runs, next) {
        used += run.bytes.count
        if next < run.offset { used += capacity - run.range.upperBound }
      }
      return used
    }

    var agrees: Bool {
      guard ring.capacity == capacity, ring.tail == tail else { return false }
      guard runs.isEmpty || ring.count(head: runs[0].offset) == used else { return false }
      for run in runs where array(ring.bytes.extracting(run.range)) != run.bytes { return false }
      return true
    }
  }

  @Test(arguments: [1, 2, 3, 8, 16, 70])
  func againstAnArray(capacity: Int) {
    var (wraps, refusals, filled) = (0, 0, 0)
    for seed in UInt64(0)..<300 {
      var random = SeededRandom(seed: seed)
      let pair = Pair(capacity: capacity)
      for step in 0..<100 {
        var isRight = true
        let run = pair.runs.isEmpty ? 0 : random.below(pair.runs.count)
        switch random.below(100) {
        case 0..<50:
          var wasTaken = false
          let size = 1 + random.below(random.percent(10) ? capacity + 1 : (capacity + 2) / 3)
          isRight = pair.append(random.bytes(size), wasTaken: &wasTaken)
          if !wasTaken { refusals += 1 }
        case 50..<80: if !pair.runs.isEmpty { pair.removeFirst() }
        case 80..<85: if !pair.runs.isEmpty { pair.removeLast() }
        case 85..<90:
          if !pair.runs.isEmpty {
            pair.overwrite(run, random.bytes(1 + random.below(pair.runs[run].bytes.count)))
          }
        case 90..<95: if !pair.runs.isEmpty { pair.move(run, 1 + random.below(pair.runs[run].bytes.count)) }
        case 95..<98: pair.forgetRoom()
        default: pair.wipe()
        }
        if pair.runs.reduce(0, { $0 + $1.bytes.count }) == capacity { filled += 1 }
        if !isRight || !pair.agrees {
          Issue.record("seed \(seed), step \(step)")
          return
        }
      }
      wraps += pair.wraps
    }
    #expect(refusals > 100 && filled > 20 && (wraps > 20 || capacity < 3))
  }

  /// The last run may end with the region; the next begins at the front, as soon as the oldest is gone from there.
  @Test func wrapsExactlyAtTheEnd() {
    let pair = Pair(capacity: 6)
    #expect(pair.append([1, 2]) && pair.append([3, 4, 5, 6]) && pair.tail == 6)
    #expect(pair.refuses(1))
    pair.removeFirst()
    #expect(pair.refuses(3))
    #expect(pair.append([7, 8]) && pair.tail == 2 && pair.agrees)
    // Now it is full to the byte.
    #expect(pair.refuses(1))
    pair.removeFirst()
    #expect(pair.append([9, 10, 11, 12]) && pair.tail == 6 && pair.agrees)
  }

  /// One byte less than a run needs is no room, at the end as at the front.
  @Test func fitsToTheByte() {
    let pair = Pair(capacity: 10)
    #expect(pair.append([1, 2, 3]) && pair.append([4, 5, 6, 7]))
    #expect(pair.refuses(4))
    pair.removeFirst()
    #expect(pair.refuses(4))
    // At the end before the front.
    #expect(pair.append([8, 9, 10]) && pair.tail == 10)
    #expect(pair.append([11, 12, 13]) && pair.tail == 3 && pair.agrees)
    #expect(pair.refuses(1))
  }

  /// Without a run all of it is free, wherever the tail was.
  @Test func withoutARun() {
    let pair = Pair(capacity: 4)
    #expect(pair.refuses(5))
    #expect(pair.append([1, 2, 3, 4]) && pair.refuses(1))
    pair.removeFirst()
    #expect(pair.tail == 0 && pair.append([5, 6, 7, 8]) && pair.agrees)
  }

  @Test func withoutRoom() {
    let memory = Memory(0)
    let ring = ByteRing(region: memory.region(0))
    let rooms = [ring.room(for: 0, head: nil), ring.room(for: 1, head: nil)]
    #expect(rooms == [0, nil])
    let fits = [ring.fits(0), ring.fits(1)]
    #expect(fits == [true, false])
  }

  /// Room is known of only once it was looked for, and no longer than nothing has changed.
  @Test func whatIsKnownOfTheRoom() {
    let memory = Memory(8)
    var ring = ByteRing(region: memory.region(8))
    var known: [Bool] = [ring.fits(1)]
    ring.removeAll()
    known += [ring.fits(8), ring.fits(9)]
    ring.forgetRoom()
    known.append(ring.fits(1))
    ring.open(at: 2, head: 5)
    known += [ring.fits(3), ring.fits(4)]
    ring.moveTail(to: 8)
    known.append(ring.fits(1))
    #expect(known == [false, true, false, false, true, false, false])
  }

  enum Misuse: String, CaseIterable, Codable, Sendable {
    case openBehind, openBefore, headBehind, tailBehind, tailBefore, bytesBehind, writerBehind, moveBehind

    func commit() {
      let memory = Memory(4)
      var ring = ByteRing(region: memory.region(4))
      switch self {
      case .openBehind: ring.open(at: 5, head: nil)
      case .openBefore: ring.open(at: -1, head: nil)
      case .headBehind: ring.open(at: 0, head: 5)
      case .tailBehind: ring.moveTail(to: 5)
      case .tailBefore: ring.moveTail(to: -1)
      case .bytesBehind: _ = ring.mutableBytes(in: 3..<5)
      case .writerBehind: _ = ring.writer(at: 3, count: 2)
      case .moveBehind: ring.move(from: 0, to: 3, count: 2)
      }
    }
  }

  @Test(arguments: Misuse.allCases)
  func outsideTraps(misuse: Misuse) async {
    await #expect(processExitsWith: .failure) { [misuse] in misuse.commit() }
  }
}
