/// Frames come from running clients, or from a capture.
extension Feed {
  static func open(_ arguments: Arguments) throws(ExitError) -> Feed { try of(arguments.operands) }
}

/// A frame is read by itself.
struct PacketDecoder {
  func decode(_ packet: SeenPacket, version: UInt32) -> DecodedPacket {
    DecodedPacket(packet.bytes, length: packet.length)
  }
}
