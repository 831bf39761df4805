/// What `smq_tls_failure` says, without its texts.
public struct TLSFailure: BitwiseCopyable {
  public let cause: Int32
  /// The peer's; -1: none.
  public let alert: Int32
  /// Of the certificate at fault; -1: none.
  public let depth: Int32
  /// The validity of that certificate, in seconds since 1970; 0: unknown.
  public let notBefore: Int64
  public let notAfter: Int64
  public let native: Int64
}
