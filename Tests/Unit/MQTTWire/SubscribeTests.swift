import MQTTWire
import Storage
import TestSupport
import Testing

/// Topic Filters with their options, one behind the other.
struct Filters: SubscriptionList, Sendable {
  private var bytes: [UInt8] = []
  private var ranges: [Range<Int>] = []
  private var options: [SubscriptionOptions] = []

  init(_ list: [(String, SubscriptionOptions)]) {
    for (filter, option) in list {
      ranges.append(bytes.count..<bytes.count + filter.utf8.count)
      bytes += filter.bytes
      options.append(option)
    }
  }

  var count: Int { ranges.count }

  @_lifetime(borrow self)
  func filter(at index: Int) -> Span<UInt8> { bytes.span.extracting(ranges[index]) }

  func options(at index: Int) -> SubscriptionOptions { options[index] }
}

extension SubscriptionOptions {
  static let all: [SubscriptionOptions] = (UInt8(0)...2).flatMap { qos in
    (UInt8(0)...2).flatMap { handling in
      [false, true].flatMap { noLocal in
        [false, true].map { asPublished in
          SubscriptionOptions(
            maximumQoS: QoS(rawValue: qos)!, noLocal: noLocal, retainAsPublished: asPublished,
            retainHandling: RetainHandling(rawValue: handling)!)
        }
      }
    }
  }
}

/// SUBSCRIBE and UNSUBSCRIBE (§3.8, §3.10).
@Suite struct SubscriptionRequestTests {
  struct Case: Sendable {
    var identifier: UInt16 = 10
    var filters: [(String, SubscriptionOptions)] = [("a/b", SubscriptionOptions(maximumQoS: .atLeastOnce))]
    var properties: [UInt8] = []

    func packet(_ type: ControlPacketType, _ version: ProtocolVersion) throws -> [UInt8] {
      let number = try #require(PacketIdentifier(identifier))
      let request = SubscribePacket(type: type, list: Filters(filters), properties: properties.span)
      let length = request.remainingLength(version)
      var bytes = [UInt8](
        repeating: 0xAA, count: 1 + VariableByteInteger.encodedSize(length) + length)
      let count: Int
      do {
        var writer = ByteWriter(bytes.mutableSpan)
        request.encode(into: &writer, identifier: number, version: version)
        count = writer.count
      }
      #expect(count == bytes.count)
      return bytes
    }
  }

  private static let qos0 = SubscriptionOptions(maximumQoS: .atMostOnce)
  private static let qos1 = SubscriptionOptions(maximumQoS: .atLeastOnce)
  private static let qos2 = SubscriptionOptions(maximumQoS: .exactlyOnce)
  private static let most = SubscriptionOptions(
    maximumQoS: .exactlyOnce, noLocal: true, retainAsPublished: true, retainHandling: .doNotSend)
  private static let two = [("a/b", qos1), ("c/d", qos2)]
  private static let options = [
    ("a", qos0), ("b", qos1), ("c", qos2),
    ("d", SubscriptionOptions(maximumQoS: .atMostOnce, noLocal: true)),
    ("e", SubscriptionOptions(maximumQoS: .atMostOnce, retainAsPublished: true)),
    ("f", SubscriptionOptions(maximumQoS: .atMostOnce, retainHandling: .sendIfNew)),
    ("g", SubscriptionOptions(maximumQoS: .atMostOnce, retainHandling: .doNotSend)),
    ("h", most),
  ]
  private static let longProperty: [UInt8] = hex("26 00 01 61 00 7A 7A*122")

  private static func long(_ count: Int) -> [(String, SubscriptionOptions)] {
    [(String(repeating: "a", count: count), qos0)]
  }

  static let cases: [String: Case] = [
    "subscribe-31-one": Case(filters: [("a/b", qos0)]),
    "subscribe-31-two": Case(filters: two),
    "subscribe-311-one": Case(identifier: 65_535, filters: [("a/b", qos2)]),
    "subscribe-311-two": Case(filters: two),
    "subscribe-311-remaining-length-127": Case(filters: long(122)),
    "subscribe-311-remaining-length-128": Case(filters: long(123)),
    "subscribe-5-one": Case(identifier: 0x1234, filters: [("a/b", qos0)]),
    "subscribe-5-two": Case(filters: two),
    "subscribe-5-options": Case(filters: options),
    "subscribe-5-shared": Case(filters: [("$share/g/a/#", qos1)]),
    "subscribe-5-every-property": Case(
      properties: hex("0B FF FF FF 7F 26 00 01 61 00 01 62 26 00 01 61 00 01 62")),
    "subscribe-5-full": Case(
      filters: [("a/b", qos1), ("c/d", most)],
      properties: hex("0B 80 01 26 00 01 61 00 01 62 26 00 01 61 00 01 63")),
    "subscribe-5-property-length-128": Case(filters: [("a", qos1)], properties: longProperty),
    "unsubscribe-31-one": Case(),
    "unsubscribe-31-two": Case(filters: two),
    "unsubscribe-311-one": Case(identifier: 65_535),
    "unsubscribe-311-two": Case(filters: two),
    "unsubscribe-311-remaining-length-128": Case(filters: long(124)),
    "unsubscribe-5-one": Case(identifier: 0x1234),
    "unsubscribe-5-two": Case(filters: two),
    "unsubscribe-5-every-property": Case(
      properties: hex("26 00 01 61 00 01 62 26 00 01 61 00 01 63")),
    "unsubscribe-5-full": Case(filters: two, properties: hex("26 00 01 61 00 01 62 26 00 01 61 00 01 62")),
    "unsubscribe-5-property-length-128": Case(filters: [("a", qos1)], properties: longProperty),
  ]

  @Test(arguments: cases.keys.sorted())
  func encodes(name: String) throws {
    let type: ControlPacketType = name.hasPrefix("un") ? .unsubscribe : .subscribe
    let fields = try #require(Self.cases[name])
    #expect(try fields.packet(type, Vector.named(name).version) == vector(name))
    var reader = PropertyReader(fields.properties.span, in: .packet(type, from: .client))
    while try reader.next() != nil {}
    #expect(reader.position == fields.properties.count)
  }

  /// §3.8.3.1: every combination of the options, in the bits where the specification has them.
  @Test func everyCombinationOfOptions() throws {
    #expect(Set(SubscriptionOptions.all.map(\.rawValue)).count == 36)
    for options in SubscriptionOptions.all {
      var byte = options.maximumQoS.rawValue
      if options.noLocal { byte += 4 }
      if options.retainAsPublished { byte += 8 }
      byte += 16 * options.retainHandling.rawValue
      #expect(options.rawValue == byte)
      #expect(try Case(filters: [("a", options)]).packet(.subscribe, .v5_0).last == byte)
      // UNSUBSCRIBE has none.
      #expect(try Case(filters: [("a", options)]).packet(.unsubscribe, .v5_0).last == 0x61)
    }
  }

  /// 3.1.1 [MQTT-3.8.3-4]: all but the QoS is reserved before 5.0, and must be 0.
  @Test(arguments: [ProtocolVersion.v3_1, .v3_1_1])
  func noOptionsBeforeVersion5(version: ProtocolVersion) throws {
    for options in SubscriptionOptions.all {
      let plain = Case(filters: [("a", SubscriptionOptions(maximumQoS: options.maximumQoS))])
      let odd = Case(filters: [("a", options)], properties: Self.longProperty)
      #expect(try odd.packet(.subscribe, version) == plain.packet(.subscribe, version))
      #expect(try odd.packet(.subscribe, version).last == options.maximumQoS.rawValue)
    }
  }

  /// Filters of the largest size, and many of them.
  @Test(arguments: ProtocolVersion.all)
  func largest(version: ProtocolVersion) throws {
    let filters = [(String, SubscriptionOptions)](
      repeating: (String(repeating: "x", count: 65_535), Self.qos1), count: 3)
    let packet = try Case(filters: filters).packet(.subscribe, version)
    let length = 2 + (version == .v5_0 ? 1 : 0) + 3 * (2 + 65_535 + 1)
    #expect(packet.count == 4 + length)
    #expect(packet.suffix(65_538) == [0xFF, 0xFF] + [UInt8](repeating: 0x78, count: 65_535) + [1])
  }
}

/// SUBACK and UNSUBACK (§3.9, §3.11).
@Suite struct SubackTests {
  struct Fields: Equatable, Sendable {
    var identifier: UInt16 = 10
    var reasonCodes: [UInt8] = []
    var reasonString: [UInt8] = []
    /// As they are on the wire.
    var properties: [UInt8] = []
  }

  private static let long = Fields(
    reasonCodes: [0], reasonString: [UInt8](repeating: 0x61, count: 125),
    properties: hex("1F 00 7D 61*125"))

  static let cases: [String: Fields] = [
    "suback-31-one": Fields(reasonCodes: [0]),
    "suback-31-three": Fields(reasonCodes: [0, 1, 2]),
    "suback-311-one": Fields(identifier: 65_535, reasonCodes: [2]),
    "suback-311-every-code": Fields(reasonCodes: [0, 1, 2, 0x80]),
    "suback-5-one": Fields(identifier: 0x1234, reasonCodes: [1]),
    "suback-5-every-code": Fields(reasonCodes: Kind.subackCodes.sorted()),
    "suback-5-every-property": Fields(
      reasonCodes: [0x87, 1], reasonString: "no".bytes,
      properties: hex("1F 00 02 6E 6F 26 00 01 61 00 01 62 26 00 01 61 00 01 62")),
    "suback-5-property-length-128": long,
    "unsuback-31": Fields(),
    "unsuback-311": Fields(identifier: 65_535),
    "unsuback-5-one": Fields(identifier: 0x1234, reasonCodes: [0]),
    "unsuback-5-every-code": Fields(reasonCodes: Kind.unsubackCodes.sorted()),
    "unsuback-5-every-property": Fields(
      reasonCodes: [0x11, 0], reasonString: "no".bytes,
      properties: hex("26 00 01 61 00 01 62 1F 00 02 6E 6F 26 00 01 61 00 01 63")),
    "unsuback-5-property-length-128": long,
  ]

  @Test(arguments: cases.keys.sorted())
  func decodes(name: String) throws {
    let version = Vector.named(name).version
    let (header, body) = try split(vector(name), version)
    #expect(header.type == (name.hasPrefix("un") ? .unsuback : .suback))
    let answer = try Suback(parsing: body.span, type: header.type, version: version)
    #expect(answer.type == header.type)
    let fields = Fields(
      identifier: answer.identifier.rawValue, reasonCodes: body[answer.reasonCodes],
      reasonString: body[answer.reasonString], properties: body[answer.properties])
    #expect(fields == Self.cases[name])
  }

  /// [MQTT-3.9.3-2] of 3.1.1. (3.1 §3.9 has 0 to 2; a Failure that a server of its time took over from 3.1.1 is
  /// understood.) 5.0: [MQTT-3.9.3-2] [MQTT-3.11.3-2].
  static let allowed: [(ControlPacketType, ProtocolVersion, Set<UInt8>)] = [
    (.suback, .v3_1, [0, 1, 2, 0x80]), (.suback, .v3_1_1, [0, 1, 2, 0x80]),
    (.suback, .v5_0, Kind.subackCodes), (.unsuback, .v5_0, Kind.unsubackCodes),
  ]

  /// All 256, alone, first, in the middle and last.
  @Test(arguments: allowed)
  func everyReasonCode(type: ControlPacketType, version: ProtocolVersion, allowed: Set<UInt8>) throws {
    for code in UInt8.min ... .max {
      for codes: [UInt8] in [[code], [code, 0], [0, code, 0], [0, code]] {
        let body = [0, 10] + (version == .v5_0 ? [0] : []) + codes
        if allowed.contains(code) {
          let answer = try Suback(parsing: body.span, type: type, version: version)
          #expect(body[answer.reasonCodes] == codes)
        } else {
          #expect(throws: Malformed.reasonCode, "\(code)") {
            try Suback(parsing: body.span, type: type, version: version)
          }
        }
      }
    }
  }

  /// As many as a server likes: how many it must be, knows who asked.
  @Test func manyReasonCodes() throws {
    let body = [0, 10] + [UInt8](repeating: 1, count: 50_000)
    let answer = try Suback(parsing: body.span, type: .suback, version: .v3_1_1)
    #expect(answer.reasonCodes == ByteRange(offset: 2, count: 50_000))
  }
}
