import CPlatform

/// Standard output, in larger pieces: written when there is nothing else to do.
final class Output {
  private var buffer: [UInt8] = []
  /// The errno of a write that failed; nothing is written after it.
  private(set) var error: Int32 = 0
  let isTerminal = System.isTerminal(1)

  func write(_ bytes: [UInt8]) {
    buffer += bytes
    if buffer.count >= 65_536 { flush() }
  }

  func write(_ byte: UInt8) { buffer.append(byte) }

  func flush() {
    guard !buffer.isEmpty else { return }
    if error == 0 { error = System.write(1, buffer) }
    buffer.removeAll(keepingCapacity: buffer.count <= 131_072)
  }

  /// The reader is gone.
  func broke() {
    if error == 0 { error = Int32(PLATFORM_EPIPE) }
  }

  /// Throws if something could not be written.
  func finish() throws(ExitError) {
    flush()
    if error != 0 && error != Int32(PLATFORM_EINTR) {
      throw ExitError(text: "cannot write to standard output: \(System.errorText(error))")
    }
  }
}
