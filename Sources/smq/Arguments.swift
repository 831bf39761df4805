import CSwiftMQTT

/// What the command line, and an options file before it, ask for.
final class Arguments: CommonArguments {
  var id: [UInt8]?
  var prefix: [UInt8]?
  var keepAlive: UInt32 = 60
  var version: UInt32?
  var isPersistent = false
  var expiry: UInt32?
  var qos: UInt8 = 0
  var topics: [[UInt8]] = []
  var responseTopic: [UInt8] = []
  var retain = false
  var inFlight: UInt32 = 20
  var properties = GivenProperties()
  var hasProperties = false
  var willTopic: [UInt8]?
  var willPayload: [UInt8]?
  var willQoS: UInt8?
  var willRetain = false
  var unsubscribed: [[UInt8]] = []
  var filteredOut: [[UInt8]] = []
  var noRetained = false
  var retainedOnly = false
  var removeRetained = false
  var asPublished = false
  var oneIn: Int64 = 10_000  // of 10,000: how many messages are taken
  var untilSubscribed = false
  var verbose = false
  var decodes = false
  var inspectionSocket: [UInt8] = []
  var isServer = false
  var speed: Int64 = 1000  // thousandths
  var interval: Int64 = 1000  // milliseconds
  /// The file of --capture, and the size that it may have.
  var capture: [UInt8] = []
  var captureSize: Int64?
  /// Once it is open: all clients of this run write to it.
  var captureFile: CaptureFile?

  override func apply(_ given: GivenOption) throws(ExitError) { try applyOwn(given) }
  override func flush() { captureFile?.flush() }
  override func finish() throws(ExitError) { try captureFile?.finish() }

  /// What a word that is no option is, if the command takes one.
  override var operand: Option? {
    switch command.set {
    case Commands.bench, Commands.check: options.first { $0.key == .url }
    case Commands.journal: journalOperand
    case Commands.inspect, Commands.top: Option(.operand, "", "SOCKET", "SOCKET", Commands.viewing, "")
    case Commands.replay: Option(.operand, "", "FILE", "FILE", Commands.replay, "")
    case Commands.stats: Option(.operand, "", "SOCKET", "SOCKET", Commands.stats, "")
    default: nil
    }
  }

  override func words(of option: Option, _ words: inout ArraySlice<[UInt8]>) throws(ExitError) -> [[UInt8]]? {
    guard option.key == .property else { return nil }
    var taken: [[UInt8]] = []
    var wanted = 3
    while taken.count < wanted {
      guard let word = words.popFirst() else { throw usageError("-D needs a packet, a name and a value") }
      taken.append(word)
      if taken.count == 2 && isPair(word) { wanted = 4 }
    }
    return taken
  }

  /// Checks that need more than one option.
  override func checkTogether() throws(ExitError) {
    if id != nil && prefix != nil { throw usageError("-i and -I cannot be used together") }
    if willTopic == nil {
      if willPayload != nil { throw usageError("--will-payload needs --will-topic") }
      if willQoS != nil { throw usageError("--will-qos needs --will-topic") }
      if willRetain { throw usageError("--will-retain needs --will-topic") }
    }
    if noRetained && retainedOnly { throw usageError("-R and --retained-only leave nothing to print") }
    // With -I no run could resume the session: each has another Client Identifier.
    if isPersistent && id == nil { throw usageError("-c needs a Client Identifier: -i") }
    if captureSize != nil && capture.isEmpty { throw usageError("--capture-size needs --capture") }
    if !journal.isEmpty {
      if id == nil { throw usageError("--journal needs a Client Identifier: -i") }
      if qos == 0 { throw usageError("--journal keeps messages of QoS 1 and 2: -q") }
    }
    if expiry == MQTT.forever && (version ?? (command.set == Commands.rr ? 5 : 4)) == 5 && id == nil {
      throw usageError("-x: a session that is kept forever needs a Client Identifier: -i")
    }
    if password != nil && user == nil && url.isEmpty && version != 5 && command.set != Commands.rr {
      throw usageError("-P needs a user name (-u), except in 5.0")
    }
    if hasProperties && version != 5 { throw usageError("-D needs MQTT 5.0, but -V selects another version") }
    if expiry != nil && properties.sessionExpiry != nil {
      throw usageError("-x and -D connect session-expiry-interval cannot be used together")
    }
    // Section 3.14.2.2.2.
    if properties.lastExpiry > 0 && !isPersistent && (expiry ?? properties.sessionExpiry ?? 0) == 0 {
      throw usageError("-D: disconnect can only keep a session that connect keeps, too: -x")
    }
    if command.set == Commands.rr && properties.has(.publish, SMQ_PROPERTY_RESPONSE_TOPIC) {
      throw usageError("-D: -e gives the response-topic")
    }
    if command.set & Commands.viewing != 0 {
      let isOfBroker = !topics.isEmpty || !url.isEmpty || !host.isEmpty || !unix.isEmpty
      if operands.isEmpty && !isOfBroker {
        throw usageError(
          "what to look at is required: an inspection socket, a capture, or topics of a broker (-t)")
      }
      // As many as can be waited for at once.
      if operands.count > 6 { throw usageError("at most 6 clients can be looked at together") }
      if !operands.isEmpty && isOfBroker {
        throw usageError("a socket, or a capture, and a broker cannot be looked at together")
      }
    }
    if command.set == Commands.replay {
      if operands.count != 1 { throw usageError("a capture is required: smq replay FILE") }
      if isServer && !host.isEmpty { throw usageError("--server and -h cannot be used together") }
    }
    if command.set == Commands.stats {
      if operands.isEmpty { throw usageError("an inspection socket is required: smq stats SOCKET") }
      if prometheus && json { throw usageError("--prometheus and --json cannot be used together") }
    }
    try super.checkTogether()
  }
}
