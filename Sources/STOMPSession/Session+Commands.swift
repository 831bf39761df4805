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

  @inline(__always)
  func describe<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output, number: UInt32, isPlain: Bool
  ) {
    output.begin(.send)
    if isStored { output.header("receipt", StoredFrame.noNumber) }
    if isPlain {
      output.header("destination", verbatim: destination)
    } else {
      output.header("destination", destination)
    }
    if contentType.count > 0 { output.header("content-type", contentType) }
    if !omitsLength { output.header("content-length", UInt32(truncatingIfNeeded: body.count)) }
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

/// What the application wants. A call that throws has changed nothing.
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

  private mutating func room(for size: Int) throws(STOMPError) -> Int {
    guard size <= outbox.capacity else { throw .tooLarge }
    guard let offset = outbox.room(for: size) else { throw .full }
    return offset
  }

  // MARK: Subscriptions

  /// Returns the slot. The subscription is made again on each connection, until `unsubscribe`.
  public mutating func subscribe(
    to destination: Span<UInt8>, _ mode: AckMode, headers: Span<UInt8>, cookie: UInt64
  ) throws(STOMPError) -> Int {
    guard !isLeaving else { throw .leaving }
    guard destination.count | headers.count < Self.tooManyBytes else { throw .tooLarge }
    guard destination.count > 0, HeaderText.isValid(destination, version, isName: false) else {
      throw .destination
    }
    guard mode != .individual || (phase == .up ? version : newest).hasNack else { throw .version }
    guard HeaderList.isValid(headers, version) else { throw .header }
    guard let slot = subscriptions.firstFree else { throw .full }
    var size = FrameSize(version)
    let number = subscriptions.nextNumber(of: slot)
    Self.describe(to: &size, destination, mode, headers, slot, number)
    guard size.count <= subscriptions.frameBytes else { throw .tooLarge }
    let version = version
    var writer = FrameWriter(subscriptions.space(of: slot), version)
    Self.describe(to: &writer, destination, mode, headers, slot, number)
    let dialect = writer.dialect
    subscriptions.add(slot, mode, dialect, size: size.count, cookie: cookie)
    return slot
  }

  private static func describe<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output, _ destination: Span<UInt8>, _ mode: AckMode, _ headers: Span<UInt8>,
    _ slot: Int, _ number: UInt32
  ) {
    output.begin(.subscribe)
    output.header("id", UInt32(truncatingIfNeeded: slot))
    output.header("destination", destination)
    output.header("ack", mode.name)
    output.header("receipt", letter: Receipt.subscriptionLetter, number)
    output.headers(headers)
    output.end()
  }

  /// What waits for `acknowledge` of this subscription can't be acknowledged any more. With headers (`HeaderList`), by which a
  /// server ends a durable subscription, UNSUBSCRIBE is sent even if SUBSCRIBE was not.
  public mutating func unsubscribe(_ slot: Int, headers: Span<UInt8>, cookie: UInt64) throws(STOMPError) {
    guard !isLeaving else { throw .leaving }
    guard headers.count < Self.tooManyBytes else { throw .tooLarge }
    guard HeaderList.isValid(headers, version) else { throw .header }
    guard subscriptions.isUsed(slot), subscriptions[slot].state != .unwanted,
      subscriptions[slot].state != .leaving
    else { throw .subscription }
    // Its frame is on its way.
    guard sending.source != .subscription || sending.slot != slot else { throw .state }
    var size = FrameSize(version)
    let number = subscriptions.nextNumber(of: slot)
    Self.describeUnsubscribe(to: &size, headers, slot, number)
    guard size.count <= subscriptions.frameBytes else { throw .tooLarge }
    let version = version
    var writer = FrameWriter(subscriptions.space(of: slot), version)
    Self.describeUnsubscribe(to: &writer, headers, slot, number)
    let dialect = writer.dialect
    subscriptions.remove(slot, dialect, size: size.count, cookie: cookie, hasHeaders: headers.count > 0)
    held.subscriptionEnds(slot)
    unblock()
  }

  private static func describeUnsubscribe<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output, _ headers: Span<UInt8>, _ slot: Int, _ number: UInt32
  ) {
    output.begin(.unsubscribe)
    output.header("id", UInt32(truncatingIfNeeded: slot))
    output.header("receipt", letter: Receipt.subscriptionLetter, number)
    output.headers(headers)
    output.end()
  }

  // MARK: Acknowledgements

  /// Sends ACK, or NACK, for a message.
  public mutating func acknowledge(
    _ token: UInt64, isAccepted: Bool = true, transaction: UInt16 = 0
  ) throws(STOMPError) {
    guard isConnected else { throw .state }
    guard !isLeaving else { throw .leaving }
    guard isAccepted || version.hasNack else { throw .version }
    guard let slot = held.slot(of: token) else { throw .token }
    guard transaction == 0 || transactions.contains(transaction) else { throw .transaction }
    var size = FrameSize(version)
    Self.describe(to: &size, held, slot, isAccepted, transaction, version)
    if transaction == 0 {
      // DISCONNECT, and a heart-beat, always have room.
      guard control.capacity >= size.count &+ Self.controlReserve else { throw .tooLarge }
      if control.tailCount < size.count &+ Self.controlReserve, sending.source != .control {
        control.compact()
      }
      guard control.tailCount >= size.count &+ Self.controlReserve else {
        wasControlFull = true
        throw .full
      }
      Self.write(to: &control, held, slot, isAccepted, version)
      control.append(size.count)
    } else {
      let offset = try room(for: size.count)
      Self.write(to: &outbox, offset, size.count, held, slot, isAccepted, transaction, version)
      append(.acknowledge, offset, size.count, transaction, cookie: 0, hasReceipt: false)
    }
    held.acknowledged(slot)
    unblock()
  }

  mutating func unblock() {
    if arrival.isBlocked { (arrival.isBlocked, arrival.isUnblocked) = (false, true) }
  }

  /// Reads on, if a message had to wait for `acknowledge`.
  public mutating func resume(at now: Instant) {
    guard phase == .up, arrival.isUnblocked else { return }
    arrival.isUnblocked = false
    parse(at: now)
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func write(
    to control: inout ByteQueue, _ held: borrowing HeldMessages, _ slot: Int, _ isAccepted: Bool,
    _ version: STOMPVersion
  ) {
    var writer = FrameWriter(control.tail(), version)
    describe(to: &writer, held, slot, isAccepted, 0, version)
  }

  private static func write(
    to outbox: inout FrameQueue, _ offset: Int, _ size: Int, _ held: borrowing HeldMessages, _ slot: Int,
    _ isAccepted: Bool, _ transaction: UInt16, _ version: STOMPVersion
  ) {
    var writer = FrameWriter(outbox.space(at: offset, count: size), version)
    describe(to: &writer, held, slot, isAccepted, transaction, version)
  }

  private static var controlReserve: Int { 64 }

  private static func describe<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output, _ held: borrowing HeldMessages, _ slot: Int, _ isAccepted: Bool,
    _ transaction: UInt16, _ version: STOMPVersion
  ) {
    output.begin(isAccepted ? .ack : .nack)
    // As it came, with its escapes.
    output.header(version.hasAckHeader ? "id" : "message-id", verbatim: held.text(slot))
    if version == .v11 { output.header("subscription", UInt32(truncatingIfNeeded: held.subscription(slot))) }
    if transaction != 0 { output.header("transaction", UInt32(transaction)) }
    output.end()
  }

  // MARK: Transactions

  /// Sends BEGIN. Returns the number of the transaction, which lasts until `commit` or `abort`, or as long as the connection.
  public mutating func begin() throws(STOMPError) -> UInt16 {
    guard isConnected else { throw .state }
    guard !isLeaving else { throw .leaving }
    // The longest name is as long as that of any other.
    let size = transactionSize(.begin, .max, receipt: nil)
    let offset = try room(for: size)
    let transaction = transactions.begin()
    guard transaction != 0 else { throw .full }
    let written = writeTransaction(.begin, transaction, at: offset, count: size, receipt: nil)
    append(.begin, offset, written, transaction, cookie: 0, hasReceipt: false)
    return transaction
  }

  public mutating func commit(_ transaction: UInt16, cookie: UInt64) throws(STOMPError) {
    try end(transaction, .commit, .commit, cookie)
  }

  public mutating func abort(_ transaction: UInt16, cookie: UInt64) throws(STOMPError) {
    try end(transaction, .abort, .abort, cookie)
  }

  private mutating func end(
    _ transaction: UInt16, _ command: ClientCommand, _ kind: FrameQueue.Kind, _ cookie: UInt64
  ) throws(STOMPError) {
    guard isConnected else { throw .state }
    guard !isLeaving else { throw .leaving }
    guard transactions.contains(transaction) else { throw .transaction }
    let number = outbox.nextNumber
    let size = transactionSize(command, transaction, receipt: number)
    let offset = try room(for: size)
    _ = writeTransaction(command, transaction, at: offset, count: size, receipt: number)
    append(kind, offset, size, transaction, cookie: cookie, hasReceipt: true)
    transactions.end(transaction)
  }

  private func transactionSize(_ command: ClientCommand, _ transaction: UInt16, receipt: UInt32?) -> Int {
    var size = FrameSize(version)
    Self.describe(to: &size, command, transaction, receipt)
    return size.count
  }

  private mutating func writeTransaction(
    _ command: ClientCommand, _ transaction: UInt16, at offset: Int, count: Int, receipt: UInt32?
  ) -> Int {
    let version = version
    var writer = FrameWriter(outbox.space(at: offset, count: count), version)
    Self.describe(to: &writer, command, transaction, receipt)
    return writer.count
  }

  private static func describe<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output, _ command: ClientCommand, _ transaction: UInt16, _ receipt: UInt32?
  ) {
    output.begin(command)
    output.header("transaction", UInt32(transaction))
    if let receipt { output.header("receipt", receipt) }
    output.end()
  }

  private mutating func append(
    _ kind: FrameQueue.Kind, _ offset: Int, _ size: Int, _ transaction: UInt16, cookie: UInt64,
    hasReceipt: Bool
  ) {
    outbox.append(
      FrameQueue.Entry(
        cookie: cookie, offset: UInt32(truncatingIfNeeded: offset), size: UInt32(truncatingIfNeeded: size),
        transaction: transaction, kind: kind, hasReceipt: hasReceipt, isRepeatable: false,
        isQuiet: kind == .begin))
  }
}
