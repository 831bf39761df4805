import CSwiftMQTT
import Driver
import MQTTClient
import MQTTWire
import Platform
import Storage
import Transports

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

  // Few clients have credentials in a URL, and room for them is not zeroed for those that have not.
  guard unsafe options.pointee.url.size | options.pointee.proxy.size != 0 else {
    var none = MutableSpan<UInt8>()
    var noneOfProxy = MutableSpan<UInt8>()
    return try unsafe makeClient(
      options, &none, &noneOfProxy, urlOffset: &urlOffset, memory: memory, size: size)
  }
  var scratch = URLScratch(repeating: 0)
  var proxyScratch = URLScratch(repeating: 0)
  var room = scratch.mutableSpan
  var proxyRoom = proxyScratch.mutableSpan
  return try unsafe makeClient(
    options, &room, &proxyRoom, urlOffset: &urlOffset, memory: memory, size: size)
}

/// The same, with room for the decoded user names and passwords of the URL and of the proxy's.
@inline(never)
private func makeClient(
  _ options: UnsafePointer<smq_options>, _ scratch: inout MutableSpan<UInt8>,
  _ proxyScratch: inout MutableSpan<UInt8>,
  urlOffset: inout Int?, memory: UnsafeMutableRawPointer?, size: Int
) throws(Status) -> Int {
  var request = RequestedOptions()
  let flags = unsafe options.pointee.flags
  // They are the lowest seventeen bits.
  guard flags < 2 * UInt32(SMQ_OPTION_WEBSOCKET) else { throw .option }
  request.keepSession = flags & UInt32(SMQ_OPTION_KEEP_SESSION) != 0
  request.newSession = flags & UInt32(SMQ_OPTION_NEW_SESSION) != 0
  request.fallback = flags & UInt32(SMQ_OPTION_FALLBACK) != 0
  request.clientIDAsIs = flags & UInt32(SMQ_OPTION_CLIENT_ID_AS_IS) != 0
  request.hold = flags & UInt32(SMQ_OPTION_HOLD) != 0
  request.parts = flags & UInt32(SMQ_OPTION_PARTS) != 0
  request.redirect = flags & UInt32(SMQ_OPTION_REDIRECT) != 0
  request.connection.shuffle = flags & UInt32(SMQ_OPTION_SHUFFLE) != 0
  request.connection.noReconnect = flags & UInt32(SMQ_OPTION_NO_RECONNECT) != 0
  request.atMostOnceConnected = flags & UInt32(SMQ_OPTION_QOS_0_CONNECTED) != 0
  request.connection.askCredentials = flags & UInt32(SMQ_OPTION_ASK_CREDENTIALS) != 0
  request.statesExpiry = flags & UInt32(SMQ_OPTION_SESSION_EXPIRY) != 0
  request.connection.ownTransport = flags & UInt32(SMQ_OPTION_OWN_TRANSPORT) != 0
  request.credentialFlags =
    (flags & UInt32(SMQ_OPTION_USER_NAME) != 0 ? Connect.userNameFlag : 0)
    | (flags & UInt32(SMQ_OPTION_PASSWORD) != 0 ? Connect.passwordFlag : 0)
  request.connection.ownResolver = flags & UInt32(SMQ_OPTION_ASK_ADDRESSES) != 0
  unsafe request.connection.port = options.pointee.port
  unsafe request.protocolVersion = options.pointee.protocol
  unsafe request.keepAlive = options.pointee.keep_alive_s
  unsafe request.sessionExpiry = options.pointee.session_expiry_s
  unsafe request.connection.connectTimeout = options.pointee.connect_timeout_ms
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
  unsafe request.references = options.pointee.references
  unsafe request.connection.reconnectMinimum = options.pointee.reconnect_min_ms
  unsafe request.connection.reconnectMaximum = options.pointee.reconnect_max_ms
  unsafe request.connection.stableTime = options.pointee.stable_ms
  unsafe request.connection.jitter = options.pointee.jitter
  unsafe request.urgentMessages = options.pointee.urgent_messages
  unsafe request.urgentBytes = options.pointee.urgent_bytes
  unsafe request.ackTimeout = options.pointee.answer_timeout_ms
  unsafe request.connection.writeTimeout = options.pointee.write_timeout_ms
  unsafe request.connection.tcpUserTimeout = options.pointee.tcp_user_timeout_ms
  unsafe request.credentialBytes = options.pointee.credential_bytes
  unsafe request.connection.addresses = options.pointee.addresses
  unsafe request.unreleasedMaximum = options.pointee.unreleased_maximum
  request.connection.webSocket = flags & UInt32(SMQ_OPTION_WEBSOCKET) != 0
  unsafe request.connection.webSocketBytes = options.pointee.websocket_bytes
  unsafe request.connection.webSocketRequestBytes = options.pointee.websocket_request_bytes
  unsafe request.connection.dscp = options.pointee.dscp
  unsafe request.connection.tcpKeepAlive = options.pointee.tcp_keep_alive_s
  unsafe request.connection.busyPoll = options.pointee.busy_poll_us
  request.journal = try unsafe span(options.pointee.journal)
  unsafe request.journalBytes = options.pointee.journal_bytes
  unsafe request.journalDelay = options.pointee.journal_delay_ms
  unsafe request.journalBatchBytes = options.pointee.journal_batch_bytes
  unsafe request.journalFlags = options.pointee.journal_flags
  unsafe request.traceBytes = options.pointee.trace_bytes
  unsafe request.tracePacketBytes = options.pointee.trace_packet_bytes
  request.inspectionPath = try unsafe span(options.pointee.inspect)
  unsafe request.inspectionPermissions = options.pointee.inspect_mode
  unsafe request.inspectionBytes = options.pointee.inspect_bytes
  request.connection.tlsName = try unsafe span(options.pointee.tls_name)
  request.connection.alpn = try unsafe span(options.pointee.alpn)
  request.connection.webSocketPath = try unsafe span(options.pointee.websocket_path)
  request.connection.webSocketHeaders = try unsafe span(options.pointee.websocket_headers)
  request.connection.webSocketProtocol = try unsafe span(options.pointee.websocket_protocol)
  request.connection.bindDevice = try unsafe span(options.pointee.bind_device)
  request.connection.bindAddress = try unsafe span(options.pointee.bind_address)
  if let engine = unsafe options.pointee.tls {
    guard let engine = unsafe TLSEngine(engine, settings: options.pointee.tls_settings) else {
      throw .structSize
    }
    request.connection.tls = engine
  } else {
    // Settings without an engine would be a connection in plain that was to be protected.
    guard unsafe options.pointee.tls_settings == nil else { throw .option }
  }
  request.properties = try unsafe span(options.pointee.properties)
  request.connection.host = try unsafe span(options.pointee.host)
  request.clientID = try unsafe span(options.pointee.client_id)
  request.userName = try unsafe span(options.pointee.user_name)
  request.password = try unsafe span(options.pointee.password)
  try unsafe readWill(options.pointee.will, into: &request)

  let url = try unsafe span(options.pointee.url)
  var sizes = (userName: 0, password: 0)
  if url.count > 0 {
    guard request.connection.host.count == 0, request.connection.port == 0 else { throw .option }
    let parsed = try parse(url, &urlOffset)
    let server = parsed.url
    guard server.userName.range.isEmpty || request.userName.count == 0,
      server.password.range.isEmpty || request.password.count == 0,
      server.path.range.isEmpty || request.connection.webSocketPath.count == 0
    else { throw .option }
    request.connection.host = url
    request.connection.servers = server.servers
    request.connection.carrier = parsed.carrier
    if !server.path.range.isEmpty { request.connection.webSocketPath = url.extracting(server.path.range) }
    sizes = server.decodeCredentials(of: url, into: &scratch)
  }
  let decoded = scratch.span
  if sizes.userName > 0 { request.userName = decoded.extracting(0..<sizes.userName) }
  if sizes.password > 0 {
    request.password = decoded.extracting(sizes.userName..<sizes.userName + sizes.password)
  }
  var proxySizes = (userName: 0, password: 0)
  let proxyText = try unsafe span(options.pointee.proxy)
  if proxyText.count > 0 {
    guard let proxy = ProxyURL(parsing: proxyText) else { throw .option }
    request.connection.proxy = proxy.kind
    request.connection.proxyHost = proxyText.extracting(proxy.url.servers.host(0).range)
    request.connection.proxyPort = UInt32(proxy.url.servers.port(0))
    proxySizes = proxy.url.decodeCredentials(of: proxyText, into: &proxyScratch)
  }
  let proxyDecoded = proxyScratch.span
  request.connection.proxyUser = proxyDecoded.extracting(0..<proxySizes.userName)
  request.connection.proxyPassword = proxyDecoded.extracting(
    proxySizes.userName..<proxySizes.userName + proxySizes.password)
  let checked = try check(request, &urlOffset)

  var plan = ArenaLayout()
  // First, because its address is the client's.
  let handleSlice = plan.reserve(1, of: ClientHandle.self)
  let socketSlice = plan.reserve(checked.sockets.isDefault ? 0 : 1, of: SocketOptions.self)
  let clientSlice = plan.reserve(1, of: Client.self)
  let table = plan.reserve(checked.handlers > 0 ? 1 : 0, of: HandlerTable.self)
  let writerSlice = plan.reserve(
    Feature.hasJournal && checked.journalPath.count > 0 ? 1 : 0, of: BlockWriterMemory.self)
  let names = JournalNames.Plan(
    Feature.hasJournal && checked.journalPath.count > 0 ? checked.journalPath : nil, in: &plan)
  let clientPlan = ClientPlan(checked, in: &plan)
  let tablePlan =
    checked.handlers > 0
    ? HandlerTable.Plan(entries: checked.handlers, bytes: checked.handlerBytes, in: &plan) : nil
  guard let memory = unsafe memory else { return plan.byteCount }
  // A size with its highest bit set is a very large one, not a negative number.
  guard size < 0 || size >= plan.byteCount else { throw .memorySize }
  var refusal: Status? = nil
  do throws(PlatformError) {
    let isCallerDriven = Feature.hasEngine && checked.driver.isCallerDriven
    let block = unsafe Arena(start: memory)
    let stored = checked.sockets.stored(in: block, socketSlice)
    var system = isCallerDriven ? Linux() : try Linux(stored)
    let wakeUp =
      Feature.hasSubmit && checked.submitMessages > 0 && !isCallerDriven ? try system.wakeUp() : .none
    let slot = unsafe block.start(of: handleSlice)
    // The client is made where it stays.
    let client = unsafe block.start(of: clientSlice)
    unsafe client.initialize(to: Client(checked, plan: clientPlan, block: block, on: system))
    if Feature.hasEngine, Feature.hasJournal, let journal = checked.journal, checked.journalPath.isEmpty {
      unsafe client.pointee.openOwnStorage(journal)
    } else if Feature.hasJournal, let journal = checked.journal {
      let writer = unsafe block.start(of: writerSlice)
      let names = JournalNames(checked.journalPath, names, in: block)
      refusal = unsafe openJournal(names, journal, in: writer, of: client)
      if refusal != nil { throw PlatformError(code: 0) }
    }
    if Feature.hasTap, checked.inspectionBytes > 0 {
      refusal = unsafe openInspection(permissions: checked.inspectionPermissions, of: client)
      if refusal != nil { throw PlatformError(code: 0) }
    }
    let submitter = unsafe Submitter(
      checked, queue: client.pointee.engine.submissions.queue, wakeUp: wakeUp)
    let handlers = unsafe makeHandlers(tablePlan, at: table, in: block)
    unsafe slot.initialize(to: ClientHandle(submitter: submitter, client: client, handlers: handlers))
  } catch {
    throw refusal ?? .noDescriptor
  }
  return plan.byteCount
}

/// Out of line, so that its stack is not in the way of the client's. If there is an error, there is no client any more.
@inline(never)
private func openJournal(
  _ names: consuming JournalNames, _ options: JournalOptions,
  in memory: UnsafeMutablePointer<BlockWriterMemory>, of client: UnsafeMutablePointer<Client>
) -> Status? {
  do throws(JournalError) {
    unsafe try client.pointee.openJournal(&names, options, in: memory)
    return nil
  } catch {
    unsafe client.pointee.wipeSecrets()
    unsafe client.deinitialize(count: 1)
    if case .system(let code) = error { SystemError.set(code) }
    return Status(error)
  }
}

/// The same.
@inline(never)
@_optimize(size)
private func openInspection(permissions: UInt32, of client: UnsafeMutablePointer<Client>) -> Status? {
  do throws(PlatformError) {
    unsafe try client.pointee.openInspection(permissions: permissions)
    return nil
  } catch {
    unsafe client.pointee.wipeSecrets()
    unsafe client.deinitialize(count: 1)
    SystemError.set(error.code)
    return .inspect
  }
}

/// Out of line, so that its stack is not in the way of the client's.
@inline(never)
private func makeHandlers(
  _ plan: HandlerTable.Plan?, at slice: ArenaSlice<HandlerTable>, in block: borrowing Arena
) -> UnsafeMutablePointer<HandlerTable>? {
  guard Feature.hasHandlers, let plan else { return nil }
  let table = unsafe block.start(of: slice)
  unsafe table.initialize(to: HandlerTable(plan, in: block))
  return unsafe table
}

private func readWill(
  _ will: UnsafePointer<smq_message>?, into request: inout RequestedOptions
) throws(Status) {
  guard let will = unsafe will else { return }
  try unsafe checkSize(will, will.pointee.size, known: MemoryLayout<smq_message>.size)
  guard unsafe will.pointee.reserved2 == 0 else { throw .structSize }
  guard unsafe will.pointee.quiet | will.pointee.urgent | will.pointee.store <= 1,
    unsafe will.pointee.overflow <= 3
  else { throw .option }
  request.hasWill = true
  request.willTopic = try unsafe span(will.pointee.topic)
  request.willPayload = try unsafe span(will.pointee.payload)
  unsafe request.willQoS = will.pointee.qos
  unsafe request.willRetain = will.pointee.retain
  unsafe request.willExpiry = will.pointee.expiry_s
  request.willProperties = try unsafe span(will.pointee.properties)
}

private func parse(_ url: Span<UInt8>, _ urlOffset: inout Int?) throws(Status) -> MQTTURL {
  do throws(OptionsError) {
    return try MQTTURL(checking: url)
  } catch {
    throw Status(error, &urlOffset)
  }
}

@inline(__always)
@_lifetime(copy request)
private func check(
  _ request: borrowing RequestedOptions, _ urlOffset: inout Int?
) throws(Status) -> ClientOptions {
  do throws(OptionsError) {
    return try ClientOptions(checking: request)
  } catch {
    throw Status(error, &urlOffset)
  }
}
