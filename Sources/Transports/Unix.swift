public import Platform
public import Storage

/// A socket in the file system, which is what the host names.
public struct Unix: ~Copyable, SocketTransport {
  public var socket: Channel { .socket0 }

  public init() {}

  // MARK: Getters

  public var stage: OpeningStage { .connect }
  public var deadline: Instant? { nil }
  public var addressCapacity: Int { 0 }

  // MARK: Opening

  public mutating func open<System: Platform & ~Copyable>(
    _ server: Int, _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening { reopen(host, port: port, on: &system, log, at: now) }

  public mutating func reopen<System: Platform & ~Copyable>(
    _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    do throws(PlatformError) {
      try system.connect(socket, toPath: host)
      try system.watch(socket, readable: false, writable: true)
      return .opening
    } catch {
      return .failed(.system(error.code))
    }
  }

  public mutating func provide<System: Platform & ~Copyable>(
    _ addresses: AddressList, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening { .opening }

  public mutating func advance<System: Platform & ~Copyable>(
    _ ready: Readiness, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    guard ready.isReady(socket) else { return .opening }
    let error = system.connectError(socket)
    return error == 0 ? .open : .failed(.system(error))
  }

  public mutating func timedOut<System: Platform & ~Copyable>(
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening { .opening }

  // MARK: The end

  public mutating func close<System: Platform & ~Copyable>(on system: inout System) {
    system.close(socket)
  }
}
