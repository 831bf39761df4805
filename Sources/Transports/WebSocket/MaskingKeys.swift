import Storage

/// What a frame is masked with: four random bytes, the first one lowest (RFC 6455 section 5.3).
public struct MaskingKey: BitwiseCopyable {
  let value: UInt32

  /// A frame with the key 0 would not be masked.
  init(_ value: UInt32) { self.value = value == 0 ? .max : value }
}

/// A stock of random keys, so that not every frame costs a system call.
public struct MaskingKeys: BitwiseCopyable {
  /// How many bytes `refill` takes at most.
  public static var size: Int { 128 }

  private var bytes = InlineArray<128, UInt8>(repeating: 0)
  private(set) var count: UInt8 = 0

  public init() {}

  public var isEmpty: Bool { count < 4 }

  /// Takes random bytes, in place of those that are left.
  public mutating func refill(_ random: Span<UInt8>) {
    let size = min(random.count, Self.size)
    for index in 0..<size { bytes[index] = random[index] }
    count = UInt8(truncatingIfNeeded: size)
  }

  /// `nil`: the stock is empty.
  public mutating func next() -> MaskingKey? {
    guard !isEmpty else { return nil }
    var value: UInt32 = 0
    for _ in 0..<4 {
      count &-= 1
      value = value << 8 | UInt32(bytes[Int(count)])
      bytes[Int(count)] = 0
    }
    return MaskingKey(value)
  }
}
