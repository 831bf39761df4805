/// A connection between a client and the server, as the kernel has it; or an attempt at one.
///
/// Bytes are on their way for a while, arrive in order, and may never do.
final class Wire {
  let world: DriverWorld
  let number: Int
  let program: Int
  private unowned let broker: BrokerModel
  let server: String

  /// Of the attempt; `nil`: not known yet. 0: connected.
  var outcome: Int32? = nil
  /// Nobody will ever hear from the other side, nor that it is over.
  private(set) var isDead = false
  /// The client has closed its end; it has no more to say.
  private(set) var isClosed = false
  private(set) var isFinished = false

  // To the server.
  private var up: [UInt8] = []
  private(set) var unread: [UInt8] = []
  private var upTime: UInt64 = 0
  private var isUpOver = false
  /// A kernel that took nothing goes on to do so until then.
  private var blockedUntil: UInt64 = 0

  // To the client.
  private var down: [UInt8] = []
  private var arrived: [UInt8] = []
  private var downTime: UInt64 = 0
  private var isDownOver = false
  private(set) var hasEnded = false
  private(set) var error: Int32? = nil

  init(_ world: DriverWorld, _ number: Int, program: Int, server: String, broker: BrokerModel) {
    self.world = world
    self.number = number
    self.program = program
    self.server = server
    self.broker = broker
  }

  // MARK: The client's end

  var room: Int { isDead || !isUpOver ? max(0, world.scenario.capacity - up.count - unread.count) : 1 }
  var isReadable: Bool { !arrived.isEmpty || hasEnded || error != nil }
  var isWritable: Bool {
    guard outcome != nil else { return false }
    return error != nil || outcome != 0 || (room > 0 && world.now >= blockedUntil)
  }

  /// `nil`: it has to wait; else how many bytes the kernel took, or -errno.
  func send(_ bytes: [UInt8]) -> Int? {
    if let error { return -Int(error) }
    guard world.now >= blockedUntil, room > 0 else { return nil }
    if world.random.percent(world.scenario.partPercent / 4) {
      blockedUntil = world.now + UInt64(world.random.from(1...40))
      world.at(blockedUntil) {}
      return nil
    }
    if hasEnded, world.random.percent(50) { return -32 }
    let count = min(bytes.count, room, world.portion(of: bytes.count))
    guard !isUpOver || isDead else { return count }
    up.append(contentsOf: bytes.prefix(count))
    guard !isDead else { return count }
    upTime = max(upTime, arrival())
    world.at(upTime) { [self] () throws(Failure) in
      guard !isDead else { return }
      let moved = min(count, up.count)
      unread.append(contentsOf: up.prefix(moved))
      up.removeFirst(moved)
      try broker.read(self)
    }
    return count
  }

  private func arrival() -> UInt64 {
    max(world.now + UInt64(world.random.from(world.scenario.latency)), world.outageEnd)
  }

  /// At most so many bytes of those that have arrived.
  func receive(_ limit: Int) -> [UInt8] {
    let count = min(limit, arrived.count)
    let bytes = Array(arrived.prefix(count))
    arrived.removeFirst(count)
    return bytes
  }

  func discard() { arrived.removeAll() }

  func finish() {
    guard !isFinished else { return }
    isFinished = true
    guard !isDead, !isUpOver else { return }
    upTime = max(upTime, arrival())
    world.at(upTime) { [self] () throws(Failure) in
      guard !isUpOver else { return }
      isUpOver = true
      try broker.lost(self)
      closeByServer()
    }
  }

  func close() {
    guard !isClosed else { return }
    isClosed = true
    guard outcome == 0, !isDead, !isUpOver else { return }
    // What came in and was not read makes the kernel reset the connection, and what it had not sent is lost.
    if !arrived.isEmpty, !up.isEmpty { up.removeLast(world.random.below(up.count + 1)) }
    upTime = max(upTime, arrival())
    world.at(upTime) { [self] () throws(Failure) in
      guard !isUpOver else { return }
      isUpOver = true
      try broker.lost(self)
    }
  }

  // MARK: The server's end

  func takeUnread(_ count: Int) -> [UInt8] {
    let bytes = Array(unread.prefix(count))
    unread.removeFirst(count)
    return bytes
  }

  func write(_ bytes: [UInt8]) {
    guard !isDead, !isDownOver else { return }
    down.append(contentsOf: bytes)
    downTime = max(downTime, arrival())
    let count = bytes.count
    world.at(downTime) { [self] () throws(Failure) in
      let moved = min(count, down.count)
      if !isClosed, !isDead { arrived.append(contentsOf: down.prefix(moved)) }
      down.removeFirst(moved)
    }
  }

  func closeByServer() {
    guard !isDownOver else { return }
    isUpOver = true
    isDownOver = true
    guard !isDead else { return }
    downTime = max(downTime, arrival())
    world.at(downTime) { [self] () throws(Failure) in hasEnded = true }
  }

  // MARK: What goes wrong

  /// Some of what is on its way still arrives, from the front. With `code` both learn of it, the client by an error or
  /// by an end; else nobody does.
  func cut(reset: Bool, silently: Bool) throws(Failure) {
    guard outcome == 0, !isDead, !isUpOver else { return }
    if !up.isEmpty { up.removeLast(world.random.below(up.count + 1)) }
    if !down.isEmpty { down.removeLast(world.random.below(down.count + 1)) }
    let rest = down
    unread.append(contentsOf: up)
    up.removeAll()
    down.removeAll()
    isDead = silently
    isUpOver = true
    isDownOver = true
    try broker.read(self)
    guard !silently else { return }
    try broker.lost(self)
    arrived.append(contentsOf: rest)
    if reset {
      if world.random.percent(50) { arrived.removeAll() }
      error = 104
    } else {
      hasEnded = true
    }
  }

  /// A dead one, at last.
  func reset() throws(Failure) {
    guard isDead, error == nil else { return }
    error = 104
    try broker.lost(self)
  }

  /// The other machine knows nothing of this connection.
  func resetByServer() {
    guard !isDead else { return }
    isUpOver = true
    isDownOver = true
    error = 104
  }
}

extension Wire {
  /// The kernel has tried to connect for long enough.
  func giveUp() { if outcome == nil { outcome = 110 } }
}
