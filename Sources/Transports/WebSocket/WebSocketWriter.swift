import Storage

/// Writes frames of a client (RFC 6455 section 5): each is a whole message, and masked.
public enum WebSocketWriter {
  /// The longest payload of a control frame, and the longest reason of Close.
  public static var maximumControl: Int { 125 }
  public static var maximumReason: Int { maximumControl - 2 }

  // MARK: Sizes

  /// How many bytes the header takes that goes in front of such a payload, with the key.
  public static func headerSize(payload count: Int) -> Int { count < 126 ? 6 : count < 65_536 ? 8 : 14 }

  /// How many bytes of payload a frame has at most that is to fit into `room` bytes.
  public static func largestPayload(in room: Int) -> Int {
    if room >= 65_536 &+ 14 { return room &- 14 }
    if room >= 126 &+ 8 { return min(room &- 8, 65_535) }
    return max(0, min(room &- 6, 125))
  }

  // MARK: Frames

  /// Writes a frame, and returns its size. 0: there is no room for it.
  public static func frame(
    _ opcode: WebSocketOpcode, _ payload: Span<UInt8>, key: MaskingKey, into target: inout MutableSpan<UInt8>
  ) -> Int {
    let count = payload.count
    let size = headerSize(payload: count)
    guard size <= target.count, count <= target.count &- size else { return 0 }
    putHeader(opcode, count, key, &target)
    var rest = target._mutatingExtracting(size..<size &+ count)
    copy(payload, maskedWith: key.value, into: &rest)
    return size &+ count
  }

  /// Writes a Close frame with a code and the front of a reason. 0: there is no room for it.
  @_optimize(size)
  public static func close(
    code: UInt16, reason: Span<UInt8>, key: MaskingKey, into target: inout MutableSpan<UInt8>
  ) -> Int {
    var payload = InlineArray<125, UInt8>(repeating: 0)
    payload[0] = UInt8(truncatingIfNeeded: code >> 8)
    payload[1] = UInt8(truncatingIfNeeded: code)
    let count = min(reason.count, maximumReason)
    for index in 0..<count { payload[index &+ 2] = reason[index] }
    return frame(.close, payload.span.extracting(first: count &+ 2), key: key, into: &target)
  }

  /// There is room for it.
  @inline(__always)
  private static func putHeader(
    _ opcode: WebSocketOpcode, _ count: Int, _ key: MaskingKey, _ target: inout MutableSpan<UInt8>
  ) {
    target[0] = 0x80 | opcode.rawValue
    var end = 2
    if count < 126 {
      target[1] = 0x80 | UInt8(truncatingIfNeeded: count)
    } else if count < 65_536 {
      target[1] = 0x80 | 126
      put(UInt32(truncatingIfNeeded: count) << 16, 2, at: &end, into: &target)
    } else {
      target[1] = 0x80 | 127
      put(UInt32(truncatingIfNeeded: count >> 32), 4, at: &end, into: &target)
      put(UInt32(truncatingIfNeeded: count), 4, at: &end, into: &target)
    }
    put(key.value.byteSwapped, 4, at: &end, into: &target)
  }

  /// Writes the highest bytes of a number.
  @inline(__always)
  private static func put(
    _ value: UInt32, _ bytes: Int, at end: inout Int, into target: inout MutableSpan<UInt8>
  ) {
    var rest = value
    for _ in 0..<bytes {
      target[end] = UInt8(truncatingIfNeeded: rest >> 24)
      rest <<= 8
      end &+= 1
    }
  }
}
