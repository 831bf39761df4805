import TestSupport
import Testing

@testable import Transports

/// RFC 9112 sections 2 to 5.
@Suite struct HTTPResponseHeadTests {
  private static let names: [StaticString] = ["a", "location", "upgrade", "x-long"]

  /// What the reader has said about a head.
  struct Account: Equatable {
    var end = HTTPResponseHead.Event.needsBytes
    var status: UInt16 = 0
    var text = ""
    var headers: [String] = []
    var consumed = 0
  }

  private static func read(_ bytes: [UInt8], _ pieces: Pieces? = nil) -> Account {
    var account = Account()
    var head = HTTPResponseHead()
    var start = 0
    for end in pieces?.ends ?? [bytes.count] {
      let piece = Array(bytes[start..<end])
      var consumed = 0
      while true {
        account.end = head.next(piece.span, &consumed)
        guard account.end == .header else { break }
        let name = names.first { head.isHeader($0) }
        account.headers.append("\(name.map { "\($0)" } ?? "?"): \(head.value.string)")
      }
      account.consumed = start + consumed
      start = end
      guard account.end == .needsBytes else { break }
    }
    account.status = head.status
    account.text = head.text.string
    return account
  }

  private static func read(_ text: String) -> Account { read(text.bytes) }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\n\r\n", 200, "OK", [] as [String]),
    ("HTTP/1.0 404\r\n\r\n", 404, "", []),
    ("HTTP/1.1 101 Switching Protocols\nA:b\n\n", 101, "Switching Protocols", ["a: b"]),
    (
      "HTTP/1.9 999  two  words \r\nUPGRADE:\t x , y \t\r\nA:\r\nother: z\r\n\r\n", 999, "two  words",
      ["upgrade: x , y", "a: ", "?: z"]
    ),
    ("HTTP/1.1 301 Moved\r\nlOCATION: /there\r\n\r\n", 301, "/there", ["location: /there"]),
    ("HTTP/1.1 200 OK\r\nLocation: /there\r\n\r\n", 200, "OK", ["location: /there"]),
    // Lines that continue others
    ("HTTP/1.1 200 OK\r\na: b\r\n c\r\n\td\r\nupgrade: e\r\n\r\n", 200, "OK", ["a: b c\td", "upgrade: e"]),
    // A bare CR is a blank, and no colon is no field.
    (
      "HTTP/1.1 200 O\rK\r\na: b\rc\r\nnone\r\nab: c\r\na : b\r\n\r\n", 200, "O K",
      ["a: b c", "?: ", "?: c", "?: b"]
    ),
    // What a terminal may not show
    ("HTTP/1.1 400 \u{1B}[2J\u{FC}\r\n\r\n", 400, "?[2J??", []),
  ])
  func headsInEachSplit(text: String, status: UInt16, reason: String, headers: [String]) {
    let count = text.utf8.count
    let bytes = text.bytes + "HTTP/1.1 behind".bytes
    let expected = Account(end: .end, status: status, text: reason, headers: headers, consumed: count)
    for pieces in Pieces.some(of: bytes.count) { #expect(Self.read(bytes, pieces) == expected) }
    for end in 0..<count {
      let account = Self.read(Array(bytes[..<end]))
      #expect(account.end == .needsBytes && account.consumed == end)
    }
  }

  @Test(arguments: [
    "\r\n", "HTTP/2 200 OK\r\n", "http/1.1 200 OK\r\n", "HTTP/1.x 200 OK\r\n", "HTTP/1.1200 OK\r\n",
    "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 200OK\r\n", "HTTP/1.1 099 OK\r\n",
    "HTTP/1.1 2x0 OK\r\n", "HTTP/1.1\r\n", "HTTP/1.1 \r\n", "HTTP/1.1  200 OK\r\n", "HTTP/1.10 200\r\n",
    "HTTP/1.1 -20 OK\r\n", "\n",
  ])
  func statusLinesThatAreNone(text: String) { #expect(Self.read(text + "\r\n").end == .malformed) }

  /// Who does not speak HTTP is not waited for.
  @Test func theFirstWrongByteEndsIt() {
    for (index, byte) in "HTTP/1.".bytes.enumerated() {
      var bytes = "HTTP/1.".bytes
      bytes[index] = byte ^ 1
      let account = Self.read(Array(bytes[...index]))
      #expect(account.end == .malformed)
    }
  }

  @Test func ofALongLineTheFrontIsLookedAt() {
    for length in [200, 248, 249, 250, 5000] {
      let value = String(repeating: "v", count: length)
      let account = Self.read("HTTP/1.1 200 OK\r\nx-long: \(value)\r\na: b\r\n\r\n")
      #expect(account.end == .end)
      #expect(account.headers == ["x-long: \(value.prefix(256 - "x-long: ".utf8.count))", "a: b"])
    }
    // The front of a long status line, too; and nothing but blanks is no end.
    let reason = String(repeating: "r", count: 1000)
    #expect(Self.read("HTTP/1.1 400 \(reason)\r\n\r\n").text == String(reason.prefix(120)))
    let blanks = String(repeating: " ", count: 300)
    #expect(Self.read("HTTP/1.1 200 OK\r\na: b\r\n\(blanks)\r\n\r\n").headers == ["a: b"])
    for count in 119...121 {
      let place = String(repeating: "l", count: count)
      #expect(Self.read("HTTP/1.1 302 \r\nLocation: \(place)\r\n\r\n").text == String(place.prefix(120)))
    }
  }

  @Test func aHeadOfSixteenKibibytesAndNoMore() {
    let front = "HTTP/1.1 200 OK\r\n"
    func head(of size: Int) -> [UInt8] {
      let filling = size - front.utf8.count - 2
      let last = filling % 8 + 8
      let lines = String(repeating: "a: 345\r\n", count: (filling - last) / 8)
      return (front + lines + String(repeating: "b", count: last - 2) + "\r\n\r\n").bytes
    }
    for size in 16_380...16_384 {
      let bytes = head(of: size)
      #expect(bytes.count == size)
      let account = Self.read(bytes + [1])
      #expect(account.end == .end && account.consumed == size)
    }
    for size in [16_386, 16_388, 20_000] { #expect(Self.read(head(of: size)).end == .tooLong) }
    // One line without an end
    let line = "HTTP/1.1 200 OK\r\na: ".bytes + [UInt8](repeating: 0x61, count: 20_000)
    let account = Self.read(line)
    #expect(account.end == .tooLong && account.consumed == 16_384)
    // Interim responses count.
    var connect = HTTPConnect()
    let interim = Array([[UInt8]](repeating: "HTTP/1.1 100 Go on\r\n\r\n".bytes, count: 1000).joined())
    var consumed = 0
    let step = connect.receive(interim.span, consumed: &consumed)
    #expect(step == .failed && consumed == 16_384 && connect.isMalformed)
  }

  // MARK: A model

  /// The same on strings: it knows the whole head at once.
  private static func model(_ bytes: [UInt8]) -> Account? {
    guard bytes.count < 16_384 else { return nil }
    var lines: [[UInt8]] = []
    var continuations: [Bool] = []
    var consumed = 0
    var isOver = false
    while let end = bytes[consumed...].firstIndex(of: 10) {
      var line = bytes[consumed..<end].map { $0 == 13 ? 32 : $0 }
      if bytes[consumed..<end].last == 13 { line.removeLast() }
      continuations.append(bytes[consumed] == 32 || bytes[consumed] == 9)
      consumed = end + 1
      lines.append(line)
      isOver = line.isEmpty && lines.count > 1
      if isOver || lines.count == 1 && line.isEmpty { break }
    }
    guard isOver else { return nil }
    let blanks: Set<UInt8> = [32, 9]
    func trimmed(_ bytes: some Collection<UInt8>) -> [UInt8] {
      var rest = Array(bytes.drop { blanks.contains($0) })
      while let last = rest.last, blanks.contains(last) { rest.removeLast() }
      return rest
    }
    var account = Account(end: .end, consumed: consumed)
    let digits = lines[0].dropFirst(9).prefix(3)
    account.status = UInt16(String(decoding: digits, as: UTF8.self)) ?? 0
    func shown(_ bytes: [UInt8]) -> String {
      String(decoding: bytes.prefix(120).map { 32..<127 ~= $0 ? $0 : 63 }, as: UTF8.self)
    }
    account.text = shown(trimmed(lines[0].prefix(256).dropFirst(12)))
    var joined: [[UInt8]] = []
    for (line, isContinuation) in zip(lines, continuations).dropFirst().dropLast() {
      if isContinuation, !joined.isEmpty {
        joined[joined.count - 1] += line
      } else {
        joined.append(line)
      }
    }
    for line in joined.map({ $0.prefix(256) }) {
      let name = line.prefix { $0 != 58 }
      let hasColon = name.count < line.count
      let value = hasColon ? trimmed(line.dropFirst(name.count + 1)) : []
      let lower = String(decoding: name, as: UTF8.self).lowercased()
      let known = hasColon ? names.first { "\($0)" == lower } : nil
      account.headers.append(
        "\(known.map { "\($0)" } ?? "?"): \(String(decoding: value, as: UTF8.self))")
      if known.map({ "\($0)" }) == "location", 300..<400 ~= account.status { account.text = shown(value) }
    }
    return account
  }

  @Test func randomHeadsAreReadAsTheModelReadsThem() {
    var random = SeededRandom(seed: 9112)
    var compared = 0
    let parts = [
      "a", "A:", "location:", "Location: ", "UPGRADE: websocket", ":", " ", "\t", "\r", "\r\n", "\r\n", "\n",
      "\r\n ", "x, y", "\u{7}", String(repeating: "long", count: 40),
    ]
    for _ in 0..<4000 {
      var text = random.pick(["HTTP/1.1 302 Found", "HTTP/1.0 200", "HTTP/1.1 503 a\rb"]) + "\r\n"
      for _ in 0..<random.below(16) { text += random.pick(parts) }
      let bytes = (text + "\r\n\r\nmore").bytes
      guard let expected = Self.model(bytes) else { continue }
      compared += 1
      let pieces = Pieces(
        cutAt: (0..<random.below(6)).map { _ in random.below(bytes.count) }, of: bytes.count)
      #expect(Self.read(bytes, pieces) == expected, "\(text.debugDescription)")
    }
    #expect(compared > 3000)
  }

  @Test func anyBytesAtAll() {
    var random = SeededRandom(seed: 7230)
    for _ in 0..<3000 {
      var bytes = "HTTP/1.1 200 OK\r\n".bytes + random.bytes(random.below(600))
      for _ in 0..<random.below(10) { bytes[random.below(bytes.count)] = random.pick([10, 13, 32, 58]) }
      let account = Self.read(bytes, Pieces(cutAt: [random.below(bytes.count)], of: bytes.count))
      #expect(account.consumed <= bytes.count)
    }
  }
}
