import MQTTWire
import TestSupport

/// What the simulation looks at in a packet: as the tests' own decoder has read it, and without what is never used here.
struct Packet {
  let type: ControlPacketType
  /// Where all of it is.
  let range: Range<Int>
  let version: ProtocolVersion
  var identifier: UInt16 = 0
  var code: UInt8 = 0
  var qos: UInt8 = 0
  var isDuplicate = false
  var retain = false
  var topic: [UInt8] = []
  var payload: [UInt8] = []
  /// Topic Filters, or Reason Codes.
  var count = 0
  var cleanStart = false
  var clientID: [UInt8] = []
  var keepAlive = 0
  /// With the QoS that is asked for.
  var filters: [(text: [UInt8], qos: UInt8)] = []
  var sessionPresent = false
  // Properties, with what holds without them.
  var topicAlias: UInt16 = 0
  var receiveMaximum = 65_535
  var topicAliasMaximum = 0
  var maximumPacketSize = Int.max
  var maximumQoS: UInt8 = 2
  var sessionExpiry = 0
  var expiry = 0
  var responseTopic: [UInt8] = []
  var correlation: [UInt8] = []

  var isRefusal: Bool { code >= 0x80 }

  init(_ packet: Model.Packet, in range: Range<Int>, version: ProtocolVersion) throws(Failure) {
    type = packet.type
    self.range = range
    self.version = version
    switch packet {
    case .connect(let connect):
      try require(connect.will == nil, "a Will")
      try require(!connect.clientIdentifier.isEmpty, "no Client Identifier")
      cleanStart = connect.cleanStart
      keepAlive = Int(connect.keepAlive)
      clientID = connect.clientIdentifier
    case .connack(let sessionPresent, let code, _): (self.sessionPresent, self.code) = (sessionPresent, code)
    case .publish(let publish):
      (qos, isDuplicate, retain) = (publish.qos, publish.duplicate, publish.retain)
      (topic, payload, identifier) = (publish.topic, publish.payload, publish.identifier ?? 0)
    case .acknowledgement(_, let identifier, let code, _): (self.identifier, self.code) = (identifier, code)
    case .subscribe(let identifier, _, let subscriptions):
      self.identifier = identifier
      filters = subscriptions.map { ($0.filter, $0.qos) }
      count = filters.count
    case .unsubscribe(let identifier, _, let filters): (self.identifier, count) = (identifier, filters.count)
    case .answer(_, let identifier, _, let codes): (self.identifier, count) = (identifier, codes.count)
    case .disconnect(let code, _): self.code = code
    case .ping: break
    case .auth: throw Failure("AUTH")
    }
    for property in packet.properties { try read(property) }
  }

  /// The properties that are used here, and no others.
  private mutating func read(_ property: Model.Property) throws(Failure) {
    switch (property.identifier, property.value) {
    case (0x02, .number(let number)): expiry = Int(number)
    case (0x08, .bytes(let bytes)): responseTopic = bytes
    case (0x09, .bytes(let bytes)): correlation = bytes
    case (0x11, .number(let number)) where type != .connack: sessionExpiry = Int(number)
    case (0x21, .number(let number)): receiveMaximum = Int(number)
    case (0x22, .number(let number)): topicAliasMaximum = Int(number)
    case (0x23, .number(let number)): topicAlias = UInt16(number)
    case (0x24, .number(let number)): maximumQoS = UInt8(number)
    case (0x27, .number(let number)): maximumPacketSize = Int(number)
    case (0x01, _), (0x03, _), (0x0B, _), (0x1F, _), (0x26, _): break
    default: throw Failure("property \(property.identifier) in \(type)")
    }
  }
}

/// Bytes as they come from one side, cut into packets.
struct PacketStream {
  let sender: Sender
  private(set) var bytes: [UInt8] = []
  private var head = 0

  init(from sender: Sender) { self.sender = sender }

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

  /// The next whole packet; its range stays until the next `append`. CONNECT says itself which version it is of.
  mutating func next(_ version: ProtocolVersion) throws(Failure) -> Packet? {
    guard !isEmpty else { return nil }
    var version = version
    if bytes[head] >> 4 == 1 {
      // §3.1.2.2: behind a name of four letters.
      guard let body, body + 6 < bytes.count else { return nil }
      guard let own = ProtocolVersion(rawValue: bytes[body + 6]) else { throw Failure("version") }
      version = own
    }
    guard let (packet, size) = try decode(version) else { return nil }
    head += size
    return try Packet(packet, in: head - size..<head, version: version)
  }

  private func decode(_ version: ProtocolVersion) throws(Failure) -> (Model.Packet, Int)? {
    do throws(BrokenRule) {
      return try Model.Packet.decode(bytes, at: head, version, from: sender, tolerating: [.shortRefusal])
    } catch {
      throw Failure("packet type \(bytes[head] >> 4): \(error.rule)")
    }
  }

  /// Flags and Packet Identifier of a PUBLISH of which not more is there yet.
  func begunPublish() -> (qos: UInt8, identifier: UInt16)? {
    guard let body, bytes[head] >> 4 == 3, bytes.count >= body + 2 else { return nil }
    let qos = bytes[head] >> 1 & 3
    let place = body + 2 + Int(bytes[body]) << 8 + Int(bytes[body + 1])
    guard qos > 0, bytes.count >= place + 2 else { return nil }
    return (qos, UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1]))
  }

  /// Where the body of the first packet begins, behind its Remaining Length.
  private var body: Int? {
    bytes[head...].dropFirst().firstIndex { $0 < 128 }.map { $0 + 1 }
  }
}
