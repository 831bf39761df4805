// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// An event in words: smq_describe_event().

import CInterface
public import CSwiftMQTT
import Storage

@c @implementation
public func smq_describe_event(
  _ event: UnsafePointer<smq_event>?, _ text: UnsafeMutablePointer<CChar>?, _ capacity: Int
) -> Int {
  var writer = unsafe TextWriter(text, capacity)
  if Feature.hasWords, let event = unsafe event,
    unsafe event.pointee.size >= UInt32(MemoryLayout<smq_event>.size)
  {
    unsafe describe(event, &writer)
  }
  return writer.finish()
}

/// The caller guarantees that what the event points to is there.
@_optimize(size)
private func describe(_ event: UnsafePointer<smq_event>, _ text: inout TextWriter) {
  let type = unsafe event.pointee.type
  unsafe text.add(name: eventNames.name(type))
  if unsafe eventNames.name(type) == nil { text.add("UNKNOWN") }
  let completed = Int32(truncatingIfNeeded: unsafe event.pointee.completed)
  if let name = unsafe completedNames.name(completed) ?? journalNames.name(completed),
    unsafe name.pointee != 0
  {
    text.add(" ")
    unsafe text.add(name: name)
  }
  let isMessage = type == Int32(SMQ_EVENT_MESSAGE) || type == Int32(SMQ_EVENT_REPLY)
  if unsafe event.pointee.status != 0 {
    text.add(" ")
    unsafe text.add(name: smq_status_name(event.pointee.status))
    text.add(": ")
    unsafe text.add(name: smq_status_text(event.pointee.status))
  }
  if unsafe event.pointee.stage != 0 {
    text.add(", stage ")
    unsafe text.add(name: smq_stage_name(event.pointee.stage))
  }
  unsafe text.add(", os error ", event.pointee.os_error, unless: 0)
  if let words = unsafe errorWords(event.pointee.os_error, event.pointee.status), unsafe words.pointee != 0 {
    text.add(" (")
    unsafe text.add(name: words)
    text.add(")")
  }
  unsafe text.add(", reason ", event.pointee.reason_code, unless: -1)
  if unsafe event.pointee.reason_code != -1 {
    text.add(" ")
    unsafe text.add(name: smq_reason_code_name(event.pointee.protocol, event.pointee.reason_code))
  }
  unsafe text.add(", ", event.pointee.reason_string)
  unsafe text.add(
    type < Int32(SMQ_EVENT_ADDRESSES) ? ", server reference " : ", host ", event.pointee.server_reference)
  if unsafe event.pointee.rule != 0 {
    text.add(", rule ")
    unsafe text.add(name: smq_rule_name(event.pointee.rule))
  }
  unsafe text.add(", topic ", event.pointee.topic)
  if isMessage {
    unsafe text.add(", QoS ", Int32(event.pointee.qos), unless: -1)
    if unsafe event.pointee.retain != 0 { text.add(", retained") }
    if unsafe event.pointee.duplicate != 0 { text.add(", duplicate") }
    text.add(", payload of ")
    unsafe text.add(Counter(event.pointee.payload_total).uint64)
  }
  unsafe text.add(", token ", event.pointee.token)
  unsafe text.add(", cookie ", event.pointee.cookie)
  unsafe text.add(", attempt ", Counter(event.pointee.attempt).uint64)
  if type == Int32(SMQ_EVENT_DISCONNECTED) {
    unsafe text.add(", retry in ms ", event.pointee.retry_ms, unless: -1)
  }
}

extension TextWriter {
  fileprivate mutating func add(_ label: StaticString, _ bytes: smq_bytes) {
    guard unsafe bytes.size > 0 else { return }
    add(label)
    unsafe add(quoted: bytes.data, bytes.size)
  }
}

/// The words that libc has for an errno, or for an EAI_… value, as far as a client meets them; empty or `nil`: there are
/// none. strerror() may allocate, and not every thread may call it. That the numbers are these, errors.c of CPlatform asserts.
@_optimize(size)
private func errorWords(_ error: Int32, _ status: Int32) -> UnsafePointer<CChar>? {
  if status == Int32(SMQ_ERR_RESOLVE), error < 0 { return unsafe resolverErrors.name(-error) }
  return unsafe systemErrors.name(error) ?? networkErrors.name(error)
}

private var resolverErrors: NameList {
  NameList(
    first: 2, count: 4,
    text: """
      Name or service not known\0\
      Temporary failure in name resolution\0\
      Non-recoverable failure in name resolution\0\
      No address associated with hostname
      """)
}

/// From EPERM to EPIPE.
private var systemErrors: NameList {
  NameList(
    first: 1, count: 32,
    text: """
      Operation not permitted\0\
      No such file or directory\0\
      \0\0\
      Input/output error\0\
      \0\0\0\0\0\0\
      Cannot allocate memory\0\
      Permission denied\0\
      \0\0\0\0\0\0\0\0\
      Invalid argument\0\
      Too many open files in system\0\
      Too many open files\0\
      \0\0\0\
      No space left on device\0\
      \0\
      Read-only file system\0\
      \0\
      Broken pipe
      """)
}

/// From EADDRINUSE to EHOSTUNREACH.
private var networkErrors: NameList {
  NameList(
    first: 98, count: 16,
    text: """
      Address already in use\0\
      Cannot assign requested address\0\
      Network is down\0\
      Network is unreachable\0\
      \0\
      Software caused connection abort\0\
      Connection reset by peer\0\
      No buffer space available\0\
      \0\0\0\0\
      Connection timed out\0\
      Connection refused\0\
      Host is down\0\
      No route to host
      """)
}

/// SMQ_COMPLETED_…, which are types of Control Packets.
private var completedNames: NameList {
  NameList(first: 3, count: 8, text: "PUBLISH\0\0\0\0\0SUBSCRIBE\0\0UNSUBSCRIBE")
}

/// SMQ_JOURNAL_….
private var journalNames: NameList {
  NameList(first: 101, count: 4, text: "RECOVERED\0FAILED\0HEALED\0STORED")
}

/// SMQ_EVENT_….
private var eventNames: NameList {
  NameList(
    first: 0, count: 15,
    text: """
      NONE\0\
      CONNECTED\0\
      DISCONNECTED\0\
      COMPLETED\0\
      ROOM\0\
      MESSAGE\0\
      AUTHENTICATE\0\
      REPLY\0\
      PUBREC\0\
      PUBREL\0\
      SUBSCRIPTION_LOST\0\
      CREDENTIALS\0\
      ADDRESSES\0\
      OPEN\0\
      JOURNAL
      """)
}
