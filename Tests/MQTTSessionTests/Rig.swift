import FixedMemory
import MQTTSession
import MQTTWire

/// A session in memory of its own, driven by hand: bytes and instants in, bytes and events out.
final class Rig {
  let version: ProtocolVersion
  private let block: UnsafeMutableRawPointer
  var session: Session
  var now = Instant(milliseconds: 0)

  init(
    _ version: ProtocolVersion = .v3_1_1, keepSession: Bool = true, keepAlive: UInt16 = 60,
    pingTimeout: UInt32 = 10_000, outboxBytes: Int = 4096, outboxMessages: Int = 32,
    receiveBytes: Int = 1024, inFlightMaximum: Int = 65_535, firstIdentifier: UInt16 = 1
  ) {
    self.version = version
    let clientID = Array("rig".utf8)
    var properties = Connect.SessionProperties()
    properties.maximumPacketSize = UInt32(receiveBytes)
    var options = SessionOptions(
      connect: Connect(
        version: version, cleanStart: !keepSession, keepAlive: keepAlive, clientID: clientID.span,
        userName: Span(), password: Span(),
        will: Connect.Will(
          topic: Span(), payload: Span(), qos: .atMostOnce, retain: false, properties: Span()),
        session: properties, properties: Span()))
    options.pingTimeout = pingTimeout
    options.outboxBytes = outboxBytes
    options.outboxMessages = outboxMessages
    options.receiveBytes = receiveBytes
    options.inFlightMaximum = inFlightMaximum
    var memory = MemoryPlan()
    let plan = SessionPlan(options, in: &memory)
    block = .allocate(byteCount: memory.byteCount, alignment: MemoryPlan.alignment)
    // What a caller's memory holds before is nobody's business: here it looks like messages on their way.
    block.initializeMemory(as: UInt8.self, repeating: 1, count: memory.byteCount)
    session = Session(
      options, plan: plan, block: unsafe MemoryBlock(start: block),
      random: UInt32(firstIdentifier) - 1)
  }

  deinit { block.deallocate() }

  // `#expect` can't look into a noncopyable value.
  var isConnected: Bool { session.isConnected }
  var isDrained: Bool { session.isDrained }
  var ending: Ending? { session.ending }
  var wantsTransmit: Bool { session.wantsTransmit }
  var wantsReceive: Bool { session.wantsReceive }
  var nextDeadline: UInt32? { session.nextDeadline?.milliseconds }
  var hasEvent: Bool { session.hasEvent }
  var outbox: OutboxNumbers { session.outboxNumbers }
  var counters: Counters { session.counters }

  /// Everything that tells how full the outbox is.
  var numbers: [Int] {
    let numbers = session.outboxNumbers
    return [
      numbers.bytes, numbers.bytesPeak, numbers.bytesCapacity, numbers.messages, numbers.messagesPeak,
      numbers.messagesCapacity, numbers.inFlight, numbers.inFlightMaximum,
    ]
  }

  // MARK: The network

  /// What one call to the transport would take, at most `limit` bytes; `nil`: there is nothing to send.
  func transmit(_ limit: Int = .max) -> [UInt8]? {
    guard session.prepareTransmit(at: now) else { return nil }
    var bytes: [UInt8] = []
    do {
      let output = session.output
      let count = min(output.count, limit)
      bytes.reserveCapacity(count)
      for index in 0..<count { bytes.append(output[index]) }
    }
    precondition(!bytes.isEmpty, "prepareTransmit promised bytes")
    session.transmitted(bytes.count, at: now)
    return bytes
  }

  /// Everything the session wants to send now.
  func drain(piece: Int = .max) -> [UInt8] {
    var bytes: [UInt8] = []
    while let more = transmit(piece) { bytes += more }
    return bytes
  }

  /// The same, as the pieces in which the transport gets it.
  func spans() -> [[UInt8]] {
    var spans: [[UInt8]] = []
    while let span = transmit() { spans.append(span) }
    return spans
  }

  /// Hands bytes from the server over, as long as the session wants any; in pieces if asked to. Returns
  /// what was not taken.
  @discardableResult
  func receive(_ bytes: [UInt8], piece: Int = .max) -> [UInt8] {
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
    return Array(rest)
  }

  /// What a transport does that finds nothing to read.
  func receiveNothing() -> Int { Self.size(of: &session) }

  private static func size(of session: inout Session) -> Int {
    let space = session.receiveSpace
    return space.count
  }

  /// Opens a connection; returns what is sent on it before the server has said a word.
  @discardableResult
  func open() -> [UInt8] {
    session.connectionOpened()
    return drain()
  }

  /// Opens a connection and gets it accepted.
  func connect(sessionPresent: Bool = false, properties: [UInt8] = []) {
    open()
    receive(connack(version, sessionPresent: sessionPresent, properties: properties))
  }

  func lose() { session.connectionClosed() }

  func reconnect(sessionPresent: Bool, properties: [UInt8] = []) {
    lose()
    connect(sessionPresent: sessionPresent, properties: properties)
  }

  // MARK: The application

  func publish(
    _ topic: String = "a", _ payload: [UInt8] = [], qos: QoS = .atMostOnce, retain: Bool = false,
    cookie: UInt64 = 0, isQuiet: Bool = false
  ) throws(SessionError) {
    let name = Array(topic.utf8)
    try session.publish(
      Publish(topic: name.span, payload: payload.span, qos: qos, retain: retain),
      Handling(cookie: cookie, isQuiet: isQuiet))
  }

  func event() -> Happening? { session.nextEvent().map { Happening($0, version) } }

  func events() -> [Happening] {
    var events: [Happening] = []
    while let event = event() { events.append(event) }
    return events
  }

  /// The bytes an extent of an event or of an ending stands for.
  func received(_ extent: Extent) -> [UInt8] { Self.copy(extent, session) }

  private static func copy(_ extent: Extent, _ session: borrowing Session) -> [UInt8] {
    let bytes = session.receivedBytes
    var copy: [UInt8] = []
    for index in extent.range { copy.append(bytes[index]) }
    return copy
  }
}

/// An event, comparable.
enum Happening: Equatable, Sendable {
  case connected(sessionPresent: Bool)
  case delivered(UInt64)
  case refused(UInt64, UInt8?)
  case failed(UInt64, Outcome)
  case aboveLimit(UInt64, UInt8?)
  case room

  init(_ event: SessionEvent, _ version: ProtocolVersion) {
    switch event {
    case .connected(let connected): self = .connected(sessionPresent: connected.sessionPresent)
    case .room: self = .room
    case .completed(let completion):
      switch completion.outcome {
      case .delivered: self = .delivered(completion.cookie)
      case .refused: self = .refused(completion.cookie, completion.reasonCode)
      case .aboveLimit: self = .aboveLimit(completion.cookie, completion.reasonCode)
      default: self = .failed(completion.cookie, completion.outcome)
      }
    }
  }
}
