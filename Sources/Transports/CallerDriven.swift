public import Platform
public import Storage

/// The application's own transport. The application opens it when it is asked to, carries the bytes and tells
/// the time, all through Driver+CallerDriven.swift. The system has no part in it.
public struct CallerDriven: ~Copyable, Transport {
  public init() {}

  public var isPolled: Bool { false }
  public var stage: OpeningStage { .connect }
  public var deadline: Instant? { nil }
  public var hasBuffered: Bool { false }
  public var hasUnsent: Bool { false }
  public var addressCapacity: Int { 0 }

  /// The application closes it itself, and the driver finds it closed.
  public func isOpen<System: Platform & ~Copyable>(on system: borrowing System) -> Bool { false }
  public func isReadable(_ ready: Readiness) -> Bool { false }
  public func isWritable(_ ready: Readiness) -> Bool { false }

  public mutating func open<System: Platform & ~Copyable>(
    _ server: Int, _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening { .needsTransport }

  public mutating func reopen<System: Platform & ~Copyable>(
    _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening { .needsTransport }

  public mutating func provide<System: Platform & ~Copyable>(
    _ addresses: AddressList, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening { .opening }

  public mutating func advance<System: Platform & ~Copyable>(
    _ ready: Readiness, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening { .opening }

  public mutating func timedOut<System: Platform & ~Copyable>(
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening { .opening }

  public mutating func send<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, on system: inout System
  ) -> Transfer { .wouldBlock }

  public mutating func send<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, _ payload: Span<UInt8>, on system: inout System
  ) -> Transfer { .wouldBlock }

  public mutating func flush<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    .wouldBlock
  }

  public mutating func receive<System: Platform & ~Copyable>(
    into space: inout MutableSpan<UInt8>, on system: inout System
  ) -> Transfer { .wouldBlock }

  public mutating func watch<System: Platform & ~Copyable>(
    readable: Bool, writable: Bool, on system: inout System
  ) throws(PlatformError) {}

  public mutating func shutdownWrite<System: Platform & ~Copyable>(on system: inout System) {}

  /// The application sends what was handed to it. The driver waits for nothing more.
  public mutating func discard<System: Platform & ~Copyable>(on system: inout System) -> Transfer { .closed }

  public mutating func close<System: Platform & ~Copyable>(on system: inout System) {}

  // MARK: Bytes that the application carries

  public var isLayered: Bool { false }
  public mutating func connected<System: Platform & ~Copyable>(on system: inout System) -> Opening { .open }
  @_lifetime(&self)
  public mutating func receiveSpace() -> MutableSpan<UInt8> { MutableSpan() }
  public mutating func received(_ count: Int) {}
  public var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get { Span() }
  }
  public mutating func transmitted(_ count: Int) {}
  public mutating func peerClosed() -> Layer? { nil }
}
