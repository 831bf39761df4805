import CSwiftSTOMP

/// What the command line, and an options file before it, ask for.
final class Arguments: CommonArguments {
  var virtualHost: [UInt8] = []
  /// A list of the library's, as the next.
  var connectHeaders: [UInt8] = []
  var headers: [UInt8] = []
  /// SST_STOMP_…; `nil`: any.
  var version: UInt32?
  var heartBeat: (send: UInt32, receive: UInt32)?
  var destinations: [[UInt8]] = []
  var contentType: [UInt8] = []
  var sendsReceipts = true
  var isTransaction = false
  var sendsLength = true
  var ack: UInt32 = UInt32(SST_ACK_CLIENT)
  var verbose = false
  var inFlight: Int64 = 50
  var inspectionSocket: [UInt8] = []

  override var operand: Option? {
    switch command.set {
    case Commands.bench, Commands.check: options.first { $0.key == .url }
    case Commands.inspect: Option(.operand, "", "SOCKET", "SOCKET", Commands.inspect, "")
    case Commands.stats: Option(.operand, "", "SOCKET", "SOCKET", Commands.stats, "")
    case Commands.journal: journalOperand
    default: nil
    }
  }

  override func apply(_ given: GivenOption) throws(ExitError) {
    let option = given.option
    let value = given.words.first ?? []
    switch option.key {
    case .virtualHost: virtualHost = try some(option, value)
    case .connectHeader: connectHeaders += try header(option, value)
    case .header: headers += try header(option, value)
    case .selector:
      headers += try list(option, STOMP.Header(name: ascii("selector"), value: try some(option, value)))
    case .version:
      guard
        let known = [("1.0", SST_STOMP_1_0), ("1.1", SST_STOMP_1_1), ("1.2", SST_STOMP_1_2)]
          .first(where: { (name: StaticString, _) in value == name })
      else {
        throw usageError("\(option.name) needs 1.0, 1.1 or 1.2, not \"\(value.printable)\"")
      }
      version = UInt32(known.1)
    case .heartBeat:
      let parts = value.split(separator: 44, omittingEmptySubsequences: false)
      let times = parts.compactMap { Array($0).number(in: 0...86_400_000) }
      guard parts.count == 2, times.count == 2 else {
        throw usageError(
          "\(option.name) needs two times in milliseconds, such as 10000,10000, not \"\(value.printable)\"")
      }
      heartBeat = (UInt32(times[0]), UInt32(times[1]))
    case .destination:
      // A sender has one destination, the last one given; a receiver has all of them.
      guard !value.isEmpty, value.isUTF8, !value.contains(0) else {
        throw usageError("\(option.name): a destination is a text of UTF-8, such as /queue/a")
      }
      if command.set != Commands.receive { destinations = [] }
      destinations.append(value)
    case .contentType: contentType = try some(option, value)
    case .noReceipt: sendsReceipts = false
    case .transaction: isTransaction = true
    case .noLength: sendsLength = false
    case .ack:
      switch value {
      case let value where value == "auto": ack = UInt32(SST_ACK_AUTO)
      case let value where value == "client": ack = UInt32(SST_ACK_CLIENT)
      case let value where value == "client-individual": ack = UInt32(SST_ACK_CLIENT_INDIVIDUAL)
      default:
        throw usageError("\(option.name) needs auto, client or client-individual, not \"\(value.printable)\"")
      }
    case .verbose: verbose = true
    case .inspectionSocket: inspectionSocket = try some(option, value)
    case .filter:
      guard let wanted = PacketFilter(value) else {
        throw usageError(
          "\(option.name): \"\(value.printable)\" is not names of frames, destinations, 'sent' or 'received'")
      }
      shownPackets = wanted
    case .senders: publishers = try number(option, value, 1...65_535)
    case .receivers: subscribers = try number(option, value, 0...65_535)
    case .inFlight: inFlight = try number(option, value, 1...65_535)
    default: try applyCommon(given)
    }
  }

  override func checkTogether() throws(ExitError) {
    if password != nil && user == nil && BrokerURL(url).login.isEmpty {
      throw usageError("-P needs a login (-u)")
    }
    try checkPlaces(ofClients: operands)
    if isTransaction && !sendsReceipts {
      throw usageError("--transaction and --no-receipt cannot be used together: COMMIT has a receipt")
    }
    if !journal.isEmpty {
      if isTransaction {
        throw usageError(
          "--journal and --transaction cannot be used together: a transaction ends with its connection")
      }
      if !sendsReceipts {
        throw usageError(
          "--journal and --no-receipt cannot be used together: it keeps a message until its receipt comes")
      }
    }
    if ack == UInt32(SST_ACK_CLIENT_INDIVIDUAL) && version == UInt32(SST_STOMP_1_0) {
      throw usageError("--ack client-individual needs STOMP 1.1 or 1.2, but -V selects 1.0")
    }
    try super.checkTogether()
  }

  /// What inspect and stats look at.
  private func checkPlaces(ofClients places: [[UInt8]]) throws(ExitError) {
    if command.set == Commands.inspect {
      if places.isEmpty {
        throw usageError("what to look at is required: an inspection socket, or a capture")
      }
      // As many as can be waited for at once.
      if places.count > 6 { throw usageError("at most 6 clients can be looked at together") }
    }
    if command.set == Commands.stats {
      if places.isEmpty { throw usageError("an inspection socket is required: sst stats SOCKET") }
      if prometheus && json { throw usageError("--prometheus and --json cannot be used together") }
    }
  }

  /// 'name: value', as an entry of a list.
  private func header(_ option: Option, _ value: [UInt8]) throws(ExitError) -> [UInt8] {
    guard let colon = value.firstIndex(of: 58), colon > 0 else {
      throw usageError("\(option.name) needs 'name: value', not \"\(value.printable)\"")
    }
    return try list(
      option,
      STOMP.Header(name: Array(value[..<colon]), value: Array(value[(colon + 1)...].drop { $0 == 32 })))
  }

  private func list(_ given: Option, _ header: STOMP.Header) throws(ExitError) -> [UInt8] {
    var list: [UInt8] = []
    if STOMP.put(header, into: &list) == SST_OK { return list }
    let name = header.name.printable
    if let own = writtenByTheLibrary.first(where: { header.name == $0.name }) {
      throw usageError("\(given.name): the library writes \(name) itself\(own.instead)")
    }
    throw usageError("\(given.name): \(name) is not UTF-8, has a zero, or is too long")
  }
}

/// The headers that the library writes itself, and which option sets what is in them.
private let writtenByTheLibrary: [(name: StaticString, instead: StaticString)] = [
  ("accept-version", ": -V sets it"), ("ack", ": --ack sets it"), ("content-length", ""),
  ("content-type", ": --content-type sets it"), ("destination", ": -t sets it"),
  ("heart-beat", ": --heart-beat sets it"), ("host", ": --virtual-host sets it"), ("id", ""),
  ("login", ": -u sets it"), ("message-id", ""), ("passcode", ": -P sets it"), ("receipt", ""),
  ("subscription", ""), ("transaction", ": --transaction makes one"),
]
