import TestSupport

@testable import Transports

extension HandshakeStep: @unchecked Sendable {}
extension HTTPResponseHead.Event: @unchecked Sendable {}
extension WebSocketHandshake.Fault: @unchecked Sendable {}
extension WebSocketOpcode: @unchecked Sendable {}

/// What a peer says, cut into the pieces that reads hand out.
struct Pieces {
  /// Where each piece ends.
  let ends: [Int]

  init(cutAt cuts: [Int], of count: Int) {
    ends = Set(cuts).filter { $0 > 0 && $0 < count }.sorted() + [count]
  }

  /// In one piece, in single bytes, cut once at each place, and cut at random.
  static func some(of count: Int) -> [Pieces] {
    var random = SeededRandom(seed: UInt64(count))
    return [Pieces(cutAt: [], of: count), Pieces(cutAt: Array(0..<count), of: count)]
      + (1..<max(count, 2)).map { Pieces(cutAt: [$0], of: count) }
      + (0..<50).map { _ in Pieces(cutAt: (0..<4).map { _ in random.below(count + 1) }, of: count) }
  }

  /// The same, and cut twice at each two places.
  static func all(of count: Int) -> [Pieces] {
    some(of: count)
      + (0..<count).flatMap { first in
        (first..<count).map { Pieces(cutAt: [first, $0], of: count) }
      }
  }

  /// Hands the pieces out until the handshake wants something else than bytes. Returns how many it has taken.
  func hand(
    _ bytes: [UInt8], to receive: (Span<UInt8>, inout Int) -> HandshakeStep
  ) -> (step: HandshakeStep, taken: Int) {
    var start = 0
    for end in ends {
      let piece = Array(bytes[start..<end])
      var consumed = 0
      let step = receive(piece.span, &consumed)
      guard step == .needsBytes else { return (step, start + consumed) }
      precondition(consumed == piece.count)
      start = end
    }
    return (.needsBytes, start)
  }
}

extension Span<UInt8> {
  var string: String { String(decoding: array, as: UTF8.self) }
}

/// What a writer writes into so much room; `nil` if it refuses.
func written(room: Int = 8192, _ write: (inout MutableSpan<UInt8>) -> Int?) -> [UInt8]? {
  var bytes = [UInt8](repeating: 0xEE, count: room)
  var span = bytes.mutableSpan
  guard let size = write(&span) else { return nil }
  return Array(bytes.prefix(size))
}
