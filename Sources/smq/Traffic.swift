/// Packets and bytes in both directions.
struct Traffic {
  private var sent = Counted()
  private var received = Counted()

  fileprivate struct Counted {
    var packets: Int64 = 0
    var messages: Int64 = 0
    var bytes: Int64 = 0
  }

  private var newSent = Counted()
  private var newReceived = Counted()

  mutating func add(_ packet: DecodedPacket, isSent: Bool) {
    let added = Counted(packets: 1, messages: packet.type == 3 ? 1 : 0, bytes: Int64(packet.length))
    if isSent { sent += added } else { received += added }
  }

  mutating func beginInterval() {
    (newSent, newReceived) = (sent - sentBefore, received - receivedBefore)
    (sentBefore, receivedBefore) = (sent, received)
  }

  private var sentBefore = Counted()
  private var receivedBefore = Counted()

  func line(_ interval: Int64) -> Line {
    var line = Line("Sent      ")
    line.add(
      "\(perSecond(newSent.messages, interval)) msg/s  \(perSecond(newSent.bytes, interval, places: 0)) B/s",
      .notable)
    line.fill(to: 40)
    line.add("Received  ")
    line.add(
      "\(perSecond(newReceived.messages, interval)) msg/s  \(perSecond(newReceived.bytes, interval, places: 0)) B/s",
      .notable)
    return line
  }

  func write(to json: inout JSONWriter) {
    for (name, all, new) in [("sent", sent, newSent), ("received", received, newReceived)]
      as [(StaticString, Counted, Counted)]
    {
      json.key(name)
      json.beginObject()
      for (name, value) in [
        ("packets", all.packets), ("messages", all.messages), ("bytes", all.bytes),
        ("new_packets", new.packets), ("new_messages", new.messages), ("new_bytes", new.bytes),
      ] as [(StaticString, Int64)] {
        json.key(name)
        json.number(value)
      }
      json.endObject()
    }
  }
}

extension Traffic.Counted {
  fileprivate static func += (left: inout Self, right: Self) {
    left.packets += right.packets
    left.messages += right.messages
    left.bytes += right.bytes
  }

  fileprivate static func - (left: Self, right: Self) -> Self {
    Self(
      packets: left.packets - right.packets, messages: left.messages - right.messages,
      bytes: left.bytes - right.bytes)
  }
}

/// What happened that often in an interval of milliseconds.
func perSecond(_ count: Int64, _ interval: Int64, places: Int = 1) -> Text {
  let thousandths = count * 1_000_000 / max(1, interval)
  return places == 0
    ? grouped((thousandths + 500) / 1000) : fraction(thousandths: thousandths, places: places)
}
