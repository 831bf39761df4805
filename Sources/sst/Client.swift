import CSwiftSTOMP
import CTool

/// A sst_client, and the memory in which it lives.
@safe
final class Client {
  private let memory: UnsafeMutableRawPointer
  private let client: OpaquePointer
  /// Who is told the log; the library has its address until the client is closed.
  private var log: DebugLines?

  init(_ options: STOMP.Options) throws(ClientRefused) {
    let copies = CArguments()
    var raw = unsafe copies.options(options)
    let size = unsafe sst_client_size(&raw)
    let memory = UnsafeMutableRawPointer.allocate(byteCount: Swift.max(size, 8), alignment: 8)
    var client: OpaquePointer? = nil
    let status = unsafe sst_client_init(memory, size, &raw, &client)
    guard status == SST_OK, let client = unsafe client else {
      let error = tool_error()
      unsafe memory.deallocate()
      throw ClientRefused(status: Int(status), osError: error)
    }
    unsafe self.memory = unsafe memory
    unsafe self.client = unsafe client
  }

  deinit {
    unsafe sst_client_close(client)
    unsafe memory.deallocate()
  }

  // ---- What it does. Each returns a status.

  func connect() -> Int { unsafe Int(sst_connect(client)) }
  func disconnect(drain: UInt32) -> Int { unsafe Int(sst_disconnect(client, drain)) }

  /// Whether everything that was sent is in the journal, and on the disk.
  func sync() -> Bool { unsafe sst_sync(client, 30_000) == 1 }

  func send(_ message: STOMP.Message) -> Int {
    var raw = unsafe sst_frame()
    unsafe raw.size = UInt32(MemoryLayout<sst_frame>.size)
    unsafe raw.flags = UInt32(message.flags)
    unsafe raw.cookie = message.cookie
    unsafe raw.transaction = message.transaction
    return unsafe message.destination.withUnsafeBytes { destination in
      unsafe message.body.withUnsafeBytes { body in
        unsafe message.contentType.withUnsafeBytes { type in
          unsafe message.headers.withUnsafeBytes { headers in
            unsafe raw.destination = sst_bytes(data: destination.baseAddress, size: destination.count)
            unsafe raw.body = sst_bytes(data: body.baseAddress, size: body.count)
            unsafe raw.content_type = sst_bytes(data: type.baseAddress, size: type.count)
            unsafe raw.headers = sst_bytes(data: headers.baseAddress, size: headers.count)
            return unsafe Int(sst_send(client, &raw))
          }
        }
      }
    }
  }

  /// The number of the subscription, or a status, which is below 0.
  func subscribe(_ destination: [UInt8], ack: UInt32, headers: [UInt8] = [], cookie: UInt64 = 0) -> Int {
    let copies = CArguments()
    var raw = unsafe sst_subscription()
    unsafe raw.size = UInt32(MemoryLayout<sst_subscription>.size)
    unsafe raw.ack = ack
    unsafe raw.destination = copies.text(destination)
    unsafe raw.headers = copies.text(headers)
    unsafe raw.cookie = cookie
    return unsafe Int(sst_subscribe(client, &raw))
  }

  func acknowledge(_ token: UInt64) -> Int { unsafe Int(sst_ack(client, token, 0)) }

  /// The number of the transaction, or a status, which is below 0.
  func begin() -> Int { unsafe Int(sst_begin(client)) }
  func commit(_ transaction: UInt32, cookie: UInt64) -> Int {
    unsafe Int(sst_commit(client, transaction, cookie))
  }

  // ---- How it is run

  var descriptor: Int32 { unsafe sst_fd(client) }
  var nextTimeout: Int64 { unsafe Int64(sst_next_timeout_ms(client)) }
  var state: Int { unsafe Int(sst_client_state(client)) }
  func service() { unsafe _ = sst_service(client) }
  func flush() { unsafe _ = sst_flush(client) }

  /// The next event; of a body no more than `payloadLimit` bytes, and no headers if there is a limit.
  func nextEvent(payloadLimit: Int = .max) -> Event? {
    var raw = unsafe sst_event()
    unsafe raw.size = UInt32(MemoryLayout<sst_event>.size)
    guard unsafe sst_next_event(client, &raw) == 1 else { return nil }
    let event = Event()
    unsafe event.type = Int(raw.type)
    unsafe event.status = Int(raw.status)
    unsafe event.stage = Int(raw.stage)
    unsafe event.osError = raw.os_error
    unsafe event.rule = raw.rule
    unsafe event.version = raw.version
    unsafe event.completed = Int(raw.completed)
    unsafe event.retry = Int64(raw.retry_ms)
    unsafe event.cookie = raw.cookie
    unsafe event.token = raw.token
    unsafe event.subscription = Int(raw.subscription)
    unsafe event.part = Int(raw.part)
    unsafe event.heartBeatSend = raw.heart_beat_send_ms
    unsafe event.heartBeatReceive = raw.heart_beat_receive_ms
    unsafe event.payloadTotal = Int(raw.body_total)
    if event.type == SST_EVENT_DISCONNECTED { event.failure = failure }
    if payloadLimit == .max {
      unsafe event.destination = STOMP.copy(raw.destination)
      unsafe event.contentType = STOMP.copy(raw.content_type)
      unsafe event.messageID = STOMP.copy(raw.message_id)
      unsafe event.headers = STOMP.headers(of: &raw)
    }
    unsafe event.text = STOMP.copy(raw.text)
    // What the broker says of an error is shown.
    if unsafe raw.type == SST_EVENT_MESSAGE { unsafe raw.body.size = Swift.min(raw.body.size, payloadLimit) }
    unsafe event.payload = STOMP.copy(raw.body)
    return event
  }

  // ---- What it reports

  /// Why the last attempt, or the last connection, ended.
  private var failure: Failure {
    var raw = unsafe sst_failure()
    unsafe raw.size = UInt32(MemoryLayout<sst_failure>.size)
    guard unsafe sst_last_failure(client, &raw) == SST_OK else { return Failure() }
    return unsafe Failure(
      httpStatus: Int(raw.http_status), socksReply: Int(raw.socks_reply), closeCode: Int(raw.close_code),
      tlsCause: Int(raw.tls_cause), alert: Int(raw.tls_alert), depth: Int(raw.tls_depth),
      notBefore: raw.not_before_s, notAfter: raw.not_after_s, subject: STOMP.copy(raw.tls_subject),
      text: STOMP.copy(raw.text))
  }

  /// The connection over TLS; nil without one.
  var tls: TLSInfo? {
    var raw = unsafe smq_tls_info()
    unsafe raw.size = UInt32(MemoryLayout<smq_tls_info>.size)
    guard unsafe sst_tls_describe(client, &raw) == SST_OK else { return nil }
    return unsafe TLSInfo(raw)
  }

  /// A certificate that the server has sent; nil if there is none.
  func certificate(_ depth: UInt32) -> Certificate? {
    var raw = smq_tls_certificate()
    raw.size = UInt32(MemoryLayout<smq_tls_certificate>.size)
    guard unsafe sst_tls_describe_certificate(client, depth, &raw) == SST_OK else { return nil }
    return Certificate(raw)
  }

  /// Messages that have come to their end.
  var ended: Int64 { Int64(stats.messages_sent + stats.messages_failed) }
  /// Frames that wait to be sent, or for their receipts.
  var waiting: UInt32 { stats.outbox_frames }

  private var stats: sst_stats {
    var raw = sst_stats()
    raw.size = UInt32(MemoryLayout<sst_stats>.size)
    unsafe _ = sst_client_stats(client, &raw)
    return raw
  }

  /// Has each log entry and each frame told, from now on.
  func observe(_ told: DebugLines) {
    log = told
    unsafe _ = sst_set_log(
      client, Int32(SST_LOG_DEBUG),
      { user, _, what, number, other in
        guard let user = unsafe user else { return }
        // It lives as `log`.
        let told = unsafe Unmanaged<DebugLines>.fromOpaque(user).takeUnretainedValue()
        told.entry(Int(what), Int(number), Int(other))
      }, Unmanaged.passUnretained(told).toOpaque())
    unsafe _ = sst_set_tap(
      client, 0,
      { user, frame in
        guard let user = unsafe user, let frame = unsafe frame?.pointee else { return }
        let told = unsafe Unmanaged<DebugLines>.fromOpaque(user).takeUnretainedValue()
        let decoded = unsafe DecodedPacket(STOMP.copy(frame.data), length: Int(frame.length))
        told.frame(decoded, isSent: unsafe frame.direction == UInt32(SST_FRAME_SENT))
      }, Unmanaged.passUnretained(told).toOpaque())
  }
}
