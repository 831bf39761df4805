import Capture
import MQTTSession
public import Platform
public import Storage

/// What programs of this machine are told that are connected to the client's inspection socket: blocks of a capture
/// file, in datagrams of whole blocks. The first datagram begins a capture.
///
/// Packets are collected for some milliseconds. A program that has not read what it was sent before loses what comes
/// meanwhile, is told how much that was, and holds up nothing.
public struct Inspection: ~Copyable {
  /// What is known of a program that is connected.
  private struct Reader: BitwiseCopyable {
    /// How many packets there were since it came, and how many of them it has not got; and how many it knows of.
    var seen: UInt32 = 0
    var lost: UInt32 = 0
    var lostAsTold: UInt32 = 0
  }

  private var socket = InspectionSocket()
  /// Where it is, with a zero at the end.
  private var path: Region
  private var buffer: Region
  private var readers = InlineArray<4, Reader>(repeating: Reader())
  /// A program is connected.
  public private(set) var isRead = false
  /// How many bytes of how many packets are in `buffer`; and when the first one came.
  private var count = 0
  private var packets: UInt32 = 0
  private var since = Instant(milliseconds: 0)
  /// All that are connected have something to read: until then nothing is collected for them, and as soon as the tap knows
  /// of it, it tells of no packets any more.
  private var pauseEnd: Instant? = nil
  private(set) var isPaused = false
  /// How many packets the client had when the pause began, or was last looked at.
  private var packetsBefore: UInt32 = 0
  private var connection: UInt32 = 0

  /// For how many milliseconds packets are collected.
  private static var delay: UInt32 { 5 }

  init(path: Span<UInt8>, in place: consuming Region, buffer: consuming Region) {
    self.path = place
    self.buffer = buffer
    self.path.wipe(0..<self.path.count)
    var room = self.path.mutableBytes(in: 0..<path.count)
    copy(path, into: &room)
  }

  deinit { if Feature.hasTap { Self.end(socket, path, buffer, count) } }

  @_optimize(size)
  mutating func open(permissions: UInt32, poller: Int32) throws(PlatformError) {
    try Self.open(&socket, path, permissions, poller)
  }

  /// Something that was collected is to be sent.
  var deadline: Instant? { count > 0 ? since.advanced(by: Self.delay) : nil }

  // MARK: Things that happened

  /// A connection begins.
  mutating func begin() { connection &+= 1 }

  @_optimize(size)
  mutating func append(_ packet: borrowing ObservedPacket) {
    guard pauseEnd == nil else { return lose(1) }
    put(packet, age: 0, at: packet.time)
  }

  /// Lets in a program that waits, if there is one: it is told what is in the trace. Returns false if there is none.
  @_optimize(size)
  mutating func letIn(
    _ clientID: Span<UInt8>, _ trace: borrowing OptionalSlot<PacketTrace>, packets total: UInt32,
    at now: Instant
  ) -> Bool {
    // It is not for the new one. Nor is what the others lose in a pause, which ends now.
    flush(at: now)
    loseThoseOfPause(total)
    guard let reader = socket.accept() else { return false }
    readers[reader] = Reader()
    let name = clientID.extracting(first: buffer.count / 4)
    var writer = BlockWriter(buffer.mutableBytes)
    writer.sectionHeader(program: ("libswiftmqtt" as StaticString).bytes)
    writer.interface(name: name)
    count = writer.count
    if !trace.isEmpty {
      trace.element.forEach { put($0, age: now.milliseconds &- $0.time.milliseconds, at: now, only: reader) }
    }
    flush(at: now, only: reader)
    isRead = true
    (pauseEnd, isPaused) = (nil, false)
    return true
  }

  /// Looks what a program asks; `nil`: it does not, or has gone.
  @_optimize(size)
  mutating func question(of reader: Int) -> UInt8? {
    guard socket.isConnected(reader) else { return nil }
    let question = socket.question(of: reader)
    if question == nil { lookForReaders() }
    return question
  }

  /// The time to send has come, or not; a pause begins, goes on, or ends. `total`: how many packets went over the client's
  /// connections so far. Returns true if the tap is to tell of packets again, or no more.
  @_optimize(size)
  mutating func attend(packets total: UInt32, at now: Instant) -> Bool {
    if let deadline, deadline.isReached(at: now) { flush(at: now) }
    guard let end = pauseEnd else { return false }
    guard isPaused else {
      (isPaused, packetsBefore) = (true, total)
      return true
    }
    guard end.isReached(at: now) else { return false }
    loseThoseOfPause(total)
    // Whoever has read something has room for the number of what was lost.
    var hasRoom = false
    for reader in 0..<InspectionSocket.readers where socket.isConnected(reader) {
      if tellLossBesides(to: reader) { hasRoom = true }
    }
    lookForReaders()
    isPaused = isRead && !hasRoom
    pauseEnd = isPaused ? now.advanced(by: Self.delay) : nil
    return !isPaused
  }

  /// Answers a question: what the program has been sent and has lost, and the client's numbers.
  @_optimize(size)
  mutating func answer(_ reader: Int, _ numbers: Statistics, at now: Instant) {
    flush(at: now)
    let offset = BlockWriter.statisticsTextOffset
    let end = buffer.count &- BlockWriter.statisticsOverhead
    var lines = NumberLines(buffer.mutableBytes(in: offset..<end))
    numbers.write(to: &lines)
    tellLoss(to: reader, text: lines.count)
  }

  // MARK: Helpers

  /// `age`: how many milliseconds ago the packet was there; one that is told of a trace has no outbox. `only`: for this
  /// program.
  @_optimize(size)
  private mutating func put(
    _ packet: borrowing ObservedPacket, age: UInt32, at now: Instant, only: Int? = nil
  ) {
    let captured = min(packet.captured, buffer.count &- BlockWriter.packetOverhead)
    if buffer.count &- count < captured &+ BlockWriter.packetOverhead { flush(at: now, only: only) }
    let front = packet.front.extracting(first: captured)
    let time = WallClock.microseconds(ago: age)
    let room = count..<buffer.count
    let described = CapturedPacket(
      interface: 0, time: CaptureTime(high: time.high, low: time.low), isSent: packet.direction == .sent,
      connection: connection, length: packet.length, outbox: only == nil ? packet.outbox.captured : nil)
    var writer = BlockWriter(buffer.mutableBytes(in: room))
    writer.packet(
      described, front, packet.payload.extracting(first: captured &- front.count))
    let size = writer.count
    let offset = count &+ BlockWriter.packetOffset
    var bytes = buffer.mutableBytes(in: offset..<offset &+ front.count)
    ObservedPacket.cover(packet.secrets, in: &bytes)
    if count == 0 { since = now }
    count &+= size
    packets &+= 1
  }

  /// Sends what was collected: to all programs, or to one.
  @inline(never)
  @_optimize(size)
  private mutating func flush(at now: Instant, only: Int? = nil) {
    guard count > 0 else { return }
    var areAllFull = true
    for reader in 0..<InspectionSocket.readers where only == nil || only == reader {
      guard socket.isConnected(reader) else { continue }
      readers[reader].seen &+= packets
      if send(to: reader) { areAllFull = false } else { readers[reader].lost &+= packets }
    }
    count = 0
    packets = 0
    guard only == nil else { return }
    lookForReaders()
    pauseEnd = areAllFull ? now.advanced(by: Self.delay) : nil
  }

  /// Returns false if the program has not read what it was sent before.
  private mutating func send(to reader: Int) -> Bool {
    if readers[reader].lost != readers[reader].lostAsTold, !tellLossBesides(to: reader) { return false }
    return Self.send(buffer, count, to: reader, on: &socket)
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.

  private static func open(
    _ socket: inout InspectionSocket, _ path: borrowing Region, _ permissions: UInt32, _ poller: Int32
  ) throws(PlatformError) {
    try socket.open(at: path.bytes, permissions: permissions, poller: poller)
  }

  private static func end(
    _ socket: borrowing InspectionSocket, _ path: borrowing Region, _ buffer: borrowing Region, _ count: Int
  ) { socket.end(path.bytes, buffer.bytes(at: 0, count: count)) }

  private static func send(
    _ buffer: borrowing Region, _ count: Int, to reader: Int, on socket: inout InspectionSocket
  ) -> Bool { socket.send(buffer.bytes(at: 0, count: count), to: reader) == .sent }

  /// Of the packets of a pause only their number is known. `total`: how many the client has had.
  private mutating func loseThoseOfPause(_ total: UInt32) {
    guard isPaused else { return }
    lose(total &- packetsBefore)
    packetsBefore = total
  }

  /// All programs have lost so many packets.
  private mutating func lose(_ packets: UInt32) {
    for reader in 0..<InspectionSocket.readers {
      readers[reader].seen &+= packets
      readers[reader].lost &+= packets
    }
  }

  /// Tells what the program has lost, while there is something else in `buffer`.
  @inline(never)
  @_optimize(size)
  private mutating func tellLossBesides(to reader: Int) -> Bool {
    var bytes = InlineArray<64, UInt8>(repeating: 0)
    var writer = BlockWriter(bytes.mutableSpan)
    Self.write(to: &writer, readers[reader], text: 0)
    let size = writer.count
    guard socket.send(bytes.span.extracting(first: size), to: reader) == .sent else { return false }
    readers[reader].lostAsTold = readers[reader].lost
    return true
  }

  /// The same, with `text` bytes that are in their place in `buffer`.
  private mutating func tellLoss(to reader: Int, text: Int) {
    let state = readers[reader]
    var writer = BlockWriter(buffer.mutableBytes)
    Self.write(to: &writer, state, text: text)
    let size = writer.count
    if Self.send(buffer, size, to: reader, on: &socket) {
      readers[reader].lostAsTold = readers[reader].lost
    }
  }

  @_lifetime(writer: copy writer)
  private static func write(to writer: inout BlockWriter, _ reader: Reader, text: Int) {
    let time = WallClock.microseconds(ago: 0)
    writer.statistics(
      of: 0, CaptureTime(high: time.high, low: time.low), seen: reader.seen, lost: reader.lost,
      textInPlace: text)
  }

  /// A program may have gone.
  private mutating func lookForReaders() {
    isRead = false
    for reader in 0..<InspectionSocket.readers {
      if socket.isConnected(reader) { isRead = true }
    }
  }
}

extension OutboxFill {
  fileprivate var captured: CapturedPacket.Outbox {
    CapturedPacket.Outbox(
      messages: UInt32(truncatingIfNeeded: messages), inFlight: UInt32(truncatingIfNeeded: inFlight))
  }
}
