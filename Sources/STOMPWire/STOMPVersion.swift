/// The versions of the protocol, as ten times their number.
public enum STOMPVersion: UInt8, BitwiseCopyable, Comparable, Sendable {
  case v10 = 10
  case v11 = 11
  case v12 = 12

  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// Parses "1.2". `nil`: it is another one, and a header of 1.0 servers that has none is that of 1.0.
  public init?(_ text: Span<UInt8>) {
    guard text.count == 3, text[0] == UInt8(ascii: "1"), text[1] == UInt8(ascii: "."),
      text[2] >= UInt8(ascii: "0")
    else { return nil }
    self.init(rawValue: 10 &+ (text[2] &- UInt8(ascii: "0")))
  }

  /// Colons, line feeds and backslashes in headers are escaped, except in CONNECT and CONNECTED.
  public var hasEscapes: Bool { self >= .v11 }
  /// A carriage return before a line feed belongs to the end of the line, and is escaped elsewhere.
  public var hasCarriageReturns: Bool { self == .v12 }
  /// NACK, client-individual, and heart-beats.
  public var hasNack: Bool { self >= .v11 }
  /// ACK and NACK name the `ack` header of the MESSAGE, not its `message-id`.
  public var hasAckHeader: Bool { self == .v12 }
  /// Servers of 1.0 may pad header values with spaces; later ones must not.
  public var mayPad: Bool { self == .v10 }
}
