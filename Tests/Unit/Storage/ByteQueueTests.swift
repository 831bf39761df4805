import TestSupport
import Testing

@testable import Storage

/// Does a queue of bytes give back what was put into it, in place, and stay within its region?
@Suite struct ByteQueueTests {
  /// The queue beside an array of its bytes, and where their first one is.
  final class Pair {
    private let memory: Memory
    private var queue: ByteQueue
    private(set) var bytes: [UInt8] = []
    private(set) var position = 0
    let capacity: Int

    init(capacity: Int) {
      self.capacity = capacity
      memory = Memory(capacity)
      queue = ByteQueue(region: memory.region(capacity))
    }

    var tailCount: Int { capacity - position - bytes.count }
    var firstWord: UInt32? { queue.firstWord }

    func append(_ more: [UInt8]) {
      var tail = queue.tail()
      copy(more.span, into: &tail)
      queue.append(more.count)
      bytes += more
    }

    func write(_ more: [UInt8]) {
      var writer = queue.tailWriter(count: more.count)
      writer.put(more.span)
      queue.append(more.count)
      bytes += more
    }

    func removeFirst(_ count: Int) {
      queue.removeFirst(count)
      bytes.removeFirst(count)
      position = bytes.isEmpty ? 0 : position + count
    }

    func remove(at offset: Int, count: Int) {
      queue.remove(at: offset, count: count)
      bytes.removeSubrange(offset..<offset + count)
    }

    func compact() {
      queue.compact()
      position = 0
    }

    func begin(at offset: Int) {
      queue.begin(at: offset)
      position = offset
    }

    func removeAll() {
      queue.removeAll()
      (bytes, position) = ([], 0)
    }

    func wipe() {
      queue.wipe()
      bytes = [UInt8](repeating: 0, count: bytes.count)
    }

    var agrees: Bool {
      let count = bytes.count
      guard queue.capacity == capacity, queue.count == count, queue.isEmpty == bytes.isEmpty,
        queue.position == position, queue.tailCount == tailCount, array(queue.bytes) == bytes,
        array(queue.allBytes.extracting(position..<position + count)) == bytes,
        queue.firstWord == (count < 4 ? nil : bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) })
      else { return false }
      for offset in 0..<count {
        guard queue[offset] == bytes[offset],
          array(queue.bytes(at: offset, count: count - offset)) == Array(bytes[offset...])
        else { return false }
      }
      for offset in 0..<max(0, count - 1)
      where queue.uint16(at: offset) != UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1]) {
        return false
      }
      return true
    }
  }

  @Test(arguments: [0, 1, 2, 5, 16, 70])
  func againstAnArray(capacity: Int) {
    var filled = 0
    for seed in UInt64(0)..<300 {
      var random = SeededRandom(seed: seed)
      let pair = Pair(capacity: capacity)
      for step in 0..<100 {
        let room = pair.tailCount
        switch random.below(100) {
        case 0..<25: pair.append(random.bytes(random.below(room + 1)))
        case 25..<40: pair.write(random.bytes(random.below(room + 1)))
        case 40..<45: pair.append(random.bytes(room))
        case 45..<70: pair.removeFirst(random.below(pair.bytes.count + 1))
        case 70..<85:
          let offset = random.below(pair.bytes.count + 1)
          pair.remove(at: offset, count: random.below(pair.bytes.count - offset + 1))
        case 85..<92: pair.compact()
        case 92..<95:
          pair.removeAll()
          pair.begin(at: random.below(capacity + 1))
        case 95..<98: pair.removeAll()
        default: pair.wipe()
        }
        if pair.bytes.count == capacity { filled += 1 }
        if !pair.agrees {
          Issue.record("seed \(seed), step \(step)")
          return
        }
      }
    }
    #expect(filled > 100)
  }

  /// A place in `allBytes` stays what it is while the front moves on, until the bytes are moved.
  @Test func placesStayUntilTheBytesMove() {
    let memory = Memory(8)
    var queue = ByteQueue(region: memory.region(8))
    var tail = queue.tail()
    copy([1, 2, 3, 4, 5, 6].span, into: &tail)
    queue.append(6)
    queue.removeFirst(4)
    var found = array(queue.allBytes.extracting(4..<6))
    #expect(found == [5, 6])
    queue.compact()
    found = array(queue.allBytes.extracting(0..<2))
    #expect(found == [5, 6])
    let room = queue.tailCount
    #expect(room == 6)
  }

  /// What is taken to the last byte begins at the front again; what is cut out in the middle does not.
  @Test func theLastByteTakesTheFrontBack() {
    let pair = Pair(capacity: 4)
    pair.append([1, 2, 3, 4])
    #expect(pair.agrees && pair.tailCount == 0)
    pair.removeFirst(3)
    #expect(pair.agrees && pair.position == 3 && pair.tailCount == 0)
    pair.removeFirst(1)
    #expect(pair.agrees && pair.position == 0 && pair.tailCount == 4)
  }

  /// A word needs four bytes, whatever lies behind them.
  @Test func theFirstWord() {
    let pair = Pair(capacity: 5)
    pair.append([0x11, 0x22, 0x33])
    #expect(pair.firstWord == nil)
    pair.append([0x44])
    #expect(pair.firstWord == 0x4433_2211)
    pair.removeFirst(1)
    #expect(pair.firstWord == nil)
  }

  enum Misuse: String, CaseIterable, Codable, Sendable {
    case appendTooMany, appendLess, writeTooMany, removeTooMany, removeLess, cutBeyond, cutBefore, byte,
      byteBefore, pair, pairBefore, range, rangeBefore

    /// Two bytes behind one that is gone, and room for one more.
    func commit() {
      let memory = Memory(4)
      var queue = ByteQueue(region: memory.region(4))
      queue.append(3)
      queue.removeFirst(1)
      switch self {
      case .appendTooMany: queue.append(2)
      case .appendLess: queue.append(-1)
      case .writeTooMany: _ = queue.tailWriter(count: 2)
      case .removeTooMany: queue.removeFirst(3)
      case .removeLess: queue.removeFirst(-1)
      case .cutBeyond: queue.remove(at: 1, count: 2)
      case .cutBefore: queue.remove(at: -1, count: 1)
      case .byte: _ = queue[2]
      case .byteBefore: _ = queue[-1]
      case .pair: _ = queue.uint16(at: 1)
      case .pairBefore: _ = queue.uint16(at: -1)
      case .range: _ = queue.bytes(at: 1, count: 2)
      case .rangeBefore: _ = queue.bytes(at: -1, count: 1)
      }
    }
  }

  /// Nothing outside the bytes that are there is read, nor dropped, and nothing behind the region is taken for a byte.
  @Test(arguments: Misuse.allCases)
  func outsideTraps(misuse: Misuse) async {
    await #expect(processExitsWith: .failure) { [misuse] in misuse.commit() }
  }
}
