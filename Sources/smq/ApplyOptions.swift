import CSwiftMQTT

extension Arguments {
  /// Applies one option.
  func apply(_ option: Option, _ value: [UInt8]) throws(ExitError) {
    func number(_ range: ClosedRange<Int64>) throws(ExitError) -> Int64 {
      guard let number = value.number(in: range) else {
        let wanted: Text = "\(option.name) needs a number from \(range.lowerBound) to \(range.upperBound)"
        // Other programs use -p for the password.
        let isSecret = option.key == .port && value.contains { !(48...57).contains($0) }
        throw usageError(isSecret ? wanted : "\(wanted), not \"\(value.printable)\"")
      }
      return number
    }
    func milliseconds() throws(ExitError) -> Int64 {
      guard let time = System.decimal(value, scale: 1000), (0...86_400_000_000).contains(time) else {
        throw usageError("\(option.name) needs a number of seconds, not \"\(value.printable)\"")
      }
      return time
    }
    func some() throws(ExitError) -> [UInt8] {
      if value.isEmpty { throw usageError("\(option.name) must not be empty: its value is \(option.value)") }
      return value
    }
    func topic(_ name: [UInt8]) throws(ExitError) -> [UInt8] {
      try checked(name, MQTT.checkTopic(name), "topic: it is empty, too long, or has '+' or '#'")
    }
    func filter(_ name: [UInt8]) throws(ExitError) -> [UInt8] {
      let hint: StaticString =
        name.begins(with: "$share/")
        ? "Topic Filter: a Shared Subscription is $share/NAME/FILTER"
        : "Topic Filter: it is empty, too long, or has a misplaced '+' or '#'"
      return try checked(name, MQTT.checkFilter(name), hint)
    }
    func checked(_ name: [UInt8], _ status: Int, _ what: StaticString) throws(ExitError) -> [UInt8] {
      if status == SMQ_OK { return name }
      let name: Text = "\(option.name): \"\(name.printable)\""
      throw usageError(status == SMQ_ERR_UTF8 ? "\(name) is not UTF-8" : "\(name) is not a \(what)")
    }
    // A publisher has one topic, the last one given; a subscriber has all of them.
    func addTopic(_ name: [UInt8]) throws(ExitError) {
      if command.set & (Commands.sub | Commands.console | Commands.viewing) != 0 {
        topics.append(try filter(name))
      } else {
        topics = [try topic(name)]
      }
    }
    func quality() throws(ExitError) -> UInt8 {
      guard let qos = value.number(in: 0...2) else {
        throw usageError("\(option.name): QoS is 0, 1 or 2, not \"\(value.printable)\"")
      }
      return UInt8(qos)
    }
    func set(_ new: Source) throws(ExitError) {
      if source != nil { throw usageError("\(option.name): only one of -f, -l, -m, -n and -s can be used") }
      source = new
    }
    let most: Int64 = 0x7FFF_FFFF

    switch option.key {
    case .host: host = try some()
    case .port: port = UInt32(try number(1...65_535))
    case .url:
      url = try some()
      if command.set & (Commands.mosquitto | Commands.viewing) != 0, let name = BrokerURL(value).topic,
        !name.isEmpty
      {
        try addTopic(name)
      }
    case .unix: unix = try some()
    case .bind: bind = try some()
    case .user: user = value
    case .password: password = value
    case .id: id = try some()
    case .prefix: prefix = value
    case .keepAlive: keepAlive = UInt32(try number(5...65_535))
    case .version:
      guard let known = protocolVersion(value) else {
        throw usageError("\(option.name) needs mqttv5, mqttv311 or mqttv31, not \"\(value.printable)\"")
      }
      version = known
    case .persistent: isPersistent = true
    case .expiry:
      expiry = value == "-1" || value == "∞" ? MQTT.forever : UInt32(try number(0...0xFFFF_FFFF))
    case .nodelay: break
    case .qos: qos = try quality()
    case .topic: try addTopic(value)
    case .responseTopic: responseTopic = try topic(value)
    case .message: try set(.text(value))
    case .file: try set(.file(value))
    case .lines: try set(.lines)
    case .nothing: try set(.nothing)
    case .whole: try set(.whole)
    case .retain: retain = true
    case .times: times = try number(1...most)
    case .delay: delay = try milliseconds()
    case .inFlight: inFlight = UInt32(min(try number(1...most), 65_535))
    case .journal: journal = try some()
    case .capture: capture = try some()
    case .captureSize: captureSize = try number(4096...most)
    case .property: break  // its words were taken by parse()
    case .willTopic: willTopic = try topic(value)
    case .willPayload: willPayload = value
    case .willQoS: willQoS = try quality()
    case .willRetain: willRetain = true
    case .unsubscribe: unsubscribed.append(try filter(value))
    case .filterOut: filteredOut.append(try filter(value))
    case .noRetained: noRetained = true
    case .retainedOnly: retainedOnly = true
    case .removeRetained: removeRetained = true
    case .asPublished: asPublished = true
    case .randomly:
      guard let percent = System.decimal(value, scale: 100), (10...10_000).contains(percent) else {
        throw usageError("\(option.name) needs a percentage from 0.1 to 100, not \"\(value.printable)\"")
      }
      oneIn = percent
    case .count: count = try number(1...most)
    case .untilSubscribed: untilSubscribed = true
    case .timeout: timeout = try number(1...most)
    case .verbose: verbose = true
    case .format: format = try Format.parse(value)
    case .noNewline: newline = false
    case .pretty: pretty = true
    case .decode: decodes = true
    case .publishers: publishers = try number(0...65_535)
    case .subscribers: subscribers = try number(0...65_535)
    case .size: size = try number(16...1_048_576)
    case .rate: rate = try number(1...most)
    case .seconds:
      seconds = try milliseconds()
      if seconds == 0 { throw usageError("\(option.name) needs a number of seconds above 0") }
    case .messages: messages = try number(1...most)
    case .progress: progress = true
    case .json: json = true
    case .onlyCheck: onlyCheck = true
    case .journalFile: journalFile = try some()
    case .operand: operands.append(try some())
    case .prometheus: prometheus = true
    case .asServer: isServer = true
    case .speed:
      guard let factor = System.decimal(value, scale: 1000), (0...1_000_000_000).contains(factor) else {
        throw usageError("\(option.name) needs a number from 0 to 1000000, not \"\(value.printable)\"")
      }
      speed = factor
    case .inspectionSocket: inspectionSocket = try some()
    case .once: once = true
    case .filter:
      guard let wanted = PacketFilter(value) else {
        throw usageError(
          "\(option.name): \"\(value.printable)\" is not names of packets, Topic Filters, 'sent' or 'received'; the topic ABC is written as ABC/#"
        )
      }
      shownPackets = wanted
    case .interval:
      interval = try milliseconds()
      if interval < 100 { throw usageError("\(option.name) needs a number of seconds from 0.1 on") }
    case .optionsFile, .help: break  // was seen to before
    case .debug: debug = true
    case .quiet: quiet = true
    case .programVersion: wantsVersion = true
    case .proxy: proxy = try some()
    case .interface: interface = try some()
    case .dscp: dscp = UInt32(try number(1...63))
    case .tcpKeepAlive: tcpKeepAlive = UInt32(try number(1...32_767))
    case .webSocketPath:
      webSocketPath = try some()
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
    case .webSocketProtocol: webSocketProtocol = try some()
    case .caFile, .caDirectory, .systemCAs, .certificate, .privateKey, .keyForm, .engine, .ciphers,
      .tlsVersion,
      .alpn, .tlsName, .insecure, .psk, .pskIdentity, .pin, .crl:
      try tls.apply(option, value)
    case .enginePassword:
      throw unsupported(
        option, "the engines of today take a PIN in the key's URI: --key 'pkcs11:...?pin-value=...'")
    case .unsupportedSRV:
      throw unsupported(option, "libswiftmqtt looks up no SRV records: give host and port")
    }
  }

  private func unsupported(_ option: Option, _ reason: Text) -> ExitError {
    ExitError(text: "\(option.name) cannot be used: \(reason)")
  }
}

/// SMQ_PROTOCOL_…; nil if the name is unknown.
private func protocolVersion(_ text: [UInt8]) -> UInt32? {
  switch text {
  case let text where text == "5" || text == "mqttv5": 5
  case let text where text == "311" || text == "mqttv311": 4
  case let text where text == "31" || text == "mqttv31": 3
  default: nil
  }
}
