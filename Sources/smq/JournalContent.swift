import Journal
import MQTTWire
import Storage

/// A message that the next client would deliver.
final class StoredMessage {
  enum State {
    case new, sent, released

    var name: StaticString {
      switch self {
      case .new: "new"
      case .sent: "sent"
      case .released: "released"
      }
    }
  }

  let isUrgent: Bool
  fileprivate(set) var state: State
  /// 0: it has none that is fixed.
  fileprivate(set) var identifier: UInt16
  // What its PUBLISH has, once that was parsed. The properties are as an event of the library has them.
  fileprivate(set) var qos: UInt8 = 0
  fileprivate(set) var retain = false
  fileprivate(set) var topic: [UInt8] = []
  fileprivate(set) var properties: [UInt8] = []
  fileprivate(set) var payload: [UInt8] = []
  private let header: JournalRecord.MessageHeader
  /// When the commit was filled.
  private let written: UInt32?
  private var packet: [UInt8]

  /// The record of a message; `nil`: its body is too short to be one.
  fileprivate init?(_ record: Record, _ body: Span<UInt8>, written: UInt32?) {
    guard let header = JournalRecord.MessageHeader(body) else { return nil }
    let isReleased = record.flags & JournalRecord.Flags.isReleased != 0
    isUrgent = record.flags & JournalRecord.Flags.isUrgent != 0
    state = isReleased ? .released : header.identifier == 0 ? .new : .sent
    identifier = header.identifier
    self.header = header
    self.written = written
    packet = body.extracting(JournalRecord.MessageHeader.size..<body.count).array
  }

  var serial: UInt64 { header.serial.uint64 }
  var cookie: UInt64 { header.cookie.uint64 }
  var hasProperties: Bool { header.flags & JournalRecord.MessageHeader.hasProperties != 0 }

  /// How long it has until it expires; `nil`: it does not. As when a client takes it up, a time that lies in the
  /// future, or 17 years ago, does not count.
  var secondsLeft: UInt32? {
    guard header.expiry > 0 else { return nil }
    let now = UInt32(truncatingIfNeeded: System.wall.seconds)
    let passed = written.map { now &- $0 } ?? 0
    guard passed < 1 << 29 else { return header.expiry }
    return header.expiry > passed ? header.expiry - passed : 0
  }

  /// Parses the packet. Returns false if this is no message as a client has them: the checksum says that a record is
  /// whole, and not who wrote it.
  fileprivate func parse() -> Bool {
    let version: ProtocolVersion = hasProperties ? .v5_0 : .v3_1_1
    let packet = packet
    let bytes = packet.span
    do throws(Malformed) {
      guard let fixed = try FixedHeader(parsing: bytes, version: version), fixed.type == .publish,
        fixed.packetSize == packet.count
      else { return false }
      let body = bytes.extracting(fixed.size..<packet.count)
      let found = try ReceivedPublish(parsing: body, flags: fixed.flags, version: version)
      qos = found.qos.rawValue
      retain = found.retain
      // The flags have QoS and retain as well.
      guard qos > 0, UInt32(qos) == header.flags & 3, retain == (header.flags >> 8 & 1 == 1) else {
        return false
      }
      let list = fixed.size + found.properties.offset..<fixed.size + found.properties.end
      let expiry = Int64(header.expiryOffset)
      guard expiry == 0 || expiry > Int64(list.lowerBound) && expiry + 4 <= Int64(list.upperBound) else {
        return false
      }
      topic = body.extracting(found.topic.range).array
      properties = body.extracting(found.properties.range).array
      payload = body.extracting(found.payload.range).array
    } catch {
      return false
    }
    self.packet = []
    return state != .released || qos == 2 && identifier != 0
  }
}

/// What a journal of MQTT says, record by record, and then in the order in which it is sent.
final class JournalContent: CommonJournal {
  private var messages: [StoredMessage] = []
  /// Packet Identifiers of messages of QoS 2 that were received.
  private var awaitingPubrel: [UInt16] = []
  /// The last number that a received message got (smq_delivery_number()), and those that the program is not done with;
  /// `nil`: it has asked for none.
  private var lastNumber: UInt64?
  private var numbers: [(identifier: UInt16, number: UInt64)] = []
  /// By the number of its entry; urgent ones and others.
  private var urgent: [StoredMessage?] = []
  private var usual: [StoredMessage?] = []

  /// As Session+Recover.swift does.
  override func apply(_ record: Record, _ body: Span<UInt8>) throws(JournalFault) -> Bool {
    guard let kind = JournalRecord.Kind(rawValue: record.kind) else { return false }
    switch kind {
    case .time: break
    case .inbound: awaitingPubrel = Self.identifiers(body)
    case .numbers: try applyNumbers(body)
    case .message, .bound, .released, .ended:
      if record.flags & JournalRecord.Flags.isUrgent != 0 {
        try Self.apply(record, kind, body, written, &urgent)
      } else {
        try Self.apply(record, kind, body, written, &usual)
      }
    }
    return true
  }

  override func finish() throws(JournalFault) {
    messages = Self.sorted(urgent) + Self.sorted(usual)
    (urgent, usual) = ([], [])
    for message in messages where !message.parse() {
      throw .damaged("what it has of the message \(message.serial) is no PUBLISH that a client could send")
    }
  }

  private static func sorted(_ queue: [StoredMessage?]) -> [StoredMessage] {
    var found: [StoredMessage] = []
    for case .some(let message) in queue { found.append(message) }
    found.sort { $0.serial < $1.serial }
    return found
  }

  private static func identifiers(_ body: Span<UInt8>) -> [UInt16] {
    var found: [UInt16] = []
    var offset = 0
    while offset + 2 <= body.count {
      let identifier = body.littleEndian16(at: offset)
      if identifier != 0 { found.append(identifier) }
      offset += 2
    }
    return found
  }

  private func applyNumbers(_ body: Span<UInt8>) throws(JournalFault) {
    guard body.count >= 8, (body.count - 8) % 10 == 0 else {
      throw .damaged("the numbers of received messages are cut off")
    }
    lastNumber = Self.number(body, at: 0)
    numbers = []
    var offset = 8
    while offset < body.count {
      numbers.append((body.littleEndian16(at: offset), Self.number(body, at: offset + 2)))
      offset += 10
    }
  }

  private static func number(_ body: Span<UInt8>, at offset: Int) -> UInt64 {
    Counter(low: body.littleEndian32(at: offset), high: body.littleEndian32(at: offset + 4)).uint64
  }

  private static func apply(
    _ record: Record, _ kind: JournalRecord.Kind, _ body: Span<UInt8>, _ written: UInt32?,
    _ queue: inout [StoredMessage?]
  ) throws(JournalFault) {
    let entry = Int(record.subject)
    if kind == .message {
      guard let message = StoredMessage(record, body, written: written) else {
        throw .damaged("the record of a message is too short")
      }
      while queue.count <= entry { queue.append(nil) }
      queue[entry] = message
    } else if entry < queue.count, let message = queue[entry] {
      message.identifier = body.count == 2 ? body.littleEndian16(at: 0) : 0
      switch kind {
      case .bound: message.state = message.identifier == 0 ? .new : .sent
      case .released: message.state = .released
      default: queue[entry] = nil
      }
    }
    // What is said about another one does not matter: the head of the log has passed over that message.
  }

  // ---- How it is shown

  override var columns: [(name: StaticString, width: Int, isNumber: Bool)] {
    [
      ("serial", 8, true), ("qos", 3, true), ("retain", 6, false), ("state", 8, false),
      ("priority", 8, false),
      ("expires", 10, true), ("bytes", 8, true),
    ]
  }
  override var lastColumn: StaticString { "topic" }

  override var rows: [(values: [[UInt8]], last: [UInt8])] {
    messages.map { message in
      let expires: Text = message.secondsLeft.map { $0 == 0 ? "expired" : "\($0) s" } ?? "-"
      return (
        [
          decimal(unsigned: message.serial), [48 + message.qos], Self.yes(message.retain),
          message.state.name.bytes, Self.yes(message.isUrgent), expires.bytes,
          decimal(Int64(message.payload.count)),
        ], message.topic
      )
    }
  }

  private static func yes(_ isSo: Bool) -> [UInt8] { isSo ? ascii("yes") : [45] }

  override var rest: Text {
    var text = Text()
    if !awaitingPubrel.isEmpty {
      text += "\n  received with QoS 2, and waiting for PUBREL:"
      for identifier in awaitingPubrel { text += " \(Int(identifier))" }
      text += "\n"
    }
    if !numbers.isEmpty {
      text += "\n  received with QoS 2, and not acknowledged by the program, with their numbers:"
      for (identifier, number) in numbers { text += " \(Int(identifier)) (\(number))" }
      text += "\n"
    }
    return text
  }

  override func addMessages(to json: inout JSONWriter) {
    for message in messages { json.add(message) }
  }

  override func addRest(to json: inout JSONWriter) {
    json.key("awaiting_pubrel")
    json.beginArray()
    for identifier in awaitingPubrel { json.number(Int64(identifier)) }
    json.endArray()
    json.add("last_number", lastNumber)
    json.key("numbers")
    json.beginArray()
    for (identifier, number) in numbers {
      json.beginObject()
      json.add("mid", UInt64(identifier))
      json.add("number", number)
      json.endObject()
    }
    json.endArray()
  }
}

extension JSONWriter {
  fileprivate mutating func add(_ message: StoredMessage) {
    beginObject()
    add("serial", message.serial)
    add("cookie", message.cookie)
    key("priority")
    bool(message.isUrgent)
    key("state")
    string(message.state.name.bytes)
    add("mid", message.identifier == 0 ? nil : UInt64(message.identifier))
    add("expires_in", message.secondsLeft.map { UInt64($0) })
    key("version")
    string(ascii(message.hasProperties ? "5.0" : "3.1.1"))
    key("topic")
    string(message.topic)
    add("qos", UInt64(message.qos))
    add("retain", message.retain ? 1 : 0)
    add("payloadlen", UInt64(message.payload.count))
    let properties = MQTT.properties(message.properties)
    if !properties.isEmpty { add(properties, isAlwaysText: true) }
    add("payload", message.payload)
    endObject()
  }
}
