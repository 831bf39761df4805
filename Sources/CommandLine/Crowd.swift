/// The clients of a bench, those that receive first, and the one place that waits for them.
final class Crowd {
  private(set) var clients: [Client] = []
  private let set = System.Set()
  private var due: [Int64] = []
  private let signals = System.catchSignals()
  private(set) var isInterrupted = false
  /// Receives each event, with the number of its client.
  var took: (Int, Event) throws(ExitError) -> Void = { (_, _) throws(ExitError) in }

  init(_ count: Int64, _ make: (Int) throws(ExitError) -> Client) throws(ExitError) {
    // Each client has two descriptors.
    let allowed = System.allowDescriptors(2 * count + 16)
    guard allowed >= 2 * count + 16 else {
      throw ExitError(
        text:
          "\(count) clients need \(2 * count + 16) descriptors, but only \(allowed) are allowed: see ulimit -n"
      )
    }
    _ = set.add(signals, number: .max)
    for number in 0..<Int(count) {
      let client = try make(number)
      let error = set.add(client.descriptor, number: UInt32(number))
      guard error == 0 else { throw ExitError(text: "cannot wait for a client: \(System.errorText(error))") }
      clients.append(client)
      due.append(.max)
    }
  }

  /// Runs one client, and passes its events on.
  func serve(_ number: Int) throws(ExitError) {
    let client = clients[number]
    client.service()
    while let event = client.nextEvent(payloadLimit: 16) { try took(number, event) }
    let timeout = client.nextTimeout
    due[number] = timeout < 0 ? .max : System.milliseconds + timeout
  }

  /// Waits at most until `deadline`, in milliseconds, and runs the clients that have something to do.
  func turn(until deadline: Int64) throws(ExitError) {
    var next = deadline
    for time in due where time < next { next = time }
    let now = System.milliseconds
    for number in set.wait(max(0, next - now)) {
      if number == .max { isInterrupted = true } else { try serve(Int(number)) }
    }
    let later = System.milliseconds
    for number in due.indices where due[number] <= later { try serve(number) }
    if System.caughtSignal != 0 { isInterrupted = true }
  }

  /// Disconnects all of them.
  func disconnect() throws(ExitError) {
    for (number, client) in clients.enumerated() {
      _ = client.disconnect(drain: 0)
      try serve(number)
    }
    let end = System.milliseconds + 3_000
    while clients.contains(where: { $0.state != Library.disconnected }) && System.milliseconds < end {
      try turn(until: end)
    }
  }
}
