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

@inline(never)
@_optimize(size)
private func findFault(_ options: UnsafePointer<smq_options>, _ error: Int32, _ names: inout TextWriter) {
  let size = unsafe UInt32(MemoryLayout<smq_options>.size)
  guard unsafe options.pointee.size >= size else { return names.addName(of: "size") }
  // Within its size.
  var copy = unsafe options.pointee
  unsafe copy.size = size
  let hasServer = unsafe copy.url.size | copy.host.size != 0
  if !hasServer, unsafe smq_options_check(&copy, nil) == error { return names.addName(of: "url") }
  // The first struct whose fields are options is the fifth of the header.
  let description = unsafe OptionsDescription(
    layout: smq_abi_layout()!, position: 4, fields: optionNames, flags: flagNames, flagPrefix: "SMQ_OPTION_")
  unsafe nameFault(
    of: &copy, error, description, in: &names, check: { unsafe smq_options_check(&$0, nil) },
    complete: { unsafe complete(&$0, $1) })
}

/// A server there has to be, and some options need a Client Identifier: here is one that all versions allow.
private func complete(_ options: inout smq_options, _ field: Int32) {
  let letter: StaticString = "h"
  let name = unsafe smq_bytes(data: UnsafeRawPointer(letter.utf8Start), size: 1)
  if unsafe options.url.size | options.host.size == 0 { unsafe options.host = unsafe name }
  if field == 6 { unsafe options.client_id = unsafe name }
}

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
