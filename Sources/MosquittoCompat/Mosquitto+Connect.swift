// An attempt to connect, and how it ended.

import CMosquitto
import CPlatform
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Platform
import Transports

extension Instance {
  /// Opens a connection; waits until the transport is connected, or cannot be. `isAgain`: a loop reconnects,
  /// and the program may have connected meanwhile, or want to disconnect.
  ///
  /// The attempt that began last has the client. Threads that wait for an earlier one find that it was
  /// replaced.
  func open(waits: Bool, isAgain: Bool = false) -> Int32 {
    var locked = lock()
    let result = locked.open(waits: waits, isAgain: isAgain)
    if !isAgain { locked.unlockOrFree() }
    return result
  }
}

extension Mosquitto.Locked {
  fileprivate mutating func open(waits: Bool, isAgain: Bool) -> Int32 {
    guard unsafe state.host != nil else { return MOSQ_ERR_INVAL }
    if isAgain, isUnderWay || isUnwanted { return MOSQ_ERR_SUCCESS }
    state.attempt &+= 1
    let attempt = state.attempt
    state.isOpening = true
    state.isDisconnecting = false
    state.pendingDisconnect = 0
    state.isConnected = false
    state.failureToTell = nil
    state.isRefusedByTLS = false
    state.isConnectUnlogged = false
    // From here on, on_disconnect is not called for the last connection.
    state.isEndReported = true
    state.endResult = nil
    wake()
    let result = open(attempt, waits)
    guard state.attempt == attempt else { return MOSQ_ERR_SUCCESS }
    state.isOpening = false
    wake()
    guard result == MOSQ_ERR_SUCCESS else {
      let number = shim_errno()
      if mayStoreAtOnce { publishMessagesBeforeConnect() }
      writeJournal()
      shim_set_errno(number)
      return result
    }
    state.isEndReported = false
    publishMessagesBeforeConnect()
    writeJournal()
    state.isConnectUnlogged = true
    if unsafe state.proxy.host == nil { logConnectBehindProxy() }
    return MOSQ_ERR_SUCCESS
  }

  private mutating func open(_ attempt: UInt32, _ waits: Bool) -> Int32 {
    closeOld(attempt)
    guard state.attempt == attempt else { return MOSQ_ERR_SUCCESS }
    freeAliases()
    freeQueuedSubscriptions()
    guard !isUnwanted else { return MOSQ_ERR_NO_CONN }
    guard hasHostName else { return state.port == 0 ? MOSQ_ERR_INVAL : MOSQ_ERR_EAI }
    let read = readTLS(attempt)
    guard state.attempt == attempt else { return MOSQ_ERR_SUCCESS }
    guard read == MOSQ_ERR_SUCCESS else { return read }
    guard !isUnwanted else { return MOSQ_ERR_NO_CONN }
    let result = makeClientIfNeeded()
    guard result == MOSQ_ERR_SUCCESS, hasClient else { return result }
    guard client.connect(at: client.time) else { return MOSQ_ERR_INVAL }
    // Without waiting the name is looked up all the same, and what is refused at once is reported at once.
    if !waits && !client.isResolving { service() }
    // The layers open in the loop.
    while state.attempt == attempt, hasClient, !client.isOpen, !client.link.areLayersOpening {
      if isUnwanted { client.cutOff(at: client.time) }
      if client.state == .disconnected {
        guard let failure = takeRest() else { return MOSQ_ERR_NO_CONN }
        if case .layer = failure.cause {
          state.failureToTell = failure
          break
        }
        let result = outcome(of: failure, isOpen: false)
        return result == MOSQ_ERR_SUCCESS ? MOSQ_ERR_NO_CONN : result
      }
      guard waits || client.isResolving else { break }
      // For a limited time: another thread may have begun another attempt, or want to disconnect.
      waitForClient(atMost: 100)
      guard state.attempt == attempt else { break }
      service()
    }
    return MOSQ_ERR_SUCCESS
  }

  /// mosquitto_disconnect() or the thread's end was asked for since the attempt began.
  private var isUnwanted: Bool { state.isDisconnecting || state.isStopping }

  /// What cannot be the name of a host or of a file (the core's rules) is reported without a look-up.
  private var hasHostName: Bool {
    let host = unsafe spanOrNone(state.host)
    guard 1...(state.port == 0 ? 107 : 253) ~= host.count else { return false }
    // To the core it would be the name of a file.
    guard state.port == 0 || host[0] != UInt8(ascii: "/") else { return false }
    for index in 0..<host.count where !(0x21...0x7E ~= host[index]) { return false }
    return true
  }

  /// The last connection ends without a callback, because nothing waits for it.
  mutating func closeOld(_ attempt: UInt32) {
    guard hasClient, client.state != .disconnected || client.hasEvent else { return }
    client.cutOff(at: client.time)
    let end = platform_now_ms() &+ 2500
    while state.attempt == attempt, hasClient {
      service()
      _ = takeRest()
      guard client.state != .disconnected, Int32(bitPattern: end &- platform_now_ms()) > 0 else { return }
      waitForClient(atMost: 20)
    }
  }

  /// Takes the events of a connection that is over, and drops all but messages: those that came, because the
  /// server and the core consider them received, and the results of those that were sent.
  private mutating func takeRest() -> ClientFailure? {
    var last: ClientFailure? = nil
    while let event = client.nextEvent() {
      switch event {
      case .engine(.completed(let completion)):
        guard Cookie.kind(completion.cookie) == Cookie.publish, !isOfEarlierProcess(completion.cookie) else {
          continue
        }
        switch completion.result {
        case .delivered, .refused:
          deferCallback(
            .published(mid: mid(of: completion.cookie), code: Int32(completion.reasonCode ?? 0)))
        default: continue
        }
      case .engine(.connected(let connected)):
        // What comes next is of another session.
        if !connected.sessionPresent { settleUnreleased() }
      case .engine(.message(let message)):
        let received = take(message)
        if !keepUntilReleased(received) { deferCallback(.received(received)) }
      case .engine(.handshake(let handshake)) where handshake.type == .pubrel:
        if let message = takeUnreleased(Cookie.mid(handshake.cookie)) { deferCallback(.released(message)) }
      case .engine(.journal(let event)): handle(event)
      case .disconnected(let failure): last = failure
      default: continue
      }
    }
    return last
  }

  // MARK: How it ended

  /// What a function returns for the end of a connection, and on_disconnect is called with.
  func outcome(of failure: ClientFailure, isOpen: Bool) -> Int32 {
    switch failure.cause {
    case .requested: return MOSQ_ERR_SUCCESS
    case .refused:
      return state.version == UInt32(MQTT_PROTOCOL_V5) ? MOSQ_ERR_PROTOCOL : MOSQ_ERR_CONN_REFUSED
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
    case .layer(let layer): return outcome(of: layer)
    case .timeout where failure.stage == .accept: return MOSQ_ERR_KEEPALIVE
    case .timeout:
      shim_set_errno(SystemError.timedOut)
      return isOpen ? MOSQ_ERR_CONN_LOST : MOSQ_ERR_ERRNO
    }
  }
}
