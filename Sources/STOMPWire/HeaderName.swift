import Storage

enum HeaderName {
  /// A header, and how many bytes its name has with the colon.
  struct Known: BitwiseCopyable {
    let header: KnownHeader
    let size: Int
  }

  /// Which header begins here, with its name and the colon; `nil`: one that the protocol does not know, or the name has not
  /// come as a whole.
  ///
  /// The first four letters leave at most two names, so neither the colon nor the size of the name has to be found first.
  @inline(__always)
  static func known(at start: Int, in bytes: Span<UInt8>) -> Known? {
    guard bytes.count &- start >= 4 else { return nil }
    switch bytes.load(at: start, as: UInt32.self) {
    case 0x3A6B_6361: return Known(header: .ack, size: 4)  // "ack:"
    case 0x7473_6564: return named("destination:", .destination, start, bytes)  // "dest"
    case 0x7373_656D:  // "mess"
      return named("message-id:", .messageID, start, bytes) ?? named("message:", .message, start, bytes)
    case 0x7362_7573: return named("subscription:", .subscription, start, bytes)  // "subs"
    case 0x746E_6F63:  // "cont"
      return named("content-length:", .contentLength, start, bytes)
        ?? named("content-type:", .contentType, start, bytes)
    case 0x6563_6572: return named("receipt-id:", .receiptID, start, bytes)  // "rece"
    case 0x7372_6576: return named("version:", .version, start, bytes)  // "vers"
    case 0x7261_6568: return named("heart-beat:", .heartBeat, start, bytes)  // "hear"
    case 0x7373_6573: return named("session:", .session, start, bytes)  // "sess"
    case 0x7672_6573: return named("server:", .server, start, bytes)  // "serv"
    default: return nil
    }
  }

  @inline(__always)
  private static func named(
    _ name: StaticString, _ header: KnownHeader, _ start: Int, _ bytes: Span<UInt8>
  ) -> Known? {
    bytes.has(name, at: start) ? Known(header: header, size: name.utf8CodeUnitCount) : nil
  }
}

/// Whether two texts have the same bytes.
public func areEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
  guard left.count == right.count else { return false }
  for index in 0..<left.count where left[index] != right[index] { return false }
  return true
}

extension Span<UInt8> {
  /// The text has letters of ASCII alone.
  @inline(__always)
  public func equals(_ text: StaticString) -> Bool { count == text.utf8CodeUnitCount && has(text, at: 0) }

  /// The text is there, and has letters of ASCII alone.
  @inline(__always)
  func has(_ text: StaticString, at start: Int) -> Bool {
    let size = text.utf8CodeUnitCount
    guard start >= 0, count &- start >= size else { return false }
    // A static string has as many bytes as it says. The last word may overlap what comes before it.
    return unsafe withUnsafeBytes { bytes in
      guard let bytes = bytes.baseAddress else { return true }
      let place = unsafe bytes + start
      let other = unsafe UnsafeRawPointer(text.utf8Start)
      if size >= Word.size { return unsafe areEqual(place, other, size, as: UInt.self) }
      if size >= 4 { return unsafe areEqual(place, other, size, as: UInt32.self) }
      for index in 0..<size
      where unsafe place.load(fromByteOffset: index, as: UInt8.self) != text.utf8Start[index] {
        return false
      }
      return true
    }
  }
}

/// The caller guarantees that both have `count` bytes, of which there are as many as a word has at least.
@inline(__always)
private func areEqual<Word: FixedWidthInteger & BitwiseCopyable>(
  _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ count: Int, as word: Word.Type
) -> Bool {
  let last = count &- MemoryLayout<Word>.size
  var index = 0
  while index < last {
    guard
      unsafe left.loadUnaligned(fromByteOffset: index, as: word)
        == right.loadUnaligned(fromByteOffset: index, as: word)
    else { return false }
    index &+= MemoryLayout<Word>.size
  }
  return unsafe left.loadUnaligned(fromByteOffset: last, as: word)
    == right.loadUnaligned(fromByteOffset: last, as: word)
}
