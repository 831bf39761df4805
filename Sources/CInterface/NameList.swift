/// Names for consecutive numbers, one after the other, each with a zero at its end.
///
/// They take a third of the code of a `switch` over the names, and names are not needed quickly.
public struct NameList {
  private let first: Int32
  public let count: Int32
  private let text: StaticString

  @inline(__always)
  public init(first: Int32, count: Int32, text: StaticString) {
    self.first = first
    self.count = count
    self.text = text
  }

  /// Returns the name of `number`, or `nil` if it is not in the list. The name lives as long as the
  /// library.
  ///
  /// The loop stays inside `text` because there are `count` names; a test asks for all of them.
  public func name(_ number: Int32) -> UnsafePointer<CChar>? {
    guard number >= first, number - first < count else { return nil }
    var name = unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
    for _ in first..<number {
      while unsafe name.pointee != 0 { unsafe name += 1 }
      unsafe name += 1
    }
    return unsafe name
  }
}

/// SMQ_TLS_… of swiftmqtt-tls-engine.h.
public var tlsCauseNames: NameList {
  NameList(
    first: 0, count: 26,
    text: """
      none\0\
      unknown CA\0\
      expired\0\
      not yet valid\0\
      clock not set\0\
      wrong name\0\
      revoked\0\
      revocation unknown\0\
      wrong purpose\0\
      broken chain\0\
      weak\0\
      wrong signature\0\
      wrong pin\0\
      client certificate wanted\0\
      client certificate refused\0\
      no common version\0\
      no common cipher\0\
      PSK refused\0\
      not TLS\0\
      closed\0\
      own key\0\
      no common ALPN\0\
      out of memory\0\
      broken by the peer\0\
      other\0\
      CA file
      """)
}
