import Storage
import Testing

@testable import Driver

@Suite struct TimersTests {
  private static func at(_ milliseconds: UInt32) -> Instant { Instant(milliseconds: milliseconds) }

  @Test func none() {
    let timers = Timers()
    #expect(timers.next == nil)
    for number in 0..<Timer.count { #expect(timers[Timer(rawValue: UInt8(number))!] == nil) }
    #expect(!timers.isDue(.retry, at: Self.at(0)))
  }

  /// Around the clock, too.
  @Test(arguments: [0, 1000, UInt32.max - 15]) func theFirst(of start: UInt32) {
    var timers = Timers()
    timers.start(.write, at: Self.at(start &+ 30))
    timers.start(.leave, at: Self.at(start &+ 10))
    timers.start(.connect, at: Self.at(start &+ 20))
    #expect(timers.next == Self.at(start &+ 10))
    timers.stop(.leave)
    #expect(timers.next == Self.at(start &+ 20))
    #expect(!timers.isDue(.connect, at: Self.at(start &+ 19)))
    #expect(timers.isDue(.connect, at: Self.at(start &+ 20)))
    #expect(!timers.isDue(.leave, at: Self.at(start &+ 20)))
    timers.stop(.connect)
    timers.stop(.write)
    #expect(timers.next == nil)
  }

  /// That a connection has lasted is found when somebody looks.
  @Test func nobodyWakesUpForStability() {
    var timers = Timers()
    timers.start(.stable, at: Self.at(10))
    #expect(timers.next == nil)
    #expect(!timers.areRunning)
    timers.start(.linger, at: Self.at(20))
    #expect(timers.areRunning)
    #expect(timers.next == Self.at(20))
    timers.stopAll(but: .stable)
    #expect(timers[.stable] == Self.at(10))
    #expect(timers[.linger] == nil)
  }

  @Test func earlierNotLater() {
    var timers = Timers()
    timers.startOrHasten(.retry, at: Self.at(30))
    timers.startOrHasten(.retry, at: Self.at(40))
    #expect(timers[.retry] == Self.at(30))
    timers.startOrHasten(.retry, at: Self.at(20))
    #expect(timers[.retry] == Self.at(20))
    timers.startIfStopped(.retry, at: Self.at(10))
    #expect(timers[.retry] == Self.at(20))
  }
}
