import Foundation
import MQTTWire
import Storage
import TestSupport
import Testing

extension ProtocolVersion {
  /// As the vectors name it.
  init?(name: some StringProtocol) {
    switch name {
    case "3.1": self = .v3_1
    case "3.1.1": self = .v3_1_1
    case "5.0": self = .v5_0
    default: return nil
    }
  }
}

// MARK: Golden vectors

/// One packet of `Vectors/*.hex`, written from the specification. Vectors/README.md has the format.
struct Vector: Sendable, CustomTestStringConvertible {
  enum Direction: String { case sent, received, both }

  let name: String
  let version: ProtocolVersion
  let direction: Direction
  /// Where the specification has it.
  let reference: String
  var bytes: [UInt8] = []

  var testDescription: String { name }
  var isSent: Bool { direction != .received }
  var isReceived: Bool { direction != .sent }

  static let all: [Vector] = {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Vectors")
    let files = try! FileManager.default.contentsOfDirectory(atPath: folder.path)
    return files.filter { $0.hasSuffix(".hex") }.sorted().flatMap { file in
      parse(try! String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8), file: file)
    }
  }()

  static let received = all.filter(\.isReceived)
  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

  static func named(_ name: String) -> Vector {
    guard let vector = byName[name] else { fatalError("no vector \(name)") }
    return vector
  }

  private static func parse(_ text: String, file: String) -> [Vector] {
    var vectors: [Vector] = []
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      if line.hasPrefix(" ") {
        vectors[vectors.count - 1].bytes += hex(String(line.prefix { $0 != ";" }))
        continue
      }
      let words = line.split(separator: " ", maxSplits: 3)
      guard words.count == 4, let direction = Direction(rawValue: String(words[2])),
        let version = ProtocolVersion(name: words[1])
      else { fatalError("\(file): \(line)") }
      vectors.append(
        Vector(
          name: String(words[0]), version: version, direction: direction,
          reference: words[3].trimmingCharacters(in: .whitespaces)))
    }
    return vectors
  }
}

func vector(_ name: String) -> [UInt8] { Vector.named(name).bytes }

extension [UInt8] {
  subscript(extent: ByteRange) -> [UInt8] { Array(self[extent.range]) }
}

// MARK: Packets out and in

/// What `encode` writes into `size` bytes; it must fill them exactly.
func encoded(_ size: Int, _ encode: (inout ByteWriter) -> Void) -> [UInt8] {
  var bytes = [UInt8](repeating: 0xAA, count: size)
  let count: Int
  do {
    var writer = ByteWriter(bytes.mutableSpan)
    encode(&writer)
    count = writer.count
  }
  #expect(count == size)
  return bytes
}

/// The packets a server sends, as this module reads them.
enum Received {
  case connack(Connack)
  case publish(ReceivedPublish)
  case acknowledgement(Acknowledgement)
  case pingresp
  case subscriptionAnswer(Suback)
  case disconnect(Disconnect)
  case auth(Auth)

  /// Reads what follows the Fixed Header.
  init(
    parsing body: Span<UInt8>, type: ControlPacketType, flags: UInt8, version: ProtocolVersion
  ) throws(Malformed) {
    switch type {
    case .connack: self = .connack(try Connack(parsing: body, version: version))
    case .publish: self = .publish(try ReceivedPublish(parsing: body, flags: flags, version: version))
    case .puback, .pubrec, .pubrel, .pubcomp:
      self = .acknowledgement(try Acknowledgement(parsing: body, type: type, version: version))
    case .pingresp:
      try Ping.parseResponse(body)
      self = .pingresp
    case .suback, .unsuback:
      self = .subscriptionAnswer(try Suback(parsing: body, type: type, version: version))
    // Before 5.0 a server has no DISCONNECT to send (3.1.1: Table 2.1).
    case .disconnect where version.hasProperties: self = .disconnect(try Disconnect(parsing: body))
    case .auth: self = .auth(try Auth(parsing: body))
    default: throw .packetType
    }
  }

  /// Reads the packet at the beginning of `bytes`; `nil`: it isn't all there.
  init?(packet bytes: [UInt8], version: ProtocolVersion) throws(Malformed) {
    guard let header = try FixedHeader(parsing: bytes.span, version: version),
      header.packetSize <= bytes.count
    else { return nil }
    try self.init(
      parsing: bytes.span.extracting(header.size..<header.packetSize), type: header.type,
      flags: header.flags, version: version)
  }

  var extents: [ByteRange] {
    switch self {
    case .connack(let connack):
      [
        connack.assignedClientIdentifier, connack.reasonString, connack.responseInformation,
        connack.serverReference, connack.authenticationMethod, connack.authenticationData,
        connack.properties,
      ]
    case .publish(let publish): [publish.topic, publish.properties, publish.payload]
    case .acknowledgement(let acknowledgement): [acknowledgement.reasonString, acknowledgement.properties]
    case .subscriptionAnswer(let answer): [answer.reasonCodes, answer.reasonString, answer.properties]
    case .pingresp: []
    case .disconnect(let disconnect):
      [disconnect.reasonString, disconnect.serverReference, disconnect.properties]
    case .auth(let auth): [auth.method, auth.data, auth.reasonString, auth.properties]
    }
  }

  func staysWithin(_ size: Int) -> Bool {
    extents.allSatisfy { $0.offset >= 0 && $0.count >= 0 && $0.end <= size }
  }
}

/// The packet's Fixed Header, and what follows it.
func split(_ packet: [UInt8], _ version: ProtocolVersion) throws -> (header: FixedHeader, body: [UInt8]) {
  let header = try #require(try FixedHeader(parsing: packet.span, version: version))
  #expect(header.packetSize == packet.count)
  return (header, Array(packet[header.size...]))
}
