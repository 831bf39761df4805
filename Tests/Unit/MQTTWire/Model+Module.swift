import MQTTWire
import Storage
import TestSupport

/// What this module says of one packet in two places, and not the same.
struct Contradiction: Error {
  let field: String

  init(_ field: String) { self.field = field }
}

// MARK: What this module reads

extension Model.Packet {
  /// The packet that `bytes` begin with, as this module reads it: every extent, every property. `nil`: it is
  /// not all there. Throws `Malformed`, or `Contradiction`.
  static func parse(_ bytes: [UInt8], _ version: ProtocolVersion) throws -> Model.Packet? {
    guard let header = try FixedHeader(parsing: bytes.span, version: version),
      header.packetSize <= bytes.count
    else { return nil }
    let body = Array(bytes[header.size..<header.packetSize])
    let received = try Received(
      parsing: body.span, type: header.type, flags: header.flags, version: version)
    guard received.staysWithin(body.count) else { throw Contradiction("extents") }
    return try Self(received, header.type, body)
  }

  private init(_ received: Received, _ type: ControlPacketType, _ body: [UInt8]) throws {
    func read(_ extent: ByteRange) throws -> Properties { try Properties(body[extent], of: type) }
    switch received {
    case .connack(let connack):
      let properties = try read(connack.properties)
      try connack.agrees(with: properties, body)
      self = .connack(
        sessionPresent: connack.sessionPresent, code: connack.reasonCode, properties: properties.list)
    case .publish(let publish):
      let properties = try read(publish.properties)
      try expect("topicAlias", UInt32(publish.topicAlias), properties[number: 0x23] ?? 0)
      self = .publish(
        Model.Publish(
          duplicate: publish.duplicate, qos: publish.qos.rawValue, retain: publish.retain,
          topic: body[publish.topic], identifier: publish.identifier?.rawValue, properties: properties.list,
          payload: body[publish.payload]))
    case .acknowledgement(let acknowledgement):
      let properties = try read(acknowledgement.properties)
      try expect("reasonString", body[acknowledgement.reasonString], properties[bytes: 0x1F])
      try expect("isRefusal", acknowledgement.isRefusal, acknowledgement.reasonCode >= 0x80)
      self = .acknowledgement(
        acknowledgement.type, identifier: acknowledgement.identifier.rawValue,
        code: acknowledgement.reasonCode, properties: properties.list)
    case .subscriptionAnswer(let answer):
      let properties = try read(answer.properties)
      try expect("reasonString", body[answer.reasonString], properties[bytes: 0x1F])
      self = .answer(
        answer.type, identifier: answer.identifier.rawValue, properties: properties.list,
        codes: body[answer.reasonCodes])
    case .pingresp: self = .ping(.pingresp)
    case .disconnect(let disconnect):
      let properties = try read(disconnect.properties)
      try expect("reasonString", body[disconnect.reasonString], properties[bytes: 0x1F])
      try expect("serverReference", body[disconnect.serverReference], properties[bytes: 0x1C])
      self = .disconnect(code: disconnect.reasonCode, properties: properties.list)
    case .auth(let auth):
      let properties = try read(auth.properties)
      try expect("method", body[auth.method], properties[bytes: 0x15])
      try expect("data", body[auth.data], properties[bytes: 0x16])
      try expect("reasonString", body[auth.reasonString], properties[bytes: 0x1F])
      self = .auth(code: auth.reasonCode, properties: properties.list)
    }
  }
}

private func expect<Value: Equatable>(_ field: String, _ value: Value, _ other: Value) throws {
  if value != other { throw Contradiction(field) }
}

extension Connack {
  /// The fields and the list of properties say the same; what is not in the list has the value of §3.2.2.3.
  fileprivate func agrees(with properties: Properties, _ body: [UInt8]) throws {
    try expect("isAccepted", isAccepted, reasonCode == 0)
    try expect("sessionExpiryInterval", sessionExpiryInterval, properties[number: 0x11])
    try expect("receiveMaximum", UInt32(receiveMaximum), properties[number: 0x21] ?? 65_535)
    try expect("maximumQoS", UInt32(maximumQoS), properties[number: 0x24] ?? 2)
    try expect("retainAvailable", retainAvailable, properties[number: 0x25] != 0)
    try expect("maximumPacketSize", maximumPacketSize, properties[number: 0x27] ?? 0)
    try expect("assignedClientIdentifier", body[assignedClientIdentifier], properties[bytes: 0x12])
    try expect("topicAliasMaximum", UInt32(topicAliasMaximum), properties[number: 0x22] ?? 0)
    try expect("reasonString", body[reasonString], properties[bytes: 0x1F])
    try expect("wildcardSubscriptionAvailable", wildcardSubscriptionAvailable, properties[number: 0x28] != 0)
    try expect(
      "subscriptionIdentifiersAvailable", subscriptionIdentifiersAvailable, properties[number: 0x29] != 0)
    try expect("sharedSubscriptionAvailable", sharedSubscriptionAvailable, properties[number: 0x2A] != 0)
    try expect("serverKeepAlive", serverKeepAlive.map(UInt32.init), properties[number: 0x13])
    try expect("responseInformation", body[responseInformation], properties[bytes: 0x1A])
    try expect("serverReference", body[serverReference], properties[bytes: 0x1C])
    try expect("authenticationMethod", body[authenticationMethod], properties[bytes: 0x15])
    try expect("authenticationData", body[authenticationData], properties[bytes: 0x16])
  }
}

/// The properties of a received packet, read once more.
private struct Properties {
  var list: [Model.Property] = []

  init(_ bytes: [UInt8], of type: ControlPacketType) throws {
    var reader = PropertyReader(bytes.span, in: .packet(type, from: .server))
    do throws(Malformed) {
      while let property = try reader.next() {
        let identifier = property.identifier.rawValue
        let (text, value) = (bytes[property.text], bytes[property.value])
        switch PropertyRow.types[Int(identifier)]! {
        case .string, .binaryData: add(identifier, .bytes(text))
        case .stringPair: add(identifier, .pair(text, value))
        default: add(identifier, .number(property.number))
        }
      }
    } catch {
      throw Contradiction("properties, on second reading: \(error)")
    }
  }

  private mutating func add(_ identifier: UInt8, _ value: Model.Property.Value) {
    list.append(Model.Property(identifier: identifier, value: value))
  }

  subscript(number identifier: UInt8) -> UInt32? {
    for case .number(let number) in list.lazy.filter({ $0.identifier == identifier }).map(\.value) {
      return number
    }
    return nil
  }

  subscript(bytes identifier: UInt8) -> [UInt8] {
    for case .bytes(let bytes) in list.lazy.filter({ $0.identifier == identifier }).map(\.value) {
      return bytes
    }
    return []
  }
}

// MARK: What this module writes

extension Model.Packet {
  /// What of this packet `encodedByModule` writes: an Acknowledgement no properties; a Connect its own before the
  /// others.
  var asSent: Model.Packet {
    switch self {
    case .acknowledgement(let type, let identifier, let code, _):
      .acknowledgement(type, identifier: identifier, code: code, properties: [])
    case .connect(let connect): .connect(connect.inOrder)
    default: self
    }
  }

  /// This packet as this module encodes it, for a client.
  func encodedByModule(_ version: ProtocolVersion) throws -> [UInt8] {
    switch self {
    case .connect(let connect): return connect.encodedByModule(version)
    case .publish(let publish):
      let fields = PublishFields(
        topic: publish.topic, payload: publish.payload, qos: QoS(rawValue: publish.qos)!,
        retain: publish.retain, duplicate: publish.duplicate, identifier: publish.identifier,
        properties: Model.list(publish.properties))
      return try fields.packet(version)
    case .acknowledgement(let type, let identifier, let code, _):
      let acknowledgement = Acknowledgement(
        type: type, identifier: PacketIdentifier(identifier)!, reasonCode: ReasonCode(rawValue: code)!)
      return encoded(acknowledgement.encodedSize) { acknowledgement.encode(into: &$0) }
    case .subscribe(let identifier, let properties, let subscriptions):
      let filters = subscriptions.map { subscription in
        (
          String(decoding: subscription.filter, as: UTF8.self),
          SubscriptionOptions(
            maximumQoS: QoS(rawValue: subscription.qos)!, noLocal: subscription.noLocal,
            retainAsPublished: subscription.retainAsPublished,
            retainHandling: SubscriptionOptions.RetainHandling(rawValue: subscription.retainHandling)!)
        )
      }
      return try SubscriptionRequestTests.Case(
        identifier: identifier, filters: filters, properties: Model.list(properties)
      ).packet(.subscribe, version)
    case .unsubscribe(let identifier, let properties, let filters):
      let options = SubscriptionOptions(maximumQoS: .exactlyOnce)  // not sent
      return try SubscriptionRequestTests.Case(
        identifier: identifier, filters: filters.map { (String(decoding: $0, as: UTF8.self), options) },
        properties: Model.list(properties)
      ).packet(.unsubscribe, version)
    case .ping: return encoded(Ping.encodedSize) { Ping.encodeRequest(into: &$0) }
    case .disconnect(let code, let properties):
      let code = ReasonCode(rawValue: code)!
      guard !properties.isEmpty else {
        let disconnect = Disconnect(reasonCode: code)
        return encoded(disconnect.encodedSize(version)) { disconnect.encode(into: &$0, version: version) }
      }
      let list = Model.list(properties)
      return encoded(withHeader: Disconnect.remainingLength(properties: list.span)) {
        Disconnect.encode(into: &$0, reasonCode: code, properties: list.span)
      }
    case .auth(let code, let properties):
      let list = Model.list(properties)
      return encoded(withHeader: Auth.remainingLength(properties: list.span)) {
        Auth.encode(into: &$0, reasonCode: ReasonCode(rawValue: code)!, properties: list.span)
      }
    case .connack, .answer: fatalError("a server's")
    }
  }
}

private func encoded(withHeader remainingLength: Int, _ encode: (inout ByteWriter) -> Void) -> [UInt8] {
  encoded(1 + variableByteInteger(remainingLength).count + remainingLength, encode)
}

extension Model.Connect {
  /// Those of `Connect.SessionProperties`, in the order it has them. 0 leaves one out there.
  private static let sessionProperties: [UInt8] = [0x11, 0x21, 0x27, 0x22]

  private func session(_ identifier: UInt8) -> UInt32 {
    for property in properties where property.identifier == identifier {
      if case .number(let number) = property.value { return number }
    }
    return 0
  }

  private func isSession(_ property: Model.Property) -> Bool {
    Self.sessionProperties.contains(property.identifier) && property.value != .number(0)
  }

  /// The same, its properties in the order in which the encoder has them.
  fileprivate var inOrder: Model.Connect {
    var ordered = self
    ordered.properties =
      Self.sessionProperties.flatMap { identifier in
        properties.filter { $0.identifier == identifier && isSession($0) }
      } + properties.filter { !isSession($0) }
    return ordered
  }

  fileprivate func encodedByModule(_ version: ProtocolVersion) -> [UInt8] {
    var session = Connect.SessionProperties()
    session.sessionExpiryInterval = self.session(0x11)
    session.receiveMaximum = UInt16(self.session(0x21))
    session.maximumPacketSize = self.session(0x27)
    session.topicAliasMaximum = UInt16(self.session(0x22))
    let others = Model.list(properties.filter { !isSession($0) })
    let flags =
      (userName == nil ? 0 : Connect.userNameFlag) | (password == nil ? 0 : Connect.passwordFlag)
    let (userName, password) = (userName ?? [], password ?? [])
    let (topic, payload) = (will?.topic ?? [], will?.payload ?? [])
    let willProperties = Model.list(will?.properties ?? [])
    let connect = Connect(
      version: version, cleanStart: cleanStart, keepAlive: keepAlive, clientID: clientIdentifier.span,
      userName: userName.span, password: password.span,
      will: Connect.Will(
        topic: topic.span, payload: payload.span, qos: QoS(rawValue: will?.qos ?? 0)!,
        retain: will?.retain ?? false, properties: willProperties.span),
      session: session, properties: others.span, credentialFlags: flags)
    return encoded(connect.encodedSize) { connect.encode(into: &$0) }
  }
}
