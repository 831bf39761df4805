/// What --journal changes for a program that sends: messages are taken without a connection, and where there is none, the
/// program ends as soon as they are stored.
final class Keeping {
  /// How much the journal writes at once: a message has to fit into it.
  static let batchBytes: UInt32 = 131_072
  private let arguments: CommonArguments
  /// Why there is no connection.
  private var cut: ExitError?
  /// The broker has refused: it is not enough then that everything is stored.
  private var isRefused = false

  init(_ arguments: CommonArguments) { self.arguments = arguments }

  /// Whether there is a journal.
  var isOn: Bool { !arguments.journal.isEmpty }
  var isCut: Bool { cut != nil }
  private var option: Text { "--journal \(arguments.journal.printable)" }

  func takesMessages(_ loop: EventLoop) -> Bool { isOn || loop.client.state == Library.online }

  func connected() { cut = nil }

  /// An attempt, or the connection, has ended. Throws if the program has to end for it, because what is left is stored nowhere.
  func lost(
    _ event: Event, _ loop: EventLoop, isWorthAnother: Bool, isFull: Bool, isRefusal: Bool = false
  ) throws(ExitError) {
    do {
      try loop.lost(event, isWorthAnother: isWorthAnother, arguments)
    } catch {
      guard isOn else { throw error }
      cut = error
      isRefused = isRefusal || error.status != 1 && error.status != 7
      guard !isFull else {
        throw ExitError(text: "\(error.text); \(option): there is no room for more messages")
      }
    }
  }

  /// Waits for the disk, and then disconnects; `drain`: how many milliseconds that may wait for messages. Returns the exit
  /// status, which is `status` if nothing else has failed.
  func end(
    _ loop: EventLoop, _ failure: ExitError?, status: Int32, disconnect: (_ drain: UInt32) -> Void
  ) throws(ExitError) -> Int32 {
    var failure = failure
    if isOn && !loop.client.sync() && failure == nil {
      failure = ExitError(text: "\(option): not everything could be stored")
    }
    disconnect(failure == nil && cut == nil ? 30_000 : 0)
    if let failure {
      if !arguments.quiet || failure.isUsage { throw failure }
      return failure.status
    }
    guard let cut else { return status }
    if !arguments.quiet {
      printError(
        arguments.command.title, "\(cut.text); what was not delivered is in \(arguments.journal.printable)")
    }
    return isRefused ? cut.status : status
  }

  /// Why a journal cannot be used.
  func refused(_ status: Int, osError: Int32) -> ExitError {
    let why: Text = status == Status.journal ? System.errorText(osError) : Library.statusText(status)
    return ExitError(text: "\(option): \(why)")
  }

  var tooLarge: ExitError {
    ExitError(text: "the message cannot be \(Program.sent): --journal keeps messages of at most 120 KiB")
  }
}

struct ClientRefused: Error {
  let status: Int
  /// errno, which says why a journal cannot be used.
  let osError: Int32
}
