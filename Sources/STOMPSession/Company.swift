/// What went out on this connection, beside the frame whose receipt is due, and of which nobody knows whether the server has
/// dealt with it: acknowledgements, and frames without a receipt. "a RECEIPT frame is also a cumulative acknowledgment that
/// all the previous frames have been received by the server" ("RECEIPT").
struct Company: BitwiseCopyable {
  private var isBefore = false
  private var isBehind = false

  var isNone: Bool { !isBefore && !isBehind }

  /// Such a frame was sent, or a part of one.
  mutating func came() { isBehind = true }

  /// One of an outbox was sent, or a part of it.
  mutating func sent(hasReceipt: Bool, isBegun: Bool) {
    guard hasReceipt else { return came() }
    guard !isBegun else { return }
    isBefore = !isNone
    isBehind = false
  }

  /// The receipt came.
  mutating func confirmed() { isBefore = false }
}
