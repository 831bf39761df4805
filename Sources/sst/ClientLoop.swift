import CSwiftSTOMP

extension EventLoop {
  convenience init(_ options: STOMP.Options, _ arguments: Arguments) throws(ExitError) {
    _ = signals
    let client: Client
    do {
      client = try Client(options)
    } catch {
      if error.status == SST_ERR_INSPECT {
        throw ExitError(
          text: "--inspect \(arguments.inspectionSocket.printable): \(System.errorText(error.osError))")
      }
      guard error.status / 100 == SST_ERR_JOURNAL / 100 else {
        throw ExitError(text: "cannot create the client: \(STOMP.statusText(error.status))")
      }
      throw Keeping(arguments).refused(error.status, osError: error.osError)
    }
    self.init(client)
    if arguments.debug { client.observe(DebugLines(arguments, client)) }
    _ = client.connect()
  }

  /// Disconnects; waits at most `drain` milliseconds for frames in the outbox.
  /// `isShort`: at most half a second, even if the server has not answered.
  func disconnect(drain: UInt32 = 0, isShort: Bool = false) {
    input = -1
    deadline = isShort ? System.milliseconds + 500 : nil
    _ = client.disconnect(drain: drain)
    while client.state != SST_STATE_DISCONNECTED, !isTimeUp {
      if case .interrupted = next() { _ = client.disconnect(drain: 0) }
    }
  }
}
