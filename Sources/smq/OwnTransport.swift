import CPlatform

/// A connection that the library's own transport does not support: from an address of this machine, or to a socket in
/// the file system. Opening it blocks.
final class OwnTransport {
  private let client: Client
  private let arguments: Arguments
  private(set) var descriptor: Int32 = -1
  /// Why a host name has no address, an EAI_… value: there is no errno for that.
  private(set) var lookupError: Int32 = 0
  /// The kernel accepts no more bytes.
  private(set) var isBlocked = false

  init(_ client: Client, _ arguments: Arguments) {
    self.client = client
    self.arguments = arguments
  }

  private var now: UInt32 { UInt32(truncatingIfNeeded: System.milliseconds) }

  var nextTimeout: Int64 { client.engineTimeout(now) }

  func begin() { client.timedOut(now) }

  /// Waits for the connection, but not beyond `deadline`.
  func open(port: UInt32, until deadline: Int64?) {
    close()
    let left = deadline.map { max(0, $0 - System.milliseconds) } ?? 30_000
    let host = arguments.host.isEmpty ? ascii("localhost") : arguments.host
    let found = System.connect(
      host: host, port: port, from: arguments.bind, path: arguments.unix, timeout: min(left, 30_000))
    lookupError = 0
    switch found {
    case .open(let descriptor):
      self.descriptor = descriptor
      client.opened(now)
    case .failed(let error): client.closed(error, now)
    case .noAddress(let error):
      lookupError = error
      client.closed(Int32(PLATFORM_EADDRNOTAVAIL), now)
    }
  }

  func close() {
    if descriptor >= 0 { System.close(descriptor) }
    descriptor = -1
    isBlocked = false
  }

  /// Does what is due.
  func serve() {
    client.timedOut(now)
    guard descriptor >= 0 else { return }
    send()
    while descriptor >= 0 {
      switch client.receive(from: descriptor, now) {
      case .something: send()
      case .nothingNow, .nothingWanted: return
      case .end(let error): return client.closed(error, now)
      }
    }
  }

  private func send() {
    let error = client.send(to: descriptor, now)
    isBlocked = error == Int32(PLATFORM_EAGAIN)
    if error != 0 && !isBlocked { client.closed(error, now) }
  }
}
