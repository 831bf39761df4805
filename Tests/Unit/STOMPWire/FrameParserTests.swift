import Storage
import TestSupport
import Testing

@testable import STOMPWire

/// A frame as plain values, or why it is none.
struct ParsedFrame: Equatable {
  var command = ServerCommand.error
  var headers: [[String]] = []
  var known: [String] = []
  var bodyOffset = 0
  var contentLength: Int?
  var hasEscapes = false
  var error: MalformedFrame?
  /// Its head has no end yet.
  var isIncomplete = false

  /// Parses what comes in pieces of these sizes; the last one repeats.
  init(_ bytes: [UInt8], _ version: STOMPVersion = .v12, pieces: [Int] = [.max]) {
    var parser = FrameParser()
    var came = 0
    var number = 0
    isIncomplete = true
    while came < bytes.count, isIncomplete {
      came = min(bytes.count, came &+ min(bytes.count, pieces[min(number, pieces.count - 1)]))
      number += 1
      do throws(MalformedFrame) {
        isIncomplete = try !parser.advance(bytes.span.extracting(0..<came), version)
      } catch {
        self.error = error
        return
      }
    }
    guard !isIncomplete else { return }
    let frame = parser.frame
    (command, bodyOffset) = (frame.command, frame.bodyOffset)
    (contentLength, hasEscapes) = (frame.contentLength, frame.hasEscapes)
    func text(_ range: ByteRange) -> String { String(decoding: bytes[range.range], as: UTF8.self) }
    known = [
      frame.destination, frame.messageID, frame.subscription, frame.ack, frame.contentType, frame.receiptID,
      frame.message, frame.version, frame.heartBeat, frame.session, frame.server,
    ].map { text($0) }
    headers = Self.headers(bytes, frame, version)
    undone = Undone(bytes, frame, version)
  }

  private static func headers(_ bytes: [UInt8], _ frame: ServerFrame, _ version: STOMPVersion) -> [[String]] {
    let lines = Array(bytes[frame.headers.range])
    var reader = HeaderReader(lines.span, strips: HeaderReader.strips(frame.command, version))
    var found: [[String]] = []
    while let header = reader.next() {
      found.append([header.name, header.value].map { String(decoding: lines[$0.range], as: UTF8.self) })
    }
    return found
  }

  /// The same frame without its escapes.
  struct Undone: Equatable {
    var headers: [[String]] = []
    var known: [String] = []

    init(_ bytes: [UInt8], _ frame: ServerFrame, _ version: STOMPVersion) {
      var (bytes, frame) = (bytes, frame)
      do {
        var span = bytes.mutableSpan
        frame.undoEscapes(in: &span, version)
      }
      headers = ParsedFrame.headers(bytes, frame, version)
      known = [frame.destination, frame.messageID, frame.contentType, frame.message].map {
        String(decoding: bytes[$0.range], as: UTF8.self)
      }
    }
  }
  var undone: Undone?

  /// Those that are not empty, in the order of the properties.
  var values: [String] { known.filter { !$0.isEmpty } }
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct FrameParserTests {
  static let message = """
    MESSAGE
    subscription:0
    message-id:007
    destination:/queue/a
    content-type:text/plain
    content-length:5
    x-own:1:2
    ack:a7

    hello\0
    """

  @Test func aMessage() {
    let frame = ParsedFrame(bytes(Self.message))
    #expect(frame.command == .message && frame.error == nil)
    #expect(frame.values == ["/queue/a", "007", "0", "a7", "text/plain"])
    #expect(frame.contentLength == 5 && frame.bodyOffset == Self.message.utf8.count - 6)
    #expect(
      frame.headers.map { $0[0] } == [
        "subscription", "message-id", "destination", "content-type", "content-length", "x-own", "ack",
      ])
    #expect(frame.headers[5] == ["x-own", "1:2"])
  }

  @Test func theOtherCommands() {
    let connected = ParsedFrame(
      bytes("CONNECTED\nversion:1.2\nheart-beat:1,2\nsession:s:1\nserver:a/1 b\n\n\0"))
    #expect(connected.command == .connected && connected.values == ["1.2", "1,2", "s:1", "a/1 b"])
    let receipt = ParsedFrame(bytes("RECEIPT\nreceipt-id:77\n\n\0"))
    #expect(receipt.command == .receipt && receipt.values == ["77"] && receipt.contentLength == nil)
    let error = ParsedFrame(bytes("ERROR\nmessage:bad\nreceipt-id:1\n\n\0"))
    #expect(error.command == .error && error.values == ["1", "bad"])
    #expect(ParsedFrame(bytes("ERROR\n\n\0")).headers == [])
  }

  /// "If a client or a server receives repeated frame header entries, only the first header entry SHOULD be used".
  @Test func theFirstOfRepeatedHeaders() {
    let frame = ParsedFrame(
      bytes(
        "MESSAGE\ndestination:a\nmessage-id:1\nsubscription:2\ndestination:b\ncontent-length:1\ncontent-length:x\n\n1\0"
      ))
    #expect(frame.values == ["a", "1", "2"] && frame.contentLength == 1 && frame.headers.count == 6)
  }

  /// "EOL = [CR] LF" in 1.2; before, a carriage return belongs to the value.
  @Test(arguments: [STOMPVersion.v10, .v11, .v12])
  func carriageReturns(_ version: STOMPVersion) {
    let lines = "receipt-id:1\r\n\r\n\0"
    let receipt = ParsedFrame(bytes("RECEIPT\n" + lines), version)
    if version == .v12 {
      #expect(receipt.values == ["1"] && receipt.headers == [["receipt-id", "1"]])
    } else {
      // A line with a carriage return alone is no header.
      #expect(receipt.error == .header)
    }
    let connected = ParsedFrame(bytes("CONNECTED\r\nversion:1.1\r\n\r\n\0"), version)
    #expect(connected.command == .connected && connected.values == ["1.1"])
  }

  /// "clients and servers MUST never trim or pad headers with spaces", and servers of 1.0 did.
  @Test func spaces() {
    let text = bytes("RECEIPT\nreceipt-id: 7 \n\n\0")
    #expect(ParsedFrame(text, .v12).values == [" 7 "] && ParsedFrame(text, .v11).values == [" 7 "])
    #expect(ParsedFrame(text, .v10).values == ["7"])
  }

  @Test(arguments: [
    ("SEND\n\n\0", MalformedFrame.command), ("message\n\n\0", .command), ("MESSAGES\n\n\0", .command),
    ("HTTP/1.1 400 Bad Request\n", .command), (" ERROR\n\n", .command),
    ("ERROR\nno colon\n\n\0", .header), ("ERROR\n:value\n\n\0", .header), ("ERROR\na:b\0\n\n\0", .null),
    ("RECEIPT\na:\\t\n\n\0", .escape), ("RECEIPT\na:\\\n\n\0", .escape), ("RECEIPT\n\\r\\x:a\n\n\0", .escape),
    ("ERROR\ncontent-length:\n\n\0", .contentLength), ("ERROR\ncontent-length:-1\n\n\0", .contentLength),
    ("ERROR\ncontent-length:1 \n\n\0", .contentLength),
    ("ERROR\ncontent-length:2147483648\n\n\0", .contentLength),
    ("ERROR\ncontent-length:99999999999999999999\n\n\0", .contentLength),
    ("RECEIPT\nreceipt:1\n\n\0", .missingHeader),
    ("MESSAGE\ndestination:a\nmessage-id:1\n\n\0", .missingHeader),
    ("MESSAGE\ndestination:a\nsubscription:1\n\n\0", .missingHeader),
    ("MESSAGE\nmessage-id:a\nsubscription:1\n\n\0", .missingHeader),
  ])
  func malformed(_ text: String, _ error: MalformedFrame) {
    #expect(ParsedFrame(bytes(text)).error == error)
  }

  @Test func whatIsNotUTF8() {
    let text = bytes("RECEIPT\nreceipt-id:1\na:") + [0xC3, 0x28] + bytes("\n\n\0")
    #expect(ParsedFrame(text, .v12).error == .utf8 && ParsedFrame(text, .v11).error == .utf8)
    #expect(ParsedFrame(text, .v10).error == nil)
    #expect(ParsedFrame(bytes("ERROR\nmessage:hällo\n\n\0")).values == ["hällo"])
  }

  /// ERROR is passed on as it came, as far as it is malformed: it says what the server could not say otherwise.
  @Test func errorsThatAreMalformed() {
    let text = bytes("ERROR\r\nmessage:no C:\\temp \\c\r\na:") + [0xE4] + bytes("\r\n\r\n\0")
    for version in [STOMPVersion.v10, .v11, .v12] {
      let frame = ParsedFrame(text, version)
      #expect(frame.error == nil && !frame.hasEscapes && frame.values == ["no C:\\temp \\c"], "\(version)")
    }
    let escaped = ParsedFrame(bytes("ERROR\r\nmessage:a\\cb\r\n\r\n\0"), .v11)
    #expect(escaped.hasEscapes && escaped.values == ["a\\cb"])
  }

  /// The escapes of each version; 1.0, and CONNECTED in all, have none.
  @Test func escapes() {
    let text = bytes("ERROR\na\\cb:c\\nd\\\\\n\n\0")
    #expect(ParsedFrame(text, .v12).hasEscapes && ParsedFrame(text, .v11).hasEscapes)
    #expect(ParsedFrame(text, .v10).error == nil && !ParsedFrame(text, .v10).hasEscapes)
    let carriageReturn = bytes("RECEIPT\nreceipt-id:\\r\n\n\0")
    #expect(
      ParsedFrame(carriageReturn, .v12).hasEscapes && ParsedFrame(carriageReturn, .v11).error == .escape)
    #expect(ParsedFrame(bytes("CONNECTED\nversion:1.2\nsession:\\x\n\n\0")).error == nil)
  }

  /// Values that the frame knows have moved, empty ones and repeated ones, too; without escapes nothing has.
  @Test func escapesThatAreUndone() {
    let text = bytes(
      "MESSAGE\r\na\\cb:c\\nd\r\ndestination:\\\\q\r\nmessage-id:\r\nsubscription:1\r\ndestination:x\r\nmessage:\\r\r\n\r\n\0"
    )
    let undone = ParsedFrame(text, .v12).undone
    #expect(undone?.known == ["\\q", "", "", "\r"])
    #expect(
      undone?.headers == [
        ["a:b", "c\nd"], ["destination", "\\q"], ["message-id", ""], ["subscription", "1"],
        ["destination", "x"],
        ["message", "\r"],
      ])
    let plain = ParsedFrame(bytes("ERROR\nmessage:no\n\n\0"))
    #expect(plain.undone?.headers == plain.headers && plain.undone?.known == ["", "", "", "no"])
  }

  /// "MESSAGE" of 1.0 need not say for which subscription it is.
  @Test func aMessageOfAnOldServer() {
    let text = bytes("MESSAGE\ndestination:/queue/a\nmessage-id: 1\n\nbody\0")
    #expect(ParsedFrame(text, .v10).values == ["/queue/a", "1"])
    #expect(ParsedFrame(text, .v11).error == .missingHeader)
  }

  /// Headers that are known, and some that are not, for all that they begin or end alike.
  @Test func names() {
    let known = [
      "destination", "message-id", "subscription", "ack", "content-type", "receipt-id", "message", "version",
      "heart-beat", "session", "server",
    ]
    for (index, name) in known.enumerated() {
      var values = [String](repeating: "", count: known.count)
      values[index] = "7"
      #expect(ParsedFrame(bytes("ERROR\n\(name):7\n\n\0")).known == values, "\(name)")
      for place in 0..<name.utf8.count {
        var other = bytes(name)
        other[place] ^= 1
        let frame = ParsedFrame(bytes("ERROR\n") + other + bytes(":7\n\n\0"))
        #expect(frame.error == nil && frame.values == [], "\(name)")
      }
      for other in [name + "s", "x" + name, String(name.dropLast()), name.uppercased()] {
        #expect(ParsedFrame(bytes("ERROR\n\(other):7\n\n\0")).values == [], "\(other)")
      }
    }
  }

  /// Colons and ends of lines at each place of two words, with a body behind them that looks like anything.
  @Test func delimitersAtEachPlace() {
    for front in 0...17 {
      for size in 0...17 {
        let (before, value) = (String(repeating: "a", count: front), String(repeating: "b", count: size))
        for (name, end) in [("message", ""), ("x-own", ""), ("message", "\r"), ("x-own", "\r")] {
          let head = "ERROR\nn\(before):\(before)\n\(name):\(value)\(end)\n\n"
          let frame = ParsedFrame(bytes(head) + [0, 92, 0xFF, 10, 58, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
          #expect(frame.headers == [["n" + before, before], [name, value]] && !frame.hasEscapes)
          #expect(frame.values == (name == "message" && size > 0 ? [value] : []))
          #expect(frame.bodyOffset == head.utf8.count && frame.error == nil)
        }
      }
    }
  }

  /// What has to be checked is found at each place of a name and of a value.
  @Test func strangeBytesAtEachPlace() {
    let plain = bytes(
      "MESSAGE\nmessage-id:0123456789abcdef\nx-0123456789:0123456789\nsubscription:0\ndestination:q\n\n\0")
    for place in 8..<plain.count - 3 where ![10, 58].contains(plain[place]) {
      for (byte, error) in [(UInt8(0), MalformedFrame.null), (0xFF, .utf8), (92, .escape)] {
        // That is an escape.
        if byte == 92, bytes("ncr").contains(plain[place + 1]) { continue }
        var text = plain
        text[place] = byte
        #expect(ParsedFrame(text).error == error, "\(place) \(byte)")
      }
    }
  }

  /// An escape at each place, in front of texts of all sizes and behind them.
  @Test func escapesAtEachPlace() {
    for size in 0...17 {
      for place in 0...size {
        let (left, right) = (
          String(repeating: "l", count: place), String(repeating: "r", count: size - place)
        )
        let text =
          "ERROR\nmessage:\(right)\n\(left)\\c\(right):\(left)\\n\(right)\ncontent-type:\(left)\nx:\n\n\0"
        let frame = ParsedFrame(bytes(text))
        #expect(frame.hasEscapes && frame.error == nil)
        #expect(
          frame.undone?.headers == [
            ["message", right], ["\(left):\(right)", "\(left)\n\(right)"], ["content-type", left], ["x", ""],
          ])
        #expect(frame.undone?.known == ["", "", left, right])
      }
    }
  }

  static let whole = [
    message, "CONNECTED\r\nversion:1.2\r\n\r\n\0", "ERROR\nmessage:\\c\\n\n\nbody\0", "ERROR\nbad\n\n\0",
    "SEND\n\n\0",
    "MESSAGE\nsubscription:12345678901234567\nmessage-id:1\ndestination:/topic/a/rather/long/destination\n\n\0",
  ]

  @Test(arguments: whole)
  func piecesMakeNoDifference(_ text: String) {
    let text = bytes(text)
    let expected = ParsedFrame(text)
    for size in 1...40 { #expect(ParsedFrame(text, pieces: [size]) == expected) }
    for first in 0..<text.count { #expect(ParsedFrame(text, pieces: [first + 1, 1]) == expected) }
  }

  @Test(arguments: whole)
  func aPrefixIsNoFrame(_ text: String) {
    let text = bytes(text)
    let expected = ParsedFrame(text)
    for count in 0..<text.count {
      let frame = ParsedFrame(Array(text[..<count]))
      #expect(
        frame.isIncomplete || frame == expected || expected.error != nil && frame.error == expected.error)
    }
  }

  /// Whatever comes, it ends, and byte ranges stay within what came.
  @Test func mutations() {
    var random = SeededRandom(seed: 12)
    for number in 0..<30_000 {
      var text = bytes(Self.whole[number % Self.whole.count])
      for _ in 0...Int.random(in: 0...3, using: &random) {
        let place = Int.random(in: 0..<text.count, using: &random)
        switch Int.random(in: 0...3, using: &random) {
        case 0: text[place] = UInt8.random(in: 0...255, using: &random)
        case 1: text.remove(at: place)
        case 2: text.insert(UInt8.random(in: 0...255, using: &random), at: place)
        default: text[place] = [10, 13, 58, 92, 0, 32].randomElement(using: &random)!
        }
      }
      let version = [STOMPVersion.v10, .v11, .v12].randomElement(using: &random)!
      let whole = ParsedFrame(text, version)
      #expect(whole == ParsedFrame(text, version, pieces: [Int.random(in: 1...9, using: &random)]))
      #expect(whole.bodyOffset <= text.count)
    }
  }
}
