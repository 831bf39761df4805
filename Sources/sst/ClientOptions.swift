import CSwiftSTOMP

/// The options of a client, according to the command line.
func clientOptions(_ arguments: Arguments) throws(ExitError) -> STOMP.Options {
  var options = STOMP.Options()
  options.version = arguments.version ?? 0
  options.virtualHost = arguments.virtualHost
  options.userName = arguments.user ?? []
  options.password = arguments.password ?? []
  options.headers = arguments.connectHeaders
  options.inspect = arguments.inspectionSocket
  if let heartBeat = arguments.heartBeat {
    options.heartBeatSend = heartBeat.send == 0 ? STOMP.off : heartBeat.send
    options.heartBeatReceive = heartBeat.receive == 0 ? STOMP.off : heartBeat.receive
  }
  if !arguments.journal.isEmpty {
    options.journal = arguments.journal
    options.journalBatch = Keeping.batchBytes
    // What an earlier run has left has to fit as well, whatever that was given.
    (options.outboxBytes, options.outboxFrames) = (1_048_576, 4096)
  }
  setAddress(&options, arguments)
  try setTransport(&options, arguments)
  let (status, offset) = STOMP.check(options)
  guard status == SST_OK else { throw rejected(status, offset, options, arguments) }
  return options
}

/// For destinations that nobody else uses.
func randomName() -> [UInt8] {
  let letters = ascii("0123456789abcdefghijklmnopqrstuvwxyz")
  return System.random(12).map { letters[Int($0) % letters.count] }
}
