import CMosquitto
import CPlatform
import Driver
import MQTTClient
import MQTTSession
import MQTTWire
import Platform
import Storage

/// The driver, on Linux.
typealias Client = MQTTClient.Client<Linux>

/// What `struct mosquitto *` points to: a client of the core, and what libmosquitto's contract wants beside it.
///
/// One mutex guards all of it. It is not held while a callback runs, nor while a loop or an attempt to connect waits: other
/// threads publish meanwhile, and may connect anew. So nobody takes a pointer to the client, or to its bytes, across one
/// of these. Only one thread at a time may run a loop, as with libmosquitto.
@unsafe struct Mosquitto {
  typealias Text = UnsafeMutablePointer<CChar>

  // What the program set.
  var id: Text? = nil
  var cleanSession = true
  var user: UnsafeMutableRawPointer? = nil
  var version: UInt32 = UInt32(MQTT_PROTOCOL_V311)
  var userName: Text? = nil
  var password: Text? = nil
  var will = unsafe Will()
  var host: Text? = nil
  var port: UInt32 = 0
  var keepAlive: UInt32 = 60
  var connectProperties: OpaquePointer? = nil
  var inFlightMaximum: UInt32 = 20
  var receiveMaximum: UInt32 = 20
  var delay: UInt32 = 1
  var delayMaximum: UInt32 = 1
  var doublesDelay = false
  var callbacks = unsafe Callbacks()

  // The core's client, in a block of its own.
  var memory: UnsafeMutableRawPointer? = nil
  var client: UnsafeMutablePointer<Client>? = nil
  /// What the client was made of has changed since.
  var isOutdated = false
  /// How many message ids were given.
  var midCount: UInt32 = 0
  /// Messages published before there was a client.
  var early: UnsafeMutablePointer<EarlyMessage>? = nil
  var earlyLast: UnsafeMutablePointer<EarlyMessage>? = nil
  var earlyCount: UInt32 = 0
  var earlyBytes = 0
  /// SUBSCRIBE and UNSUBSCRIBE that the client has no room for yet.
  var waiting: UnsafeMutablePointer<WaitingRequest>? = nil
  var waitingLast: UnsafeMutablePointer<WaitingRequest>? = nil
  var waitingCount: UInt32 = 0
  /// What had happened when a new connection took the place of another: a loop is to tell. The first and the last.
  var owed: UnsafeMutablePointer<OwedEvent>? = nil
  var owedLast: UnsafeMutablePointer<OwedEvent>? = nil
  /// QoS 2 messages until PUBREL.
  var kept: UnsafeMutablePointer<KeptMessage>? = nil
  var keptLast: UnsafeMutablePointer<KeptMessage>? = nil
  var keptBytes = 0
  /// Topic Aliases that the program has set.
  var aliases: UnsafeMutablePointer<Alias>? = nil

  // Where it stands.
  /// mosquitto_disconnect() was called, and no new connection since.
  var isLeaving = false
  /// CONNACK has accepted this connection.
  var isConnected = false
  /// on_connect is being told that the server refused.
  var isTellingRefusal = false
  /// on_disconnect has been told of this end.
  var isEndTold = true
  /// Counts attempts to connect. One that finds another number than its own has been replaced.
  var attempt: UInt32 = 0
  /// A thread waits for its attempt, and has the client for itself.
  var isOpening = false
  /// A signal handler called mosquitto_disconnect() while its thread held the lock: 256, and the Reason Code.
  var wishToLeave: Int32 = 0
  /// What ended the last connection, if that has not been returned by a loop yet.
  var endResult: Int32? = nil

  // Threads.
  var lock: UnsafeMutableRawPointer
  /// Makes a loop that waits look again.
  var event: Int32 = -1
  /// 0: there is none.
  var thread: UInt = 0
  /// The thread's loop is to end at the next look.
  var isStopping = false
  var isThreaded = false
  /// Somebody waits for the thread's end.
  var isJoining = false
  /// mosquitto_loop_stop() was called by the thread itself: to wait for its end is left to others.
  var isReleased = false
  var hasThreadEnded = false
  /// Who runs a loop; 0: nobody.
  var looper: UInt = 0
  /// The callbacks that are running.
  var callers: UnsafeMutablePointer<Caller>? = nil
  /// mosquitto_destroy() was called in a callback.
  var isDestroyed = false

  @unsafe struct Will {
    var topic: Text? = nil
    var payload: Text? = nil
    var payloadSize = 0
    var qos: UInt8 = 0
    var retain = false
    var properties: OpaquePointer? = nil
  }

  @unsafe struct Callbacks {
    var connect: mosq_on_connect? = nil
    var connectWithFlags: mosq_on_connect_with_flags? = nil
    var connectV5: mosq_on_connect_v5? = nil
    var disconnect: mosq_on_disconnect? = nil
    var disconnectV5: mosq_on_disconnect_v5? = nil
    var publish: mosq_on_publish? = nil
    var publishV5: mosq_on_publish_v5? = nil
    var message: mosq_on_message? = nil
    var messageV5: mosq_on_message_v5? = nil
    var subscribe: mosq_on_subscribe? = nil
    var subscribeV5: mosq_on_subscribe_v5? = nil
    var unsubscribe: mosq_on_unsubscribe? = nil
    var unsubscribeV5: mosq_on_unsubscribe_v5? = nil
    var log: mosq_on_log? = nil
  }

  /// A callback that is running, in a list. It lies on its thread's stack.
  @unsafe struct Caller {
    let thread: UInt
    var next: UnsafeMutablePointer<Caller>?
  }

  /// A number for a topic, in a list.
  @unsafe struct Alias {
    var next: UnsafeMutablePointer<Alias>?
    let number: UInt16
    var topic: Text
  }

  /// A message and its id, in a list.
  @unsafe struct EarlyMessage {
    var next: UnsafeMutablePointer<EarlyMessage>?
    let mid: Mid
    var topic: Text
    var topicSize: Int
    var payload: Text
    var payloadSize: Int
    var qos: QoS
    var retain: Bool
    var properties: OpaquePointer?
  }
}

/// A message id: 1 to 65,535, and again; and the how manieth it is.
struct Mid: BitwiseCopyable {
  static var all: UInt32 { 65_535 }

  let count: UInt32

  var mid: UInt16 { UInt16(truncatingIfNeeded: (count &- 1) % Self.all &+ 1) }

  /// All have been given since that one.
  func isRound(since older: UInt32) -> Bool { count &- older >= Self.all }

  /// 2 to the power of 32 is one more than a multiple of 65,535.
  var following: Mid { Mid(count: count == .max ? 1 : count &+ 1) }
}

/// The instance behind a handle.
typealias Instance = UnsafeMutablePointer<Mosquitto>

func instance(_ handle: OpaquePointer?) -> Instance? {
  guard let handle = unsafe handle else { return nil }
  return unsafe Instance(handle)
}

extension UnsafeMutablePointer where Pointee == Mosquitto {
  var handle: OpaquePointer { OpaquePointer(self) }

  func lock() { unsafe shim_lock(pointee.lock) }

  func unlock() { unsafe shim_unlock(pointee.lock) }

  /// The next message id, which is the Packet Identifier on the wire. Whoever takes it says so (`midCount`).
  var nextMid: Mid {
    var next = unsafe Mid(count: pointee.midCount).following
    for _ in 0..<Mid.all {
      guard unsafe isInUse(&next) else { break }
      next = next.following
    }
    return next
  }

  /// Whether something that waits, or is not acknowledged, has this message id. `mid` may be moved on over others in use.
  private func isInUse(_ mid: inout Mid) -> Bool {
    if let identifier = PacketIdentifier(mid.mid), let client = unsafe pointee.client,
      unsafe client.pointee.isGiven(identifier, mid.count)
    {
      return true
    }
    return unsafe isEarly(&mid) || isWaiting(mid)
  }

  /// They are in the order of their numbers: nothing is searched before these have come round since the first. Those behind
  /// the one that has this id mostly have the next ones.
  private func isEarly(_ mid: inout Mid) -> Bool {
    guard let first = unsafe pointee.early, unsafe mid.isRound(since: first.pointee.mid.count) else {
      return false
    }
    var next: UnsafeMutablePointer<Mosquitto.EarlyMessage>? = unsafe first
    while let message = unsafe next,
      unsafe message.pointee.mid.mid != mid.mid || message.pointee.qos == .atMostOnce
    {
      unsafe next = unsafe message.pointee.next
    }
    guard var message = unsafe next else { return false }
    while let other = unsafe message.pointee.next, unsafe other.pointee.mid.mid == mid.following.mid,
      unsafe other.pointee.qos != .atMostOnce
    {
      unsafe message = unsafe other
      mid = mid.following
    }
    return true
  }

  private func isWaiting(_ mid: Mid) -> Bool {
    var next = unsafe pointee.waiting
    guard let first = unsafe next, unsafe mid.isRound(since: Counter.high(first.pointee.cookie)) else {
      return false
    }
    while let request = unsafe next {
      if unsafe Cookie.mid(request.pointee.cookie) == Int32(mid.mid) { return true }
      unsafe next = unsafe request.pointee.next
    }
    return false
  }

  /// Waits until the descriptor (-1: none) is readable, or somebody calls `wake`; without the lock, which is held before
  /// and afterwards. For a loop only, as it takes the call to wake up away from others.
  func wait(_ descriptor: Int32, _ timeout: Int32) {
    let event = unsafe pointee.event
    unsafe unlock()
    if waitForEither(descriptor, event, timeout: timeout) { platform_event_clear(event) }
    unsafe lock()
  }

  /// Sends what is ready, and has a loop that waits look at its deadlines again. With the lock held.
  func flush() {
    guard let client = unsafe pointee.client else { return }
    _ = unsafe client.pointee.flush(at: client.pointee.time)
    if unsafe client.pointee.hasEvent { unsafe wake() }
  }

  /// The same, and what a function returns that has taken something: where nobody runs a loop, how it was sent. There
  /// CONNACK may lie unread, too: without it nothing is sent.
  func flushAlone() -> Int32 {
    guard let client = unsafe pointee.client, unsafe isAlone else {
      unsafe flush()
      return MOSQ_ERR_SUCCESS
    }
    guard unsafe pointee.isConnected else {
      _ = unsafe client.pointee.service(at: client.pointee.time)
      return MOSQ_ERR_SUCCESS
    }
    unsafe flush()
    guard unsafe isBroken else { return MOSQ_ERR_SUCCESS }
    return shim_errno() == SystemError.connectionReset ? MOSQ_ERR_CONN_LOST : MOSQ_ERR_ERRNO
  }

  /// What a function returns that wants a connection where there is none.
  func resultOfNone() -> Int32 {
    guard unsafe isBroken, unsafe isAlone else { return MOSQ_ERR_NO_CONN }
    shim_set_errno(SystemError.brokenPipe)
    return MOSQ_ERR_ERRNO
  }

  /// The connection is gone, and on_disconnect has not been told: to the program there is one, on which writing fails.
  private var isBroken: Bool {
    guard let client = unsafe pointee.client else { return false }
    return unsafe client.pointee.state == .disconnected && !pointee.isEndTold
  }

  /// Nobody runs a loop.
  private var isAlone: Bool {
    unsafe pointee.looper == 0 && !pointee.isThreaded && pointee.callers == nil
  }

  /// Has the loop look again. With the lock held.
  func wake() {
    if unsafe pointee.event >= 0, unsafe pointee.looper != platform_thread_self() {
      unsafe platform_wake(pointee.event)
    }
  }

  /// This thread is in a callback. With the lock held.
  var isInCallback: Bool {
    var next = unsafe pointee.callers
    while let caller = unsafe next {
      if unsafe caller.pointee.thread == platform_thread_self() { return true }
      unsafe next = unsafe caller.pointee.next
    }
    return false
  }

  /// There is a connection, or one is about to be. With the lock held.
  var isUnderWay: Bool {
    if unsafe pointee.isOpening { return true }
    guard let client = unsafe pointee.client else { return false }
    return unsafe client.pointee.state != .disconnected
  }
}

/// Waits until one of two descriptors (-1: none) is readable, `timeout` milliseconds (-1: without limit) are over, or a
/// signal came. Returns whether the second one is readable.
func waitForEither(_ first: Int32, _ second: Int32, timeout: Int32) -> Bool {
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

// MARK: Texts

/// None of NULL.
@_lifetime(immortal)
func spanOrNone(_ text: UnsafePointer<CChar>?) -> Span<UInt8> {
  guard let text = unsafe text else { return Span() }
  return unsafe span(text)
}

/// None of NULL, or if there are none.
@_lifetime(immortal)
func spanOrNone(_ bytes: UnsafeRawPointer?, _ count: Int) -> Span<UInt8> {
  guard let bytes = unsafe bytes, count > 0 else { return Span() }
  return unsafe span(bytes, count)
}

/// A copy for `shim_free()`.
func copied(_ text: UnsafePointer<CChar>) -> Mosquitto.Text? { unsafe shim_copy(text, shim_length(text)) }

func free(_ text: inout Mosquitto.Text?) {
  unsafe shim_forget(text, text.map { unsafe shim_length($0) } ?? 0)
  unsafe text = nil
}

/// An empty text is none.
func isEmpty(_ text: UnsafePointer<CChar>?) -> Bool { unsafe text == nil || text?.pointee == 0 }
