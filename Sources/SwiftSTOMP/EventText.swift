import CInterface
import CSwiftSTOMP
import Storage

/// Writes an event in one line.
///
/// The caller guarantees that what the event points to is there.
@_optimize(size)
func write(_ event: sst_event, to line: inout TextWriter) {
  unsafe line.add(name: eventNames.name(event.type) ?? text("UNKNOWN"))
  if unsafe event.completed != 0 {
    line.add(" ")
    let completed = unsafe Int32(bitPattern: event.completed)
    unsafe line.add(name: completedNames.name(completed) ?? journalEventNames.name(completed))
  }
  if unsafe event.status != 0 {
    line.add(" ")
    unsafe line.add(name: sst_status_name(event.status))
    line.add(": ")
    unsafe line.add(name: sst_status_text(event.status))
  }
  if unsafe event.stage != 0 {
    line.add(", stage ")
    unsafe line.add(name: sst_stage_name(event.stage))
  }
  unsafe line.add(", os error ", event.os_error, unless: 0)
  if unsafe event.rule != 0 {
    line.add(", rule ")
    unsafe line.add(name: sst_rule_name(event.rule))
  }
  unsafe line.add(", ", event.text)
  if unsafe event.type == Int32(SST_EVENT_DISCONNECTED) { unsafe line.add(", ", firstLine(event.body)) }
  if unsafe event.type == Int32(SST_EVENT_CONNECTED) {
    line.add(", version 1.")
    unsafe line.add(Int32(bitPattern: event.version) &- Int32(SST_STOMP_1_0))
    unsafe line.add(", heart-beats in ms ", Int32(bitPattern: event.heart_beat_send_ms), unless: -1)
    unsafe line.add(" and ", Int32(bitPattern: event.heart_beat_receive_ms), unless: -1)
  }
  unsafe line.add(", subscription ", event.subscription, unless: -1)
  unsafe line.add(", destination ", event.destination)
  unsafe line.add(", message-id ", event.message_id)
  if unsafe event.type == Int32(SST_EVENT_MESSAGE) {
    line.add(", body of ")
    unsafe line.add(Counter(event.body_total).uint64)
  }
  unsafe line.add(", token ", event.token)
  unsafe line.add(", cookie ", event.cookie)
  unsafe line.add(", attempt ", Counter(event.attempt).uint64)
  unsafe line.add(", retry in ms ", event.retry_ms, unless: -1)
}

/// RabbitMQ says in the body of ERROR what is wrong, ActiveMQ the same as in `message`, and where in its sources.
private func firstLine(_ body: sst_bytes) -> sst_bytes {
  guard let data = unsafe body.data else { return unsafe body }
  let most = unsafe Span(
    _unsafeStart: data.assumingMemoryBound(to: UInt8.self), count: min(body.size, 120))
  return unsafe sst_bytes(data: data, size: ByteSearch.firstIndex(of: UInt8(ascii: "\n"), in: most, from: 0))
}

extension TextWriter {
  fileprivate mutating func add(_ label: StaticString, _ bytes: sst_bytes) {
    guard unsafe bytes.size > 0 else { return }
    add(label)
    unsafe add(quoted: bytes.data, bytes.size)
  }
}
