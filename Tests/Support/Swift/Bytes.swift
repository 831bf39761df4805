/// Bytes written as `30 02 61*5`: two hexadecimal digits each, `*5` for five times the same.
public func hex(_ text: String) -> [UInt8] {
  text.split(separator: " ").flatMap { token -> [UInt8] in
    let parts = token.split(separator: "*")
    guard parts[0].utf8.count == 2, let byte = UInt8(parts[0], radix: 16) else {
      fatalError("not hex: \(text)")
    }
    return [UInt8](repeating: byte, count: parts.count == 2 ? Int(parts[1])! : 1)
  }
}

extension String {
  public var bytes: [UInt8] { Array(utf8) }
}

extension Span<UInt8> {
  /// A copy of the bytes.
  public var array: [UInt8] {
    var bytes: [UInt8] = []
    for index in indices { bytes.append(self[index]) }
    return bytes
  }
}

// MARK: The types of §1.5

public func twoBytes(_ value: some BinaryInteger) -> [UInt8] { [UInt8(value / 256), UInt8(value % 256)] }

/// A UTF-8 Encoded String, or Binary Data.
public func prefixed(_ bytes: [UInt8]) -> [UInt8] { twoBytes(bytes.count) + bytes }

/// The algorithm of §1.5.5; behind it, if asked for, bytes that add nothing.
public func variableByteInteger(_ value: Int, atLeast size: Int = 1) -> [UInt8] {
  var bytes: [UInt8] = []
  var rest = value
  repeat {
    let byte = UInt8(rest % 128)
    rest /= 128
    bytes.append(rest > 0 || bytes.count + 1 < size ? byte + 128 : byte)
  } while rest > 0 || bytes.count < size
  return bytes
}
