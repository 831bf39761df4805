import Storage
import Testing

@Suite struct InstantTests {
  static let starts: [UInt32] = [0, 1, 1000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFF0, .max]

  @Test(arguments: starts)
  func isReached(start: UInt32) {
    let instant = Instant(milliseconds: start)
    #expect(instant.isReached(at: instant))
    for distance: UInt32 in [1, 2, 1000, 64_800_000, 0x7FFF_FFFF] {
      #expect(instant.isReached(at: instant.advanced(by: distance)))
      #expect(!instant.advanced(by: distance).isReached(at: instant))
    }
  }

  @Test(arguments: starts)
  func remaining(start: UInt32) {
    let now = Instant(milliseconds: start)
    #expect(now.remaining(at: now) == 0)
    for distance: UInt32 in [1, 2, 1000, 64_800_000, 0x7FFF_FFFF] {
      #expect(now.advanced(by: distance).remaining(at: now) == distance)
      #expect(now.remaining(at: now.advanced(by: distance)) == 0)
    }
  }

  @Test(arguments: starts)
  func earlier(start: UInt32) {
    let one = Instant(milliseconds: start)
    #expect(Instant.earlier(nil, nil) == nil)
    #expect(Instant.earlier(one, nil) == one)
    #expect(Instant.earlier(nil, one) == one)
    #expect(Instant.earlier(one, one) == one)
    for distance: UInt32 in [1, 1000, 64_800_000] {
      #expect(Instant.earlier(one, one.advanced(by: distance)) == one)
      #expect(Instant.earlier(one.advanced(by: distance), one) == one)
    }
  }

  @Test func advancedWraps() {
    #expect(Instant(milliseconds: .max).advanced(by: 1).milliseconds == 0)
    #expect(Instant(milliseconds: 5).advanced(by: .max).milliseconds == 4)
  }
}
