public import FixedMemory
public import MQTTWire

/// What a session is to be. Every value was checked by whoever made it; see `ClientOptions`.
public struct SessionOptions: ~Escapable {
  /// What CONNECT says, on every connection.
  public let connect: Connect
  /// Milliseconds the server may stay silent after PINGREQ.
  public let pingTimeout: UInt32
  public let outboxBytes: Int
  /// 1 to 65,535.
  public let outboxMessages: Int
  public let receiveBytes: Int
  /// QoS 1 and 2 messages that may be unacknowledged at a time: 1 to 65,535.
  public let inFlightMaximum: Int

  @_lifetime(copy connect)
  public init(
    connect: consuming Connect, pingTimeout: UInt32, outboxBytes: Int, outboxMessages: Int,
    receiveBytes: Int, inFlightMaximum: Int
  ) {
    self.connect = connect
    self.pingTimeout = pingTimeout
    self.outboxBytes = outboxBytes
    self.outboxMessages = outboxMessages
    self.receiveBytes = receiveBytes
    self.inFlightMaximum = inFlightMaximum
  }
}

/// Where a session's parts lie in the caller's block.
public struct SessionPlan {
  let connect: Place<UInt8>
  let descriptors: Place<Outbox.Descriptor>
  let outbox: Place<UInt8>
  let control: Place<UInt8>
  let receive: Place<UInt8>

  public init(_ options: borrowing SessionOptions, in plan: inout MemoryPlan) {
    descriptors = plan.reserve(options.outboxMessages, of: Outbox.Descriptor.self)
    connect = plan.reserve(options.connect.encodedSize, of: UInt8.self)
    // Answers to what one receive buffer can hold, within reason: when it is full, parsing waits.
    control = plan.reserve(min(max(options.receiveBytes / 8, 128), 4096), of: UInt8.self)
    outbox = plan.reserve(options.outboxBytes, of: UInt8.self)
    receive = plan.reserve(options.receiveBytes, of: UInt8.self)
  }
}
