import CSwiftMQTT
import Driver
import MQTTClient
import Platform
import Synchronization

/// The contents of a `smq_runner`. All zero means that it does not run.
///
/// The thread that starts the runner writes the plain fields before the other thread exists, and reads them
/// again when that thread has ended.
@safe struct RunnerSlot: ~Copyable {
  private static var idle: UInt32 { 0 }
  private static var starting: UInt32 { 1 }
  private static var running: UInt32 { 2 }
  /// A thread is stopping it, and has not said yet how.
  private static var claimed: UInt32 { 3 }
  private static var stopping: UInt32 { 4 }

  var osError: Int32
  private let phase: Atomic<UInt32>
  /// How long draining may take; valid while `stopping`.
  private let drain: Atomic<UInt32>
  var wakeUp: WakeUp
  /// The identifier of the runner's thread.
  private let owner: Atomic<UInt>
  var thread: UInt
  var client: UnsafeMutablePointer<ClientHandle>
  var onEvent: smq_handler?
  var user: UnsafeMutableRawPointer?

  // MARK: Of other threads

  var isIdle: Bool { phase.load(ordering: .acquiring) == Self.idle }

  var isOwnThread: Bool { owner.load(ordering: .relaxed) == OwnThread.current }

  /// Claims a runner that is to be started. Returns false if it runs.
  func begin() -> Bool { exchange(Self.idle, Self.starting) }

  /// Records that all fields are written, so that it may be stopped.
  func begun() { phase.store(Self.running, ordering: .releasing) }

  /// Asks the runner to stop. Returns false if another thread has asked, or has not finished starting it.
  func askToStop(drain milliseconds: UInt32) -> Bool {
    guard exchange(Self.running, Self.claimed) else { return false }
    drain.store(milliseconds, ordering: .relaxed)
    phase.store(Self.stopping, ordering: .releasing)
    wakeUp.send()
    return true
  }

  /// Records that the thread has ended.
  func finish() {
    owner.store(0, ordering: .relaxed)
    phase.store(Self.idle, ordering: .releasing)
  }

  private func exchange(_ from: UInt32, _ to: UInt32) -> Bool {
    phase.compareExchange(expected: from, desired: to, ordering: .acquiringAndReleasing).exchanged
  }

  // MARK: The runner's thread

  /// Runs the client as any program would, and passes its events to `onEvent`, until the client has
  /// disconnected because the runner is to stop.
  ///
  /// The caller guarantees that nothing else uses the client until this returns.
  static func run(_ runner: UnsafeMutablePointer<RunnerSlot>) {
    unsafe runner.pointee.owner.store(OwnThread.current, ordering: .relaxed)
    let slot = unsafe runner.pointee.client
    let client = OpaquePointer(slot)
    // Connecting is not possible as long as the end of another connection was not reported.
    _ = unsafe handOut(runner)
    _ = unsafe smq_connect(client)
    var isLeaving = false
    while true {
      let hasEnded = unsafe handOut(runner)
      if isLeaving, unsafe hasEnded || smq_client_state(client) == Int32(SMQ_STATE_DISCONNECTED) {
        return unsafe endConnecting(client)
      }
      if !isLeaving, unsafe runner.pointee.phase.load(ordering: .acquiring) == stopping {
        isLeaving = true
        _ = unsafe smq_disconnect(client, runner.pointee.drain.load(ordering: .relaxed))
        continue
      }
      if unsafe slot.pointee.client.wait(timeout: .max, untilWoken: true) == .failed { return }
    }
  }

  /// Ends what the program began when it got the last event: no thread would serve it.
  private static func endConnecting(_ client: OpaquePointer) {
    _ = unsafe smq_disconnect(client, 0)
    var event = unsafe smq_event()
    unsafe event.size = UInt32(MemoryLayout<smq_event>.size)
    while unsafe smq_next_event(client, &event) == 1 {}
  }

  /// Passes all events to the program. Returns true if a connection has ended.
  private static func handOut(_ runner: UnsafeMutablePointer<RunnerSlot>) -> Bool {
    let client = unsafe OpaquePointer(runner.pointee.client)
    var hasEnded = false
    var event = unsafe smq_event()
    unsafe event.size = UInt32(MemoryLayout<smq_event>.size)
    while unsafe smq_next_event(client, &event) == 1 {
      unsafe runner.pointee.onEvent?(runner.pointee.user, client, &event)
      if unsafe event.type == Int32(SMQ_EVENT_DISCONNECTED) { hasEnded = true }
    }
    return hasEnded
  }
}
