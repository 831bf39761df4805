import TestSupport

@testable import Transports

/// Frames in the terms of RFC 6455 section 5.2, and what a client makes of them: on arrays, with all bytes at once.
enum FrameModel {
  static func frame(
    _ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, reserved: UInt8 = 0, lengthBytes: Int? = nil
  ) -> [UInt8] {
    let least = payload.count < 126 ? 0 : payload.count < 65_536 ? 2 : 8
    let size = lengthBytes ?? least
    let length = (0..<size).map {
      UInt8(truncatingIfNeeded: UInt64(payload.count) >> UInt64(8 * (size - 1 - $0)))
    }
    let short = size == 0 ? UInt8(payload.count) : size == 2 ? 126 : 127
    return [(isFinal ? 0x80 : 0) | reserved << 4 | opcode, short] + length + payload
  }

  struct Outcome: Equatable {
    var payload: [UInt8] = []
    var violation: UInt16?
    var closeCode: UInt16?
    var reason: [UInt8] = []
    /// What the Pong is to repeat that is owed.
    var pong: [UInt8]?
  }

  static func outcome(_ bytes: [UInt8], takesText: Bool = false) -> Outcome {
    var outcome = Outcome()
    var rest = bytes[...]
    var isInMessage = false
    while rest.count >= 2 {
      let (first, second) = (rest[rest.startIndex], rest[rest.startIndex + 1])
      let opcode = first & 15
      let isFinal = first >= 128
      func broken(_ code: UInt16) -> Outcome {
        outcome.violation = code
        return outcome
      }
      if (first >> 4) & 7 != 0 || second >= 128 || ![0, 1, 2, 8, 9, 10].contains(opcode) {
        return broken(1002)
      }
      if opcode >= 8, !isFinal || second > 125 { return broken(1002) }
      if opcode == 0, !isInMessage { return broken(1002) }
      if opcode == 1 || opcode == 2, isInMessage { return broken(1002) }
      if opcode == 1, !takesText { return broken(1003) }
      let lengthBytes = second == 127 ? 8 : second == 126 ? 2 : 0
      guard rest.count >= 2 + lengthBytes else { break }
      let extended = rest.dropFirst(2).prefix(lengthBytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      if lengthBytes == 2, extended < 126 { return broken(1002) }
      if lengthBytes == 8, extended < 65_536 || extended >= 1 << 63 { return broken(1002) }
      let length = lengthBytes == 0 ? UInt64(second) : extended
      rest = rest.dropFirst(2 + lengthBytes)
      let here = rest.prefix(Int(min(length, UInt64(rest.count))))
      rest = rest.dropFirst(here.count)
      let isWhole = UInt64(here.count) == length
      if opcode < 8 {
        isInMessage = !isFinal
        outcome.payload += here
      } else if opcode < 10 {
        // The next Ping has begun.
        outcome.pong = nil
      }
      guard isWhole else { break }
      if opcode == 9 { outcome.pong = Array(here) }
      guard opcode == 8 else { continue }
      if here.isEmpty {
        outcome.closeCode = 1005
        return outcome
      }
      let payload = Array(here)
      guard payload.count >= 2 else { return broken(1002) }
      let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
      let isRegistered = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014].contains(
        code)
      guard isRegistered || 3000..<5000 ~= code else { return broken(1002) }
      guard String(validating: payload[2...], as: UTF8.self) != nil else { return broken(1007) }
      outcome.closeCode = code
      outcome.reason = Array(payload[2...])
      return outcome
    }
    return outcome
  }

  /// What the reader makes of the same bytes in pieces.
  static func read(_ bytes: [UInt8], _ pieces: Pieces? = nil, takesText: Bool = false) -> Outcome {
    var reader = WebSocketReader()
    reader.takesText = takesText
    var outcome = Outcome()
    var start = 0
    for end in pieces?.ends ?? [bytes.count] {
      outcome.payload += payload(of: Array(bytes[start..<end]), &reader)
      start = end
    }
    outcome.violation = reader.violation
    outcome.closeCode = reader.closeCode
    outcome.reason = reader.closeReason.array
    outcome.pong = reader.isPongOwed ? reader.pongPayload.array : nil
    return outcome
  }

  static func payload(of bytes: [UInt8], _ reader: inout WebSocketReader) -> [UInt8] {
    var buffer = bytes
    var span = buffer.mutableSpan
    let count = reader.received(&span)
    return Array(buffer[..<count])
  }
}
