import TestSupport
import Testing

@testable import Transports

/// RFC 6455 sections 5.2 and 5.3.
@Suite struct WebSocketWriterTests {
  private static func frame(
    _ opcode: WebSocketOpcode, _ payload: [UInt8], key: UInt32 = 0x3D21_FA37, room: Int? = nil
  ) -> [UInt8] {
    written(room: room ?? payload.count + 14) {
      WebSocketWriter.frame(opcode, payload.span, key: MaskingKey(key), into: &$0)
    }!
  }

  /// What a server makes of a frame: nothing of the library in it.
  private static func unmasked(_ frame: [UInt8]) -> (first: UInt8, payload: [UInt8])? {
    guard frame.count >= 6, frame[1] >= 128 else { return nil }
    let short = Int(frame[1] & 127)
    let lengthBytes = short == 127 ? 8 : short == 126 ? 2 : 0
    let length = lengthBytes == 0 ? short : frame[2..<2 + lengthBytes].reduce(0) { $0 << 8 | Int($1) }
    guard lengthBytes == (length < 126 ? 0 : length < 65_536 ? 2 : 8) else { return nil }
    let key = Array(frame[(2 + lengthBytes)..<(6 + lengthBytes)])
    let payload = frame[(6 + lengthBytes)...]
    guard payload.count == length, key != [0, 0, 0, 0] else { return nil }
    return (frame[0], payload.enumerated().map { $1 ^ key[$0 % 4] })
  }

  /// Section 5.7, with the key 37 FA 21 3D.
  @Test func theExamplesOfTheStandard() {
    #expect(Self.frame(.text, "Hello".bytes) == hex("81 85 37 FA 21 3D 7F 9F 4D 51 58"))
    #expect(Self.frame(.pong, "Hello".bytes) == hex("8A 85 37 FA 21 3D 7F 9F 4D 51 58"))
  }

  @Test func eachSizeOfAPayload() {
    for count in Array(0...300) + [65_533, 65_534, 65_535, 65_536, 65_537, 70_001] {
      let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 5) }
      let frame = Self.frame(.binary, payload)
      #expect(frame.count == count + WebSocketWriter.headerSize(payload: count))
      let server = Self.unmasked(frame)
      #expect(server?.first == 0x82 && server?.payload == payload, "\(count)")
    }
  }

  @Test func aFrameThatDoesNotFitIsNotBegun() {
    for count in [0, 1, 125, 126, 65_535, 65_536] {
      let payload = [UInt8](repeating: 1, count: count)
      let size = count + WebSocketWriter.headerSize(payload: count)
      #expect(Self.frame(.binary, payload, room: size).count == size)
      #expect(Self.frame(.binary, payload, room: size - 1) == [])
      #expect(Self.frame(.binary, payload, room: 0) == [])
    }
  }

  @Test func theLargestPayloadThatFits() {
    for room in Array(0...300) + Array(65_500...65_600) {
      let largest = WebSocketWriter.largestPayload(in: room)
      func size(_ count: Int) -> Int { count + WebSocketWriter.headerSize(payload: count) }
      #expect(largest == 0 || size(largest) <= room)
      #expect(size(largest + 1) > room, "\(room)")
    }
  }

  @Test func close() {
    let reason = "so long".bytes
    var frame = written {
      WebSocketWriter.close(code: 1000, reason: reason.span, key: MaskingKey(1), into: &$0)
    }!
    #expect(Self.unmasked(frame)?.first == 0x88 && Self.unmasked(frame)?.payload == hex("03 E8") + reason)
    let long = [UInt8](repeating: 0x61, count: 200)
    frame = written {
      WebSocketWriter.close(code: 1002, reason: long.span, key: MaskingKey(1), into: &$0)
    }!
    #expect(Self.unmasked(frame)?.payload == hex("03 EA") + Array(long[..<123]))
    for room in 0..<8 {
      frame = written(room: room) {
        WebSocketWriter.close(code: 1000, reason: Span(), key: MaskingKey(1), into: &$0)
      }!
      #expect(frame == [])
    }
  }

  @Test func randomPayloadsAreWhatAServerReads() {
    var random = SeededRandom(seed: 53)
    for _ in 0..<2000 {
      let payload = random.bytes(random.below(400))
      let key = UInt32(truncatingIfNeeded: random.next())
      #expect(Self.unmasked(Self.frame(.binary, payload, key: key))?.payload == payload)
    }
  }
}

@Suite struct MaskingKeysTests {
  @Test func eachRandomByteIsUsedOnce() {
    var keys = MaskingKeys()
    #expect(keys.isEmpty && keys.next() == nil)
    let random = (1...128).map { UInt8($0) }
    keys.refill(random.span)
    var used: [UInt8] = []
    for _ in 0..<32 {
      #expect(!keys.isEmpty)
      let value = keys.next()!.value
      used += (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
    #expect(used.sorted() == random)
    #expect(keys.isEmpty && keys.next() == nil)
  }

  @Test func aStockOfAnySize() {
    for count in [0, 1, 3, 4, 7, 8, 127, 200] {
      var keys = MaskingKeys()
      keys.refill([UInt8](repeating: 9, count: count).span)
      var taken = 0
      while keys.next() != nil { taken += 1 }
      #expect(taken == min(count, 128) / 4)
    }
  }

  /// The payload would be sent as it is.
  @Test func noKeyIsZero() {
    var keys = MaskingKeys()
    keys.refill([UInt8](repeating: 0, count: 8).span)
    #expect(keys.next()?.value != 0)
  }
}
