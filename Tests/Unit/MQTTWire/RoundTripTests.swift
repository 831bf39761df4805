import Foundation
import MQTTWire
import TestSupport
import Testing

/// Generated packets of every kind, from the model to this module and from this module to the model.
///
/// A packet that fails is named by its seed; `SEED=17 swift test --filter RoundTripTests` tries that alone.
@Suite struct RoundTripTests {
  static let seeds: [UInt64] = {
    if let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) { return [seed] }
    return Array(0..<3_000)
  }()

  /// Model, bytes as the specification has them, our parser: all fields and properties are the model's.
  @Test(arguments: Kind.received)
  func received(kind: Kind) {
    tryAll(kind) { packet, generator in
      let bytes = packet.bytes(kind.version, generator.form(kind))
      return (packet, try Model.Packet.parse(bytes, kind.version))
    }
  }

  /// Model, our encoder, a decoder after the specification: the model again, and nothing behind it.
  @Test(arguments: Kind.sent)
  func sent(kind: Kind) {
    tryAll(kind) { packet, _ in
      let bytes = try packet.encodedByModule(kind.version)
      let decoded = try Model.Packet.decode(bytes, kind.version, from: .client)
      guard decoded?.size == bytes.count else { throw Contradiction("Remaining Length") }
      return (packet.asSent, decoded?.packet)
    }
  }

  /// Every seed, up to the first whose packet does not come back.
  private func tryAll(
    _ kind: Kind, _ send: (Model.Packet, inout PacketGenerator) throws -> (Model.Packet, back: Model.Packet?)
  ) {
    var properties: Set<UInt8> = []
    for seed in Self.seeds {
      var generator = PacketGenerator(seed: seed)
      let packet = generator.packet(kind)
      for property in packet.properties { properties.insert(property.identifier) }
      do {
        let (expected, back) = try send(packet, &generator)
        if back == expected { continue }
        Issue.record("SEED=\(seed): \(text(expected)) came back as \(text(back))")
      } catch {
        Issue.record("SEED=\(seed): \(error) of \(text(packet))")
      }
      return
    }
    // The generator leaves none out.
    if Self.seeds.count > 1 && kind.version == .v5_0 { #expect(properties == kind.place.identifiers) }
  }

  private func text(_ packet: Model.Packet?) -> Substring {
    packet.map { String(describing: $0).prefix(2_000) } ?? "nothing"
  }

  /// The borders are reached: of sizes, of numbers, of characters; and the same seed makes the same packet.
  @Test func generatorReachesTheBorders() {
    let kind = Kind(type: .connack, version: .v5_0, sender: .server)
    var sizes: Set<Int> = []
    var numbers: Set<UInt32> = []
    var users: Set<Int> = []
    var characters: Set<[UInt8]> = []
    for seed in UInt64(0)..<4_000 {
      var generator = PacketGenerator(seed: seed)
      let list = generator.packet(kind).properties
      users.insert(list.count { $0.identifier == 0x26 })
      for property in list {
        switch property.value {
        case .number(let number): numbers.insert(number)
        case .bytes(let bytes) where property.identifier != 0x16:
          sizes.insert(bytes.count)
          if bytes.count <= 4 { characters.insert(bytes) }
        default: break
        }
      }
      if seed % 100 == 0 {
        var again = PacketGenerator(seed: seed)
        #expect(again.packet(kind).properties == list)
      }
    }
    #expect(sizes.isSuperset(of: [0, 1, 127, 128, 255, 256, 16_383, 16_384, 65_535]))
    #expect(numbers.isSuperset(of: PacketGenerator.numbers))
    #expect(characters.isSuperset(of: PacketGenerator.characters))
    #expect(users == [0, 1, 2, 3])
  }
}
