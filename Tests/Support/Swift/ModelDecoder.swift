public import MQTTWire

/// What the library reads though the specification does not have it, on purpose. FuzzTests has examples.
public enum Tolerance: CaseIterable, Sendable {
  /// CONNACK and DISCONNECT of 5.0 with a code of 0x80 and above that is not in their tables: still a failure
  /// (§2.4).
  case unknownFailure
  /// CONNACK of 5.0 that refuses in the two bytes of 3.1.1: from a server that does not speak 5.0, or that
  /// leaves the Property Length out.
  case shortRefusal
  /// SUBACK of 3.1 with the Failure of 3.1.1, which servers that speak both send.
  case failureIn31
}

/// From bytes to model, by the specification alone: strict, and made to be read beside it.
extension Model.Packet {
  /// The packet that begins at `start`, and how many bytes it has. `nil`: it is not all there.
  public static func decode(
    _ bytes: [UInt8], at start: Int = 0, _ version: ProtocolVersion, from sender: Sender,
    tolerating: Set<Tolerance> = []
  ) throws(BrokenRule) -> (packet: Model.Packet, size: Int)? {
    guard start < bytes.count else { return nil }
    let first = bytes[start]
    guard let type = ControlPacketType(rawValue: first / 16), type != .auth || version == .v5_0 else {
      throw BrokenRule("Table 2-1: reserved, forbidden")
    }
    let flags = first % 16
    let required: UInt8 = [.pubrel, .subscribe, .unsubscribe].contains(type) ? 2 : 0
    // 3.1 §3.2 to §3.14: a server does not use DUP, QoS and RETAIN. (From a client they are to be those of
    // 3.1.1.)
    let isUsed = version != .v3_1 || sender == .client
    guard type == .publish || flags == required || !isUsed else { throw BrokenRule("[MQTT-2.1.3-1]") }

    guard let (length, lengthSize) = try remainingLength(bytes, at: start + 1, version) else { return nil }
    let size = 1 + lengthSize + length
    guard size <= bytes.count - start else { return nil }
    let kind = Kind(type: type, version: version, sender: sender)
    guard Kind.known.contains(kind) else { throw BrokenRule("Table 2-1: Direction of Flow") }

    var reader = ModelReader(bytes, start + 1 + lengthSize..<start + size)
    let packet = try reader.packet(kind, flags: flags, tolerating)
    guard reader.isAtEnd else { throw BrokenRule("§2.1.4: Remaining Length") }
    return (packet, size)
  }

  /// §2.1.4; its value and its size.
  private static func remainingLength(
    _ bytes: [UInt8], at start: Int, _ version: ProtocolVersion
  ) throws(BrokenRule) -> (Int, Int)? {
    var value = 0
    var multiplier = 1
    for size in 1...4 {
      guard start + size <= bytes.count else { return nil }
      let byte = bytes[start + size - 1]
      value += Int(byte % 128) * multiplier
      multiplier *= 128
      if byte < 128 {
        guard version != .v5_0 || size == 1 || byte != 0 else { throw BrokenRule("[MQTT-1.5.5-1]") }
        return (value, size)
      }
    }
    throw BrokenRule("§2.1.4: four bytes at most")
  }
}

extension Kind {
  fileprivate static let known = Set(all)
}

extension ModelReader {
  fileprivate mutating func packet(
    _ kind: Kind, flags: UInt8, _ tolerating: Set<Tolerance>
  ) throws(BrokenRule) -> Model.Packet {
    let has5 = kind.version == .v5_0
    switch kind.type {
    case .connect: return .connect(try connect(kind.version))
    case .connack: return try connack(kind, tolerating)
    case .publish: return .publish(try publish(kind, flags: flags))
    case .puback, .pubrec, .pubrel, .pubcomp:
      let identifier = try packetIdentifier()
      let (code, properties) = try ending(kind)
      return .acknowledgement(kind.type, identifier: identifier, code: code, properties: properties)
    case .subscribe:
      return .subscribe(
        identifier: try packetIdentifier(), properties: has5 ? try properties(kind.place) : [],
        subscriptions: try subscriptions(kind.version))
    case .unsubscribe:
      return .unsubscribe(
        identifier: try packetIdentifier(), properties: has5 ? try properties(kind.place) : [],
        filters: try filters())
    case .suback, .unsuback:
      let identifier = try packetIdentifier()
      let properties = has5 ? try properties(kind.place) : []
      // UNSUBACK has no payload before 5.0 (3.1.1 §3.11.3).
      let codes = kind.type == .unsuback && !has5 ? [] : rest()
      guard codes.isEmpty == (kind.type == .unsuback && !has5) else {
        throw BrokenRule("§3.9.3, §3.11.3")
      }
      for code in codes {
        let isTolerated = code == 0x80 && kind.version == .v3_1 && tolerating.contains(.failureIn31)
        guard kind.codes.contains(code) || isTolerated else { throw BrokenRule("[MQTT-3.9.3-2]") }
      }
      return .answer(kind.type, identifier: identifier, properties: properties, codes: codes)
    case .pingreq, .pingresp: return .ping(kind.type)
    case .disconnect:
      let (code, properties) = try ending(kind, tolerating)
      return .disconnect(code: code, properties: properties)
    case .auth: return try auth(kind)
    }
  }

  // MARK: One packet each

  private mutating func connack(
    _ kind: Kind, _ tolerating: Set<Tolerance>
  ) throws(BrokenRule) -> Model.Packet {
    let isShort = end - position == 2
    var flags = try byte()
    if kind.version == .v3_1 { flags = 0 }  // reserved, not used
    guard flags <= 1 else { throw BrokenRule("[MQTT-3.2.2-1]") }
    var code = try byte()
    if kind.version == .v5_0 && isShort && code != 0 && tolerating.contains(.shortRefusal) {
      let translations: [UInt8] = [0x00, 0x84, 0x85, 0x88, 0x86, 0x87]
      if code <= 5 { code = translations[Int(code)] }
      guard code >= 0x80, flags == 0 else { throw BrokenRule("[MQTT-3.2.2-6]") }
      return .connack(sessionPresent: false, code: code, properties: [])
    }
    try check(code, kind, tolerating)
    guard flags == 0 || code == 0 else { throw BrokenRule("[MQTT-3.2.2-6]") }
    let properties = kind.version == .v5_0 ? try properties(kind.place) : []
    return .connack(sessionPresent: flags == 1, code: code, properties: properties)
  }

  private mutating func publish(_ kind: Kind, flags: UInt8) throws(BrokenRule) -> Model.Publish {
    let qos = flags / 2 % 4
    guard qos < 3 else { throw BrokenRule("[MQTT-3.3.1-4]") }
    guard flags < 8 || qos > 0 else { throw BrokenRule("[MQTT-3.3.1-2]") }
    let topic = try string()
    let identifier = qos > 0 ? try packetIdentifier() : nil
    let properties = kind.version == .v5_0 ? try properties(kind.place) : []
    let hasAlias = properties.contains { $0.identifier == 0x23 }
    if !(topic.isEmpty && hasAlias) { try checkTopicName(topic) }
    return Model.Publish(
      duplicate: flags >= 8, qos: qos, retain: flags % 2 == 1, topic: topic, identifier: identifier,
      properties: properties, payload: rest())
  }

  private mutating func auth(_ kind: Kind) throws(BrokenRule) -> Model.Packet {
    if isAtEnd && kind.sender == .server { return .auth(code: 0, properties: []) }
    let code = try byte()
    try check(code, kind)
    let properties = try properties(kind.place)
    guard properties.contains(where: { $0.identifier == 0x15 }) else {
      throw BrokenRule("§3.15.2.2.2")
    }
    return .auth(code: code, properties: properties)
  }

  private mutating func connect(_ version: ProtocolVersion) throws(BrokenRule) -> Model.Connect {
    let name = try string()
    let level = try byte()
    let expected: (String, UInt8) =
      switch version {
      case .v3_1: ("MQIsdp", 3)
      case .v3_1_1: ("MQTT", 4)
      case .v5_0: ("MQTT", 5)
      }
    guard name == expected.0.bytes, level == expected.1 else { throw BrokenRule("§3.1.2.1, §3.1.2.2") }
    let flags = try byte()
    func has(_ bit: UInt8) -> Bool { flags & bit != 0 }
    guard !has(1) else { throw BrokenRule("[MQTT-3.1.2-3]: reserved") }
    let willQoS = flags / 8 % 4
    guard willQoS < 3, has(4) || (willQoS == 0 && !has(32)) else {
      throw BrokenRule("[MQTT-3.1.2-11] [MQTT-3.1.2-12] [MQTT-3.1.2-13]: the Will's flags")
    }
    guard version == .v5_0 || has(128) || !has(64) else {
      throw BrokenRule("3.1.1 [MQTT-3.1.2-22]: a Password without a User Name")
    }
    let keepAlive = try twoByteInteger()
    let place = Place(packet: .connect, sender: .client)
    let properties = version == .v5_0 ? try properties(place) : []
    let identifiers = properties.map(\.identifier)
    guard identifiers.contains(0x15) || !identifiers.contains(0x16) else {
      throw BrokenRule("§3.1.2.11.10")
    }
    let clientIdentifier = try string()
    switch version {
    case .v3_1:
      let characters = String(decoding: clientIdentifier, as: UTF8.self).unicodeScalars.count
      guard 1...23 ~= characters else { throw BrokenRule("3.1 §3.1: 1 to 23 characters") }
    case .v3_1_1:
      guard !clientIdentifier.isEmpty || has(2) else { throw BrokenRule("3.1.1 [MQTT-3.1.3-7]") }
    case .v5_0: break
    }
    var will: Model.Will?
    if has(4) {
      let properties = version == .v5_0 ? try self.properties(Place(packet: nil, sender: .client)) : []
      let topic = try string()
      try checkTopicName(topic)
      will = Model.Will(
        qos: willQoS, retain: has(32), properties: properties, topic: topic, payload: try binaryData())
    }
    return Model.Connect(
      cleanStart: has(2), keepAlive: keepAlive, properties: properties, clientIdentifier: clientIdentifier,
      will: will, userName: has(128) ? try string() : nil, password: has(64) ? try binaryData() : nil)
  }

  /// §3.8.3: at least one [MQTT-3.8.3-2].
  private mutating func subscriptions(_ version: ProtocolVersion) throws(BrokenRule) -> [Model
    .Subscription]
  {
    var list: [Model.Subscription] = []
    repeat {
      let filter = try string()
      let options = try byte()
      guard !filter.isEmpty else { throw BrokenRule("[MQTT-4.7.3-1]") }
      guard options % 4 < 3 else { throw BrokenRule("§3.8.3.1: Maximum QoS 3") }
      guard version == .v5_0 || options < 4 else { throw BrokenRule("3.1.1 [MQTT-3.8.3-4]: reserved") }
      guard options < 0x30 else {
        throw BrokenRule("§3.8.3.1: Retain Handling 3, [MQTT-3.8.3-5]")
      }
      let isShared = filter.starts(with: "$share/".bytes)
      guard options & 4 == 0 || !isShared else { throw BrokenRule("[MQTT-3.8.3-4]: No Local") }
      list.append(
        Model.Subscription(
          filter: filter, qos: options % 4, noLocal: options & 4 != 0, retainAsPublished: options & 8 != 0,
          retainHandling: options / 16))
    } while !isAtEnd
    return list
  }

  /// §3.10.3: at least one [MQTT-3.10.3-2].
  private mutating func filters() throws(BrokenRule) -> [[UInt8]] {
    var list: [[UInt8]] = []
    repeat {
      let filter = try string()
      guard !filter.isEmpty else { throw BrokenRule("[MQTT-4.7.3-1]") }
      list.append(filter)
    } while !isAtEnd
    return list
  }

  // MARK: What several have

  /// A Reason Code and properties, which may be left out: §3.4.2.1, §3.4.2.2.1, §3.14.2.1, §3.14.2.2.1.
  private mutating func ending(
    _ kind: Kind, _ tolerating: Set<Tolerance> = []
  ) throws(BrokenRule) -> (UInt8, [Model.Property]) {
    guard kind.version == .v5_0, !isAtEnd else { return (0, []) }
    let code = try byte()
    try check(code, kind, tolerating)
    return (code, isAtEnd ? [] : try properties(kind.place))
  }

  private func check(
    _ code: UInt8, _ kind: Kind, _ tolerating: Set<Tolerance> = []
  ) throws(BrokenRule) {
    let isTolerated = code >= 0x80 && kind.version == .v5_0 && tolerating.contains(.unknownFailure)
    guard kind.codes.contains(code) || isTolerated && [.connack, .disconnect].contains(kind.type) else {
      throw BrokenRule("§2.4: Reason Code")
    }
  }
}
