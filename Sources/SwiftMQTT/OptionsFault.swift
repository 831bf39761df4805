// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// Which options are at fault: smq_options_fault().

import CInterface
public import CSwiftMQTT
import Storage

@c @implementation
public func smq_options_fault(
  _ options: UnsafePointer<smq_options>?, _ text: UnsafeMutablePointer<CChar>?, _ capacity: Int
) -> Int {
  var names = unsafe TextWriter(text, capacity)
  guard Feature.hasWords, let options = unsafe options else { return names.finish() }
  let error = unsafe smq_options_check(options, nil)
  if error != 0 { unsafe findFault(options, error, &names) }
  return names.finish()
}

/// The checks say what is wrong, and not of which option: naming it there would cost code in each of a hundred
/// places. So this leaves out one option after the other, for as long as the error stays the same. What cannot be
/// left out is at fault: one option, or several that contradict each other.
///
/// It begins at the end of the struct, because options depend on earlier ones.
@inline(never)
@_optimize(size)
private func findFault(_ options: UnsafePointer<smq_options>, _ error: Int32, _ names: inout TextWriter) {
  let size = unsafe UInt32(MemoryLayout<smq_options>.size)
  guard unsafe options.pointee.size >= size else { return unsafe names.addName("", sizeName.name(0)) }
  // Within its size.
  var copy = unsafe options.pointee
  unsafe copy.size = size
  guard unsafe smq_options_check(&copy, nil) == error else {
    return unsafe names.addName("", sizeName.name(0))
  }
  guard unsafe copy.url.size | copy.host.size != 0 else {
    return unsafe names.addName("", optionNames.name(2))
  }
  for index in stride(from: optionNames.count, to: 1, by: -1) {
    let isNeeded = unsafe isFault(&copy, error) { unsafe clear(&$0, index) }
    if isNeeded { unsafe names.addName("", optionNames.name(index)) }
  }
  for bit in stride(from: flagNames.count &- 1, through: 0, by: -1) {
    let isNeeded = unsafe isFault(&copy, error) { unsafe $0.flags &= ~(1 << UInt32(bit)) }
    if isNeeded { unsafe names.addName("SMQ_OPTION_", flagNames.name(bit)) }
  }
  // These are unknown, whatever else there is.
  if unsafe copy.flags >> UInt32(flagNames.count) != 0 { unsafe names.addName("", optionNames.name(1)) }
}

/// Changes the options, and takes that back if they then have another error, or none.
@inline(never)
@_optimize(size)
private func isFault(_ options: inout smq_options, _ error: Int32, _ change: (inout smq_options) -> Void)
  -> Bool
{
  let before = unsafe options
  unsafe change(&options)
  if unsafe smq_options_check(&options, nil) == error { return false }
  unsafe options = unsafe before
  return true
}

/// Sets a field to its default. A server there has to be, and some options need a Client Identifier: in their place
/// is one that all versions allow.
private func clear(_ options: inout smq_options, _ index: Int32) {
  // The first struct whose fields are options is the fifth of the header. A row has two numbers.
  var row = unsafe smq_abi_layout()!
  for _ in 0..<4 { unsafe row += 2 &+ 2 &* Int(row[1]) }
  unsafe row += 2 &+ 2 &* Int(index)
  unsafe withUnsafeMutableBytes(of: &options) { bytes in
    // The layout has the offset and the size of each field.
    for offset in unsafe Int(row[0])..<Int(row[0]) &+ Int(row[1]) { unsafe bytes[offset] = 0 }
  }
  let letter: StaticString = "h"
  let name = unsafe smq_bytes(data: UnsafeRawPointer(letter.utf8Start), size: 1)
  if unsafe options.url.size | options.host.size == 0 { unsafe options.host = unsafe name }
  if index == 6 { unsafe options.client_id = unsafe name }
}

extension TextWriter {
  fileprivate mutating func addName(_ prefix: StaticString, _ name: UnsafePointer<CChar>?) {
    if count > 0 { add(", ") }
    add(prefix)
    unsafe add(name: name)
  }
}

private var sizeName: NameList { NameList(first: 0, count: 1, text: "size") }

/// The fields of smq_options behind its size. A test compares them with the header.
private var optionNames: NameList {
  NameList(
    first: 1, count: 73,
    text: """
      flags\0\
      url\0\
      host\0\
      port\0\
      protocol\0\
      client_id\0\
      user_name\0\
      password\0\
      will\0\
      properties\0\
      keep_alive_s\0\
      session_expiry_s\0\
      connect_timeout_ms\0\
      ping_timeout_ms\0\
      outbox_bytes\0\
      outbox_messages\0\
      receive_bytes\0\
      in_flight_maximum\0\
      receive_maximum\0\
      maximum_packet_bytes\0\
      requests\0\
      request_bytes\0\
      control_bytes\0\
      handlers\0\
      handler_bytes\0\
      topic_aliases_in\0\
      topic_aliases_out\0\
      topic_alias_bytes\0\
      replies\0\
      stream_bytes\0\
      reconnect_min_ms\0\
      reconnect_max_ms\0\
      stable_ms\0\
      jitter\0\
      subscriptions\0\
      subscription_bytes\0\
      resubscribe\0\
      urgent_messages\0\
      urgent_bytes\0\
      answer_timeout_ms\0\
      write_timeout_ms\0\
      tcp_user_timeout_ms\0\
      credential_bytes\0\
      submit_messages\0\
      submit_bytes\0\
      unreleased_maximum\0\
      addresses\0\
      tls\0\
      tls_settings\0\
      tls_name\0\
      alpn\0\
      proxy\0\
      websocket_path\0\
      websocket_headers\0\
      websocket_protocol\0\
      websocket_bytes\0\
      websocket_request_bytes\0\
      bind_device\0\
      bind_address\0\
      dscp\0\
      tcp_keep_alive_s\0\
      references\0\
      busy_poll_us\0\
      journal\0\
      journal_bytes\0\
      journal_delay_ms\0\
      journal_batch_bytes\0\
      journal_flags\0\
      trace_bytes\0\
      trace_packet_bytes\0\
      inspect\0\
      inspect_mode\0\
      inspect_bytes
      """)
}

/// SMQ_OPTION_…, from the lowest bit on.
private var flagNames: NameList {
  NameList(
    first: 0, count: 17,
    text: """
      KEEP_SESSION\0\
      NEW_SESSION\0\
      FALLBACK\0\
      CLIENT_ID_AS_IS\0\
      HOLD\0\
      PARTS\0\
      NO_RECONNECT\0\
      SHUFFLE\0\
      REDIRECT\0\
      QOS_0_CONNECTED\0\
      ASK_CREDENTIALS\0\
      ASK_ADDRESSES\0\
      OWN_TRANSPORT\0\
      USER_NAME\0\
      PASSWORD\0\
      SESSION_EXPIRY\0\
      WEBSOCKET
      """)
}
