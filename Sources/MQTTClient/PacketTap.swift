import Capture
import Inspector
public import MQTTSession
import MQTTWire
import Platform
public import Storage

/// Who is told of each packet that goes over the connection, in both directions, before TLS and WebSocket: the
/// program, and the trace. As long as nobody is, nothing is done.
public struct PacketTap: ~Copyable {
  /// Somebody is told.
  public private(set) var isOn = false
  public private(set) var trace: OptionalSlot<PacketTrace>
  var inspection: OptionalSlot<Inspection>
  private var hook: PacketHook? = nil
  private var sent = PacketFramer()
  private var received = PacketFramer()

  init(trace: consuming OptionalSlot<PacketTrace>, inspection: consuming OptionalSlot<Inspection>) {
    isOn = !trace.isEmpty
    self.trace = trace
    self.inspection = inspection
  }

  public mutating func clearTrace() { if !trace.isEmpty { trace.element.clear() } }

  /// A connection begins.
  mutating func begin() {
    sent.begin()
    received.begin()
    if !inspection.isEmpty { inspection.element.begin() }
  }

  /// Tells another function, or none. One that is told from the middle of a connection on is told what was received and
  /// not read yet; of what has begun to go out, no more.
  @_optimize(size)
  mutating func set(_ hook: PacketHook?, of session: borrowing Session, at now: Instant) {
    self.hook = hook
    listenersChanged(of: session, at: now)
  }

  @_optimize(size)
  private mutating func listenersChanged(of session: borrowing Session, at now: Instant) {
    let wasOn = isOn
    isOn = hook != nil || !trace.isEmpty || isInspected
    guard isOn, !wasOn else { return }
    sent.loseStep()
    received.loseStep()
    catchUp(with: session, at: now)
  }

  /// `count` bytes of what the session has to send were taken, and it was not told yet.
  @inline(never)
  @_optimize(size)
  mutating func send(_ count: Int, of session: borrowing Session, at now: Instant) {
    var framer = sent
    framer.sent(count, of: session.output, session.outputPayload, context(session, now)) { tell($0) }
    sent = framer
  }

  /// `count` bytes have come in, and the session was not told yet.
  @inline(never)
  @_optimize(size)
  mutating func receive(_ count: Int, of session: borrowing Session, at now: Instant) {
    var framer = received
    let bytes = session.received(
      Int(truncatingIfNeeded: framer.begun), and: session.isReceivingElsewhere ? 0 : count)
    framer.received(count, of: bytes, capacity: session.receiveCapacity, context(session, now)) { tell($0) }
    received = framer
  }

  /// The session knows what was sent and received. Whoever is told from the middle of a connection on is in step as
  /// soon as a packet begins.
  @inline(never)
  @_optimize(size)
  mutating func catchUp(with session: borrowing Session, at now: Instant) {
    if !sent.isInStep, session.isBetweenSentPackets { sent.begin() }
    if !received.isInStep, let unread = session.unreadCount {
      received.begin()
      received.holds(unread)
      receive(0, of: session, at: now)
    }
  }

  private func context(_ session: borrowing Session, _ now: Instant) -> PacketContext {
    PacketContext(version: session.version, time: now, outbox: session.outboxFill)
  }

  @inline(never)
  private mutating func tell(_ packet: borrowing ObservedPacket) {
    if !trace.isEmpty { trace.element.append(packet) }
    if isInspected { inspection.element.append(packet.inspected(isKept: false), of: .mqtt) }
    hook?.call(packet)
  }

  // MARK: Programs that look on

  private var isInspected: Bool {
    !inspection.isEmpty && inspection.element.isRead && !inspection.element.isPaused
  }

  /// Sends what is due to programs that are connected. While none of them has room, nothing is done for a packet.
  @_optimize(size)
  mutating func attendReaders(of session: borrowing Session, at now: Instant) {
    let total = Self.packets(of: session)
    if inspection.element.attend(packets: total, at: now) { listenersChanged(of: session, at: now) }
  }

  private static func packets(of session: borrowing Session) -> UInt32 {
    session.counters.packetsSent.low &+ session.counters.packetsReceived.low
  }

  /// Lets programs in that wait at the socket, and looks who has gone. Returns what each asks.
  @_optimize(size)
  mutating func serveReaders(
    of session: borrowing Session, at now: Instant
  ) -> InlineArray<4, Bool> {
    let total = Self.packets(of: session)
    // Behind those who are let in, one more turn turns the others away.
    for _ in 0...InspectionSocket.readers {
      guard Self.letIn(&inspection.element, session.clientID, trace, packets: total, at: now) else { break }
    }
    var asks = InlineArray<4, Bool>(repeating: false)
    for reader in 0..<InspectionSocket.readers {
      asks[reader] = inspection.element.question(of: reader) != nil
    }
    listenersChanged(of: session, at: now)
    return asks
  }

  /// A program that waits is told what is in the trace. Returns false if none waits.
  @_optimize(size)
  private static func letIn(
    _ inspection: inout Inspection, _ clientID: Span<UInt8>, _ trace: borrowing OptionalSlot<PacketTrace>,
    packets total: UInt32, at now: Instant
  ) -> Bool {
    guard let reader = inspection.letIn("libswiftmqtt", clientID, packets: total, at: now) else {
      return false
    }
    if !trace.isEmpty {
      trace.element.forEach {
        inspection.append(kept: $0.inspected(isKept: true), of: .mqtt, for: reader, at: now)
      }
    }
    inspection.greet(reader, at: now)
    return true
  }

  static func answer(
    _ reader: Int, _ numbers: Statistics, of inspection: inout Inspection, at now: Instant
  ) {
    var lines = inspection.numberLines(at: now)
    numbers.write(to: &lines)
    let count = lines.count
    inspection.answer(reader, numbers: count)
  }

  var isInStep: Bool { sent.isInStep && received.isInStep }
}

/// The program's function that is told of packets.
@safe public struct PacketHook: BitwiseCopyable {
  public typealias Function = @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer) -> Void

  private let function: Function
  private let user: UnsafeMutableRawPointer?

  /// The caller guarantees that `function` may be called with `user` and a `PacketParts`, until there is another hook,
  /// or none.
  @unsafe public init(_ function: @escaping Function, user: UnsafeMutableRawPointer?) {
    unsafe self.function = function
    unsafe self.user = user
  }

  func call(_ packet: borrowing ObservedPacket) {
    unsafe packet.front.withUnsafeBytes { front in
      unsafe packet.payload.withUnsafeBytes { payload in
        var parts = unsafe PacketParts(packet, front: front, payload: payload)
        unsafe function(user, &parts)
      }
    }
  }
}

/// An `ObservedPacket` as C has it: pointers instead of spans.
@unsafe public struct PacketParts: BitwiseCopyable {
  public let direction: ObservedPacket.Direction
  public let type: UInt8
  public let time: Instant
  public let length: Int
  public let front: UnsafeRawBufferPointer
  public let payload: UnsafeRawBufferPointer
  public let secrets: Secrets
  public let outbox: OutboxFill

  init(
    _ packet: borrowing ObservedPacket, front: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer
  ) {
    unsafe direction = packet.direction
    unsafe type = packet.type
    unsafe time = packet.time
    unsafe length = packet.length
    unsafe self.front = unsafe front
    unsafe self.payload = unsafe payload
    unsafe secrets = packet.secrets
    unsafe outbox = packet.outbox
  }

  /// See `ObservedPacket.copyMasked`.
  public func copyMasked(into target: inout MutableSpan<UInt8>) -> Int {
    let bytes = unsafe Span<UInt8>(_unsafeBytes: front)
    let payload = unsafe Span<UInt8>(_unsafeBytes: payload)
    return unsafe ObservedPacket.copyMasked(bytes, payload, secrets, into: &target)
  }
}
