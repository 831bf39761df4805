import Journal
import MQTTWire
import Storage

extension JournalRecord.MessageHeader {
  /// Whether this is a message as the outbox has them. The checksum says that a record is whole, and not who wrote it.
  @inline(never)
  @_optimize(size)
  func describes(_ packet: Span<UInt8>) -> Bool {
    let kept = MessageFlags(kept: flags)
    let version: ProtocolVersion = kept.contains(.hasProperties) ? .v5_0 : .v3_1_1
    do throws(Malformed) {
      guard let fixed = try FixedHeader(parsing: packet, version: version), fixed.type == .publish,
        fixed.packetSize == packet.count, fixed.flags & ~Publish.duplicateFlag == kept.headerFlags
      else { return false }
      let body = packet.extracting(fixed.size..<packet.count)
      let publish = try ReceivedPublish(parsing: body, flags: fixed.flags, version: version)
      guard publish.qos != .atMostOnce else { return false }
      guard expiryOffset != 0 else { return true }
      let properties = fixed.size &+ publish.properties.offset
      let offset = Int(truncatingIfNeeded: expiryOffset)
      return offset > properties && offset &+ 4 <= properties &+ publish.properties.count
    } catch {
      return false
    }
  }
}
