import Storage
import TestSupport
import Testing

@Suite struct ByteSearchTests {
  /// At each place, with bytes before it that a search over words could take for it.
  @Test func allPlaces() {
    for wanted in [0, 10, 92, 0x80, 0xFF] as [UInt8] {
      for count in 0...70 {
        var bytes = [UInt8](repeating: wanted &- 1, count: count)
        for (index, _) in bytes.enumerated() where index % 3 == 0 { bytes[index] = wanted ^ 0x80 }
        #expect(ByteSearch.firstIndex(of: wanted, in: bytes.span, from: 0) == count)
        for place in 0..<count {
          var found = bytes
          found[place] = wanted
          if place + 1 < count { found[place + 1] = wanted &+ 1 }
          for start in 0...count {
            let expected = place >= start ? place : count
            #expect(ByteSearch.firstIndex(of: wanted, in: found.span, from: start) == expected)
          }
        }
      }
    }
  }
}
