import Journal
import MQTTWire
import Storage

/// What a session has for its journal, beside what the outboxes know of their messages: the log, the commit
/// that is filled or written, and what waits for it.
struct SessionJournal: ~Copyable {
  /// It is read or made before anything is written; see `Session.recover`.
  var space = LogSpace.none
  var isOpen = false
  var commit: Commit
  /// How long a change may wait for others, in milliseconds.
  let delay: UInt32
  let isStrict: Bool
  let tellsStored: Bool
  /// The application waits for it: it is written at once.
  var isHurried = false
  var news = JournalNews()
  /// When the first change was seen that is in no commit.
  var waitingSince: Instant? = nil
  /// The identifiers for which PUBCOMP has to be sent, and whether they were known: see `Withheld`.
  var withheld: FixedRing<Withheld>
  /// How many of them a durable commit has, and how many more the commit that is being written.
  var releasable = 0
  var covered = 0
  /// `IdentifierSet.changes` of the identifiers that the journal has, or will have with the commit that is written.
  var inboundVersion: UInt32 = 0
  /// And of those that are durable.
  var durableInboundVersion: UInt32 = 0
  var numbers: DeliveryNumbers
  /// `DeliveryNumbers.changes` of those that the journal has, or will have with the commit that is written; and of those
  /// that are durable.
  var numbersVersion: UInt32 = 0
  var durableNumbersVersion: UInt32 = 0
  /// Where the commit begins that has them; `nil`: none has.
  var inboundPlace: UInt32? = nil
  var isInboundWriting = false
  /// The head stays where it is until all that a failed commit had is durable.
  var isHealing = false
  /// The commit that is being written has all that was new.
  var isComplete = true
  /// How many commits have failed since the last that is durable, and when the next one may be tried.
  var failures: UInt32 = 0
  /// How many commits have failed at all, and why the last one did.
  var failedCommits: UInt32 = 0
  var lastError: Int32 = 0
  /// How many blocks there were of a commit that was being written when the process before this one ended.
  var torn: UInt32 = 0
  var retryAt: Instant? = nil
  /// How many messages were accepted for the journal when the commit was filled up to which all is in it, and when the
  /// last such commit was durable.
  var tellingPosition = Counter()
  var durablePosition = Counter()
  /// How many commits were durable.
  var durableCommits: UInt32 = 0
  /// How many of them had all that was new.
  var wholeCommits: UInt32 = 0
  /// While an earlier process' journal is taken up.
  var recovery: Recovery? = nil
  /// If the application has the storage.
  var storage = JournalStorage.none
  /// Nothing is sent until what has become of the old session is durable: with so many whole commits.
  var holdsAll = false
  var holdsUntil: UInt32 = 0
  /// The next commit begins with the first message, which the last one had no room for behind the list of identifiers.
  var isMessageDue = false

  /// PUBCOMP waits until the journal no longer has the identifier: after a crash it would swallow the next
  /// message that comes with it.
  struct Withheld: BitwiseCopyable {
    let identifier: PacketIdentifier
    let isKnown: Bool
  }

  @_optimize(size)
  init(
    blocks: consuming Region, withheld: consuming Table<Withheld>, numbers: consuming DeliveryNumbers,
    delay: UInt32, isStrict: Bool, tellsStored: Bool
  ) {
    commit = Commit(blocks)
    self.withheld = FixedRing(withheld)
    self.numbers = numbers
    self.delay = delay
    self.isStrict = isStrict
    self.tellsStored = tellsStored
  }

  /// How many blocks the largest commit has.
  var blockCount: UInt32 { UInt32(truncatingIfNeeded: commit.blocks.count / Block.size) }

  /// Keeps the PUBCOMP of an identifier until the journal no longer has it. The caller has seen that there is
  /// room.
  @_optimize(size)
  mutating func withhold(_ identifier: PacketIdentifier, isKnown: Bool) {
    withheld.append(Withheld(identifier: identifier, isKnown: isKnown))
  }

  @_optimize(size)
  mutating func release() {
    withheld.removeFirst()
    releasable &-= 1
  }

  /// Adds all identifiers to the commit. Returns false if they do not fit.
  @inline(never)
  @_optimize(size)
  mutating func tellInbound(_ identifiers: borrowing IdentifierSet, place: UInt32) -> Bool {
    let ids = identifiers.count
    guard commit.fits(2 &* ids &+ numbersRecordSize) else { return false }
    commit.begin(kind: JournalRecord.Kind.inbound.rawValue, subject: 0, length: 2 &* identifiers.count)
    var cursor = 0
    while let identifier = identifiers.next(after: &cursor) { commit.put(identifier) }
    if hasNumbers { tellNumbers(identifiers) }
    inboundVersion = identifiers.changes
    inboundPlace = place
    isInboundWriting = true
    return true
  }

  /// A client that does without numbers keeps the last one of a client that did not.
  private var hasNumbers: Bool { numbers.capacity > 0 || numbers.last != Counter() }

  private var numbersRecordSize: Int { hasNumbers ? Record.headerSize &+ 8 &+ 10 &* numbers.count : 0 }

  @inline(never)
  @_optimize(size)
  private mutating func tellNumbers(_ identifiers: borrowing IdentifierSet) {
    // A message that was accepted is not handed out again.
    var position = numbers.count
    while position > 0 {
      position &-= 1
      let identifier = numbers[position].identifier
      if identifiers.contains(identifier) { numbers.remove(identifier) }
    }
    commit.begin(kind: JournalRecord.Kind.numbers.rawValue, subject: 0, length: 8 &+ 10 &* numbers.count)
    commit.put(numbers.last.low)
    commit.put(numbers.last.high)
    for position in 0..<numbers.count {
      let entry = numbers[position]
      commit.put(entry.identifier)
      commit.put(entry.number.low)
      commit.put(entry.number.high)
    }
    numbersVersion = numbers.changes
  }

  private func counter(at offset: Int) -> Counter {
    Counter(
      low: commit.blocks.bytes.littleEndian32(at: offset),
      high: commit.blocks.bytes.littleEndian32(at: offset &+ 4))
  }

  /// Handles the record with the numbers. Returns false if there are more than this client has room for.
  @inline(never)
  @_optimize(size)
  mutating func applyNumbers(_ body: ByteRange) -> Bool {
    guard body.count >= 8, (body.count &- 8) % 10 == 0 else { return false }
    numbers.removeAll()
    numbers.last = counter(at: body.offset)
    // Without the option they are of no use any more.
    guard numbers.capacity > 0 else { return true }
    var offset = body.offset &+ 8
    while offset < body.end {
      guard !numbers.isFull else { return false }
      let identifier = commit.blocks.bytes.littleEndian16(at: offset)
      let number = counter(at: offset &+ 2)
      numbers.insert(identifier, number)
      offset &+= 10
    }
    return true
  }

  /// Adds the time, in seconds since 1970, to a commit that has something: with it, the time that a message has left
  /// goes on while no process runs.
  @_optimize(size)
  mutating func tellTime(_ seconds: UInt32) {
    guard commit.count > 0, commit.fits(4) else { return }
    commit.begin(kind: JournalRecord.Kind.time.rawValue, subject: 0, length: 4)
    commit.put(seconds)
  }

  /// How many blocks before the next commit the oldest block lies that has something, given the oldest
  /// messages.
  @_optimize(size)
  func oldestAge(_ one: UInt32?, _ other: UInt32?) -> UInt32 {
    max(max(age(one), age(other)), age(inboundPlace))
  }

  private func age(_ place: UInt32?) -> UInt32 { place.map { space.age(of: $0) } ?? 0 }

  /// Handles that the connection is gone: the server will send its PUBRELs again.
  @_optimize(size)
  mutating func connectionLost() {
    while withheld.count > 0 { withheld.removeFirst() }
    releasable = 0
    covered = 0
  }
}
