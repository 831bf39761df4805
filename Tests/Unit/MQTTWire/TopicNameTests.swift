import TestSupport
import Testing

@testable import MQTTWire

@Suite struct TopicNameTests {
  private func fault(_ name: [UInt8]) -> TopicName.Fault? {
    do throws(TopicName.Fault) {
      try TopicName.validate(name.span)
      return nil
    } catch {
      return error
    }
  }

  /// §4.7.1, §4.7.3.
  @Test(arguments: [
    "a", "/", "//", "a/b", "/finance", " ", "$SYS/x", "a*b", "\u{B5}", "\u{6C17}/\u{1D11E}", "\u{FEFF}",
  ])
  func good(name: String) {
    #expect(fault(name.bytes) == nil)
  }

  @Test(
    arguments: [
      ("", TopicName.Fault.empty), ("2B", .wildcard), ("23", .wildcard), ("61 2F 2B", .wildcard),
      ("61 2F 23", .wildcard), ("61 2B 62", .wildcard), ("C2 B5 23", .wildcard),
      ("2F 2B 2F C2 B5", .wildcard), ("00", .utf8), ("61 00", .utf8), ("00 61", .utf8), ("80", .utf8),
      ("61 FF", .utf8),
      ("C0 80", .utf8), ("ED A0 80", .utf8), ("F4 90 80 80", .utf8), ("C2", .utf8), ("2B 00", .utf8),
      ("23 80", .utf8),
      ("61*65535", nil), ("61*65536", .tooLong), ("61*65534 2B", .wildcard), ("61*65534 FF", .utf8),
    ] as [(String, TopicName.Fault?)])
  func table(name: String, expected: TopicName.Fault?) {
    #expect(fault(hex(name)) == expected)
  }

  /// One strange byte at each place.
  @Test func oneStrangeByte() {
    for count in 1...40 {
      for place in 0..<count {
        for (byte, expected) in [
          (0x2B, .wildcard), (0x23, .wildcard), (0, .utf8), (0x80, .utf8), (0xFF, .utf8),
        ]
          as [(UInt8, TopicName.Fault)]
        {
          var name = [UInt8](repeating: 0x61, count: count)
          name[place] = byte
          #expect(fault(name) == expected, "\(byte) at \(place) of \(count)")
        }
      }
    }
  }
}

/// The look at a Topic Name a word at a time finds what a look at each byte finds.
@Suite struct TopicNameByWordTests {
  @Test(arguments: 1...34)
  func everyByteAtEveryPlace(count: Int) {
    for place in 0..<count {
      for byte in UInt8.min...UInt8.max {
        // Neighbours whose bytes come near those that are looked for.
        for filler: UInt8 in [0x01, 0x22, 0x24, 0x2A, 0x2C, 0x61, 0x7F] {
          var name = [UInt8](repeating: filler, count: count)
          name[place] = byte
          // A single byte above 0x7F is never UTF-8.
          let isValid = byte != 0 && byte != UInt8(ascii: "+") && byte != UInt8(ascii: "#") && byte < 0x80
          guard Self.isValid(name) == isValid else {
            Issue.record("\(name)")
            return
          }
        }
      }
    }
  }

  @Test func outsideTheLimits() {
    #expect(!Self.isValid([]))
    #expect(Self.isValid([UInt8](repeating: 0x61, count: 65_535)))
    #expect(!Self.isValid([UInt8](repeating: 0x61, count: 65_536)))
    #expect(Self.isValid(Array("Küche/Wärme/é".utf8)))
    #expect(!Self.isValid(Array("Küche/+/é".utf8)))
  }

  private static func isValid(_ name: [UInt8]) -> Bool { TopicName.isValid(name.span) }
}
