// What both libraries tell of a connection, as structs that own their bytes.

/// Why an attempt to connect, or a connection, ended, as far as an event does not have it: smq_failure or sst_failure.
struct Failure {
  var httpStatus = 0
  var socksReply = -1
  var closeCode = 0
  var tlsCause = 0
  var alert = -1
  var depth = -1
  var notBefore: Int64 = 0
  var notAfter: Int64 = 0
  var subject: [UInt8] = []
  var text: [UInt8] = []
}

/// What is known of a connection over TLS: smq_tls_info.
struct TLSInfo {
  var version: UInt32 = 0
  var isResumed = false
  var certificates: UInt32 = 0
  var cipher: [UInt8] = []
  var alpn: [UInt8] = []
  var library: [UInt8] = []
}

/// smq_tls_certificate, of one that the server has sent.
struct Certificate {
  var notBefore: Int64 = 0
  var notAfter: Int64 = 0
  var pin: [UInt8] = []
  var subject: [UInt8] = []
  var issuer: [UInt8] = []
  var names: [UInt8] = []
  var key: [UInt8] = []
}
