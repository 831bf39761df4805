/// What a bench says while it runs.
final class Progress {
  private let isShown: Bool
  private var last = System.milliseconds

  init(isWanted: Bool) { isShown = isWanted || System.isTerminal(2) }

  /// Prints once a second; on a terminal the line is overwritten.
  func tell(_ text: (_ milliseconds: Int64) -> Text) {
    let now = System.milliseconds
    guard isShown && now - last >= 1_000 else { return }
    let line = text(now - last)
    last = now
    say(System.isTerminal(2) ? "\r\(line)\u{1B}[K" : "\(line)\n", to: 2)
  }

  func end() {
    if isShown && System.isTerminal(2) { say("\r\u{1B}[K", to: 2) }
  }
}

/// For how long a number has not changed.
struct Stillness {
  private var value: Int64 = -1
  private var since: Int64 = 0

  /// Whether the number has been the same for more than that many milliseconds.
  mutating func lasts(_ limit: Int64, at value: Int64) -> Bool {
    let now = System.milliseconds
    if value != self.value {
      self.value = value
      since = now
    }
    return now - since > limit
  }
}
