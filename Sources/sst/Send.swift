import CSwiftSTOMP

/// sst send
func send(_ arguments: Arguments) throws(ExitError) -> Int32 {
  guard let destination = arguments.destinations.first else {
    throw usageError("a destination is required: use -t")
  }
  guard let source = arguments.source else {
    throw usageError("a message is required: use -m, -f, -l, -n or -s")
  }
  let sender = Sender(arguments, destination)
  if case .lines = source {
    if arguments.times != nil { throw usageError("--repeat cannot be used with -l") }
    sender.lines = Lines()
  } else {
    sender.message.body = try content(of: source)
    sender.left = arguments.times ?? 1
  }
  return try sender.run()
}

/// The one body of -m, -f, -n or -s.
private func content(of source: Arguments.Source) throws(ExitError) -> [UInt8] {
  switch source {
  case .text(let text): return text
  case .file(let path):
    return try contents(of: try opened(path, option: "-f"), name: Text(path.printable), option: "-f: ")
  case .nothing, .lines: return []
  case .whole:
    let all = try contents(of: 0, name: "standard input", option: "-s: ")
    if all.isEmpty { throw ExitError(text: "-s: standard input is empty") }
    return all
  }
}

/// Sends one message several times, or many lines, and waits until each of them ends.
private final class Sender {
  let arguments: Arguments
  private let keeping: Keeping
  var message: STOMP.Message
  /// How many times the message still has to be sent.
  var left: Int64 = 0
  var lines: Lines?
  /// A line for which there was no room.
  private var held: [UInt8]?
  private var open = 0
  /// There was no room; an event reports when there is.
  private var isFull = false
  /// There are messages of an earlier process.
  private var hasEarlier = false
  private var status: Int32 = 0
  private var notBefore: Int64 = 0
  /// Of the transaction; 0: it has not begun.
  private var transaction: UInt32 = 0
  private var isCommitted = false

  init(_ arguments: Arguments, _ destination: [UInt8]) {
    self.arguments = arguments
    keeping = Keeping(arguments)
    message = STOMP.Message(destination: destination)
    message.contentType = arguments.contentType
    message.headers = arguments.headers
    // COMMIT has a receipt for all of a transaction.
    if arguments.sendsReceipts && !arguments.isTransaction {
      message.flags = SST_SEND_RECEIPT | SST_SEND_AGAIN
    }
    if keeping.isOn { message.flags |= SST_SEND_STORE }
    if !arguments.sendsLength { message.flags |= SST_SEND_NO_LENGTH }
  }

  private var isAllGiven: Bool {
    guard let lines else { return left == 0 }
    return held == nil && lines.isUsedUp
  }

  private func isOver(_ loop: EventLoop) -> Bool {
    guard isAllGiven else { return false }
    if keeping.isCut { return true }
    // Of an earlier process there may be some that nothing is told of.
    return (open == 0 || keeping.isOn && loop.client.waiting == 0) && loop.wasConnected
      && (!arguments.isTransaction || isCommitted)
  }

  func run() throws(ExitError) -> Int32 {
    var options = try clientOptions(arguments)
    if !keeping.isOn {
      let frame = message.body.count + message.destination.count + message.headers.count + 65_536
      options.outboxBytes = UInt32(max(lines == nil ? 1_048_576 : 4_194_304, frame))
      options.outboxFrames = lines == nil ? 256 : 4096
    }
    let loop = try EventLoop(options, arguments)
    var failure: ExitError?
    if keeping.isOn {
      do { try give(loop) } catch { failure = error }
    }
    while !isOver(loop) && failure == nil {
      loop.input = wantsInput(loop) ? 0 : -1
      loop.deadline = loop.wasConnected && left > 0 && notBefore > 0 ? notBefore : nil
      if hasEarlier && isAllGiven { loop.deadline = System.milliseconds + 200 }
      do {
        try turn(loop)
      } catch {
        failure = error
      }
    }
    return try keeping.end(loop, failure, status: status) { loop.disconnect(drain: $0) }
  }

  /// A line that cannot be sent stays in the pipe, and its writer waits.
  private func wantsInput(_ loop: EventLoop) -> Bool {
    guard let lines else { return false }
    return !lines.isAtEnd && held == nil && keeping.takesMessages(loop)
  }

  private func turn(_ loop: EventLoop) throws(ExitError) {
    switch loop.next() {
    case .event(let event): try took(event, loop)
    case .input: try lines?.read()
    case .time, .outputBroken: break
    case .interrupted(let signal):
      throw ExitError(text: "interrupted before everything was sent", status: 128 + signal)
    }
    guard !isFull && keeping.takesMessages(loop) else { return }
    try give(loop)
    if arguments.isTransaction && isAllGiven && open == 0 && !isCommitted { try commit(loop) }
  }

  private func took(_ event: Event, _ loop: EventLoop) throws(ExitError) {
    switch event.type {
    case SST_EVENT_ROOM: isFull = false
    case SST_EVENT_COMPLETED:
      open -= 1
      isFull = false
      if event.completed == SST_COMPLETED_COMMIT && event.status != SST_OK {
        throw ExitError(text: "COMMIT: \(closeText(event))")
      }
      // The end of the connection, which follows, says more of these.
      if arguments.isTransaction && event.status == SST_ERR_DROPPED { break }
      if event.status != SST_OK {
        status = 1
        if !arguments.quiet { printError("sst send", "a message was not delivered: \(closeText(event))") }
      }
    case SST_EVENT_CONNECTED: keeping.connected()
    case SST_EVENT_JOURNAL where event.completed == SST_JOURNAL_RECOVERED:
      open += Int(event.cookie)
      hasEarlier = true
    case SST_EVENT_DISCONNECTED:
      // An ERROR would come again with what caused it.
      let isError = event.status == SST_ERR_SERVER_CLOSED
      try keeping.lost(
        event, loop, isWorthAnother: lines != nil && !arguments.isTransaction && !isError, isFull: isFull,
        isRefusal: isError)
    default: break
    }
  }

  /// Sends what is available, as long as there is room.
  private func give(_ loop: EventLoop) throws(ExitError) {
    if arguments.isTransaction && transaction == 0 {
      let number = loop.client.begin()
      if number < 0 { throw ExitError(text: "the transaction cannot begin: \(rejectText(number))") }
      transaction = UInt32(number)
      message.transaction = transaction
    }
    if lines != nil {
      while let line = held ?? lines?.next() {
        message.body = line
        held = line
        guard try sendOne(loop) else { return }
        held = nil
      }
      return
    }
    while left > 0 && System.milliseconds >= notBefore {
      guard try sendOne(loop) else { return }
      left -= 1
      if arguments.delay > 0 { notBefore = System.milliseconds + arguments.delay }
    }
  }

  /// false: there is no room now.
  private func sendOne(_ loop: EventLoop) throws(ExitError) -> Bool {
    let status = loop.client.send(message)
    isFull = status == SST_ERR_FULL
    if isFull { return false }
    if keeping.isOn && status == SST_ERR_TOO_LARGE { throw keeping.tooLarge }
    if lines != nil && status == SST_ERR_TOO_LARGE {
      throw ExitError(
        text: "-l: a line of \(message.body.count) bytes is too long: -s and -f send larger messages")
    }
    guard status == SST_OK else {
      throw ExitError(text: "the message cannot be sent: \(rejectText(status))")
    }
    open += 1
    return true
  }

  private func commit(_ loop: EventLoop) throws(ExitError) {
    let status = loop.client.commit(transaction, cookie: 0)
    isFull = status == SST_ERR_FULL
    if isFull { return }
    guard status == SST_OK else {
      throw ExitError(text: "the transaction cannot be committed: \(rejectText(status))")
    }
    open += 1
    isCommitted = true
  }
}
