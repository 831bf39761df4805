import CTLSEngine

private let clientCertificate: StaticString =
  "check that --cert is signed by a CA that the broker trusts, is neither expired nor revoked, and is for clients"
/// The causes and alerts of TLS, but for those in whose rows a program has words of its own.
let tlsFailures: [FailureRow] = [
  // ---- TLS
  FailureRow(
    .tls, SMQ_TLS_UNKNOWN_CA, "no trusted CA has signed the broker's certificate",
    "give the broker's CA with --cafile; if it is trusted already, the broker has to send the certificates of the CAs between"
  ),
  FailureRow(
    .tls, SMQ_TLS_EXPIRED, "a certificate has expired",
    "the certificate has to be renewed on the broker; if the dates are fine, the clock of this machine is wrong"
  ),
  FailureRow(
    .tls, SMQ_TLS_NOT_YET_VALID, "a certificate is not valid yet",
    "check the clock of this machine; if it is right, the certificate was made for later"),
  FailureRow(
    .tls, SMQ_TLS_CLOCK, "a certificate is not valid yet, and the clock of this machine is not set",
    "set the clock of this machine, for example by NTP, before TLS is used"),
  FailureRow(
    .tls, SMQ_TLS_NAME, "the broker's certificate is for another name",
    "connect to a name that the certificate is for, or give it with --tls-name; --insecure checks no name, and everyone with a certificate of this CA can then be the broker"
  ),
  FailureRow(
    .tls, SMQ_TLS_REVOKED, "a certificate was revoked",
    "do not trust this broker: its certificate has to be replaced, and its key may be stolen"),
  FailureRow(
    .tls, SMQ_TLS_REVOCATION_UNKNOWN, "no CRL says whether the certificate was revoked",
    "--crl needs a current CRL of each CA that is asked about"),
  FailureRow(
    .tls, SMQ_TLS_PURPOSE, "a certificate is not made for this purpose",
    "the broker needs a certificate for servers (extendedKeyUsage serverAuth), signed by a certificate that is a CA"
  ),
  FailureRow(
    .tls, SMQ_TLS_CHAIN, "the chain of certificates breaks a rule",
    "check basicConstraints, keyUsage and nameConstraints of the CAs with openssl x509 -text"),
  FailureRow(
    .tls, SMQ_TLS_WEAK, "a key or a digest of the certificates is too weak",
    "the certificates need RSA keys of 2048 bits or more, or elliptic curves, and SHA-256"),
  FailureRow(
    .tls, SMQ_TLS_SIGNATURE, "a signature is wrong",
    "the certificate was changed, or --cafile has another CA of the same name"),
  FailureRow(
    .tls, SMQ_TLS_PIN, "the broker's key is none of those of --pin",
    "the broker has a new key, or somebody is in between: compare the pin with the broker's certificate on the broker itself"
  ),
  FailureRow(
    .tls, SMQ_TLS_CERTIFICATE_REFUSED, "the broker does not accept the client certificate", clientCertificate),
  FailureRow(
    .tls, SMQ_TLS_VERSION, "the broker speaks no version of TLS that is allowed here",
    "leave out --tls-version, or let the broker speak TLS 1.2 or 1.3"),
  FailureRow(
    .tls, SMQ_TLS_CIPHER, "no cipher suite, group or signature algorithm is common",
    "leave out --ciphers; a broker with PSK only needs --psk and --psk-identity, and one with an RSA or EC key a cipher suite for that"
  ),
  FailureRow(
    .tls, SMQ_TLS_CLOSED, "the peer closed the connection in the middle of the handshake",
    "the broker's log may say why; a load balancer may have no broker behind it"),
  FailureRow(
    .tls, SMQ_TLS_KEY, "the client's own key or certificate cannot be used",
    "check that --key belongs to --cert, and that the token or smart card is there"),
  FailureRow(.tls, SMQ_TLS_MEMORY, "there is not enough memory", "free memory on this machine"),
  FailureRow(
    .tls, SMQ_TLS_PEER, "the peer broke a rule of TLS",
    "something between here and the broker may change what is sent; openssl s_client shows the same handshake"
  ),
  FailureRow(.tls, SMQ_TLS_OTHER, "the handshake failed", ""),
  FailureRow(
    .tls, SMQ_TLS_CA_FILE, "the CA certificates or CRLs cannot be read",
    "check the files of --cafile, --capath and --crl: they have to be PEM"),
  // ---- Alerts, where the cause above does not say it
  FailureRow(.alert, 10, "unexpected_message", ""),
  FailureRow(.alert, 20, "bad_record_mac", ""),
  FailureRow(.alert, 22, "record_overflow", ""),
  FailureRow(
    .alert, 40, "handshake_failure",
    "the broker may want another cipher suite, a PSK (--psk) or a client certificate (--cert): its log says which"
  ),
  FailureRow(.alert, 42, "bad_certificate", clientCertificate),
  FailureRow(.alert, 43, "unsupported_certificate", clientCertificate),
  FailureRow(.alert, 44, "certificate_revoked", clientCertificate),
  FailureRow(.alert, 45, "certificate_expired", clientCertificate),
  FailureRow(.alert, 46, "certificate_unknown", clientCertificate),
  FailureRow(.alert, 47, "illegal_parameter", ""),
  FailureRow(.alert, 48, "unknown_ca", clientCertificate),
  FailureRow(.alert, 49, "access_denied", clientCertificate),
  FailureRow(.alert, 50, "decode_error", ""),
  FailureRow(.alert, 51, "decrypt_error", clientCertificate),
  FailureRow(.alert, 70, "protocol_version", ""),
  FailureRow(.alert, 71, "insufficient_security", ""),
  FailureRow(.alert, 86, "inappropriate_fallback", ""),
  FailureRow(.alert, 90, "user_canceled", ""),
  FailureRow(.alert, 109, "missing_extension", ""),
  FailureRow(.alert, 110, "unsupported_extension", ""),
  FailureRow(.alert, 112, "unrecognized_name", ""),
  FailureRow(.alert, 113, "bad_certificate_status_response", ""),
  FailureRow(.alert, 115, "unknown_psk_identity", ""),
  FailureRow(.alert, 116, "certificate_required", ""),
  FailureRow(.alert, 120, "no_application_protocol", ""),
]
