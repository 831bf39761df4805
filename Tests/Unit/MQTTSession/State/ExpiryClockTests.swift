import MQTTWire
import Storage
import TestSupport
import Testing

@testable import MQTTSession

/// Does the clock count seconds, whatever is done to it?
@Suite struct ExpiryClockTests {
  @Test(arguments: [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF] as [UInt32])
  func counts(start: UInt32) {
    var clock = ExpiryClock()
    #expect(clock.seconds == 1)
    clock.advance(to: Instant(milliseconds: start))
    #expect(clock.seconds == 1)
    for (time, seconds) in [(999, 1), (1000, 2), (1500, 2), (1400, 2), (2999, 3), (10_000, 11), (9000, 11)]
      as [(UInt32, UInt32)]
    {
      clock.advance(to: Instant(milliseconds: start &+ time))
      #expect(clock.seconds == seconds, "after \(time)")
    }
  }

  /// Ten years, in steps of any length that is allowed, round the clock of milliseconds many times.
  @Test func goesOn() {
    var random = SeededRandom(seed: 4)
    var clock = ExpiryClock()
    var milliseconds: UInt64 = 12_345
    clock.advance(to: Instant(milliseconds: 12_345))
    var wrong = 0
    while milliseconds < 315_360_000_000 {
      milliseconds += UInt64(random.below(random.percent(1) ? 2_000_000_000 : 86_400_000))
      clock.advance(to: Instant(milliseconds: UInt32(truncatingIfNeeded: milliseconds)))
      if UInt64(clock.seconds) != 1 + (milliseconds - 12_345) / 1000 { wrong += 1 }
    }
    #expect(wrong == 0)
  }

  @Test func deadlines() {
    var clock = ExpiryClock()
    clock.advance(to: Instant(milliseconds: 0xFFFF_FF00))
    #expect(clock.deadline(of: 1) == Instant(milliseconds: 0xFFFF_FF00))
    #expect(clock.deadline(of: 0) == Instant(milliseconds: 0xFFFF_FF00))
    #expect(clock.deadline(of: 3) == Instant(milliseconds: 0xFFFF_FF00 &+ 2000))
    // In a day there will be another look.
    let tomorrow = Instant(milliseconds: 0xFFFF_FF00 &+ 86_400_000)
    for second: UInt32 in [86_401, 86_402, 31_536_000, .max] {
      #expect(clock.deadline(of: second) == tomorrow)
    }
  }

  @Test func ends() {
    var clock = ExpiryClock()
    let now = Instant(milliseconds: 500)
    clock.restart(at: now)
    #expect(clock.second(after: 10, from: now) == 11)
    #expect(clock.second(after: 10, from: now.advanced(by: 1)) == 12)
    for wait: UInt32 in [.max - 2, .max - 1, .max] {
      for later: UInt32 in [0, 1] {
        #expect(clock.second(after: wait, from: now.advanced(by: later)) >= UInt32.max - 1)
      }
    }
  }

  @Test func restarts() {
    var clock = ExpiryClock()
    clock.restart(at: Instant(milliseconds: 100))
    clock.restart(at: Instant(milliseconds: 2900))
    #expect(clock.seconds == 3)
    clock.advance(to: Instant(milliseconds: 3899))
    #expect(clock.seconds == 3)
    clock.advance(to: Instant(milliseconds: 3900))
    #expect(clock.seconds == 4)
    // A month later.
    clock.restart(at: Instant(milliseconds: 3900 &+ 3_000_000_000))
    #expect(clock.seconds == 3_000_004)
    clock.advance(to: Instant(milliseconds: 4900 &+ 3_000_000_000))
    #expect(clock.seconds == 3_000_005)
  }
}
