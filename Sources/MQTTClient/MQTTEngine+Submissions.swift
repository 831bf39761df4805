public import MQTTSession
import MQTTWire
public import Storage

public struct SubmissionNumbers: BitwiseCopyable {
  public let taken: Counter
  public let refused: Counter
  public let waiting: Int
  public let peak: Int
}

/// What other threads submitted goes into the outbox, in their order, as far as there is room: the rest
/// waits.
extension MQTTEngine {
  /// At most so many in a step, so that submitting threads cannot keep the owner from everything else.
  static var submissionsPerStep: Int { 256 }

  public var submissionNumbers: SubmissionNumbers {
    let totals = submissions.totals
    return SubmissionNumbers(
      taken: totals.put, refused: totals.refused, waiting: submissions.count, peak: submissions.peak)
  }

  public var isShared: Bool { Feature.hasSubmit && submissions.isOpen }

  /// Something that was submitted waits for room.
  var hasCollected: Bool { Feature.hasSubmit && submissions.hasCollected }

  /// While the application is leaving only what was submitted before goes out.
  @inline(__always)
  public mutating func takeWork(at now: Instant) {
    if isShared { takeSubmissions(at: now) }
  }

  @inline(never)
  private mutating func takeSubmissions(at now: Instant) {
    if !isLeaving { submissions.collect() }
    for _ in 0..<Self.submissionsPerStep {
      guard hasRoomForSubmission(at: now) else { return }
      guard Self.publishFirst(of: &submissions, into: &session, knowsAge: knowsAge, at: now) else { return }
    }
  }

  /// `takeWork` would bring a submitted message into the outbox.
  public func hasWork(at now: Instant) -> Bool {
    guard isShared else { return false }
    if submissions.hasCollected { return hasRoomForSubmission(at: now) }
    return !isLeaving && submissions.hasUncollected && !session.hasReservation
  }

  private func hasRoomForSubmission(at now: Instant) -> Bool {
    guard submissions.hasCollected, !isLeaving || session.closeReason == nil else { return false }
    return Self.hasRoom(for: submissions, in: session, isExpired: isExpired(submissions.header, at: now))
  }

  /// A second that has begun counts as a whole one, as everywhere.
  private func isExpired(_ submission: Submission, at now: Instant) -> Bool {
    submission.expires
      && submission.expiry <= Self.secondsWaited(submission, at: now, knowsAge: knowsAge)
  }

  /// 0 where the clock is the program's own, which other threads cannot read.
  private static func secondsWaited(_ submission: Submission, at now: Instant, knowsAge: Bool) -> UInt32 {
    knowsAge ? (now.milliseconds &- submission.submittedAt.milliseconds) / 1000 : 0
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.

  private static func hasRoom(
    for submissions: borrowing MPSCConsumer<Submission>, in session: borrowing Session, isExpired: Bool
  ) -> Bool {
    session.hasRoom(
      for: message(submissions.header, submissions.bytes), submissions.header.options, isExpired: isExpired)
  }

  /// False: it stays.
  private static func publishFirst(
    of submissions: inout MPSCConsumer<Submission>, into session: inout Session, knowsAge: Bool,
    at now: Instant
  ) -> Bool {
    var submission = submissions.header
    var options = submission.options
    var isExpired = false
    if submission.expires {
      let waited = secondsWaited(submission, at: now, knowsAge: knowsAge)
      isExpired = submission.expiry <= waited
      submission.expiry = isExpired ? 1 : submission.expiry &- waited
      options.expiry = submission.expiry
      if submission.expiryOffset != 0 {
        let place = Int(truncatingIfNeeded: submission.expiryOffset &- 1)
        options.expiryInProperties = place
        write(submission.expiry, at: Int(submission.topicSize) &+ place, into: &submissions)
      }
    }
    do throws(SessionError) {
      try session.publishChecked(
        message(submission, submissions.bytes), options, isExpired: isExpired, at: now)
    } catch {
      return false
    }
    submissions.removeFirst()
    return true
  }

  @_lifetime(copy bytes)
  private static func message(_ submission: Submission, _ bytes: Span<UInt8>) -> Publish {
    let properties = Int(submission.topicSize)
    let payload = properties &+ Int(truncatingIfNeeded: submission.propertiesSize)
    let end = payload &+ Int(truncatingIfNeeded: submission.payloadSize)
    var message = Publish(
      topic: bytes.extracting(0..<properties), payload: bytes.extracting(payload..<end), qos: submission.qos,
      retain: submission.retain, properties: bytes.extracting(properties..<payload))
    if submission.expiryOffset == 0 { message.own.messageExpiryInterval = submission.expiry }
    return message
  }

  private static func write(
    _ number: UInt32, at offset: Int, into submissions: inout MPSCConsumer<Submission>
  ) {
    var bytes = submissions.mutableBytes
    for index in 0..<4 {
      bytes[offset &+ index] = UInt8(truncatingIfNeeded: number >> UInt32(24 &- 8 &* index))
    }
  }
}
