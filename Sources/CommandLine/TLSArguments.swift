/// The options of TLS.
struct TLSArguments {
  var caFile: [UInt8] = []
  var caDirectory: [UInt8] = []
  var usesSystemCAs = false
  var certificate: [UInt8] = []
  var key: [UInt8] = []
  /// --keyform; nil: it was not given.
  var isKeyInEngine: Bool?
  var engine: [UInt8] = []
  var ciphers: [UInt8] = []
  /// 0x0303 or 0x0304; 0: not given.
  var version: UInt32 = 0
  var alpn: [UInt8] = []
  var name: [UInt8] = []
  var isInsecure = false
  var psk: [UInt8] = []
  var pskIdentity: [UInt8] = []
  var pins: [UInt8] = []
  var crl: [UInt8] = []
  /// The first of these options that was given, by its name.
  var first: Text?

  mutating func apply(_ option: Option, _ value: [UInt8]) throws(ExitError) {
    if first == nil { first = option.name }
    if option.takesValue && value.isEmpty {
      throw usageError("\(option.name) must not be empty: its value is \(option.value)")
    }
    switch option.key {
    case .caFile: caFile = value
    case .caDirectory: caDirectory = value
    case .systemCAs: usesSystemCAs = true
    case .certificate: certificate = value
    case .privateKey: key = value
    case .keyForm:
      guard value == "pem" || value == "engine" else {
        throw usageError("\(option.name) is pem or engine, not \"\(value.printable)\"")
      }
      isKeyInEngine = value == "engine"
    case .engine: engine = value
    case .ciphers: ciphers = value
    case .tlsVersion:
      // libmosquitto takes the older ones as minimum; OpenSSL 3 and this library have none below 1.2.
      switch value {
      case let value where value == "tlsv1.3": version = 0x0304
      case let value where value == "tlsv1.2" || value == "tlsv1.1": version = 0x0303
      default: throw usageError("\(option.name) needs tlsv1.3 or tlsv1.2, not \"\(value.printable)\"")
      }
    case .alpn: alpn = value
    case .tlsName: name = value
    case .insecure: isInsecure = true
    case .psk:
      guard let key = hexadecimal(value), key.count <= 256 else {
        throw usageError("\(option.name) needs a key of 1 to 256 bytes in hexadecimal digits")
      }
      psk = key
    case .pskIdentity: pskIdentity = value
    case .pin:
      guard let pin = pinned(value) else {
        throw usageError(
          "\(option.name) needs sha256// and 44 characters of base64, as \(Program.pinSource) them, or 64 hexadecimal digits"
        )
      }
      pins += pin
    case .crl: crl = value
    default: break
    }
  }

  /// What does not fit together, or lacks something.
  func check() throws(ExitError) {
    if certificate.isEmpty != key.isEmpty { throw usageError("--cert and --key need each other") }
    if isKeyInEngine != nil && key.isEmpty { throw usageError("--keyform needs --key") }
    if !engine.isEmpty && isKeyInEngine != true {
      throw usageError("--tls-engine needs --keyform engine: only a private key is taken from an engine")
    }
    if psk.isEmpty != pskIdentity.isEmpty { throw usageError("--psk and --psk-identity need each other") }
    // A key that both sides know takes the place of certificates.
    let others: [(name: Text, isGiven: Bool)] = [
      ("--cafile", !caFile.isEmpty), ("--capath", !caDirectory.isEmpty),
      ("--tls-use-os-certs", usesSystemCAs),
      ("--cert", !certificate.isEmpty), ("--pin", !pins.isEmpty), ("--crl", !crl.isEmpty),
    ]
    if !psk.isEmpty, let other = others.first(where: { $0.isGiven }) {
      throw usageError("--psk and \(other.name) cannot be used together")
    }
  }

  /// RFC 7512.
  var isKeyURI: Bool { isKeyInEngine ?? key.begins(with: "pkcs11:") }
}

/// Pairs of digits; nil if there is anything else, or nothing.
private func hexadecimal(_ text: [UInt8]) -> [UInt8]? {
  guard !text.isEmpty && text.count % 2 == 0 else { return nil }
  var result: [UInt8] = []
  for index in stride(from: 0, to: text.count, by: 2) {
    guard let high = hexadecimalValue(text[index]), let low = hexadecimalValue(text[index + 1]) else {
      return nil
    }
    result.append(high << 4 | low)
  }
  return result
}

/// The 32 bytes of a pin, as curl writes them, or in hexadecimal digits.
private func pinned(_ text: [UInt8]) -> [UInt8]? {
  let bytes =
    text.begins(with: "sha256//")
    ? base64(decoding: Array(text[8...])) : hexadecimal(text.filter { $0 != 58 })
  return bytes.flatMap { $0.count == 32 ? $0 : nil }
}

private let base64Digits = ascii("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")

/// RFC 4648, section 4.
func base64(_ bytes: [UInt8]) -> [UInt8] {
  var result: [UInt8] = []
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let group = bytes[start..<min(start + 3, bytes.count)]
    let padded = Array(group) + [UInt8](repeating: 0, count: 3 - group.count)
    let number = Int(padded[0]) << 16 | Int(padded[1]) << 8 | Int(padded[2])
    for place in 0..<4 {
      result.append(place <= group.count ? base64Digits[number >> (18 - 6 * place) & 63] : 61)
    }
  }
  return result
}

/// The same backwards; nil if the text is none.
func base64(decoding text: [UInt8]) -> [UInt8]? {
  guard text.count % 4 == 0 else { return nil }
  let padding = text.suffix(2).filter { $0 == 61 }.count
  var result: [UInt8] = []
  for start in stride(from: 0, to: text.count, by: 4) {
    var number = 0
    for (place, digit) in text[start..<start + 4].enumerated() {
      let isPadding = digit == 61 && start + place >= text.count - padding
      guard let value = isPadding ? 0 : base64Digits.firstIndex(of: digit) else { return nil }
      number = number << 6 | value
    }
    result += [UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255)]
  }
  return Array(result.dropLast(padding))
}
