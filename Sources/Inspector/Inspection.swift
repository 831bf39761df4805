public import Capture
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
  public private(set) var isPaused = false
  /// How many packets the client had when the pause began, or was last looked at.
  private var packetsBefore: UInt32 = 0
  private var connection: UInt32 = 0

  /// For how many milliseconds packets are collected.
  private static var delay: UInt32 { 5 }

  public init(path: Span<UInt8>, in place: consuming Region, buffer: consuming Region) {
    self.path = place
    self.buffer = buffer
    self.path.wipe(0..<self.path.count)
    var room = self.path.mutableBytes(in: 0..<path.count)
    copy(path, into: &room)
  }

  deinit { if Feature.hasTap { Self.end(socket, path, buffer, count) } }

  /// The path of a socket that the system can make, or nothing that belongs to one.
  @_optimize(size)
  public static func allows(
    _ path: Span<UInt8>, permissions: UInt32, bytes: UInt32, ownTransport: Bool
  ) -> Bool {
    guard path.count > 0 else { return bytes | permissions == 0 }
    guard path.count <= InspectionSocket.longestPath, !ownTransport else { return false }
    for index in 0..<path.count where path[index] == 0 { return false }
    return true
  }

  @_optimize(size)
  public mutating func open(permissions: UInt32, poller: Int32) throws(PlatformError) {
    try Self.open(&socket, path, permissions, poller)
  }

  /// Something that was collected is to be sent.
  public var deadline: Instant? { count > 0 ? since.advanced(by: Self.delay) : nil }

  // MARK: Things that happened

  /// A connection begins.
  public mutating func begin() { connection &+= 1 }

  @inline(never)
  @_optimize(size)
  public mutating func append(_ packet: borrowing InspectedPacket, of content: CapturedProtocol) {
    guard pauseEnd == nil else { return lose(1) }
    put(packet, of: content, age: 0, at: packet.time)
  }

  /// Lets in a program that waits, if there is one; `nil`: there is none. What was before is told by `append(kept:…)`, and
  /// then `greet` sends it. `total`: how many packets went over the client's connections so far.
  @inline(never)
  @_optimize(size)
  public mutating func letIn(
    _ program: StaticString, _ name: Span<UInt8>, packets total: UInt32, at now: Instant
  ) -> Int? {
    // It is not for the new one. Nor is what the others lose in a pause, which ends now.
    flush(at: now)
    loseThoseOfPause(total)
    guard let reader = socket.accept() else { return nil }
    readers[reader] = Reader()
    let name = name.extracting(first: buffer.count / 4)
    var writer = BlockWriter(buffer.mutableBytes)
    writer.sectionHeader(program: program.bytes)
    writer.interface(name: name)
    count = writer.count
    return reader
  }

  /// A packet that the client has kept since before the program came.
  @inline(never)
  @_optimize(size)
  public mutating func append(
    kept packet: borrowing InspectedPacket, of content: CapturedProtocol, for reader: Int, at now: Instant
  ) {
    put(packet, of: content, age: now.milliseconds &- packet.time.milliseconds, at: now, only: reader)
  }

  @_optimize(size)
  public mutating func greet(_ reader: Int, at now: Instant) {
    flush(at: now, only: reader)
    isRead = true
    (pauseEnd, isPaused) = (nil, false)
  }

  /// Looks what a program asks; `nil`: it does not, or has gone.
  @_optimize(size)
  public mutating func question(of reader: Int) -> UInt8? {
    guard socket.isConnected(reader) else { return nil }
    let question = socket.question(of: reader)
    if question == nil { lookForReaders() }
    return question
  }

  /// The time to send has come, or not; a pause begins, goes on, or ends. `total`: as in `letIn`. Returns true if the tap is to tell of packets again, or no more.
  @_optimize(size)
  public mutating func attend(packets total: UInt32, at now: Instant) -> Bool {
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

  /// Where the client's numbers go that answer a question: `answer` sends them.
  @_optimize(size)
  @_lifetime(&self)
  public mutating func numberLines(at now: Instant) -> NumberLines {
    flush(at: now)
    let offset = BlockWriter.statisticsTextOffset
    let end = buffer.count &- BlockWriter.statisticsOverhead
    return NumberLines(buffer.mutableBytes(in: offset..<end))
  }

  /// Answers a question: what the program has been sent and has lost, and `count` bytes of numbers.
  @_optimize(size)
  public mutating func answer(_ reader: Int, numbers count: Int) { tellLoss(to: reader, text: count) }

  // MARK: Helpers

  /// `age`: how many milliseconds ago the packet was there. `only`: for this program.
  @_optimize(size)
  private mutating func put(
    _ packet: borrowing InspectedPacket, of content: CapturedProtocol, age: UInt32, at now: Instant,
    only: Int? = nil
  ) {
    let captured = min(packet.front.count &+ packet.more.count, buffer.count &- BlockWriter.packetOverhead)
    if buffer.count &- count < captured &+ BlockWriter.packetOverhead { flush(at: now, only: only) }
    let front = packet.front.extracting(first: captured)
    let time = WallClock.microseconds(ago: age)
    let room = count..<buffer.count
    let described = CapturedPacket(
      interface: 0, time: CaptureTime(high: time.high, low: time.low), isSent: packet.isSent,
      connection: connection, length: packet.length, outbox: packet.outbox)
    var writer = BlockWriter(buffer.mutableBytes(in: room))
    writer.packet(
      described, of: content, front, packet.more.extracting(first: captured &- front.count))
    let size = writer.count
    let offset = count &+ BlockWriter.packetOffset(of: content)
    var bytes = buffer.mutableBytes(in: offset..<offset &+ front.count)
    packet.coverSecrets(in: &bytes)
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
