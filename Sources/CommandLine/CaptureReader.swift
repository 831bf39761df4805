import Capture

/// A packet of a capture.
struct SeenPacket {
  /// Which client it is of, counted from 0.
  let client: Int
  /// Since 1970.
  let microseconds: Int64
  let isSent: Bool
  /// Of the whole packet, whatever is here of it.
  let length: Int
  let bytes: [UInt8]
  /// "outbox 3, in flight 1"; empty: it is not known.
  let comment: [UInt8]
  /// Tells the connections of a client apart.
  let connection: UInt32

  func of(client: Int) -> SeenPacket {
    SeenPacket(
      client: client, microseconds: microseconds, isSent: isSent, length: length, bytes: bytes,
      comment: comment, connection: connection)
  }
}

/// What a block of a capture says.
enum CaptureItem {
  /// A capture begins: clients are counted anew.
  case section
  case client(name: [UInt8])
  case packet(SeenPacket)
  /// Packets that were lost, and the numbers that the client has answered with, if any.
  case statistics(client: Int, lost: Int64, text: [UInt8])
}

/// Reads the blocks of captures (draft-ietf-opsawg-pcapng), as this project writes them: little-endian, and packets of
/// link type 252. Other blocks, and packets of other interfaces, are passed over.
struct CaptureReader {
  /// Why it cannot go on.
  enum Fault: Error {
    case noCapture  // it does not begin as one
    case byteOrder  // of another kind of machine
    case damaged(at: Int64)
    case otherProtocol  // of packets that the other program shows
  }

  private var pending: [UInt8] = []
  private var position = 0
  /// How many bytes came before `pending`.
  private var passed: Int64 = 0
  /// Of each interface, which client it is; `nil`: its packets cannot be read.
  private var interfaces: [Int?] = []
  private var hasBegun = false

  /// The largest packet of MQTT, and a frame of STOMP has less; and what is around it.
  private static let longestBlock = 268_435_460 + 65_536
  private let longest: Int

  /// No block is larger than this.
  init(longest: Int = Self.longestBlock) { self.longest = longest }

  mutating func add(_ bytes: [UInt8]) {
    if position > 0 {
      pending.removeFirst(position)
      passed += Int64(position)
      position = 0
    }
    pending += bytes
  }

  /// All that was added has been read.
  var isAtEnd: Bool { position == pending.count }

  /// `nil`: the next block is not here, or not all of it.
  mutating func next() throws(Fault) -> CaptureItem? {
    while let (type, body) = try block() {
      if let item = try item(type, ByteCursor(pending, body)) { return item }
    }
    return nil
  }

  // ---- Helpers

  /// Takes a block. Returns where its body is.
  private mutating func block() throws(Fault) -> (UInt32, Range<Int>)? {
    var cursor = ByteCursor(pending, position..<pending.count)
    guard let type = cursor.little32() else { return nil }
    guard hasBegun || type == CaptureBlock.sectionHeader.rawValue else { throw .noCapture }
    guard let count = cursor.little32() else { return nil }
    // On a processor of 32 bits, not every one is a number.
    guard let size = Int(exactly: count) else { throw .damaged(at: offset) }
    if type == CaptureBlock.sectionHeader.rawValue {
      guard let order = cursor.little32() else { return nil }
      guard order != 0x4D3C_2B1A else { throw .byteOrder }
      guard order == 0x1A2B_3C4D else { throw hasBegun ? .damaged(at: offset) : .noCapture }
    }
    guard size >= 12, size % 4 == 0, size <= longest else { throw .damaged(at: offset) }
    guard pending.count - position >= size else { return nil }
    var end = ByteCursor(pending, position + size - 4..<position + size)
    guard end.little32() == count else { throw .damaged(at: offset) }
    hasBegun = true
    let body = position + 8..<position + size - 4
    position += size
    return (type, body)
  }

  private var offset: Int64 { passed + Int64(position) }

  private mutating func item(_ type: UInt32, _ body: ByteCursor) throws(Fault) -> CaptureItem? {
    switch CaptureBlock(rawValue: type) {
    case .sectionHeader:
      interfaces = []
      return .section
    case .interfaceDescription:
      guard let name = interface(body) else { throw .damaged(at: offset) }
      return interfaces.last == .some(nil) ? nil : .client(name: name)
    case .enhancedPacket: return try packet(body).map { .packet($0) }
    case .interfaceStatistics: return try statistics(body)
    case nil: return nil
    }
  }

  private mutating func interface(_ body: ByteCursor) -> [UInt8]? {
    var body = body
    guard let link = body.little16(), body.skip(6) else { return nil }
    var name: [UInt8] = []
    var isMicroseconds = true
    while let (code, value) = body.option() {
      if code == 2 { name = value }
      if code == 9 { isMicroseconds = value == [6] }
    }
    let clients = interfaces.count { $0 != nil }
    interfaces.append(link == 252 && isMicroseconds ? clients : nil)
    return name
  }

  /// The upper half of a time some thousand years from now.
  private static let latest: UInt32 = 1 << 26

  /// `nil`: it is of no protocol that is known here.
  private func packet(_ body: ByteCursor) throws(Fault) -> SeenPacket? {
    var body = body
    guard let interface = body.little(), let high = body.little32(), let low = body.little32(),
      let captured = body.little(), let length = body.little(), interface < interfaces.count,
      high < Self.latest, let data = body.bytes(captured), body.align()
    else { throw .damaged(at: offset) }
    guard let client = interfaces[interface], let tags = try Self.tags(data) else { return nil }
    var comment: [UInt8] = []
    var isSent = false
    while let (code, value) = body.option() {
      if code == 1 { comment = value }
      if code == 2 { isSent = value.first == 2 }
    }
    let port = isSent ? tags.source : tags.destination
    return SeenPacket(
      client: client, microseconds: Int64(bitPattern: UInt64(high) << 32 | UInt64(low)),
      isSent: isSent,
      length: max(length - tags.size, 0), bytes: Array(data[tags.size...]), comment: comment,
      connection: port < 49_152 ? 0 : port - 49_152)
  }

  private func statistics(_ body: ByteCursor) throws(Fault) -> CaptureItem? {
    var body = body
    guard let interface = body.little(), body.skip(8), interface < interfaces.count else {
      throw .damaged(at: offset)
    }
    var lost: Int64 = 0
    var text: [UInt8] = []
    while let (code, value) = body.option() {
      if code == 1 { text = value }
      if code == 5, value.count == 8 {
        lost = min(max(0, value.reversed().reduce(0) { $0 << 8 | Int64($1) }), ClientNumbers.most)
      }
    }
    return interfaces[interface].map { .statistics(client: $0, lost: lost, text: text) }
  }

  /// How many bytes of tags are before a packet of the protocol, and the ports that they have; `nil`: it is none.
  private static func tags(_ data: [UInt8]) throws(Fault) -> (size: Int, source: UInt32, destination: UInt32)?
  {
    var cursor = ByteCursor(data)
    var dissector: [UInt8] = []
    var ports: (source: UInt32, destination: UInt32) = (0, 0)
    while let tag = cursor.big16(), let size = cursor.big16(), let value = cursor.bytes(Int(size)) {
      if tag == 0 {
        if dissector == Program.otherCaptured.dissector { throw .otherProtocol }
        return dissector == Program.captured.dissector
          ? (cursor.position, ports.source, ports.destination) : nil
      }
      if tag == 12 { dissector = Array(value.prefix { $0 != 0 }) }
      if tag == 25, size == 4 { ports.source = UInt32(value[2]) << 8 | UInt32(value[3]) }
      if tag == 26, size == 4 { ports.destination = UInt32(value[2]) << 8 | UInt32(value[3]) }
    }
    return nil
  }
}
