import CSwiftMQTT

extension CArguments {
  /// A message without its topic, payload and properties.
  static func bare(_ message: borrowing MQTT.Message) -> smq_message {
    var raw = unsafe smq_message()
    unsafe raw.size = UInt32(MemoryLayout<smq_message>.size)
    unsafe raw.qos = message.qos
    unsafe raw.retain = message.retain ? 1 : 0
    unsafe raw.quiet = message.quiet ? 1 : 0
    unsafe raw.cookie = message.cookie
    return unsafe raw
  }

  func message(_ message: MQTT.Message) -> smq_message {
    var raw = unsafe Self.bare(message)
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
    unsafe raw.unreleased_maximum = options.unreleasedMaximum
    unsafe raw.maximum_packet_bytes = options.maximumPacket
    unsafe raw.requests = options.requests
    unsafe raw.request_bytes = options.requestBytes
    unsafe raw.subscriptions = options.subscriptions
    unsafe raw.subscription_bytes = options.subscriptionBytes
    unsafe raw.topic_aliases_in = options.aliasesIn
    unsafe raw.topic_aliases_out = options.aliasesOut
    unsafe raw.reconnect_min_ms = options.reconnectMinimum
    if let tls = options.tls {
      unsafe raw.tls = tls.engine
      unsafe raw.tls_settings = UnsafeRawPointer(tls.settings)
    }
    unsafe raw.tls_name = bytes(options.tlsName)
    unsafe raw.alpn = bytes(options.alpn)
    unsafe raw.proxy = bytes(options.proxy)
    unsafe raw.websocket_path = bytes(options.webSocketPath)
    unsafe raw.websocket_headers = bytes(options.webSocketHeaders)
    unsafe raw.websocket_protocol = bytes(options.webSocketProtocol)
    unsafe raw.bind_device = bytes(options.bindDevice)
    unsafe raw.journal = bytes(options.journal)
    unsafe raw.journal_batch_bytes = options.journalBatch
    unsafe raw.inspect = bytes(options.inspect)
    unsafe raw.bind_address = bytes(options.bindAddress)
    unsafe raw.dscp = options.dscp
    unsafe raw.tcp_keep_alive_s = options.tcpKeepAlive
    if let will = options.will {
      let block = UnsafeMutablePointer<smq_message>.allocate(capacity: 1)
      unsafe block.initialize(to: message(will))
      unsafe blocks.append(UnsafeMutableRawPointer(block))
      unsafe raw.will = UnsafePointer(block)
    }
    return unsafe raw
  }
}
