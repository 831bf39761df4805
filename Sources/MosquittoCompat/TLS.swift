// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// What a program sets for TLS. It is looked at when the program connects (Mosquitto+Layers.swift). Where this
// library was built without OpenSSL, each call returns that there is none.

import CMosquitto
import CTLSEngine
import Driver
import MQTTClient
import Transports

typealias TLSSettings = UnsafeMutablePointer<shim_tls>

@c public func mosquitto_tls_set(
  _ mosq: OpaquePointer?, _ cafile: UnsafePointer<CChar>?, _ capath: UnsafePointer<CChar>?,
  _ certfile: UnsafePointer<CChar>?, _ keyfile: UnsafePointer<CChar>?,
  _ pw_callback: (
    @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32
  )?
) -> Int32 {
  unsafe changeTLS(mosq) { tls in
    guard unsafe cafile != nil || capath != nil, unsafe (certfile == nil) == (keyfile == nil) else {
      return MOSQ_ERR_INVAL
    }
    // A file that cannot be opened takes with it what was set before it.
    if let cafile = unsafe cafile, unsafe !shim_can_read(cafile) {
      unsafe tls.forget([SHIM_TLS_CA_FILE])
      return MOSQ_ERR_INVAL
    }
    guard unsafe tls.set(SHIM_TLS_CA_FILE, cafile), unsafe tls.set(SHIM_TLS_CA_DIRECTORY, capath) else {
      return MOSQ_ERR_NOMEM
    }
    if let certfile = unsafe certfile, unsafe !shim_can_read(certfile) {
      unsafe tls.forget([SHIM_TLS_CA_FILE, SHIM_TLS_CA_DIRECTORY, SHIM_TLS_CERTIFICATE])
      return MOSQ_ERR_INVAL
    }
    guard unsafe tls.set(SHIM_TLS_CERTIFICATE, certfile) else { return MOSQ_ERR_NOMEM }
    if let keyfile = unsafe keyfile, unsafe !shim_can_read(keyfile) {
      unsafe tls.forget([SHIM_TLS_CA_FILE, SHIM_TLS_CA_DIRECTORY, SHIM_TLS_CERTIFICATE, SHIM_TLS_KEY])
      return MOSQ_ERR_INVAL
    }
    guard unsafe tls.set(SHIM_TLS_KEY, keyfile) else { return MOSQ_ERR_NOMEM }
    unsafe tls.pointee.ask_password = unsafe pw_callback
    return MOSQ_ERR_SUCCESS
  }
}

@c public func mosquitto_tls_insecure_set(_ mosq: OpaquePointer?, _ value: Bool) -> Int32 {
  unsafe changeTLS(mosq) { tls in
    unsafe tls.pointee.is_any_name_fine = value
    return MOSQ_ERR_SUCCESS
  }
}

/// The case of the version's letters does not matter here; when the program connects, it does.
@c public func mosquitto_tls_opts_set(
  _ mosq: OpaquePointer?, _ cert_reqs: Int32, _ tls_version: UnsafePointer<CChar>?,
  _ ciphers: UnsafePointer<CChar>?
) -> Int32 {
  unsafe changeTLS(mosq) { tls in
    unsafe tls.pointee.verifies = cert_reqs != 0
    if let version = unsafe tls_version {
      guard
        unsafe isSame(version, "tlsv1.3") || isSame(version, "tlsv1.2") || isSame(version, "tlsv1.1")
      else { return MOSQ_ERR_INVAL }
    }
    guard unsafe tls.set(SHIM_TLS_VERSION, tls_version ?? text("tlsv1.2")),
      unsafe tls.set(SHIM_TLS_CIPHERS, ciphers)
    else { return MOSQ_ERR_NOMEM }
    return MOSQ_ERR_SUCCESS
  }
}

@c public func mosquitto_tls_psk_set(
  _ mosq: OpaquePointer?, _ psk: UnsafePointer<CChar>?, _ identity: UnsafePointer<CChar>?,
  _ ciphers: UnsafePointer<CChar>?
) -> Int32 {
  unsafe changeTLS(mosq) { tls in
    guard let psk = unsafe psk, let identity = unsafe identity, unsafe shim_is_hex(psk, 0) else {
      return MOSQ_ERR_INVAL
    }
    guard unsafe tls.set(SHIM_TLS_PSK, psk), unsafe tls.set(SHIM_TLS_IDENTITY, identity),
      unsafe tls.set(SHIM_TLS_CIPHERS, ciphers)
    else { return MOSQ_ERR_NOMEM }
    return MOSQ_ERR_SUCCESS
  }
}

/// The `SSL *` of the connection, while there is one.
@c public func mosquitto_ssl_get(_ mosq: OpaquePointer?) -> UnsafeMutableRawPointer? {
  guard let instance = unsafe instance(mosq) else { return nil }
  // A callback that the program has set in its SSL_CTX runs while this thread holds the lock.
  if instance.isLockedByCaller { return unsafe sslObject(instance.pointer.pointee) }
  return unsafe sslObject(instance.lock().state)
}

private func sslObject(_ state: borrowing Mosquitto) -> UnsafeMutableRawPointer? {
  guard let client = unsafe state.client, unsafe client.pointee.link.hasTLS else { return nil }
  var info = unsafe smq_tls_info()
  guard unsafe client.pointee.link.describeTLS(at: &info, size: MemoryLayout<smq_tls_info>.size) else {
    return nil
  }
  return unsafe info.connection
}

// MARK: Options by number

/// What an option of TLS becomes that has a number; `nil`: it is none.
func setTLSNumber(_ mosq: OpaquePointer?, _ option: Int32, _ value: Int32) -> Int32? {
  switch option {
  case Int32(MOSQ_OPT_SSL_CTX_WITH_DEFAULTS), Int32(MOSQ_OPT_TLS_OCSP_REQUIRED),
    Int32(MOSQ_OPT_TLS_USE_OS_CERTS):
    break
  default: return nil
  }
  guard shim_has_tls() || value != 0 else { return MOSQ_ERR_SUCCESS }
  return unsafe changeTLS(mosq) { tls in
    switch option {
    case Int32(MOSQ_OPT_SSL_CTX_WITH_DEFAULTS): unsafe tls.pointee.keeps_context = value == 0
    case Int32(MOSQ_OPT_TLS_OCSP_REQUIRED): unsafe tls.pointee.wants_ocsp = value != 0
    default: unsafe tls.pointee.trusts_system = value != 0
    }
    return MOSQ_ERR_SUCCESS
  }
}

/// The same of one that has a text.
func setTLSText(_ mosq: OpaquePointer?, _ option: Int32, _ value: UnsafePointer<CChar>?) -> Int32 {
  guard unsafe shim_has_tls() || value != nil else { return MOSQ_ERR_SUCCESS }
  return unsafe changeTLS(mosq) { tls in
    guard let value = unsafe value else {
      guard option == Int32(MOSQ_OPT_TLS_ALPN) else { return MOSQ_ERR_INVAL }
      unsafe tls.forget([SHIM_TLS_ALPN])
      return MOSQ_ERR_SUCCESS
    }
    switch option {
    case Int32(MOSQ_OPT_TLS_ALPN):
      return unsafe tls.set(SHIM_TLS_ALPN, value) ? MOSQ_ERR_SUCCESS : MOSQ_ERR_NOMEM
    case Int32(MOSQ_OPT_TLS_ENGINE):
      guard unsafe shim_has_engine(value) else { return MOSQ_ERR_INVAL }
      return unsafe tls.set(SHIM_TLS_ENGINE, value) ? MOSQ_ERR_SUCCESS : MOSQ_ERR_NOMEM
    case Int32(MOSQ_OPT_TLS_ENGINE_KPASS_SHA1):
      guard unsafe shim_is_hex(value, 40) else { return MOSQ_ERR_INVAL }
      return unsafe tls.set(SHIM_TLS_ENGINE_PIN, value) ? MOSQ_ERR_SUCCESS : MOSQ_ERR_NOMEM
    default:
      guard unsafe isSame(value, "pem") || isSame(value, "engine") else { return MOSQ_ERR_INVAL }
      unsafe tls.pointee.is_key_in_engine = unsafe isSame(value, "engine")
      return MOSQ_ERR_SUCCESS
    }
  }
}

/// The program's own `SSL_CTX *`.
func setTLSContext(_ mosq: OpaquePointer?, _ value: UnsafeMutableRawPointer?) -> Int32 {
  guard unsafe value != nil else { return MOSQ_ERR_INVAL }
  return unsafe changeTLS(mosq) { tls in
    unsafe shim_tls_set_context(tls, value)
    return MOSQ_ERR_SUCCESS
  }
}

// MARK: Changing

/// Hands `change` what the program has set so far.
private func changeTLS(_ mosq: OpaquePointer?, _ change: (TLSSettings) -> Int32) -> Int32 {
  guard let instance = unsafe instance(mosq) else { return MOSQ_ERR_INVAL }
  guard shim_has_tls() else { return MOSQ_ERR_NOT_SUPPORTED }
  var locked = instance.lock()
  if unsafe locked.state.tls == nil { unsafe locked.state.tls = unsafe shim_tls_new() }
  guard let tls = unsafe locked.state.tls else { return MOSQ_ERR_NOMEM }
  locked.state.areOptionsChanged = true
  return unsafe change(tls)
}

extension UnsafeMutablePointer where Pointee == shim_tls {
  /// False: there is no memory.
  fileprivate func set(_ which: Int32, _ text: UnsafePointer<CChar>?) -> Bool {
    unsafe shim_tls_set_text(self, which, text)
  }

  fileprivate func forget<let count: Int>(_ which: [count of Int32]) {
    for index in 0..<count { _ = unsafe set(which[index], nil) }
  }
}
