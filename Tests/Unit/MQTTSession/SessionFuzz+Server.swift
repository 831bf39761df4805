import MQTTWire
import TestSupport

/// What the server says: good answers, and packets that are nearly right.
extension SessionFuzz {
  /// What a good server answers to the packets that have come whole.
  func answers() -> [UInt8] {
    let version = version
    var answers: [UInt8] = []
    while let size = firstPacketSize(fromClient[...]) {
      let packet = Array(fromClient.prefix(size))
      fromClient.removeFirst(size)
      if !Self.isOfAClient(packet[0]) { fault = "sends \(packet)" }
      if packet[0] >> 4 == 3 { noteRequest(ReadPublish(packet, version)) }
      answers += Self.answer(packet, version)
    }
    return answers
  }

  /// Its Response Topic and its Correlation Data are the last of its properties.
  private func noteRequest(_ message: ReadPublish) {
    guard version == .v5_0, message.properties.count >= 15 else { return }
    let correlation = Array(message.properties.suffix(8))
    guard message.properties.suffix(15) == responseTopic("r") + correlationData(correlation) else { return }
    correlations.append(correlation)
  }

  /// The first bytes that §2.1 allows a client.
  private static func isOfAClient(_ first: UInt8) -> Bool {
    switch first >> 4 {
    case 3: first & 6 != 6
    case 6, 8, 10: first & 7 == 2  // 3.1 has DUP there
    case 1, 4, 5, 7, 12, 14, 15: first & 15 == 0
    default: false
    }
  }

  private static func answer(_ packet: [UInt8], _ version: ProtocolVersion) -> [UInt8] {
    switch packet[0] >> 4 {
    case 3:
      let message = ReadPublish(packet, version)
      return message.qos == 0
        ? [] : message.qos == 1 ? puback(message.identifier) : pubrec(message.identifier)
    case 6: return [0x70, 2] + packet[2...3]
    case 8: return suback(version, UInt16(packet[2]) << 8 | UInt16(packet[3]), [0])
    case 10: return unsuback(version, UInt16(packet[2]) << 8 | UInt16(packet[3]), [0])
    case 12: return pingresp
    default: return []
    }
  }

  private func identifier() -> UInt16 { UInt16(1 + random.below(8)) }

  private func publishFromServer() -> [UInt8] {
    let qos = allQoS[random.below(3)]
    var properties: [UInt8] = []
    var topic = ["a", "a/b", "topic/long", String(repeating: "l", count: 60 + random.below(60))][
      random.below(4)]
    if version == .v5_0 {
      if random.percent(30) { properties += topicAlias(UInt16(random.percent(95) ? 1 + random.below(3) : 9)) }
      if !properties.isEmpty, random.percent(50) { topic = "" }
      if let correlation = correlations.randomElement(using: &random), random.percent(50) {
        if topic != "" { topic = "r" }
        properties += correlationData(random.percent(80) ? correlation : random.bytes(8))
      }
      if random.percent(20) {
        properties += userProperty("k", String(repeating: "v", count: random.below(80)))
      }
    }
    let size = random.below(random.percent(70) ? 10 : 300)
    return publish(
      version, topic, random.bytes(size), qos: qos, identifier: identifier(), retain: random.percent(10),
      duplicate: qos != .atMostOnce && random.percent(20), properties: properties)
  }

  func packet() -> [UInt8] {
    var bytes: [UInt8]
    let code: UInt8 = version == .v5_0 && random.percent(20) ? 0x80 : 0
    switch random.below(20) {
    case 0..<8: bytes = publishFromServer()
    case 8..<10: bytes = pubrel(identifier())
    case 10, 11: bytes = puback(identifier(), code)
    case 12: bytes = pubrec(identifier(), code)
    case 13: bytes = pubcomp(identifier())
    case 14: bytes = suback(version, 65_280 + UInt16(random.below(3)), [random.percent(20) ? 0x80 : 0])
    case 15: bytes = unsuback(version, 65_280 + UInt16(random.below(3)), [0])
    case 16 where version == .v5_0:
      bytes = auth(random.percent(50) ? 0x18 : 0, authenticationMethod(random.percent(90) ? "M" : "N"))
    case 17 where version == .v5_0 && random.percent(10): bytes = disconnect(0x8B, property(0x1F, "bye"))
    default:
      // What the session itself has sent is answered well.
      bytes = answers()
      if bytes.isEmpty { bytes = pingresp }
    }
    if random.percent(3), !bytes.isEmpty { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
    return bytes
  }
}
