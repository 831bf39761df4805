import CTool

/// A connection that the library's own transport does not make: from an address of this machine, or to a socket in the
/// file system. It is opened while nothing else is done.
final class OwnTransport {
  private let client: Client
  private let arguments: Arguments
  private(set) var descriptor: Int32 = -1
  /// The kernel takes no more bytes.
  private(set) var isBlocked = false

  init(_ client: Client, _ arguments: Arguments) {
    self.client = client
    self.arguments = arguments
  }

  private var now: UInt32 { UInt32(truncatingIfNeeded: System.milliseconds) }

  var nextTimeout: Int64 { client.engineTimeout(now) }

  func begin() { client.timedOut(now) }

  func open(port: UInt32) {
    close()
    let host = arguments.host.isEmpty ? ascii("localhost") : arguments.host
    let result = System.connect(
      host: host, port: port, from: arguments.bind, path: arguments.unix, timeout: 30_000)
    guard result >= 0 else {
      // A name without an address has no errno; EADDRNOTAVAIL is the nearest.
      client.closed(result <= -900 ? 99 : -result, now)
      return
    }
    descriptor = result
    client.opened(now)
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
    while descriptor >= 0, let count = client.receive(from: descriptor, now) {
      if count == -Int64(TOOL_EAGAIN) { break }
      if count <= 0 {
        client.closed(Int32(-count), now)
        return
      }
      send()
    }
  }

  private func send() {
    let error = client.send(to: descriptor, now)
    isBlocked = error == Int32(TOOL_EAGAIN)
    if error != 0 && !isBlocked { client.closed(error, now) }
  }
}
