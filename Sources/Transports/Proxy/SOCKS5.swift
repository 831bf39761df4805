import Storage

/// Asks a SOCKS5 proxy for a connection (RFC 1928), if need be with a user name and a password (RFC 1929).
///
/// It reads each reply to its last byte and not further, because what follows is the server's.
public struct SOCKS5: BitwiseCopyable {
  /// The server. The proxy looks a name up.
  public struct Destination: ~Escapable {
    let name: Span<UInt8>
    let address: Span<UInt8>
    let port: UInt16

    /// `address` has 4 or 16 bytes if the server's host is an address, and none if it is a name.
    @_lifetime(copy name, copy address)
    public init(name: Span<UInt8>, address: Span<UInt8>, port: UInt16) {
      self.name = name
      self.address = address
      self.port = port
    }
  }

  /// What `reply` is if the proxy has refused before it could be asked for a connection, or speaks something
  /// else.
  public enum Refusal {
    public static var noAcceptableMethod: Int32 { 256 }
    public static var password: Int32 { 257 }
    public static var notSOCKS5: Int32 { 258 }
  }

  private enum State: UInt8, BitwiseCopyable { case greeting, password, connect, done, failed }

  private var state = State.greeting
  private var offersPassword = false
  /// How many bytes of the reply were read, of `replySize`.
  private var position: UInt16 = 0
  private var replySize: UInt16 = 2
  /// The reply to CONNECT (RFC 1928 section 6), or a `Refusal`; -1: there was none yet.
  public private(set) var reply: Int32 = -1

  public init() {}

  // MARK: Messages

  /// Writes the message that is due, and returns its size. `nil`: there is no room for it, or a name or the
  /// password has more than 255 bytes.
  @_optimize(size)
  public mutating func request(
    _ destination: borrowing Destination, user: Span<UInt8>, password: Span<UInt8>,
    into target: inout MutableSpan<UInt8>
  ) -> Int? {
    let addressSize = destination.address.count
    guard user.count <= 255, password.count <= 255, destination.name.count <= 255,
      addressSize == 4 || addressSize == 16 || (addressSize == 0 && destination.name.count > 0)
    else { return nil }
    var writer = RequestWriter(target._mutatingExtracting(...))
    switch state {
    case .greeting:
      offersPassword = user.count > 0
      writer.put(Self.version)
      writer.put(offersPassword ? 2 as UInt8 : 1)
      writer.put(Self.withoutPassword)
      if offersPassword { writer.put(Self.withPassword) }
    case .password:
      writer.put(Self.negotiationVersion)
      writer.put(UInt8(truncatingIfNeeded: user.count))
      writer.put(user)
      writer.put(UInt8(truncatingIfNeeded: password.count))
      writer.put(password)
    case .connect:
      writer.put(Self.version)
      writer.put(0x0100 as UInt16)  // CONNECT, and a reserved byte
      if addressSize > 0 {
        writer.put(addressSize == 4 ? Self.ipv4 : Self.ipv6)
        writer.put(destination.address)
      } else {
        writer.put(Self.domainName)
        writer.put(UInt8(truncatingIfNeeded: destination.name.count))
        writer.put(destination.name)
      }
      writer.put(destination.port)
    case .done, .failed: break
    }
    return writer.size
  }

  /// Reads from `bytes[consumed...]`, and adds to `consumed` what it has taken.
  @_optimize(size)
  public mutating func receive(_ bytes: Span<UInt8>, consumed: inout Int) -> HandshakeStep {
    while consumed < bytes.count {
      guard state.rawValue < State.done.rawValue else { break }
      let byte = bytes[consumed]
      consumed &+= 1
      let result =
        switch state {
        case .greeting: method(byte)
        case .password: verdict(byte)
        default: connection(byte)
        }
      if result == .failed { state = .failed }
      guard result == .needsBytes else { return result }
    }
    return state == .done ? .done : state == .failed ? .failed : .needsBytes
  }

  // MARK: Replies, a byte at a time

  private static var version: UInt8 { 5 }
  private static var negotiationVersion: UInt8 { 1 }
  private static var withoutPassword: UInt8 { 0 }
  private static var withPassword: UInt8 { 2 }
  private static var ipv4: UInt8 { 1 }
  private static var domainName: UInt8 { 3 }
  private static var ipv6: UInt8 { 4 }

  private mutating func refuse(_ reason: Int32) -> HandshakeStep {
    reply = reason
    return .failed
  }

  private mutating func begin(_ next: State) -> HandshakeStep {
    state = next
    position = 0
    return .send
  }

  /// RFC 1928 section 3: the version, and the method that the proxy has chosen.
  private mutating func method(_ byte: UInt8) -> HandshakeStep {
    position &+= 1
    if position == 1 { return byte == Self.version ? .needsBytes : refuse(Refusal.notSOCKS5) }
    switch byte {
    case Self.withoutPassword: return begin(.connect)
    case Self.withPassword where offersPassword: return begin(.password)
    case 0xFF: return refuse(Refusal.noAcceptableMethod)
    default: return refuse(Refusal.notSOCKS5)
    }
  }

  /// RFC 1929 section 2: a version, and 0 for success. Proxies give the one or the other version.
  private mutating func verdict(_ byte: UInt8) -> HandshakeStep {
    position &+= 1
    if position == 1 {
      return byte == Self.negotiationVersion || byte == Self.version ? .needsBytes : refuse(Refusal.notSOCKS5)
    }
    return byte == 0 ? begin(.connect) : refuse(Refusal.password)
  }

  /// RFC 1928 section 6: version, reply, reserved, type of address, address, port. What follows a failure is of
  /// no use, and no proxy sends all of it.
  private mutating func connection(_ byte: UInt8) -> HandshakeStep {
    position &+= 1
    switch position {
    case 1:
      replySize = 5
      if byte != Self.version { return refuse(Refusal.notSOCKS5) }
    case 2:
      reply = Int32(byte)
      if byte != 0 { return .failed }
    case 4:
      switch byte {
      case Self.ipv4: replySize = 4 + 4 + 2
      case Self.ipv6: replySize = 4 + 16 + 2
      case Self.domainName: break
      default: return refuse(Refusal.notSOCKS5)
      }
    case 5 where replySize == 5: replySize = 4 + 1 + UInt16(byte) + 2
    default: break
    }
    guard position == replySize else { return .needsBytes }
    state = .done
    return .done
  }
}
