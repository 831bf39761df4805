/// Distinguishes topics and Topic Filters without keeping them (FNV-1a).
public struct TopicHash: BitwiseCopyable {
  public private(set) var value: UInt32 = 2_166_136_261

  public init() {}

  @inline(__always)
  public mutating func add(_ byte: UInt8) { value = (value ^ UInt32(byte)) &* 16_777_619 }

  @inline(never)
  public static func of(_ topic: Span<UInt8>) -> UInt32 {
    var hash = TopicHash()
    for index in 0..<topic.count { hash.add(topic[index]) }
    return hash.value
  }

  /// Returns 16 bits of a hash: any but `.max`.
  @inline(never)
  public static func short(_ hash: UInt32) -> UInt16 {
    min(UInt16(truncatingIfNeeded: hash ^ hash >> 16), .max &- 1)
  }

  @inline(never)
  public static func short(of topic: Span<UInt8>) -> UInt16 { short(of(topic)) }
}
