public import Platform

/// A transport whose connection is one socket of the system: what it does with bytes is the same, however the
/// socket was opened.
public protocol SocketTransport: ~Copyable, Transport {
  /// The socket of the connection.
  var socket: Channel { get }
}

extension SocketTransport where Self: ~Copyable {
  public var isPolled: Bool { true }
  /// Nothing lies between the socket and the driver.
  public var hasBuffered: Bool { false }
  public var hasUnsent: Bool { false }

  public func isOpen<System: Platform & ~Copyable>(on system: borrowing System) -> Bool {
    system.isOpen(socket)
  }

  public func isReadable(_ ready: Readiness) -> Bool { ready.isReadable(socket) }
  public func isWritable(_ ready: Readiness) -> Bool { ready.isWritable(socket) }

  public mutating func send<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, on system: inout System
  ) -> Transfer {
    system.send(socket, bytes)
  }

  public mutating func send<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, _ payload: Span<UInt8>, on system: inout System
  ) -> Transfer {
    system.send(socket, bytes, payload)
  }

  public mutating func flush<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    .wouldBlock
  }

  public mutating func receive<System: Platform & ~Copyable>(
    into space: inout MutableSpan<UInt8>, on system: inout System
  ) -> Transfer {
    system.receive(socket, into: &space)
  }

  public mutating func watch<System: Platform & ~Copyable>(
    readable: Bool, writable: Bool, on system: inout System
  ) throws(PlatformError) {
    try system.watch(socket, readable: readable, writable: writable)
  }

  public mutating func shutdownWrite<System: Platform & ~Copyable>(on system: inout System) {
    system.shutdownWrite(socket)
  }

  public mutating func discard<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    system.discard(socket)
  }

  // The application carries no bytes here.

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
