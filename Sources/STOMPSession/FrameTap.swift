import STOMPWire
public import Storage

/// A frame as it went over the connection, or its beginning; or bytes that are no frame.
@unsafe public struct ObservedFrame: BitwiseCopyable {
  public enum Direction: UInt8, BitwiseCopyable { case sent = 1, received }

  public let direction: Direction
  public let time: Instant
  /// Of the whole frame; 0: that is not known.
  public let length: Int
  /// From its command on. They are valid during the call.
  public let bytes: UnsafeRawBufferPointer
  /// Where the passcode is in them; empty: they have none.
  public let secret: ByteRange
  public let outbox: OutboxFill
}

/// Frames in the outbox, and the receipts that the server owes.
public struct OutboxFill: BitwiseCopyable {
  public let frames: Int
  public let receiptsDue: Int
}

/// A function that is told of each frame that goes over the connection, before TLS and WebSocket.
@safe public struct FrameTap: BitwiseCopyable {
  public typealias Function = @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer) -> Void

  private let function: Function
  private let user: UnsafeMutableRawPointer?
  private let showsSecrets: Bool

  /// `showsSecrets`: the function is told all of CONNECT, and where the passcode is; otherwise what is before that.
  ///
  /// The caller guarantees that `function` may be called with `user` and an `ObservedFrame`, until there is another tap, or
  /// none.
  @unsafe public init(_ function: @escaping Function, user: UnsafeMutableRawPointer?, showsSecrets: Bool) {
    unsafe self.function = function
    unsafe self.user = user
    self.showsSecrets = showsSecrets
  }

  fileprivate func tell(_ frame: ObservedFrame) {
    var frame = unsafe frame
    if !showsSecrets, unsafe !frame.secret.isEmpty { unsafe frame = frame.beforeSecret }
    unsafe function(user, &frame)
  }
}

extension ObservedFrame {
  fileprivate var beforeSecret: ObservedFrame {
    unsafe ObservedFrame(
      direction: direction, time: time, length: length,
      bytes: UnsafeRawBufferPointer(rebasing: bytes[..<secret.offset]), secret: .empty, outbox: outbox)
  }
}

/// Who is told of frames: the program, and other programs that look on.
struct FrameTaps: BitwiseCopyable {
  let own: FrameTap?
  let inspection: FrameTap?
  /// Somebody is told.
  let isOn: Bool

  init(own: FrameTap? = nil, inspection: FrameTap? = nil) {
    self.own = own
    self.inspection = inspection
    isOn = own != nil || inspection != nil
  }
}

/// A frame is told when the first byte of it was sent, and when all of it has come, before anything is done about it.
extension STOMPSession {
  /// `inspection`: that of programs that look on.
  public mutating func observe(_ tap: FrameTap?, inspection: FrameTap? = nil) {
    taps = FrameTaps(own: tap, inspection: inspection)
  }

  /// `count` bytes from the front of `output` were taken, and are still there.
  @inline(never)
  @_optimize(size)
  func tellSent(_ count: Int, at now: Instant) {
    switch sending.source {
    case .none: break
    case .connect: if sending.sent == 0 { tellConnect(at: now) }
    case .control: tellControl(count, at: now)
    case .subscription:
      guard sending.sent == 0 else { return }
      let frame = subscriptions.frame(of: sending.slot)
      tell(.sent, frame, length: frame.count, at: now)
    case .urgent: tell(count, behind: sending.sent, of: urgent, at: now)
    case .outbox: tell(count, behind: sending.sent, of: outbox, at: now)
    }
  }

  /// The passcode is the last header.
  private func tellConnect(at now: Instant) {
    let frame = connect.bytes(at: 0, count: connectCount)
    var secret = ByteRange.empty
    // Behind the last header there is a blank line, and a zero.
    let end = frame.count &- 3
    var line = end
    while line > 0, frame[line &- 1] != UInt8(ascii: "\n") { line &-= 1 }
    let name = StaticString("passcode:")
    let start = line &+ name.utf8CodeUnitCount
    if start <= end, frame.extracting(line..<start).equals(name) {
      secret = ByteRange(offset: start, count: end &- start)
    }
    tell(.sent, frame, length: frame.count, secret: secret, at: now)
  }

  /// Each frame there ends with a zero, and has no other. Between them are heart-beats.
  private func tellControl(_ count: Int, at now: Instant) {
    let bytes = control.bytes
    var start = 0
    if !isControlInStep { start = ByteSearch.firstIndex(of: 0, in: bytes, from: 0) &+ 1 }
    while start < count {
      if bytes[start] == UInt8(ascii: "\n") {
        start &+= 1
        continue
      }
      let end = ByteSearch.firstIndex(of: 0, in: bytes, from: start) &+ 1
      guard end <= bytes.count else { return }
      tell(.sent, bytes.extracting(start..<end), length: end &- start, at: now)
      start = end
    }
  }

  /// Behind these bytes the next frame begins: they end with that of one, and perhaps heart-beats behind it.
  func endsFrame(_ count: Int) -> Bool {
    let bytes = control.bytes
    var end = count
    while end > 0, bytes[end &- 1] == UInt8(ascii: "\n") { end &-= 1 }
    return end == 0 ? isControlInStep : bytes[end &- 1] == 0
  }

  private func tell(_ count: Int, behind sent: Int, of queue: borrowing FrameQueue, at now: Instant) {
    var position = 0
    while let range = queue.frame(at: position) {
      // Where it begins, counted from what goes out now.
      let start = range.offset &- queue.frame(without: sent).offset
      guard start < count else { return }
      if start >= 0 { tell(.sent, queue.bytes.extracting(range.range), length: range.count, at: now) }
      position &+= 1
    }
  }

  /// The frame at the front of the buffer, which is whole. One that has to wait for the application comes here again.
  @inline(never)
  @_optimize(size)
  mutating func tellReceived(_ size: Int, at now: Instant) {
    guard !arrival.isTold else { return }
    arrival.isTold = true
    tell(.received, receiver.bytes(at: 0, count: size), length: size, at: now)
  }

  /// What never is in the buffer as a whole: a frame that is too large, or no frame at all.
  @inline(never)
  @_optimize(size)
  mutating func tellBeginning(at now: Instant) {
    guard !arrival.isTold else { return }
    arrival.isTold = true
    let frame = arrival.parser.frame
    let length = arrival.hasHead ? frame.contentLength.map { frame.bodyOffset &+ $0 &+ 1 } ?? 0 : 0
    let count = length > 0 ? min(length, receiver.count) : receiver.count
    tell(.received, receiver.bytes(at: 0, count: count), length: length, at: now)
  }

  @inline(never)
  @_optimize(size)
  private func tell(
    _ direction: ObservedFrame.Direction, _ bytes: Span<UInt8>, length: Int, secret: ByteRange = .empty,
    at time: Instant
  ) {
    let fill = OutboxFill(frames: outbox.counts.frames &+ urgent.counts.frames, receiptsDue: receiptsDue)
    unsafe bytes.withUnsafeBytes { bytes in
      let frame = unsafe ObservedFrame(
        direction: direction, time: time, length: length, bytes: bytes, secret: secret, outbox: fill)
      if let own = taps.own { unsafe own.tell(frame) }
      if let inspection = taps.inspection { unsafe inspection.tell(frame) }
    }
  }
}
