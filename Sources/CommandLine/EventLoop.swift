/// Set once, before the first client is created.
let signals = System.catchSignals()

/// A client and everything that a program with one client waits for.
final class EventLoop {
  /// What happened.
  enum Wake {
    case event(Event)
    /// `input` can be read, or is at its end.
    case input
    /// `deadline` has passed.
    case time
    case interrupted(Int32)
    /// The reader of standard output is gone.
    case outputBroken
  }

  let client: Client
  let output = Output()
  /// A descriptor to read from, or -1.
  var input: Int32 = -1
  /// In System.milliseconds.
  var deadline: Int64?
  private(set) var wasConnected = false
  /// Is called whenever the client has done what was due.
  var observer: ((Client) -> Void)?
  /// Is called before each wait.
  var idle: (() -> Void)?
  private var isSignalReported = false
  private var isBrokenOutputReported = false

  init(_ client: Client) { self.client = client }

  /// Waits for the next thing to do.
  func next() -> Wake {
    while true {
      if !isSignalReported && System.caughtSignal != 0 {
        isSignalReported = true
        return .interrupted(System.caughtSignal)
      }
      if let event = nextEvent() { return .event(event) }
      client.service()
      observer?(client)
      if isTimeUp { return .time }
      if let event = nextEvent() { return .event(event) }
      output.flush()
      idle?()
      if output.error != 0 && !isBrokenOutputReported {
        isBrokenOutputReported = true
        return .outputBroken
      }
      if wait() { return .input }
    }
  }

  /// true: there is input.
  private func wait() -> Bool {
    var timeout = client.nextTimeout
    if let deadline {
      let left = max(0, deadline - System.milliseconds)
      if timeout < 0 || timeout > left { timeout = left }
    }
    var list = [
      System.Wait(descriptor: client.descriptor),
      System.Wait(descriptor: isSignalReported ? -1 : signals),
      System.Wait(descriptor: input),
      System.Wait(descriptor: isBrokenOutputReported || output.isTerminal ? -1 : 1, wantsInput: false),
    ]
    System.poll(&list, timeout)
    if list[3].isBroken { output.broke() }
    return list[2].isReadable || (input >= 0 && list[2].isBroken)
  }

  var isTimeUp: Bool { deadline.map { System.milliseconds >= $0 } ?? false }

  private func nextEvent() -> Event? {
    guard let event = client.nextEvent() else { return nil }
    if event.type == Library.connected { wasConnected = true }
    return event
  }

  /// An attempt or the connection has ended. Throws unless reconnecting makes sense.
  func lost(_ event: Event, isWorthAnother: Bool, _ arguments: CommonArguments) throws(ExitError) {
    if !wasConnected && nextFollows(event, arguments) { return }
    let isCut = wasConnected && event.status != Status.refused
    let what: Text =
      isCut
      ? "the connection to \(brokerName(arguments)) was lost" : "cannot connect to \(brokerName(arguments))"
    guard isCut && isWorthAnother else {
      throw ExitError(text: "\(what): \(closeText(event))", status: exitStatus(event, wasConnected: isCut))
    }
    if !arguments.quiet { printError(arguments.command.title, "\(what): \(closeText(event)); trying again") }
  }
}

/// How a command that receives has ended.
struct ReceivingEnd {
  var failure: ExitError?
  /// By a signal or -W: the broker is not waited for long and, in MQTT 5.0, publishes the Will.
  var isCutShort = false
}

extension EventLoop {
  /// Passes on what comes until `took` says that this was all, the time of -W is up, a signal arrives, or the reader of
  /// standard output is gone.
  func receive(_ arguments: CommonArguments, _ took: (Event) throws(ExitError) -> Bool) -> ReceivingEnd {
    if let seconds = arguments.timeout { deadline = System.milliseconds + seconds * 1000 }
    while true {
      switch next() {
      case .event(let event):
        do throws(ExitError) {
          if try took(event) { return ReceivingEnd() }
        } catch {
          return ReceivingEnd(failure: error)
        }
      case .time:
        return ReceivingEnd(failure: ExitError(text: "the time of -W is up", status: 27), isCutShort: true)
      case .interrupted: return ReceivingEnd(isCutShort: true)
      case .outputBroken: return ReceivingEnd()
      case .input: break
      }
    }
  }
}
