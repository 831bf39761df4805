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

  /// Bytes in front of the one that is found are checked, and none behind it: at each place, from each start.
  @Test func whatIsStrangeInFront() {
    func search(_ bytes: [UInt8], from start: Int) -> (Int, Bool) {
      var strange: UInt = 0
      let found = ByteSearch.firstIndex(of: 10, in: bytes.span, from: start, strange: &strange) {
        Word.nonASCII($0) | Word.containsZero($0) | Word.contains(92, in: $0)
      }
      return (found, strange != 0)
    }
    for count in 0...36 {
      let plain = [UInt8](repeating: 11, count: count)
      for start in 0...count { #expect(search(plain, from: start) == (count, false)) }
      for place in 0..<count {
        var bytes = plain
        bytes[place] = 10
        for odd in [0, 92, 0x80, 0xFF] as [UInt8] {
          for other in 0..<count where other != place {
            var both = bytes
            both[other] = odd
            for start in 0...count {
              let found = start <= place ? place : count
              #expect(search(both, from: start) == (found, start <= other && other < found))
            }
          }
        }
      }
    }
  }
}
