/// Writes properties one by one into space that may be too small, for applications that build a list.
public enum PropertyEncoder {
  public enum Fault: Error, BitwiseCopyable {
    case property  // unknown, of another kind, or out of its range
    case utf8
    case full
  }

  /// Each of these functions returns how many bytes it wrote. If it throws, it has written nothing.
  public static func encode(
    _ identifier: UInt32, number: UInt32, into target: inout MutableSpan<UInt8>
  ) throws(Fault) -> Int {
    let rule = try rule(identifier)
    let size: Int
    let limit: UInt32
    switch rule.type {
    case .byte: (size, limit) = (1, 0xFF)
    case .twoByteInteger: (size, limit) = (2, 0xFFFF)
    case .fourByteInteger: (size, limit) = (4, .max)
    case .variableByteInteger:
      limit = UInt32(VariableByteInteger.maximum)
      size = VariableByteInteger.encodedSize(Int(truncatingIfNeeded: min(number, limit)))
    default: throw .property
    }
    guard number <= limit, rule.values.contains(number) else { throw .property }
    guard 1 &+ size <= target.count else { throw .full }
    var writer = ByteWriter(target._mutatingExtracting(0..<1 &+ size))
    writer.put(UInt8(truncatingIfNeeded: identifier))
    switch rule.type {
    case .byte: writer.put(UInt8(truncatingIfNeeded: number))
    case .twoByteInteger: writer.put(UInt16(truncatingIfNeeded: number))
    case .fourByteInteger: writer.put(number)
    default: writer.put(variableByteInteger: Int(truncatingIfNeeded: number))
    }
    return 1 &+ size
  }

  public static func encode(
    _ identifier: UInt32, bytes: Span<UInt8>, into target: inout MutableSpan<UInt8>
  ) throws(Fault) -> Int {
    let rule = try rule(identifier)
    guard rule.type == .string || rule.type == .binaryData,
      bytes.count <= UTF8EncodedString.maximumSize
    else { throw .property }
    guard rule.type == .binaryData || UTF8EncodedString.isValid(bytes) else { throw .utf8 }
    let size = 3 &+ bytes.count
    guard size <= target.count else { throw .full }
    var writer = ByteWriter(target._mutatingExtracting(0..<size))
    writer.put(UInt8(truncatingIfNeeded: identifier))
    writer.put(prefixed: bytes)
    return size
  }

  /// A User Property.
  public static func encode(
    name: Span<UInt8>, value: Span<UInt8>, into target: inout MutableSpan<UInt8>
  ) throws(Fault) -> Int {
    guard name.count <= UTF8EncodedString.maximumSize, value.count <= UTF8EncodedString.maximumSize else {
      throw .property
    }
    guard UTF8EncodedString.isValid(name), UTF8EncodedString.isValid(value) else { throw .utf8 }
    let size = 5 &+ name.count &+ value.count
    guard size <= target.count else { throw .full }
    var writer = ByteWriter(target._mutatingExtracting(0..<size))
    writer.put(PropertyIdentifier.userProperty.rawValue)
    writer.put(prefixed: name)
    writer.put(prefixed: value)
    return size
  }

  private static func rule(_ identifier: UInt32) throws(Fault) -> PropertyRule {
    // 255 is no identifier either.
    let rule = PropertyRule.of(UInt8(clamping: identifier))
    guard rule.contexts != 0 else { throw .property }
    return rule
  }
}
