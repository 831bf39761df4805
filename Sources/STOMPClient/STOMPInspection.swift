import Capture
public import Driver
import Inspector
public import Platform
import STOMPSession
import Storage
public import Transports

/// Programs that look on: they are told of frames through the session's tap.
extension STOMPEngine {
  public var hasInspection: Bool {
    @inline(__always) get { !inspection.isEmpty }
  }

  /// Tells another function of frames, or none.
  public mutating func observe(_ tap: FrameTap?) {
    ownTap = tap
    listenersChanged()
  }

  @inline(never)
  @_optimize(size)
  public static func serveReaders<Link: Transport & ~Copyable, System: Platform & ~Copyable>(
    of client: inout Driver<STOMPEngine, Link, System>, isReady: Bool, at now: Instant
  ) {
    if isReady {
      let asks = client.engine.letReadersAsk(at: now)
      for reader in 0..<InspectionSocket.readers where asks[reader] {
        let numbers = STOMPStatistics(of: client)
        answer(reader, numbers, of: &client.engine.inspection.element, at: now)
      }
    }
    client.engine.attendReaders(at: now)
  }

  // MARK: Helpers

  /// Sends what is due. While no program has room, nothing is done for a frame.
  @_optimize(size)
  private mutating func attendReaders(at now: Instant) {
    if inspection.element.attend(packets: frames, at: now) { listenersChanged() }
  }

  /// Lets programs in that wait at the socket, and looks which have gone. Returns what each asks.
  @_optimize(size)
  private mutating func letReadersAsk(at now: Instant) -> InlineArray<4, Bool> {
    let total = frames
    // Behind those who are let in, one more turn turns the others away.
    for _ in 0...InspectionSocket.readers {
      // A client of STOMP has no name: it is called by its socket.
      guard let reader = inspection.element.letIn("libswiftstomp", Span(), packets: total, at: now) else {
        break
      }
      inspection.element.greet(reader, at: now)
    }
    var asks = InlineArray<4, Bool>(repeating: false)
    for reader in 0..<InspectionSocket.readers {
      asks[reader] = inspection.element.question(of: reader) != nil
    }
    listenersChanged()
    return asks
  }

  @_optimize(size)
  private static func answer(
    _ reader: Int, _ numbers: STOMPStatistics, of inspection: inout Inspection, at now: Instant
  ) {
    var lines = inspection.numberLines(at: now)
    numbers.write(to: &lines)
    let count = lines.count
    inspection.answer(reader, numbers: count)
  }

  private var frames: UInt32 { session.counters.framesSent.low &+ session.counters.framesReceived.low }

  private mutating func listenersChanged() {
    let isInspected = hasInspection && inspection.element.isRead && !inspection.element.isPaused
    session.observe(ownTap, inspection: isInspected ? inspectionTap : nil)
  }

  /// The inspection is in the caller's block, where it stays as long as the session.
  private var inspectionTap: FrameTap {
    unsafe FrameTap(inspect, user: inspection.address, showsSecrets: true)
  }
}

/// `user` is the client's inspection, and `frame` an `ObservedFrame`: the session calls it while nothing else uses them.
private func inspect(_ user: UnsafeMutableRawPointer?, _ frame: UnsafeRawPointer) {
  guard let inspection = unsafe user?.assumingMemoryBound(to: Inspection.self) else { return }
  let frame = unsafe frame.assumingMemoryBound(to: ObservedFrame.self).pointee
  let bytes = unsafe Span<UInt8>(_unsafeBytes: frame.bytes)
  let packet = unsafe InspectedPacket(
    isSent: frame.direction == .sent, time: frame.time, length: max(frame.length, bytes.count), front: bytes,
    more: Span(), secrets: (frame.secret, .empty),
    outbox: CapturedPacket.Outbox(
      messages: UInt32(truncatingIfNeeded: frame.outbox.frames),
      inFlight: UInt32(truncatingIfNeeded: frame.outbox.receiptsDue)))
  unsafe inspection.pointee.append(packet, of: .stomp)
}

extension Driver where Engine == STOMPEngine, Link: ~Copyable, System == Linux {
  /// Opens the socket to which programs connect that want to know what the client does. The client's options have one.
  @_optimize(size)
  public mutating func openInspection(permissions: UInt32) throws(PlatformError) {
    try engine.inspection.element.open(permissions: permissions, poller: descriptor)
  }
}
