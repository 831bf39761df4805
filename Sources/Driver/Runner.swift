public import Platform
import Synchronization

/// The contents of a `smq_runner` or a `sst_runner`: a thread that owns a client. All zero means that it does not run.
///
/// The thread that starts the runner writes the plain fields before the other thread exists, and reads them
/// again when that thread has ended.
@safe public struct Runner: ~Copyable {
  private static var idle: UInt32 { 0 }
  private static var starting: UInt32 { 1 }
  private static var running: UInt32 { 2 }
  /// A thread is stopping it, and has not said yet how.
  private static var claimed: UInt32 { 3 }
  private static var stopping: UInt32 { 4 }

  public private(set) var osError: Int32
  private let phase: Atomic<UInt32>
  /// How long draining may take; valid while `stopping`.
  private let drain: Atomic<UInt32>
  private var wakeUp: WakeUp
  /// The identifier of the runner's thread.
  private let owner: Atomic<UInt>
  private var thread: UInt
  /// The C interface's own: the client, and the program's function for events.
  public private(set) var client: UnsafeMutableRawPointer
  public private(set) var onEvent: UnsafeRawPointer?
  public private(set) var user: UnsafeMutableRawPointer?

  public enum StartError: Error, BitwiseCopyable {
    case state  // it runs
    case descriptor
    case thread  // `osError` says why
  }

  // MARK: Of other threads

  public var isIdle: Bool { phase.load(ordering: .acquiring) == Self.idle }

  public var isOwnThread: Bool { owner.load(ordering: .relaxed) == OwnThread.current }

  /// What a thread is started with.
  public struct ThreadOptions: ~Copyable, ~Escapable {
    public var name: Span<UInt8>
    public var priority: Int32 = 0
    public var stackBytes: UInt32 = 0

    @_lifetime(copy name)
    public init(name: Span<UInt8>) { self.name = name }

    /// The ranges of the header.
    public var areValid: Bool {
      guard 0...99 ~= priority, name.count <= 15, stackBytes == 0 || 131_072...268_435_456 ~= stackBytes
      else { return false }
      for index in 0..<name.count where name[index] == 0 { return false }
      return true
    }
  }

  /// Starts a thread that calls `body` with the runner.
  ///
  /// The caller guarantees that nothing else uses the client until `stop` returns, and that the runner stays where it is.
  @unsafe public static func start(
    _ runner: UnsafeMutablePointer<Runner>, client: UnsafeMutableRawPointer, onEvent: UnsafeRawPointer?,
    user: UnsafeMutableRawPointer?, _ options: borrowing ThreadOptions, wakeUp: () -> WakeUp?,
    body: @escaping @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  ) throws(StartError) {
    guard unsafe runner.pointee.exchange(idle, starting) else { throw .state }
    guard let wakeUp = wakeUp() else {
      unsafe runner.pointee.finish()
      throw .descriptor
    }
    unsafe runner.pointee.wakeUp = wakeUp
    unsafe runner.pointee.client = unsafe client
    unsafe runner.pointee.onEvent = unsafe onEvent
    unsafe runner.pointee.user = unsafe user
    do throws(PlatformError) {
      unsafe runner.pointee.thread = try OwnThread.start(
        name: options.name, priority: options.priority, stackBytes: options.stackBytes,
        argument: UnsafeMutableRawPointer(runner), body)
    } catch {
      unsafe runner.pointee.osError = error.code
      unsafe runner.pointee.finish()
      throw .thread
    }
    // All fields are written: it may be stopped.
    unsafe runner.pointee.phase.store(running, ordering: .releasing)
  }

  /// Waits until the thread has ended. False: another thread has asked it to stop, or has not finished starting it.
  public func stop(drain milliseconds: UInt32) -> Bool {
    guard exchange(Self.running, Self.claimed) else { return false }
    drain.store(milliseconds, ordering: .relaxed)
    phase.store(Self.stopping, ordering: .releasing)
    wakeUp.send()
    OwnThread.join(thread)
    finish()
    return true
  }

  private func finish() {
    owner.store(0, ordering: .relaxed)
    phase.store(Self.idle, ordering: .releasing)
  }

  private func exchange(_ from: UInt32, _ to: UInt32) -> Bool {
    phase.compareExchange(expected: from, desired: to, ordering: .acquiringAndReleasing).exchanged
  }

  // MARK: The runner's thread

  /// Runs the client as any program would, and passes its events on, until the client has disconnected because the runner
  /// is to stop.
  @unsafe public static func run<Client: RunnableClient>(
    _ runner: UnsafeMutablePointer<Runner>, _ client: Client
  ) {
    unsafe runner.pointee.owner.store(OwnThread.current, ordering: .relaxed)
    // Connecting is not possible as long as the end of another connection was not reported.
    _ = client.handOut()
    client.connect()
    var isLeaving = false
    while true {
      let hasEnded = client.handOut()
      if isLeaving, hasEnded || client.isDisconnected { return client.endConnecting() }
      if !isLeaving, unsafe runner.pointee.phase.load(ordering: .acquiring) == stopping {
        isLeaving = true
        client.disconnect(drain: unsafe runner.pointee.drain.load(ordering: .relaxed))
        continue
      }
      if client.wait() == .failed { return }
    }
  }
}

/// What a runner needs of a client: what any program does with one.
public protocol RunnableClient {
  func connect()
  func disconnect(drain: UInt32)
  var isDisconnected: Bool { get }
  func wait() -> WaitResult
  /// Passes all events to the program. True: a connection has ended.
  func handOut() -> Bool
  /// Ends what the program began when it got the last event: no thread would serve it.
  func endConnecting()
}
