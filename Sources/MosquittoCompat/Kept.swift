// QoS 2 messages between PUBREC and PUBREL: libmosquitto hands them out when PUBREL has come, behind what came meanwhile. The
// core hands them out when PUBLISH comes, and remembers no more than the identifier.

import CMosquitto

/// A message in a list, in the order in which they came.
@unsafe struct KeptMessage {
  var next: UnsafeMutablePointer<KeptMessage>?
  let arrived: Arrived
  /// Bytes, its own among them.
  let size: Int
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// Until PUBREL. False: it is handed out at once, as it is none of these, or as there is no room for it: its PUBREC is on
  /// its way, so it would be lost otherwise. With the lock held.
  func keepUntilReleased(_ arrived: Arrived) -> Bool {
    guard unsafe arrived.message.qos == 2, unsafe arrived.isAcknowledged, unsafe !arrived.isOversize else {
      return false
    }
    let size =
      unsafe MemoryLayout<KeptMessage>.size &+ spanOrNone(arrived.message.topic).count
      &+ arrived.size &+ encodedSize(of: arrived.properties)
    // What has the same identifier will not be released: in 3.1 a server does not say that it has lost the session. Or the
    // client was made anew, and does not know that it has had what comes again.
    let is31 = unsafe pointee.version == UInt32(MQTT_PROTOCOL_V31)
    if unsafe is31 || arrived.isDuplicate, let other = unsafe takeKept(arrived.message.mid) {
      if is31 { unsafe owe(.released(other)) } else { unsafe free(other) }
    }
    guard unsafe pointee.keptBytes &+ size <= Int(truncatingIfNeeded: Limits.receiveBytes),
      let memory = unsafe shim_allocate(MemoryLayout<KeptMessage>.size)
    else { return false }
    let message = unsafe memory.bindMemory(to: KeptMessage.self, capacity: 1)
    unsafe message.initialize(to: KeptMessage(next: nil, arrived: arrived, size: size))
    if let last = unsafe pointee.keptLast {
      unsafe last.pointee.next = unsafe message
    } else {
      unsafe pointee.kept = unsafe message
    }
    unsafe pointee.keptLast = unsafe message
    unsafe pointee.keptBytes &+= size
    return true
  }

  /// PUBREL has come, and PUBCOMP goes out before the callback, as every acknowledgement does.
  func tellReleased(_ mid: Int32) {
    unsafe flush()
    unsafe log(SHIM_RECEIVED_PUBREL, mid)
    unsafe log(SHIM_SENDING_PUBCOMP, mid)
    if let arrived = unsafe takeKept(mid) { unsafe handOut(arrived) }
  }

  /// Nearly always it is the first.
  func takeKept(_ mid: Int32) -> Arrived? {
    var before: UnsafeMutablePointer<KeptMessage>? = nil
    var next = unsafe pointee.kept
    while let message = unsafe next {
      if unsafe message.pointee.arrived.message.mid == mid { return unsafe remove(message, behind: before) }
      unsafe before = unsafe message
      unsafe next = unsafe message.pointee.next
    }
    return nil
  }

  private func remove(
    _ message: UnsafeMutablePointer<KeptMessage>, behind before: UnsafeMutablePointer<KeptMessage>?
  ) -> Arrived {
    let arrived = unsafe message.pointee.arrived
    let next = unsafe message.pointee.next
    if let before = unsafe before {
      unsafe before.pointee.next = unsafe next
    } else {
      unsafe pointee.kept = unsafe next
    }
    if unsafe next == nil { unsafe pointee.keptLast = unsafe before }
    unsafe pointee.keptBytes &-= message.pointee.size
    unsafe shim_free(message)
    return unsafe arrived
  }

  /// The server has no session, or does not say (3.1): a session that is gone brings no PUBREL. With PUBREC the messages were
  /// the client's [MQTT-4.3.3-8], so they are handed out, which libmosquitto never does.
  func settleKept() {
    guard unsafe pointee.version != UInt32(MQTT_PROTOCOL_V31) || pointee.cleanSession else { return }
    while let message = unsafe pointee.kept {
      unsafe owe(.released(remove(message, behind: nil)))
    }
  }

  func freeKept() {
    while let message = unsafe pointee.kept { unsafe free(remove(message, behind: nil)) }
  }
}
