import Driver
import Storage

/// A protocol of a few lines: it says HELLO, the server says OK, then each line is an event, until one says
/// BYE.
struct LineEngine: ~Copyable, ProtocolEngine {
  struct CloseDetails: BitwiseCopyable { let word: UInt8 }

  private var outgoing = Array("HELLO\n".utf8)
  /// What has come and is no line yet.
  private var room: Region
  private var filled = 0
  private var lines: [String] = []
  private var isOpen = false
  private(set) var isAccepted = false
  private var isOver = false
  /// It takes bytes while events wait to be taken.
  var readsAhead = false
  /// It has something to send behind its final line.
  var hasPostscript = false
  /// How many bytes of `outgoing` there are up to the end of its final line.
  private var unsentEnd = 0
  var closeRequest: CloseRequest<CloseDetails>? = nil

  init(room: consuming Region) { self.room = room }

  // MARK: Getters

  var versionNumber: Int { 1 }
  var hasEvent: Bool { !lines.isEmpty }
  var hasUndeliveredEvent: Bool { !lines.isEmpty }
  var eventIsBorrowed: Bool { false }
  var isDrained: Bool { outgoing.isEmpty }
  var receivedBytes: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { room.bytes }
  }

  // MARK: Things that happened

  mutating func advance(to now: Instant) {}
  mutating func opened() {
    isOpen = true
    isAccepted = false
    isOver = false
    closeRequest = nil
    filled = 0
    outgoing = Array("HELLO\n".utf8)
  }

  mutating func received(_ count: Int, at now: Instant) {
    filled += count
    var line: [UInt8] = []
    for index in 0..<filled {
      guard room[index] == UInt8(ascii: "\n") else {
        line.append(room[index])
        continue
      }
      take(String(decoding: line, as: UTF8.self))
      line = []
    }
    room.move(from: filled - line.count, to: 0, count: line.count)
    filled = line.count
  }

  private mutating func take(_ line: String) {
    if line == "OK" { isAccepted = true }
    if line == "BYE" { closeRequest = CloseRequest(.serverClosed, details: CloseDetails(word: 7)) }
    lines.append(line)
  }

  mutating func transmitted(_ count: Int, at now: Instant) {
    outgoing.removeFirst(count)
    unsentEnd = max(0, unsentEnd - count)
  }
  mutating func timedOut(at now: Instant) {}
  mutating func peerClosed() {}
  mutating func closed() {
    isOpen = false
    isAccepted = false
  }

  mutating func say(_ line: String) { outgoing += Array((line + "\n").utf8) }

  // MARK: Outputs

  var wantsTransmit: Bool { isOpen && !outgoing.isEmpty }
  mutating func prepareTransmit(at now: Instant) -> Bool { wantsTransmit }
  var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { outgoing.span }
  }

  /// One line at a time is enough for it, unless it reads ahead.
  var wantsReceive: Bool { isOpen && (lines.isEmpty || readsAhead) }
  @_lifetime(&self)
  mutating func receiveSpace() -> MutableSpan<UInt8> { room.mutableBytes(in: filled..<room.count) }

  var nextDeadline: Instant? { nil }
  mutating func nextEvent() -> String? { lines.isEmpty ? nil : lines.removeFirst() }
  mutating func release() {}

  // MARK: The end

  var canSendFinalPacket: Bool { isOpen }
  mutating func sendFinalPacket() -> Bool {
    say("BYE")
    unsentEnd = outgoing.count
    if hasPostscript { say("PS") }
    closeRequest = CloseRequest(.requested, details: CloseDetails(word: 0))
    return true
  }
  var hasUnsentFinalPacket: Bool { unsentEnd > 0 }
  var wantsClose: Bool { closeRequest != nil }
}
