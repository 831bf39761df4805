/// Which packets are shown: words that are names of packets, filters of topics as the program has them, or "sent" and
/// "received". A packet is shown if its kind is among those that are named, and one of its topics matches one of the
/// filters; of what is not named, all. A word of capital letters is the name of a packet, or misspelled: with MQTT, the
/// topic ALARM is written as ALARM/#, which matches it.
struct PacketFilter {
  let text: [UInt8]
  private var types: [UInt8] = []
  private var topics: [[UInt8]] = []
  private var isSent: Bool?

  /// `nil`: a word is none of these.
  init?(_ text: [UInt8]) {
    self.text = text
    for word in text.split(separator: 32).map({ Array($0) }) {
      let name = word.lowercased
      if let type = DecodedPacket.names.indices.first(where: {
        $0 > 0 && DecodedPacket.names[$0].bytes.lowercased == name
      }) {
        types.append(UInt8(type))
      } else if name == "sent" || name == "received" {
        isSent = name == "sent"
      } else if !word.allSatisfy({ 65...90 ~= $0 }) && Program.isFilter(word) {
        topics.append(word)
      } else {
        return nil
      }
    }
  }

  func shows(_ packet: DecodedPacket, isSent: Bool) -> Bool {
    if let wanted = self.isSent, wanted != isSent { return false }
    if !types.isEmpty && !types.contains(packet.type) { return false }
    guard !topics.isEmpty else { return true }
    return packet.topics.contains { name in
      topics.contains { $0 == name || Program.matches(filter: $0, name) }
    }
  }
}

extension [UInt8] {
  /// A part of it, whatever the case of ASCII letters; `wanted` is in lower case.
  func contains(ignoringCase wanted: [UInt8]) -> Bool {
    guard !wanted.isEmpty else { return true }
    guard count >= wanted.count else { return false }
    let text = lowercased
    return (0...text.count - wanted.count).contains { start in
      text[start] == wanted[0] && text[start..<start + wanted.count].elementsEqual(wanted)
    }
  }
}
