/// Collects the parts of messages.
struct Assembly {
  private var payload: [UInt8] = []

  /// The whole message, when its last part has arrived.
  mutating func add(_ event: Event) -> Event? {
    if event.part & Library.firstPart != 0 {
      if event.part & Library.lastPart != 0 { return event }
      payload = []
      payload.reserveCapacity(event.payloadTotal)
    }
    payload += event.payload
    guard event.part & Library.lastPart != 0 else { return nil }
    swap(&event.payload, &payload)
    return event
  }
}
