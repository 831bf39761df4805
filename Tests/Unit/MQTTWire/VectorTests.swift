import MQTTWire
import TestSupport
import Testing

/// What must hold for each golden vector, whatever it says.
@Suite struct VectorTests {
  /// The vectors' own arithmetic, by the algorithm of §1.5.5 (3.1.1: §2.2.3).
  @Test(arguments: Vector.all)
  func announcesItsLength(vector: Vector) throws {
    var value = 0
    var multiplier = 1
    var rest = vector.bytes.dropFirst()
    while let byte = rest.popFirst() {
      value += Int(byte & 127) * multiplier
      multiplier *= 128
      if byte & 128 == 0 { break }
    }
    #expect(value == rest.count)
    #expect(
      vector.reference.contains("§") || vector.reference.contains("Table")
        || vector.reference.contains("[MQTT-"))
  }

  @Test func namesAreUnique() {
    #expect(Set(Vector.all.map(\.name)).count == Vector.all.count)
    #expect(Vector.all.count > 200)
  }

  /// No vector lies unused, in either direction.
  @Test func everyVectorIsUsed() {
    let sent: [[String]] = [
      Array(ConnectTests.cases.keys), Array(PublishTests.cases.keys), Array(AcknowledgementTests.cases.keys),
      PingTests.requests, Array(DisconnectTests.sentCases.keys),
      Array(SubscriptionRequestTests.cases.keys), Array(AuthTests.sentCases.keys),
    ]
    let received: [[String]] = [
      Array(ConnackTests.cases.keys), Array(PublishTests.receivedCases.keys),
      Array(AcknowledgementTests.receivedCases.keys), PingTests.responses,
      Array(DisconnectTests.receivedCases.keys), Array(SubackTests.cases.keys),
      Array(AuthTests.receivedCases.keys),
    ]
    #expect(Set(sent.joined()) == Set(Vector.all.filter(\.isSent).map(\.name)))
    #expect(Set(received.joined()) == Set(Vector.all.filter(\.isReceived).map(\.name)))
  }

  /// Every strict prefix of a packet is answered "more bytes are needed".
  @Test(arguments: Vector.all)
  func prefixesNeedMore(vector: Vector) throws {
    let whole = try #require(try FixedHeader(parsing: vector.bytes.span, version: vector.version))
    #expect(whole.packetSize == vector.bytes.count)
    var wrong: [Int] = []
    for count in 0..<vector.bytes.count {
      let header = try FixedHeader(parsing: vector.bytes.span.extracting(0..<count), version: vector.version)
      if count < whole.size ? header != nil : header?.packetSize != whole.packetSize { wrong.append(count) }
    }
    #expect(wrong == [])
  }

  /// The tests' own reading of the specification, which most other tests build on: it reads every vector and
  /// writes it again.
  @Test(arguments: Vector.all)
  func modelAgrees(vector: Vector) throws {
    for sender in vector.senders {
      let tolerated = Set(vector.name == "connack-5-old-refusal" ? [Tolerance.shortRefusal] : [])
      let decoded = try #require(
        try Model.Packet.decode(vector.bytes, vector.version, from: sender, tolerating: tolerated))
      #expect(decoded.size == vector.bytes.count)
      guard tolerated.isEmpty else { continue }
      var form = Form()
      if vector.version == .v3_1 {
        form.unusedFlags = vector.bytes[0] & 0x0F
        if case .connack = decoded.packet { form.reservedByte = vector.bytes[2] }
      }
      let written = [(false, false), (true, false), (true, true)].map { code, length in
        (form.writesReasonCode, form.writesPropertyLength) = (code, length)
        return decoded.packet.bytes(vector.version, form)
      }
      #expect(written.contains(vector.bytes))
    }
  }

  /// Each packet of each version stands there with nothing in it that may be left out, and with all that
  /// there can be.
  @Test(arguments: Kind.all)
  func minimalAndFull(kind: Kind) throws {
    let other = Kind(
      type: kind.type, version: kind.version, sender: kind.sender == .client ? .server : .client)
    // Where both sides may say the same, one of them is enough.
    let isAlike = Kind.all.contains(other) && other.place.identifiers == kind.place.identifiers
    var packets: [(packet: Model.Packet, isShortest: Bool)] = []
    for vector in Vector.all
    where vector.version == kind.version && vector.bytes[0] >> 4 == kind.type.rawValue {
      for sender in vector.senders where sender == kind.sender || isAlike {
        guard let packet = try? Model.Packet.decode(vector.bytes, kind.version, from: sender)?.packet else {
          continue
        }
        packets.append((packet, packet.bytes(kind.version) == vector.bytes))
      }
    }
    #expect(packets.contains { $0.isShortest && $0.packet.isMinimal }, "no minimal one")
    #expect(packets.contains { $0.packet.isFull(kind) }, "no full one")
  }
}

extension Vector {
  fileprivate var senders: [Sender] { (isSent ? [.client] : []) + (isReceived ? [.server] : []) }
}

extension Model.Packet {
  fileprivate var isMinimal: Bool {
    switch self {
    case .connect(let connect):
      properties.isEmpty && connect.will == nil && connect.userName == nil && connect.password == nil
    case .connack(let sessionPresent, let code, _): properties.isEmpty && !sessionPresent && code == 0
    case .publish(let publish):
      properties.isEmpty && publish.qos == 0 && !publish.retain && publish.payload.isEmpty
    case .acknowledgement(_, _, let code, _), .disconnect(let code, _): properties.isEmpty && code == 0
    case .subscribe(_, _, let subscriptions): properties.isEmpty && subscriptions.count == 1
    case .unsubscribe(_, _, let filters): properties.isEmpty && filters.count == 1
    case .answer(_, _, _, let codes): properties.isEmpty && codes.count <= 1
    case .ping: true
    case .auth: properties.count <= 1  // the Authentication Method
    }
  }

  /// With every property that may be there, and every field.
  fileprivate func isFull(_ kind: Kind) -> Bool {
    let is5 = kind.version == .v5_0
    guard !is5 || Set(properties.map(\.identifier)) == kind.place.identifiers else { return false }
    switch self {
    case .connect(let connect):
      guard let will = connect.will, connect.userName != nil, connect.password != nil else { return false }
      let identifiers = Place(packet: nil, sender: .client).identifiers
      return !is5 || Set(will.properties.map(\.identifier)) == identifiers
    case .connack(let sessionPresent, _, _): return sessionPresent || kind.version == .v3_1
    case .publish(let publish): return publish.identifier != nil && !publish.payload.isEmpty
    case .acknowledgement(_, _, let code, _), .disconnect(let code, _): return code != 0 || !is5
    case .subscribe(_, _, let subscriptions):
      let isEverything = { (subscription: Model.Subscription) in
        subscription.noLocal && subscription.retainAsPublished && subscription.retainHandling > 0
      }
      return subscriptions.count > 1 && (!is5 || subscriptions.contains(where: isEverything))
    case .unsubscribe(_, _, let filters): return filters.count > 1
    case .answer(let type, _, _, let codes): return codes.count > 1 || type == .unsuback && !is5
    case .ping, .auth: return true
    }
  }
}
