// Calls to the library without a client. As in CArguments.swift and Client.swift, which also contain `unsafe`, memory
// that C gets lives during the call, as the header requires, and what an event points to is copied before the next
// event.

import CSwiftMQTT

extension MQTT {
  // ---- Names

  static func statusText(_ status: Int) -> Text { unsafe Text(bytes(of: smq_status_text(Int32(status)))) }
  static func stageName(_ stage: Int) -> Text { unsafe Text(bytes(of: smq_stage_name(Int32(stage)))) }
  static func causeName(_ cause: Int) -> Text { unsafe Text(bytes(of: smq_tls_cause_name(Int32(cause)))) }
  static func ruleName(_ rule: Int32) -> Text { unsafe Text(bytes(of: smq_rule_name(rule))) }
  static func logName(_ what: Int32) -> Text { unsafe Text(bytes(of: smq_log_name(what))) }

  static func reasonName(_ version: UInt32, _ code: Int) -> Text {
    unsafe Text(bytes(of: smq_reason_code_name(version, Int32(code))))
  }

  static var libraryVersion: Text {
    let version = smq_version()
    return "\(version >> 16).\(version >> 8 & 255).\(version & 255)"
  }

  // ---- Topics and properties

  static func checkTopic(_ topic: [UInt8]) -> Int {
    let copies = CArguments()
    var text = unsafe copies.bytes(topic)
    return unsafe Int(smq_topic_name_check(&text))
  }

  static func checkFilter(_ filter: [UInt8]) -> Int {
    let copies = CArguments()
    var text = unsafe copies.bytes(filter)
    return unsafe Int(smq_topic_filter_check(&text))
  }

  static func matches(filter: [UInt8], topic: [UInt8]) -> Bool {
    let copies = CArguments()
    var first = unsafe copies.bytes(filter)
    var second = unsafe copies.bytes(topic)
    return unsafe smq_topic_matches(&first, &second) == 1
  }

  /// Appends a property to a list. Returns a status.
  static func put(_ property: Property, kind: PropertyKind, into list: inout [UInt8]) -> Int {
    let copies = CArguments()
    var added = [UInt8](repeating: 0, count: property.name.count + property.value.count + 16)
    var size = 0
    let status = unsafe added.withUnsafeMutableBytes { buffer in
      var target = unsafe smq_properties(data: buffer.baseAddress, capacity: buffer.count, size: 0)
      var name = unsafe copies.bytes(property.name)
      var value = unsafe copies.bytes(property.value)
      let identifier = UInt32(property.identifier)
      let status: Int32
      switch kind {
      case .number: unsafe status = smq_property_put_number(&target, identifier, property.number)
      case .bytes: unsafe status = smq_property_put_bytes(&target, identifier, &value)
      case .pair: unsafe status = smq_property_put_pair(&target, &name, &value)
      }
      unsafe size = target.size
      return Int(status)
    }
    if status == SMQ_OK { list += added[..<size] }
    return status
  }

  static func properties(_ list: [UInt8]) -> [Property] {
    let copies = CArguments()
    var found: [Property] = []
    var whole = unsafe copies.bytes(list)
    var position = 0
    var property = unsafe smq_property()
    unsafe property.size = UInt32(MemoryLayout<smq_property>.size)
    while unsafe smq_property_next(&whole, &position, &property) == 1 {
      unsafe found.append(
        Property(
          identifier: Int(property.identifier), number: property.number, name: copy(property.name),
          value: copy(property.value)))
    }
    return found
  }

  /// What is wrong with options: a status, and where in the URL.
  static func check(_ options: Options) -> (status: Int, offset: Int) {
    let copies = CArguments()
    var raw = unsafe copies.options(options)
    var offset = 0
    let status = unsafe smq_options_check(&raw, &offset)
    return (Int(status), offset)
  }

  /// The names of the options that the library refuses; empty: of none.
  static func fault(in options: Options) -> Text {
    let copies = CArguments()
    var raw = unsafe copies.options(options)
    var names = [CChar](repeating: 0, count: 300)
    let size = unsafe smq_options_fault(&raw, &names, names.count)
    return Text(names.prefix(min(size, names.count - 1)).map { UInt8(bitPattern: $0) })
  }

  static func copy(_ bytes: smq_bytes) -> [UInt8] {
    guard let start = unsafe bytes.data, unsafe bytes.size > 0 else { return [] }
    return unsafe Array(UnsafeRawBufferPointer(start: start, count: bytes.size))
  }
}
