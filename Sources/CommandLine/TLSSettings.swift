import CSwiftMQTT
import CTool

/// Settings of libswiftmqtt-tls, which stay open until the process ends.
@safe
struct TLSSettings {
  let engine: UnsafePointer<smq_tls_engine>
  let settings: OpaquePointer

  /// Loads the library, reads the files, and may ask for a password on the terminal.
  init(_ given: TLSArguments) throws(ExitError) {
    let copies = CArguments()
    var raw = unsafe copies.options(given)
    var engine: UnsafePointer<smq_tls_engine>? = nil
    var settings: OpaquePointer? = nil
    var why = tool_tls_failure()
    let status = unsafe tool_tls_open(&raw, &engine, &settings, &why)
    guard status == Status.ok, let engine = unsafe engine, let settings = unsafe settings else {
      let text = unsafe withUnsafeBytes(of: why.text) { bytes in unsafe Array(bytes.prefix { $0 != 0 }) }
      throw Self.refusal(status, Int(why.cause), text)
    }
    unsafe self.engine = unsafe engine
    unsafe self.settings = unsafe settings
  }

  private static func refusal(_ status: Int32, _ cause: Int, _ text: [UInt8]) -> ExitError {
    switch Int(status) {
    case TOOL_TLS_MISSING:
      ExitError(
        text: "TLS needs libswiftmqtt-tls, which is not installed (Debian: libswiftmqtt-tls1): \(text)")
    case Status.tls: ExitError(text: "TLS: \(named(text, cause))")
    default: ExitError(text: "TLS: the options contradict each other: \(Library.statusText(Int(status)))")
    }
  }

  /// The library names the field, and here it is the option.
  private static func named(_ text: [UInt8], _ cause: Int) -> Text {
    let fields: [(field: StaticString, option: StaticString)] = [
      ("ca_file", "--cafile"), ("ca_directory", "--capath"), ("certificate_file", "--cert"),
      ("key_file", "--key"),
      ("key_uri", "--key"), ("crl_file", "--crl"), ("ciphers", "--ciphers"), ("key", "--key"),
    ]
    for (field, option) in fields where text.begins(with: field) {
      return "\(option)\(Array(text[field.utf8CodeUnitCount...]))"
    }
    let words = Library.causeName(cause)
    return text.isEmpty ? words : "\(words): \(text)"
  }
}

extension CArguments {
  func options(_ given: TLSArguments) -> smq_tls_options {
    var raw = unsafe smq_tls_options()
    unsafe raw.size = UInt32(MemoryLayout<smq_tls_options>.size)
    // mosquitto_pub and its like take the Common Name, too.
    var flags = SMQ_TLS_COMMON_NAME
    if given.usesSystemCAs { flags |= SMQ_TLS_SYSTEM_CA }
    if given.isInsecure { flags |= SMQ_TLS_NO_NAME_CHECK }
    unsafe raw.flags = UInt32(flags)
    unsafe raw.ca_file = bytes(given.caFile)
    unsafe raw.ca_directory = bytes(given.caDirectory)
    unsafe raw.certificate_file = bytes(given.certificate)
    unsafe raw.key_file = bytes(given.isKeyURI ? [] : given.key)
    unsafe raw.key_uri = bytes(given.isKeyURI ? given.key : [])
    unsafe raw.key_engine = bytes(given.engine)
    unsafe raw.crl_file = bytes(given.crl)
    unsafe raw.pins = bytes(given.pins)
    unsafe raw.psk_identity = bytes(given.pskIdentity)
    unsafe raw.psk = bytes(given.psk)
    unsafe raw.ciphers = bytes(given.ciphers)
    // As with libmosquitto, 1.2 is a minimum.
    unsafe raw.minimum = given.version
    return unsafe raw
  }
}
