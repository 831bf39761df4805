import CSwiftSTOMP
import Driver
import Journal
import STOMPClient
import STOMPSession
import STOMPWire
import Storage

typealias ClientEvent = DriverEvent<STOMPEvent, STOMPEngine.CloseDetails>

/// Clears an event. It is inlined, so that functions that are compiled for speed write whole vectors: for size, the compiler
/// takes a loop over 184 bytes.
@inline(__always)
func clear(_ event: UnsafeMutablePointer<sst_event>) {
  unsafe event.pointee = sst_event()
  unsafe event.pointee.subscription = -1
  unsafe event.pointee.retry_ms = -1
}

/// Writes an event into the struct of the header. Fields that do not apply stay as `clear` sets them.
///
/// The pointers in it last until the event is released.
func describe(
  _ event: ClientEvent, of client: borrowing Client, in target: UnsafeMutablePointer<sst_event>
) {
  unsafe target.pointee.version = UInt32(client.engine.session.version.rawValue)
  switch event {
  case .engine(let event): unsafe describe(event, of: client, in: &target.pointee)
  case .disconnected(let failure): unsafe describe(failure, of: client, in: &target.pointee)
  case .credentialsWanted:
    unsafe target.pointee.type = Int32(SST_EVENT_CREDENTIALS)
    unsafe addAttempt(client, to: &target.pointee)
  case .addressesWanted(let host, let port):
    unsafe target.pointee.type = Int32(SST_EVENT_ADDRESSES)
    unsafe addServer(host, port, client, to: &target.pointee)
  case .transportWanted(let host, let port):
    unsafe target.pointee.type = Int32(SST_EVENT_OPEN)
    unsafe addServer(host, port, client, to: &target.pointee)
  }
}

private func describe(_ event: STOMPEvent, of client: borrowing Client, in result: inout sst_event) {
  switch event {
  case .connected:
    unsafe result.type = Int32(SST_EVENT_CONNECTED)
    unsafe addAttempt(client, to: &result)
    unsafe result.heart_beat_send_ms = client.engine.session.agreedHeartBeat.sends
    unsafe result.heart_beat_receive_ms = client.engine.session.agreedHeartBeat.wants
    if let received = unsafe client.engine.receivedBytes.withUnsafeBytes({ $0.baseAddress }) {
      unsafe addFrame(client, at: received, to: &result)
    }
  case .completed(let completion):
    unsafe result.type = Int32(SST_EVENT_COMPLETED)
    unsafe result.status = Status(completion.outcome).rawValue
    unsafe result.completed =
      UInt32(
        completion.commits
          ? SST_COMPLETED_COMMIT : completion.endsTransaction ? SST_COMPLETED_ABORT : SST_COMPLETED_SEND)
    unsafe result.cookie = completion.cookie
  case .subscription(let ended):
    unsafe result.type = Int32(SST_EVENT_COMPLETED)
    unsafe result.status = Status(ended.kind).rawValue
    unsafe result.completed =
      UInt32(ended.kind.isUnsubscribe ? SST_COMPLETED_UNSUBSCRIBE : SST_COMPLETED_SUBSCRIBE)
    unsafe result.subscription = Int32(truncatingIfNeeded: ended.slot)
    unsafe result.cookie = ended.cookie
  case .message: unsafe describeMessage(of: client, in: &result)
  case .transactionsLost(let count):
    unsafe result.type = Int32(SST_EVENT_TRANSACTIONS_LOST)
    unsafe result.cookie = Counter(UInt32(truncatingIfNeeded: count)).uint64
  case .room: unsafe result.type = Int32(SST_EVENT_ROOM)
  case .journal(let event): unsafe describe(event, in: &result)
  }
}

private func describe(_ event: JournalEvent, in result: inout sst_event) {
  unsafe result.type = Int32(SST_EVENT_JOURNAL)
  switch event {
  case .recovered(let frames):
    unsafe result.completed = UInt32(SST_JOURNAL_RECOVERED)
    unsafe result.cookie = Counter(UInt32(truncatingIfNeeded: frames)).uint64
  case .failed(let error):
    unsafe result.completed = UInt32(SST_JOURNAL_FAILED)
    unsafe result.status = Status.journal.rawValue
    unsafe result.os_error = error
  case .healed: unsafe result.completed = UInt32(SST_JOURNAL_HEALED)
  case .stored(let position):
    unsafe result.completed = UInt32(SST_JOURNAL_STORED)
    unsafe result.cookie = position.uint64
  }
}

/// Writes the message that was taken last.
@inline(__always)
func describeMessage(of client: borrowing Client, in result: inout sst_event) {
  let message = client.engine.session.eventMessage
  unsafe result.type = Int32(SST_EVENT_MESSAGE)
  unsafe result.version = UInt32(client.engine.session.version.rawValue)
  if message.isOversize { unsafe result.status = Status.receiveTooLarge.rawValue }
  unsafe result.token = message.token
  unsafe result.subscription = Int32(truncatingIfNeeded: message.subscription)
  unsafe result.part =
    (message.bodyOffset == 0 ? UInt32(SST_PART_FIRST) : 0) | (message.isLast ? UInt32(SST_PART_LAST) : 0)
  unsafe result.body_offset = UInt32(truncatingIfNeeded: message.bodyOffset)
  unsafe result.body_total = UInt32(truncatingIfNeeded: message.bodySize)
  guard let received = unsafe client.engine.receivedBytes.withUnsafeBytes({ $0.baseAddress }) else { return }
  if !message.body.isEmpty { unsafe result.body = bytes(message.body, at: received) }
  unsafe addFrame(client, at: received, to: &result)
}

/// The headers of the frame at the front.
///
/// The caller guarantees that the bytes that were received begin at `received`.
@inline(__always)
private func addFrame(
  _ client: borrowing Client, at received: UnsafeRawPointer, to result: inout sst_event
) {
  let frame = client.engine.session.eventFrame
  let start = unsafe received + client.engine.session.eventOffset
  if !frame.destination.isEmpty { unsafe result.destination = bytes(frame.destination, at: start) }
  if !frame.contentType.isEmpty { unsafe result.content_type = bytes(frame.contentType, at: start) }
  if !frame.messageID.isEmpty { unsafe result.message_id = bytes(frame.messageID, at: start) }
  if !frame.headers.isEmpty { unsafe result.headers = bytes(frame.headers, at: start) }
}

/// The caller guarantees that the range belongs to what begins at `start`.
@inline(__always)
@unsafe private func bytes(_ extent: ByteRange, at start: UnsafeRawPointer) -> sst_bytes {
  unsafe sst_bytes(data: start + extent.offset, size: extent.count)
}

private func describe(
  _ failure: ConnectionFailure<STOMPEngine.CloseDetails>, of client: borrowing Client,
  in result: inout sst_event
) {
  unsafe result.type = Int32(SST_EVENT_DISCONNECTED)
  unsafe result.status = Status(failure.cause).rawValue
  unsafe result.stage = Int32(failure.stage.rawValue)
  unsafe result.os_error = failure.cause.systemError
  unsafe result.rule = failure.cause.rule
  unsafe addAttempt(client, to: &result)
  unsafe result.retry_ms = failure.retry.map { Int32(clamping: $0) } ?? -1
  guard let details = failure.details else { return }
  unsafe result.text = range(details.message, of: client)
  unsafe result.headers = range(details.headers, of: client)
  unsafe result.body = range(details.body, of: client)
  unsafe result.body_total = UInt32(truncatingIfNeeded: details.bodySize)
}

private func addAttempt(_ client: borrowing Client, to result: inout sst_event) {
  unsafe result.attempt = client.attempt
  unsafe result.server = UInt32(truncatingIfNeeded: client.serverIndex)
}

private func addServer(
  _ host: ByteRange, _ port: UInt16, _ client: borrowing Client, to result: inout sst_event
) {
  unsafe addAttempt(client, to: &result)
  unsafe result.text = bytes(client.hostNames.extracting(host.range))
  unsafe result.port = UInt32(port)
}

private func range(_ range: ByteRange, of client: borrowing Client) -> sst_bytes {
  guard !range.isEmpty else { return unsafe sst_bytes() }
  return unsafe bytes(client.engine.receivedBytes.extracting(range.range))
}
