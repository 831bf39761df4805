public import MQTTSession
public import MQTTWire
public import Platform
public import Storage

/// The header of a submitted message. Its topic, properties and payload lie behind one another in its slot.
public struct Submission: BitwiseCopyable {
  var cookie: UInt64
  var payloadSize: UInt32
  var propertiesSize: UInt32
  var expiry: UInt32
  /// The offset of a Message Expiry Interval's value in the properties, plus one; 0: there is none.
  var expiryOffset: UInt32
  /// When `submit` was called, if it expires.
  var submittedAt: Instant
  var topicSize: UInt16
  var qos: QoS
  private var bits: UInt8

  fileprivate init(_ message: borrowing Publish, _ options: PublishOptions) {
    cookie = options.cookie
    payloadSize = UInt32(truncatingIfNeeded: message.payload.count)
    propertiesSize = UInt32(truncatingIfNeeded: message.properties.count)
    topicSize = UInt16(truncatingIfNeeded: message.topic.count)
    qos = message.qos
    expiry = options.expiry
    expiryOffset = 0
    submittedAt = Instant(milliseconds: 0)
    bits =
      (message.retain ? 1 : 0) | (options.isQuiet ? 2 : 0) | (options.isUrgent ? 4 : 0)
      | options.overflow.rawValue << 3 | (options.isUnstored ? 32 : 0)
  }

  var retain: Bool { bits & 1 != 0 }

  var options: PublishOptions {
    var options = PublishOptions(cookie: cookie, isQuiet: bits & 2 != 0)
    options.isUrgent = bits & 4 != 0
    options.isUnstored = bits & 32 != 0
    // `submit` has returned, so its caller cannot be told that the message was dropped at once.
    options.overflow = PublishOptions.Overflow(rawValue: bits >> 3 & 3) ?? .refuse
    if options.overflow == .dropNewest { options.overflow = .refuse }
    return options
  }

  var expires: Bool { expiry != 0 || expiryOffset != 0 }
}

/// Submits messages of threads that do not own the client (D7). Nothing in it changes but the queue, and it
/// touches nothing else of the client.
public struct Submitter: BitwiseCopyable {
  private let queue: MPSCQueue<Submission>
  private let wakeUp: WakeUp
  /// The version of the options. The client may have fallen back to an older one.
  private let version: ProtocolVersion
  /// The largest packet that the journal has room for; 0: there is none.
  private let largestStored: UInt32
  private let outboxBytes: Int
  /// 0: there is no room for urgent messages.
  private let urgentBytes: Int

  public init(_ options: borrowing ClientOptions, queue: MPSCQueue<Submission>, wakeUp: WakeUp) {
    self.queue = queue
    self.wakeUp = wakeUp
    version = options.session.connect.version
    outboxBytes = options.session.outboxByteLimit
    urgentBytes = options.session.urgentByteLimit
    largestStored = UInt32(truncatingIfNeeded: options.session.largestStored)
  }

  /// Puts a message into the queue, or changes nothing. `now` is asked only for one that expires.
  public func submit(
    _ message: consuming Publish, _ options: PublishOptions, at now: () -> Instant
  ) throws(SessionError) {
    wakeOwner(for: try put(message, options, at: now))
  }

  /// Whether the journal has room for a packet, if it is to have it.
  @inline(__always)
  private func isStorable(_ message: borrowing Publish, _ options: PublishOptions, _ size: Int) -> Bool {
    guard Feature.hasJournal, largestStored > 0, message.qos != .atMostOnce, !options.isUnstored else {
      return true
    }
    return size <= Int(truncatingIfNeeded: largestStored)
  }

  // Two halves, because the kernel may stop a thread between them: the simulator does so.

  @inline(__always)
  public func put(
    _ message: consuming Publish, _ options: PublishOptions, at now: () -> Instant
  ) throws(SessionError) -> ChainEnd {
    guard queue.isOpen, !options.isUrgent || urgentBytes > 0 else { throw .notSupported }
    let inList = try Session.check(message, hasExpiry: options.expiry != 0, version: version)
    guard message.payload.count <= queue.slotSize, message.properties.count <= queue.slotSize,
      message.topic.count &+ message.properties.count &+ message.payload.count <= queue.slotSize
    else { throw .tooLarge }
    if inList == nil { message.own.messageExpiryInterval = options.expiry }
    let room = options.isUrgent ? urgentBytes : outboxBytes
    let size = FixedHeader.packetSize(message.remainingLength(version))
    guard size <= room, isStorable(message, options, size) else { throw .tooLarge }

    var submission = Submission(message, options)
    if let inList {
      submission.expiry = inList.seconds
      submission.expiryOffset = UInt32(truncatingIfNeeded: inList.offset) &+ 1
    }
    if submission.expires { submission.submittedAt = now() }
    let (topic, properties, payload) = (message.topic, message.properties, message.payload)
    let outcome = queue.put(submission) { space in
      copy(topic, into: &space)
      var rest = space._mutatingExtracting(topic.count...)
      copy(properties, into: &rest)
      var end = rest._mutatingExtracting(properties.count...)
      copy(payload, into: &end)
    }
    guard case .put(let found) = outcome else { throw .full }
    return found
  }

  @inline(__always)
  public func wakeOwner(for found: ChainEnd) { queue.wakeOwner(for: found) { wakeUp.send() } }
}
