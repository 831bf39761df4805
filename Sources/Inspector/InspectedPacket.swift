public import Capture
public import Storage

/// A packet as it went over the connection, or its beginning, for programs that look on.
public struct InspectedPacket: ~Copyable, ~Escapable {
  public let isSent: Bool
  public let time: Instant
  /// Of the whole packet, whatever is here of it.
  public let length: Int
  let front: Span<UInt8>
  /// What follows in other memory.
  let more: Span<UInt8>
  /// What nobody is to read, in `front`; both may be empty.
  private let secrets: (first: ByteRange, second: ByteRange)
  /// `nil`: it is not known.
  let outbox: CapturedPacket.Outbox?

  @_lifetime(copy front, copy more)
  public init(
    isSent: Bool, time: Instant, length: Int, front: Span<UInt8>, more: Span<UInt8>,
    secrets: (first: ByteRange, second: ByteRange), outbox: CapturedPacket.Outbox?
  ) {
    self.isSent = isSent
    self.time = time
    self.length = length
    self.front = front
    self.more = more
    self.secrets = secrets
    self.outbox = outbox
  }

  /// `bytes` are the beginning of the packet.
  func coverSecrets(in bytes: inout MutableSpan<UInt8>) {
    Secret.cover(secrets.first, in: &bytes)
    Secret.cover(secrets.second, in: &bytes)
  }
}

/// What nobody is to read who looks on: all lengths stay true.
public enum Secret {
  /// `bytes` are the beginning of the packet that has it.
  public static func cover(_ secret: ByteRange, in bytes: inout MutableSpan<UInt8>) {
    for index in min(secret.offset, bytes.count)..<min(secret.end, bytes.count) {
      bytes[index] = UInt8(ascii: "*")
    }
  }
}
