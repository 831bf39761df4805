/// A line of the table of options, from which parsing, `--help`, completion and manual pages are made.
struct Option {
  let key: Key
  let short: StaticString
  let long: StaticString
  /// The name of its value; empty: it has none.
  let value: StaticString
  let commands: UInt16
  /// A sentence without its full stop. The part after `~` is only in the manual, and `^` stands for `Program.pinSource`.
  let help: StaticString

  @inline(__always)
  init(
    _ key: Key, _ short: StaticString, _ long: StaticString, _ value: StaticString, _ commands: UInt16,
    _ help: StaticString
  ) {
    self.key = key
    self.short = short
    self.long = long
    self.value = value
    self.commands = commands
    self.help = help
  }

  var takesValue: Bool { value.utf8CodeUnitCount > 0 }
  var hasShort: Bool { short.utf8CodeUnitCount > 0 }
  var hasLong: Bool { long.utf8CodeUnitCount > 0 }

  /// The name for error texts.
  var name: Text { Text(hasShort ? short.bytes : long.bytes) }

  func isCalled(_ name: [UInt8]) -> Bool { (hasShort && name == short) || (hasLong && name == long) }
}

/// The word after the command journal.
let journalOperand = Option(.journalFile, "", "FILE", "FILE", Commands.journal, "")

// ---- Options that each program has, with the same words

/// Between this machine and the server.
let placeOptions: [Option] = [
  Option(
    .unix, "", "--unix", "PATH", Commands.online,
    "connect to a socket in the file system instead"),
  Option(
    .bind, "-A", "", "ADDRESS", Commands.online, "connect from this local address, or that of this name"),
  Option(
    .interface, "", "--interface", "NAME", Commands.online,
    "connect through this network interface, such as eth0"),
  Option(
    .dscp, "", "--dscp", "NUMBER", Commands.online,
    "mark all packets with this Differentiated Services Codepoint, 1 to 63 (RFC 2474)"),
  Option(
    .tcpKeepAlive, "", "--tcp-keepalive", "SECONDS", Commands.online,
    "have the kernel probe a connection that was idle for so long"),
  Option(
    .proxy, "", "--proxy", "URL", Commands.online,
    "socks5h://[USER[:PASSWORD]@]HOST[:PORT], or http://...: connect through a SOCKS5 proxy, or by CONNECT of an HTTP proxy; ~the proxy looks the broker's name up"
  ),
]

let webSocketOptions: [Option] = [
  Option(
    .webSocketPath, "", "--ws-path", "PATH", Commands.online,
    "with -h: connect by a WebSocket, at this path and query; ~a URL with ws:// or wss:// has its own"),
  Option(
    .webSocketHeader, "", "--ws-header", "HEADER", Commands.online,
    "add a line to the WebSocket request, 'Name: value'; may be given more than once"),
]

let tlsOptions: [Option] = [
  Option(
    .caFile, "", "--cafile", "FILE", Commands.online,
    "TLS: trust the CA certificates in this PEM file; ~any option of TLS turns it on, and without --cafile, --capath and --psk the CAs of the system are trusted"
  ),
  Option(
    .caDirectory, "", "--capath", "DIRECTORY", Commands.online,
    "TLS: trust the CA certificates in this directory, named by hash (openssl rehash)"),
  Option(
    .systemCAs, "", "--tls-use-os-certs", "", Commands.online,
    "TLS: trust the CA certificates of the system, too"),
  Option(
    .certificate, "", "--cert", "FILE", Commands.online,
    "TLS: the client's certificate, in PEM, with those of the CAs between it and the root"),
  Option(
    .privateKey, "", "--key", "FILE", Commands.online,
    "TLS: its private key, in PEM, or pkcs11:... (RFC 7512); ~a password is asked for on the terminal"),
  Option(
    .keyForm, "", "--keyform", "FORM", Commands.online,
    "TLS: pem, or engine if --key names a key of an OpenSSL engine"),
  Option(
    .engine, "", "--tls-engine", "ENGINE", Commands.online,
    "TLS: the OpenSSL engine that has the key (default: pkcs11)"),
  Option(
    .psk, "", "--psk", "KEY", Commands.online,
    "TLS: a pre-shared key, in hexadecimal digits, instead of certificates; ~other users of this machine can see it in the list of processes: an options file (-o) hides it"
  ),
  Option(
    .pskIdentity, "", "--psk-identity", "IDENTITY", Commands.online, "TLS: the identity of the pre-shared key"
  ),
  Option(
    .insecure, "", "--insecure", "", Commands.online,
    "TLS: accept a certificate for another name; ~a trusted CA has to have signed it nevertheless"),
  Option(
    .tlsName, "", "--tls-name", "NAME", Commands.online,
    "TLS: the name to send (SNI) and to check the certificate for, instead of the host"),
  Option(
    .pin, "", "--pin", "PIN", Commands.online,
    "TLS: the broker's key must be this one: sha256//BASE64, as ^ it; may be given more than once"
  ),
  Option(
    .crl, "", "--crl", "FILE", Commands.online, "TLS: refuse certificates that these CRLs revoke, in PEM"),
  Option(
    .tlsVersion, "", "--tls-version", "TLSVERSION", Commands.online,
    "TLS: tlsv1.3, or tlsv1.2 for 1.2 and newer (default: tlsv1.2)"),
  Option(
    .ciphers, "", "--ciphers", "LIST", Commands.online,
    "TLS: the cipher suites of TLS 1.2, as OpenSSL names them"),
]

let lastOptions: [Option] = [
  Option(.help, "", "--help", "", Commands.all, "print this help and end"),
  Option(.programVersion, "", "--version", "", Commands.all, "print the version and end"),
]
