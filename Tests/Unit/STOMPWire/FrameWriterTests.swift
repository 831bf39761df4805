import Foundation
import Storage
import TestSupport
import Testing

@testable import STOMPWire

/// Describes a frame to one of the two.
private func describe<Output: FrameOutput & ~Copyable & ~Escapable>(
  _ command: ClientCommand, _ headers: [(String, String)], _ body: String, to output: inout Output
) {
  output.begin(command)
  for (name, value) in headers { output.header(Array(name.utf8).span, Array(value.utf8).span) }
  output.header("content-length", UInt32(body.utf8.count))
  output.body(Array(body.utf8).span)
}

private func frame(
  _ command: ClientCommand, _ headers: [(String, String)], _ body: String = "", _ version: STOMPVersion = .v12
) -> String {
  var size = FrameSize(version)
  describe(command, headers, body, to: &size)
  var room = [UInt8](repeating: 0xEE, count: size.count)
  var writer = FrameWriter(room.mutableSpan, version)
  describe(command, headers, body, to: &writer)
  #expect(writer.count == size.count)
  return String(decoding: room, as: UTF8.self)
}

@Suite struct FrameWriterTests {
  @Test func aMessage() {
    #expect(
      frame(.send, [("destination", "/queue/a")], "hello")
        == "SEND\ndestination:/queue/a\ncontent-length:5\n\nhello\0")
    #expect(frame(.disconnect, []) == "DISCONNECT\ncontent-length:0\n\n\0")
  }

  @Test(arguments: [
    (STOMPVersion.v12, "a\\cb:\\n\\r\\\\"), (.v11, "a\\cb:\\n\r\\\\"), (.v10, "a:b:\n\r\\"),
  ])
  func escapes(_ version: STOMPVersion, _ line: String) {
    #expect(frame(.send, [("a:b", "\n\r\\")], "", version) == "SEND\n\(line)\ncontent-length:0\n\n\0")
  }

  /// "The CONNECT and CONNECTED frames do not escape".
  @Test func connectHasNone() {
    #expect(frame(.connect, [("passcode", "a:b\\")]) == "CONNECT\npasscode:a:b\\\ncontent-length:0\n\n\0")
  }

  @Test(arguments: [
    (ClientCommand.connect, "CONNECT"), (.send, "SEND"), (.subscribe, "SUBSCRIBE"),
    (.unsubscribe, "UNSUBSCRIBE"),
    (.ack, "ACK"), (.nack, "NACK"), (.begin, "BEGIN"), (.commit, "COMMIT"), (.abort, "ABORT"),
    (.disconnect, "DISCONNECT"),
  ])
  func commands(_ command: ClientCommand, _ name: String) {
    #expect(frame(command, []).hasPrefix(name + "\n"))
  }

  /// What is written with one version is read with it.
  @Test(arguments: [STOMPVersion.v11, .v12])
  func thereAndBack(_ version: STOMPVersion) throws {
    var random = SeededRandom(seed: 9)
    let letters = Array("ab:\\\nä%".utf8.map { $0 })
    func text() -> String {
      let count = Int.random(in: 1...30, using: &random)
      return String(
        decoding: (0..<count).map { _ in letters.filter { $0 < 128 }.randomElement(using: &random)! },
        as: UTF8.self)
    }
    for _ in 0..<2000 {
      let headers = (0..<Int.random(in: 0...6, using: &random)).map { _ in (text(), text()) }
      let sent = frame(.send, headers, text(), version)
      let bytes = Array(("ERROR" + sent.dropFirst(4)).utf8)
      let parsed = ParsedFrame(bytes, version)
      #expect(parsed.error == nil && !parsed.isIncomplete)
      #expect(parsed.undone?.headers.dropLast() == headers.map { [$0.0, $0.1] })
    }
  }

  /// What no version has to escape, by words and by vectors, is what it is byte by byte.
  @Test func plainTexts() {
    for count in 0...36 {
      for place in 0..<max(1, count) {
        for byte in UInt8.min...UInt8.max {
          var text = [UInt8](repeating: 0x41, count: count)
          if count > 0 { text[place] = byte }
          let isPlain = text.allSatisfy { 0x20..<0x80 ~= $0 && $0 != 0x3A && $0 != 0x5C }
          #expect(HeaderText.isPlain(text.span) == isPlain, "\(count) \(place) \(byte)")
        }
      }
    }
  }

  /// A list is written as its pairs are, whichever of them have escapes.
  @Test(arguments: [STOMPVersion.v10, .v11, .v12])
  func lists(_ version: STOMPVersion) {
    let texts = ["a", "b:c", "a name that is longer than sixteen", "\\", "", "x\ny", "ä"]
    for name in texts where name != "" {
      for value in texts {
        let pairs = [("n", "v"), (name, value), (value + "z", name)]
        var list: [UInt8] = []
        for (name, value) in pairs {
          list +=
            [UInt8(name.utf8.count), 0, UInt8(value.utf8.count), 0] + Array(name.utf8) + Array(value.utf8)
        }
        var size = FrameSize(version)
        size.begin(.send)
        size.headers(list.span)
        size.end()
        var room = [UInt8](repeating: 0xEE, count: size.count)
        var writer = FrameWriter(room.mutableSpan, version)
        writer.begin(.send)
        writer.headers(list.span)
        writer.end()
        #expect(writer.count == size.count)
        let expected = frame(.send, pairs, "", version).replacingOccurrences(
          of: "content-length:0\n", with: "")
        #expect(String(decoding: room, as: UTF8.self) == expected)
      }
    }
  }

  // ---- Lists of headers

  private static func list(_ pairs: [(String, String)]) -> [UInt8] {
    var list: [UInt8] = []
    for (name, value) in pairs {
      for count in [name.utf8.count, value.utf8.count] { list += [UInt8(count & 255), UInt8(count >> 8)] }
      list += Array(name.utf8) + Array(value.utf8)
    }
    return list
  }

  private static func isValid(_ list: [UInt8], _ version: STOMPVersion) -> Bool {
    HeaderList.isValid(list.span, version)
  }

  @Test func aList() {
    let bytes = Self.list([("a", "b"), ("long", String(repeating: "x", count: 300)), ("empty", "")])
    #expect(Self.isValid(bytes, .v12))
    var list = HeaderList(bytes.span)
    var found: [String] = []
    while let pair = list.next() {
      found.append(String(decoding: bytes[pair.name.range], as: UTF8.self) + "=\(pair.value.count)")
    }
    #expect(found == ["a=1", "long=300", "empty=0"])
    for count in 1..<bytes.count where ![6, 314].contains(count) {
      #expect(!Self.isValid(Array(bytes[..<count]), .v12))
    }
    #expect(Self.isValid([], .v10))
  }

  @Test(arguments: [
    ("", "b", [] as [STOMPVersion]), ("a", "b\0", []), ("a\0", "b", []), ("a", "b\r", [.v12]),
    ("a", "b\n", [.v11, .v12]),
    ("a:", "b", [.v11, .v12]), ("a", ":b", [.v10, .v11, .v12]), ("ä", "ö", [.v10, .v11, .v12]),
    ("a", "\\", [.v10, .v11, .v12]),
  ])
  func whatAHeaderMayHave(_ name: String, _ value: String, _ versions: [STOMPVersion]) {
    for version in [STOMPVersion.v10, .v11, .v12] {
      #expect(Self.isValid(Self.list([(name, value)]), version) == versions.contains(version))
    }
  }

  @Test func whatIsNotUTF8() {
    #expect(!Self.isValid([1, 0, 1, 0, 97, 0xFF], .v12))
    #expect(!Self.isValid([1, 0, 1, 0, 97, 0xC3], .v10))
  }
}
