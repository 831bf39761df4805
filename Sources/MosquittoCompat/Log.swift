import CMosquitto
import MQTTWire

/// Lines of log, in libmosquitto's words: programs show them, and scripts look for them.
extension Mosquitto.Locked {
  mutating func log(_ kind: Int32, _ first: Int32 = 0, _ second: Int32 = 0) {
    guard unsafe state.callbacks.log != nil else { return }
    var line = Line()
    unsafe line.withBuffer { buffer, size in
      unsafe callLog(MOSQ_LOG_DEBUG, shim_line(buffer, size, kind, state.id, first, second))
    }
  }

  mutating func logPublish(
    isReceived: Bool, duplicate: Bool, qos: UInt8, retain: Bool, mid: UInt16, topic: Span<UInt8>,
    payloadSize: Int
  ) {
    guard unsafe state.callbacks.log != nil else { return }
    var line = Line()
    unsafe topic.withUnsafeBytes { topic in
      var publish = unsafe shim_publish(
        is_received: isReceived ? 1 : 0, duplicate: duplicate ? 1 : 0, qos: Int32(qos),
        retain: retain ? 1 : 0, mid: Int32(mid),
        topic: topic.baseAddress?.assumingMemoryBound(to: UInt8.self), topic_size: topic.count,
        payload_size: payloadSize)
      unsafe line.withBuffer { buffer, size in
        unsafe callLog(MOSQ_LOG_DEBUG, shim_line_publish(buffer, size, state.id, &publish))
      }
    }
  }

  /// `options`: the Subscription Options; -1: it is UNSUBSCRIBE.
  mutating func logSubscribe(_ mid: UInt16, _ filter: UnsafePointer<CChar>, options: Int32) {
    guard unsafe state.callbacks.log != nil else { return }
    var line = Line()
    unsafe line.withBuffer { buffer, size in
      unsafe callLog(MOSQ_LOG_DEBUG, shim_line_subscribe(buffer, size, state.id, Int32(mid), filter, options))
    }
  }

  mutating func callLog(_ level: Int32, _ text: UnsafePointer<CChar>?) {
    guard let function = unsafe state.callbacks.log, let text = unsafe text else { return }
    let user = unsafe state.user
    unsafe callProgram { unsafe function($0, user, level, text) }
  }
}

/// Room for one line.
struct Line {
  private var bytes = InlineArray<512, CChar>(repeating: 0)

  mutating func withBuffer(_ body: (UnsafeMutablePointer<CChar>, Int) -> Void) {
    var span = bytes.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { buffer in
      if let start = buffer.baseAddress { unsafe body(start, buffer.count) }
    }
  }
}
