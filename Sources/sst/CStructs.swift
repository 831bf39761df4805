import CSwiftSTOMP

extension CArguments {
  func text(_ bytes: [UInt8]) -> sst_bytes {
    unsafe sst_bytes(data: block(bytes), size: bytes.count)
  }

  func options(_ options: STOMP.Options) -> sst_options {
    var raw = unsafe sst_options()
    unsafe raw.size = UInt32(MemoryLayout<sst_options>.size)
    unsafe raw.flags = UInt32(options.flags)
    unsafe raw.url = text(options.url)
    unsafe raw.host = text(options.host)
    unsafe raw.port = options.port
    unsafe raw.oldest = options.version
    unsafe raw.newest = options.version
    unsafe raw.virtual_host = text(options.virtualHost)
    unsafe raw.login = text(options.userName)
    unsafe raw.passcode = text(options.password)
    unsafe raw.headers = text(options.headers)
    unsafe raw.heart_beat_send_ms = options.heartBeatSend
    unsafe raw.heart_beat_receive_ms = options.heartBeatReceive
    unsafe raw.connect_timeout_ms = options.connectTimeout
    unsafe raw.outbox_bytes = options.outboxBytes
    unsafe raw.outbox_frames = options.outboxFrames
    unsafe raw.receive_bytes = options.receiveBytes
    unsafe raw.control_bytes = options.controlBytes
    unsafe raw.subscriptions = options.subscriptions
    unsafe raw.subscription_bytes = options.subscriptionBytes
    unsafe raw.held_messages = options.heldMessages
    unsafe raw.held_bytes = options.heldBytes
    unsafe raw.reconnect_min_ms = options.reconnectMinimum
    if let tls = options.tls {
      unsafe raw.tls = tls.engine
      unsafe raw.tls_settings = UnsafeRawPointer(tls.settings)
    }
    unsafe raw.tls_name = text(options.tlsName)
    unsafe raw.alpn = text(options.alpn)
    unsafe raw.proxy = text(options.proxy)
    unsafe raw.websocket_path = text(options.webSocketPath)
    unsafe raw.websocket_headers = text(options.webSocketHeaders)
    unsafe raw.websocket_protocol = text(options.webSocketProtocol)
    unsafe raw.bind_device = text(options.bindDevice)
    unsafe raw.bind_address = text(options.bindAddress)
    unsafe raw.dscp = options.dscp
    unsafe raw.tcp_keep_alive_s = options.tcpKeepAlive
    unsafe raw.inspect = text(options.inspect)
    unsafe raw.journal = text(options.journal)
    unsafe raw.journal_batch_bytes = options.journalBatch
    return unsafe raw
  }
}
