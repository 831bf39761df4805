import TestSupport
import Testing

/// Everything a session can be asked and told at once, by chance: packets that are nearly right, in pieces, and calls of
/// every kind in between. No trap; what is sent is packets; every message and every request ends once; and after
/// each connection there is another.
@Suite struct SessionFuzzTests {
  @Test(arguments: 0..<8)
  func everythingAtOnce(part: Int) {
    var ended = 0
    var handedOut = 0
    var endings: Set<String> = []
    for number in 0..<40 {
      let seed = UInt64(part * 1_000_000 + number)
      let fuzz = SessionFuzz(seed: seed)
      fuzz.run(steps: 400)
      if let fault = fuzz.fault { Issue.record("seed \(seed): \(fault)") }
      ended += fuzz.ended
      handedOut += fuzz.handedOut
      endings.formUnion(fuzz.endings)
    }
    // The runs reach what they are for.
    #expect(ended > 200)
    #expect(handedOut > 100)
    #expect(endings.count > 5)
  }
}
