import Platform
import Storage
import Transports

/// What TLS will be to the driver: a layer on another transport, with a handshake of its own (`>` to the server,
/// two `<` from it). It reads as much as there is, and takes one byte of the handshake or one record, which is a
/// line, at a time: the others lie inside behind a descriptor that is silent. The record END is the last.
struct RecordLayer<Base: Transport & ~Copyable>: ~Copyable, Transport {
  private var base: Base
  private enum State { case opening, greeted, answered, open }
  private var state = State.opening
  private var inside: [UInt8] = []

  init(_ base: consuming Base) { self.base = base }

  var isPolled: Bool { base.isPolled }
  var stage: OpeningStage { base.stage }
  var deadline: Instant? { state == .opening ? base.deadline : nil }
  var hasUnsent: Bool { base.hasUnsent }
  var hasBuffered: Bool { !inside.isEmpty || base.hasBuffered }
  var addressCapacity: Int { base.addressCapacity }

  func isOpen<System: Platform & ~Copyable>(on system: borrowing System) -> Bool { base.isOpen(on: system) }
  func isReadable(_ ready: Readiness) -> Bool { base.isReadable(ready) }
  func isWritable(_ ready: Readiness) -> Bool { base.isWritable(ready) }

  mutating func open<System: Platform & ~Copyable>(
    _ server: Int, _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    state = .opening
    inside = []
    return greet(base.open(server, host, port: port, on: &system, log, at: now), on: &system)
  }

  mutating func reopen<System: Platform & ~Copyable>(
    _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    state = .opening
    inside = []
    return greet(base.reopen(host, port: port, on: &system, log, at: now), on: &system)
  }

  mutating func advance<System: Platform & ~Copyable>(
    _ ready: Readiness, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    guard state != .opening else { return greet(base.advance(ready, on: &system, log, at: now), on: &system) }
    guard base.isReadable(ready) || !inside.isEmpty else { return .opening }
    guard case .transferred = fill(from: &system), inside.removeFirst() == UInt8(ascii: "<") else {
      return .failed(.system(SystemError.connectionReset))
    }
    state = state == .greeted ? .answered : .open
    return state == .open ? .open : .opening
  }

  mutating func provide<System: Platform & ~Copyable>(
    _ addresses: AddressList, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening { greet(base.provide(addresses, on: &system, log, at: now), on: &system) }

  mutating func timedOut<System: Platform & ~Copyable>(
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening { greet(base.timedOut(on: &system, log, at: now), on: &system) }

  /// Reads if nothing is left inside.
  private mutating func fill<System: Platform & ~Copyable>(from system: inout System) -> Transfer {
    guard inside.isEmpty else { return .transferred(inside.count) }
    var read = [UInt8](repeating: 0, count: 1000)
    var room = read.mutableSpan
    let result = base.receive(into: &room, on: &system)
    if case .transferred(let count) = result { inside = Array(read.prefix(count)) }
    return result
  }

  /// The size of the first record inside.
  private var recordSize: Int { inside.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? inside.count }

  private mutating func greet<System: Platform & ~Copyable>(
    _ opening: Opening, on system: inout System
  ) -> Opening {
    guard case .open = opening else { return opening }
    state = .greeted
    _ = base.send([UInt8(ascii: ">")].span, on: &system)
    _ = try? base.watch(readable: true, writable: false, on: &system)
    return .opening
  }

  mutating func send<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, _ payload: Span<UInt8>, on system: inout System
  ) -> Transfer {
    send(bytes, on: &system)
  }

  mutating func send<System: Platform & ~Copyable>(_ bytes: Span<UInt8>, on system: inout System) -> Transfer
  {
    base.send(bytes, on: &system)
  }

  mutating func receive<System: Platform & ~Copyable>(
    into space: inout MutableSpan<UInt8>, on system: inout System
  ) -> Transfer {
    let result = fill(from: &system)
    guard case .transferred = result else { return result }
    let count = min(recordSize, space.count)
    for index in 0..<count { space[index] = inside[index] }
    inside.removeFirst(count)
    return .transferred(count)
  }

  mutating func flush<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    base.flush(on: &system)
  }

  // The application carries no bytes here.

  var isLayered: Bool { false }
  mutating func connected<System: Platform & ~Copyable>(on system: inout System) -> Opening { .open }
  @_lifetime(&self)
  mutating func receiveSpace() -> MutableSpan<UInt8> { MutableSpan() }
  mutating func received(_ count: Int) {}
  var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { Span() }
  }
  mutating func transmitted(_ count: Int) {}
  mutating func peerClosed() -> Layer? { nil }

  mutating func watch<System: Platform & ~Copyable>(
    readable: Bool, writable: Bool, on system: inout System
  ) throws(PlatformError) {
    try base.watch(readable: readable, writable: writable, on: &system)
  }

  mutating func shutdownWrite<System: Platform & ~Copyable>(on system: inout System) {
    base.shutdownWrite(on: &system)
  }
  mutating func discard<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    let result = fill(from: &system)
    guard case .transferred = result else { return result }
    let record = Array(inside.prefix(recordSize))
    inside.removeFirst(record.count)
    return record == Array("END\n".utf8) ? .closed : .transferred(record.count)
  }
  mutating func close<System: Platform & ~Copyable>(on system: inout System) {
    inside = []
    base.close(on: &system)
  }
}
