import CMosquitto
import CPlatform
import Driver
import MQTTClient
import Platform

extension Mosquitto {
  /// The state of an instance whose lock is held. It exists only as long as this thread holds the lock:
  /// `Instance.lock()` takes the lock, and the end of this value's scope gives it up.
  ///
  /// Pointers to the client and to the state do not leave these functions. So nobody has one across
  /// `withoutLock`, during which other threads may replace the client.
  @safe struct Locked: ~Copyable {
    let instance: Instance

    init(_ instance: Instance) {
      self.instance = instance
      unsafe shim_lock(instance.pointer.pointee.lock)
    }

    deinit { unsafe shim_unlock(instance.pointer.pointee.lock) }

    /// The lock keeps other threads out, and the instance lives as long as it is locked or in use.
    var state: Mosquitto {
      unsafeAddress { unsafe UnsafePointer(instance.pointer) }
      unsafeMutableAddress { unsafe instance.pointer }
    }

    var hasClient: Bool { unsafe state.client != nil }

    /// There is one (`hasClient`); otherwise the process ends here.
    var client: Client {
      unsafeAddress { unsafe UnsafePointer(instance.pointer.pointee.client!) }
      unsafeMutableAddress { unsafe instance.pointer.pointee.client! }
    }

    /// Gives the lock up, frees the instance if a callback called mosquitto_destroy() and nothing uses it any
    /// more. Once the lock is given up, another thread may free it.
    consuming func unlockOrFree() {
      let isUnused =
        unsafe state.isDestroyed && state.callers == nil && state.thread == 0 && state.loopThread == 0
      let instance = instance
      _ = consume self
      if isUnused { instance.free() }
    }

    /// Runs `body` without the lock. The state may be another one afterwards, and so may the client.
    mutating func withoutLock(_ body: () -> Void) {
      unsafe shim_unlock(instance.pointer.pointee.lock)
      body()
      unsafe shim_lock(instance.pointer.pointee.lock)
    }
  }
}

extension Mosquitto.Locked {
  // MARK: Callbacks

  /// Calls a callback, with the handle: without the lock, and registered as a caller. Several threads may be
  /// in callbacks, and return from them in any order. After mosquitto_destroy() in one of them no other is
  /// called, because what they use may be gone.
  @inline(__always)
  mutating func callProgram(_ callback: (OpaquePointer) -> Void) {
    guard !state.isDestroyed else { return }
    let handle = unsafe instance.handle
    var caller = unsafe Mosquitto.Caller(thread: platform_thread_self(), next: state.callers)
    unsafe withUnsafeMutablePointer(to: &caller) { caller in
      unsafe state.callers = unsafe caller
      withoutLock { unsafe callback(handle) }
      unsafe remove(caller)
    }
  }

  private mutating func remove(_ caller: UnsafeMutablePointer<Mosquitto.Caller>) {
    guard unsafe state.callers != caller else {
      unsafe state.callers = unsafe caller.pointee.next
      return
    }
    var other = unsafe state.callers
    while let here = unsafe other, unsafe here.pointee.next != caller {
      unsafe other = unsafe here.pointee.next
    }
    unsafe other?.pointee.next = unsafe caller.pointee.next
  }

  /// This thread is in a callback.
  var isInCallback: Bool {
    var next = unsafe state.callers
    while let caller = unsafe next {
      if unsafe caller.pointee.thread == platform_thread_self() { return true }
      unsafe next = unsafe caller.pointee.next
    }
    return false
  }

  // MARK: Waiting

  /// Waits, without the lock, until the descriptor (-1: none) is readable, or another thread calls `wake`.
  /// Only a loop may wait so, because it takes the wake-up away from others.
  mutating func waitInLoop(_ descriptor: Int32, _ timeout: Int32) {
    let event = state.event
    withoutLock {
      if waitForEither(descriptor, event, timeout: timeout) { platform_event_clear(event) }
    }
  }

  /// Waits for the client, without the lock.
  mutating func waitForClient(atMost most: Int32) {
    guard hasClient else { return }
    let next = client.nextTimeout(at: client.time)
    let descriptor = client.descriptor
    withoutLock { _ = waitForEither(descriptor, -1, timeout: next < 0 ? most : min(next, most)) }
  }

  /// Wakes up the loop, unless it is this thread's.
  func wake() {
    if state.event >= 0, state.loopThread != platform_thread_self() { platform_wake(state.event) }
  }

  // MARK: The client

  var hasConnection: Bool { hasClient && client.state != .disconnected }

  /// There is a connection, or one is about to be opened.
  var isUnderWay: Bool { state.isOpening || hasConnection }

  mutating func service() {
    if hasClient { _ = client.service(at: client.time) }
  }

  /// Sends what is ready, and lets a loop that waits look at its deadlines again.
  mutating func flush() {
    guard hasClient else { return }
    _ = client.flush(at: client.time)
    if client.hasEvent || isJournalUnexpected() { wake() }
  }

  /// Does the same. Returns what a function returns that has queued something: where no loop runs, the result
  /// of sending it. There CONNACK may lie unread, too, and without it nothing is sent.
  mutating func flushWithoutLoop() -> Int32 {
    guard hasClient, isWithoutLoop else {
      flush()
      return MOSQ_ERR_SUCCESS
    }
    guard state.isConnected else {
      service()
      return MOSQ_ERR_SUCCESS
    }
    flush()
    guard isBroken else { return MOSQ_ERR_SUCCESS }
    return shim_errno() == SystemError.connectionReset ? MOSQ_ERR_CONN_LOST : MOSQ_ERR_ERRNO
  }

  /// What a function returns that needs a connection where there is none.
  func resultWithoutConnection() -> Int32 {
    guard isBroken, isWithoutLoop else { return MOSQ_ERR_NO_CONN }
    shim_set_errno(SystemError.brokenPipe)
    return MOSQ_ERR_ERRNO
  }

  /// The connection is gone, and on_disconnect was not called: to the program it exists, and writing to it
  /// fails.
  private var isBroken: Bool { hasClient && client.state == .disconnected && !state.isEndReported }

  /// No thread runs a loop.
  private var isWithoutLoop: Bool {
    unsafe state.loopThread == 0 && !state.isThreaded && state.callers == nil
  }
}

/// Waits until one of two descriptors (-1: none) is readable, `timeout` milliseconds (-1: without limit) are
/// over, or a signal came. Returns whether the second one is readable.
private func waitForEither(_ first: Int32, _ second: Int32, timeout: Int32) -> Bool {
  let wanted = Int32(PLATFORM_READABLE)
  var watches: [2 of platform_watch] = [
    platform_watch(fd: first, wanted: wanted, found: 0), platform_watch(fd: second, wanted: wanted, found: 0),
  ]
  var span = watches.mutableSpan
  // C reads the two, and writes `found` of each.
  unsafe span.withUnsafeMutableBufferPointer { list in
    _ = unsafe platform_poll(list.baseAddress, Int32(list.count), timeout)
  }
  return watches[1].found != 0
}
