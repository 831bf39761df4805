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
}

/// A function that is told of each frame that goes over the connection, before TLS and WebSocket.
@safe public struct FrameTap: BitwiseCopyable {
  public typealias Function = @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer) -> Void

  private let function: Function
  private let user: UnsafeMutableRawPointer?
  let showsSecrets: Bool

  /// The caller guarantees that `function` may be called with `user` and an `ObservedFrame`, until there is another tap, or
  /// none.
  @unsafe public init(_ function: @escaping Function, user: UnsafeMutableRawPointer?, showsSecrets: Bool) {
    unsafe self.function = function
    unsafe self.user = user
    self.showsSecrets = showsSecrets
  }

  func tell(_ direction: ObservedFrame.Direction, _ bytes: Span<UInt8>, length: Int, at time: Instant) {
    unsafe bytes.withUnsafeBytes { bytes in
      var frame = unsafe ObservedFrame(direction: direction, time: time, length: length, bytes: bytes)
      unsafe function(user, &frame)
    }
  }
}

/// A frame is told when the first byte of it was sent, and when all of it has come, before anything is done about it.
extension STOMPSession {
  public mutating func observe(_ tap: FrameTap?) { self.tap = tap }

  /// `count` bytes from the front of `output` were taken, and are still there.
  @inline(never)
  @_optimize(size)
  func tellSent(_ count: Int, by tap: FrameTap, at now: Instant) {
    switch sending.source {
    case .none: break
    case .connect: if sending.sent == 0 { tellConnect(by: tap, at: now) }
    case .control:
      tellControl(count, by: tap, at: now)
    case .subscription:
      guard sending.sent == 0 else { return }
      let frame = subscriptions.frame(of: sending.slot)
      tap.tell(.sent, frame, length: frame.count, at: now)
    case .urgent: Self.tell(count, behind: sending.sent, of: urgent, by: tap, at: now)
    case .outbox: Self.tell(count, behind: sending.sent, of: outbox, by: tap, at: now)
    }
  }

  /// The passcode is the last header: what is told ends before it.
  private func tellConnect(by tap: FrameTap, at now: Instant) {
    let frame = connect.bytes(at: 0, count: connectCount)
    var count = frame.count
    if !tap.showsSecrets {
      // Behind the last header there is a blank line, and a zero.
      var line = frame.count &- 3
      while line > 0, frame[line &- 1] != UInt8(ascii: "\n") { line &-= 1 }
      let name = StaticString("passcode:")
      let end = line &+ name.utf8CodeUnitCount
      if end <= frame.count, frame.extracting(line..<end).equals(name) { count = end }
    }
    tap.tell(.sent, frame.extracting(0..<count), length: frame.count, at: now)
  }

  /// Each frame there ends with a zero, and has no other. Between them are heart-beats.
  private func tellControl(_ count: Int, by tap: FrameTap, at now: Instant) {
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
      tap.tell(.sent, bytes.extracting(start..<end), length: end &- start, at: now)
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

  private static func tell(
    _ count: Int, behind sent: Int, of queue: borrowing FrameQueue, by tap: FrameTap, at now: Instant
  ) {
    var position = 0
    while let range = queue.frame(at: position) {
      // Where it begins, counted from what goes out now.
      let start = range.offset &- queue.frame(without: sent).offset
      guard start < count else { return }
      if start >= 0 { tap.tell(.sent, queue.bytes.extracting(range.range), length: range.count, at: now) }
      position &+= 1
    }
  }

  /// The frame at the front of the buffer, which is whole. One that has to wait for the application comes here again.
  @inline(never)
  @_optimize(size)
  mutating func tellReceived(_ size: Int, by tap: FrameTap, at now: Instant) {
    guard !arrival.isTold else { return }
    arrival.isTold = true
    tap.tell(.received, receiver.bytes(at: 0, count: size), length: size, at: now)
  }

  /// What never is in the buffer as a whole: a frame that is too large, or no frame at all.
  @inline(never)
  @_optimize(size)
  mutating func tellBeginning(by tap: FrameTap, at now: Instant) {
    guard !arrival.isTold else { return }
    arrival.isTold = true
    let frame = arrival.parser.frame
    let length = arrival.hasHead ? frame.contentLength.map { frame.bodyOffset &+ $0 &+ 1 } ?? 0 : 0
    let count = length > 0 ? min(length, receiver.count) : receiver.count
    tap.tell(.received, receiver.bytes(at: 0, count: count), length: length, at: now)
  }
}
