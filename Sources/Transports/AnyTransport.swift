public import Platform
public import Storage

/// TCP, a socket in the file system, or the application's own transport, as the client was made, and the layers
/// above it: one driver in the library serves all, which as several would take several times the code
/// (docs/decisions/0028).
public struct AnyTransport: ~Copyable, Transport {
  public enum Kind: UInt8, BitwiseCopyable { case tcp, unix, callerDriven }

  var tcp: TCP
  private var unix = Unix()
  var layers: OptionalSlot<Layers>
  private var kind: Kind
  /// The socket is connected, and the layers on it open, or are open.
  var isConnected = false

  /// With another kind than TCP, `tcp` is not used.
  public init(
    _ kind: Kind, _ tcp: consuming TCP, _ options: borrowing LayerOptions, plan: LayerPlan,
    block: borrowing Arena
  ) {
    self.kind = kind
    self.tcp = tcp
    layers = Self.makeLayers(options, plan, block)
  }

  @_optimize(size)
  private static func makeLayers(
    _ options: borrowing LayerOptions, _ plan: LayerPlan, _ block: borrowing Arena
  ) -> OptionalSlot<Layers> {
    OptionalSlot(plan.layers, in: block) { Layers(options, plan: plan, block: block) }
  }

  /// The next attempts go to a socket of this kind, through other layers, which have a block of their own.
  ///
  /// The caller guarantees that there is no attempt or connection, that the plan was made with the options, and
  /// the transport with a table of addresses if TCP is to come. The layers before are not used any more.
  @_optimize(size)
  public mutating func replaceLayers(
    _ kind: Kind, _ options: borrowing LayerOptions, plan: LayerPlan, block: borrowing Arena
  ) {
    wipeSecrets()
    self.kind = kind
    layers = Self.makeLayers(options, plan, block)
  }

  // MARK: Getters

  var isCallerDriven: Bool {
    @inline(always) get { Feature.hasEngine && kind == .callerDriven }
  }
  var isUnix: Bool {
    @inline(always) get { Feature.hasUnix && kind == .unix }
  }
  var hasLayers: Bool {
    @inline(always) get { !layers.isEmpty }
  }

  public var isPolled: Bool { !isCallerDriven }
  /// The race is over when the layers begin.
  public var deadline: Instant? { isConnected ? nil : tcp.deadline }
  public var hasBuffered: Bool { hasLayers && layers.element.hasMoreInside }
  public var hasUnsent: Bool { hasLayers && isConnected && layers.element.hasOutput }
  public var addressCapacity: Int { tcp.addressCapacity }

  public var stage: OpeningStage {
    if hasLayers, isConnected, let stage = layers.element.openingStage { return stage }
    return isCallerDriven || isUnix ? .connect : tcp.stage
  }

  /// Both have the same first one, and only TCP has others.
  var socket: Channel { tcp.socket }

  public func isOpen<System: Platform & ~Copyable>(on system: borrowing System) -> Bool {
    isCallerDriven ? isConnected : system.isOpen(socket)
  }

  public func isReadable(_ ready: Readiness) -> Bool { ready.isReadable(socket) }
  public func isWritable(_ ready: Readiness) -> Bool { ready.isWritable(socket) }

  /// The socket of the connection, or the first of those that try to become it.
  public func firstSocket(isOpen: Bool) -> Channel? {
    tcp.firstSocket(isOpen: isOpen || isConnected || isUnix)
  }

  // MARK: Opening

  @inline(never)
  @_optimize(size)
  public mutating func open<System: Platform & ~Copyable>(
    _ server: Int, _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    prepareLayers(host, port: port)
    if isCallerDriven { return .needsTransport }
    let opening =
      isUnix
      ? unix.open(server, host, port: port, on: &system, log, at: now)
      : openTCP(server, host, port: port, on: &system, log, at: now)
    return raise(opening, on: &system)
  }

  /// The proxy's name is looked up, if there is a proxy, and never the server's.
  @_optimize(size)
  private mutating func openTCP<System: Platform & ~Copyable>(
    _ server: Int, _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    guard Feature.hasProxy, hasLayers, layers.element.proxy != .none else {
      return tcp.open(server, host, port: port, on: &system, log, at: now)
    }
    return Self.open(&tcp, toProxyOf: layers, on: &system, log, at: now)
  }

  // Static, because the compiler takes a span of one part of `self` for a hold on all of it.
  private static func open<System: Platform & ~Copyable>(
    _ tcp: inout TCP, toProxyOf layers: borrowing OptionalSlot<Layers>, on system: inout System, _ log: Log,
    at now: Instant
  ) -> Opening {
    // All servers have the same proxy, so a look-up that is under way is the right one.
    tcp.open(
      0, layers.element.texts.proxyHost, port: layers.element.texts.proxyPort, on: &system, log, at: now)
  }

  @inline(never)
  @_optimize(size)
  public mutating func reopen<System: Platform & ~Copyable>(
    _ host: Span<UInt8>, port: UInt16, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    prepareLayers(host, port: port)
    if isCallerDriven { return .needsTransport }
    return raise(
      isUnix
        ? unix.reopen(host, port: port, on: &system, log, at: now)
        : tcp.reopen(host, port: port, on: &system, log, at: now), on: &system)
  }

  @inline(never)
  @_optimize(size)
  public mutating func provide<System: Platform & ~Copyable>(
    _ addresses: AddressList, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    raise(tcp.provide(addresses, on: &system, log, at: now), on: &system)
  }

  @inline(never)
  @_optimize(size)
  public mutating func advance<System: Platform & ~Copyable>(
    _ ready: Readiness, on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    if isCallerDriven { return hasLayers ? layers.element.advance() : .opening }
    if hasLayers, isConnected { return advanceLayers(on: &system) }
    return raise(
      isUnix
        ? unix.advance(ready, on: &system, log, at: now) : tcp.advance(ready, on: &system, log, at: now),
      on: &system)
  }

  @inline(never)
  @_optimize(size)
  public mutating func timedOut<System: Platform & ~Copyable>(
    on system: inout System, _ log: Log, at now: Instant
  ) -> Opening {
    raise(tcp.timedOut(on: &system, log, at: now), on: &system)
  }

  // MARK: Open

  @inline(__always)
  public mutating func send<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, on system: inout System
  ) -> Transfer {
    hasLayers ? sendThroughLayers(bytes, on: &system) : system.send(socket, bytes)
  }

  /// Layers copy what they take, so the payload follows in the next call.
  @inline(never)
  @_optimize(size)
  public mutating func send<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, _ payload: Span<UInt8>, on system: inout System
  ) -> Transfer {
    guard hasLayers, !(isPolled && layers.element.isTransparent) else {
      return system.send(socket, bytes, payload)
    }
    return sendThroughLayers(bytes, on: &system)
  }

  @inline(never)
  @_optimize(size)
  private mutating func sendThroughLayers<System: Platform & ~Copyable>(
    _ bytes: Span<UInt8>, on system: inout System
  ) -> Transfer {
    // Behind a proxy there may be nothing but the protocol.
    if isPolled, layers.element.isTransparent { return system.send(socket, bytes) }
    stockKeys(on: &system)
    return layers.element.write(bytes)
  }

  @inline(__always)
  public mutating func flush<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    hasLayers ? flushLayers(on: &system) : .wouldBlock
  }

  @inline(never)
  @_optimize(size)
  private mutating func flushLayers<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    var sum = 0
    while true {
      stockKeys(on: &system)
      let settled = layers.element.settle()
      // The application takes what waits by itself.
      guard isPolled else { return settled }
      let result = Self.sendOutput(of: layers, to: socket, on: &system)
      guard case .transferred(let count) = result else {
        if case .wouldBlock = result, case .broken = settled { return settled }
        if sum > 0, case .wouldBlock = result { return .transferred(sum) }
        return result
      }
      layers.element.transmitted(count)
      sum &+= count
    }
  }

  private static func sendOutput<System: Platform & ~Copyable>(
    of layers: borrowing OptionalSlot<Layers>, to socket: Channel, on system: inout System
  ) -> Transfer {
    let output = layers.bytes { layers, hand in hand(layers.output) }
    return output.count > 0 ? system.send(socket, output) : .wouldBlock
  }

  @inline(__always)
  public mutating func receive<System: Platform & ~Copyable>(
    into space: inout MutableSpan<UInt8>, on system: inout System
  ) -> Transfer {
    hasLayers ? receiveThroughLayers(into: &space, on: &system) : system.receive(socket, into: &space)
  }

  @inline(never)
  @_optimize(size)
  private mutating func receiveThroughLayers<System: Platform & ~Copyable>(
    into space: inout MutableSpan<UInt8>, on system: inout System
  ) -> Transfer {
    for _ in 0..<Self.rounds {
      let inside = layers.element.read(into: &space)
      guard case .wouldBlock = inside else { return inside }
      guard isPolled else { return .wouldBlock }
      if layers.element.isDirect {
        let result = system.receive(socket, into: &space)
        guard case .transferred(let count) = result else { return result }
        let payload = layers.element.filter(&space, count)
        if payload > 0 { return .transferred(payload) }
      } else {
        let result = fetch(on: &system)
        guard case .transferred = result else { return result }
      }
    }
    return .wouldBlock
  }

  public mutating func watch<System: Platform & ~Copyable>(
    readable: Bool, writable: Bool, on system: inout System
  ) throws(PlatformError) {
    guard !isCallerDriven else { return }
    try system.watch(socket, readable: readable, writable: writable || hasUnsent)
  }

  // MARK: Bytes that the application carries

  public var isLayered: Bool { hasLayers }

  public mutating func connected<System: Platform & ~Copyable>(on system: inout System) -> Opening {
    guard hasLayers else { return .open }
    return beginLayers(on: &system)
  }

  @_lifetime(&self)
  public mutating func receiveSpace() -> MutableSpan<UInt8> {
    guard hasLayers, isConnected else { return MutableSpan() }
    return layers.mutableBytes { layers, hand in
      var space = layers.receiveSpace()
      hand(&space)
    }
  }

  public mutating func received(_ count: Int) { layers.element.received(count) }

  public var output: Span<UInt8> {
    @_lifetime(borrow self)
    borrowing get {
      guard hasLayers, isConnected else { return Span() }
      return layers.bytes { layers, hand in hand(layers.output) }
    }
  }

  public mutating func transmitted(_ count: Int) { layers.element.transmitted(count) }

  public mutating func peerClosed() -> Layer? { hasLayers && isConnected ? layers.element.peerClosed() : nil }

  // MARK: The end

  /// The layers say that they end before the socket does, which `discard` sees to.
  @inline(never)
  @_optimize(size)
  public mutating func shutdownWrite<System: Platform & ~Copyable>(on system: inout System) {
    if hasLayers {
      layers.element.finish()
      finishSending(on: &system)
    } else if !isCallerDriven {
      system.shutdownWrite(socket)
    }
  }

  @inline(never)
  @_optimize(size)
  private mutating func finishSending<System: Platform & ~Copyable>(on system: inout System) {
    let result = flush(on: &system)
    guard !isCallerDriven else { return }
    switch result {
    case .transferred, .wouldBlock: if !hasUnsent, layers.element.isFinishing { shutDown(on: &system) }
    case .closed, .failed, .broken: shutDown(on: &system)
    }
  }

  private mutating func shutDown<System: Platform & ~Copyable>(on system: inout System) {
    layers.element.hasShutDown()
    system.shutdownWrite(socket)
  }

  @inline(never)
  @_optimize(size)
  public mutating func discard<System: Platform & ~Copyable>(on system: inout System) -> Transfer {
    if hasLayers, layers.element.isFinishing { finishSending(on: &system) }
    if isCallerDriven { return hasUnsent ? .wouldBlock : .closed }
    return system.discard(socket)
  }

  @inline(never)
  @_optimize(size)
  public mutating func close<System: Platform & ~Copyable>(on system: inout System) {
    if hasLayers {
      isConnected = false
      layers.element.end()
    }
    if isUnix { return unix.close(on: &system) }
    if !isCallerDriven { tcp.close(on: &system) }
  }
}
