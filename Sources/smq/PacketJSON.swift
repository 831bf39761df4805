extension JSONWriter {
  /// `isNamed`: the object says already which client it is.
  mutating func add(_ packet: DecodedPacket, isNamed: Bool) {
    func shown(_ text: [UInt8]) -> [UInt8] { text.isUTF8 ? text : text.escaped }
    if let identifier = packet.identifier {
      key("id")
      number(Int64(identifier))
    }
    if let connect = packet.connect {
      if !isNamed {
        key("client_id")
        string(shown(connect.clientID))
      }
      key("version")
      string(versionNumber(UInt32(connect.version)).bytes)
      key("keep_alive")
      number(Int64(connect.keepAlive))
    }
    if packet.type == 3 { addMessage(packet, shown) }
    if !packet.filters.isEmpty {
      key("filters")
      beginArray()
      for (filter, _) in packet.filters { string(shown(filter)) }
      endArray()
    }
    if !packet.reasonCodes.isEmpty {
      key("reasons")
      beginArray()
      for code in packet.reasonCodes { string(packet.reason(code).bytes) }
      endArray()
    }
    let properties = MQTT.properties(packet.properties)
    if !properties.isEmpty { add(properties, isAlwaysText: true) }
    if packet.isDamaged {
      key("malformed")
      bool(true)
    }
  }

  private mutating func addMessage(_ packet: DecodedPacket, _ shown: ([UInt8]) -> [UInt8]) {
    key("topic")
    string(shown(packet.topic))
    key("qos")
    number(Int64(packet.qos))
    key("retain")
    bool(packet.retain)
    key("dup")
    bool(packet.duplicate)
    key("payload_bytes")
    number(Int64(packet.payloadSize))
    add(payload: packet.payload, topic: packet.topic)
  }
}
