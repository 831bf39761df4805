import Storage

enum HeaderName {
  /// Which of the headers that a frame of the server may have this is; `nil`: one that the protocol does not know.
  static func known(_ name: Span<UInt8>) -> KnownHeaders? {
    switch name.count {
    case 3: name.equals("ack") ? .ack : nil
    case 6: name.equals("server") ? .server : nil
    case 7:
      name.equals("message")
        ? .message : name.equals("version") ? .version : name.equals("session") ? .session : nil
    case 10:
      name.equals("message-id")
        ? .messageID : name.equals("receipt-id") ? .receiptID : name.equals("heart-beat") ? .heartBeat : nil
    case 11: name.equals("destination") ? .destination : nil
    case 12:
      name.equals("subscription") ? .subscription : name.equals("content-type") ? .contentType : nil
    case 14: name.equals("content-length") ? .contentLength : nil
    default: nil
    }
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
  public func equals(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    // A static string has as many bytes as it says. The last word may overlap what comes before it.
    return unsafe withUnsafeBytes { bytes in
      let other = unsafe UnsafeRawPointer(text.utf8Start)
      let last = count &- Word.size
      guard last >= 0 else {
        for index in 0..<count where unsafe bytes[index] != text.utf8Start[index] { return false }
        return true
      }
      var index = 0
      while index < last {
        guard
          unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt.self)
            == other.loadUnaligned(fromByteOffset: index, as: UInt.self)
        else { return false }
        index &+= Word.size
      }
      return unsafe bytes.loadUnaligned(fromByteOffset: last, as: UInt.self)
        == other.loadUnaligned(fromByteOffset: last, as: UInt.self)
    }
  }
}
