import CSwiftMQTT
import Driver
import MQTTClient
import Platform
import Synchronization

/// What a `smq_runner` really is. All zero: it does not run.
///
/// The thread that starts the runner writes the plain fields before the other thread exists, and reads them again when
/// that has ended.
@safe struct RunnerSlot: ~Copyable {
  private static var idle: UInt32 { 0 }
  private static var starting: UInt32 { 1 }
  private static var running: UInt32 { 2 }
  /// Somebody stops it, and is about to say how.
  private static var claimed: UInt32 { 3 }
  private static var stopping: UInt32 { 4 }

  var osError: Int32
  private let phase: Atomic<UInt32>
  /// How long draining may take; counts while `stopping`.
  private let drain: Atomic<UInt32>
  var wakeUp: WakeUp
  /// The runner's thread, as it calls itself.
  private let owner: Atomic<UInt>
  var thread: UInt
  var client: UnsafeMutablePointer<ClientHandle>
  var onEvent: smq_handler?
  var user: UnsafeMutableRawPointer?

  // MARK: Of other threads

  var isIdle: Bool { phase.load(ordering: .acquiring) == Self.idle }

  var isOwnThread: Bool { owner.load(ordering: .relaxed) == OwnThread.current }

  /// False: it runs.
  func begin() -> Bool { exchange(Self.idle, Self.starting) }

  /// All of it is written: it may be stopped.
  func begun() { phase.store(Self.running, ordering: .releasing) }

  /// False: another thread has asked, or is not done with starting it.
  func askToStop(drain milliseconds: UInt32) -> Bool {
    guard exchange(Self.running, Self.claimed) else { return false }
    drain.store(milliseconds, ordering: .relaxed)
    phase.store(Self.stopping, ordering: .releasing)
    wakeUp.send()
    return true
  }

  /// There is no thread any more.
  func finish() {
    owner.store(0, ordering: .relaxed)
    phase.store(Self.idle, ordering: .releasing)
  }

  private func exchange(_ from: UInt32, _ to: UInt32) -> Bool {
    phase.compareExchange(expected: from, desired: to, ordering: .acquiringAndReleasing).exchanged
  }

  // MARK: The runner's thread

  /// Its life: what any program does with a client, and events go to `onEvent`, until the client has left the server
  /// because the runner is to stop.
  ///
  /// The caller guarantees that nobody else uses the client until this returns.
  static func run(_ runner: UnsafeMutablePointer<RunnerSlot>) {
    unsafe runner.pointee.owner.store(OwnThread.current, ordering: .relaxed)
    let slot = unsafe runner.pointee.client
    let client = OpaquePointer(slot)
    // Connecting is not possible as long as there is the end of another connection to tell.
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

  /// What the program began when it heard of the end, nobody would serve.
  private static func endConnecting(_ client: OpaquePointer) {
    _ = unsafe smq_disconnect(client, 0)
    var event = unsafe smq_event()
    unsafe event.size = UInt32(MemoryLayout<smq_event>.size)
    while unsafe smq_next_event(client, &event) == 1 {}
  }

  /// Gives all events to the program. True: a connection has ended.
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
