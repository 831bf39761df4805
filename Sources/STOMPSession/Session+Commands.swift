import Journal
public import STOMPWire
public import Storage

/// What happens to a frame for which there is no room.
public enum Overflow: UInt8, BitwiseCopyable {
  case refuse  // the call fails
  case dropOldest  // the oldest ones that may be dropped make room for it
  case dropNewest  // it is dropped itself
}

/// SEND, as the application describes it.
public struct OutgoingFrame: ~Copyable, ~Escapable {
  public var destination: Span<UInt8>
  public var contentType: Span<UInt8>
  /// More headers (`HeaderList`).
  public var headers: Span<UInt8>
  public var body: Span<UInt8>
  public var cookie: UInt64 = 0
  /// 0: in none.
  public var transaction: UInt16 = 0
  /// It is complete when the server has confirmed it, and not when it was sent.
  public var wantsReceipt = false
  /// If the connection breaks before that, it is sent again, and may arrive twice.
  public var isRepeatable = false
  public var isQuiet = false
  /// It goes before all that are not, and has room of its own.
  public var isUrgent = false
  /// The journal keeps it until the server has confirmed it. It wants a receipt, and is repeatable, whether it says so or not;
  /// it is in no transaction, not urgent, and makes room for nobody.
  public var isStored = false
  public var overflow = Overflow.refuse
  /// ActiveMQ makes a text of a message without a content-length.
  public var omitsLength = false

  @_lifetime(copy destination, copy contentType, copy headers, copy body)
  public init(
    destination: Span<UInt8>, contentType: Span<UInt8>, headers: Span<UInt8>, body: Span<UInt8>
  ) {
    self.destination = destination
    self.contentType = contentType
    self.headers = headers
    self.body = body
  }

  /// Whether it can be sent in this version. Returns whether its destination is the same in all of them.
  @inline(__always)
  func check(_ version: STOMPVersion) throws(STOMPError) -> Bool {
    let sizes = destination.count | contentType.count | headers.count | body.count
    guard sizes < STOMPSession.tooManyBytes else { throw .tooLarge }
    guard destination.count > 0 else { throw .destination }
    let isPlain = HeaderText.isPlainText(destination)
    guard isPlain || HeaderText.isValid(destination, version, isName: false) else { throw .destination }
    guard contentType.count == 0 || HeaderText.isValid(contentType, version, isName: false),
      headers.count == 0 || HeaderList.isValid(headers, version)
    else { throw .header }
    if omitsLength, ByteSearch.firstIndex(of: 0, in: body, from: 0) < body.count { throw .body }
    return isPlain
  }

  /// How many bytes the frame has, if it can be sent in this version.
  public func size(_ version: STOMPVersion, number: UInt32) throws(STOMPError) -> Int {
    let isPlain = try check(version)
    var size = FrameSize(version)
    describe(to: &size, number: number, isPlain: isPlain)
    return size.count
  }

  /// `digits`: those of the length of the body, if they were counted.
  @inline(__always)
  func describe<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output, number: UInt32, isPlain: Bool, digits: Int? = nil
  ) {
    output.begin(.send)
    if isStored { output.header("receipt", StoredFrame.noNumber) }
    if isPlain {
      output.header("destination", verbatim: destination)
    } else {
      output.header("destination", destination)
    }
    if contentType.count > 0 { output.header("content-type", contentType) }
    if !omitsLength {
      let length = UInt32(truncatingIfNeeded: body.count)
      output.header("content-length", length, digits: digits ?? Decimal.size(length))
    }
    if transaction != 0 { output.header("transaction", UInt32(transaction)) }
    if wantsReceipt, !isStored {
      if isUrgent {
        output.header("receipt", letter: Receipt.urgentLetter, number)
      } else {
        output.header("receipt", number)
      }
    }
    if headers.count > 0 { output.headers(headers) }
    output.body(body)
  }
}

/// Sending. A call that throws has changed nothing.
extension STOMPSession {
  /// `wasSubmitted`: before the application asked to disconnect, if it did. False: there was no room, and the frame itself was
  /// dropped.
  public mutating func send(
    _ frame: borrowing OutgoingFrame, wasSubmitted: Bool = false
  ) throws(STOMPError) -> Bool {
    guard !isLeaving || wasSubmitted && !hasDisconnect else { throw .leaving }
    let isPlain = try frame.check(version)
    guard frame.transaction == 0 || transactions.contains(frame.transaction) else { throw .transaction }
    if frame.isStored { return try Self.store(frame, isPlain, in: &outbox, version) }
    if frame.isUrgent { return try Self.put(frame, isPlain, into: &urgent, &sending, .urgent, version) }
    return try Self.put(frame, isPlain, into: &outbox, &sending, .outbox, version)
  }

  @_optimize(speed)
  @inline(never)
  private static func put(
    _ frame: borrowing OutgoingFrame, _ isPlain: Bool, into queue: inout FrameQueue, _ sending: inout Sending,
    _ source: Sending.Source, _ version: STOMPVersion
  ) throws(STOMPError) -> Bool {
    let number = queue.nextNumber
    var size = FrameSize(version)
    frame.describe(to: &size, number: number, isPlain: isPlain)
    guard size.count <= queue.capacity else { throw .tooLarge }
    var place = queue.place(for: size.count)
    if place == nil { place = try makeRoom(for: size.count, frame.overflow, in: &queue, &sending, source) }
    guard let offset = place else { return false }
    var writer = FrameWriter(queue.space(at: offset, count: size.count), version)
    frame.describe(to: &writer, number: number, isPlain: isPlain)
    let dialect = writer.dialect
    queue.append(
      FrameQueue.Entry(
        cookie: frame.cookie, offset: UInt32(truncatingIfNeeded: offset),
        size: UInt32(truncatingIfNeeded: size.count), transaction: frame.transaction, kind: .send,
        hasReceipt: frame.wantsReceipt, isRepeatable: frame.isRepeatable, isQuiet: frame.isQuiet,
        isDroppable: frame.overflow != .refuse && frame.transaction == 0, dialect: dialect))
    return true
  }

  /// Returns true: such a frame is never dropped.
  @inline(never)
  @_optimize(size)
  private static func store(
    _ frame: borrowing OutgoingFrame, _ isPlain: Bool, in queue: inout FrameQueue, _ version: STOMPVersion
  ) throws(STOMPError) -> Bool {
    guard queue.isJournaled else { throw .journal }
    let number = queue.nextNumber
    var size = FrameSize(version)
    frame.describe(to: &size, number: number, isPlain: isPlain)
    guard size.count <= queue.capacity else { throw .tooLarge }
    if let refusal = queue.stored.element.refusal(of: size.count) {
      throw refusal == .failed ? .journal : .tooLarge
    }
    guard let offset = queue.room(for: size.count) else { throw .full }
    var writer = FrameWriter(queue.space(at: offset, count: size.count), version)
    frame.describe(to: &writer, number: number, isPlain: isPlain)
    let dialect = writer.dialect
    var written = queue.space(at: offset, count: size.count)
    StoredFrame.setNumber(number, in: &written)
    queue.appendStored(
      FrameQueue.Entry(
        cookie: frame.cookie, offset: UInt32(truncatingIfNeeded: offset),
        size: UInt32(truncatingIfNeeded: size.count), transaction: 0, kind: .send, hasReceipt: true,
        isRepeatable: true, isQuiet: frame.isQuiet, dialect: dialect))
    return true
  }

  /// Where the frame goes after all; `nil`: it is dropped itself.
  @inline(never)
  @_optimize(size)
  private static func makeRoom(
    for size: Int, _ overflow: Overflow, in queue: inout FrameQueue, _ sending: inout Sending,
    _ source: Sending.Source
  ) throws(STOMPError) -> Int? {
    switch overflow {
    case .refuse:
      // It is full still, and the application is told when it is not.
      _ = queue.room(for: size)
      throw .full
    case .dropNewest:
      queue.count(.dropped)
      return nil
    case .dropOldest:
      let sent = sending.source == source ? sending.sent : 0
      guard let offset = queue.makeRoom(for: size, sent: sent) else { throw .full }
      // The one that was to be sent next may be gone.
      if sending.source == source, sent == 0 { sending = Sending() }
      return offset
    }
  }

  /// `send` would not find the queue full.
  public func hasRoom(for frame: borrowing OutgoingFrame) -> Bool {
    // One that can't be sent is told by `sendNothing`, which takes a place in the outbox, urgent or not.
    guard let size = try? frame.size(version, number: frame.isUrgent ? urgent.nextNumber : outbox.nextNumber)
    else {
      return outbox.hasRoom(for: FrameQueue.failedSize)
    }
    return frame.isUrgent
      ? Self.hasRoom(for: size, frame.overflow, in: urgent, sent(of: .urgent))
      : Self.hasRoom(for: size, frame.overflow, in: outbox, sent(of: .outbox))
  }

  private static func hasRoom(
    for size: Int, _ overflow: Overflow, in queue: borrowing FrameQueue, _ sent: Int
  ) -> Bool {
    queue.hasRoom(for: size) || overflow == .dropOldest && queue.canMakeRoom(for: size, sent: sent)
  }

  /// How many bytes of the frame at the front were sent.
  private func sent(of source: Sending.Source) -> Int { sending.source == source ? sending.sent : 0 }

  /// Whether there is room for urgent frames at all.
  public var hasUrgent: Bool { urgent.capacity > 0 }

  /// A frame that can't be sent is told with an outcome. False: there is no place for that now.
  public mutating func sendNothing(cookie: UInt64, _ outcome: FrameOutcome) -> Bool {
    outbox.appendFailed(cookie: cookie, outcome)
  }

  /// The size of the largest outbox, a power of two. A frame that has a part of it, or more, fits nowhere, and is refused before
  /// a byte of it is read: the pointer of a larger one may be wrong. With less in each part, a `FrameSize` cannot overflow, on a
  /// 32-bit processor either.
  public static var tooManyBytes: Int { 1 << 28 }
}
