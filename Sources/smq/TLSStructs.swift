import CSwiftMQTT

// What an engine tells of a connection over TLS, copied. The engine ends each of its texts with a zero. smq and sst have this
// file each: the compiler takes the structs, which both libraries' headers have, for those of the one that is imported.

extension TLSInfo {
  init(_ raw: smq_tls_info) {
    unsafe version = UInt32(raw.version)
    unsafe isResumed = raw.is_resumed == 1
    unsafe certificates = raw.certificates
    unsafe cipher = text(of: raw.cipher)
    unsafe alpn = text(of: raw.alpn)
    unsafe library = text(of: raw.library)
  }
}

extension Certificate {
  init(_ raw: smq_tls_certificate) {
    notBefore = raw.not_before_s
    notAfter = raw.not_after_s
    pin = unsafe withUnsafeBytes(of: raw.spki_sha256) { unsafe Array($0) }
    subject = text(of: raw.subject)
    issuer = text(of: raw.issuer)
    names = text(of: raw.names)
    key = text(of: raw.key)
  }
}
