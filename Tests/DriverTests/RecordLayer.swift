import Platform
import Storage
import Transports

/// What TLS will be to the driver: a layer on another transport, with a handshake of its own (one byte each
/// way). It reads as much as there is and hands out one record, which is a line, at a time: the others lie
/// inside behind a descriptor that is silent.
struct RecordLayer<Base: Transport & ~Copyable>: ~Copyable, Transport {
  private var base: Base
  private enum State { case opening, greeted, open }
  private var state = State.opening
  private var inside: [UInt8] = []

  init(_ base: consuming Base) { self.base = base }

  var isPolled: Bool { base.isPolled }
  var stage: OpeningStage { base.stage }
  var deadline: Instant? { state == .opening ? base.deadline : nil }
  var hasBuffered: Bool { !inside.isEmpty || base.hasBuffered }

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
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    state = .opening
    inside = []
    return greet(base.reopen(on: &system, log, at: now), on: &system)
  }

  mutating func advance<System: Platform & ~Copyable>(
    _ ready: Readiness, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    guard state != .opening else { return greet(base.advance(ready, on: &system, log, at: now), on: &system) }
    guard base.isReadable(ready) else { return .opening }
    var answer: [UInt8] = [0]
    var space = answer.mutableSpan
    guard case .transferred = base.receive(into: &space, on: &system), answer == [UInt8(ascii: "<")] else {
      return .failed(.system(SystemError.connectionRefused))
    }
    state = .open
    return .open
  }

  private mutating func greet<System: Platform & ~Copyable>(
    _ opening: Opening, on system: inout System
  ) -> Opening {
    guard case .open = opening else { return opening }
    state = .greeted
    _ = base.send([UInt8(ascii: ">")].span, on: &system)
    _ = try? base.watch(readable: true, writable: false, on: &system)
    return .opening
  }

  mutating func send<System: Platform & ~Copyable>(_ bytes: Span<UInt8>, on system: inout System) -> Transfer
  {
    base.send(bytes, on: &system)
  }

  mutating func receive<System: Platform & ~Copyable>(
    into space: inout MutableSpan<UInt8>, on system: inout System
  ) -> Transfer {
    if inside.isEmpty {
      var read = [UInt8](repeating: 0, count: 1000)
      var room = read.mutableSpan
      let result = base.receive(into: &room, on: &system)
      guard case .transferred(let count) = result else { return result }
      inside = Array(read.prefix(count))
    }
    let record = inside.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? inside.count
    let count = min(record, space.count)
    for index in 0..<count { space[index] = inside[index] }
    inside.removeFirst(count)
    return .transferred(count)
  }

  mutating func watch<System: Platform & ~Copyable>(
    readable: Bool, writable: Bool, on system: inout System
  ) throws(PlatformError) {
    try base.watch(readable: readable, writable: writable, on: &system)
  }

  mutating func shutdownWrite<System: Platform & ~Copyable>(on system: inout System) {
    base.shutdownWrite(on: &system)
  }
  mutating func discard<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    base.discard(on: &system)
  }
  mutating func close<System: Platform & ~Copyable>(on system: inout System) {
    inside = []
    base.close(on: &system)
  }
}
