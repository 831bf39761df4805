/// How waiting for an event ended.
enum Outcome {
  /// The event that was waited for.
  case came(Event)
  case lost(Event)
  /// The library rejected what was to be sent.
  case rejected(Int)
  /// The time is up.
  case nothing
}

extension EventLoop {
  /// Waits for an event, unless the library has rejected the call that would cause it.
  func wait(_ status: Int = Status.ok, until end: Int64, _ isWanted: (Event) -> Bool) -> Outcome {
    guard status == Status.ok else { return .rejected(status) }
    deadline = end
    defer { deadline = nil }
    while true {
      switch next() {
      case .event(let event):
        if isWanted(event) { return .came(event) }
        if event.type == Library.ended { return .lost(event) }
      case .time, .interrupted, .outputBroken: return .nothing
      case .input: break
      }
    }
  }
}

extension Findings {
  /// Reports why a step failed, with the step's own advice unless there is better.
  func blame(
    _ step: StaticString, _ status: Int32, _ what: Text, _ outcome: Outcome, _ ownAdvice: Text
  ) {
    if System.caughtSignal != 0 { return }
    switch outcome {
    case .came(let event): fail(step, status, "\(what): \(closeText(event))", ownAdvice)
    case .lost(let event):
      let better = advice(onLoss: event)
      let end: Text = event.status == Status.refused ? "" : "the connection was lost: "
      fail(step, status, "\(what): \(end)\(closeText(event))", better.isEmpty ? ownAdvice : better)
    case .rejected(let rejection):
      fail(step, status, "\(what): \(rejectText(rejection))", advice(onReject: rejection))
    case .nothing: fail(step, status, "\(what): no answer in time", adviceOnSilence)
    }
  }
}
