import FixedMemory
import MQTTSession
import MQTTWire

/// A session in memory of its own, driven by hand: bytes and instants in, bytes and events out.
final class Rig {
  private let block: UnsafeMutableRawPointer
  private let size: Int
  var session: Session
  var now = Instant(milliseconds: 0)

  init(
    _ version: ProtocolVersion = .v3_1_1, keepSession: Bool = true, keepAlive: UInt16 = 60,
    pingTimeout: UInt32 = 10_000, outboxBytes: Int = 4096, outboxMessages: Int = 32,
    receiveBytes: Int = 1024, inFlightMaximum: Int = 65_535, firstIdentifier: UInt16 = 1
  ) {
    let clientID = Array("rig".utf8)
    let options = SessionOptions(
      connect: Connect(
        version: version, cleanStart: !keepSession, keepAlive: keepAlive, clientID: clientID.span,
        userName: Span(), password: Span(),
        will: Connect.Will(topic: Span(), payload: Span(), qos: .atMostOnce, retain: false),
        sessionExpiryInterval: 0, maximumPacketSize: UInt32(receiveBytes)),
      pingTimeout: pingTimeout, outboxBytes: outboxBytes, outboxMessages: outboxMessages,
      receiveBytes: receiveBytes, inFlightMaximum: inFlightMaximum)
    var memory = MemoryPlan()
    let plan = SessionPlan(options, in: &memory)
    size = memory.byteCount
    block = .allocate(byteCount: memory.byteCount, alignment: MemoryPlan.alignment)
    session = Session(
      options, plan: plan, block: unsafe MemoryBlock(start: block),
      firstIdentifier: PacketIdentifier(firstIdentifier)!)
  }

  deinit { block.deallocate() }

  // `#expect` can't look into a noncopyable value.
  var isConnected: Bool { session.isConnected }
  var isDrained: Bool { session.isDrained }
  var ending: Ending? { session.ending }
  var wantsTransmit: Bool { session.wantsTransmit }
  var nextDeadline: Instant? { session.nextDeadline }
  var outbox: OutboxNumbers { session.outboxNumbers }
  var counters: Counters { session.counters }

  /// Everything the session wants to send now.
  func drain(limit: Int = .max) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < limit, session.prepareTransmit() {
      var count = 0
      do {
        let output = session.output
        count = min(output.count, limit - bytes.count)
        for index in 0..<count { bytes.append(output[index]) }
      }
      session.transmitted(count, at: now)
    }
    return bytes
  }

  /// Hands bytes from the server over, in pieces if asked to.
  func receive(_ bytes: [UInt8], piece: Int = .max) {
    var rest = bytes[...]
    while !rest.isEmpty, session.wantsReceive {
      var count = 0
      do {
        var space = session.receiveSpace
        count = min(rest.count, piece, space.count)
        for index in 0..<count { space[index] = rest[rest.startIndex + index] }
      }
      rest = rest.dropFirst(count)
      session.received(count, at: now)
    }
  }

  /// Opens a connection and gets it accepted.
  func connect(sessionPresent: Bool = false, properties: [UInt8]? = nil, version: ProtocolVersion = .v3_1_1) {
    session.connectionOpened()
    _ = drain()
    var body: [UInt8] = [sessionPresent ? 1 : 0, 0]
    if let properties {
      body += [UInt8(properties.count)] + properties
    } else if version == .v5_0 {
      body += [0]
    }
    receive([0x20, UInt8(body.count)] + body)
  }

  func publish(
    _ topic: String, _ payload: [UInt8] = [], qos: QoS = .atMostOnce, retain: Bool = false,
    cookie: UInt64 = 0, isQuiet: Bool = false
  ) throws(SessionError) {
    let name = Array(topic.utf8)
    try session.publish(
      Publish(topic: name.span, payload: payload.span, qos: qos, retain: retain), cookie: cookie,
      isQuiet: isQuiet)
  }

  func events() -> [SessionEvent] {
    var events: [SessionEvent] = []
    while let event = session.nextEvent() { events.append(event) }
    return events
  }
}
