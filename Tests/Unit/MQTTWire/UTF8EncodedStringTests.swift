import MQTTWire
import TestSupport
import Testing

/// §1.5.4: well-formed UTF-8 [MQTT-1.5.4-1] without U+0000 [MQTT-1.5.4-2], compared with Swift's own decoder.
@Suite struct UTF8EncodedStringTests {
  /// Where the ranges of Table 3-7 of the Unicode Standard begin and end, and their neighbours.
  static let edges: [UInt8] = [
    0x00, 0x01, 0x2B, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC,
    0xED,
    0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
  ]

  private static func isValid(_ bytes: [UInt8]) -> Bool { UTF8EncodedString.isValid(bytes.span) }

  private func isRight(_ bytes: [UInt8]) -> Bool {
    let expected = (try? UTF8Span(validating: bytes.span)) != nil && !bytes.contains(0)
    return Self.isValid(bytes) == expected
  }

  /// What the standard says of a few, and of what §1.5.4 names: the decoder we compare with is itself held
  /// against them, and every field (UTF8FieldTests).
  static let answers: [(String, Bool)] = [
    ("", true), ("61", true), ("C2 80", true), ("DF BF", true), ("E0 A0 80", true), ("ED 9F BF", true),
    ("EE 80 80", true), ("F0 90 80 80", true), ("F4 8F BF BF", true),
    // Control characters, non-characters U+FDD0, U+FFFE, U+FFFF and U+1FFFE, and U+FEFF in front, alone and
    // behind.
    ("01 1F 7F", true), ("C2 9F", true), ("EF B7 90", true), ("EF BF BE", true), ("EF BF BF", true),
    ("F0 9F BF BE", true), ("EF BB BF", true), ("EF BB BF 61", true), ("61 EF BB BF", true),
    // U+0000; a lone continuation; overlong U+0000, "A" and "/", U+07FF, U+FFFF.
    ("00", false), ("61 00", false), ("80", false), ("C0 80", false), ("C1 81", false), ("C1 BF", false),
    ("E0 80 AF", false), ("E0 9F BF", false), ("F0 8F BF BF", false),
    // A character that is cut off.
    ("C2", false), ("C2 41", false), ("E2 82", false), ("F0 9F 92", false), ("F0 9F 92 61", false),
    // Surrogates: U+D800, U+DFFF, and a pair of them.
    ("ED A0 80", false), ("ED BF BF", false), ("ED A0 B4 ED B4 9E", false), ("61 ED A0 80 61", false),
    // Above U+10FFFF; what is never there.
    ("F4 90 80 80", false), ("F5 80 80 80", false), ("F8 88 80 80 80", false), ("FE", false), ("FF", false),
  ]

  @Test(arguments: answers)
  func answersOfTheStandard(text: String, isValid: Bool) {
    let bytes = hex(text)
    #expect(Self.isValid(bytes) == isValid)
    #expect(isRight(bytes))
  }

  @Test func everyByte() {
    #expect((0...255).filter { !isRight([UInt8($0)]) } == [])
  }

  @Test func everyTwoBytes() {
    var wrong: [[UInt8]] = []
    for first in UInt8.min ... .max {
      for second in UInt8.min ... .max where !isRight([first, second]) { wrong.append([first, second]) }
    }
    #expect(wrong == [])
  }

  /// Behind the leads of three-byte characters everything; behind the others the edges.
  @Test func threeBytes() {
    let every = Array(UInt8.min ... .max)
    var wrong: [[UInt8]] = []
    var bytes: [UInt8] = [0, 0, 0]
    for first in every {
      let tried = 0xE0...0xEF ~= first ? every : Self.edges
      bytes[0] = first
      for second in tried {
        bytes[1] = second
        for third in tried {
          bytes[2] = third
          if !isRight(bytes) { wrong.append(bytes) }
        }
      }
    }
    #expect(wrong == [])
  }

  /// Half of the bytes from the edges, half from anywhere.
  @Test func fourBytesAtRandom() {
    var random = SeededRandom(seed: 4)
    var wrong: [[UInt8]] = []
    var valid = 0
    for _ in 0..<100_000 {
      var bytes = random.bytes(4)
      for index in 0..<4 where Bool.random(using: &random) {
        bytes[index] = Self.edges.randomElement(using: &random)!
      }
      bytes[0] = UInt8.random(in: 0xEF...0xF5, using: &random)
      if !isRight(bytes) { wrong.append(bytes) }
      if Self.isValid(bytes) { valid += 1 }
    }
    #expect(wrong == [])
    #expect(valid > 1000)
  }

  /// One strange byte, or one strange character, at each place of an ASCII string.
  @Test func oneStrangePlace() {
    let strange = ["00", "80", "FF", "C2 B5", "ED A0 80", "F0 9D 84 9E", "F4 90 80 80"].map(hex)
    var wrong: [[UInt8]] = []
    for count in 0...40 {
      let plain = [UInt8](repeating: 0x61, count: count)
      if !isRight(plain) { wrong.append(plain) }
      for place in 0..<count {
        for bytes in strange {
          var string = plain
          string.replaceSubrange(place...place, with: bytes)
          let expected = bytes == hex("C2 B5") || bytes == hex("F0 9D 84 9E")
          if Self.isValid(string) != expected || !isRight(string) { wrong.append(string) }
        }
      }
    }
    #expect(wrong == [])
  }
}
