// An attempt to connect, and how it ended.

import CMosquitto
import CPlatform
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Platform

extension UnsafeMutablePointer where Pointee == Mosquitto {
  /// Begins a connection; waits until the transport stands, or cannot. `isAgain`: a loop does, and the program may have
  /// done meanwhile, or want to leave.
  ///
  /// Whoever begins last has the client. Others who wait for an attempt of theirs find that it is theirs no more.
  func open(waits: Bool, isAgain: Bool = false) -> Int32 {
    unsafe lock()
    defer { if isAgain { unsafe unlock() } else { unsafe unlockOrFree() } }
    guard unsafe pointee.host != nil else { return MOSQ_ERR_INVAL }
    if isAgain, unsafe isUnderWay || pointee.isLeaving || pointee.isStopping { return MOSQ_ERR_SUCCESS }
    unsafe pointee.attempt &+= 1
    let attempt = unsafe pointee.attempt
    unsafe pointee.isOpening = true
    unsafe pointee.isLeaving = false
    unsafe pointee.wishToLeave = 0
    unsafe pointee.isConnected = false
    // From here on, on_disconnect is told nothing of the last connection.
    unsafe pointee.isEndTold = true
    unsafe pointee.endResult = nil
    unsafe wake()
    let result = unsafe open(attempt, waits)
    guard unsafe pointee.attempt == attempt else { return MOSQ_ERR_SUCCESS }
    unsafe pointee.isOpening = false
    unsafe wake()
    guard result == MOSQ_ERR_SUCCESS else { return result }
    unsafe pointee.isEndTold = false
    unsafe publishEarly()
    unsafe log(SHIM_SENDING_CONNECT)
    return MOSQ_ERR_SUCCESS
  }

  private func open(_ attempt: UInt32, _ waits: Bool) -> Int32 {
    unsafe closeOld(attempt)
    guard unsafe pointee.attempt == attempt else { return MOSQ_ERR_SUCCESS }
    unsafe freeAliases()
    unsafe freeWaiting()
    guard unsafe !isUnwanted else { return MOSQ_ERR_NO_CONN }
    guard unsafe isNamed else { return MOSQ_ERR_EAI }
    let result = unsafe makeClientIfNeeded()
    guard result == MOSQ_ERR_SUCCESS, let client = unsafe pointee.client else { return result }
    guard unsafe client.pointee.connect(at: client.pointee.time) else { return MOSQ_ERR_INVAL }
    // Without waiting the name is looked up all the same, and what is refused at once is said at once.
    if unsafe !waits && !client.pointee.isResolving {
      _ = unsafe client.pointee.service(at: client.pointee.time)
    }
    while unsafe pointee.attempt == attempt, let client = unsafe pointee.client,
      unsafe !client.pointee.isOpen
    {
      if unsafe isUnwanted { unsafe cut(client) }
      if unsafe client.pointee.state == .disconnected {
        guard let failure = unsafe takeRest(of: client) else { return MOSQ_ERR_NO_CONN }
        let result = unsafe outcome(of: failure, isOpen: false)
        return result == MOSQ_ERR_SUCCESS ? MOSQ_ERR_NO_CONN : result
      }
      guard unsafe waits || client.pointee.isResolving else { break }
      // Not for ever: another thread may have begun another attempt, or want to leave.
      unsafe pause(100)
      guard unsafe pointee.attempt == attempt, let client = unsafe pointee.client else { break }
      _ = unsafe client.pointee.service(at: client.pointee.time)
    }
    return MOSQ_ERR_SUCCESS
  }

  /// mosquitto_disconnect() or the thread's end was asked for since the attempt began.
  private var isUnwanted: Bool { unsafe pointee.isLeaving || pointee.isStopping }

  /// What can be no name of a host (the core's rule) need not be looked up to say that there is none.
  private var isNamed: Bool {
    let host = unsafe spanOrNone(pointee.host)
    guard 1...253 ~= host.count else { return false }
    for index in 0..<host.count where !(0x21...0x7E ~= host[index]) { return false }
    return true
  }

  /// Waits for the client, without the lock, which is held before and afterwards.
  func pause(_ most: Int32) {
    guard let client = unsafe pointee.client else { return }
    let next = unsafe client.pointee.nextTimeout(at: client.pointee.time)
    let descriptor = unsafe client.pointee.descriptor
    unsafe unlock()
    _ = waitForEither(descriptor, -1, timeout: next < 0 ? most : min(next, most))
    unsafe lock()
  }

  private func cut(_ client: UnsafeMutablePointer<Client>) {
    unsafe client.pointee.cutOff(at: client.pointee.time)
  }

  /// What is left of the last connection goes without a word, as nobody waits for it.
  private func closeOld(_ attempt: UInt32) {
    guard let client = unsafe pointee.client,
      unsafe client.pointee.state != .disconnected || client.pointee.hasEvent
    else { return }
    unsafe cut(client)
    let end = platform_now_ms() &+ 2500
    while unsafe pointee.attempt == attempt, let client = unsafe pointee.client {
      _ = unsafe client.pointee.service(at: client.pointee.time)
      _ = unsafe takeRest(of: client)
      guard unsafe client.pointee.state != .disconnected, Int32(bitPattern: end &- platform_now_ms()) > 0
      else { return }
      unsafe pause(20)
    }
  }

  /// What is left of a connection that is over goes with it, but for messages: those that came are taken, as the server
  /// may think so and the core does, and what became of those that went out is to be told.
  private func takeRest(of client: UnsafeMutablePointer<Client>) -> ClientFailure? {
    var last: ClientFailure? = nil
    while let event = unsafe client.pointee.nextEvent() {
      switch event {
      case .engine(.completed(let completion)):
        guard Cookie.kind(completion.cookie) == Cookie.publish else { continue }
        switch completion.result {
        case .delivered, .refused:
          unsafe owe(.published(mid: Cookie.mid(completion.cookie), code: Int32(completion.reasonCode ?? 0)))
        default: continue
        }
      case .engine(.connected(let connected)):
        // What comes next is of another session.
        if !connected.sessionPresent { unsafe settleKept() }
      case .engine(.message(let message)):
        let arrived = unsafe take(message, of: client)
        if unsafe !keepUntilReleased(arrived) { unsafe owe(.arrived(arrived)) }
      case .engine(.handshake(let handshake)) where handshake.type == .pubrel:
        if let arrived = unsafe takeKept(Cookie.mid(handshake.cookie)) { unsafe owe(.released(arrived)) }
      case .disconnected(let failure): last = failure
      default: continue
      }
    }
    return last
  }

  // MARK: How it ended

  /// What a function returns, and on_disconnect tells, of an end.
  func outcome(of failure: ClientFailure, isOpen: Bool) -> Int32 {
    switch failure.cause {
    case .requested: return MOSQ_ERR_SUCCESS
    case .refused:
      return unsafe pointee.version == UInt32(MQTT_PROTOCOL_V5) ? MOSQ_ERR_PROTOCOL : MOSQ_ERR_CONN_REFUSED
    case .serverClosed, .closed: return MOSQ_ERR_CONN_LOST
    case .malformed, .violation, .backlog: return MOSQ_ERR_PROTOCOL
    case .keepAlive: return MOSQ_ERR_KEEPALIVE
    case .stream, .declined: return MOSQ_ERR_UNKNOWN
    case .resolve(let number):
      shim_set_errno(number)
      return MOSQ_ERR_EAI
    case .network(let number):
      shim_set_errno(number)
      return isOpen ? MOSQ_ERR_CONN_LOST : MOSQ_ERR_ERRNO
    case .timeout where failure.stage == .accept: return MOSQ_ERR_KEEPALIVE
    case .timeout:
      shim_set_errno(SystemError.timedOut)
      return isOpen ? MOSQ_ERR_CONN_LOST : MOSQ_ERR_ERRNO
    }
  }
}
