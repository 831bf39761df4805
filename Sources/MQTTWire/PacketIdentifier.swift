/// A Packet Identifier (§2.2.1): 1 to 65,535.
public struct PacketIdentifier: BitwiseCopyable, Equatable {
  public let rawValue: UInt16

  /// `nil` for zero, which is none [MQTT-2.2.1-3].
  public init?(_ rawValue: UInt16) {
    guard rawValue != 0 else { return nil }
    self.rawValue = rawValue
  }

  // Client and Server count for themselves, but a client's PUBLISH, SUBSCRIBE and UNSUBSCRIBE share one set
  // (§2.2.1). Two ranges keep them apart: messages take 1 to 65,279 in turn, requests one for each place in
  // their table.

  /// How many identifiers messages have.
  public static var messageCount: Int { 65_279 }
  /// How many requests have.
  public static var requestCount: Int { 256 }

  public static var first: PacketIdentifier { PacketIdentifier(unchecked: 1) }

  /// The identifier of a message that any 16 bits stand for.
  public static func message(random bits: UInt16) -> PacketIdentifier {
    PacketIdentifier(unchecked: bits % UInt16(messageCount) &+ 1)
  }

  /// The identifier of the request at a place.
  public static func request(_ place: Int) -> PacketIdentifier {
    precondition(place >= 0 && place < requestCount)
    return PacketIdentifier(unchecked: UInt16(messageCount &+ 1 &+ place))
  }

  /// The place of the request that has this identifier; `nil` for a message's.
  public var requestPlace: Int? {
    let place = Int(rawValue) &- Self.messageCount &- 1
    return place >= 0 ? place : nil
  }

  /// The message identifier after this; 1 after the last.
  @inline(__always)
  public var next: PacketIdentifier {
    PacketIdentifier(unchecked: Int(rawValue) == Self.messageCount ? 1 : rawValue &+ 1)
  }

  /// How many steps of `next` lead from `start` to this one; a request's identifier is never reached.
  @inline(__always)
  public func distance(from start: PacketIdentifier) -> Int {
    let difference = Int(rawValue) &- Int(start.rawValue)
    if difference < 0 { return difference &+ Self.messageCount }
    return Int(rawValue) > Self.messageCount ? .max : difference
  }

  /// The one that `steps` steps of `next` lead to.
  public func advanced(by steps: Int) -> PacketIdentifier {
    let sum = Int(rawValue) &+ steps
    return PacketIdentifier(
      unchecked: UInt16(truncatingIfNeeded: sum > Self.messageCount ? sum &- Self.messageCount : sum))
  }

  @inline(__always)
  private init(unchecked rawValue: UInt16) { self.rawValue = rawValue }
}
