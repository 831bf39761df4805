import TestSupport

/// A file on a disk that keeps no promise but one: what was written before a sync that succeeded is there for
/// ever. What was not synced arrives in parts and in any order, or leaves garbage where it should have gone.
struct Disk {
  /// What a disk writes as a whole, if it is a good one.
  static let sector = 512

  private(set) var durable: [UInt8]
  private var pending: [(offset: Int, bytes: [UInt8])] = []

  init(_ bytes: [UInt8]) { durable = bytes }

  var hasPending: Bool { !pending.isEmpty }

  mutating func write(_ bytes: [UInt8], at offset: Int) { pending.append((offset, bytes)) }

  mutating func sync() {
    durable = allArrived
    pending = []
  }

  /// A sync that fails: the kernel takes the pages for clean from now on, and what is on the disk nobody
  /// knows.
  mutating func failToSync(_ random: inout SeededRandom) {
    durable = afterPowerCut(&random)
    pending = []
  }

  /// What the next process reads if this one is killed.
  var allArrived: [UInt8] {
    var image = durable
    for write in pending {
      image.replaceSubrange(write.offset..<write.offset + write.bytes.count, with: write.bytes)
    }
    return image
  }

  /// What it reads after a power cut: one of the many things that it may be.
  func afterPowerCut(_ random: inout SeededRandom) -> [UInt8] {
    switch random.below(8) {
    case 0: durable
    case 1: allArrived
    case 2: prefix(&random)
    case 3: parts(of: 4096, share: random.from(1...99), garbage: 0, &random)
    case 4: parts(of: 4096, share: random.from(1...99), garbage: 50, &random)
    case 5: parts(of: Self.sector, share: random.from(1...99), garbage: 0, &random)
    case 6: parts(of: Self.sector, share: 95, garbage: 0, &random)
    default: parts(of: Self.sector, share: random.from(1...99), garbage: 50, &random)
    }
  }

  /// The writes arrive in their order, and the last one not to its end.
  private func prefix(_ random: inout SeededRandom) -> [UInt8] {
    guard !pending.isEmpty else { return durable }
    var image = durable
    let last = random.below(pending.count)
    for index in 0...last {
      let (offset, bytes) = pending[index]
      let count = index < last ? bytes.count : random.from(0...bytes.count)
      image.replaceSubrange(offset..<offset + count, with: bytes[0..<count])
    }
    return image
  }

  /// Some parts arrive, by `share` percent; of the others `garbage` percent have neither what was nor what
  /// should be.
  private func parts(of size: Int, share: Int, garbage: Int, _ random: inout SeededRandom) -> [UInt8] {
    var image = durable
    for (offset, bytes) in pending {
      for start in stride(from: 0, to: bytes.count, by: size) {
        let end = min(start + size, bytes.count)
        if random.percent(share) {
          image.replaceSubrange(offset + start..<offset + end, with: bytes[start..<end])
        } else if random.percent(garbage) {
          image.replaceSubrange(offset + start..<offset + end, with: random.bytes(end - start))
        }
      }
    }
    return image
  }
}
