// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// Which options are at fault: sst_options_fault().

import CInterface
public import CSwiftSTOMP

@c @implementation
public func sst_options_fault(
  _ options: UnsafePointer<sst_options>?, _ text: UnsafeMutablePointer<CChar>?, _ capacity: Int
) -> Int {
  var names = unsafe TextWriter(text, capacity)
  guard let options = unsafe options else { return names.finish() }
  let error = unsafe sst_options_check(options, nil)
  if error != 0 { unsafe findFault(options, error, &names) }
  return names.finish()
}

@inline(never)
@_optimize(size)
private func findFault(_ options: UnsafePointer<sst_options>, _ error: Int32, _ names: inout TextWriter) {
  let size = unsafe UInt32(MemoryLayout<sst_options>.size)
  guard unsafe options.pointee.size >= size else { return names.addName(of: "size") }
  // Within its size.
  var copy = unsafe options.pointee
  unsafe copy.size = size
  let hasServer = unsafe copy.url.size | copy.host.size != 0
  if !hasServer, unsafe sst_options_check(&copy, nil) == error { return names.addName(of: "url") }
  // The first struct whose fields are options is the third of the header.
  let description = unsafe OptionsDescription(
    layout: sst_abi_layout()!, position: 2, fields: optionNames, flags: flagNames, flagPrefix: "SST_OPTION_")
  unsafe nameFault(
    of: &copy, error, description, in: &names, check: { unsafe sst_options_check(&$0, nil) },
    complete: { unsafe complete(&$0, $1) })
}

/// A server there has to be.
private func complete(_ options: inout sst_options, _ field: Int32) {
  let letter: StaticString = "h"
  let name = unsafe sst_bytes(data: UnsafeRawPointer(letter.utf8Start), size: 1)
  if unsafe options.url.size | options.host.size == 0 { unsafe options.host = unsafe name }
}

/// The fields of sst_options behind its size. A test compares them with the header.
private var optionNames: NameList {
  NameList(
    first: 1, count: 58,
    text: """
      flags\0\
      url\0\
      host\0\
      port\0\
      oldest\0\
      newest\0\
      virtual_host\0\
      login\0\
      passcode\0\
      headers\0\
      heart_beat_send_ms\0\
      heart_beat_receive_ms\0\
      connect_timeout_ms\0\
      receipt_timeout_ms\0\
      outbox_bytes\0\
      outbox_frames\0\
      receive_bytes\0\
      control_bytes\0\
      subscriptions\0\
      subscription_bytes\0\
      held_messages\0\
      held_bytes\0\
      transactions\0\
      credential_bytes\0\
      reconnect_min_ms\0\
      reconnect_max_ms\0\
      stable_ms\0\
      jitter\0\
      write_timeout_ms\0\
      tcp_user_timeout_ms\0\
      tcp_keep_alive_s\0\
      dscp\0\
      addresses\0\
      busy_poll_us\0\
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
      submit_frames\0\
      submit_bytes\0\
      urgent_frames\0\
      urgent_bytes\0\
      journal\0\
      journal_bytes\0\
      journal_delay_ms\0\
      journal_batch_bytes\0\
      journal_flags\0\
      inspect\0\
      inspect_mode\0\
      inspect_bytes
      """)
}

/// SST_OPTION_…, from the lowest bit on.
private var flagNames: NameList {
  NameList(
    first: 0, count: 6,
    text: """
      NO_RECONNECT\0\
      SHUFFLE\0\
      ASK_CREDENTIALS\0\
      ASK_ADDRESSES\0\
      OWN_TRANSPORT\0\
      WEBSOCKET
      """)
}
