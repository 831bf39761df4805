/// A mistake in the command line.
func usageError(_ text: Text) -> ExitError { ExitError(text: text, isUsage: true) }

/// What the command line, and an options file before it, ask for, as far as each program has it. A program's `Arguments`
/// adds its own, and may override what is here.
class CommonArguments {
  final let command: Command
  final var url: [UInt8] = []
  final var host: [UInt8] = []
  final var port: UInt32 = 0
  final var unix: [UInt8] = []
  final var bind: [UInt8] = []
  final var interface: [UInt8] = []
  final var dscp: UInt32 = 0
  final var tcpKeepAlive: UInt32 = 0
  final var proxy: [UInt8] = []
  final var webSocketPath: [UInt8] = []
  final var webSocketHeaders: [UInt8] = []
  final var webSocketProtocol: [UInt8] = []
  final var tls = TLSArguments()
  /// The settings that `tls` asks for, once they are open.
  final var tlsSettings: TLSSettings?
  final var user: [UInt8]?
  final var password: [UInt8]?
  final var source: Source?
  final var times: Int64?
  final var delay: Int64 = 0  // milliseconds
  final var count: Int64?
  final var timeout: Int64?  // seconds
  final var format: [Format.Piece]?
  final var newline = true
  final var pretty = false
  /// The clients of a bench.
  final var publishers: Int64 = 1
  final var subscribers: Int64 = 1
  final var size: Int64 = 64
  final var rate: Int64 = 0
  final var seconds: Int64 = 10_000  // milliseconds
  final var messages: Int64?
  final var progress = false
  final var json = false
  /// The words that are no options: sockets, or a file.
  final var operands: [[UInt8]] = []
  final var prometheus = false
  final var once = false
  final var shownPackets: PacketFilter?
  /// The journal of a sender, and the one that the command journal reads.
  final var journal: [UInt8] = []
  final var journalFile: [UInt8] = []
  final var onlyCheck = false
  final var debug = false
  final var quiet = false
  final var wantsHelp = false
  final var wantsVersion = false

  /// Where the message comes from.
  enum Source {
    case text([UInt8]), file([UInt8]), lines, nothing, whole
  }

  /// An option, and the following words that are its value.
  struct GivenOption {
    let option: Option
    var words: [[UInt8]] = []
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
    for line in file {
      do throws(ExitError) {
        for one in try read(line.words[...], isInFile: true) {
          if [.optionsFile, .help].contains(one.option.key) {
            throw usageError("\(one.option.name) is not allowed there")
          }
          try apply(one)
        }
      } catch {
        throw usageError("\(line.place): \(error.text)")
      }
    }
    // An option that may be given only once replaces the file's.
    func isGiven(_ key: Key) -> Bool { given.contains { $0.option.key == key } }
    if [.message, .file, .lines, .nothing, .whole].contains(where: { isGiven($0) }) { source = nil }
    if isGiven(.url) || isGiven(.unix) { (host, port, webSocketPath) = ([], 0, []) }
    if isGiven(.unix) { bind = [] }
    if isGiven(.url) || isGiven(.host) { unix = [] }
    if isGiven(.unix) || isGiven(.host) { url = [] }
    for one in given { try apply(one) }
    if !wantsVersion { try checkTogether() }
  }

  // ---- What a program may have otherwise

  /// Applies one option.
  func apply(_ given: GivenOption) throws(ExitError) { try applyCommon(given) }

  /// What a word that is no option is, if the command takes one.
  var operand: Option? { nil }

  /// Takes the words of an option that are not one value; `nil`: it has one, or none.
  func words(of option: Option, _ words: inout ArraySlice<[UInt8]>) throws(ExitError) -> [[UInt8]]? { nil }

  /// Checks that need more than one option.
  func checkTogether() throws(ExitError) {
    if command.set == Commands.journal && journalFile.isEmpty {
      throw usageError("a journal is required: \(Program.name) journal FILE")
    }
    try checkPlaces()
    try tls.check()
  }

  /// What is left to be written when the command has ended, whether or not it succeeded; and when it succeeded.
  func flush() {}
  func finish() throws(ExitError) {}

  // ---- Words

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
      if let taken = try self.words(of: option, &words) {
        given.append(GivenOption(option: option, words: taken))
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

  // ---- Values

  /// Applies an option that each program has.
  final func applyCommon(_ given: GivenOption) throws(ExitError) {
    let option = given.option
    let value = given.words.first ?? []
    switch option.key {
    case .host: host = try some(option, value)
    case .port: port = UInt32(try number(option, value, 1...65_535))
    case .url: url = try some(option, value)
    case .unix: unix = try some(option, value)
    case .bind: bind = try some(option, value)
    case .user: user = value
    case .password: password = value
    case .message: try set(option, .text(value))
    case .file: try set(option, .file(value))
    case .lines: try set(option, .lines)
    case .nothing: try set(option, .nothing)
    case .whole: try set(option, .whole)
    case .times: times = try number(option, value, 1...Self.most)
    case .delay: delay = try milliseconds(option, value)
    case .count: count = try number(option, value, 1...Self.most)
    case .timeout: timeout = try number(option, value, 1...Self.most)
    case .format: format = try Format.parse(value)
    case .noNewline: newline = false
    case .pretty: pretty = true
    case .size: size = try number(option, value, 16...1_048_576)
    case .rate: rate = try number(option, value, 1...Self.most)
    case .seconds:
      seconds = try milliseconds(option, value)
      if seconds == 0 { throw usageError("\(option.name) needs a number of seconds above 0") }
    case .messages: messages = try number(option, value, 1...Self.most)
    case .progress: progress = true
    case .json: json = true
    case .operand: operands.append(try some(option, value))
    case .prometheus: prometheus = true
    case .once: once = true
    case .journal: journal = try some(option, value)
    case .journalFile: journalFile = try some(option, value)
    case .onlyCheck: onlyCheck = true
    case .optionsFile, .help: break  // was seen to before
    case .debug: debug = true
    case .quiet: quiet = true
    case .programVersion: wantsVersion = true
    case .proxy: proxy = try some(option, value)
    case .interface: interface = try some(option, value)
    case .dscp: dscp = UInt32(try number(option, value, 1...63))
    case .tcpKeepAlive: tcpKeepAlive = UInt32(try number(option, value, 1...32_767))
    case .webSocketPath:
      webSocketPath = try some(option, value)
      if webSocketPath.first != 47 { throw usageError("\(option.name) has to begin with a slash") }
    case .webSocketHeader:
      // Section 5 of RFC 9112: a name, a colon, and no line end.
      guard let colon = value.firstIndex(of: 58), colon > 0, !value.contains(where: { $0 < 32 && $0 != 9 })
      else {
        throw usageError("\(option.name) needs 'Name: value'")
      }
      let name = Array(value[..<colon]).lowercased
      if name == "host" || name == "upgrade" || name == "connection" || name.begins(with: "sec-websocket-") {
        throw usageError("\(option.name): the library writes \(Array(value[..<colon]).printable) itself")
      }
      webSocketHeaders += value + [13, 10]
    case .webSocketProtocol: webSocketProtocol = try some(option, value)
    default: try tls.apply(option, value)
    }
  }

  static var most: Int64 { 0x7FFF_FFFF }

  final func number(_ option: Option, _ value: [UInt8], _ range: ClosedRange<Int64>) throws(ExitError)
    -> Int64
  {
    guard let number = value.number(in: range) else {
      let wanted: Text = "\(option.name) needs a number from \(range.lowerBound) to \(range.upperBound)"
      // Other programs use -p for the password.
      let isSecret = option.key == .port && value.contains { !(48...57).contains($0) }
      throw usageError(isSecret ? wanted : "\(wanted), not \"\(value.printable)\"")
    }
    return number
  }

  final func milliseconds(_ option: Option, _ value: [UInt8]) throws(ExitError) -> Int64 {
    guard let time = System.decimal(value, scale: 1000), (0...86_400_000_000).contains(time) else {
      throw usageError("\(option.name) needs a number of seconds, not \"\(value.printable)\"")
    }
    return time
  }

  final func some(_ option: Option, _ value: [UInt8]) throws(ExitError) -> [UInt8] {
    if value.isEmpty { throw usageError("\(option.name) must not be empty: its value is \(option.value)") }
    return value
  }

  private func set(_ option: Option, _ new: Source) throws(ExitError) {
    if source != nil { throw usageError("\(option.name): only one of -f, -l, -m, -n and -s can be used") }
    source = new
  }
}
