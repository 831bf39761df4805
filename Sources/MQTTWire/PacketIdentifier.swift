/// A Packet Identifier (§2.2.1): 1 to 65,535.
public struct PacketIdentifier: BitwiseCopyable, Equatable {
  public let rawValue: UInt16

  /// In a packet.
  public static var encodedSize: Int {
    @inline(__always) get { 2 }
  }

  /// Returns `nil` for zero, which is no Packet Identifier [MQTT-2.2.1-3].
  public init?(_ rawValue: UInt16) {
    guard rawValue != 0 else { return nil }
    self.rawValue = rawValue
  }

  // Client and server assign identifiers independently, but PUBLISH, SUBSCRIBE and UNSUBSCRIBE of a client
  // share one set (§2.2.1). Three ranges keep them apart: messages and urgent messages each use theirs in
  // turn, SUBSCRIBE and UNSUBSCRIBE have one for each index in their table.

  /// How many SUBSCRIBE and UNSUBSCRIBE packets can have one.
  public static var subscribeCount: Int { 256 }

  public static var first: PacketIdentifier { PacketIdentifier(unchecked: 1) }

  /// Returns the identifier of the SUBSCRIBE or UNSUBSCRIBE at an index.
  public static func subscribe(_ index: Int) -> PacketIdentifier {
    precondition(index >= 0 && index < subscribeCount)
    return PacketIdentifier(unchecked: IdentifierRange.urgent.last &+ 1 &+ UInt16(index))
  }

  /// The index of the SUBSCRIBE or UNSUBSCRIBE with this identifier; `nil` if it belongs to a message.
  public var subscribeIndex: Int? {
    rawValue > IdentifierRange.urgent.last ? Int(rawValue &- IdentifierRange.urgent.last) &- 1 : nil
  }

  /// In the drop-in the identifier is the message id that the program was told, which is in the cookie.
  public init(cookie: UInt64) {
    precondition(UInt16(truncatingIfNeeded: cookie) != 0)
    self.init(unchecked: UInt16(truncatingIfNeeded: cookie))
  }

  @inline(__always)
  fileprivate init(unchecked rawValue: UInt16) { self.rawValue = rawValue }
}

/// Packet Identifiers that are used in turn.
public struct IdentifierRange: BitwiseCopyable {
  let first: UInt16
  let last: UInt16

  public static var messages: IdentifierRange { IdentifierRange(first: 1, last: 65_023) }
  public static var urgent: IdentifierRange { IdentifierRange(first: 65_024, last: 65_279) }

  public var count: Int { Int(last &- first) &+ 1 }

  @inline(__always)
  public func contains(_ identifier: PacketIdentifier) -> Bool {
    identifier.rawValue &- first <= last &- first
  }

  /// Returns the identifier that any 16 bits stand for.
  public func any(_ bits: UInt16) -> PacketIdentifier {
    PacketIdentifier(unchecked: first &+ bits % (last &- first &+ 1))
  }

  /// Returns the next identifier; the first one follows the last.
  @inline(__always)
  public func next(after identifier: PacketIdentifier) -> PacketIdentifier {
    PacketIdentifier(unchecked: identifier.rawValue == last ? first : identifier.rawValue &+ 1)
  }

  /// Returns how many steps of `next` lead from one identifier to another. One of another range is never
  /// reached.
  @inline(__always)
  public func distance(from start: PacketIdentifier, to end: PacketIdentifier) -> Int {
    guard contains(end) else { return .max }
    let difference = Int(end.rawValue) &- Int(start.rawValue)
    return difference < 0 ? difference &+ count : difference
  }

  /// Returns the same distance in the range of all identifiers.
  public static func fullDistance(from start: PacketIdentifier, to end: PacketIdentifier) -> Int {
    let difference = Int(end.rawValue) &- Int(start.rawValue)
    return difference < 0 ? difference &+ 65_535 : difference
  }

  /// Returns the identifier that `steps` steps of `next` lead to; at most `count`.
  public func advanced(_ identifier: PacketIdentifier, by steps: Int) -> PacketIdentifier {
    let sum = Int(identifier.rawValue) &+ steps
    return PacketIdentifier(unchecked: UInt16(truncatingIfNeeded: sum > Int(last) ? sum &- count : sum))
  }
}
