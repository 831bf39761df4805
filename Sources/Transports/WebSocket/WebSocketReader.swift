import Storage

/// Takes the payload out of the frames that the server sends (RFC 6455 section 5), in place. Nothing is kept of a
/// data frame but how much of it is to come, so it may be of any size.
///
/// Once the connection is over, by a Close frame or by a broken rule, it takes no notice of further bytes.
public struct WebSocketReader: BitwiseCopyable {
  /// Text frames are taken as well: servers of STOMP send them. MQTT forbids them [MQTT-6.0.0-1].
  public var takesText = false

  /// The header that was cut by the end of a read, and how much of it is here. Frames of a server are not masked,
  /// so that it has 10 bytes at most.
  private var header = InlineArray<10, UInt8>(repeating: 0)
  private var headerCount: UInt8 = 0
  /// A frame has begun.
  private(set) var isInFrame = false
  private var opcode = WebSocketOpcode.continuation
  /// The last data frame was not the last one of its message.
  private(set) var isInMessage = false
  /// What is to come of the frame's payload, in two halves (`Counter` says why).
  private(set) var leftLow: UInt32 = 0
  private(set) var leftHigh: UInt32 = 0
  private var violationCode: UInt16 = 0
  private var closeCodeOrZero: UInt16 = 0
  /// A Ping came that was not answered yet.
  public private(set) var isPongOwed = false
  /// The payload of the newest Ping, or of Close.
  private var controlCount: UInt8 = 0
  private var control = InlineArray<125, UInt8>(repeating: 0)

  public init() {}

  // MARK: Getters

  /// The code to close with: the server has broken a rule.
  public var violation: UInt16? { violationCode == 0 ? nil : violationCode }

  /// A Close frame came.
  public var isClosed: Bool { closeCodeOrZero != 0 }

  /// Nothing more will be read.
  public var isOver: Bool { violationCode | closeCodeOrZero != 0 }

  /// The code of the Close frame that came; 1005: it had none.
  public var closeCode: UInt16? { closeCodeOrZero == 0 ? nil : closeCodeOrZero }

  /// The reason that came with it, in UTF-8.
  public var closeReason: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      let start = isClosed ? min(2, Int(controlCount)) : Int(controlCount)
      return control.span.extracting(start..<Int(controlCount))
    }
  }

  /// The payload of the Ping that is still to be answered; the Pong repeats it. Of several Pings, the newest is answered (section 5.5.3).
  public var pongPayload: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { control.span.extracting(first: isPongOwed ? Int(controlCount) : 0) }
  }

  /// The Pong was sent.
  public mutating func answeredPing() { isPongOwed = false }

  // MARK: Bytes

  /// Moves the payload that is in `bytes` to its front, and returns how much it is.
  public mutating func received(_ bytes: inout MutableSpan<UInt8>) -> Int {
    var next = 0
    var payload = 0
    // Each turn takes a header or a part of a payload.
    while next < bytes.count, !isOver {
      if !isInFrame {
        guard takeHeader(bytes, &next) else { break }
      }
      let count = Int(take(atMost: bytes.count &- next))
      if opcode.isControl {
        keepControl(bytes, next, count)
      } else {
        if next != payload, count > 0 { move(&bytes, from: next, to: payload, count: count) }
        payload &+= count
      }
      next &+= count
      if leftLow | leftHigh == 0 { endFrame() }
    }
    return payload
  }

  /// Counts bytes of the frame's payload that are there.
  @inline(__always)
  private mutating func take(atMost available: Int) -> UInt32 {
    // A span of more has another turn.
    let available = UInt32(truncatingIfNeeded: min(available, Int(Int32.max)))
    let count = leftHigh == 0 ? min(available, leftLow) : available
    if leftLow < count { leftHigh &-= 1 }
    leftLow &-= count
    return count
  }

  /// False: the header has not come whole, or breaks a rule.
  @inline(__always)
  private mutating func takeHeader(_ bytes: borrowing MutableSpan<UInt8>, _ next: inout Int) -> Bool {
    if headerCount == 0, bytes.count &- next >= 4 {
      let first = bytes[next]
      let size = bytes[next &+ 1]
      if size <= 126, isPlain(first) {
        let isLong = size == 126
        let length =
          isLong ? UInt32(bytes[next &+ 2]) << 8 | UInt32(bytes[next &+ 3]) : UInt32(size)
        if !isLong || length >= 126 {
          begin(first, high: 0, low: length)
          next &+= isLong ? 4 : 2
          return true
        }
      }
    }
    return takeHeaderByByte(bytes, &next)
  }

  /// A whole message in one binary frame, which needs no other check.
  @inline(__always)
  private func isPlain(_ first: UInt8) -> Bool {
    first == 0x80 | WebSocketOpcode.binary.rawValue && !isInMessage
  }

  @inline(never)
  @_optimize(size)
  private mutating func takeHeaderByByte(_ bytes: borrowing MutableSpan<UInt8>, _ next: inout Int) -> Bool {
    while next < bytes.count {
      header[Int(headerCount)] = bytes[next]
      headerCount &+= 1
      next &+= 1
      guard headerCount >= 2 else { continue }
      if headerCount == 2 {
        violationCode = violation(header[0], header[1])
        if isOver { return false }
      }
      let size = header[1]
      guard headerCount == (size == 127 ? 10 : size == 126 ? 4 : 2) else { continue }
      headerCount = 0
      return beginFrame(size)
    }
    return false
  }

  /// The code that answers the first two bytes of a header, or 0 (sections 5.1, 5.2, 5.4 and 5.5).
  @_optimize(size)
  private func violation(_ first: UInt8, _ second: UInt8) -> UInt16 {
    let isFinal = first & 0x80 != 0
    // RSV bits are of extensions, and there are none. A server does not mask.
    guard first & 0x70 == 0, second & 0x80 == 0, let opcode = WebSocketOpcode(rawValue: first & 0x0F) else {
      return WebSocketStatus.protocolError
    }
    switch opcode {
    case .continuation: return isInMessage ? 0 : WebSocketStatus.protocolError
    case .binary: return isInMessage ? WebSocketStatus.protocolError : 0
    case .text:
      if isInMessage { return WebSocketStatus.protocolError }
      return takesText ? 0 : WebSocketStatus.unsupportedData
    case .close, .ping, .pong: return isFinal && second <= 125 ? 0 : WebSocketStatus.protocolError
    }
  }

  /// Reads the length, which has to be in the fewest bytes and below 2^63 (section 5.2).
  @_optimize(size)
  private mutating func beginFrame(_ size: UInt8) -> Bool {
    var high: UInt32 = 0
    var low = UInt32(size)
    var isMinimal = true
    if size == 126 {
      low = number(at: 2, count: 2)
      isMinimal = low >= 126
    } else if size == 127 {
      high = number(at: 2, count: 4)
      low = number(at: 6, count: 4)
      isMinimal = high > 0 || low > 0xFFFF
    }
    guard isMinimal, high < 1 << 31 else {
      violationCode = WebSocketStatus.protocolError
      return false
    }
    begin(header[0], high: high, low: low)
    return true
  }

  private func number(at offset: Int, count: Int) -> UInt32 {
    var value: UInt32 = 0
    for index in offset..<offset &+ count { value = value << 8 | UInt32(header[index]) }
    return value
  }

  /// A frame begins whose header breaks no rule.
  @inline(__always)
  private mutating func begin(_ first: UInt8, high: UInt32, low: UInt32) {
    isInFrame = true
    opcode = WebSocketOpcode(rawValue: first & 0x0F) ?? .continuation
    leftHigh = high
    leftLow = low
    if !opcode.isControl {
      isInMessage = first & 0x80 == 0
    } else if opcode != .pong {
      // A Pong that was not sent yet is for this Ping now, or for none.
      isPongOwed = false
      controlCount = 0
    }
  }

  // MARK: Control frames

  @inline(never)
  @_optimize(size)
  private mutating func keepControl(_ bytes: borrowing MutableSpan<UInt8>, _ offset: Int, _ count: Int) {
    guard opcode != .pong else { return }
    for index in 0..<count where controlCount < 125 {
      control[Int(controlCount)] = bytes[offset &+ index]
      controlCount &+= 1
    }
  }

  @inline(__always)
  private mutating func endFrame() {
    isInFrame = false
    if opcode.isControl { endControl() }
  }

  @inline(never)
  private mutating func endControl() {
    if opcode == .ping { isPongOwed = true }
    if opcode == .close { close() }
  }

  /// The payload is empty, or a code and a reason (section 5.5.1).
  @_optimize(size)
  private mutating func close() {
    guard controlCount != 0 else {
      closeCodeOrZero = WebSocketStatus.noCode
      return
    }
    let code = UInt16(control[0]) << 8 | UInt16(control[1])
    guard controlCount >= 2, WebSocketStatus.mayBeSent(code) else {
      violationCode = WebSocketStatus.protocolError
      return
    }
    let reason = control.span.extracting(2..<Int(controlCount))
    guard WellFormedUTF8.matches(reason, allowsNull: true) else {
      violationCode = WebSocketStatus.invalidPayload
      return
    }
    closeCodeOrZero = code
  }
}
