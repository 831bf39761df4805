import STOMPSession
public import Storage

/// What other threads submitted goes into the outbox, in their order, as far as there is room: the rest waits.
extension STOMPEngine {
  /// At most so many in a step, so that submitting threads cannot keep the owner from everything else.
  private static var submissionsPerStep: Int { 256 }

  public var isShared: Bool { submissions.isOpen }

  public func hasWork(at now: Instant) -> Bool {
    guard submissions.isOpen, !session.hasDisconnect else { return false }
    if submissions.hasCollected { return Self.hasRoom(for: submissions, in: session) }
    return !session.isLeaving && submissions.hasUncollected
  }

  public mutating func takeWork(at now: Instant) {
    guard submissions.isOpen, !session.hasDisconnect else { return }
    // While the application is leaving only what was submitted before goes out.
    if !session.isLeaving { submissions.collect() }
    for _ in 0..<Self.submissionsPerStep {
      guard submissions.hasCollected, Self.hasRoom(for: submissions, in: session),
        Self.sendFirst(of: &submissions, from: &session)
      else { return }
    }
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.

  private static func hasRoom(
    for submissions: borrowing MPSCConsumer<FrameSubmission>, in session: borrowing STOMPSession
  ) -> Bool {
    session.hasRoom(for: submissions.header.frame(in: submissions.bytes))
  }

  /// False: it stays.
  private static func sendFirst(
    of submissions: inout MPSCConsumer<FrameSubmission>, from session: inout STOMPSession
  ) -> Bool {
    let submission = submissions.header
    do throws(STOMPError) {
      // One that is to be dropped itself has waited until there is room.
      _ = try session.send(submission.frame(in: submissions.bytes), wasSubmitted: true)
    } catch {
      // The version that the server has chosen does not have it, unless it is the journal that has failed.
      guard session.sendNothing(cookie: submission.cookie, error == .journal ? .journal : .version) else {
        return false
      }
    }
    submissions.removeFirst()
    return true
  }
}
