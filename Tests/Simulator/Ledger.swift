import MQTTSession

/// Every message of a run: who published it, what became of it, and whether that is what its QoS promises.
final class Ledger {
  struct Message {
    let number: Int
    let origin: Int
    let topic: Int
    let qos: UInt8
    let size: Int
    /// The server refuses it.
    var isRefused = false
    /// It was taken back before it was sent.
    var isWithdrawn = false
    /// The session it was sent in is gone; it may have arrived, or not.
    var isAbandoned = false
    /// The server said that it has it, or will not have it.
    var isAcknowledged = false
    /// How its publisher was told that it ended; a quiet one that was delivered has none.
    var outcome: DeliveryResult? = nil
    var isQuiet = false
    /// It goes ahead of those that are not.
    var isUrgent = false
    /// It takes the turn of an older one.
    var isLatest = false
    /// It may make room for others, or be replaced.
    var isExpendable = false
    /// How often the other side's application got it, and how often it refused it.
    var deliveries = 0
    var refusals = 0
  }

  /// The origin of what the server's other clients publish. The others are the sessions' numbers.
  static let server = -1

  let topics: [[UInt8]]
  var messages: [Message] = []
  private var sizes: Set<Int> = []
  /// By origin, topic and QoS: the last message that was delivered for the first time.
  private var last: [Int]

  init(topics: [[UInt8]]) {
    self.topics = topics
    last = [Int](repeating: -1, count: 3 * topics.count * 3)
  }

  /// A message that may be published. Its number is in its payload; of large ones only the size may become known,
  /// so each has its own.
  func draft(_ origin: Int, topic: Int, qos: UInt8, size: Int) -> Message {
    var size = max(size, 4)
    while size > 12 || topics[topic].count > 32, sizes.contains(size) { size += 1 }
    return Message(number: messages.count, origin: origin, topic: topic, qos: qos, size: size)
  }

  func add(_ message: Message) {
    messages.append(message)
    sizes.insert(message.size)
  }

  static func payload(_ number: Int, size: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: size) { bytes, count in
      for index in 0..<size { unsafe bytes[index] = byte(number, at: index) }
      count = size
    }
  }

  static func byte(_ number: Int, at index: Int) -> UInt8 {
    index < 4
      ? UInt8(truncatingIfNeeded: number >> (24 - 8 * index))
      : UInt8(truncatingIfNeeded: number * 7 + index * 13)
  }

  /// The message that has this payload.
  func find(_ payload: [UInt8]) throws(Failure) -> Message {
    try require(payload.count >= 4, "a payload of \(payload.count) bytes")
    let number = payload.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    try require(number < messages.count, "a payload that nobody published")
    let message = messages[number]
    try require(
      payload.count == message.size, "message \(number) with \(payload.count) bytes, not \(message.size)")
    var index = 0
    for byte in payload {
      try require(byte == Self.byte(number, at: index), "message \(number) is damaged at byte \(index)")
      index += 1
    }
    return message
  }

  /// The message of which only the size is known.
  func find(size: Int, from origin: Int) throws(Failure) -> Message {
    guard let message = messages.first(where: { $0.size == size && $0.origin == origin }) else {
      throw Failure("a message of \(size) bytes, that nobody published")
    }
    return message
  }

  /// The other side's application has got a message.
  func delivered(_ number: Int) throws(Failure) {
    messages[number].deliveries += 1
    let message = messages[number]
    try require(!message.isWithdrawn, "message \(number) was taken back and is delivered")
    guard message.deliveries == 1 else {
      let mayRepeat = message.qos == 1 || message.refusals > 0
      return try require(mayRepeat, "message \(number) with QoS \(message.qos) is delivered again")
    }
    let place = ((message.origin + 1) * topics.count + message.topic) * 3 + Int(message.qos)
    try require(last[place] < number, "message \(number) comes after message \(last[place])")
    last[place] = number
  }

  func completed(_ number: Int, _ outcome: DeliveryResult) throws(Failure) {
    let message = messages[number]
    try require(message.outcome == nil, "message \(number) ends twice")
    try require(!message.isWithdrawn, "message \(number) was taken back and ends")
    try require(!message.isQuiet || outcome != .delivered, "message \(number) is quiet")
    messages[number].outcome = outcome
  }

  // MARK: At the end

  func checkAll(refusalsAreSticky: Bool) throws(Failure) {
    for message in messages { try check(message, refusalsAreSticky) }
  }

  private func check(_ message: Message, _ refusalsAreSticky: Bool) throws(Failure) {
    let name = "message \(message.number) with QoS \(message.qos)"
    let count = message.deliveries
    guard !message.isWithdrawn else { return }
    if message.origin != Self.server, message.outcome == nil {
      try require(message.isQuiet, "\(name) has not ended")
    }
    // It may have made room.
    if message.outcome == nil, message.isExpendable, count == 0 { return }
    // Each repetition of QoS 2 was looked at when it came.
    switch message.outcome ?? .delivered {
    case .delivered:
      try require(!message.isRefused, "\(name) was refused, and is said to be delivered")
      try require(
        count > 0 || message.qos == 0 || (message.isAbandoned && message.origin == Self.server),
        "\(name) is not delivered")
    case .refused:
      let isRefused = refusalsAreSticky ? message.isRefused && count == 0 : message.refusals > 0
      try require(isRefused, "\(name) is said to be refused")
    case .sessionLost:
      try require(message.qos == 2 && message.isAbandoned, "\(name) is said to be lost with its session")
    case .dropped, .replaced:
      try require(
        message.isExpendable && count == 0, "\(name) is said to be \(message.outcome ?? .delivered)")
    case .expired, .unreadable, .disconnected:
      throw Failure("\(name) is said to be \(message.outcome ?? .delivered)")
    case .aboveLimit, .aborted: break
    }
  }
}
