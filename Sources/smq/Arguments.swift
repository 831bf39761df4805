import CSwiftMQTT

/// A mistake in the command line.
func usageError(_ text: Text) -> ExitError { ExitError(text: text, isUsage: true) }

/// What the command line, and an options file before it, ask for.
final class Arguments {
  let command: Command
  var url: [UInt8] = []
  var host: [UInt8] = []
  var port: UInt32 = 0
  var unix: [UInt8] = []
  var bind: [UInt8] = []
  var interface: [UInt8] = []
  var dscp: UInt32 = 0
  var tcpKeepAlive: UInt32 = 0
  var proxy: [UInt8] = []
  var webSocketPath: [UInt8] = []
  var webSocketHeaders: [UInt8] = []
  var webSocketProtocol: [UInt8] = []
  var tls = TLSArguments()
  /// The settings that `tls` asks for, once they are open.
  var tlsSettings: TLSSettings?
  var user: [UInt8]?
  var password: [UInt8]?
  var id: [UInt8]?
  var prefix: [UInt8]?
  var keepAlive: UInt32 = 60
  var version: UInt32?
  var isPersistent = false
  var journal: [UInt8] = []
  var expiry: UInt32?
  var qos: UInt8 = 0
  var topics: [[UInt8]] = []
  var responseTopic: [UInt8] = []
  var source: Source?
  var retain = false
  var times: Int64?
  var delay: Int64 = 0  // milliseconds
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
  var count: Int64?
  var untilSubscribed = false
  var timeout: Int64?  // seconds
  var verbose = false
  var format: [Format.Piece]?
  var newline = true
  var pretty = false
  var decodes = false
  var publishers: Int64 = 1
  var subscribers: Int64 = 1
  var size: Int64 = 64
  var rate: Int64 = 0
  var seconds: Int64 = 10_000  // milliseconds
  var messages: Int64?
  var progress = false
  var json = false
  var prometheus = false
  var once = false
  var inspectionSocket: [UInt8] = []
  var isServer = false
  var speed: Int64 = 1000  // thousandths
  var shownPackets: PacketFilter?
  var interval: Int64 = 1000  // milliseconds
  /// The words that are no options: sockets, or a file.
  var operands: [[UInt8]] = []
  /// The journal that smq journal reads.
  var journalFile: [UInt8] = []
  var onlyCheck = false
  /// The file of --capture, and the size that it may have.
  var capture: [UInt8] = []
  var captureSize: Int64?
  /// Once it is open: all clients of this run write to it.
  var captureFile: CaptureFile?
  var debug = false
  var quiet = false
  var wantsHelp = false
  var wantsVersion = false

  /// Where the message comes from.
  enum Source {
    case text([UInt8]), file([UInt8]), lines, nothing, whole
  }

  init(_ command: Command, _ words: [[UInt8]]) throws(ExitError) {
    self.command = command
    let given = try read(words[...])
    // --help works whatever the options files contain.
    if given.contains(where: { $0.option.key == .help }) {
      wantsHelp = true
      return
    }
    var file = try defaultOptions(command)
    for one in given where one.option.key == .optionsFile { file += try optionsFile(one.words[0]) }
    do throws(ExitError) {
      var inFile: [GivenOption] = []
      for line in file { inFile += try read(line, isInFile: true) }
      if let wrong = inFile.first(where: { $0.option.key == .optionsFile || $0.option.key == .help }) {
        throw usageError("\(wrong.option.name) is not allowed there")
      }
      try apply(inFile)
    } catch {
      throw usageError("in an options file: \(error.text)")
    }
    // An option that may be given only once replaces the file's.
    func isGiven(_ key: Key) -> Bool { given.contains { $0.option.key == key } }
    if [.message, .file, .lines, .nothing, .whole].contains(where: { isGiven($0) }) { source = nil }
    if isGiven(.url) || isGiven(.unix) { (host, port, webSocketPath) = ([], 0, []) }
    if isGiven(.unix) { bind = [] }
    if isGiven(.url) || isGiven(.host) { unix = [] }
    if isGiven(.unix) || isGiven(.host) { url = [] }
    try apply(given)
    if !wantsVersion { try checkTogether() }
  }

  /// An option, and the following words that are its value.
  private struct GivenOption {
    let option: Option
    var words: [[UInt8]] = []
  }

  private func apply(_ given: [GivenOption]) throws(ExitError) {
    for one in given {
      if one.option.key == .property {
        try properties.add(one.words)
        hasProperties = true
        version = 5
      } else {
        try apply(one.option, one.words.first ?? [])
      }
    }
  }

  /// Parses words, up to --help.
  private func read(_ words: ArraySlice<[UInt8]>, isInFile: Bool = false) throws(ExitError) -> [GivenOption] {
    var given: [GivenOption] = []
    var words = words
    while var word = words.popFirst() {
      // --name=value
      var attached: [UInt8]?
      if word.begins(with: "--"), let equals = word.firstIndex(of: 61) {
        attached = Array(word[(equals + 1)...])
        word = Array(word[..<equals])
      }
      guard let option = options.first(where: { $0.commands & command.set != 0 && $0.isCalled(word) }) else {
        guard !word.begins(with: "-"), let operand else {
          // The word may be a password, or part of one.
          let isSecret = !word.begins(with: "-") && (isInFile || given.last?.option.key == .password)
          throw isSecret ? usageError("a word is neither an option nor the value of one") : unknown(word)
        }
        if operand.key != .operand, given.contains(where: { $0.option.key == operand.key }) {
          throw usageError("\"\(word.printable)\" is unexpected: there is a \(operand.value) already")
        }
        given.append(GivenOption(option: operand, words: [word]))
        continue
      }
      if option.key == .property {
        given.append(GivenOption(option: option, words: try propertyWords(&words)))
      } else if option.takesValue {
        guard let value = attached ?? words.popFirst() else {
          throw usageError("\(option.name) needs a value: \(option.value)")
        }
        given.append(GivenOption(option: option, words: [value]))
      } else if attached != nil {
        throw usageError("\(option.name) takes no value")
      } else {
        given.append(GivenOption(option: option))
      }
      if option.key == .help { break }
    }
    return given
  }

  /// What a word that is no option is, if the command takes one.
  private var operand: Option? {
    switch command.set {
    case Commands.bench, Commands.check: options.first { $0.key == .url }
    case Commands.journal: Option(.journalFile, "", "FILE", "FILE", Commands.journal, "")
    case Commands.inspect, Commands.top: Option(.operand, "", "SOCKET", "SOCKET", Commands.viewing, "")
    case Commands.replay: Option(.operand, "", "FILE", "FILE", Commands.replay, "")
    case Commands.stats: Option(.operand, "", "SOCKET", "SOCKET", Commands.stats, "")
    default: nil
    }
  }

  private func propertyWords(_ words: inout ArraySlice<[UInt8]>) throws(ExitError) -> [[UInt8]] {
    var taken: [[UInt8]] = []
    var wanted = 3
    while taken.count < wanted {
      guard let word = words.popFirst() else { throw usageError("-D needs a packet, a name and a value") }
      taken.append(word)
      if taken.count == 2 && isPair(word) { wanted = 4 }
    }
    return taken
  }

  private func unknown(_ word: [UInt8]) -> ExitError {
    if options.contains(where: { $0.isCalled(word) }) {
      return usageError("\(word.printable) is not an option of \(command.title)")
    }
    if let option = options.first(where: { $0.key == .password }),
      word.begins(with: option.short) || word.begins(with: option.long)
    {
      return usageError("\(option.name) and its value are two words")
    }
    // The rest may be a secret: part of a URL, or of an option that is written as in another program.
    let isShort = word.begins(with: "-") && !word.begins(with: "--")
    let name = word.prefix(isShort ? 2 : word.count).prefix { !ascii("=:@/").contains($0) }
    let points: StaticString = name.count < word.count ? "..." : ""
    let isOption = word.begins(with: "-") || command.set & Commands.online == 0
    let hint: StaticString = isOption ? "" : ": -L or -h names the broker"
    return usageError("unknown option \"\(Array(name).printable)\(points)\"\(hint)")
  }

  /// Checks that need more than one option.
  private func checkTogether() throws(ExitError) {
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
    if command.set == Commands.journal && journalFile.isEmpty {
      throw usageError("a journal is required: smq journal FILE")
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
    try checkPlaces()
    try tls.check()
  }
}
