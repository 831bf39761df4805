// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The proxy through which a program connects.

import CMosquitto

@c public func mosquitto_socks5_set(
  _ mosq: OpaquePointer?, _ host: UnsafePointer<CChar>?, _ port: Int32, _ username: UnsafePointer<CChar>?,
  _ password: UnsafePointer<CChar>?
) -> Int32 {
  guard let instance = unsafe instance(mosq), let host = unsafe host, unsafe shim_length(host) <= 256,
    1...65_535 ~= port
  else { return MOSQ_ERR_INVAL }
  var proxy = Mosquitto.Proxy()
  proxy.port = UInt32(port)
  unsafe proxy.host = unsafe copied(host)
  if let username = unsafe username {
    unsafe proxy.user = unsafe copied(username)
    unsafe proxy.password = unsafe password.flatMap { unsafe copied($0) }
  }
  let isWhole =
    unsafe proxy.host != nil && (proxy.user == nil) == (username == nil)
    && (username == nil || (proxy.password == nil) == (password == nil))
  guard isWhole else {
    proxy.free()
    return MOSQ_ERR_NOMEM
  }
  var locked = instance.lock()
  locked.state.proxy.free()
  locked.state.proxy = proxy
  locked.state.areOptionsChanged = true
  return MOSQ_ERR_SUCCESS
}

extension Mosquitto {
  @safe struct Proxy {
    var host: Text? = nil
    var port: UInt32 = 0
    var user: Text? = nil
    var password: Text? = nil

    mutating func free() {
      unsafe MosquittoCompat.free(&host)
      unsafe MosquittoCompat.free(&user)
      unsafe MosquittoCompat.free(&password)
    }
  }
}
