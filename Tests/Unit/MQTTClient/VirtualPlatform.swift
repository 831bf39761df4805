import Driver
import Platform
import TestSupport

/// A platform whose time passes only in `wait`, with a resolver and a network that do as they are told.
struct VirtualPlatform: ~Copyable, Platform {
  let world: World

  var descriptor: Int32 { 99 }
  func now() -> UInt32 { world.now }
  func randomNumber() -> UInt32 { world.random.next() }
  func fillRandom(_ bytes: inout MutableSpan<UInt8>) {
    for index in 0..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: world.random.next()) }
  }
  func wallClock() -> Int64 { 1_800_000_000 }
  func wait(timeout: Int32, busy: UInt32) -> PollResult { world.wait(timeout) }
  func watch(_ channel: Channel, readable: Bool, writable: Bool) throws(PlatformError) {
    world.watched[Int(channel.rawValue)] = (readable, writable)
  }

  func wakeUp() throws(PlatformError) -> WakeUp { .none }

  func numeric(_ host: Span<UInt8>, port: UInt16) -> AddressList? {
    world.target = Self.text(host)
    guard world.numericHosts.contains(world.target) else { return nil }
    return Self.addresses(world.addresses.count, port: port)
  }
  func resolve(_ host: Span<UInt8>, port: UInt16) throws(PlatformError) {
    world.resolve(Self.text(host), port)
  }
  /// So many: each is told by its number.
  static func addresses(_ count: Int, port: UInt16 = 0) -> AddressList {
    var found = AddressList()
    found.port = port
    for number in 0..<count {
      var address = IPAddress()
      address.scope = UInt32(number)
      found.append(address)
    }
    return found
  }
  private static func text(_ host: Span<UInt8>) -> String {
    String(decoding: (0..<host.count).map { host[$0] }.filter { $0 != 0 }, as: UTF8.self)
  }
  var isResolving: Bool { world.isResolving }
  func resolved() -> Resolution { world.resolved() }
  func cancelResolving() { world.cancelResolving() }

  func connect(
    _ socket: Channel, to address: IPAddress, port: UInt16
  ) throws(PlatformError) { try world.connect(Int(socket.rawValue), Int(address.scope), port) }
  func connectError(_ socket: Channel) -> Int32 { world.sockets[Int(socket.rawValue)]?.outcome ?? 107 }
  func isOpen(_ socket: Channel) -> Bool { world.sockets[Int(socket.rawValue)] != nil }
  func send(_ socket: Channel, _ bytes: Span<UInt8>) -> Transfer {
    var copy: [UInt8] = []
    for index in 0..<bytes.count { copy.append(bytes[index]) }
    return world.send(Int(socket.rawValue), copy)
  }
  func send(_ socket: Channel, _ bytes: Span<UInt8>, _ payload: Span<UInt8>) -> Transfer {
    var copy: [UInt8] = []
    for index in 0..<bytes.count { copy.append(bytes[index]) }
    for index in 0..<payload.count { copy.append(payload[index]) }
    return world.send(Int(socket.rawValue), copy)
  }
  func receive(_ socket: Channel, into space: inout MutableSpan<UInt8>) -> Transfer {
    guard let link = world.sockets[Int(socket.rawValue)] else { return .closed }
    guard !link.received.isEmpty else { return link.isClosed ? .closed : .wouldBlock }
    let count = min(space.count, link.received.count)
    for index in 0..<count { space[index] = link.received[index] }
    link.received.removeFirst(count)
    return .transferred(count)
  }
  func shutdownWrite(_ socket: Channel) { world.finish(Int(socket.rawValue)) }
  func discard(_ socket: Channel) -> Transfer {
    world.sockets[Int(socket.rawValue)]?.received = []
    return world.sockets[Int(socket.rawValue)]?.isClosed == true ? .closed : .wouldBlock
  }
  func close(_ socket: Channel) {
    world.sockets[Int(socket.rawValue)] = nil
    world.watched[Int(socket.rawValue)] = (false, false)
  }
}

/// A connection, or an attempt at one.
final class Link {
  /// `nil`: not known yet.
  var outcome: Int32?
  var received: [UInt8] = []
  var isClosed = false
  /// What the client has sent and no packet has been made of.
  var unread: [UInt8] = []
}

/// What goes on around a client, on a clock of its own.
final class World {
  /// What becomes of an attempt to connect to an address.
  enum Address: Sendable {
    case opens(after: UInt32)
    case refuses(after: UInt32)
    case blackHole
    case noRoute  // connect() itself fails
  }

  enum Name: Sendable {
    case found(after: UInt32)
    case unknown(after: UInt32)
    case never
  }

  /// What the server does.
  struct Server: Sendable {
    /// CONNACK; `nil`: none.
    var connack: [UInt8]? = [0x20, 2, 0, 0]
    /// How long after CONNACK it ends the connection; `nil`: never.
    var lifetime: UInt32?
    var answersPings = true
    /// Of these no packet is answered: CONNECT is 1, PUBLISH 3, and so on.
    var ignores: Set<UInt8> = []
    /// CONNACK's code for a CONNECT; 0: it is as above.
    var judge: (@Sendable ([UInt8]) -> UInt8)?
    /// How long each of its packets takes.
    var delay: UInt32 = 1
  }

  struct LCG {
    var state: UInt32
    mutating func next() -> UInt32 {
      state = state &* 1_664_525 &+ 1_013_904_223
      return state ^ state >> 13
    }
  }

  var now: UInt32
  var random = LCG(state: 1)
  var name = Name.found(after: 1)
  var addresses: [Address] = [.opens(after: 1)]
  var server = Server()

  var watched = [(Bool, Bool)](repeating: (false, false), count: Channel.count)
  var sockets: [Link?] = [nil, nil, nil, nil]
  private var answer: Resolution?
  private(set) var isResolving = false
  private var lookUps = 0
  private var events: [(time: UInt32, number: Int, action: () -> Void)] = []
  private var eventCount = 0

  /// When each attempt to connect began: the first address of each look-up.
  private(set) var attempts: [UInt32] = []
  /// The host of the attempt.
  var target = ""
  /// What was looked up.
  private(set) var looked: [String] = []
  /// These hosts are addresses.
  var numericHosts: Set<String> = []
  /// How many more bytes the kernel takes; `nil`: all.
  var room: Int?
  /// Of these names the address refuses.
  var refusing: Set<String> = []
  /// These names point to another server: the Reason Code, and where.
  var pointing: [String: (code: UInt8, reference: String)] = [:]
  /// The port of each address that was tried.
  private(set) var ports: [UInt16] = []
  /// Which address was tried when.
  private(set) var tried: [(address: Int, time: UInt32)] = []
  /// The first byte of each packet the server got, and when.
  private(set) var packets: [(first: UInt8, time: UInt32)] = []
  /// And what they were.
  private(set) var bodies: [[UInt8]] = []
  private(set) var wakeUps = 0

  init(now: UInt32 = 1000) { self.now = now }

  // MARK: Time

  private func at(_ delay: UInt32, _ action: @escaping () -> Void) {
    eventCount += 1
    events.append((now &+ delay, eventCount, action))
  }

  /// How long it is from now to then; less than nothing is nothing.
  private func distance(_ time: UInt32) -> UInt32 {
    let distance = time &- now
    return distance > UInt32.max / 2 ? 0 : distance
  }

  func wait(_ timeout: Int32) -> PollResult {
    wakeUps += 1
    var left = timeout < 0 ? UInt32.max / 2 : UInt32(timeout)
    while true {
      let ready = readiness()
      if ready != 0 { return .ready(Readiness(bits: ready)) }
      guard let next = events.min(by: { (distance($0.time), $0.number) < (distance($1.time), $1.number) }),
        distance(next.time) <= left
      else {
        if timeout < 0 { return .failed(35) }  // it would wait for ever
        now &+= left
        return .ready(Readiness())
      }
      left -= distance(next.time)
      now &+= distance(next.time)
      events.removeAll { $0.number == next.number }
      next.action()
    }
  }

  private func readiness() -> UInt32 {
    var bits: UInt32 = 0
    for index in 0..<Channel.sockets {
      guard let link = sockets[index] else { continue }
      let (readable, writable) = watched[index]
      let isReadable = !link.received.isEmpty || link.isClosed
      if readable, isReadable { bits |= 1 << (2 * UInt32(index)) }
      if writable, link.outcome != nil, room != 0 { bits |= 2 << (2 * UInt32(index)) }
    }
    if watched[Int(Channel.resolver.rawValue)].0, answer != nil {
      bits |= 1 << (2 * UInt32(Channel.resolver.rawValue))
    }
    return bits
  }

  // MARK: Names

  func resolve(_ host: String, _ port: UInt16) {
    attempts.append(now)
    looked.append("\(host):\(port)")
    isResolving = true
    answer = nil
    lookUps += 1
    let number = lookUps
    switch name {
    case .never: break
    case .unknown(let delay): at(delay) { if number == self.lookUps { self.answer = .noAddress(-2) } }
    case .found(let delay):
      at(delay) {
        guard number == self.lookUps else { return }
        self.answer = .addresses(VirtualPlatform.addresses(self.addresses.count, port: port))
      }
    }
  }

  func cancelResolving() {
    isResolving = false
    answer = nil
    lookUps += 1
  }

  func resolved() -> Resolution {
    guard let answer else { return .pending }
    isResolving = false
    self.answer = nil
    return answer
  }

  // MARK: Connections

  func connect(_ socket: Int, _ address: Int, _ port: UInt16) throws(PlatformError) {
    tried.append((address, now))
    ports.append(port)
    let link = Link()
    switch refusing.contains(target) ? .refuses(after: 0) : addresses[address] {
    case .noRoute: throw PlatformError(code: 101)
    case .blackHole: break
    case .opens(let delay): at(delay) { link.outcome = 0 }
    case .refuses(let delay): at(delay) { link.outcome = 111 }
    }
    sockets[socket] = link
  }

  func finish(_ socket: Int) {
    guard let link = sockets[socket] else { return }
    at(server.delay) { link.isClosed = true }
  }

  func send(_ socket: Int, _ bytes: [UInt8]) -> Transfer {
    guard let link = sockets[socket], !link.isClosed else { return .failed(32) }
    let count = min(bytes.count, room ?? bytes.count)
    guard count > 0 else { return .wouldBlock }
    room = room.map { $0 - count }
    link.unread += bytes.prefix(count)
    while let (header, size) = Self.firstPacket(link.unread), size <= link.unread.count {
      let packet = Array(link.unread.prefix(size))
      link.unread.removeFirst(size)
      packets.append((packet[0], now))
      bodies.append(packet)
      answer(packet, packet.dropFirst(header), link)
    }
    return .transferred(count)
  }

  /// The size of its Fixed Header, and of all of it.
  private static func firstPacket(_ bytes: [UInt8]) -> (Int, Int)? {
    var length = 0
    for index in 1..<5 where index < bytes.count {
      length += Int(bytes[index] & 127) << (7 * (index - 1))
      if bytes[index] < 128 { return (index + 1, index + 1 + length) }
    }
    return nil
  }

  /// `body`: what is behind the Fixed Header.
  private func answer(_ packet: [UInt8], _ body: ArraySlice<UInt8>, _ link: Link) {
    func say(_ bytes: [UInt8]) { at(server.delay) { if !link.isClosed { link.received += bytes } } }
    let type = packet[0] >> 4
    guard !server.ignores.contains(type) else { return }
    let body = Array(body)
    switch type {
    case 1:
      if let connack = connack(packet, body) { say(connack) }
      if let lifetime = server.lifetime { at(server.delay + lifetime) { link.isClosed = true } }
    case 3 where packet[0] >> 1 & 3 != 0:
      let identifier = 2 + (Int(body[0]) << 8 | Int(body[1]))
      say([packet[0] >> 1 & 3 == 1 ? 0x40 : 0x50, 2, body[identifier], body[identifier + 1]])
    case 6: say([0x70, 2, body[0], body[1]])
    case 8: say([0x90, 3, body[0], body[1], 0])
    case 10: say([0xB0, 2, body[0], body[1]])
    case 12 where server.answersPings: say([0xD0, 0])
    default: break
    }
  }

  private func connack(_ packet: [UInt8], _ body: [UInt8]) -> [UInt8]? {
    let level = body[2 + Int(body[1])]
    let code = server.judge?(packet) ?? 0
    guard code == 0 else { return level == 5 ? [0x20, 3, 0, code, 0] : [0x20, 2, 0, code] }
    guard level == 5 else { return server.connack }
    guard let (code, reference) = pointing[target] else {
      return server.connack.map { _ in [0x20, 3, 0, 0, 0] }
    }
    let property = [0x1C, 0, UInt8(reference.utf8.count)] + Array(reference.utf8)
    return [0x20, UInt8(3 + property.count), 0, code, UInt8(property.count)] + property
  }

  /// The server says something by itself, now.
  func say(_ bytes: [UInt8]) { for link in sockets { link?.received += bytes } }

  /// The connection breaks without a word.
  func breakConnections() { for link in sockets { link?.isClosed = true } }
}
