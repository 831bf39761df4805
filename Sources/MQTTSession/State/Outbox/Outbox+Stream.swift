import MQTTWire
import Storage

/// The message whose payload is supplied as it is sent.
struct OutgoingStream: BitwiseCopyable {
  var slot: Int
  let payloadSize: Int
  /// How much of the payload was sent on this connection.
  var sent = 0
}

/// A message whose payload is not in the outbox: its header is in the ring, and its payload follows from
/// the stream buffer.
extension Outbox {
  /// Whether the header of the stream is sent, so that its payload is next.
  var isInsideStream: Bool {
    Feature.hasStreams && windowCount > 0 && windowStart == windowEnd
      && descriptors[sendSlot].flags.contains(.isStream)
  }

  /// Handles that `count` bytes of the stream's payload were handed to the transport. Returns how many
  /// packets are wholly sent.
  mutating func transmittedStream(_ count: Int, order: inout UInt16) -> Int {
    stream?.sent &+= count
    guard isStreamSent else { return 0 }
    windowBase = windowStart
    finishSending(sendSlot, order: &order)
    return 1
  }

  var isStreamSent: Bool {
    guard let stream else { return true }
    return stream.sent >= stream.payloadSize
  }

  func payloadOutside(_ slot: Int) -> Int {
    let message = descriptors[slot]
    if message.flags.contains(.isReference) { return references.count(Int(message.tag)) }
    guard message.flags.contains(.isStream), let stream else { return 0 }
    return stream.payloadSize
  }
}
