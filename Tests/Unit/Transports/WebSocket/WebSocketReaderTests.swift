import TestSupport
import Testing

@testable import Transports

/// RFC 6455 sections 5.2 to 5.5 and 7.4, the client's side.
@Suite struct WebSocketReaderTests {
  typealias Outcome = FrameModel.Outcome

  private static func frame(_ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true) -> [UInt8] {
    FrameModel.frame(opcode, payload, isFinal: isFinal)
  }

  private static func read(_ bytes: [UInt8]) -> Outcome { FrameModel.read(bytes) }

  // MARK: Section 5.7

  @Test func theExamplesOfTheStandard() {
    let hello = "Hello".bytes
    #expect(FrameModel.read(hex("81 05 48 65 6C 6C 6F"), takesText: true) == Outcome(payload: hello))
    #expect(FrameModel.read(hex("01 03 48 65 6C 80 02 6C 6F"), takesText: true) == Outcome(payload: hello))
    #expect(Self.read(hex("89 05 48 65 6C 6C 6F")) == Outcome(pong: hello))
    let (short, long) = ([UInt8](repeating: 7, count: 256), [UInt8](repeating: 8, count: 65_536))
    #expect(Self.read(hex("82 7E 01 00") + short) == Outcome(payload: short))
    #expect(Self.read(hex("82 7F 00*5 01 00 00") + long) == Outcome(payload: long))
    // Masked frames are for servers.
    #expect(Self.read(hex("81 85 37 FA 21 3D 7F 9F 4D 51 58")) == Outcome(violation: 1002))
  }

  @Test func eachSizeOfAPayload() {
    for count in [0, 1, 2, 124, 125, 126, 127, 255, 256, 65_534, 65_535, 65_536, 65_537, 100_000] {
      let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      let bytes = Self.frame(2, payload) + Self.frame(2, [1, 2, 3])
      #expect(Self.read(bytes) == Outcome(payload: payload + [1, 2, 3]))
      let cuts = [1, 2, 3, 4, 5, 9, 10, 11, 12, bytes.count - 3, bytes.count - 4, bytes.count - 5]
      #expect(
        FrameModel.read(bytes, Pieces(cutAt: cuts, of: bytes.count)) == Outcome(payload: payload + [1, 2, 3]))
    }
  }

  /// A frame of each kind, fragments with control frames in between, empty frames.
  private static let conversations: [[UInt8]] = [
    frame(2, [1, 2, 3]) + frame(9, [4, 5]) + frame(2, []) + frame(2, [UInt8](repeating: 6, count: 130)),
    frame(2, [1], isFinal: false) + frame(9, [2]) + frame(0, [], isFinal: false) + frame(10, [3])
      + frame(0, [4, 5]) + frame(2, [6]) + frame(8, [0x03, 0xE8, 0x62, 0x79, 0x65]) + frame(2, [7]),
    frame(9, []) + frame(9, [1, 2]) + frame(10, [9, 9]) + frame(2, [3]) + frame(8, []),
    frame(9, [1, 2, 3]) + frame(2, []) + frame(2, []) + frame(9, [4]) + frame(2, [5, 6, 7, 8, 9]),
    frame(2, [1, 2]) + frame(0, [3]) + frame(2, [4]), frame(2, [1, 2]) + hex("83 00") + frame(2, [4]),
    frame(8, [0x03]) + frame(2, [1]), frame(8, [0x0F, 0xA0, 0xC3]) + frame(2, [1]),
  ]

  @Test(arguments: conversations)
  func eachSplit(bytes: [UInt8]) {
    let expected = FrameModel.outcome(bytes)
    for pieces in bytes.count < 60 ? Pieces.all(of: bytes.count) : Pieces.some(of: bytes.count) {
      #expect(FrameModel.read(bytes, pieces) == expected)
    }
    for end in 0...bytes.count {
      let part = Array(bytes[..<end])
      #expect(FrameModel.read(part) == FrameModel.outcome(part))
      for pieces in Pieces.some(of: end) {
        #expect(FrameModel.read(part, pieces) == FrameModel.outcome(part))
      }
    }
  }

  // MARK: Rules

  /// Each two bytes that a header can begin with, outside and inside a message, in one piece and in two.
  @Test func eachHeader() {
    for prefix in [[], Self.frame(2, [1], isFinal: false)] {
      for first in UInt8.min...UInt8.max {
        for second in UInt8.min...UInt8.max {
          let bytes = prefix + [first, second, 0, 130, 0, 1]
          let expected = FrameModel.outcome(bytes)
          let cut = Pieces(cutAt: [prefix.count + 1], of: bytes.count)
          // The macro takes its time, and there are 131,072 of them.
          if FrameModel.read(bytes) != expected || FrameModel.read(bytes, cut) != expected {
            Issue.record("\(prefix) \(first) \(second)")
          }
        }
      }
    }
  }

  @Test(
    arguments: [
      ("C2 00", 1002), ("A2 00", 1002), ("92 00", 1002), ("82 80", 1002), ("83 00", 1002), ("87 00", 1002),
      ("8B 00", 1002), ("8F 00", 1002), ("80 00", 1002), ("00 00", 1002), ("02 00 82 00", 1002),
      ("02 00 02 00", 1002), ("09 00", 1002), ("08 00", 1002), ("0A 00", 1002), ("89 7E", 1002),
      ("88 7E", 1002),
      ("8A 7F", 1002), ("82 7E 00 7D", 1002), ("82 7F 00*6 FF FF", 1002), ("82 7F 80 00*7", 1002),
      ("82 7F FF*8", 1002), ("81 00", 1003), ("01 00", 1003), ("02 00 81 00", 1002),
    ] as [(String, UInt16)])
  func eachRuleBroken(text: String, code: UInt16) {
    let bytes = hex(text) + [1, 2, 3]
    for pieces in Pieces.all(of: bytes.count) {
      let outcome = FrameModel.read(bytes, pieces)
      #expect(outcome.violation == code && outcome.payload.isEmpty)
    }
  }

  /// Nothing is read behind the end.
  @Test func theEndIsFinal() {
    for end in [hex("82 80"), Self.frame(8, []), Self.frame(8, [0x03, 0xE8])] {
      var reader = WebSocketReader()
      #expect(FrameModel.payload(of: Self.frame(2, [1]) + end + Self.frame(2, [2]), &reader) == [1])
      #expect(reader.isOver)
      let (code, violation) = (reader.closeCode, reader.violation)
      #expect(FrameModel.payload(of: Self.frame(2, [3]) + Self.frame(8, [0x0F, 0xA0]), &reader) == [])
      #expect(reader.closeCode == code && reader.violation == violation)
    }
  }

  // MARK: Lengths

  /// A frame of nearly 2^63 bytes is one of which much is to come.
  @Test(arguments: ["7F FF*7", "00 00 00 01 00*4", "00 00 00 00 FF FF FF FF", "00*4 80 00 00 00"])
  func hugeFrames(length: String) {
    var reader = WebSocketReader()
    var left = hex(length).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    #expect(FrameModel.payload(of: hex("82 7F") + hex(length), &reader) == [])
    for count in [1, 1000, 65_536] {
      let piece = [UInt8](repeating: 0x82, count: count)
      #expect(FrameModel.payload(of: piece, &reader) == piece)
      left -= UInt64(count)
    }
    #expect(reader.left == left && reader.isInFrame)
  }

  /// The lower half runs out, and takes one from the upper half.
  @Test func aFrameOfMoreThanFourGibibytes() {
    var reader = WebSocketReader()
    _ = FrameModel.payload(of: hex("82 7F 00 00 00 02 00 00 00 05"), &reader)
    #expect(FrameModel.payload(of: [1, 2, 3], &reader).count == 3)
    #expect(reader.left == 0x2_0000_0002)
    #expect(FrameModel.payload(of: [1, 2, 3], &reader).count == 3)
    #expect(reader.left == 0x1_FFFF_FFFF && reader.isInFrame)
  }

  // MARK: Control frames

  @Test func theNewestPingIsAnswered() {
    var reader = WebSocketReader()
    _ = FrameModel.payload(of: Self.frame(9, [1]) + Self.frame(9, [2, 3]), &reader)
    #expect(reader.isPongOwed && reader.pongPayload.array == [2, 3])
    // A Pong that nobody asked for changes nothing.
    _ = FrameModel.payload(of: Self.frame(10, [4]), &reader)
    #expect(reader.pongPayload.array == [2, 3])
    reader.answeredPing()
    #expect(!reader.isPongOwed && reader.pongPayload.array.isEmpty)
    let longest = (0..<125).map { UInt8($0) }
    _ = FrameModel.payload(of: Self.frame(9, longest), &reader)
    #expect(reader.pongPayload.array == longest)
    // After Close, no Pong is owed.
    _ = FrameModel.payload(of: Self.frame(8, [0x03, 0xE9]), &reader)
    #expect(!reader.isPongOwed && reader.closeCode == 1001)
  }

  /// Section 7.4.
  @Test func eachCodeOfClose() {
    for code in UInt16.min...UInt16.max {
      let outcome = Self.read(Self.frame(8, twoBytes(code)))
      switch code {
      case 1000...1003, 1007...1014, 3000...4999: #expect(outcome == Outcome(closeCode: code))
      default: #expect(outcome == Outcome(violation: 1002), "\(code)")
      }
    }
  }

  @Test func reasonsOfClose() {
    for reason in ["bye", "äöü€𝄞", "\0", String(repeating: "r", count: 123)] {
      let outcome = Self.read(Self.frame(8, twoBytes(1008) + reason.bytes))
      #expect(outcome == Outcome(closeCode: 1008, reason: reason.bytes))
    }
    for text in ["80", "C3", "C0 80", "ED A0 80", "F4 90 80 80", "61 FF"] {
      #expect(Self.read(Self.frame(8, twoBytes(1008) + hex(text))) == Outcome(violation: 1007))
    }
    #expect(Self.read(Self.frame(8, [])) == Outcome(closeCode: 1005))
    #expect(Self.read(Self.frame(8, [3])) == Outcome(violation: 1002))
  }

  // MARK: At random

  private static func randomFrames(_ random: inout SeededRandom) -> [UInt8] {
    var bytes: [UInt8] = []
    var isInMessage = false
    for _ in 0..<random.from(1...8) {
      if random.percent(30) {
        bytes += frame(random.percent(5) ? 8 : random.pick([9, 10]), random.bytes(random.below(126)))
        continue
      }
      let isFinal = random.percent(70)
      let count =
        random.percent(10) ? random.below(70_000) : random.percent(30) ? random.below(300) : random.below(20)
      bytes += frame(isInMessage ? 0 : 2, random.bytes(count), isFinal: isFinal)
      isInMessage = !isFinal
    }
    // One byte is another one.
    if random.percent(40) { bytes[random.below(min(bytes.count, 600))] = random.bytes(1)[0] }
    return bytes
  }

  @Test func randomFramesAreReadAsTheModelReadsThem() {
    var random = SeededRandom(seed: 5)
    var violations = 0
    for _ in 0..<1500 {
      let bytes = Self.randomFrames(&random)
      let expected = FrameModel.outcome(bytes)
      if expected.violation != nil { violations += 1 }
      let cuts = (0..<random.below(12)).map { _ in
        random.percent(50) ? random.below(bytes.count) : random.below(min(bytes.count, 40))
      }
      #expect(FrameModel.read(bytes, Pieces(cutAt: cuts, of: bytes.count)) == expected)
      #expect(FrameModel.read(bytes) == expected)
    }
    #expect(violations > 100 && violations < 1000)
  }

  @Test func anyBytesAtAll() {
    var random = SeededRandom(seed: 6)
    for _ in 0..<20_000 {
      var bytes = random.bytes(random.below(40))
      for index in bytes.indices where random.percent(60) {
        bytes[index] = random.pick([0x82, 0x02, 0x80, 0x00, 0x89, 0x88, 0x03, 0xE8, 0x7E, 0x7F, 1, 2])
      }
      let pieces = Pieces(cutAt: [random.below(41), random.below(41)], of: bytes.count)
      #expect(FrameModel.read(bytes, pieces) == FrameModel.outcome(bytes), "\(bytes)")
    }
  }
}

extension WebSocketReader {
  /// What is to come of the frame.
  var left: UInt64 { UInt64(leftHigh) << 32 | UInt64(leftLow) }
}
