import STOMPWire
import Storage

/// What frames of the server do.
extension STOMPSession {
  /// Reads as many frames as there are before the next event. What it calls for a frame that is whole is inlined: each is
  /// called here alone.
  mutating func parse(at now: Instant) {
    while arrival.event.kind == .none, arrival.closeReason == nil, !arrival.isBlocked {
      if arrival.large != nil {
        guard continueBody() else { return }
        continue
      }
      if let size = nextFrame() {
        take(size, at: now)
      } else {
        if isErrorBegun { continueError(at: now) }
        if taps.isOn, arrival.large != nil || arrival.closeReason != nil { tellBeginning(at: now) }
        if arrival.large == nil { return }
      }
    }
  }

  /// Returns how many bytes the frame at the front has; `nil`: it is not whole.
  @inline(__always)
  private mutating func nextFrame() -> Int? {
    if !arrival.hasHead {
      // Before the first byte of a frame; a frame that has begun has none in front.
      let beats = FrameParser.leadingLineEnds(receiver.bytes)
      if beats > 0 {
        receiver.removeFirst(beats)
        arrival.parser = FrameParser()
      }
      guard !receiver.isEmpty else { return nil }
      let version = version
      do throws(MalformedFrame) {
        guard try Self.advance(&arrival.parser, receiver, version) else {
          makeRoom(or: .headTooLarge)
          return nil
        }
      } catch {
        close(.malformed(error))
        return nil
      }
      arrival.hasHead = true
      arrival.searched = arrival.parser.frame.bodyOffset
    }
    return sizeOfWhole()
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  @inline(__always)
  private static func advance(
    _ parser: inout FrameParser, _ receiver: borrowing ByteQueue, _ version: STOMPVersion
  ) throws(MalformedFrame) -> Bool {
    try parser.advance(receiver.bytes, version)
  }

  @inline(__always)
  private mutating func sizeOfWhole() -> Int? {
    if let length = arrival.parser.frame.contentLength {
      let head = arrival.parser.frame.bodyOffset
      // Compared like this, because a size of nearly 2^31 has no room in an `Int` of 32 bits.
      guard length < receiver.capacity &- head else {
        beginLarge(length)
        return nil
      }
      let size = head &+ length &+ 1
      guard receiver.count >= size else {
        makeRoom(for: size)
        return nil
      }
      guard receiver[size &- 1] == 0 else {
        close(.malformed(.bodyEnd))
        return nil
      }
      return size
    }
    let end = ByteSearch.firstIndex(of: 0, in: receiver.bytes, from: arrival.searched)
    guard end < receiver.count else {
      arrival.searched = receiver.count
      if receiver.count == receiver.capacity { beginLarge(nil) } else { makeRoom(for: receiver.count &+ 1) }
      return nil
    }
    return end &+ 1
  }

  /// Moves the frame to the front of the buffer, if that has no more space behind it.
  @inline(never)
  private mutating func makeRoom(or cause: STOMPCloseReason.Cause) {
    if receiver.tailCount > 0 { return }
    if receiver.position > 0 { receiver.compact() } else { close(cause) }
  }

  @inline(never)
  private mutating func makeRoom(for size: Int) {
    if receiver.position &+ size > receiver.capacity { receiver.compact() }
  }

  @inline(__always)
  private mutating func take(_ size: Int, at now: Instant) {
    if taps.isOn { tellReceived(size, at: now) }
    // Its fields are read where they are: a frame that is handed on is copied, which takes as long as to find its headers.
    let command = arrival.parser.frame.command
    let wanted: Phase = command == .connected ? .awaiting : .up
    guard phase == wanted || command == .error else { return close(.malformed(.order)) }
    switch command {
    case .connected:
      connected(at: now)
      arrival.event.size = size
    case .receipt:
      confirmed(Receipt(text(arrival.parser.frame.receiptID)))
      startReceiptTime(at: now)
      consume(size)
    case .error: failed(bodySize: size &- arrival.parser.frame.bodyOffset &- 1)
    case .message: deliver(size)
    }
  }

  /// The value of a header of the frame at the front.
  @_lifetime(borrow self)
  private borrowing func text(_ range: ByteRange) -> Span<UInt8> {
    receiver.bytes(at: range.offset, count: range.count)
  }

  mutating func consume(_ size: Int) {
    counters.framesReceived.add(1)
    receiver.removeFirst(size)
    arrival.hasHead = false
    arrival.isTold = false
    arrival.parser = FrameParser()
  }

  // MARK: CONNECTED

  @inline(never)
  private mutating func connected(at now: Instant) {
    let frame = arrival.parser.frame
    // "If the accept-version header is missing, it means that the client only supports 1.0": servers of 1.0 say nothing.
    var agreed: STOMPVersion? = .v10
    if !frame.version.isEmpty { agreed = STOMPVersion(text(frame.version)) }
    guard let agreed, agreed >= oldest, agreed <= newest else { return close(.malformed(.version)) }
    var server = HeartBeat.none
    if agreed >= .v11, !frame.heartBeat.isEmpty {
      do throws(MalformedFrame) {
        server = try HeartBeat(parsing: text(frame.heartBeat))
      } catch {
        return close(.malformed(error))
      }
    }
    version = agreed
    counters.connections &+= 1
    phase = .up
    isAccepted = true
    arrival.event.kind = .connected
    arrival.event.isBorrowed = false
    heartBeats.agree(with: server, at: now)
    outbox.agreed(agreed)
    urgent.agreed(agreed)
    subscriptions.agreed(agreed)
  }

  // MARK: RECEIPT and ERROR

  private mutating func confirmed(_ receipt: Receipt?) {
    switch receipt {
    case .frame(let number): if outbox.confirmed(number) { company.confirmed() }
    case .urgent(let number): if urgent.confirmed(number) { company.confirmed() }
    case .subscription(let number): subscriptions.confirmed(number)
    case .end: if hasSentDisconnect { close(.requested) }
    // RabbitMQ's MESSAGE carries the receipt header of whoever sent it; a RECEIPT of somebody else says nothing.
    case nil: break
    }
  }

  @inline(never)
  private mutating func failed(bodySize: Int) {
    counters.framesReceived.add(1)
    let isRefusal = phase != .up
    if arrival.parser.frame.hasEscapes { undoEscapes() }
    let said = arrival.parser.frame
    var reason = STOMPCloseReason(cause: isRefusal ? .refused : .error)
    reason.message = said.message.shifted(by: receiver.position)
    reason.headers = said.headers.shifted(by: receiver.position)
    reason.body = ByteRange(offset: receiver.position &+ said.bodyOffset, count: bodySize)
    reason.bodySize = said.contentLength ?? bodySize
    switch Receipt(text(said.receiptID)) {
    case .frame(let number): _ = outbox.refused(number)
    case .urgent(let number): _ = urgent.refused(number)
    case .subscription(let number): subscriptions.refused(number)
    case .end: break
    case nil:
      if !isRefusal { suspect() }
    }
    arrival.closeReason = reason
  }

  /// The head of an ERROR is here, and not all of its body.
  var isErrorBegun: Bool {
    arrival.hasHead && arrival.parser.frame.command == .error && arrival.closeReason == nil
  }

  /// As much of the body as there is room for comes first, unless nothing comes any more.
  @inline(never)
  private mutating func continueError(at now: Instant) {
    if arrival.hasEnded || receiver.count == receiver.capacity { failInPart(at: now) }
  }

  /// Of ERROR, what is here will do.
  mutating func failInPart(at now: Instant) {
    // As it came: its escapes are undone where they are.
    if taps.isOn { tellBeginning(at: now) }
    failed(bodySize: receiver.count &- arrival.parser.frame.bodyOffset)
  }

  /// ERROR does not say which frame it is about.
  @inline(never)
  @_optimize(size)
  private mutating func suspect() {
    let isOutbox = sending.source == .outbox && sending.sent > 0
    let isUrgent = sending.source == .urgent && sending.sent > 0
    let isAlone =
      sendsOneByOne && company.isNone && receiptsDue &+ (isOutbox || isUrgent ? 1 : 0) == 1
    let isOneOfOutbox = outbox.failed(isPartSent: isOutbox, isAlone: isAlone)
    let isOneOfUrgent = urgent.failed(isPartSent: isUrgent, isAlone: isAlone)
    // Nothing more of it goes out.
    if isOneOfOutbox && isOutbox || isOneOfUrgent && isUrgent { sending = Sending() }
  }

  // MARK: MESSAGE

  @inline(__always)
  private mutating func deliver(_ size: Int) {
    guard beginMessage() else { return }
    let head = arrival.parser.frame.bodyOffset
    arrival.event.message.body = ByteRange(offset: receiver.position &+ head, count: size &- head &- 1)
    arrival.event.message.bodySize = size &- head &- 1
    arrival.event.kind = .message
    arrival.event.isBorrowed = false
    arrival.event.size = size
  }

  /// Makes the message of the event, without its body. False: it has to wait, or is malformed.
  private mutating func beginMessage() -> Bool {
    arrival.event.message = STOMPMessage()
    let number = DecimalNumber.parse(text(arrival.parser.frame.subscription), most: 65_535)
    if let number, subscriptions.isUsed(number) {
      arrival.event.message.subscription = number
      // That of a subscription which ends can't be acknowledged any more, and none while the application is leaving: the server
      // delivers it again.
      if !isLeaving, subscriptions[number].wantsAcknowledgements {
        guard holdMessage(of: number) else { return false }
      }
    }
    counters.messagesReceived.add(1)
    return true
  }

  /// Keeps what ACK has to say of the message. False: it has to wait, or is malformed.
  @inline(never)
  private mutating func holdMessage(of subscription: Int) -> Bool {
    guard !held.isFull else {
      arrival.isBlocked = true
      return false
    }
    // "The MESSAGE frame MUST contain an ack header": CoilMQ has none, and takes the message-id.
    let ack = arrival.parser.frame.ack
    let name = version.hasAckHeader && !ack.isEmpty ? ack : arrival.parser.frame.messageID
    guard !name.isEmpty else {
      close(.malformed(.missingHeader))
      return false
    }
    // One whose name is longer than this client has room for can't be acknowledged: the server delivers it again.
    guard name.count <= held.textBytes else { return true }
    arrival.event.message.token = Self.hold(
      name, of: receiver, in: &held, subscription, subscriptions[subscription].mode)
    return true
  }

  private static func hold(
    _ name: ByteRange, of receiver: borrowing ByteQueue, in held: inout HeldMessages, _ subscription: Int,
    _ mode: AckMode
  ) -> UInt64 {
    held.hold(
      receiver.bytes(at: name.offset, count: name.count), subscription: subscription,
      isCumulative: mode == .client)
  }

  // MARK: Bodies that are larger than the buffer

  @inline(never)
  private mutating func beginLarge(_ length: Int?) {
    let command = arrival.parser.frame.command
    let head = arrival.parser.frame.bodyOffset
    guard phase == .up || command == .error else { return close(.malformed(.order)) }
    // Nothing else has a body.
    guard command == .message || command == .error else { return close(.headTooLarge) }
    if receiver.position > 0 { receiver.compact() }
    if command == .error { return }
    // No part would have room behind the head.
    guard head < receiver.capacity else { return close(.headTooLarge) }
    guard beginMessage() else { return }
    if length == nil { counters.messagesOversize.add(1) }
    arrival.event.message.bodySize = length ?? 0
    arrival.large = LargeBody(rest: length, token: arrival.event.message.token)
  }

  /// Makes an event of what is here of a large body, or drops it. False: more has to come first.
  @inline(never)
  private mutating func continueBody() -> Bool {
    guard let large = arrival.large else { return false }
    let head = arrival.parser.frame.bodyOffset
    let available = receiver.count &- head
    guard let rest = large.rest else { return dropBody(head, available) }
    // The last part has the zero behind it.
    let isLast = available > rest
    guard isLast || receiver.tailCount == 0 && available > 0 else { return false }
    let count = min(available, rest)
    if isLast, receiver[head &+ rest] != 0 {
      close(.malformed(.bodyEnd))
      return false
    }
    arrival.event.message.body = ByteRange(offset: receiver.position &+ head, count: count)
    arrival.event.message.bodyOffset = large.offset
    arrival.event.message.isLast = isLast
    arrival.event.message.token = isLast ? large.token : 0
    arrival.event.kind = .part
    arrival.event.isBorrowed = false
    arrival.event.size = isLast ? head &+ rest &+ 1 : head
    return true
  }

  private mutating func dropBody(_ head: Int, _ available: Int) -> Bool {
    let end = ByteSearch.firstIndex(of: 0, in: receiver.bytes, from: head)
    let isLast = end < receiver.count
    arrival.event.message.bodySize &+= isLast ? end &- head : available
    receiver.remove(at: head, count: isLast ? end &- head : available)
    guard isLast else { return false }
    arrival.event.message.isOversize = true
    arrival.event.message.token = arrival.large?.token ?? 0
    arrival.event.message.body = .empty
    arrival.event.kind = .message
    arrival.event.isBorrowed = false
    arrival.event.size = head &+ 1
    arrival.large = nil
    return true
  }

  /// A part was released.
  mutating func releasePart() {
    guard var large = arrival.large else { return }
    let head = arrival.parser.frame.bodyOffset
    let count = arrival.event.message.body.count
    if arrival.event.message.isLast {
      arrival.large = nil
      consume(arrival.event.size)
      return
    }
    receiver.remove(at: head, count: count)
    large.offset &+= count
    large.rest = large.rest.map { $0 &- count }
    arrival.large = large
  }
}
