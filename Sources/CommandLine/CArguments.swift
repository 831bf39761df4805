import CSwiftMQTT

/// Copies of what C reads, which live as long as this object.
@safe
final class CArguments {
  var blocks: [UnsafeMutableRawPointer] = unsafe []

  deinit {
    unsafe blocks.forEach { unsafe $0.deallocate() }
  }

  /// Of libswiftmqtt, and of libswiftmqtt-tls.
  func bytes(_ bytes: [UInt8]) -> smq_bytes {
    unsafe smq_bytes(data: block(bytes), size: bytes.count)
  }

  func block(_ bytes: [UInt8]) -> UnsafeRawPointer? {
    guard !bytes.isEmpty else { return nil }
    let block = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 8)
    unsafe bytes.withUnsafeBytes { unsafe block.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
    unsafe blocks.append(block)
    return UnsafeRawPointer(block)
  }
}
