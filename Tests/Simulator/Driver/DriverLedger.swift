import MQTTSession

/// Every message of a run of drivers: who published it, what its publisher was told, what the server did with it, and
/// who got it how often.
final class DriverLedger {
  struct Message {
    let number: Int
    let origin: Int
    let qos: UInt8
    let size: Int
    var isQuiet = false
    var isUrgent = false
    var isRequest = false
    var wasSubmitted = false
    /// Seconds; 0: none.
    var expiry: UInt32 = 0
    var acceptedAt: UInt64 = 0
    /// The publisher was told by then of so many lost sessions.
    var sessionsLost = 0
    var outcome: DeliveryResult? = nil
    /// How often the server has taken it as a new one.
    var taken = 0
    /// By receiver: how many copies the server made, and how many of them the program got.
    var routed: [Int]
    var delivered: [Int]
  }

  /// The origin of what comes from somebody else is behind those of the programs.
  let programs: Int
  private(set) var messages: [Message] = []
  /// The server came back with an old disk: nothing it does with messages can be trusted.
  var isServerUnreliable = false
  /// By publisher, way and queue: the last message that the server took for the first time.
  private var last: [Int]

  init(programs: Int) {
    self.programs = programs
    last = [Int](repeating: -1, count: 4 * (programs + 1))
  }

  func draft(_ origin: Int, qos: UInt8, size: Int) -> Message {
    let none = [Int](repeating: 0, count: programs)
    return Message(
      number: messages.count, origin: origin, qos: qos, size: max(size, 4), routed: none, delivered: none)
  }

  func add(_ message: Message) { messages.append(message) }

  func removeLast() { messages.removeLast() }

  func find(_ payload: [UInt8]) throws(Failure) -> Int {
    try require(payload.count >= 4, "a payload of \(payload.count) bytes")
    let number = payload.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    try require(number < messages.count, "a payload that nobody published")
    try require(
      payload.count == messages[number].size,
      "message \(number) with \(payload.count) bytes, not \(messages[number].size)")
    var index = 0
    for byte in payload {
      try require(byte == Ledger.byte(number, at: index), "message \(number) is damaged at byte \(index)")
      index += 1
    }
    return number
  }

  // MARK: What happens to it

  /// The server takes it as a new one.
  func taken(_ number: Int) throws(Failure) {
    messages[number].taken += 1
    let message = messages[number]
    try require(
      message.outcome != .expired || message.qos > 0 || isServerUnreliable, "message \(number) had expired")
    guard message.taken == 1 else {
      return try require(
        message.qos == 1 || isServerUnreliable, "message \(number) with QoS \(message.qos) is taken again")
    }
    let queue = 4 * message.origin + (message.wasSubmitted ? 2 : 0) + (message.isUrgent ? 1 : 0)
    try require(
      last[queue] < number || isServerUnreliable, "message \(number) comes after message \(last[queue])")
    last[queue] = max(last[queue], number)
  }

  func routed(_ number: Int, to receiver: Int) { messages[number].routed[receiver] += 1 }

  func delivered(_ number: Int, to receiver: Int, qos: UInt8) throws(Failure) {
    messages[number].delivered[receiver] += 1
    let message = messages[number]
    try require(
      qos == 1 || isServerUnreliable || message.delivered[receiver] <= message.routed[receiver],
      "message \(number) with QoS \(qos) is delivered \(message.delivered[receiver]) times to \(receiver)")
  }

  func completed(
    _ number: Int, _ outcome: DeliveryResult, at now: UInt64, sessionsLost: Int, isTimeUnknown: Bool
  )
    throws(Failure)
  {
    let message = messages[number]
    let name = "message \(number) with QoS \(message.qos)"
    try require(message.outcome == nil, "\(name) ends twice")
    try require(!message.isQuiet || outcome != .delivered, "\(name) is quiet, and its end is told")
    messages[number].outcome = outcome
    switch outcome {
    case .delivered:
      try require(
        message.qos == 0 || message.taken > 0 || isServerUnreliable, "\(name) is said to be delivered")
    case .sessionLost:
      try require(
        message.qos == 2 && sessionsLost > message.sessionsLost, "\(name) is said to be lost with its session"
      )
    case .expired:
      let waited = now - message.acceptedAt
      try require(
        message.expiry > 0 && (isTimeUnknown || waited + 1000 > 1000 * UInt64(message.expiry)),
        "\(name) expired after \(waited) ms of \(message.expiry) s")
    case .disconnected: try require(message.qos == 0, "\(name) was for a connection only")
    default: throw Failure("\(name) ended: \(outcome)")
    }
  }

  // MARK: At the end

  func checkAll() throws(Failure) {
    for message in messages where message.origin < programs {
      let name = "message \(message.number) with QoS \(message.qos) of \(message.origin)"
      if !message.isQuiet { try require(message.outcome != nil, "\(name) has not ended") }
      if message.outcome == nil, message.qos > 0, !message.isRequest, !isServerUnreliable {
        try require(message.taken > 0, "\(name), a quiet one, never arrived")
      }
    }
  }
}
