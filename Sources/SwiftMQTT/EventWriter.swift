import CSwiftMQTT
import MQTTClient
import MQTTSession
import MQTTWire

/// An event in the words of the header.
///
/// The pointers in the result last until the next call on the client.
func describe(
  _ event: Client.Event?, of client: borrowing Client, size: UInt32
) -> smq_event {
  var result = unsafe smq_event()
  unsafe result.size = size
  unsafe result.reason_code = -1
  switch event {
  case nil: break
  case .connected(let connected):
    unsafe result.type = Int32(SMQ_EVENT_CONNECTED)
    unsafe result.reason_code = 0
    unsafe result.attempt = client.attempt
    unsafe result.session_present = connected.sessionPresent ? 1 : 0
    unsafe result.reason_string = bytes(connected.reasonString, of: client)
  case .disconnected(let failure):
    unsafe result.type = Int32(SMQ_EVENT_DISCONNECTED)
    unsafe result.status = Status(failure.cause).rawValue
    unsafe result.stage = failure.stage.number
    unsafe result.os_error = failure.cause.systemError
    unsafe result.reason_code = failure.reasonCode.map { Int32($0) } ?? -1
    unsafe result.attempt = client.attempt
    unsafe result.reason_string = bytes(failure.reasonString, of: client)
    unsafe result.server_reference = bytes(failure.serverReference, of: client)
  case .completed(let completion):
    unsafe result.type = Int32(SMQ_EVENT_COMPLETED)
    unsafe result.status = Status(completion.outcome).rawValue
    unsafe result.reason_code = completion.reasonCode.map { Int32($0) } ?? -1
    unsafe result.cookie = completion.cookie
  case .room:
    unsafe result.type = Int32(SMQ_EVENT_ROOM)
  }
  return unsafe result
}

private func bytes(_ extent: Extent, of client: borrowing Client) -> smq_bytes {
  guard !extent.isEmpty else { return unsafe smq_bytes() }
  return unsafe client.receivedBytes.extracting(extent.range).withUnsafeBytes { bytes in
    unsafe smq_bytes(data: bytes.baseAddress, size: bytes.count)
  }
}

extension Failure.Cause {
  fileprivate var systemError: Int32 {
    switch self {
    case .network(let error), .resolve(let error): error
    default: 0
    }
  }
}
