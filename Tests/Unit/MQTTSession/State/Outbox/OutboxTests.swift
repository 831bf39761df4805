import TestSupport
import Testing

@testable import MQTTSession

/// The outbox against `OutboxModel`. A run that fails prints its seed, which repeats it.
@Suite struct OutboxTests {
  static let capacities: [(messages: Int, bytes: Int)] = [
    (1, 64), (2, 64), (3, 70), (5, 101), (8, 129), (24, 256),
  ]

  @Test(arguments: capacities)
  func randomRuns(messages: Int, bytes: Int) {
    var failures = 0
    var accepted = 0
    var full = 0
    var resent = 0
    var wrapped = 0
    var dropped = 0
    var replaced = 0
    for seed in UInt64(0)..<2000 {
      let model = OutboxModel(seed: seed, messages: messages, bytes: bytes)
      do throws(OutboxModel.Disagreement) {
        try model.run(steps: 60)
      } catch {
        failures += 1
        if failures <= 5 {
          Issue.record("seed \(seed), \(messages) messages, \(bytes) bytes, \(model.version): \(error.text)")
        }
      }
      accepted += model.accepted
      full += model.refusedAsFull
      resent += model.resent
      wrapped += model.wrapped
      dropped += model.dropped
      replaced += model.replaced
    }
    #expect(failures == 0)
    // The runs reach what they are for.
    #expect(accepted > 5000)
    #expect(full > 1000)
    #expect(resent > 500)
    #expect(dropped > 500)
    #expect(replaced > 10 * messages)
    #expect(wrapped > 500 || messages <= 2)
  }

  /// Large ones, which are nearly full: with several chains of topics and groups of slots, and with more descriptors than
  /// messages.
  @Test(arguments: [(messages: 130, bytes: 2000), (130, 4000), (520, 12_000)])
  func largeRuns(messages: Int, bytes: Int) {
    var (ended, dropped, replaced) = (0, 0, 0)
    for seed in UInt64(0)..<8 {
      let model = OutboxModel(seed: seed, messages: messages, bytes: bytes)
      do throws(OutboxModel.Disagreement) {
        try model.run(steps: 2 * messages, waiting: 2 * messages)
      } catch {
        Issue.record("seed \(seed), \(messages) messages, \(bytes) bytes, \(model.version): \(error.text)")
      }
      ended += model.ended
      dropped += model.dropped
      replaced += model.replaced
    }
    #expect(ended > 8 * messages)
    #expect(dropped > messages)
    #expect(replaced > messages / 2)
  }
}
