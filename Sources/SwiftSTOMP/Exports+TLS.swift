// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapter 4 that tell about a connection over TLS. The structs are those of an engine, which fills them.

import CInterface
public import CSwiftSTOMP
import Driver
import STOMPClient

@c @implementation
public func sst_tls_describe(_ client: OpaquePointer?, _ info: UnsafeMutablePointer<smq_tls_info>?) -> Int32 {
  status { () throws(Status) in
    guard let info = unsafe info else { throw .null }
    let slot = try unsafe slot(client)
    let (size, known) = unsafe (info.pointee.size, MemoryLayout<smq_tls_info>.size)
    guard StructSize.isRoom(size, known: known) else { throw .structSize }
    guard unsafe slot.pointee.client.describeTLS(at: info, size: known) else { throw .state }
    unsafe info.pointee.size = size
    unsafe StructSize.clearTail(info, size, known: known)
    return Status.ok.rawValue
  }
}

@c @implementation
public func sst_tls_describe_certificate(
  _ client: OpaquePointer?, _ depth: UInt32, _ certificate: UnsafeMutablePointer<smq_tls_certificate>?
) -> Int32 {
  status { () throws(Status) in
    guard let certificate = unsafe certificate else { throw .null }
    let slot = try unsafe slot(client)
    let (size, known) = unsafe (certificate.pointee.size, MemoryLayout<smq_tls_certificate>.size)
    guard StructSize.isRoom(size, known: known) else { throw .structSize }
    guard unsafe slot.pointee.client.hasTLS else { throw .state }
    guard unsafe slot.pointee.client.describeCertificate(depth, at: certificate, size: known) else {
      throw .option
    }
    unsafe certificate.pointee.size = size
    unsafe StructSize.clearTail(certificate, size, known: known)
    return Status.ok.rawValue
  }
}
