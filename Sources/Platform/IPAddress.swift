import CPlatform

/// An address of a server. It is laid out as `platform_address` is, so that an `AddressList` can be handed to C
/// without a copy.
public struct IPAddress: BitwiseCopyable {
  /// IPv6; an IPv4 address is mapped (RFC 4291 2.5.5.2).
  public var bytes = InlineArray<16, UInt8>(repeating: 0)
  /// The interface of a link-local address.
  public var scope: UInt32 = 0

  public init() {}

  /// It is a mapped IPv4 address, which the last four bytes are.
  public var isV4: Bool {
    for index in 0..<12 where bytes[index] != (index < 10 ? 0 : 0xFF) { return false }
    return true
  }
}

/// The addresses of a server, and the port of all of them.
public struct AddressList: BitwiseCopyable {
  public static var maximum: Int { PLATFORM_MAX_ADDRESSES }

  private var length: UInt16 = 0
  public var port: UInt16 = 0
  private var list = InlineArray<8, IPAddress>(repeating: IPAddress())

  public init() {}

  public var count: Int { Int(length) }

  public subscript(index: Int) -> IPAddress { list[index] }

  /// There is room: fewer than `maximum` are in it.
  public mutating func append(_ address: IPAddress) {
    list[count] = address
    length &+= 1
  }

  /// Keeps the first ones.
  public mutating func keep(atMost count: Int) { length = min(length, UInt16(truncatingIfNeeded: count)) }

  /// Adds a numeric host, without a zero at its end. False: it is none, or they are too many.
  @_optimize(size)
  public mutating func append(numeric host: Span<UInt8>, port: UInt16) -> Bool {
    var text = InlineArray<64, UInt8>(repeating: 0)
    guard host.count < 64 else { return false }
    for index in 0..<host.count {
      guard host[index] != 0 else { return false }
      text[index] = host[index]
    }
    return append(terminated: text.span, port: port)
  }

  /// The same for a host that ends with a zero.
  mutating func append(terminated host: Span<UInt8>, port: UInt16) -> Bool {
    // C reads the host up to its zero, and writes to the list.
    unsafe host.withUnsafeBytes { host in
      unsafe withForeign { addresses in
        unsafe platform_parse_address(
          host.assumingMemoryBound(to: CChar.self).baseAddress, port, addresses)
      }
    } == 1
  }

  /// Hands the list to C, which knows it by another name.
  mutating func withForeign<Result>(
    _ body: (UnsafeMutablePointer<platform_addresses>) -> Result
  ) -> Result {
    precondition(
      MemoryLayout<AddressList>.size == MemoryLayout<platform_addresses>.size
        && MemoryLayout<IPAddress>.stride == MemoryLayout<platform_address>.stride)
    return unsafe withUnsafeMutablePointer(to: &self) { list in
      unsafe body(UnsafeMutableRawPointer(list).assumingMemoryBound(to: platform_addresses.self))
    }
  }
}

/// What has become of a look-up.
public enum Resolution {
  case pending
  case addresses(AddressList)
  case noAddress(Int32)  // an EAI_… value
  case failed(Int32)  // the system's number
}
