import Driver
import Platform
import STOMPSession
import STOMPWire
import Storage
import Testing

@testable import STOMPClient

/// An engine in memory of its own, and what submits to it.
private final class EngineHarness {
  private let block: UnsafeMutableRawPointer
  var engine: STOMPEngine
  let submitter: FrameSubmitter
  let now = Instant(milliseconds: 1000)

  init(_ configure: (inout RequestedSTOMPOptions) -> Void = { _ in }) throws(STOMPOptionsError) {
    let host = Array("h".utf8)
    var request = RequestedSTOMPOptions()
    request.connection.host = host.span
    (request.submitFrames, request.submitBytes) = (4, 128)
    configure(&request)
    let options = try STOMPClientOptions(checking: request)
    var layout = ArenaLayout()
    let plan = STOMPClientPlan(options, in: &layout)
    block = .allocate(byteCount: layout.byteCount, alignment: ArenaLayout.alignment)
    block.initializeMemory(as: UInt8.self, repeating: 1, count: layout.byteCount)
    engine = STOMPEngine(options, plan: plan, block: unsafe Arena(start: block))
    submitter = FrameSubmitter(options, queue: engine.submissions.queue, wakeUp: .none)
  }

  deinit { block.deallocate() }

  /// Returns why it was refused.
  func submit(
    _ body: String, to destination: String = "d", _ configure: (inout OutgoingFrame) -> Void = { _ in }
  ) -> STOMPError? {
    let (target, type, headers, body) = (
      Array(destination.utf8), Array("t".utf8), [1, 0, 1, 0] + Array("xy".utf8), Array(body.utf8)
    )
    var frame = OutgoingFrame(
      destination: target.span, contentType: type.span, headers: headers.span, body: body.span)
    configure(&frame)
    do throws(STOMPError) {
      try submitter.submit(frame)
      return nil
    } catch {
      return error
    }
  }

  /// The owner's turn. It says whether there was anything to do.
  func work() -> Bool {
    guard engine.hasWork(at: now) else { return false }
    engine.takeWork(at: now)
    return true
  }

  private static func pending(_ engine: borrowing STOMPEngine) -> [UInt8] {
    let output = engine.output
    return (0..<output.count).map { output[$0] }
  }

  /// All that goes out, as text: the zero behind a frame as "^", the ends of lines as "/".
  func sent() -> String {
    var bytes: [UInt8] = []
    while engine.prepareTransmit(at: now) {
      let part = Self.pending(engine)
      bytes += part
      engine.transmitted(part.count, at: now)
    }
    let text = bytes.map { $0 == 0 ? UInt8(ascii: "^") : $0 == 10 ? UInt8(ascii: "/") : $0 }
    return String(decoding: text, as: UTF8.self)
  }

  func say(_ text: String) {
    let bytes = text.utf8.map { $0 == UInt8(ascii: "^") ? 0 : $0 == UInt8(ascii: "/") ? 10 : $0 }
    var space = engine.receiveSpace()
    for index in 0..<bytes.count { space[index] = bytes[index] }
    engine.received(bytes.count, at: now)
  }

  func connect(_ version: String = "1.2") {
    engine.opened()
    _ = sent()
    say("CONNECTED/version:\(version)//^")
    _ = events()
  }

  /// Completions as a cookie and what became of it.
  func events() -> [String] {
    var found: [String] = []
    while let event = engine.nextEvent() {
      if case .completed(let completion) = event {
        found.append("\(completion.cookie) \(completion.outcome)")
      }
    }
    return found
  }
}

/// Frames of other threads. The threads themselves are in MPSCQueueTests and Tests/STOMP/threads.c.
@Suite struct FrameSubmitterTests {
  /// All that a frame says arrives, in the order in which they were submitted.
  @Test func arrives() throws {
    let harness = try EngineHarness { ($0.urgentFrames, $0.urgentBytes) = (2, 200) }
    #expect(harness.submit("1") { ($0.cookie, $0.wantsReceipt, $0.isRepeatable) = (1, true, true) } == nil)
    #expect(harness.submit("2", to: "e") { ($0.cookie, $0.omitsLength, $0.isQuiet) = (2, true, true) } == nil)
    #expect(harness.submit("3") { ($0.cookie, $0.isUrgent, $0.isQuiet) = (3, true, true) } == nil)
    #expect(harness.work() && !harness.work())
    harness.connect()
    let first = "SEND/destination:d/content-type:t/content-length:1/receipt:1/x:y//1^"
    #expect(
      harness.sent()
        == "SEND/destination:d/content-type:t/content-length:1/x:y//3^" + first
        + "SEND/destination:e/content-type:t/x:y//2^")
    // It goes again, as its flags say, and the others were quiet.
    harness.engine.closed()
    #expect(harness.events() == [])
    harness.connect()
    #expect(harness.sent() == first)
    harness.say("RECEIPT/receipt-id:1//^")
    #expect(harness.events() == ["1 delivered"])
  }

  /// What can't be sent, whatever the server says, is refused at once.
  @Test func whatIsRefused() throws {
    let harness = try EngineHarness { ($0.outboxBytes, $0.urgentFrames, $0.urgentBytes) = (100, 1, 64) }
    #expect(harness.submit("1", to: "") == .destination && harness.submit("1", to: "a\0") == .destination)
    #expect(harness.submit("1") { $0.transaction = 1 } == .transaction)
    #expect(harness.submit("a\0b") { $0.omitsLength = true } == .body)
    #expect(harness.submit(String(repeating: "x", count: 200)) == .tooLarge)
    // 57 bytes and the body.
    #expect(harness.submit("1") { $0.isUrgent = true } == nil)
    #expect(harness.submit("1234567890") { $0.isUrgent = true } == .tooLarge)
    #expect(harness.submit("1234567890") == nil)
    // The number of its receipt has one digit now, and ten some day.
    let body = String(repeating: "x", count: 24)
    #expect(harness.submit(body) == nil && harness.submit(body) { $0.wantsReceipt = true } == .tooLarge)
  }

  /// Each has a place; when all are taken, the next one is refused, until the owner has looked.
  @Test func backPressure() throws {
    let harness = try EngineHarness { $0.outboxFrames = 2 }
    for cookie in 1...4 { #expect(harness.submit("\(cookie)") { $0.cookie = UInt64(cookie) } == nil) }
    #expect(harness.submit("5") == .full && harness.work())
    // Two are in the outbox, and the rest waits for room there.
    #expect(
      !harness.work() && harness.submit("5") == nil && harness.submit("6") == nil
        && harness.submit("7") == .full)
    harness.connect()
    #expect(harness.sent().hasSuffix("//2^") && harness.events() == ["1 delivered", "2 delivered"])
    #expect(
      harness.work() && harness.sent().hasSuffix("//4^")
        && harness.events() == ["3 delivered", "4 delivered"])
  }

  /// An overflow policy applies when the frame moves into the outbox.
  @Test func overflow() throws {
    let harness = try EngineHarness { $0.outboxFrames = 2 }
    for body in ["1", "2", "3", "4"] {
      #expect(harness.submit(body) { ($0.isQuiet, $0.overflow) = (true, .dropOldest) } == nil)
    }
    #expect(harness.work() && !harness.work())
    harness.connect()
    let sent = harness.sent()
    #expect(sent.contains("//3^") && sent.hasSuffix("//4^") && !sent.contains("//2^"))
  }

  /// The version that the server has chosen does not have it: nothing can be said to the thread any more.
  @Test func anotherVersion() throws {
    let harness = try EngineHarness()
    harness.connect("1.0")
    #expect(harness.submit("1", to: "a\nb") { $0.cookie = 7 } == nil && harness.submit("2") == nil)
    #expect(harness.work() && harness.sent().hasSuffix("//2^"))
    #expect(harness.events() == ["7 version", "0 delivered"])
  }

  /// What was submitted before goes out; what comes later waits for the next connection.
  @Test func leaving() throws {
    let harness = try EngineHarness()
    harness.connect()
    #expect(harness.submit("1") == nil)
    harness.engine.beginDisconnect()
    #expect(harness.engine.isDrained == false)
    #expect(harness.submit("2") == nil && harness.work() && !harness.work())
    #expect(harness.sent().hasSuffix("//1^") && harness.engine.isDrained)
    #expect(harness.engine.sendFinalPacket() && harness.sent() == "DISCONNECT/receipt:bye//^")
    #expect(!harness.work())
    harness.engine.closed()
    harness.connect()
    #expect(harness.work() && harness.sent().hasSuffix("//2^"))
  }
}
