/// What one side can do and what it wants of the other, in milliseconds; 0: nothing ("Heart-beating").
public struct HeartBeat: BitwiseCopyable, Equatable, Sendable {
  /// The least time between two heart-beats that it guarantees to send.
  public var sends: UInt32
  /// The time between two heart-beats that it wants to get.
  public var wants: UInt32

  public init(sends: UInt32, wants: UInt32) {
    self.sends = sends
    self.wants = wants
  }

  /// "A missing heart-beat header MUST be treated the same way as 0,0".
  public static var none: Self { Self(sends: 0, wants: 0) }

  public static var longest: Int { 0x7FFF_FFFF }

  /// Parses two numbers with a comma between them.
  public init(parsing text: Span<UInt8>) throws(MalformedFrame) {
    var comma = 0
    while comma < text.count, text[comma] != UInt8(ascii: ",") { comma &+= 1 }
    guard comma < text.count,
      let sends = DecimalNumber.parse(text.extracting(0..<comma), most: Self.longest),
      let wants = DecimalNumber.parse(text.extracting(comma &+ 1..<text.count), most: Self.longest)
    else { throw .heartBeat }
    self.init(sends: UInt32(sends), wants: UInt32(wants))
  }

  /// How often this side has to send something to the other; 0: never.
  public func agreed(with other: HeartBeat) -> UInt32 {
    sends == 0 || other.wants == 0 ? 0 : max(sends, other.wants)
  }
}
