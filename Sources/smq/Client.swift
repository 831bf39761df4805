import CSwiftMQTT
import CTool

/// A smq_client, and the memory in which it lives.
@safe
final class Client {
  private let memory: UnsafeMutableRawPointer
  private let client: OpaquePointer
  /// The payload that smq_publish_stream() reads from.
  private var streamed: LargePayload?
  /// Who looks on. The library has their addresses until the client is closed.
  private var observations: [Observation] = []
  /// Received messages are no longer acknowledged: the broker keeps them for the client that resumes the session.
  var leavesMessages = false

  init(_ options: MQTT.Options) throws(ClientRefused) {
    let copies = CArguments()
    var raw = unsafe copies.options(options)
    let size = unsafe smq_client_size(&raw)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: Swift.max(size, 8), alignment: 8)
    var client: OpaquePointer? = nil
    let status = unsafe smq_client_init(memory, size, &raw, &client)
    guard status == SMQ_OK, let client = unsafe client else {
      let error = tool_error()
      unsafe memory.deallocate()
      throw ClientRefused(status: Int(status), osError: error)
    }
    unsafe self.memory = unsafe memory
    unsafe self.client = unsafe client
  }

  deinit {
    unsafe smq_client_close(client)
    unsafe memory.deallocate()
  }

  // ---- What it does. Each returns a status.

  func connect() -> Int { unsafe Int(smq_connect(client)) }
  func disconnect(drain: UInt32) -> Int { unsafe Int(smq_disconnect(client, drain)) }

  func disconnect(drain: UInt32, reason: Int, properties: [UInt8]) -> Int {
    let copies = CArguments()
    var list = unsafe copies.bytes(properties)
    return unsafe Int(smq_disconnect_with(client, drain, UInt32(reason), &list))
  }

  /// Whether everything that was published is in the journal, and on the disk.
  func sync() -> Bool { unsafe smq_sync(client, 30_000) == 1 }

  func publish(_ message: MQTT.Message) -> Int {
    if let large = message.large { return publish(message, large) }
    var raw = unsafe CArguments.bare(message)
    return unsafe message.topic.withUnsafeBytes { topic in
      unsafe message.payload.withUnsafeBytes { payload in
        unsafe message.properties.withUnsafeBytes { properties in
          unsafe raw.topic = smq_bytes(data: topic.baseAddress, size: topic.count)
          unsafe raw.payload = smq_bytes(data: payload.baseAddress, size: payload.count)
          unsafe raw.properties = smq_bytes(data: properties.baseAddress, size: properties.count)
          return unsafe Int(smq_publish(client, &raw))
        }
      }
    }
  }

  /// For a payload larger than the outbox; one at a time.
  private func publish(_ message: MQTT.Message, _ payload: LargePayload) -> Int {
    let copies = CArguments()
    var raw = unsafe copies.message(message)
    unsafe raw.payload.size = payload.size
    let status = unsafe smq_publish_stream(
      client, &raw,
      { user, offset, buffer, size in
        guard let user = unsafe user, let buffer = unsafe buffer else { return -1 }
        // It lives as `streamed`, and the library asks for no more than the payload's size.
        let payload = unsafe Unmanaged<LargePayload>.fromOpaque(user).takeUnretainedValue()
        return unsafe payload.read(at: Int(offset), into: buffer, size)
      }, Unmanaged.passUnretained(payload).toOpaque())
    if status == SMQ_OK { streamed = payload }
    return Int(status)
  }

  func subscribe(_ filters: [MQTT.Filter], cookie: UInt64, properties: [UInt8] = [], identifier: UInt32 = 0)
    -> Int
  {
    unsafe withSubscriptions(filters, cookie, properties, identifier) { unsafe smq_subscribe(client, &$0) }
  }

  func unsubscribe(_ filters: [[UInt8]], cookie: UInt64, properties: [UInt8] = []) -> Int {
    unsafe withSubscriptions(filters.map { MQTT.Filter(filter: $0) }, cookie, properties, 0) {
      unsafe smq_unsubscribe(client, &$0)
    }
  }

  private func withSubscriptions(
    _ filters: [MQTT.Filter], _ cookie: UInt64, _ properties: [UInt8], _ identifier: UInt32,
    _ call: (inout smq_subscriptions) -> Int32
  ) -> Int {
    let copies = CArguments()
    let list = unsafe filters.map { filter in
      unsafe smq_subscription(
        filter: copies.bytes(filter.filter), qos: filter.qos, no_local: 0,
        retain_as_published: filter.retainAsPublished ? 1 : 0, retain_handling: filter.retainHandling,
        reserved: 0)
    }
    return unsafe list.withUnsafeBufferPointer { list in
      var raw = unsafe smq_subscriptions()
      unsafe raw.size = UInt32(MemoryLayout<smq_subscriptions>.size)
      unsafe raw.count = UInt32(list.count)
      unsafe raw.list = list.baseAddress
      unsafe raw.cookie = cookie
      unsafe raw.properties = copies.bytes(properties)
      unsafe raw.identifier = identifier
      return unsafe Int(call(&raw))
    }
  }

  // ---- How it is run

  var descriptor: Int32 { unsafe smq_fd(client) }
  var nextTimeout: Int64 { unsafe Int64(smq_next_timeout_ms(client)) }
  var state: Int { unsafe Int(smq_client_state(client)) }
  func service() { unsafe _ = smq_service(client) }

  /// The next event; of its payload no more than `payloadLimit` bytes, and without its topic if there is a limit.
  func nextEvent(payloadLimit: Int = .max) -> Event? {
    var raw = unsafe smq_event()
    unsafe raw.size = UInt32(MemoryLayout<smq_event>.size)
    guard unsafe smq_next_event(client, &raw) == 1 else { return nil }
    if leavesMessages { unsafe _ = smq_hold(client) }
    let event = Event()
    unsafe event.type = Int(raw.type)
    unsafe event.status = Int(raw.status)
    unsafe event.cookie = raw.cookie
    unsafe event.completed = Int(raw.completed)
    unsafe event.reasonCode = Int(raw.reason_code)
    unsafe event.version = raw.protocol
    unsafe event.reasonString = MQTT.copy(raw.reason_string)
    unsafe event.properties = MQTT.copy(raw.properties)
    unsafe event.reasonCodes = MQTT.copy(raw.reason_codes)
    unsafe event.stage = Int(raw.stage)
    unsafe event.osError = raw.os_error
    unsafe event.sessionPresent = raw.session_present == 1
    unsafe event.rule = raw.rule
    unsafe event.serverReference = MQTT.copy(raw.server_reference)
    unsafe event.retry = Int64(raw.retry_ms)
    if event.type == SMQ_EVENT_DISCONNECTED { event.failure = failure }
    unsafe raw.payload.size = Swift.min(raw.payload.size, payloadLimit)
    unsafe event.payload = MQTT.copy(raw.payload)
    if payloadLimit == .max { unsafe event.topic = MQTT.copy(raw.topic) }
    unsafe event.payloadOffset = Int(raw.payload_offset)
    unsafe event.payloadTotal = Int(raw.payload_total)
    unsafe event.qos = raw.qos
    unsafe event.retain = raw.retain == 1
    unsafe event.part = Int(raw.part)
    return event
  }

  // ---- What it reports

  /// The name of the broker's limits; nil without a connection.
  var server: MQTT.Server? {
    var raw = smq_server()
    raw.size = UInt32(MemoryLayout<smq_server>.size)
    guard unsafe smq_client_server(client, &raw) == SMQ_OK else { return nil }
    return MQTT.Server(
      version: raw.protocol, sessionExpiry: raw.session_expiry_s, receiveMaximum: raw.receive_maximum,
      maximumPacket: raw.maximum_packet_bytes, maximumQoS: raw.maximum_qos, retain: raw.retain_available == 1,
      wildcards: raw.wildcard_available == 1, shared: raw.shared_available == 1,
      identifiers: raw.subscription_identifiers_available == 1, aliases: raw.topic_alias_maximum,
      keepAlive: raw.keep_alive_s)
  }

  /// Why the last attempt, or the last connection, ended.
  private var failure: Failure {
    var raw = unsafe smq_failure()
    unsafe raw.size = UInt32(MemoryLayout<smq_failure>.size)
    guard unsafe smq_last_failure(client, &raw) == SMQ_OK else { return Failure() }
    return unsafe Failure(
      httpStatus: Int(raw.http_status), socksReply: Int(raw.socks_reply), closeCode: Int(raw.close_code),
      tlsCause: Int(raw.tls_cause), alert: Int(raw.tls_alert), depth: Int(raw.tls_depth),
      notBefore: raw.not_before_s, notAfter: raw.not_after_s, subject: MQTT.copy(raw.tls_subject),
      text: MQTT.copy(raw.text))
  }

  /// The connection over TLS; nil without one.
  var tls: TLSInfo? {
    var raw = unsafe smq_tls_info()
    unsafe raw.size = UInt32(MemoryLayout<smq_tls_info>.size)
    guard unsafe smq_tls_describe(client, &raw) == SMQ_OK else { return nil }
    return unsafe TLSInfo(raw)
  }

  /// A certificate that the server has sent; nil if there is none.
  func certificate(_ depth: UInt32) -> Certificate? {
    var raw = smq_tls_certificate()
    raw.size = UInt32(MemoryLayout<smq_tls_certificate>.size)
    guard unsafe smq_tls_describe_certificate(client, depth, &raw) == SMQ_OK else { return nil }
    return Certificate(raw)
  }

  /// Completed messages, and answered PINGREQs.
  var done: (messages: Int64, pings: Int64) {
    var raw = smq_stats()
    raw.size = UInt32(MemoryLayout<smq_stats>.size)
    unsafe _ = smq_client_stats(client, &raw)
    let classes = raw.round_trip
    let pings =
      classes.0 &+ classes.1 &+ classes.2 &+ classes.3 &+ classes.4 &+ classes.5 &+ classes.6 &+ classes.7
      &+ classes.8 &+ classes.9 &+ classes.10 &+ classes.11 &+ classes.12 &+ classes.13 &+ classes.14
      &+ classes.15
    return (Int64(raw.messages_completed + raw.messages_failed), Int64(pings))
  }

  /// Messages that have come to their end.
  var ended: Int64 { done.messages }

  /// Has each packet written to a capture file, from now on.
  func observe(_ capture: CaptureFile) { observe(CaptureObserver(capture, capture.add(client: clientID))) }

  /// Has this told each packet and each log entry, from now on.
  func observe(_ told: PacketObserver) {
    let observation = Observation(told)
    observations.append(observation)
    unsafe _ = smq_add_observer(client, observation.memory)
  }

  var clientID: [UInt8] {
    var id = unsafe smq_bytes()
    guard unsafe smq_client_id(client, &id) == SMQ_OK else { return [] }
    return unsafe MQTT.copy(id)
  }

  /// Sends PINGREQ now.
  func ping() { unsafe _ = smq_hint_network(client, 1) }
}

/// A smq_observer, and who is told.
@safe
private final class Observation {
  let memory: UnsafeMutablePointer<smq_observer>
  private let told: PacketObserver

  init(_ told: PacketObserver) {
    self.told = told
    unsafe memory = .allocate(capacity: 1)
    var observer = unsafe smq_observer()
    unsafe observer.size = UInt32(MemoryLayout<smq_observer>.size)
    unsafe observer.user = Unmanaged.passUnretained(told).toOpaque()
    unsafe observer.log_level = Int32(SMQ_LOG_DEBUG)
    // In both it lives as `told`, and the packet for the time of the call.
    unsafe observer.packet = { user, packet in
      guard let user = unsafe user, let packet = unsafe packet else { return }
      let told = unsafe Unmanaged<PacketObserver>.fromOpaque(user).takeUnretainedValue()
      unsafe told.packet(ObservedPacket(packet.pointee))
    }
    unsafe observer.log = { user, _, what, number, other in
      guard let user = unsafe user else { return }
      let told = unsafe Unmanaged<PacketObserver>.fromOpaque(user).takeUnretainedValue()
      told.entry(Int(what), Int(number), Int(other))
    }
    unsafe memory.initialize(to: observer)
  }

  deinit { unsafe memory.deallocate() }
}

/// Whose packets are written, and where to.
private final class CaptureObserver: PacketObserver {
  private let capture: CaptureFile
  private let number: UInt32

  init(_ capture: CaptureFile, _ number: UInt32) {
    self.capture = capture
    self.number = number
  }

  override func packet(_ packet: ObservedPacket) { capture.write(packet, of: number) }
}

extension ObservedPacket {
  fileprivate init(_ packet: smq_packet) {
    unsafe self.init(
      isSent: packet.direction == UInt32(SMQ_PACKET_SENT), type: packet.type, length: Int(packet.length),
      outboxMessages: Int(packet.outbox_messages), inFlight: Int(packet.in_flight),
      data: MQTT.copy(packet.data) + MQTT.copy(packet.more))
  }
}
