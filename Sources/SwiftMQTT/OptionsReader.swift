import CSwiftMQTT
import Driver
import MQTTClient
import MQTTWire
import Platform
import Storage

/// Space for the decoded user name and password of a URL.
typealias URLScratch = InlineArray<1024, UInt8>

/// Reads a `smq_options`, checks it, and plans the client that it describes. If there is memory, it makes
/// the client there. Returns how many bytes the client needs.
///
/// One function serves three exports, because nearly all of it is the same code.
///
/// The caller guarantees that `options` points to as many bytes as its size field says, and `memory`, if it
/// is not nil, to `size` bytes, aligned to `ArenaLayout.alignment`.
func makeClient(
  _ options: UnsafePointer<smq_options>?, urlOffset: inout Int?, memory: UnsafeMutableRawPointer?,
  size: Int
) throws(Status) -> Int {
  guard let options = unsafe options else { throw .null }
  try unsafe checkSize(options, options.pointee.size, known: MemoryLayout<smq_options>.size)

  var request = RequestedOptions()
  let flags = unsafe options.pointee.flags
  // They are the lowest sixteen bits.
  guard flags < 2 * UInt32(SMQ_OPTION_SESSION_EXPIRY) else { throw .option }
  request.keepSession = flags & UInt32(SMQ_OPTION_KEEP_SESSION) != 0
  request.newSession = flags & UInt32(SMQ_OPTION_NEW_SESSION) != 0
  request.fallback = flags & UInt32(SMQ_OPTION_FALLBACK) != 0
  request.clientIDAsIs = flags & UInt32(SMQ_OPTION_CLIENT_ID_AS_IS) != 0
  request.hold = flags & UInt32(SMQ_OPTION_HOLD) != 0
  request.parts = flags & UInt32(SMQ_OPTION_PARTS) != 0
  request.redirect = flags & UInt32(SMQ_OPTION_REDIRECT) != 0
  request.shuffle = flags & UInt32(SMQ_OPTION_SHUFFLE) != 0
  request.noReconnect = flags & UInt32(SMQ_OPTION_NO_RECONNECT) != 0
  request.atMostOnceConnected = flags & UInt32(SMQ_OPTION_QOS_0_CONNECTED) != 0
  request.askCredentials = flags & UInt32(SMQ_OPTION_ASK_CREDENTIALS) != 0
  request.statesExpiry = flags & UInt32(SMQ_OPTION_SESSION_EXPIRY) != 0
  request.ownTransport = flags & UInt32(SMQ_OPTION_OWN_TRANSPORT) != 0
  request.credentialFlags =
    (flags & UInt32(SMQ_OPTION_USER_NAME) != 0 ? Connect.userNameFlag : 0)
    | (flags & UInt32(SMQ_OPTION_PASSWORD) != 0 ? Connect.passwordFlag : 0)
  request.ownResolver = flags & UInt32(SMQ_OPTION_ASK_ADDRESSES) != 0
  unsafe request.port = options.pointee.port
  unsafe request.protocolVersion = options.pointee.protocol
  unsafe request.keepAlive = options.pointee.keep_alive_s
  unsafe request.sessionExpiry = options.pointee.session_expiry_s
  unsafe request.connectTimeout = options.pointee.connect_timeout_ms
  unsafe request.pingTimeout = options.pointee.ping_timeout_ms
  unsafe request.outboxBytes = options.pointee.outbox_bytes
  unsafe request.outboxMessages = options.pointee.outbox_messages
  unsafe request.receiveBytes = options.pointee.receive_bytes
  unsafe request.inFlightMaximum = options.pointee.in_flight_maximum
  unsafe request.receiveMaximum = options.pointee.receive_maximum
  unsafe request.maximumPacketBytes = options.pointee.maximum_packet_bytes
  unsafe request.subscribePackets = options.pointee.requests
  unsafe request.subscriptions = options.pointee.subscriptions
  unsafe request.subscriptionBytes = options.pointee.subscription_bytes
  unsafe request.resubscribing = options.pointee.resubscribe
  unsafe request.submitMessages = options.pointee.submit_messages
  unsafe request.submitBytes = options.pointee.submit_bytes
  unsafe request.subscribeBytes = options.pointee.request_bytes
  unsafe request.controlBytes = options.pointee.control_bytes
  unsafe request.handlers = options.pointee.handlers
  unsafe request.handlerBytes = options.pointee.handler_bytes
  unsafe request.topicAliasesIn = options.pointee.topic_aliases_in
  unsafe request.topicAliasesOut = options.pointee.topic_aliases_out
  unsafe request.topicAliasBytes = options.pointee.topic_alias_bytes
  unsafe request.responses = options.pointee.replies
  unsafe request.streamBytes = options.pointee.stream_bytes
  unsafe request.reconnectMinimum = options.pointee.reconnect_min_ms
  unsafe request.reconnectMaximum = options.pointee.reconnect_max_ms
  unsafe request.stableTime = options.pointee.stable_ms
  unsafe request.jitter = options.pointee.jitter
  unsafe request.urgentMessages = options.pointee.urgent_messages
  unsafe request.urgentBytes = options.pointee.urgent_bytes
  unsafe request.ackTimeout = options.pointee.answer_timeout_ms
  unsafe request.writeTimeout = options.pointee.write_timeout_ms
  unsafe request.tcpUserTimeout = options.pointee.tcp_user_timeout_ms
  unsafe request.credentialBytes = options.pointee.credential_bytes
  unsafe request.addresses = options.pointee.addresses
  unsafe request.unreleasedMaximum = options.pointee.unreleased_maximum
  request.properties = try unsafe span(options.pointee.properties)
  request.host = try unsafe span(options.pointee.host)
  request.clientID = try unsafe span(options.pointee.client_id)
  request.userName = try unsafe span(options.pointee.user_name)
  request.password = try unsafe span(options.pointee.password)
  try unsafe readWill(options.pointee.will, into: &request)

  let url = try unsafe span(options.pointee.url)
  var scratch = URLScratch(repeating: 0)
  var userNameSize = 0
  var passwordSize = 0
  if url.count > 0 {
    guard request.host.count == 0, request.port == 0 else { throw .option }
    let server = try parse(url, &urlOffset)
    guard server.userName.range.isEmpty || request.userName.count == 0,
      server.password.range.isEmpty || request.password.count == 0
    else { throw .option }
    request.host = url
    request.servers = server.servers
    var room = scratch.mutableSpan
    userNameSize = ServerURL.decode(url.extracting(server.userName.range), into: &room)
    var rest = room._mutatingExtracting(userNameSize...)
    passwordSize = ServerURL.decode(url.extracting(server.password.range), into: &rest)
  }
  let decoded = scratch.span
  if userNameSize > 0 { request.userName = decoded.extracting(0..<userNameSize) }
  if passwordSize > 0 {
    request.password = decoded.extracting(userNameSize..<userNameSize + passwordSize)
  }
  let checked = try check(request, &urlOffset)

  var plan = ArenaLayout()
  let handleSlice = plan.reserve(1, of: ClientHandle.self)
  let clientSlice = plan.reserve(1, of: Client.self)
  let clientPlan = ClientPlan(checked, in: &plan)
  let tableSlice = plan.reserve(1, of: HandlerTable.self)
  let tablePlan = HandlerTable.Plan(
    entries: checked.handlers, bytes: checked.handlerBytes, in: &plan)
  guard let memory = unsafe memory else { return plan.byteCount }
  // A size with its highest bit set is a very large one, not a negative number.
  guard size < 0 || size >= plan.byteCount else { throw .memorySize }
  do throws(PlatformError) {
    let isCallerDriven = Feature.hasEngine && checked.driver.isCallerDriven
    var system = isCallerDriven ? Linux() : try Linux(userTimeout: checked.tcpUserTimeout)
    let wakeUp =
      Feature.hasSubmit && checked.submitMessages > 0 && !isCallerDriven ? try system.wakeUp() : .none
    let block = unsafe Arena(start: memory)
    let slot = unsafe block.start(of: handleSlice)
    let client = Client(checked, plan: clientPlan, block: block, on: system)
    let submitter = Submitter(checked, queue: client.engine.submissions.queue, wakeUp: wakeUp)
    let handlers = HandlerTable(
      entries: block.table(tablePlan.entries), filters: block.region(tablePlan.filters))
    unsafe slot.initialize(
      to: ClientHandle(
        submitter: submitter, client: client, at: block.start(of: clientSlice), handlers: handlers,
        at: block.start(of: tableSlice)))
  } catch {
    throw .noDescriptor
  }
  return plan.byteCount
}

private func readWill(
  _ will: UnsafePointer<smq_message>?, into request: inout RequestedOptions
) throws(Status) {
  guard let will = unsafe will else { return }
  try unsafe checkSize(will, will.pointee.size, known: MemoryLayout<smq_message>.size)
  guard unsafe will.pointee.reserved == 0, unsafe will.pointee.reserved2 == 0 else { throw .structSize }
  guard unsafe will.pointee.quiet | will.pointee.urgent <= 1, unsafe will.pointee.overflow <= 3 else {
    throw .option
  }
  request.hasWill = true
  request.willTopic = try unsafe span(will.pointee.topic)
  request.willPayload = try unsafe span(will.pointee.payload)
  unsafe request.willQoS = will.pointee.qos
  unsafe request.willRetain = will.pointee.retain
  unsafe request.willExpiry = will.pointee.expiry_s
  request.willProperties = try unsafe span(will.pointee.properties)
}

private func parse(_ url: Span<UInt8>, _ urlOffset: inout Int?) throws(Status) -> ServerURL {
  do throws(OptionsError) {
    return try ServerURL(parsing: url)
  } catch {
    throw Status(error, &urlOffset)
  }
}

@_lifetime(copy request)
private func check(
  _ request: RequestedOptions, _ urlOffset: inout Int?
) throws(Status) -> ClientOptions {
  do throws(OptionsError) {
    return try ClientOptions(checking: request)
  } catch {
    throw Status(error, &urlOffset)
  }
}
