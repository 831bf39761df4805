import MQTTWire

/// A packet as it is on the wire, read strictly and without the library's help.
struct Packet {
  let type: ControlPacketType
  let flags: UInt8
  /// Where all of it is.
  let range: Range<Int>
  var identifier: UInt16 = 0
  var code: UInt8 = 0
  var topic = 0..<0
  var payload = 0..<0
  /// Topic Filters, or Reason Codes.
  var count = 0
  var version = ProtocolVersion.v3_1_1
  var cleanStart = false
  var clientID = 0..<0
  var keepAlive = 0
  /// With the QoS that is asked for.
  var filters: [(text: Range<Int>, qos: UInt8)] = []
  var sessionPresent = false
  // Properties, with what holds without them.
  var topicAlias: UInt16 = 0
  var receiveMaximum = 65_535
  var topicAliasMaximum = 0
  var maximumPacketSize = Int.max
  var maximumQoS: UInt8 = 2
  var sessionExpiry = 0
  var expiry = 0
  var responseTopic = 0..<0
  var correlation = 0..<0

  var qos: UInt8 { flags >> 1 & 3 }
  var isDuplicate: Bool { flags & 8 != 0 }
  var isRefusal: Bool { code >= 0x80 }

  /// Reads a packet that is all there.
  init(_ bytes: [UInt8], in range: Range<Int>, body: Int, version: ProtocolVersion) throws(Failure) {
    guard let type = ControlPacketType(rawValue: bytes[range.lowerBound] >> 4) else {
      throw Failure("packet type 0")
    }
    self.type = type
    self.range = range
    self.version = version
    flags = bytes[range.lowerBound] & 15
    var cursor = Cursor(bytes: bytes, position: body, end: range.upperBound)
    switch type {
    case .connect: try readConnect(&cursor)
    case .connack: try readConnack(&cursor)
    case .publish: try readPublish(&cursor)
    case .puback, .pubrec, .pubrel, .pubcomp: try readAcknowledgement(&cursor)
    case .subscribe, .unsubscribe: try readRequest(&cursor)
    case .suback, .unsuback: try readAnswer(&cursor)
    case .pingreq, .pingresp: break
    case .disconnect: try readDisconnect(&cursor)
    case .auth: throw Failure("AUTH")
    }
    try require(cursor.isAtEnd, "\(type) with \(cursor.end - cursor.position) bytes too many")
    let wanted: UInt8 = type == .pubrel || type == .subscribe || type == .unsubscribe ? 2 : 0
    try require(type == .publish || flags == wanted, "\(type) with flags \(flags)")
  }

  private mutating func readConnect(_ cursor: inout Cursor) throws(Failure) {
    let name = try cursor.string()
    try require(cursor.bytes[name].elementsEqual("MQTT".utf8), "protocol name")
    guard let version = ProtocolVersion(rawValue: try cursor.byte()) else { throw Failure("version") }
    self.version = version
    let flags = try cursor.byte()
    try require(flags & ~0xC2 == 0, "Connect Flags \(flags)")
    cleanStart = flags & 2 != 0
    keepAlive = try cursor.number(2)
    if version == .v5_0 { try readProperties(&cursor, [0x11, 0x21, 0x22, 0x27]) }
    clientID = try cursor.string()
    try require(clientID.count > 0, "no Client Identifier")
    if flags & 0x80 != 0 { _ = try cursor.string() }
    if flags & 0x40 != 0 { _ = try cursor.string() }
  }

  private mutating func readConnack(_ cursor: inout Cursor) throws(Failure) {
    sessionPresent = try cursor.byte() == 1
    code = try cursor.byte()
    if version == .v5_0, !cursor.isAtEnd { try readProperties(&cursor, [0x21, 0x22, 0x24, 0x27]) }
  }

  private mutating func readPublish(_ cursor: inout Cursor) throws(Failure) {
    try require(qos < 3, "QoS 3")
    try require(qos > 0 || !isDuplicate, "DUP with QoS 0 [MQTT-3.3.1-2]")
    topic = try cursor.string()
    for byte in cursor.bytes[topic] where byte == UInt8(ascii: "+") || byte == UInt8(ascii: "#") {
      throw Failure("a wildcard in a Topic Name [MQTT-3.3.2-2]")
    }
    if qos > 0 { identifier = try cursor.identifier() }
    if version == .v5_0 { try readProperties(&cursor, [0x01, 0x02, 0x03, 0x08, 0x09, 0x0B, 0x23, 0x26]) }
    try require(!topic.isEmpty || topicAlias != 0, "neither topic nor alias")
    payload = cursor.position..<cursor.end
    cursor.position = cursor.end
  }

  private mutating func readAcknowledgement(_ cursor: inout Cursor) throws(Failure) {
    identifier = try cursor.identifier()
    guard version == .v5_0, !cursor.isAtEnd else { return }
    code = try cursor.byte()
    let codes: [UInt8] =
      type == .puback || type == .pubrec
      ? [0, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99] : [0, 0x92]
    try require(codes.contains(code), "\(type) with Reason Code \(code)")
    if !cursor.isAtEnd { try readProperties(&cursor, [0x1F, 0x26]) }
  }

  private mutating func readRequest(_ cursor: inout Cursor) throws(Failure) {
    identifier = try cursor.identifier()
    if version == .v5_0 { try readProperties(&cursor, type == .subscribe ? [0x0B, 0x26] : [0x26]) }
    while !cursor.isAtEnd {
      let filter = try cursor.string()
      try require(filter.count > 0, "an empty Topic Filter")
      var options: UInt8 = 0
      if type == .subscribe {
        options = try cursor.byte()
        try require(options < (version == .v5_0 ? 0x30 : 3), "reserved bits [MQTT-3.8.3-5]")
      }
      filters.append((filter, options & 3))
      count += 1
    }
    try require(count > 0, "no Topic Filter [MQTT-3.8.3-2]")
  }

  private mutating func readAnswer(_ cursor: inout Cursor) throws(Failure) {
    identifier = try cursor.identifier()
    if version == .v5_0 { try readProperties(&cursor, [0x1F, 0x26]) }
    count = cursor.end - cursor.position
    cursor.position = cursor.end
  }

  private mutating func readDisconnect(_ cursor: inout Cursor) throws(Failure) {
    guard version == .v5_0, !cursor.isAtEnd else { return }
    code = try cursor.byte()
    if !cursor.isAtEnd { try readProperties(&cursor, [0x11, 0x1F, 0x26]) }
  }

  /// The properties that are used here, and no others.
  private mutating func readProperties(_ cursor: inout Cursor, _ allowed: [UInt8]) throws(Failure) {
    let length = try cursor.variableByteInteger()
    let end = cursor.position + length
    try require(end <= cursor.end, "a Property Length that is too large")
    while cursor.position < end {
      let identifier = try cursor.byte()
      try require(allowed.contains(identifier), "property \(identifier) in \(type)")
      switch identifier {
      case 0x01: _ = try cursor.byte()
      case 0x02: expiry = try cursor.number(4)
      case 0x03, 0x1F: _ = try cursor.string()
      case 0x08: responseTopic = try cursor.string()
      case 0x09: correlation = try cursor.string()
      case 0x0B: try require(try cursor.variableByteInteger() > 0, "Subscription Identifier 0")
      case 0x11: sessionExpiry = try cursor.number(4)
      case 0x21: receiveMaximum = try cursor.number(2)
      case 0x22: topicAliasMaximum = try cursor.number(2)
      case 0x23:
        topicAlias = UInt16(try cursor.number(2))
        try require(topicAlias > 0, "Topic Alias 0 [MQTT-3.3.2-8]")
      case 0x24: maximumQoS = try cursor.byte()
      case 0x27: maximumPacketSize = try cursor.number(4)
      default:
        _ = try cursor.string()
        _ = try cursor.string()
      }
    }
    try require(cursor.position == end, "a property beyond the Property Length")
  }
}

/// Reads the data types of §1.5.
struct Cursor {
  let bytes: [UInt8]
  var position: Int
  let end: Int

  var isAtEnd: Bool { position == end }

  mutating func byte() throws(Failure) -> UInt8 {
    try require(position < end, "a packet that ends too early")
    position += 1
    return bytes[position - 1]
  }

  mutating func number(_ size: Int) throws(Failure) -> Int {
    var number = 0
    for _ in 0..<size { number = number << 8 | Int(try byte()) }
    return number
  }

  mutating func identifier() throws(Failure) -> UInt16 {
    let number = try number(2)
    try require(number > 0, "Packet Identifier 0 [MQTT-2.2.1-3]")
    return UInt16(number)
  }

  mutating func string() throws(Failure) -> Range<Int> {
    let count = try number(2)
    try require(count <= end - position, "a string that ends too early")
    position += count
    return position - count..<position
  }

  mutating func variableByteInteger() throws(Failure) -> Int {
    var number = 0
    var shift = 0
    while true {
      let byte = try byte()
      number |= Int(byte & 127) << shift
      shift += 7
      if byte < 128 {
        try require(byte > 0 || shift == 7, "more bytes than needed [MQTT-1.5.5-1]")
        return number
      }
      try require(shift < 28, "a Variable Byte Integer of five bytes")
    }
  }
}

/// Bytes as they come, cut into packets.
struct PacketStream {
  private(set) var bytes: [UInt8] = []
  private var head = 0

  /// Nothing of a packet that is not whole.
  var isEmpty: Bool { head == bytes.count }

  mutating func append(_ more: [UInt8]) {
    if head > 2048 || isEmpty {
      bytes.removeFirst(head)
      head = 0
    }
    bytes.append(contentsOf: more)
  }

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    head = 0
  }

  /// The next whole packet; what it points to stays until the next `append`.
  mutating func next(_ version: ProtocolVersion) throws(Failure) -> Packet? {
    guard let (body, size) = try header(), size <= bytes.count - head else { return nil }
    let start = head
    head += size
    return try Packet(bytes, in: start..<head, body: body, version: version)
  }

  /// Flags and Packet Identifier of a PUBLISH of which not more is there yet.
  func begunPublish() throws(Failure) -> (qos: UInt8, identifier: UInt16)? {
    guard let (body, _) = try header(), bytes[head] >> 4 == 3, bytes.count >= body + 2 else { return nil }
    let qos = bytes[head] >> 1 & 3
    let place = body + 2 + Int(bytes[body]) << 8 + Int(bytes[body + 1])
    guard qos > 0, bytes.count >= place + 2 else { return nil }
    return (qos, UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1]))
  }

  /// Where the body of the first packet begins, and the size of all of it.
  private func header() throws(Failure) -> (body: Int, size: Int)? {
    var length = 0
    for index in 1...4 {
      guard head + index < bytes.count else { return nil }
      let byte = bytes[head + index]
      length |= Int(byte & 127) << (7 * (index - 1))
      if byte < 128 {
        try require(byte > 0 || index == 1, "Remaining Length in too many bytes")
        return (head + index + 1, index + 1 + length)
      }
    }
    throw Failure("a Remaining Length of five bytes")
  }
}
