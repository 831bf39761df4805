import CInterface
import CSwiftSTOMP
import Driver
import Platform
import STOMPClient
import Storage
import Transports

/// Space for the decoded login and passcode of a URL.
private typealias URLScratch = InlineArray<1024, UInt8>

/// Reads a `sst_options`, checks it, and plans the client that it describes. If there is memory, it makes the client there.
/// Returns how many bytes the client needs.
///
/// The caller guarantees that `options` points to as many bytes as its size field says, and `memory`, if it is not nil, to
/// `size` bytes, aligned to `ArenaLayout.alignment`.
@inline(never)
@_optimize(size)
func makeClient(
  _ options: UnsafePointer<sst_options>?, urlOffset: inout Int?, memory: UnsafeMutableRawPointer?, size: Int
) throws(Status) -> Int {
  guard let options = unsafe options else { throw .null }
  try unsafe checkSize(options, options.pointee.size, known: MemoryLayout<sst_options>.size)
  var scratch = URLScratch(repeating: 0)
  var proxyScratch = URLScratch(repeating: 0)
  var room = scratch.mutableSpan
  var proxyRoom = proxyScratch.mutableSpan

  var request = RequestedSTOMPOptions()
  let flags = unsafe options.pointee.flags
  // They are the lowest six bits.
  guard flags < 2 * UInt32(SST_OPTION_WEBSOCKET) else { throw .option }
  request.connection.noReconnect = flags & UInt32(SST_OPTION_NO_RECONNECT) != 0
  request.connection.shuffle = flags & UInt32(SST_OPTION_SHUFFLE) != 0
  request.connection.askCredentials = flags & UInt32(SST_OPTION_ASK_CREDENTIALS) != 0
  request.connection.ownResolver = flags & UInt32(SST_OPTION_ASK_ADDRESSES) != 0
  request.connection.ownTransport = flags & UInt32(SST_OPTION_OWN_TRANSPORT) != 0
  request.connection.webSocket = flags & UInt32(SST_OPTION_WEBSOCKET) != 0
  unsafe request.connection.port = options.pointee.port
  unsafe request.oldest = options.pointee.oldest
  unsafe request.newest = options.pointee.newest
  unsafe request.heartBeatSend = options.pointee.heart_beat_send_ms
  unsafe request.heartBeatReceive = options.pointee.heart_beat_receive_ms
  unsafe request.connection.connectTimeout = options.pointee.connect_timeout_ms
  unsafe request.receiptTimeout = options.pointee.receipt_timeout_ms
  unsafe request.outboxBytes = options.pointee.outbox_bytes
  unsafe request.outboxFrames = options.pointee.outbox_frames
  unsafe request.urgentFrames = options.pointee.urgent_frames
  unsafe request.urgentBytes = options.pointee.urgent_bytes
  unsafe request.receiveBytes = options.pointee.receive_bytes
  unsafe request.controlBytes = options.pointee.control_bytes
  unsafe request.subscriptions = options.pointee.subscriptions
  unsafe request.subscriptionBytes = options.pointee.subscription_bytes
  unsafe request.heldMessages = options.pointee.held_messages
  unsafe request.heldBytes = options.pointee.held_bytes
  unsafe request.transactions = options.pointee.transactions
  unsafe request.credentialBytes = options.pointee.credential_bytes
  unsafe request.submitFrames = options.pointee.submit_frames
  unsafe request.submitBytes = options.pointee.submit_bytes
  request.journalPath = try unsafe span(options.pointee.journal)
  unsafe request.journal.bytes = options.pointee.journal_bytes
  unsafe request.journal.delay = options.pointee.journal_delay_ms
  unsafe request.journal.batchBytes = options.pointee.journal_batch_bytes
  unsafe request.journal.flags = options.pointee.journal_flags
  unsafe request.connection.reconnectMinimum = options.pointee.reconnect_min_ms
  unsafe request.connection.reconnectMaximum = options.pointee.reconnect_max_ms
  unsafe request.connection.stableTime = options.pointee.stable_ms
  unsafe request.connection.jitter = options.pointee.jitter
  unsafe request.connection.writeTimeout = options.pointee.write_timeout_ms
  unsafe request.connection.tcpUserTimeout = options.pointee.tcp_user_timeout_ms
  unsafe request.connection.tcpKeepAlive = options.pointee.tcp_keep_alive_s
  unsafe request.connection.dscp = options.pointee.dscp
  unsafe request.connection.addresses = options.pointee.addresses
  unsafe request.connection.busyPoll = options.pointee.busy_poll_us
  unsafe request.connection.webSocketBytes = options.pointee.websocket_bytes
  unsafe request.connection.webSocketRequestBytes = options.pointee.websocket_request_bytes
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
  request.connection.host = try unsafe span(options.pointee.host)
  request.virtualHost = try unsafe span(options.pointee.virtual_host)
  request.login = try unsafe span(options.pointee.login)
  request.passcode = try unsafe span(options.pointee.passcode)
  request.headers = try unsafe span(options.pointee.headers)
  request.inspectionPath = try unsafe span(options.pointee.inspect)
  unsafe request.inspectionPermissions = options.pointee.inspect_mode
  unsafe request.inspectionBytes = options.pointee.inspect_bytes

  let url = try unsafe span(options.pointee.url)
  var sizes = (userName: 0, password: 0)
  if url.count > 0 {
    guard request.connection.host.count == 0, request.connection.port == 0 else { throw .option }
    let parsed = try parse(url, &urlOffset)
    let server = parsed.url
    guard server.userName.range.isEmpty || request.login.count == 0,
      server.password.range.isEmpty || request.passcode.count == 0,
      server.path.range.isEmpty || request.connection.webSocketPath.count == 0
    else { throw .option }
    request.connection.host = url
    request.connection.servers = server.servers
    request.connection.carrier = parsed.carrier
    if !server.path.range.isEmpty {
      request.connection.webSocketPath = url.extracting(server.path.range)
    }
    sizes = server.decodeCredentials(of: url, into: &room)
  }
  let decoded = room.span
  if sizes.userName > 0 { request.login = decoded.extracting(0..<sizes.userName) }
  if sizes.password > 0 {
    request.passcode = decoded.extracting(sizes.userName..<sizes.userName + sizes.password)
  }
  var proxySizes = (userName: 0, password: 0)
  let proxyText = try unsafe span(options.pointee.proxy)
  if proxyText.count > 0 {
    guard let proxy = ProxyURL(parsing: proxyText) else { throw .option }
    request.connection.proxy = proxy.kind
    request.connection.proxyHost = proxyText.extracting(proxy.url.servers.host(0).range)
    request.connection.proxyPort = UInt32(proxy.url.servers.port(0))
    proxySizes = proxy.url.decodeCredentials(of: proxyText, into: &proxyRoom)
  }
  let proxyDecoded = proxyRoom.span
  request.connection.proxyUser = proxyDecoded.extracting(0..<proxySizes.userName)
  request.connection.proxyPassword = proxyDecoded.extracting(
    proxySizes.userName..<proxySizes.userName + proxySizes.password)
  let checked = try check(request, &urlOffset)

  var plan = ArenaLayout()
  // First, because its address is the client's.
  let handleSlice = plan.reserve(1, of: ClientHandle.self)
  let socketSlice = plan.reserve(checked.sockets.isDefault ? 0 : 1, of: SocketOptions.self)
  let clientSlice = plan.reserve(1, of: Client.self)
  let clientPlan = STOMPClientPlan(checked, in: &plan)
  let writerSlice = plan.reserve(checked.journal == nil ? 0 : 1, of: BlockWriterMemory.self)
  let names = JournalNames.Plan(checked.journal == nil ? nil : checked.journalPath, in: &plan)
  guard let memory = unsafe memory else { return plan.byteCount }
  // A size with its highest bit set is a very large one, not a negative number.
  guard size < 0 || size >= plan.byteCount else { throw .memorySize }
  var refusal: Status? = nil
  do throws(PlatformError) {
    let block = unsafe Arena(start: memory)
    let stored = checked.sockets.stored(in: block, socketSlice)
    let isCallerDriven = checked.driver.isCallerDriven
    var system = isCallerDriven ? Linux() : try Linux(stored)
    let wakeUp = checked.submitFrames > 0 && !isCallerDriven ? try system.wakeUp() : .none
    let slot = unsafe block.start(of: handleSlice)
    // The client is made where it stays.
    let client = unsafe block.start(of: clientSlice)
    unsafe client.initialize(to: Client(checked, plan: clientPlan, block: block, on: system))
    if let journal = checked.journal {
      let writer = unsafe block.start(of: writerSlice)
      let names = JournalNames(checked.journalPath, names, in: block)
      refusal = unsafe openJournal(names, journal, in: writer, of: client)
      if refusal != nil { throw PlatformError(code: 0) }
    }
    if checked.inspectionBytes > 0 {
      refusal = unsafe openInspection(permissions: checked.inspectionPermissions, of: client)
      if refusal != nil { throw PlatformError(code: 0) }
    }
    let submitter = unsafe FrameSubmitter(
      checked, queue: client.pointee.engine.submissions.queue, wakeUp: wakeUp)
    unsafe slot.initialize(to: ClientHandle(client: client, submitter: submitter))
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

private func parse(_ url: Span<UInt8>, _ urlOffset: inout Int?) throws(Status) -> STOMPURL {
  do throws(URLError) {
    return try STOMPURL(parsing: url)
  } catch {
    throw Status(STOMPOptionsError(error), &urlOffset)
  }
}

@inline(__always)
@_lifetime(copy request)
private func check(
  _ request: borrowing RequestedSTOMPOptions, _ urlOffset: inout Int?
) throws(Status) -> STOMPClientOptions {
  do throws(STOMPOptionsError) {
    return try STOMPClientOptions(checking: request)
  } catch {
    throw Status(error, &urlOffset)
  }
}
