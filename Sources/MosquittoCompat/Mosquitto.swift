import CMosquitto
import MQTTClient
import MQTTWire
import Platform

/// The driver, on Linux.
typealias Client = MQTTClient.Client<Linux>

/// What `struct mosquitto *` points to: a client of the core, and what libmosquitto's contract needs besides.
///
/// One mutex guards all of it. `Mosquitto.Locked` is the only way to it, and exists only while the mutex is
/// locked. A callback runs without the lock, and a loop or an attempt to connect waits without it: meanwhile
/// other threads publish, and may connect anew. Only one thread at a time may run a loop, as with
/// libmosquitto.
@safe struct Mosquitto {
  typealias Text = UnsafeMutablePointer<CChar>

  // What the program has set.
  var id: Text? = nil
  var cleanSession = true
  var user: UnsafeMutableRawPointer? = nil
  var version: UInt32 = UInt32(MQTT_PROTOCOL_V311)
  var userName: Text? = nil
  var password: Text? = nil
  var will = Will()
  var host: Text? = nil
  var port: UInt32 = 0
  var keepAlive: UInt32 = 60
  var connectProperties: OpaquePointer? = nil
  var inFlightMaximum: UInt32 = 20
  var receiveMaximum: UInt32 = 20
  var delay: UInt32 = 1
  var delayMaximum: UInt32 = 1
  var doublesDelay = false
  var callbacks = Callbacks()
  var tls: TLSSettings? = nil
  var proxy = Proxy()

  // The core's client, in a block of its own.
  var memory: UnsafeMutableRawPointer? = nil
  var client: UnsafeMutablePointer<Client>? = nil
  /// The path of its journal, if it is to have one.
  var journalPath: Text? = nil
  /// The path of its inspection socket, if it is to have one.
  var inspectPath: Text? = nil
  /// So many ids were assigned before the journal was taken up, and their messages have Packet Identifiers that are
  /// `midShift` ahead of them, because messages of an earlier process have those. 0: they are the same.
  var shiftedMids: UInt32 = 0
  var midShift: UInt32 = 0
  /// A loop that waits knows when the journal is to be written.
  var isJournalExpected = false
  /// Its layers are in another block.
  var layerMemory: UnsafeMutableRawPointer? = nil
  /// The program has changed what the client was made of.
  var areOptionsChanged = false
  /// How many message ids were assigned.
  var midCount: UInt32 = 0

  // Lists.
  /// Messages that were published before there was a client.
  var messagesBeforeConnect = LinkedList<MessageBeforeConnect>()
  var bytesBeforeConnect = 0
  /// SUBSCRIBE and UNSUBSCRIBE for which the client has no room yet.
  var queuedSubscriptions = LinkedList<QueuedSubscription>()
  /// What happened on a connection that another one has replaced. A loop calls the callbacks.
  var deferredCallbacks = LinkedList<DeferredCallback>()
  /// QoS 2 messages until PUBREL.
  var unreleased = LinkedList<UnreleasedMessage>()
  var unreleasedBytes = 0
  /// Topic Aliases that the program has set.
  var aliases = LinkedList<Alias>()

  // The state of the connection.
  /// mosquitto_disconnect() was called, and the program has not connected since.
  var isDisconnecting = false
  /// CONNACK has accepted this connection.
  var isConnected = false
  /// on_connect is being called with the server's refusal.
  var isReportingRefusal = false
  /// on_disconnect was called for the end of this connection.
  var isEndReported = true
  /// Counts attempts to connect. One that finds a number other than its own has been replaced.
  var attempt: UInt32 = 0
  /// A thread waits for its attempt, and has the client for itself.
  var isOpening = false
  /// A signal handler called mosquitto_disconnect() while its thread held the lock: 256, and the Reason Code.
  var pendingDisconnect: Int32 = 0
  /// The layers failed at once, within the call that connected. A loop tells it, as if that had taken longer.
  var failureToTell: ClientFailure? = nil
  /// The server has ended TLS with an alert after the handshake: another attempt would end so, too.
  var isRefusedByTLS = false
  /// The log has not been told of CONNECT, for which the proxy has to connect first.
  var isConnectUnlogged = false
  /// What ended the last connection, if no loop has returned that yet.
  var endResult: Int32? = nil

  // Threads.
  let lock: UnsafeMutableRawPointer
  /// Wakes up a loop that waits.
  var event: Int32 = -1
  /// The thread of mosquitto_loop_start(); 0: there is none.
  var thread: UInt = 0
  /// The thread's loop ends at its next step.
  var isStopping = false
  var isThreaded = false
  /// A function waits for the thread's end.
  var isJoining = false
  /// The thread itself called mosquitto_loop_stop(). Another function waits for its end.
  var isReleased = false
  var hasThreadEnded = false
  /// The thread that runs a loop; 0: none does.
  var loopThread: UInt = 0
  /// The callbacks that are running.
  var callers: UnsafeMutablePointer<Caller>? = nil
  /// A callback called mosquitto_destroy().
  var isDestroyed = false

  init(lock: UnsafeMutableRawPointer) { unsafe self.lock = unsafe lock }

  @safe struct Will {
    var topic: Text? = nil
    var payload: Text? = nil
    var payloadSize = 0
    var qos: UInt8 = 0
    var retain = false
    var properties: OpaquePointer? = nil
  }

  @safe struct Callbacks {
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

  /// A callback that is running, on its thread's stack.
  @safe struct Caller {
    let thread: UInt
    var next: UnsafeMutablePointer<Caller>?
  }
}

/// The instance behind a handle.
@safe struct Instance: BitwiseCopyable {
  let pointer: UnsafeMutablePointer<Mosquitto>

  init(_ pointer: UnsafeMutablePointer<Mosquitto>) { unsafe self.pointer = unsafe pointer }

  var handle: OpaquePointer { unsafe OpaquePointer(pointer) }

  /// Waits for the lock. The scope of the result ends with the lock.
  func lock() -> Mosquitto.Locked { Mosquitto.Locked(self) }

  /// The calling thread holds the lock already, so it runs a signal handler.
  var isLockedByCaller: Bool { unsafe shim_holds(pointer.pointee.lock) }

  /// Read without the lock: the program does not change the version while it makes another call.
  var isVersion5: Bool { unsafe pointer.pointee.version == UInt32(MQTT_PROTOCOL_V5) }
}

/// NULL is none. The program guarantees that another handle is one that mosquitto_new() has returned.
func instance(_ handle: OpaquePointer?) -> Instance? {
  guard let handle = unsafe handle else { return nil }
  return unsafe Instance(UnsafeMutablePointer(handle))
}
