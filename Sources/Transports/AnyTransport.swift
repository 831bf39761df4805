public import Platform
public import Storage

/// TCP or the caller's own transport, as it is made: one driver in the library serves both, which as two
/// would take twice the code (docs/decisions/0028).
public struct AnyTransport: ~Copyable, Transport {
  private var tcp: TCP
  /// The application has the transport, which needs no state here.
  private let isOwn: Bool

  public init(_ tcp: consuming TCP) {
    self.tcp = tcp
    isOwn = false
  }

  /// `unused` takes the place of a transport that is not there.
  public init(_ own: consuming CallerDriven, unused: consuming TCP) {
    tcp = unused
    isOwn = true
  }

  // MARK: Getters

  private var isCallerDriven: Bool { Feature.hasEngine && isOwn }
  public var isPolled: Bool { !isCallerDriven }
  public var stage: OpeningStage { isCallerDriven ? CallerDriven().stage : tcp.stage }
  public var deadline: Instant? { tcp.deadline }
  public var hasBuffered: Bool { tcp.hasBuffered }
  public var addressCapacity: Int { tcp.addressCapacity }

  public func isOpen<System: Platform & ~Copyable>(on system: borrowing System) -> Bool {
    tcp.isOpen(on: system)
  }

  public func isReadable(_ ready: Readiness) -> Bool { tcp.isReadable(ready) }
  public func isWritable(_ ready: Readiness) -> Bool { tcp.isWritable(ready) }

  /// The socket of TCP.
  public func firstSocket(isOpen: Bool) -> Channel? { tcp.firstSocket(isOpen: isOpen) }

  // MARK: Opening

  public mutating func open<System: Platform & ~Copyable>(
    _ server: Int, _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    isCallerDriven ? .needsTransport : tcp.open(server, host, port: port, on: &system, log, at: now)
  }

  public mutating func reopen<System: Platform & ~Copyable>(
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    isCallerDriven ? .needsTransport : tcp.reopen(on: &system, log, at: now)
  }

  public mutating func provide<System: Platform & ~Copyable>(
    _ addresses: AddressList, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    tcp.provide(addresses, on: &system, log, at: now)
  }

  public mutating func advance<System: Platform & ~Copyable>(
    _ ready: Readiness, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    isCallerDriven ? .opening : tcp.advance(ready, on: &system, log, at: now)
  }

  public mutating func timedOut<System: Platform & ~Copyable>(
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    tcp.timedOut(on: &system, log, at: now)
  }

  // MARK: Open

  public mutating func send<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, on system: inout System
  ) -> Transfer {
    tcp.send(bytes, on: &system)
  }

  public mutating func receive<System: Platform & ~Copyable>(
    into space: inout MutableSpan<UInt8>, on system: inout System
  ) -> Transfer {
    tcp.receive(into: &space, on: &system)
  }

  public mutating func watch<System: Platform & ~Copyable>(
    readable: Bool, writable: Bool, on system: inout System
  ) throws(PlatformError) {
    if !isCallerDriven { try tcp.watch(readable: readable, writable: writable, on: &system) }
  }

  // MARK: The end

  public mutating func shutdownWrite<System: Platform & ~Copyable>(on system: inout System) {
    if !isCallerDriven { tcp.shutdownWrite(on: &system) }
  }

  public mutating func discard<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    isCallerDriven ? .closed : tcp.discard(on: &system)
  }

  public mutating func close<System: Platform & ~Copyable>(on system: inout System) {
    if !isCallerDriven { tcp.close(on: &system) }
  }
}
