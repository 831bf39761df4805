import CSwiftSTOMP
import Driver
import Platform
import STOMPClient

/// A client of STOMP, as a runner has it.
@safe struct RunClient: RunnableClient {
  private let runner: UnsafeMutablePointer<Runner>
  private let slot: UnsafeMutablePointer<ClientHandle>

  /// The caller guarantees that nothing else uses the client until the runner has ended.
  @unsafe init(_ runner: UnsafeMutablePointer<Runner>) {
    unsafe self.runner = unsafe runner
    unsafe slot = unsafe runner.pointee.client.assumingMemoryBound(to: ClientHandle.self)
  }

  private var client: OpaquePointer { unsafe OpaquePointer(slot) }

  func connect() { _ = unsafe sst_connect(client) }
  func disconnect(drain: UInt32) { _ = unsafe sst_disconnect(client, drain) }
  var isDisconnected: Bool { unsafe sst_client_state(client) == Int32(SST_STATE_DISCONNECTED) }
  func wait() -> WaitResult { unsafe slot.pointee.client.wait(timeout: .max, untilWoken: true) }

  func handOut() -> Bool {
    let onEvent = unsafe unsafeBitCast(runner.pointee.onEvent, to: sst_handler?.self)
    var hasEnded = false
    var event = unsafe sst_event()
    unsafe event.size = UInt32(MemoryLayout<sst_event>.size)
    while unsafe sst_next_event(client, &event) == 1 {
      unsafe onEvent?(runner.pointee.user, client, &event)
      if unsafe event.type == Int32(SST_EVENT_DISCONNECTED) { hasEnded = true }
    }
    return hasEnded
  }

  func endConnecting() {
    disconnect(drain: 0)
    var event = unsafe sst_event()
    unsafe event.size = UInt32(MemoryLayout<sst_event>.size)
    while unsafe sst_next_event(client, &event) == 1 {}
  }
}
