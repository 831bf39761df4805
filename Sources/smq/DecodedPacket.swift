import CSwiftMQTT

/// What a packet says, as far as it is here. It is for people: a packet that breaks the rules is shown, too.
struct DecodedPacket {
  let type: UInt8
  let flags: UInt8
  /// Of the whole packet.
  let length: Int
  var identifier: UInt16?
  var topic: [UInt8] = []
  var payload: [UInt8] = []
  /// CONNECT.
  var connect: Connect?
  /// CONNACK.
  var sessionPresent = false
  var reasonCodes: [UInt8] = []
  /// Of more filters, or Reason Codes, only the first are kept: nobody reads the others.
  private static let mostListed = 1000
  /// SUBSCRIBE and UNSUBSCRIBE, with the Subscription Options of each.
  var filters: [(filter: [UInt8], options: UInt8?)] = []
  /// 5.0: as smq_property_next() reads them; those of the Will are not among them.
  var properties: [UInt8] = []
  /// How many bytes of it are not here.
  private(set) var missing = 0
  /// Its fields do not fit into it.
  var isDamaged = false

  struct Connect {
    let version: UInt8
    let flags: UInt8
    let keepAlive: UInt16
    var clientID: [UInt8] = []
    /// 5.0.
    var willProperties: [UInt8] = []
    var willTopic: [UInt8]?
    var willPayload: [UInt8] = []
    var userName: [UInt8]?

    var cleanStart: Bool { flags & 2 != 0 }
    var hasPassword: Bool { flags & 64 != 0 }
  }

  var qos: UInt8 { flags >> 1 & 3 }
  var retain: Bool { flags & 1 != 0 }
  var duplicate: Bool { flags & 8 != 0 }

  /// `version` is that of the connection. `bytes` are the packet, or its beginning.
  init(_ bytes: [UInt8], length: Int, version: UInt32) {
    type = bytes.first.map { $0 >> 4 } ?? 0
    flags = bytes.first.map { $0 & 15 } ?? 0
    self.length = length
    var cursor = ByteCursor(bytes)
    missing = max(length - bytes.count, 0)
    let isRead = cursor.skip(1) && cursor.variable() != nil && read(&cursor, hasProperties: version >= 5)
    isDamaged = !isRead && missing == 0
  }

  /// How many bytes the payload has, whatever is here of it.
  var payloadSize: Int { payload.count + (type == 3 ? missing : 0) }

  var name: StaticString { Self.names[Int(type)] }

  var hasPayload: Bool { type == 3 }
  /// Without CONNECT nobody knows which version the packets behind it are of.
  var isNeeded: Bool { connect != nil }
  /// What Topic Filters are compared with.
  var topics: [[UInt8]] { type == 3 ? [topic] : filters.map { $0.filter } }

  static let names: [StaticString] = [
    "no packet", "CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE",
    "SUBACK", "UNSUBSCRIBE", "UNSUBACK", "PINGREQ", "PINGRESP", "DISCONNECT", "AUTH",
  ]

  // ---- Reading

  private mutating func read(_ cursor: inout ByteCursor, hasProperties: Bool) -> Bool {
    switch type {
    case 1: return readConnect(&cursor)
    case 2:
      guard let acknowledge = cursor.byte(), let code = cursor.byte() else { return false }
      sessionPresent = acknowledge & 1 != 0
      reasonCodes = [code]
      return !hasProperties || readProperties(&cursor)
    case 3: return readPublish(&cursor, hasProperties)
    case 4...7:
      identifier = cursor.big16()
      reasonCodes = cursor.byte().map { [$0] } ?? []
      return identifier != nil && (cursor.isAtEnd || readProperties(&cursor))
    case 8, 10: return readFilters(&cursor, hasProperties)
    case 9, 11:
      identifier = cursor.big16()
      guard identifier != nil, !hasProperties || readProperties(&cursor) else { return false }
      reasonCodes = Array(cursor.rest.prefix(Self.mostListed))
      return true
    case 14, 15:
      guard let code = cursor.byte() else { return true }
      reasonCodes = [code]
      return cursor.isAtEnd || readProperties(&cursor)
    default: return type != 0
    }
  }

  private mutating func readProperties(_ cursor: inout ByteCursor) -> Bool {
    guard let size = cursor.variable(), let list = cursor.bytes(size) else { return false }
    properties = list
    return true
  }

  private mutating func readPublish(_ cursor: inout ByteCursor, _ hasProperties: Bool) -> Bool {
    guard let name = cursor.string() else { return false }
    topic = name
    if qos > 0 {
      identifier = cursor.big16()
      if identifier == nil { return false }
    }
    if hasProperties, !readProperties(&cursor) { return false }
    payload = cursor.rest
    return true
  }

  private mutating func readFilters(_ cursor: inout ByteCursor, _ hasProperties: Bool) -> Bool {
    identifier = cursor.big16()
    guard identifier != nil, !hasProperties || readProperties(&cursor) else { return false }
    while !cursor.isAtEnd {
      guard let filter = cursor.string() else { return false }
      let options = type == 8 ? cursor.byte() : nil
      if type == 8, options == nil { return false }
      if filters.count < Self.mostListed { filters.append((filter, options)) }
    }
    return true
  }

  private mutating func readConnect(_ cursor: inout ByteCursor) -> Bool {
    // The highest bit says that a bridge connects.
    guard cursor.string() != nil, let version = cursor.byte().map({ $0 & 0x7F }), let flags = cursor.byte(),
      let keepAlive = cursor.big16(), version < 5 || readProperties(&cursor), let clientID = cursor.string()
    else { return false }
    var connect = Connect(version: version, flags: flags, keepAlive: keepAlive, clientID: clientID)
    defer { self.connect = connect }
    if flags & 4 != 0 {
      if version >= 5 {
        guard let size = cursor.variable(), let list = cursor.bytes(size) else { return false }
        connect.willProperties = list
      }
      guard let topic = cursor.string(), let payload = cursor.string() else { return false }
      connect.willTopic = topic
      connect.willPayload = payload
    }
    if flags & 128 != 0 {
      guard let name = cursor.string() else { return false }
      connect.userName = name
    }
    return true
  }
}
