import Testing

@testable import MQTTWire

/// The look at a Topic Name a word at a time finds what a look at each byte finds.
@Suite struct QuickLookTests {
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
