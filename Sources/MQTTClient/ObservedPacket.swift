import Capture
import Inspector
public import MQTTSession
public import MQTTWire
public import Storage

/// What is the same of all packets that one piece of bytes has.
struct PacketContext: BitwiseCopyable {
  let version: ProtocolVersion
  let time: Instant
  let outbox: OutboxFill
}

/// A Control Packet as it went over the connection, or its beginning; or bytes that are no packet.
public struct ObservedPacket: ~Copyable, ~Escapable {
  public enum Direction: UInt8, BitwiseCopyable { case sent = 1, received }

  public let direction: Direction
  /// 0: the bytes are no packet.
  public let type: UInt8
  public let time: Instant
  /// Of the whole packet, whatever is here of it.
  public let length: Int
  /// The beginning of the packet, with its Fixed Header.
  public let front: Span<UInt8>
  /// What follows: a payload that is in the program's memory.
  public let payload: Span<UInt8>
  /// In `front`.
  public let secrets: Secrets
  public let outbox: OutboxFill

  @_lifetime(copy front, copy payload)
  @inline(never)
  init(
    _ direction: Direction, _ header: FixedHeader, _ context: PacketContext, front: Span<UInt8>,
    payload: Span<UInt8> = Span()
  ) {
    self.direction = direction
    time = context.time
    outbox = context.outbox
    type = header.type.rawValue
    length = header.packetSize
    self.front = front
    self.payload = payload
    secrets = Secrets(in: front, header, version: context.version)
  }

  /// Bytes that no packet begins with.
  @_lifetime(copy bytes)
  init(_ direction: Direction, notAPacket bytes: Span<UInt8>, _ context: PacketContext) {
    self.direction = direction
    time = context.time
    outbox = context.outbox
    type = 0
    length = bytes.count
    front = bytes
    payload = Span()
    secrets = Secrets(inNoPacket: bytes)
  }

  /// What a trace has kept; its secrets are covered.
  @_lifetime(copy bytes)
  init(_ entry: TraceEntry, _ bytes: Span<UInt8>) {
    direction = Direction(rawValue: entry.direction) ?? .sent
    time = Instant(milliseconds: entry.time)
    outbox = .unknown
    type = entry.type
    length = Int(truncatingIfNeeded: entry.length)
    front = bytes
    payload = Span()
    secrets = .none
  }

  public var captured: Int { front.count &+ payload.count }

  /// Copies the beginning of the packet to `target`, with its secrets covered, as far as it is here and fits. Returns how
  /// many bytes that are.
  func copyMasked(into target: inout MutableSpan<UInt8>) -> Int {
    Self.copyMasked(front, payload, secrets, into: &target)
  }

  @inline(never)
  @_optimize(size)
  static func copyMasked(
    _ front: Span<UInt8>, _ payload: Span<UInt8>, _ secrets: Secrets, into target: inout MutableSpan<UInt8>
  ) -> Int {
    let first = min(front.count, target.count)
    var head = target._mutatingExtracting(0..<first)
    copy(front.extracting(0..<first), into: &head)
    cover(secrets, in: &head)
    let second = min(payload.count, target.count &- first)
    guard second > 0 else { return first }
    var tail = target._mutatingExtracting(first..<first &+ second)
    copy(payload.extracting(0..<second), into: &tail)
    return first &+ second
  }

  /// `bytes` are the beginning of the packet.
  private static func cover(_ secrets: Secrets, in bytes: inout MutableSpan<UInt8>) {
    Secret.cover(secrets.first, in: &bytes)
    Secret.cover(secrets.second, in: &bytes)
  }
}

extension ObservedPacket {
  /// For programs that look on. `isKept`: it is of a trace, which has no outbox.
  @inline(never)
  @_optimize(size)
  @_lifetime(copy self)
  func inspected(isKept: Bool) -> InspectedPacket {
    InspectedPacket(
      isSent: direction == .sent, time: time, length: length, front: front, more: payload,
      secrets: (secrets.first, secrets.second),
      outbox: isKept
        ? nil
        : CapturedPacket.Outbox(
          messages: UInt32(truncatingIfNeeded: outbox.messages),
          inFlight: UInt32(truncatingIfNeeded: outbox.inFlight)))
  }
}
