// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// What libmosquitto accepts as text.

import CMosquitto
import MQTTWire

/// It accepts one byte more than a UTF-8 Encoded String may have.
@c public func mosquitto_validate_utf8(_ string: UnsafePointer<CChar>?, _ size: Int32) -> Int32 {
  guard let string = unsafe string, 0...65_536 ~= size else { return Int32(MOSQ_ERR_INVAL) }
  let bytes = unsafe span(UnsafeRawPointer(string), Int(size))
  guard UTF8EncodedString.isValid(bytes), !hasUnwanted(bytes) else { return Int32(MOSQ_ERR_MALFORMED_UTF8) }
  return Int32(MOSQ_ERR_SUCCESS)
}

/// Whether there is a control character or a noncharacter, which the specification only advises against
/// (§1.5.4). The bytes are well-formed UTF-8.
private func hasUnwanted(_ bytes: Span<UInt8>) -> Bool {
  for index in 0..<bytes.count {
    switch bytes[index] {
    case 0x00...0x1F, 0x7F: return true
    case 0xC2 where bytes[index + 1] < 0xA0: return true
    case 0xEF where bytes[index + 1] == 0xB7 && 0x90...0xAF ~= bytes[index + 2]: return true
    case 0xEF where isLastOfPlane(bytes, index): return true
    case 0xF0... where bytes[index + 1] & 0x0F == 0x0F && isLastOfPlane(bytes, index + 1): return true
    default: break
    }
  }
  return false
}

/// Whether the two bytes behind `index` end a character with the bits FFFE or FFFF.
private func isLastOfPlane(_ bytes: Span<UInt8>, _ index: Int) -> Bool {
  bytes[index + 1] == 0xBF && bytes[index + 2] >= 0xBE
}
