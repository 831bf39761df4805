/// What is counted in a run.
protocol CountKind: CaseIterable, RawRepresentable, Sendable where RawValue == Int, AllCases == [Self] {}

/// How often something happened that the runs are there for: what never happens is not tested.
struct Counts<Kind: CountKind>: Sendable {
  private var numbers = [Int](repeating: 0, count: Kind.allCases.count)

  subscript(kind: Kind) -> Int {
    get { numbers[kind.rawValue] }
    set { numbers[kind.rawValue] = newValue }
  }

  static func += (sum: inout Counts, more: Counts) {
    for kind in Kind.allCases { sum[kind] += more[kind] }
  }

  var text: String { Kind.allCases.map { "\(self[$0]) \($0)" }.joined(separator: ", ") }
}

/// Of sessions.
enum SessionCount: Int, CountKind {
  case message, connection, sessionLost
  case resent, releasedAgain, handshakeTold, aliased
  case duplicate, oversize, part, aliasReceived, heldOver
  case messageRefused, messageLostWithSession, messageAboveLimit, messageAborted, refusedHere
  case messageDropped, messageReplaced, droppedAtOnce
  case stream, reserved, fallback, keepAlive, left
}
