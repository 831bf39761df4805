/// A Packet Identifier (§2.2.1): 1 to 65,535.
public struct PacketIdentifier: BitwiseCopyable, Equatable {
  public let rawValue: UInt16

  /// `nil` for zero, which is none [MQTT-2.2.1-3].
  public init?(_ rawValue: UInt16) {
    guard rawValue != 0 else { return nil }
    self.rawValue = rawValue
  }

  public static var first: PacketIdentifier { PacketIdentifier(unchecked: 1) }

  /// The one after this; 1 after 65,535.
  @inline(__always)
  public var next: PacketIdentifier {
    PacketIdentifier(unchecked: rawValue == .max ? 1 : rawValue &+ 1)
  }

  /// How many steps of `next` lead from `start` to this one: 0 to 65,534.
  @inline(__always)
  public func distance(from start: PacketIdentifier) -> Int {
    let difference = Int(rawValue) - Int(start.rawValue)
    return difference >= 0 ? difference : difference + 65_535
  }

  @inline(__always)
  private init(unchecked rawValue: UInt16) { self.rawValue = rawValue }
}
