// TLS, the proxy, and sockets in the file system: how a client comes to them, and how they fail.

import CMosquitto
import Driver
import MQTTClient
import Platform
import Storage
import Transports

extension Mosquitto.Locked {
  // MARK: Before an attempt

  /// Reads the files of TLS and asks for the password, without the lock: at each attempt, as libmosquitto
  /// does.
  mutating func readTLS(_ number: UInt32) -> Int32 {
    guard let tls = unsafe state.tls, unsafe shim_tls_is_wanted(tls) else { return MOSQ_ERR_SUCCESS }
    let user = unsafe UnsafeMutableRawPointer(instance.pointer)
    guard let attempt = unsafe shim_tls_begin(tls, state.port > 0, user) else { return MOSQ_ERR_NOMEM }
    defer { unsafe shim_tls_end(attempt) }
    var result = MOSQ_ERR_NO_CONN
    unsafe callProgram { _ in result = unsafe shim_tls_read(attempt) }
    var index: Int32 = 0
    while let line = unsafe shim_tls_said(attempt, index) {
      unsafe callLog(MOSQ_LOG_ERR, line)
      index += 1
    }
    guard result == MOSQ_ERR_SUCCESS, state.attempt == number, let tls = unsafe state.tls else {
      return result
    }
    return unsafe shim_tls_apply(tls, attempt)
  }

  /// What the host and the options want between the socket and MQTT.
  func setLayers(_ request: inout RequestedOptions) {
    if state.port == 0 { request.connection.carrier = .file }
    if let tls = unsafe state.tls, unsafe shim_tls_is_wanted(tls), let engine = unsafe shim_tls_engine() {
      request.connection.tls = unsafe TLSEngine(engine, settings: UnsafeRawPointer(tls.pointee.settings))
      // A file has no name that a certificate could be for; none is checked.
      if state.port == 0 { request.connection.tlsName = localName.bytes }
    }
    guard unsafe state.proxy.host != nil else { return }
    request.connection.proxy = .socks5
    request.connection.proxyHost = unsafe spanOrNone(state.proxy.host)
    request.connection.proxyPort = state.proxy.port
    request.connection.proxyUser = unsafe spanOrNone(state.proxy.user)
    request.connection.proxyPassword = unsafe spanOrNone(state.proxy.password)
  }

  /// Gives the client these layers, in a block of their own, because a program may set TLS or a proxy when it
  /// has connected without (docs/decisions/0033).
  mutating func replaceLayers(_ kind: AnyTransport.Kind, _ options: borrowing LayerOptions) -> Int32 {
    var layout = ArenaLayout()
    let plan = LayerPlan(options, in: &layout)
    guard let memory = unsafe shim_allocate(layout.byteCount) else { return MOSQ_ERR_NOMEM }
    client.replaceLayers(kind, options, plan: plan, block: unsafe Arena(start: memory))
    unsafe shim_free(state.layerMemory)
    unsafe state.layerMemory = unsafe memory
    return MOSQ_ERR_SUCCESS
  }

  // MARK: Failures

  /// Which MOSQ_ERR stands for the failure of a layer.
  func outcome(of layer: Layer) -> Int32 {
    guard case .tls = layer else { return outcomeOfProxy(client.layerFailure?.socksReply ?? -1) }
    guard client.link.haveLayersOpened else { return MOSQ_ERR_TLS }
    shim_set_errno(shim_protocol_error())
    return MOSQ_ERR_CONN_LOST
  }

  /// Of a reply of RFC 1928 section 6, or what the proxy said to the password.
  private func outcomeOfProxy(_ reply: Int32) -> Int32 {
    switch reply {
    case 1, 6, 7, 8, -1, SOCKS5.Refusal.notSOCKS5: MOSQ_ERR_PROXY
    case 2, SOCKS5.Refusal.noAcceptableMethod, SOCKS5.Refusal.password: MOSQ_ERR_AUTH
    case 3, 4, 5: MOSQ_ERR_NO_CONN
    default: MOSQ_ERR_INVAL
    }
  }

  /// The connection did not come about because of TLS. libmosquitto calls no callback for that.
  func isSilent(_ failure: ClientFailure) -> Bool {
    if case .layer(.tls) = failure.cause { !client.link.haveLayersOpened } else { false }
  }

  mutating func logFailureOfTLS(_ failure: ClientFailure) {
    guard case .layer(.tls) = failure.cause, let tls = client.tlsFailure else { return }
    var index: Int32 = 0
    while logFailure(tls, index) { index += 1 }
  }

  private mutating func logFailure(_ tls: TLSFailure, _ index: Int32) -> Bool {
    guard unsafe state.callbacks.log != nil else { return false }
    var line = Line()
    var isThere = false
    unsafe line.withBuffer { buffer, size in
      guard let text = unsafe shim_tls_failed(buffer, size, index, tls.cause, tls.depth, tls.native) else {
        return
      }
      isThere = true
      unsafe callLog(MOSQ_LOG_ERR, text)
    }
    return isThere
  }

  /// CONNECT is sent when the proxy has connected.
  mutating func logConnectBehindProxy() {
    guard state.isConnectUnlogged else { return }
    state.isConnectUnlogged = false
    log(SHIM_SENDING_CONNECT)
  }
}

private var localName: StaticString { "localhost" }
