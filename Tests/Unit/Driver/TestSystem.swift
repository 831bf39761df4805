import Platform

/// One end of a connection, and what the other end has to do with it.
final class TestSocket {
  var target = ""
  /// `nil`: it is not known yet.
  var error: Int32? = 0
  var received: [UInt8] = []
  var sent: [UInt8] = []
  var isClosed = false
  var isShutDown = false
}

/// What a driver's system stands on. Time passes only in `wait`.
final class TestNetwork {
  var now: UInt32 = 1000
  var sockets: [TestSocket?] = [nil, nil, nil, nil]
  var watched = [(readable: Bool, writable: Bool)](repeating: (false, false), count: Channel.count)
  /// Each that was opened.
  var opened: [TestSocket] = []
  /// How many more bytes the kernel takes; `nil`: all.
  var room: Int?
  /// How many addresses the server has.
  var addresses = 1
  /// What sending fails with.
  var sendError: Int32?
  /// How often the kernel was handed bytes.
  var sends = 0
  /// How often the system was asked what is ready, and how often it had something to tell.
  var waits = 0
  var tells = 0
  /// For how many microseconds each wait was to look.
  var busy: [UInt32] = []
  /// How often what is watched has changed.
  var watches = 0

  var readiness: UInt32 {
    var bits: UInt32 = 0
    for index in 0..<Channel.sockets {
      guard let socket = sockets[index] else { continue }
      if watched[index].readable, !socket.received.isEmpty || socket.isClosed {
        bits |= 1 << (2 * UInt32(index))
      }
      if watched[index].writable, socket.error != nil, room != 0 { bits |= 2 << (2 * UInt32(index)) }
    }
    return bits
  }

  /// The server says something.
  func say(_ text: String) { opened.last?.received += Array(text.utf8) }

  /// What the server has heard.
  var heard: String { String(decoding: opened.last?.sent ?? [], as: UTF8.self) }
}

struct TestSystem: ~Copyable, Platform {
  let network: TestNetwork

  var descriptor: Int32 { 99 }
  func now() -> UInt32 { network.now }
  func randomNumber() -> UInt32 { 4 }
  func fillRandom(_ bytes: inout MutableSpan<UInt8>) { for index in 0..<bytes.count { bytes[index] = 4 } }
  func wallClock() -> Int64 { 1_800_000_000 }

  func wait(timeout: Int32, busy: UInt32) -> PollResult {
    network.waits += 1
    network.busy.append(busy)
    // Who asks so often goes round and round, and time does not pass: a test that fails is better than one that hangs.
    guard network.waits < 100_000 else { return .failed(24) }
    let ready = network.readiness
    if ready != 0 { network.tells += 1 } else { network.now &+= UInt32(max(timeout, 0)) }
    return .ready(Readiness(bits: ready))
  }

  func watch(_ channel: Channel, readable: Bool, writable: Bool) throws(PlatformError) {
    // As epoll does with a descriptor that is closed.
    let isOpen = Int(channel.rawValue) >= Channel.sockets || at(channel) != nil
    guard isOpen || !(readable || writable) else { throw PlatformError(code: 9) }
    if network.watched[Int(channel.rawValue)] != (readable, writable) { network.watches += 1 }
    network.watched[Int(channel.rawValue)] = (readable, writable)
  }
  func wakeUp() throws(PlatformError) -> WakeUp { .none }

  func numeric(_ host: Span<UInt8>, port: UInt16) -> AddressList? {
    var list = AddressList()
    list.port = port
    for _ in 0..<network.addresses { list.append(IPAddress()) }
    return list
  }
  func resolve(_ host: Span<UInt8>, port: UInt16) throws(PlatformError) {}
  var isResolving: Bool { false }
  func resolved() -> Resolution { .pending }
  func cancelResolving() {}

  func connect(_ socket: Channel, to address: IPAddress, port: UInt16) throws(PlatformError) {
    open(socket, "\(port)")
  }
  func connect(_ socket: Channel, toPath path: Span<UInt8>) throws(PlatformError) {
    var text: [UInt8] = []
    for index in 0..<path.count where path[index] != 0 { text.append(path[index]) }
    open(socket, String(decoding: text, as: UTF8.self))
  }
  private func open(_ socket: Channel, _ target: String) {
    let opened = TestSocket()
    opened.target = target
    network.sockets[Int(socket.rawValue)] = opened
    network.opened.append(opened)
  }

  private func at(_ socket: Channel) -> TestSocket? { network.sockets[Int(socket.rawValue)] }
  func connectError(_ socket: Channel) -> Int32 { at(socket)?.error ?? 107 }
  func isOpen(_ socket: Channel) -> Bool { at(socket) != nil }
  func send(_ socket: Channel, _ bytes: Span<UInt8>) -> Transfer {
    network.sends += 1
    if let error = network.sendError { return .failed(error) }
    let count = min(bytes.count, network.room ?? bytes.count)
    guard count > 0 else { return .wouldBlock }
    network.room = network.room.map { $0 - count }
    for index in 0..<count { at(socket)?.sent.append(bytes[index]) }
    return .transferred(count)
  }
  /// As the kernel does with both.
  func send(_ socket: Channel, _ bytes: Span<UInt8>, _ payload: Span<UInt8>) -> Transfer {
    let first = send(socket, bytes)
    guard case .transferred(bytes.count) = first else { return first }
    network.sends -= 1
    guard case .transferred(let more) = send(socket, payload) else { return first }
    return .transferred(bytes.count + more)
  }
  func receive(_ socket: Channel, into space: inout MutableSpan<UInt8>) -> Transfer {
    guard let open = at(socket) else { return .closed }
    guard !open.received.isEmpty else { return open.isClosed ? .closed : .wouldBlock }
    let count = min(space.count, open.received.count)
    for index in 0..<count { space[index] = open.received[index] }
    open.received.removeFirst(count)
    return .transferred(count)
  }
  func shutdownWrite(_ socket: Channel) { at(socket)?.isShutDown = true }
  func discard(_ socket: Channel) -> Transfer {
    at(socket)?.received = []
    return at(socket)?.isClosed == true ? .closed : .wouldBlock
  }
  func close(_ socket: Channel) { network.sockets[Int(socket.rawValue)] = nil }
}

/// A system that is never to be asked for anything but chance: who has no sockets needs none.
struct NoSystem: ~Copyable, Platform {
  var descriptor: Int32 { -1 }
  func now() -> UInt32 { fatalError("the caller has the clock") }
  func randomNumber() -> UInt32 { 4 }
  func fillRandom(_ bytes: inout MutableSpan<UInt8>) { for index in 0..<bytes.count { bytes[index] = 4 } }
  func wallClock() -> Int64 { fatalError("the caller has the clock") }
  func wait(timeout: Int32, busy: UInt32) -> PollResult { fatalError() }
  func watch(_ channel: Channel, readable: Bool, writable: Bool) throws(PlatformError) { fatalError() }
  func wakeUp() throws(PlatformError) -> WakeUp { fatalError() }
  func numeric(_ host: Span<UInt8>, port: UInt16) -> AddressList? { fatalError() }
  func resolve(_ host: Span<UInt8>, port: UInt16) throws(PlatformError) { fatalError() }
  var isResolving: Bool { fatalError() }
  func resolved() -> Resolution { fatalError() }
  func cancelResolving() { fatalError() }
  func connect(_ socket: Channel, to address: IPAddress, port: UInt16) throws(PlatformError) { fatalError() }
  func connectError(_ socket: Channel) -> Int32 { fatalError() }
  func isOpen(_ socket: Channel) -> Bool { fatalError() }
  func send(_ socket: Channel, _ bytes: Span<UInt8>) -> Transfer { fatalError() }
  func receive(_ socket: Channel, into space: inout MutableSpan<UInt8>) -> Transfer { fatalError() }
  func shutdownWrite(_ socket: Channel) { fatalError() }
  func discard(_ socket: Channel) -> Transfer { fatalError() }
  func close(_ socket: Channel) { fatalError() }
}
