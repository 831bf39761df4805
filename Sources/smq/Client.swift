// libswiftmqtt as this program uses it. One of the two files with `unsafe` (the other is System.swift): what C is
// given lives during the call, which is all the header asks for; what an event points to is copied before the next.

import CSwiftMQTT
import CTool

typealias Event = MQTT.Event

enum MQTT {
  static let off = UInt32.max
  static let forever = UInt32.max

  struct Message {
    var topic: [UInt8] = []
    var payload: [UInt8] = []
    var properties: [UInt8] = []
    var qos: UInt8 = 0
    var retain = false
    var quiet = false
    var cookie: UInt64 = 0
  }

  struct Filter {
    var filter: [UInt8]
    var qos: UInt8 = 0
    var retainAsPublished = false
    var retainHandling: UInt8 = 0
  }

  /// smq_options, as far as it is needed here.
  struct Options {
    var flags = 0
    var url: [UInt8] = []
    var host: [UInt8] = []
    var port: UInt32 = 0
    var version: UInt32 = 4
    var clientID: [UInt8] = []
    var userName: [UInt8] = []
    var password: [UInt8] = []
    var will: Message?
    var properties: [UInt8] = []
    var keepAlive: UInt32 = 0
    var sessionExpiry: UInt32 = 0
    var connectTimeout: UInt32 = 0
    var outboxBytes: UInt32 = 0
    var outboxMessages: UInt32 = 0
    var receiveBytes: UInt32 = 0
    var streamBytes: UInt32 = 0
    var inFlightMaximum: UInt32 = 0
    var receiveMaximum: UInt32 = 0
    var maximumPacket: UInt32 = 0
    var requests: UInt32 = 0
    var requestBytes: UInt32 = 0
    var subscriptions: UInt32 = 0
    var subscriptionBytes: UInt32 = 0
    var aliasesIn: UInt32 = 0
    var aliasesOut: UInt32 = 0
    var reconnectMinimum: UInt32 = 0
  }

  /// smq_event, with bytes of its own.
  final class Event {
    var type = 0
    var status = 0
    var stage = 0
    var osError: Int32 = 0
    var reasonCode = -1
    var sessionPresent = false
    var version: UInt32 = 0
    var rule: Int32 = 0
    var cookie: UInt64 = 0
    var reasonString: [UInt8] = []
    var serverReference: [UInt8] = []
    var properties: [UInt8] = []
    var reasonCodes: [UInt8] = []
    var topic: [UInt8] = []
    var payload: [UInt8] = []
    var payloadOffset = 0
    var payloadTotal = 0
    var qos: UInt8 = 0
    var retain = false
    var part = 0
    var retry: Int64 = 0
    var port: UInt32 = 0
  }

  /// smq_server.
  struct Server {
    var version: UInt32 = 0
    var sessionExpiry: UInt32 = 0
    var receiveMaximum: UInt32 = 0
    var maximumPacket: UInt32 = 0
    var maximumQoS: UInt32 = 0
    var retain = false
    var wildcards = false
    var shared = false
    var identifiers = false
    var aliases: UInt32 = 0
    var keepAlive: UInt32 = 0
  }

  /// A property of a list. `name` is that of a User Property.
  struct Property {
    var identifier: Int
    var number: UInt32
    var name: [UInt8]
    var value: [UInt8]
  }

  // ---- Names

  static func statusName(_ status: Int) -> Text { unsafe Text(bytes(of: smq_status_name(Int32(status)))) }
  static func stageName(_ stage: Int) -> Text { unsafe Text(bytes(of: smq_stage_name(Int32(stage)))) }
  static func ruleName(_ rule: Int32) -> Text { unsafe Text(bytes(of: smq_rule_name(rule))) }
  static func logName(_ what: Int32) -> Text { unsafe Text(bytes(of: smq_log_name(what))) }

  static func reasonName(_ version: UInt32, _ code: Int) -> Text {
    unsafe Text(bytes(of: smq_reason_code_name(version, Int32(code))))
  }

  static var libraryVersion: Text {
    let version = smq_version()
    return "\(version >> 16).\(version >> 8 & 255).\(version & 255)"
  }

  // ---- Topics and properties

  static func checkTopic(_ topic: [UInt8]) -> Int {
    let given = Given()
    var text = unsafe given.bytes(topic)
    return unsafe Int(smq_topic_name_check(&text))
  }

  static func checkFilter(_ filter: [UInt8]) -> Int {
    let given = Given()
    var text = unsafe given.bytes(filter)
    return unsafe Int(smq_topic_filter_check(&text))
  }

  static func matches(filter: [UInt8], topic: [UInt8]) -> Bool {
    let given = Given()
    var first = unsafe given.bytes(filter)
    var second = unsafe given.bytes(topic)
    return unsafe smq_topic_matches(&first, &second) == 1
  }

  /// Appends a property to a list. A status.
  static func put(_ property: Property, kind: PropertyKind, into list: inout [UInt8]) -> Int {
    let given = Given()
    var added = [UInt8](repeating: 0, count: property.name.count + property.value.count + 16)
    var size = 0
    let status = unsafe added.withUnsafeMutableBytes { buffer in
      var target = unsafe smq_properties(data: buffer.baseAddress, capacity: buffer.count, size: 0)
      var name = unsafe given.bytes(property.name)
      var value = unsafe given.bytes(property.value)
      let identifier = UInt32(property.identifier)
      let status: Int32
      switch kind {
      case .number: unsafe status = smq_property_put_number(&target, identifier, property.number)
      case .bytes: unsafe status = smq_property_put_bytes(&target, identifier, &value)
      case .pair: unsafe status = smq_property_put_pair(&target, &name, &value)
      }
      unsafe size = target.size
      return Int(status)
    }
    if status == SMQ_OK { list += added[..<size] }
    return status
  }

  static func properties(_ list: [UInt8]) -> [Property] {
    let given = Given()
    var found: [Property] = []
    var whole = unsafe given.bytes(list)
    var position = 0
    var property = unsafe smq_property()
    unsafe property.size = UInt32(MemoryLayout<smq_property>.size)
    while unsafe smq_property_next(&whole, &position, &property) == 1 {
      unsafe found.append(
        Property(
          identifier: Int(property.identifier), number: property.number, name: copy(property.name),
          value: copy(property.value)))
    }
    return found
  }

  /// What is wrong with options: a status, and where in the URL.
  static func check(_ options: Options) -> (status: Int, offset: Int) {
    let given = Given()
    var raw = unsafe given.options(options)
    var offset = 0
    let status = unsafe smq_options_check(&raw, &offset)
    return (Int(status), offset)
  }

  fileprivate static func copy(_ bytes: smq_bytes) -> [UInt8] {
    guard let start = unsafe bytes.data, unsafe bytes.size > 0 else { return [] }
    return unsafe Array(UnsafeRawBufferPointer(start: start, count: bytes.size))
  }
}

enum PropertyKind {
  case number, bytes, pair
}

/// Copies of what C is to read, as long as this lives.
@safe
private final class Given {
  private var blocks: [UnsafeMutableRawPointer] = unsafe []

  deinit {
    for unsafe block in unsafe blocks { unsafe block.deallocate() }
  }

  func bytes(_ bytes: [UInt8]) -> smq_bytes {
    guard !bytes.isEmpty else { return unsafe smq_bytes(data: nil, size: 0) }
    let block = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 8)
    unsafe bytes.withUnsafeBytes { unsafe block.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
    unsafe blocks.append(block)
    return unsafe smq_bytes(data: block, size: bytes.count)
  }

  func message(_ message: MQTT.Message) -> smq_message {
    var raw = unsafe smq_message()
    unsafe raw.size = UInt32(MemoryLayout<smq_message>.size)
    unsafe raw.qos = message.qos
    unsafe raw.retain = message.retain ? 1 : 0
    unsafe raw.quiet = message.quiet ? 1 : 0
    unsafe raw.cookie = message.cookie
    unsafe raw.topic = bytes(message.topic)
    unsafe raw.payload = bytes(message.payload)
    unsafe raw.properties = bytes(message.properties)
    return unsafe raw
  }

  func options(_ options: MQTT.Options) -> smq_options {
    var raw = unsafe smq_options()
    unsafe raw.size = UInt32(MemoryLayout<smq_options>.size)
    unsafe raw.flags = UInt32(options.flags)
    unsafe raw.url = bytes(options.url)
    unsafe raw.host = bytes(options.host)
    unsafe raw.port = options.port
    unsafe raw.protocol = options.version
    unsafe raw.client_id = bytes(options.clientID)
    unsafe raw.user_name = bytes(options.userName)
    unsafe raw.password = bytes(options.password)
    unsafe raw.properties = bytes(options.properties)
    unsafe raw.keep_alive_s = options.keepAlive
    unsafe raw.session_expiry_s = options.sessionExpiry
    unsafe raw.connect_timeout_ms = options.connectTimeout
    unsafe raw.outbox_bytes = options.outboxBytes
    unsafe raw.outbox_messages = options.outboxMessages
    unsafe raw.receive_bytes = options.receiveBytes
    unsafe raw.stream_bytes = options.streamBytes
    unsafe raw.in_flight_maximum = options.inFlightMaximum
    unsafe raw.receive_maximum = options.receiveMaximum
    unsafe raw.maximum_packet_bytes = options.maximumPacket
    unsafe raw.requests = options.requests
    unsafe raw.request_bytes = options.requestBytes
    unsafe raw.subscriptions = options.subscriptions
    unsafe raw.subscription_bytes = options.subscriptionBytes
    unsafe raw.topic_aliases_in = options.aliasesIn
    unsafe raw.topic_aliases_out = options.aliasesOut
    unsafe raw.reconnect_min_ms = options.reconnectMinimum
    if let will = options.will {
      let block = UnsafeMutablePointer<smq_message>.allocate(capacity: 1)
      unsafe block.initialize(to: message(will))
      unsafe blocks.append(UnsafeMutableRawPointer(block))
      unsafe raw.will = UnsafePointer(block)
    }
    return unsafe raw
  }
}

/// A smq_client, and the memory it lives in.
@safe
final class Client {
  private let memory: UnsafeMutableRawPointer
  private let client: OpaquePointer
  /// The payload that smq_publish_stream() reads from.
  private var streamed: UnsafeMutableRawBufferPointer?

  init(_ options: MQTT.Options) throws(ClientRefused) {
    let given = Given()
    var raw = unsafe given.options(options)
    let size = unsafe smq_client_size(&raw)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: Swift.max(size, 8), alignment: 8)
    var client: OpaquePointer? = nil
    let status = unsafe smq_client_init(memory, size, &raw, &client)
    guard status == SMQ_OK, let client = unsafe client else {
      unsafe memory.deallocate()
      throw ClientRefused(status: Int(status))
    }
    unsafe self.memory = unsafe memory
    unsafe self.client = unsafe client
  }

  deinit {
    unsafe smq_client_close(client)
    unsafe memory.deallocate()
    if let streamed = unsafe streamed { unsafe streamed.deallocate() }
  }

  // ---- What it is to do. A status each.

  func connect() -> Int { unsafe Int(smq_connect(client)) }
  func disconnect(drain: UInt32) -> Int { unsafe Int(smq_disconnect(client, drain)) }

  func disconnect(drain: UInt32, reason: Int, properties: [UInt8]) -> Int {
    let given = Given()
    var list = unsafe given.bytes(properties)
    return unsafe Int(smq_disconnect_with(client, drain, UInt32(reason), &list))
  }

  func publish(_ message: borrowing MQTT.Message) -> Int {
    var raw = unsafe smq_message()
    unsafe raw.size = UInt32(MemoryLayout<smq_message>.size)
    unsafe raw.qos = message.qos
    unsafe raw.retain = message.retain ? 1 : 0
    unsafe raw.quiet = message.quiet ? 1 : 0
    unsafe raw.cookie = message.cookie
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
  func publishStream(_ message: MQTT.Message) -> Int {
    let given = Given()
    var headless = message
    headless.payload = []
    var raw = unsafe given.message(headless)
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: Swift.max(message.payload.count, 1), alignment: 8)
    unsafe copy.copyBytes(from: message.payload)
    unsafe raw.payload.size = message.payload.count
    let status = unsafe smq_publish_stream(
      client, &raw,
      { user, offset, buffer, size in
        guard let user = unsafe user, let buffer = unsafe buffer else { return -1 }
        // The library asks for no more than the payload has.
        unsafe buffer.copyMemory(from: user + Int(offset), byteCount: size)
        return Int32(size)
      }, copy.baseAddress)
    if status == SMQ_OK {
      if let streamed = unsafe streamed { unsafe streamed.deallocate() }
      unsafe streamed = unsafe copy
    } else {
      unsafe copy.deallocate()
    }
    return Int(status)
  }

  func subscribe(_ filters: [MQTT.Filter], cookie: UInt64, properties: [UInt8] = [], identifier: UInt32 = 0) -> Int {
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
    let given = Given()
    let list = unsafe filters.map { filter in
      unsafe smq_subscription(
        filter: given.bytes(filter.filter), qos: filter.qos, no_local: 0,
        retain_as_published: filter.retainAsPublished ? 1 : 0, retain_handling: filter.retainHandling, reserved: 0)
    }
    return unsafe list.withUnsafeBufferPointer { list in
      var raw = unsafe smq_subscriptions()
      unsafe raw.size = UInt32(MemoryLayout<smq_subscriptions>.size)
      unsafe raw.count = UInt32(list.count)
      unsafe raw.list = list.baseAddress
      unsafe raw.cookie = cookie
      unsafe raw.properties = given.bytes(properties)
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
    let event = Event()
    unsafe event.type = Int(raw.type)
    unsafe event.status = Int(raw.status)
    unsafe event.cookie = raw.cookie
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
    unsafe event.port = raw.port
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

  // ---- The same with a transport of our own

  func opened(_ now: UInt32) { unsafe _ = smq_engine_opened(client, now) }
  func closed(_ error: Int32, _ now: UInt32) { unsafe _ = smq_engine_closed(client, error, now) }
  func timedOut(_ now: UInt32) { unsafe _ = smq_engine_timed_out(client, now) }
  func engineTimeout(_ now: UInt32) -> Int64 { unsafe Int64(smq_engine_next_timeout_ms(client, now)) }

  /// Sends what is to be sent. 0, or the errno of a connection that takes no more.
  func send(to descriptor: Int32, _ now: UInt32) -> Int32 {
    while true {
      var data: UnsafeRawPointer? = nil
      var size = 0
      unsafe _ = smq_engine_transmit(client, now, &data, &size)
      guard size > 0 else { return 0 }
      let count = unsafe tool_send(descriptor, data, size)
      if count < 0 { return Int32(-count) }
      unsafe _ = smq_engine_transmitted(client, Int(count), now)
      if count < Int64(size) { return Int32(TOOL_EAGAIN) }
    }
  }

  /// Receives what is there, once. More than 0: bytes; 0: the end; below: -errno, or nil if there is no room.
  func receive(from descriptor: Int32, _ now: UInt32) -> Int64? {
    var data: UnsafeMutableRawPointer? = nil
    var size = 0
    unsafe _ = smq_engine_receive_buffer(client, &data, &size)
    guard size > 0 else { return nil }
    let count = unsafe tool_receive(descriptor, data, size)
    if count > 0 { unsafe _ = smq_engine_received(client, Int(count), now) }
    return count
  }

  // ---- What it says of itself

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

  /// Messages that are done with, and PINGREQs that were answered.
  var done: (messages: Int64, pings: Int64) {
    var raw = smq_stats()
    raw.size = UInt32(MemoryLayout<smq_stats>.size)
    unsafe _ = smq_client_stats(client, &raw)
    let classes = raw.round_trip
    let pings = classes.0 &+ classes.1 &+ classes.2 &+ classes.3 &+ classes.4 &+ classes.5 &+ classes.6 &+ classes.7
      &+ classes.8 &+ classes.9 &+ classes.10 &+ classes.11 &+ classes.12 &+ classes.13 &+ classes.14 &+ classes.15
    return (Int64(raw.messages_completed + raw.messages_failed), Int64(pings))
  }

  /// Sends PINGREQ now.
  func ping() { unsafe _ = smq_hint_network(client, 1) }

  /// Each step is told on standard error, behind this name.
  func logSteps() {
    unsafe _ = smq_set_log(
      client, Int32(SMQ_LOG_DEBUG), { _, _, what, number, other in tellStep(what, number, other) }, nil)
  }
}

struct ClientRefused: Error {
  let status: Int
}
