import MQTTWire
import TestSupport
import Testing

/// Bytes that are nearly a packet, and bytes that are none. To each there is an answer, never a trap, and it
/// is the specification's: a decoder written from it reads what this module reads, refuses what it refuses,
/// and finds the same in it. `Tolerance` names all that is different.
@Suite struct FuzzTests {
  /// What became of the bytes that were tried.
  struct Tally {
    var tried = 0
    var read = 0
    /// The first few.
    var differences: [String] = []

    mutating func add(_ bytes: [UInt8], _ version: ProtocolVersion) {
      let module = Answer(module: bytes, version)
      let specification = Answer(specification: bytes, version, tolerating: Set(Tolerance.allCases))
      tried += 1
      if case .packet = module { read += 1 }
      if module != specification && differences.count < 5 {
        differences.append("\(version) \(text(bytes)): \(module), specification: \(specification)")
      }
    }
  }

  enum Answer: Equatable {
    case packet(Model.Packet)
    case needsMore
    case refused
    case contradiction(String)

    init(module bytes: [UInt8], _ version: ProtocolVersion) {
      do {
        self = try Model.Packet.parse(bytes, version).map(Answer.packet) ?? .needsMore
      } catch {
        self = (error as? Contradiction).map { .contradiction($0.field) } ?? .refused
      }
    }

    init(specification bytes: [UInt8], _ version: ProtocolVersion, tolerating: Set<Tolerance>) {
      do throws(BrokenRule) {
        let decoded = try Model.Packet.decode(bytes, version, from: .server, tolerating: tolerating)
        self = decoded.map { .packet($0.packet) } ?? .needsMore
      } catch {
        self = .refused
      }
    }
  }

  // MARK: One byte is not what it was

  @Test(arguments: Vector.received)
  func vectors(vector: Vector) {
    var random = SeededRandom(seed: 5)
    var tally = Tally()
    for version in ProtocolVersion.all {
      let isOwn = version == vector.version
      Self.mutate(vector.bytes, wholly: isOwn && vector.bytes.count <= 40, &random) { tally.add($0, version) }
    }
    #expect(tally.differences == [])
    #expect(tally.tried >= 2 * 255 && tally.read > 0)
  }

  /// Ten of every kind.
  @Test(arguments: Kind.received)
  func generated(kind: Kind) {
    var random = SeededRandom(seed: 6)
    var tally = Tally()
    for seed in UInt64(0)..<10 {
      var generator = PacketGenerator(seed: seed)
      let packet = generator.packet(kind)
      let bytes = packet.bytes(kind.version, generator.form(kind))
      Self.mutate(bytes, wholly: bytes.count <= 20, &random) { tally.add($0, kind.version) }
    }
    #expect(tally.differences == [])
    #expect(tally.tried >= 10 * 2 * 255 && tally.read > 0)
  }

  /// Every prefix; every byte replaced, taken away, and another put before it: by every value in every place
  /// if `wholly`, else at the beginning, at the end and in places between, by values at borders and by
  /// random. What changes the size is tried as it is and with the Remaining Length put right.
  private static func mutate(
    _ packet: [UInt8], wholly: Bool, _ random: inout SeededRandom, _ body: ([UInt8]) -> Void
  ) {
    let headerSize = 2 + packet[1...].prefix { $0 >= 128 }.count
    func resized(_ bytes: [UInt8]) {
      body(bytes)
      guard bytes.count >= headerSize else { return }
      let rest = bytes[headerSize...]
      body([packet[0]] + variableByteInteger(rest.count) + rest)
    }
    for place in packet.indices {
      let (before, after) = (Array(packet.prefix(place)), packet.dropFirst(place))
      body(before)
      let isTried = wholly || place < 24 || place >= packet.count - 4
      guard isTried || random.next() % UInt64(packet.count) < 16 else { continue }
      var bytes = packet
      let values = wholly ? Array(UInt8.min ... .max) : [0, 1, 0x7F, 0x80, 0xFF] + random.bytes(15)
      for value in values where value != packet[place] {
        bytes[place] = value
        body(bytes)
      }
      resized(before)
      resized(before + after.dropFirst())
      for value in random.bytes(2) { resized(before + [value] + after) }
    }
    resized(packet + random.bytes(1))
  }

  // MARK: Random bytes

  /// Bytes from nowhere, behind a first byte that says what they shall be.
  @Test(arguments: ProtocolVersion.all)
  func randomBytes(version: ProtocolVersion) {
    var random = SeededRandom(seed: 1)
    let firstBytes: [UInt8] = [
      0x20, 0x30, 0x31, 0x32, 0x3C, 0x40, 0x50, 0x62, 0x70, 0x90, 0xB0, 0xD0, 0xE0, 0xF0,
    ]
    var tally = Tally()
    for _ in 0..<20_000 {
      let count = Int.random(in: 0...40, using: &random)
      var bytes = [firstBytes.randomElement(using: &random)!, UInt8(count)] + random.bytes(count)
      // Small numbers are what lengths and identifiers are made of.
      for index in 2..<bytes.count where Bool.random(using: &random) { bytes[index] &= 0x2F }
      tally.add(bytes, version)
    }
    #expect(tally.differences == [])
    #expect(tally.read > 100)
  }

  // MARK: What is tolerated

  static let tolerated: [(Tolerance, ProtocolVersion, String)] = [
    (.unknownFailure, .v5_0, "20 03 00 FF 00"),
    (.unknownFailure, .v5_0, "20 03 00 8E 00"),  // Session taken over: a code of DISCONNECT
    (.unknownFailure, .v5_0, "E0 01 FF"),
    (.unknownFailure, .v5_0, "E0 02 86 00"),  // Bad User Name or Password: a code of CONNACK
    (.shortRefusal, .v5_0, "20 02 00 01"),
    (.shortRefusal, .v5_0, "20 02 00 05"),
    (.shortRefusal, .v5_0, "20 02 00 87"),
    (.failureIn31, .v3_1, "90 03 00 0A 80"),
  ]

  @Test(arguments: tolerated)
  func tolerates(tolerance: Tolerance, version: ProtocolVersion, packet: String) {
    let module = Answer(module: hex(packet), version)
    #expect(module == Answer(specification: hex(packet), version, tolerating: [tolerance]))
    #expect(module != .refused)
    let others = Set(Tolerance.allCases).subtracting([tolerance])
    #expect(Answer(specification: hex(packet), version, tolerating: others) == .refused)
  }

  @Test func everyToleranceHasAnExample() {
    #expect(Set(Self.tolerated.map(\.0)) == Set(Tolerance.allCases))
  }
}

/// As `hex` reads it.
private func text(_ bytes: [UInt8]) -> String {
  bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(separator: " ")
}
