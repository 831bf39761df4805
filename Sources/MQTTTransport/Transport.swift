/// A two-way stream of bytes that never waits. TCP is one; TLS and the caller's own will be others.
public protocol Transport: ~Copyable {
  /// Hands bytes over, from the front. `bytes` is not empty.
  mutating func send(_ bytes: Span<UInt8>) -> Transfer
  /// Fills `space` from its front. `space` is not empty.
  mutating func receive(into space: inout MutableSpan<UInt8>) -> Transfer
  /// Ends the stream at once. Harmless if it has ended.
  mutating func close()
}

/// What a transport did.
public enum Transfer: BitwiseCopyable {
  case moved(Int)  // this many bytes, at least one
  case later  // none now; the poller tells when
  case closed  // the peer has closed
  case failed(Int32)  // errno
}
