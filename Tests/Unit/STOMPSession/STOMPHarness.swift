import STOMPWire
import Storage

@testable import STOMPSession

/// A session in memory of its own, driven by hand: text and instants in, text and events out.
final class STOMPHarness {
  struct Options {
    var oldest = STOMPVersion.v10
    var newest = STOMPVersion.v12
    var host = "h"
    var login = ""
    var passcode = ""
    var headers: [(String, String)] = []
    var heartBeat = HeartBeat.none
    var outboxBytes = 2048
    var outboxFrames = 16
    var urgentBytes = 0
    var urgentFrames = 0
    var receiveBytes = 512
    var controlBytes = 256
    var subscriptions = 3
    var subscriptionBytes = 200
    var heldMessages = 4
    var heldBytes = 32
    var transactions = 2
    var receiptTimeout: UInt32 = 0
    var credentialBytes = 0
    /// Of the largest commit; 0: there is no journal.
    var journalBlocks = 0
    var journalIsStrict = false
  }

  private let block: UnsafeMutableRawPointer
  var session: STOMPSession
  var now = Instant(milliseconds: 1000)

  init(_ configure: (inout Options) -> Void = { _ in }) {
    var asked = Options()
    configure(&asked)
    let (host, login, passcode) = (
      Array(asked.host.utf8), Array(asked.login.utf8), Array(asked.passcode.utf8)
    )
    let headers = Self.list(asked.headers)
    var options = STOMPOptions(
      host: host.span, login: login.span, passcode: passcode.span, headers: headers.span)
    (options.oldest, options.newest, options.heartBeat) = (asked.oldest, asked.newest, asked.heartBeat)
    (options.outboxBytes, options.outboxFrames) = (asked.outboxBytes, asked.outboxFrames)
    (options.urgentBytes, options.urgentFrames) = (asked.urgentBytes, asked.urgentFrames)
    (options.receiveBytes, options.controlBytes) = (asked.receiveBytes, asked.controlBytes)
    (options.subscriptions, options.subscriptionBytes) = (asked.subscriptions, asked.subscriptionBytes)
    (options.heldMessages, options.heldBytes) = (asked.heldMessages, asked.heldBytes)
    options.transactions = asked.transactions
    (options.receiptTimeout, options.credentialBytes) = (asked.receiptTimeout, asked.credentialBytes)
    (options.journalBatchBytes, options.journalIsStrict) = (4096 * asked.journalBlocks, asked.journalIsStrict)
    var layout = ArenaLayout()
    let plan = STOMPPlan(options, in: &layout)
    block = .allocate(byteCount: layout.byteCount, alignment: ArenaLayout.alignment)
    block.initializeMemory(as: UInt8.self, repeating: 1, count: layout.byteCount)
    session = STOMPSession(options, plan: plan, block: unsafe Arena(start: block))
  }

  deinit { block.deallocate() }

  static func list(_ pairs: [(String, String)]) -> [UInt8] {
    var list: [UInt8] = []
    for (name, value) in pairs {
      for count in [name.utf8.count, value.utf8.count] { list += [UInt8(count & 255), UInt8(count >> 8)] }
      list += Array(name.utf8) + Array(value.utf8)
    }
    return list
  }

  // MARK: The wire

  /// All that is to be sent, in pieces of at most so many bytes, as text: the zero behind a frame as "^", the ends of lines
  /// as "/".
  func sent(_ piece: Int = .max) -> String {
    var bytes: [UInt8] = []
    while session.prepareTransmit(at: now) {
      let part = Self.pending(session, piece)
      bytes += part
      session.transmitted(part.count, at: now)
    }
    return Self.shown(bytes)
  }

  private static func pending(_ session: borrowing STOMPSession, _ most: Int) -> [UInt8] {
    let output = session.output
    return (0..<min(most, output.count)).map { output[$0] }
  }

  private static func received(_ session: borrowing STOMPSession, _ range: ByteRange) -> [UInt8] {
    let bytes = session.receivedBytes
    return range.range.map { bytes[$0] }
  }

  /// What one call to the transport takes.
  func part(_ most: Int) -> [UInt8] {
    guard session.prepareTransmit(at: now) else { return [] }
    let part = Self.pending(session, most)
    session.transmitted(part.count, at: now)
    return part
  }

  /// The transport was offered bytes, and took none.
  func offer() -> Bool { session.prepareTransmit(at: now) }

  func transmit(_ count: Int) -> Bool {
    guard session.prepareTransmit(at: now) else { return false }
    session.transmitted(count, at: now)
    return true
  }

  /// Of a frame that was submitted and can't be sent.
  func refuse(_ cookie: UInt64) -> Bool { session.sendNothing(cookie: cookie, .version) }

  func disconnect() -> Bool { session.disconnect(at: now) }

  /// What the server has said, in the buffer.
  func received(_ range: ByteRange) -> String { Self.shown(Self.received(session, range)) }

  static func shown(_ bytes: [UInt8]) -> String {
    String(
      decoding: bytes.map { $0 == 0 ? UInt8(ascii: "^") : $0 == 10 ? UInt8(ascii: "/") : $0 }, as: UTF8.self)
  }

  /// What the server has said, and the session did not want yet.
  private var unread: [UInt8] = []
  private var piece = Int.max

  /// The server says something, written as `sent` shows it.
  func say(_ text: String, _ piece: Int = .max) {
    unread += text.utf8.map { $0 == UInt8(ascii: "^") ? 0 : $0 == UInt8(ascii: "/") ? 10 : $0 }
    self.piece = piece
    hear()
  }

  private func hear() { unread = Array(unread.suffix(receive(unread, piece))) }

  /// As long as the session takes it. Returns how much it did not.
  @discardableResult
  func receive(_ bytes: [UInt8], _ piece: Int = .max) -> Int {
    var rest = bytes[...]
    while !rest.isEmpty, session.wantsReceive {
      var space = session.receiveSpace()
      let count = min(piece, rest.count, space.count)
      for index in 0..<count { space[index] = rest[rest.startIndex + index] }
      rest = rest.dropFirst(count)
      session.received(count, at: now)
    }
    return rest.count
  }

  // MARK: Events

  /// The next event as a line; empty: there is none.
  func event() -> String {
    session.release(at: now)
    session.advance(to: now)
    hear()
    guard let event = session.nextEvent(at: now) else { return "" }
    switch event {
    case .connected: return "connected \(session.version)"
    case .completed(let completion): return "completed \(completion.cookie) \(completion.outcome)"
    case .subscription(let result): return "\(result.kind) \(result.slot) \(result.cookie)"
    case .transactionsLost(let count): return "lost \(count)"
    case .room: return "room"
    case .journal(let event): return "journal \(event)"
    case .message(let message):
      token = message.token
      bodySize = message.bodySize
      let body = received(message.body)
      let destination = received(session.eventFrame.destination.shifted(by: session.eventOffset))
      let marks =
        (message.isOversize ? " oversize" : "") + (message.isLast ? "" : " more")
        + (message.bodyOffset > 0 ? " at \(message.bodyOffset)" : "")
      return "message \(message.subscription) \(destination) \"\(body)\"\(marks)"
    }
  }

  private(set) var token: UInt64 = 0
  /// Of the whole message, of which this may be a part.
  private(set) var bodySize = 0
  /// The last `send` dropped its own frame.
  private(set) var wasDropped = false

  /// All of them.
  func events() -> [String] {
    var found: [String] = []
    while true {
      let event = event()
      if event.isEmpty { return found }
      found.append(event)
    }
  }

  /// Opens a connection, and is connected with this version.
  func connect(_ version: String = "1.2", more: String = "") {
    session.connectionOpened()
    _ = sent()
    say("CONNECTED/version:\(version)/\(more)/^")
    _ = event()
    session.release(at: now)
  }

  // MARK: Commands

  func send(
    _ body: String, to destination: String = "/queue/a", cookie: UInt64 = 0, receipt: Bool = false,
    again: Bool = false,
    quiet: Bool = false, headers: [(String, String)] = [], type: String = "", transaction: UInt16 = 0,
    omitsLength: Bool = false, urgent: Bool = false, stored: Bool = false, overflow: Overflow = .refuse
  ) -> STOMPError? {
    let (target, type, headers, body) = (
      Array(destination.utf8), Array(type.utf8), Self.list(headers), Array(body.utf8)
    )
    var frame = OutgoingFrame(
      destination: target.span, contentType: type.span, headers: headers.span, body: body.span)
    (frame.cookie, frame.wantsReceipt, frame.isRepeatable) = (cookie, receipt, again)
    (frame.isQuiet, frame.transaction, frame.omitsLength) = (quiet, transaction, omitsLength)
    (frame.isUrgent, frame.isStored, frame.overflow) = (urgent, stored, overflow)
    do throws(STOMPError) {
      wasDropped = try !session.send(frame)
      return nil
    } catch {
      return error
    }
  }

  func subscribe(
    _ destination: String, _ mode: AckMode = .automatic, headers: [(String, String)] = [], cookie: UInt64 = 0
  ) throws -> Int {
    let (target, list) = (Array(destination.utf8), Self.list(headers))
    return try session.subscribe(to: target.span, mode, headers: list.span, cookie: cookie)
  }
}
