import CMosquitto
import CPlatform
import MQTTWire

/// Lines of log, in libmosquitto's words: programs show them, and scripts look for them.
extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// With the lock held, which is not held in the callback.
  func log(_ kind: Int32, _ first: Int32 = 0, _ second: Int32 = 0) {
    guard unsafe pointee.callbacks.log != nil else { return }
    var line = Line()
    unsafe line.withPlace { place, size in
      unsafe tell(MOSQ_LOG_DEBUG, shim_line(place, size, kind, pointee.id, first, second))
    }
  }

  func logPublish(
    isReceived: Bool, duplicate: Bool, qos: UInt8, retain: Bool, mid: UInt16, topic: Span<UInt8>,
    payloadSize: Int
  ) {
    guard unsafe pointee.callbacks.log != nil else { return }
    var line = Line()
    unsafe topic.withUnsafeBytes { topic in
      var publish = unsafe shim_publish(
        is_received: isReceived ? 1 : 0, duplicate: duplicate ? 1 : 0, qos: Int32(qos),
        retain: retain ? 1 : 0, mid: Int32(mid),
        topic: topic.baseAddress?.assumingMemoryBound(to: UInt8.self), topic_size: topic.count,
        payload_size: payloadSize)
      unsafe line.withPlace { place, size in
        unsafe tell(MOSQ_LOG_DEBUG, shim_line_publish(place, size, pointee.id, &publish))
      }
    }
  }

  /// `options`: those of the subscription; -1: it is UNSUBSCRIBE.
  func logSubscribe(_ mid: UInt16, _ filter: UnsafePointer<CChar>, options: Int32) {
    guard unsafe pointee.callbacks.log != nil else { return }
    var line = Line()
    unsafe line.withPlace { place, size in
      unsafe tell(MOSQ_LOG_DEBUG, shim_line_subscribe(place, size, pointee.id, Int32(mid), filter, options))
    }
  }

  private func tell(_ level: Int32, _ text: UnsafePointer<CChar>?) {
    guard let function = unsafe pointee.callbacks.log, let text = unsafe text else { return }
    let user = unsafe pointee.user
    unsafe outside { unsafe function(handle, user, level, text) }
  }

  /// Calls a callback: without the lock, and known as the one who calls. Several threads may be in callbacks, and leave
  /// them in any order. After mosquitto_destroy() in one of them nothing more is told: what they use may be gone.
  @inline(__always)
  func outside(_ body: () -> Void) {
    guard unsafe !pointee.isDestroyed else { return }
    var caller = unsafe Mosquitto.Caller(thread: platform_thread_self(), next: pointee.callers)
    unsafe withUnsafeMutablePointer(to: &caller) { caller in
      unsafe pointee.callers = unsafe caller
      unsafe unlock()
      body()
      unsafe lock()
      unsafe remove(caller)
    }
  }

  private func remove(_ caller: UnsafeMutablePointer<Mosquitto.Caller>) {
    guard unsafe pointee.callers != caller else {
      unsafe pointee.callers = unsafe caller.pointee.next
      return
    }
    var other = unsafe pointee.callers
    while let here = unsafe other, unsafe here.pointee.next != caller {
      unsafe other = unsafe here.pointee.next
    }
    unsafe other?.pointee.next = unsafe caller.pointee.next
  }
}

/// Room for one line.
private struct Line {
  private var bytes = InlineArray<512, CChar>(repeating: 0)

  mutating func withPlace(_ body: (UnsafeMutablePointer<CChar>, Int) -> Void) {
    var span = bytes.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { place in
      if let start = place.baseAddress { unsafe body(start, place.count) }
    }
  }
}
