// Calls to the library without a client. As in CStructs.swift and Client.swift, which also contain `unsafe`, memory
// that C gets lives during the call, as the header requires, and what an event points to is copied before the next
// event.

import CSwiftSTOMP

extension STOMP {
  // ---- Names

  static func statusText(_ status: Int) -> Text { unsafe Text(bytes(of: sst_status_text(Int32(status)))) }
  static func stageName(_ stage: Int) -> Text { unsafe Text(bytes(of: sst_stage_name(Int32(stage)))) }
  static func causeName(_ cause: Int) -> Text { unsafe Text(bytes(of: sst_tls_cause_name(Int32(cause)))) }
  static func logName(_ what: Int32) -> Text { unsafe Text(bytes(of: sst_log_name(what))) }
  static func ruleName(_ rule: Int32) -> Text { unsafe Text(bytes(of: sst_rule_name(rule))) }

  static var libraryVersion: Text {
    let version = sst_version()
    return "\(version >> 16).\(version >> 8 & 255).\(version & 255)"
  }

  /// "STOMP 1.2"
  static func versionName(_ version: UInt32) -> Text { "STOMP \(version / 10).\(version % 10)" }

  // ---- Headers

  /// Appends a header to a list. Returns a status.
  static func put(_ header: Header, into list: inout [UInt8]) -> Int {
    let copies = CArguments()
    var added = [UInt8](repeating: 0, count: header.name.count + header.value.count + 4)
    var size = 0
    let status = unsafe added.withUnsafeMutableBytes { buffer in
      var target = unsafe sst_headers(data: buffer.baseAddress, capacity: buffer.count, size: 0)
      var name = unsafe copies.text(header.name)
      var value = unsafe copies.text(header.value)
      let status = unsafe sst_header_put(&target, &name, &value)
      unsafe size = target.size
      return Int(status)
    }
    if status == SST_OK { list += added[..<size] }
    return status
  }

  static func headers(of event: inout sst_event) -> [Header] {
    var found: [Header] = []
    var position = 0
    var name = unsafe sst_bytes()
    var value = unsafe sst_bytes()
    while unsafe sst_header_next(&event, &position, &name, &value) == 1 {
      unsafe found.append(Header(name: copy(name), value: copy(value)))
    }
    return found
  }

  /// What is wrong with options: a status, and where in the URL.
  static func check(_ options: Options) -> (status: Int, offset: Int) {
    let copies = CArguments()
    var raw = unsafe copies.options(options)
    var offset = 0
    let status = unsafe sst_options_check(&raw, &offset)
    return (Int(status), offset)
  }

  /// The names of the options that the library refuses; empty: of none.
  static func fault(in options: Options) -> Text {
    let copies = CArguments()
    var raw = unsafe copies.options(options)
    var names = [CChar](repeating: 0, count: 300)
    let size = unsafe sst_options_fault(&raw, &names, names.count)
    return Text(names.prefix(min(size, names.count - 1)).map { UInt8(bitPattern: $0) })
  }

  static func copy(_ bytes: sst_bytes) -> [UInt8] {
    guard let start = unsafe bytes.data, unsafe bytes.size > 0 else { return [] }
    return unsafe Array(UnsafeRawBufferPointer(start: start, count: bytes.size))
  }
}

/// As people call it; `version` is SST_STOMP_….
func versionNumber(_ version: UInt32) -> StaticString {
  switch version {
  case 10: "1.0"
  case 11: "1.1"
  case 12: "1.2"
  default: "?"
  }
}
