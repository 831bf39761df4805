import MQTTWire
import Storage

/// What is read and changed in the packets of the queue.
extension SubscribeQueue {
  /// Returns the next Topic Filter of a packet, as a range of `filters`, or `nil` behind the last.
  func filter(of slot: Int, at position: inout Int) -> ByteRange? {
    let descriptor = table[slot]
    let end = Int(truncatingIfNeeded: descriptor.offset &+ descriptor.length)
    if position == 0 { position = firstFilter(descriptor) }
    guard position < end else { return nil }
    let packet = bytes.bytes
    let size = Int(packet[position]) << 8 | Int(packet[position &+ 1])
    let filter = ByteRange(offset: position &+ 2, count: size)
    position = filter.end &+ (descriptor.type == .subscribe ? 1 : 0)
    return filter
  }

  var filters: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { bytes.bytes }
  }

  /// Our own packet: it can be read.
  private func firstFilter(_ descriptor: Descriptor) -> Int {
    let packet = bytes.bytes
    var position = Int(truncatingIfNeeded: descriptor.offset) &+ 1
    while packet[position] >= 0x80 { position &+= 1 }
    position &+= 3
    guard descriptor.hasProperties else { return position }
    var length = 0
    var shift = 0
    while true {
      let byte = packet[position]
      position &+= 1
      length |= Int(byte & 0x7F) << shift
      shift &+= 7
      if byte < 0x80 { return position &+ length }
    }
  }

  /// 3.1 has DUP for SUBSCRIBE and UNSUBSCRIBE too (its §2.1).
  mutating func setDuplicateFlag(_ slot: Int) {
    let offset = Int(truncatingIfNeeded: table[slot].offset)
    var packet = bytes.mutableBytes(in: offset..<offset &+ 1)
    packet[0] |= Publish.duplicateFlag
  }

  /// Turns a packet of 5.0 into one of 3.1.1, which has no properties, and of the Subscription Options only
  /// the QoS.
  mutating func downgrade(_ slot: Int) {
    let descriptor = table[slot]
    let end = Int(truncatingIfNeeded: descriptor.offset &+ descriptor.length)
    var packet = bytes.mutableBytes(in: Int(truncatingIfNeeded: descriptor.offset)..<end)
    var reader = ByteReader(packet.span)
    // Our own packet: it can be read.
    guard (try? reader.byte()) != nil, (try? reader.variableByteInteger()) != nil,
      (try? reader.uint16()) != nil, let length = try? reader.variableByteInteger(),
      (try? reader.extent(length)) != nil
    else { return }
    let filters = reader.position
    var position = filters
    while descriptor.type == .subscribe, position < packet.count {
      position &+= 2 &+ (Int(packet[position]) << 8 | Int(packet[position &+ 1]))
      packet[position] &= 3
      position &+= 1
    }
    let remainingLength = 2 &+ packet.count &- filters
    let start = filters &- 3 &- VariableByteInteger.encodedSize(remainingLength)
    var header = ByteWriter(packet._mutatingExtracting(start..<filters))
    header.put(descriptor.type.firstByte)
    header.put(variableByteInteger: remainingLength)
    header.put(Self.identifier(slot, descriptor.cookie).rawValue)
    table[slot].offset = descriptor.offset &+ UInt32(truncatingIfNeeded: start)
    table[slot].length = descriptor.length &- UInt32(truncatingIfNeeded: start)
    table[slot].hasProperties = false
  }
}
