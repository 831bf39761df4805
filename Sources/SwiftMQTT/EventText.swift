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
