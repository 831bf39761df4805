// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// These functions would need TLS or a proxy. There is neither, and each call returns that.

import CMosquitto

@c public func mosquitto_tls_set(
  _ client: OpaquePointer?, _ cafile: UnsafePointer<CChar>?, _ capath: UnsafePointer<CChar>?,
  _ certfile: UnsafePointer<CChar>?, _ keyfile: UnsafePointer<CChar>?,
  _ password: (
    @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32
  )?
) -> Int32 {
  unsafe refusal(client)
}

@c public func mosquitto_tls_insecure_set(_ client: OpaquePointer?, _ value: Bool) -> Int32 {
  unsafe refusal(client)
}

@c public func mosquitto_tls_opts_set(
  _ client: OpaquePointer?, _ requirements: Int32, _ version: UnsafePointer<CChar>?,
  _ ciphers: UnsafePointer<CChar>?
) -> Int32 {
  unsafe refusal(client)
}

@c public func mosquitto_tls_psk_set(
  _ client: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ identity: UnsafePointer<CChar>?,
  _ ciphers: UnsafePointer<CChar>?
) -> Int32 {
  unsafe refusal(client)
}

@c public func mosquitto_ssl_get(_ client: OpaquePointer?) -> UnsafeMutableRawPointer? { nil }

@c public func mosquitto_socks5_set(
  _ client: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ username: UnsafePointer<CChar>?,
  _ password: UnsafePointer<CChar>?
) -> Int32 {
  unsafe refusal(client)
}

private func refusal(_ client: OpaquePointer?) -> Int32 {
  unsafe Int32(client == nil ? MOSQ_ERR_INVAL : MOSQ_ERR_NOT_SUPPORTED)
}
