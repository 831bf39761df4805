import CSwiftMQTT

extension Arguments {
  /// Applies one option.
  func applyOwn(_ given: GivenOption) throws(ExitError) {
    let option = given.option
    let value = given.words.first ?? []
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
    switch option.key {
    case .url:
      try applyCommon(given)
      if command.set & (Commands.mosquitto | Commands.viewing) != 0, let name = BrokerURL(value).topic,
        !name.isEmpty
      {
        try addTopic(name)
      }
    case .id: id = try some(option, value)
    case .prefix: prefix = value
    case .keepAlive: keepAlive = UInt32(try number(option, value, 5...65_535))
    case .version:
      guard let known = protocolVersion(value) else {
        throw usageError("\(option.name) needs mqttv5, mqttv311 or mqttv31, not \"\(value.printable)\"")
      }
      version = known
    case .persistent: isPersistent = true
    case .expiry:
      expiry =
        value == "-1" || value == "∞" ? MQTT.forever : UInt32(try number(option, value, 0...0xFFFF_FFFF))
    case .nodelay: break
    case .qos: qos = try quality()
    case .topic: try addTopic(value)
    case .responseTopic: responseTopic = try topic(value)
    case .retain: retain = true
    case .inFlight: inFlight = UInt32(min(try number(option, value, 1...Self.most), 65_535))
    case .capture: capture = try some(option, value)
    case .captureSize: captureSize = try number(option, value, 4096...Self.most)
    case .property:
      try properties.add(given.words)
      hasProperties = true
      version = 5
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
    case .untilSubscribed: untilSubscribed = true
    case .verbose: verbose = true
    case .decode: decodes = true
    case .publishers: publishers = try number(option, value, 0...65_535)
    case .subscribers: subscribers = try number(option, value, 0...65_535)
    case .asServer: isServer = true
    case .speed:
      guard let factor = System.decimal(value, scale: 1000), (0...1_000_000_000).contains(factor) else {
        throw usageError("\(option.name) needs a number from 0 to 1000000, not \"\(value.printable)\"")
      }
      speed = factor
    case .inspectionSocket: inspectionSocket = try some(option, value)
    case .filter:
      guard let wanted = PacketFilter(value) else {
        throw usageError(
          "\(option.name): \"\(value.printable)\" is not names of packets, Topic Filters, 'sent' or 'received'; the topic ABC is written as ABC/#"
        )
      }
      shownPackets = wanted
    case .interval:
      interval = try milliseconds(option, value)
      if interval < 100 { throw usageError("\(option.name) needs a number of seconds from 0.1 on") }
    case .enginePassword:
      throw unsupported(
        option, "the engines of today take a PIN in the key's URI: --key 'pkcs11:...?pin-value=...'")
    case .unsupportedSRV:
      throw unsupported(option, "libswiftmqtt looks up no SRV records: give host and port")
    default: try applyCommon(given)
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
