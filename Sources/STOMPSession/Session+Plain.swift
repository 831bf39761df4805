import STOMPWire
public import Storage

/// SEND as most of it is: a destination that every version writes as it is, and a body with its length.
extension STOMPSession {
  /// Does what `send` would do. False: the frame has more to it, or is refused; nothing is changed, and `send` knows why.
  ///
  /// It is inlined into `sst_send`: what is known of such a frame folds away there. That, and counting the digits of the length
  /// once, is half of the instructions of `send`.
  @inline(__always)
  public mutating func sendPlain(
    to destination: Span<UInt8>, _ body: Span<UInt8>, isQuiet: Bool, cookie: UInt64
  ) -> Bool {
    guard !isLeaving, destination.count > 0, destination.count | body.count < Self.tooManyBytes,
      HeaderText.isPlain(destination)
    else { return false }
    let frame = OutgoingFrame(destination: destination, contentType: Span(), headers: Span(), body: body)
    let digits = Decimal.size(UInt32(truncatingIfNeeded: body.count))
    var size = FrameSize(version)
    frame.describe(to: &size, number: 0, isPlain: true, digits: digits)
    guard let offset = outbox.place(for: size.count) else { return false }
    var writer = FrameWriter(outbox.space(at: offset, count: size.count), version)
    frame.describe(to: &writer, number: 0, isPlain: true, digits: digits)
    outbox.append(
      FrameQueue.Entry(
        cookie: cookie, offset: UInt32(truncatingIfNeeded: offset),
        size: UInt32(truncatingIfNeeded: size.count), transaction: 0, kind: .send, hasReceipt: false,
        isRepeatable: false, isQuiet: isQuiet))
    return true
  }
}
