import TestSupport
import Testing

@testable import Transports

@Suite struct Base64Tests {
  private func encoded(_ pieces: [[UInt8]]) -> String {
    let bytes = written { target in
      var writer = RequestWriter(target._mutatingExtracting(...))
      var base64 = Base64()
      for piece in pieces { base64.encode(piece.span, into: &writer) }
      base64.finish(into: &writer)
      return writer.size
    }
    return String(decoding: bytes!, as: UTF8.self)
  }

  /// RFC 4648 section 10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func theVectorsOfTheStandard(plain: String, text: String) {
    #expect(encoded([plain.bytes]) == text)
    for cut in 0...plain.utf8.count {
      #expect(encoded([Array(plain.bytes[..<cut]), Array(plain.bytes[cut...])]) == text)
    }
  }

  /// RFC 4648 table 1: each value in its order.
  @Test func theWholeAlphabet() {
    var bytes: [UInt8] = []
    for first in stride(from: UInt32(0), to: 64, by: 4) {
      let group = first << 18 | (first + 1) << 12 | (first + 2) << 6 | (first + 3)
      bytes += [UInt8(group >> 16), UInt8(group >> 8 & 255), UInt8(group & 255)]
    }
    #expect(encoded([bytes]) == "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  }
}
