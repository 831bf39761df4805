// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The functions of chapter 5 that tell about what carries MQTT: TLS, WebSocket, proxies.

import CInterface
public import CSwiftMQTT
import Driver
import MQTTClient
import Platform
import Storage
import Transports

@c @implementation
public func smq_last_failure(
  _ client: OpaquePointer?, _ failure: UnsafeMutablePointer<smq_failure>?
) -> Int32 {
  status { () throws(Status) in
    guard let failure = unsafe failure else { throw .null }
    let slot = try unsafe slot(client)
    let size = unsafe failure.pointee.size
    let known = unsafe MemoryLayout<smq_failure>.size
    guard size >= UInt32(truncatingIfNeeded: known), size <= 4096 else { throw .structSize }
    unsafe failure.pointee = describe(slot.pointee.client, size: size)
    unsafe StructSize.clearTail(failure, size, known: known)
    return Status.ok.rawValue
  }
}

private func describe(_ client: borrowing Client, size: UInt32) -> smq_failure {
  var result = unsafe smq_failure()
  unsafe result.size = size
  unsafe result.socks_reply = -1
  unsafe result.tls_alert = -1
  unsafe result.tls_depth = -1
  guard let failure = client.lastFailure else { return unsafe result }
  unsafe result.status = Status(failure.cause).rawValue
  unsafe result.stage = Int32(failure.stage.rawValue)
  unsafe result.os_error = failure.cause.systemError
  // What the layers know is of the attempt that is under way, if there is one.
  let isOver = client.isBetweenAttempts
  unsafe result.attempt = isOver ? client.attempt : client.attempt &- 1
  guard isOver, case .layer(let layer) = failure.cause, let said = client.layerFailure else {
    return unsafe result
  }
  unsafe result.http_status = Int32(said.httpStatus)
  unsafe result.socks_reply = said.socksReply
  unsafe result.close_code = Int32(said.closeCode)
  unsafe result.text = bytes(client.layerText)
  guard layer == .tls, let tls = client.tlsFailure else { return unsafe result }
  unsafe result.tls_cause = tls.cause
  unsafe result.tls_alert = tls.alert
  unsafe result.tls_depth = tls.depth
  unsafe result.not_before_s = tls.notBefore
  unsafe result.not_after_s = tls.notAfter
  unsafe result.tls_native = tls.native
  unsafe result.tls_subject = bytes(client.tlsSubject)
  unsafe result.text = bytes(client.tlsText)
  return unsafe result
}

/// They stay where they are until the next attempt.
private func bytes(_ text: Span<UInt8>) -> smq_bytes {
  unsafe text.withUnsafeBytes { text in unsafe smq_bytes(data: text.baseAddress, size: text.count) }
}

@c @implementation
public func smq_tls_describe(_ client: OpaquePointer?, _ info: UnsafeMutablePointer<smq_tls_info>?) -> Int32 {
  status { () throws(Status) in
    guard let info = unsafe info else { throw .null }
    let slot = try unsafe slot(client)
    let size = unsafe info.pointee.size
    let known = unsafe MemoryLayout<smq_tls_info>.size
    guard size >= UInt32(truncatingIfNeeded: known), size <= 4096 else { throw .structSize }
    // There is room for the struct that the engine fills.
    guard unsafe slot.pointee.client.describeTLS(at: info, size: known) else { throw .state }
    unsafe info.pointee.size = size
    unsafe StructSize.clearTail(info, size, known: known)
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_tls_describe_certificate(
  _ client: OpaquePointer?, _ depth: UInt32, _ certificate: UnsafeMutablePointer<smq_tls_certificate>?
) -> Int32 {
  status { () throws(Status) in
    guard let certificate = unsafe certificate else { throw .null }
    let slot = try unsafe slot(client)
    let size = unsafe certificate.pointee.size
    let known = MemoryLayout<smq_tls_certificate>.size
    guard size >= UInt32(truncatingIfNeeded: known), size <= 4096 else { throw .structSize }
    guard unsafe slot.pointee.client.hasTLS else { throw .state }
    // There is room for the struct that the engine fills.
    guard unsafe slot.pointee.client.describeCertificate(depth, at: certificate, size: known) else {
      throw .option
    }
    unsafe certificate.pointee.size = size
    unsafe StructSize.clearTail(certificate, size, known: known)
    return Status.ok.rawValue
  }
}

@c @implementation
public func smq_websocket_request(
  _ client: OpaquePointer?, _ path: UnsafePointer<smq_bytes>?, _ headers: UnsafePointer<smq_bytes>?
) -> Int32 {
  status { () throws(Status) in
    guard Feature.hasWebSocket else { throw .notSupported }
    let slot = try unsafe slot(client)
    let path = try unsafe span(path)
    let headers = try unsafe span(headers)
    guard unsafe slot.pointee.client.hasWebSocket else { throw .notSupported }
    do throws(OptionsError) {
      try unsafe slot.pointee.client.setWebSocketRequest(path: path, headers: headers)
    } catch {
      var offset: Int? = nil
      throw Status(error, &offset)
    }
    return Status.ok.rawValue
  }
}
