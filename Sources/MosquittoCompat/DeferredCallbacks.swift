// Callbacks about a connection that another one has replaced: a loop calls them.

/// A callback, and what it is called with.
enum DeferredCallback: BitwiseCopyable {
  case published(mid: Int32, code: Int32)
  case received(ReceivedMessage)
  /// A QoS 2 message that was kept until PUBREL.
  case released(ReceivedMessage)
}

extension Mosquitto.Locked {
  mutating func deferCallback(_ callback: DeferredCallback) {
    if !state.deferredCallbacks.append(callback) { free(callback) }
  }

  /// Calls the first. False: there is none.
  mutating func callDeferred() -> Bool {
    guard let callback = state.deferredCallbacks.removeFirst() else { return false }
    switch callback {
    case .published(let mid, let code): unsafe callPublish(mid, code, nil)
    case .received(let message): deliver(message)
    case .released(let message): callMessage(message)
    }
    return true
  }

  mutating func freeDeferredCallbacks() {
    while let callback = state.deferredCallbacks.removeFirst() { free(callback) }
  }

  private func free(_ callback: DeferredCallback) {
    switch callback {
    case .published: break
    case .received(let message), .released(let message): message.free()
    }
  }
}
