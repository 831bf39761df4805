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

/// What a journal says, record by record, and then in the order in which it is sent.
final class JournalContent {
  /// How many blocks the ring has, and how many of them the next client needs.
  private(set) var blocks: UInt32 = 0
  private(set) var used: UInt32 = 0
  private(set) var commits: UInt32 = 0
  private(set) var failures: UInt32 = 0
  private(set) var torn: UInt32 = 0
  /// When the last commit was filled: seconds since 1970.
  private(set) var written: UInt32?
  private(set) var messages: [StoredMessage] = []
  /// Packet Identifiers of messages of QoS 2 that were received.
  private(set) var awaitingPubrel: [UInt16] = []
  /// The last number that a received message got (smq_delivery_number()), and those that the program is not done with;
  /// `nil`: it has asked for none.
  private(set) var lastNumber: UInt64?
  private(set) var numbers: [(identifier: UInt16, number: UInt64)] = []
  /// By the number of its entry; urgent ones and others.
  private var urgent: [StoredMessage?] = []
  private var usual: [StoredMessage?] = []

  /// Applies the records of the next commit, as Session+Recover.swift does.
  func apply(_ records: ByteRange, _ bytes: Span<UInt8>) throws(JournalFault) {
    written = Self.time(records, bytes)
    var reader = RecordReader(records)
    while let record = reader.next(bytes) {
      let body = bytes.extracting(record.body.range)
      guard let kind = JournalRecord.Kind(rawValue: record.kind) else {
        if record.kind >= JournalRecord.firstOptional { continue }
        throw JournalFault(
          text:
            "has a record of the unknown kind \(Int(record.kind)): use the smq of the libswiftmqtt that wrote it, if that is newer; otherwise the file is damaged"
        )
      }
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
    }
  }

  /// After the last commit.
  func finish(_ reader: LogReader, blocks: UInt32) throws(JournalFault) {
    self.blocks = blocks
    used = reader.space.used(from: reader.space.head)
    commits = reader.commits
    failures = reader.failures
    torn = reader.torn
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

  private static func time(_ records: ByteRange, _ bytes: Span<UInt8>) -> UInt32? {
    var reader = RecordReader(records)
    while let record = reader.next(bytes) {
      if record.kind == JournalRecord.Kind.time.rawValue, record.body.count == 4 {
        return bytes.littleEndian32(at: record.body.offset)
      }
    }
    return nil
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
}

extension Span<UInt8> {
  fileprivate var array: [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(count)
    for index in indices { result.append(self[index]) }
    return result
  }
}
