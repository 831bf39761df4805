public import Platform
public import Storage

/// A socket in the file system, which is what the host names.
public struct Unix: ~Copyable, Transport {
  private var socket: Channel { .socket0 }
  /// What it was opened with, to be opened again.
  private var path: Region

  /// `path` has room for a path and a zero.
  public init(path: consuming Region) { self.path = path }

  // MARK: Getters

  public var stage: OpeningStage { .connect }

  public func isOpen<System: Platform & ~Copyable>(on system: borrowing System) -> Bool {
    system.isOpen(socket)
  }

  public func isReadable(_ ready: Readiness) -> Bool { ready.isReadable(socket) }
  public func isWritable(_ ready: Readiness) -> Bool { ready.isWritable(socket) }

  // MARK: Opening

  public mutating func open<System: Platform & ~Copyable>(
    _ server: Int, _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    guard host.count <= path.count else { return .failed(.system(SystemError.invalidArgument)) }
    var room = path.mutableBytes(in: 0..<host.count)
    copy(host, into: &room)
    return reopen(on: &system, log, at: now)
  }

  public mutating func reopen<System: Platform & ~Copyable>(
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    do throws(PlatformError) {
      try system.connect(socket, toPath: path.bytes)
      try system.watch(socket, readable: false, writable: true)
      return .opening
    } catch {
      return .failed(.system(error.code))
    }
  }

  public mutating func advance<System: Platform & ~Copyable>(
    _ ready: Readiness, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    guard ready.isReady(socket) else { return .opening }
    let error = system.connectError(socket)
    return error == 0 ? .open : .failed(.system(error))
  }

  // MARK: Open

  public mutating func send<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, on system: inout System
  ) -> Transfer {
    system.send(socket, bytes)
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

  // MARK: The end

  public mutating func shutdownWrite<System: Platform & ~Copyable>(on system: inout System) {
    system.shutdownWrite(socket)
  }

  public mutating func discard<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    system.discard(socket)
  }

  public mutating func close<System: Platform & ~Copyable>(on system: inout System) {
    system.close(socket)
  }
}
