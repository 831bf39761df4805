/// The load of a bench: connects, subscribes, publishes, and waits for what was published. The first 8 bytes of a
/// payload are the time of publishing, by the clock of this process. A program says how it publishes and subscribes.
class Load {
  let arguments: CommonArguments
  private let crowd: Crowd
  /// Each message is acknowledged.
  private let isConfirmed: Bool
  /// The subscribers share the messages; otherwise each gets all of them.
  private let isShared: Bool
  private let first: Int
  private var payload: [UInt8]
  private var ready = 0
  private var isConnected: [Bool]
  private var isFull: [Bool]
  private var isLeaving = false
  private var nextPublisher = 0
  private let progress: Progress
  private var publishedBefore: Int64 = 0
  private var publishingSince: Int64 = 0
  private var arrivals = Stillness()
  /// For each subscriber, how many messages have arrived or are given up.
  private var arrived: [Int64]
  private var givenUp: Int64 = 0

  private(set) var published: Int64 = 0
  private(set) var completed: Int64 = 0
  private(set) var failed: Int64 = 0
  private(set) var received: Int64 = 0
  private(set) var disconnections: Int64 = 0
  /// Which connection broke last, and why.
  private(set) var lastBreak = Text()
  private(set) var publishing: Int64 = 0  // nanoseconds
  private(set) var receiving: Int64 = 0
  private(set) var connecting: Int64 = 0
  /// From the call that publishes to the event of the subscriber.
  private(set) var delivery = Histogram()
  /// From that call to the acknowledgement.
  private(set) var acknowledgement = Histogram()

  var expected: Int64 { published * (isShared ? min(1, arguments.subscribers) : arguments.subscribers) }
  var lost: Int64 { max(0, expected - received) }

  init(_ arguments: CommonArguments, _ crowd: Crowd, isConfirmed: Bool, isShared: Bool = false) {
    self.arguments = arguments
    self.crowd = crowd
    progress = Progress(isWanted: arguments.progress)
    first = Int(arguments.subscribers)
    self.isConfirmed = isConfirmed
    self.isShared = isShared
    payload = [UInt8](repeating: 46, count: Int(arguments.size))
    isConnected = [Bool](repeating: false, count: crowd.clients.count)
    isFull = isConnected
    arrived = [Int64](repeating: 0, count: first)
  }

  // ---- What a program does

  /// Each returns a status; the cookie of a message is its time.
  func subscribe(_ client: Client) -> Int { Status.ok }
  func publish(_ payload: [UInt8], from client: Client, _ number: Int, at time: Int64) -> Int { Status.ok }
  /// How many messages may be in flight without a rate.
  var window: Int64 { 50 }
  /// What was done with a message.
  var verb: StaticString { "published" }

  /// 0, or the signal that ended it early.
  func run() throws(ExitError) -> Int32 {
    crowd.took = { (number, event) throws(ExitError) in try self.took(number, event) }
    try connect()
    try publish()
    try drain()
    isLeaving = true
    progress.end()
    try crowd.disconnect()
    return crowd.isInterrupted ? System.caughtSignal : 0
  }

  // ---- The phases

  /// A hundred at a time: a broker refuses more than its queue of connections may hold.
  private func connect() throws(ExitError) {
    let start = System.nanoseconds
    var begun = 0
    while ready < crowd.clients.count && !crowd.isInterrupted {
      while begun < crowd.clients.count && begun - ready < 100 {
        _ = crowd.clients[begun].connect()
        try crowd.serve(begun)
        begun += 1
      }
      try crowd.turn(until: System.milliseconds + 1_000)
      progress.tell { _ in "\(ready) of \(crowd.clients.count) clients are ready" }
    }
    connecting = System.nanoseconds - start
  }

  private func publish() throws(ExitError) {
    publishingSince = System.nanoseconds
    let end = publishingSince + arguments.seconds * 1_000_000
    var stillness = Stillness()
    while !crowd.isInterrupted {
      let now = System.nanoseconds
      if arguments.messages == nil && now >= end { break }
      let isAll = try give(now)
      if let most = arguments.messages, published >= most { break }
      // --messages would wait forever for a broker that is gone. The rate is at least one a second.
      if arguments.messages != nil && stillness.lasts(5_000, at: moved) { break }
      if arrivals.lasts(1_000, at: received) { giveUp() }
      var wake = (arguments.messages == nil ? end : .max) / 1_000_000
      // With a rate, until the next message is due; otherwise until there is room again.
      if arguments.rate > 0 && isAll {
        wake = min(wake, (publishingSince + (published + 1) * 1_000_000_000 / arguments.rate) / 1_000_000)
      }
      try crowd.turn(until: min(wake, System.milliseconds + 500))
      tellPublished()
    }
    // Messages that are not acknowledged are published when the kernel has them.
    publishing = System.nanoseconds - publishingSince
    var sending = Stillness()
    while !isConfirmed && sent < published && !crowd.isInterrupted && !sending.lasts(2_000, at: sent) {
      try crowd.turn(until: System.milliseconds + 100)
      publishing = System.nanoseconds - publishingSince
      tellPublished()
    }
  }

  /// Continues as long as there is a broker.
  private var moved: Int64 {
    !isConfirmed && arguments.subscribers == 0 ? published : received + completed
  }

  private var sent: Int64 { crowd.clients[first...].reduce(0, { $0 + $1.ended }) }

  /// How many messages may be published now. One that does not arrive for a second is lost, and no longer counts.
  private var room: Int64 {
    guard arguments.rate == 0 && (arguments.subscribers > 0 || isConfirmed) else { return .max }
    var ended = !isConfirmed ? published : completed + failed
    if isShared {
      if arguments.subscribers > 0 { ended = min(ended, max(received, givenUp)) }
    } else {
      for count in arrived { ended = min(ended, count) }
    }
    return window - (published - ended)
  }

  private func giveUp() {
    givenUp = published
    for number in arrived.indices { arrived[number] = max(arrived[number], published) }
  }

  /// Publishes what is due now, from each client in turn. Returns whether that was possible.
  private func give(_ now: Int64) throws(ExitError) -> Bool {
    var wanted = min(room, arguments.messages.map { $0 - published } ?? .max)
    if arguments.rate > 0 {
      wanted = min(wanted, arguments.rate * (now - publishingSince) / 1_000_000_000 + 1 - published)
    }
    let count = crowd.clients.count - first
    var idle = 0
    while wanted > 0 && idle < count {
      let number = first + nextPublisher
      nextPublisher = (nextPublisher + 1) % count
      // Without a rate, each client publishes some as a batch, which shares a system call.
      var batch = min(wanted, arguments.rate > 0 ? 1 : max(1, min(64, window / Int64(count))))
      var given: Int64 = 0
      while batch > 0, isConnected[number], !isFull[number], try publishOne(number) {
        batch -= 1
        given += 1
      }
      wanted -= given
      idle = given == 0 ? idle + 1 : 0
      if given > 0 { try crowd.serve(number) }
    }
    return wanted <= 0
  }

  private func publishOne(_ number: Int) throws(ExitError) -> Bool {
    let now = System.nanoseconds
    for index in 0..<8 { payload[index] = UInt8(truncatingIfNeeded: now >> Int64(56 - 8 * index)) }
    let status = publish(payload, from: crowd.clients[number], number - first, at: now)
    if status == Status.full {
      isFull[number] = true
      return false
    }
    guard status == Status.ok else {
      throw ExitError(text: "a message cannot be published: \(rejectText(status))")
    }
    published += 1
    return true
  }

  /// Waits until everything has arrived, or nothing has for two seconds.
  private func drain() throws(ExitError) {
    var stillness = Stillness()
    func isDone() -> Bool { received >= expected && (!isConfirmed || completed + failed >= published) }
    while !isDone() && !crowd.isInterrupted && !stillness.lasts(2_000, at: received + completed) {
      try crowd.turn(until: System.milliseconds + 200)
      tellPublished()
    }
    if receiving == 0 { receiving = System.nanoseconds - publishingSince }
  }

  // ---- Events

  private func took(_ number: Int, _ event: Event) throws(ExitError) {
    switch event.type {
    case Library.message: came(number, event)
    case Library.completed:
      isFull[number] = false
      if event.isOfSubscription { try subscribed(number, event) } else { ended(event) }
    case Library.room: isFull[number] = false
    case Library.connected:
      isConnected[number] = true
      if number < first {
        let status = subscribe(crowd.clients[number])
        if status != Status.ok { throw ExitError(text: "cannot subscribe: \(rejectText(status))") }
      } else {
        ready += 1
      }
    case Library.ended where !isLeaving:
      if !isConnected[number] && nextFollows(event, arguments) { break }
      if !isConnected[number] || publishingSince == 0 {
        let what: Text = isConnected[number] ? "lost the connection to" : "cannot connect to"
        throw ExitError(
          text: "client \(number + 1) \(what) \(brokerName(arguments)): \(closeText(event))",
          status: exitStatus(event, wasConnected: false))
      }
      disconnections += 1
      lastBreak = "\(number < first ? "subscriber" : "publisher" as Text): \(closeText(event))"
    default: break
    }
  }

  private func subscribed(_ number: Int, _ event: Event) throws(ExitError) {
    if event.status != Status.ok {
      throw ExitError(text: "the broker refused a subscription: \(closeText(event))")
    }
    ready += 1
  }

  private func ended(_ event: Event) {
    publishing = System.nanoseconds - publishingSince
    if event.status != Status.ok {
      failed += 1
    } else {
      completed += 1
      acknowledgement.add(System.nanoseconds - Int64(bitPattern: event.cookie))
    }
  }

  private func came(_ number: Int, _ event: Event) {
    guard event.part & Library.firstPart != 0, event.payload.count >= 8 else { return }
    let now = System.nanoseconds
    var time: Int64 = 0
    for byte in event.payload.prefix(8) { time = time << 8 | Int64(byte) }
    received += 1
    arrived[number] += 1
    receiving = now - publishingSince
    delivery.add(now - time)
  }

  // ---- Progress

  private func tellPublished() {
    progress.tell(line)
  }

  /// What was done so far, how fast since the last line, and how long it takes.
  private func line(_ milliseconds: Int64) -> Text {
    let rate = (published - publishedBefore) * 1000 / max(1, milliseconds)
    publishedBefore = published
    let histogram = delivery.count > 0 ? delivery : acknowledgement
    let times: Text = histogram.count > 0 ? ", \(BenchText.latencies(histogram))" : ""
    return "\(grouped(published)) \(verb), \(grouped(received)) received, \(grouped(rate)) a second\(times)"
  }
}
