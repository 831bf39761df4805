import CPlatform
import MQTTSession
import MQTTTransport

/// From a name to an open transport.
extension Client {
  mutating func finishResolving(at now: Instant) {
    // The answer closes the descriptor.
    poller.forget()
    switch resolver.answer() {
    case .none: watch(resolver.descriptor, readable: true, writable: false)
    case .addresses(let found): open(found, at: now)
    case .noAddress(let error): end(.resolve(error))
    case .failed(let error): end(.network(error))
    }
  }

  mutating func open(_ found: platform_addresses, at now: Instant) {
    addresses = found
    nextAddress = 0
    openNext(lastError: 0, at: now)
  }

  /// Tries the addresses one after the other, until one can be waited for. Each gets half of the time
  /// that is left, the last all of it, so that one which swallows everything does not keep the others
  /// from their turn.
  mutating func openNext(lastError: Int32, at now: Instant) {
    phase = .connecting
    var lastErrno = lastError
    while nextAddress < addresses.count {
      let isLast = nextAddress &+ 1 == addresses.count
      addressDeadline = isLast ? nil : now.advanced(by: share(at: now))
      poller.forget()
      do throws(PlatformError) {
        defer { nextAddress += 1 }
        try transport.connect(to: addresses, at: nextAddress)
        try poller.watch(transport.descriptor, for: .init(readable: false, writable: true))
        return
      } catch {
        transport.close()
        lastErrno = error.errno
      }
    }
    end(.network(lastErrno))
  }

  private func share(at now: Instant) -> UInt32 {
    guard let connectDeadline else { return Self.addressTimeout }
    return connectDeadline.remaining(at: now) / 2
  }

  mutating func finishConnecting(at now: Instant) {
    let error = transport.outcome()
    guard error == 0 else { return openNext(lastError: error, at: now) }
    addressDeadline = nil
    phase = .open
    isBlocked = false
    isWatchingReceive = false
    session.connectionOpened()
  }
}
