import CSwiftMQTT

extension EventLoop {
  convenience init(_ options: MQTT.Options, _ arguments: Arguments) throws(ExitError) {
    _ = signals
    let client: Client
    do {
      client = try Client(options)
    } catch {
      if error.status == SMQ_ERR_INSPECT {
        throw ExitError(
          text: "--inspect \(arguments.inspectionSocket.printable): \(System.errorText(error.osError))")
      }
      guard error.status / 100 == SMQ_ERR_JOURNAL / 100 else {
        throw ExitError(text: "cannot create the client: \(MQTT.statusText(error.status))")
      }
      throw Keeping(arguments).refused(error.status, osError: error.osError)
    }
    self.init(client)
    if arguments.debug { client.observe(DebugLines(arguments, client)) }
    if let file = try CaptureFile.open(arguments) {
      client.observe(file)
      idle = { file.flush() }
    }
    _ = client.connect()
  }

  /// Disconnects; waits at most `drain` milliseconds for messages in the outbox.
  /// In 5.0 `reason` may ask for the Will. `isShort`: at most half a second, even if the server has not closed.
  func disconnect(
    drain: UInt32 = 0, reason: Int = SMQ_REASON_SUCCESS, properties: [UInt8] = [], isShort: Bool = false
  ) {
    input = -1
    deadline = isShort ? System.milliseconds + 500 : nil
    client.leavesMessages = true
    if properties.isEmpty && reason == SMQ_REASON_SUCCESS
      || client.disconnect(drain: drain, reason: reason, properties: properties) != SMQ_OK
    {
      _ = client.disconnect(drain: drain)
    }
    while client.state != SMQ_STATE_DISCONNECTED, !isTimeUp {
      if case .interrupted = next() { _ = client.disconnect(drain: 0) }
    }
  }
}
