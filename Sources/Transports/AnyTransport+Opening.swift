import Platform
import Storage

/// How the layers open: bytes go between the socket and them until they are, or one fails.
extension AnyTransport {
  mutating func prepareLayers(_ host: Span<UInt8>, port: UInt16) {
    isConnected = false
    // A socket in the file system has no port, and no engine is told one.
    if hasLayers { layers.element.prepare(host, port: isUnix ? 0 : port) }
  }

  /// A socket that is open is one that the layers begin on.
  @inline(never)
  @_optimize(size)
  mutating func raise<System: Platform & ~Copyable>(
    _ opening: Opening, on system: inout System
  ) -> Opening {
    guard hasLayers, case .open = opening else { return opening }
    return beginLayers(on: &system)
  }

  @inline(never)
  @_optimize(size)
  mutating func beginLayers<System: Platform & ~Copyable>(on system: inout System) -> Opening {
    isConnected = true
    stockKeys(on: &system)
    let opening = layers.element.begin(wallClock: isCallerDriven ? nil : system.wallClock())
    guard case .opening = opening else { return opening }
    return isCallerDriven ? layers.element.advance() : advanceLayers(on: &system)
  }

  /// Carries bytes between the socket and the layers until the socket has no more, or they are open.
  @inline(never)
  @_optimize(size)
  mutating func advanceLayers<System: Platform & ~Copyable>(on system: inout System) -> Opening {
    // A peer that sends without end must not hold the caller. The poller tells of the rest again.
    for _ in 0..<Self.rounds {
      let opening = layers.element.advance()
      let sent = flush(on: &system)
      guard case .opening = opening else { return watchLayers(opening, on: &system) }
      let fetched = fetch(on: &system)
      switch sent {
      case .transferred, .wouldBlock: break
      case .closed, .failed, .broken:
        // What the peer said before is there to be read, and says why.
        layers.element.sendingFailed()
        if case .transferred = fetched, case .failed(let error) = layers.element.advance() {
          return .failed(error)
        }
        return failure(of: sent) ?? .opening
      }
      switch fetched {
      case .transferred: continue
      case .wouldBlock:
        // What was sent has made room for more.
        if case .transferred = sent { continue }
        return watchLayers(.opening, on: &system)
      case let end: return failure(of: end) ?? .opening
      }
    }
    return watchLayers(.opening, on: &system)
  }

  static var rounds: Int { 64 }

  /// What ends opening. A peer that does not speak TLS closes, or its system does, with a reset.
  private mutating func failure(of transfer: Transfer) -> Opening? {
    switch transfer {
    case .transferred, .wouldBlock: nil
    case .closed: .failed(peerClosed().map { .layer($0) } ?? .closed)
    case .failed(let error) where error == SystemError.connectionReset:
      .failed(peerClosed().map { .layer($0) } ?? .system(error))
    case .failed(let error): .failed(.system(error))
    case .broken(let layer): .failed(.layer(layer))
    }
  }

  @inline(never)
  @_optimize(size)
  private mutating func watchLayers<System: Platform & ~Copyable>(
    _ opening: Opening, on system: inout System
  ) -> Opening {
    do throws(PlatformError) {
      try watch(readable: true, writable: false, on: &system)
      return opening
    } catch {
      return .failed(.system(error.code))
    }
  }

  /// Reads from the socket what the layers have room for.
  @inline(never)
  @_optimize(size)
  mutating func fetch<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    let result = Self.fetch(socket, into: &layers, on: &system)
    if case .transferred(let count) = result { layers.element.received(count) }
    return result
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func fetch<System: Platform & ~Copyable>(
    _ socket: Channel, into layers: inout OptionalSlot<Layers>, on system: inout System
  ) -> Transfer {
    var room = layers.mutableBytes { layers, hand in
      var space = layers.receiveSpace()
      hand(&space)
    }
    guard room.count > 0 else { return .wouldBlock }
    return system.receive(socket, into: &room)
  }

  @inline(never)
  @_optimize(size)
  mutating func stockKeys<System: Platform & ~Copyable>(on system: inout System) {
    guard layers.element.needsKeys else { return }
    var keys = InlineArray<128, UInt8>(repeating: 0)
    var room = keys.mutableSpan
    system.fillRandom(&room)
    layers.element.stockKeys(keys.span)
  }
}
