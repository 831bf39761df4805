public import MQTTWire

/// What a sender is free to choose about one and the same packet.
public struct Form: Sendable {
  /// 5.0: a Reason Code of 0 is written where it may be left out (§3.4.2.1).
  public var writesReasonCode = false
  /// 5.0: and a Property Length of 0 (§3.4.2.2.1).
  public var writesPropertyLength = false
  /// 3.1: flags that are not used (§2.1), and CONNACK's reserved byte (§3.2).
  public var unusedFlags: UInt8 = 0
  public var reservedByte: UInt8 = 0
  /// Before 5.0: as many bytes for the Remaining Length though fewer would do.
  public var lengthSize = 1

  public init() {}
}

/// From model to bytes, by the specification alone.
extension Model.Packet {
  public func bytes(_ version: ProtocolVersion, _ form: Form = Form()) -> [UInt8] {
    let body = body(version, form)
    return [firstByte | (type == .publish ? 0 : form.unusedFlags)]
      + variableByteInteger(body.count, atLeast: form.lengthSize) + body
  }

  /// §2.1.2, §2.1.3 Table 2-2.
  private var firstByte: UInt8 {
    let flags: UInt8 =
      switch self {
      case .publish(let publish): (publish.duplicate ? 8 : 0) + publish.qos * 2 + (publish.retain ? 1 : 0)
      case .acknowledgement(.pubrel, _, _, _), .subscribe, .unsubscribe: 2
      default: 0
      }
    return type.rawValue * 16 + flags
  }

  private func body(_ version: ProtocolVersion, _ form: Form) -> [UInt8] {
    func list(_ properties: [Model.Property]) -> [UInt8] {
      version == .v5_0 ? Model.listWithLength(properties) : []
    }
    /// A Reason Code and properties at the end, which may be left out.
    func ending(_ code: UInt8, _ properties: [Model.Property]) -> [UInt8] {
      if version != .v5_0 { return [] }
      if !properties.isEmpty || form.writesPropertyLength { return [code] + list(properties) }
      return code != 0 || form.writesReasonCode ? [code] : []
    }
    switch self {
    case .connect(let connect): return connect.body(version)
    case .connack(let sessionPresent, let code, let properties):
      return [(sessionPresent ? 1 : 0) | form.reservedByte, code] + list(properties)
    case .publish(let publish):
      return prefixed(publish.topic) + (publish.identifier.map(twoBytes) ?? [])
        + list(publish.properties) + publish.payload
    case .acknowledgement(_, let identifier, let code, let properties):
      return twoBytes(identifier) + ending(code, properties)
    case .subscribe(let identifier, let properties, let subscriptions):
      return twoBytes(identifier) + list(properties)
        + subscriptions.flatMap { prefixed($0.filter) + [$0.options] }
    case .unsubscribe(let identifier, let properties, let filters):
      return twoBytes(identifier) + list(properties) + filters.flatMap(prefixed)
    case .answer(_, let identifier, let properties, let codes):
      return twoBytes(identifier) + list(properties) + codes
    case .ping: return []
    case .disconnect(let code, let properties): return ending(code, properties)
    // Without an Authentication Method there is only the form of no bytes (§3.15.2.1, §3.15.2.2.2).
    case .auth(let code, let properties): return properties.isEmpty ? [] : [code] + list(properties)
    }
  }
}

extension Model.Connect {
  fileprivate func body(_ version: ProtocolVersion) -> [UInt8] {
    let names: (String, UInt8) =
      switch version {
      case .v3_1: ("MQIsdp", 3)
      case .v3_1_1: ("MQTT", 4)
      case .v5_0: ("MQTT", 5)
      }
    // §3.1.2.3, from the highest bit to the lowest.
    var flags: UInt8 = 0
    if userName != nil { flags += 128 }
    if password != nil { flags += 64 }
    if let will { flags += (will.retain ? 32 : 0) + will.qos * 8 + 4 }
    if cleanStart { flags += 2 }

    var body = prefixed(names.0.bytes) + [names.1, flags] + twoBytes(keepAlive)
    if version == .v5_0 { body += Model.listWithLength(properties) }
    body += prefixed(clientIdentifier)
    if let will {
      if version == .v5_0 { body += Model.listWithLength(will.properties) }
      body += prefixed(will.topic) + prefixed(will.payload)
    }
    if let userName { body += prefixed(userName) }
    if let password { body += prefixed(password) }
    return body
  }
}

extension Model.Subscription {
  /// §3.8.3.1.
  fileprivate var options: UInt8 {
    qos + (noLocal ? 4 : 0) + (retainAsPublished ? 8 : 0) + retainHandling * 16
  }
}

extension Model {
  /// Properties one behind the other (§2.2.2.2).
  public static func list(_ properties: [Property]) -> [UInt8] {
    var bytes: [UInt8] = []
    for property in properties {
      bytes.append(property.identifier)
      switch property.value {
      case .bytes(let text): bytes += prefixed(text)
      case .pair(let name, let value): bytes += prefixed(name) + prefixed(value)
      case .number(let number):
        switch PropertyRow.types[Int(property.identifier)] {
        case .byte: bytes.append(UInt8(number))
        case .twoByteInteger: bytes += twoBytes(UInt16(number))
        case .fourByteInteger: bytes += twoBytes(UInt16(number >> 16)) + twoBytes(UInt16(number & 0xFFFF))
        default: bytes += variableByteInteger(Int(number))
        }
      }
    }
    return bytes
  }

  public static func listWithLength(_ properties: [Property]) -> [UInt8] {
    let list = list(properties)
    return variableByteInteger(list.count) + list
  }
}
