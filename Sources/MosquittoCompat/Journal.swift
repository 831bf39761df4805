// A journal for a program that knows nothing of it: MOSQUITTO_JOURNAL says in which directory.

import CMosquitto
import CPlatform
import Driver
import Journal
import MQTTClient
import MQTTSession
import Platform
import Storage

/// Where the parts of a journal are in the client's block.
struct JournalPlan: BitwiseCopyable {
  let writer: ArenaSlice<BlockWriterMemory>
  let names: JournalNames.Plan

  init(_ options: borrowing ClientOptions, in plan: inout ArenaLayout) {
    writer = plan.reserve(options.journalPath.isEmpty ? 0 : 1, of: BlockWriterMemory.self)
    names = JournalNames.Plan(options.journalPath.isEmpty ? nil : options.journalPath, in: &plan)
  }
}

extension Mosquitto.Locked {
  // MARK: Open

  /// A client has one if its session is kept, and the program has chosen its id.
  mutating func chooseJournal(keepsSession: Bool) -> Int32 {
    unsafe MosquittoCompat.free(&state.journalPath)
    guard keepsSession, Limits.hasJournals, let id = unsafe state.id else { return MOSQ_ERR_SUCCESS }
    unsafe state.journalPath = shim_journal_path(id)
    guard let path = unsafe state.journalPath else { return MOSQ_ERR_NOMEM }
    guard unsafe shim_length(path) <= BlockFile.longestPath else {
      return refuseJournal(Int32(SHIM_JOURNAL_NAME), 0)
    }
    return MOSQ_ERR_SUCCESS
  }

  /// Without a thread: programs with a loop of their own could not be woken by it.
  func setJournal(_ request: inout RequestedOptions) {
    guard unsafe state.journalPath != nil, request.keepSession else { return }
    request.journal = unsafe spanOrNone(state.journalPath)
    request.journalFlags = 2
    request.journalBatchBytes = UInt32(Limits.commitBytes)
  }

  /// Takes up what an earlier process has left. If that fails, there is no client.
  mutating func openJournal(
    _ options: borrowing ClientOptions, _ plan: JournalPlan, in block: borrowing Arena
  ) -> Int32 {
    guard let journal = options.journal else { return MOSQ_ERR_SUCCESS }
    var names = JournalNames(options.journalPath, plan.names, in: block)
    do throws(JournalError) {
      unsafe try client.openJournal(&names, journal, in: block.start(of: plan.writer))
    } catch {
      unsafe state.client?.deinitialize(count: 1)
      unsafe state.client = nil
      unsafe shim_free(state.memory)
      unsafe state.memory = nil
      return switch error {
      case .system(let number): refuseJournal(Int32(SHIM_JOURNAL_SYSTEM), number)
      case .locked: refuseJournal(Int32(SHIM_JOURNAL_LOCKED), 0)
      case .corrupt: refuseJournal(Int32(SHIM_JOURNAL_CORRUPT), 0)
      case .other: refuseJournal(Int32(SHIM_JOURNAL_OTHER), 0)
      case .size: refuseJournal(Int32(SHIM_JOURNAL_SIZE), 0)
      }
    }
    if let cookie = client.engine.session.lastCookie { countOn(from: Counter.high(cookie)) }
    return MOSQ_ERR_SUCCESS
  }

  /// Tells the log, and errno. `number`: the system's.
  private mutating func refuseJournal(_ reason: Int32, _ number: Int32) -> Int32 {
    if unsafe state.callbacks.log != nil {
      var line = Line()
      unsafe line.withBuffer { buffer, size in
        unsafe callLog(
          MOSQ_LOG_ERR, shim_line_refused(buffer, size, state.id, state.journalPath, reason, number))
      }
    }
    shim_set_errno(shim_journal_errno(reason, number))
    return MOSQ_ERR_ERRNO
  }

  // MARK: Message ids

  /// Message ids go on behind the last one of an earlier process. What the program has published before keeps the ids
  /// that the program was told, and gets Packet Identifiers behind those.
  private mutating func countOn(from last: UInt32) {
    guard !state.messagesBeforeConnect.isEmpty else {
      state.midCount = max(state.midCount, last)
      return
    }
    state.shiftedMids = state.midCount
    state.midShift = last
    state.midCount &+= last
    // The ids that the program was told do not come again soon.
    let left = (Mid.all &- state.midCount % Mid.all) % Mid.all
    if left < Mid.all / 2, state.shiftedMids < Mid.all / 2 { state.midCount &+= left &+ state.shiftedMids }
  }

  /// What the Packet Identifier is made of, of a message that waits with this id.
  func shifted(_ mid: Mid) -> Mid {
    mid.count &- 1 < state.shiftedMids ? Mid(count: mid.count &+ state.midShift) : mid
  }

  /// The id that the program was told.
  mutating func mid(of cookie: UInt64) -> Int32 {
    guard state.shiftedMids > 0 else { return Cookie.mid(cookie) }
    let count = Counter.high(cookie) &- state.midShift
    if count &- 1 < state.shiftedMids { return Int32(Mid(count: count).mid) }
    // All of them are over, and the count of ids comes round some day.
    if count > 0x4000_0000, count < 0x8000_0000 { state.shiftedMids = 0 }
    return Cookie.mid(cookie)
  }

  /// The program does not know the id of such a message, so no callback tells its end.
  func isOfEarlierProcess(_ cookie: UInt64) -> Bool {
    Counter(value: cookie).low & Session.restoredFlag != 0
  }

  // MARK: Write

  /// Writes what is due, or all there is: where there is no connection, nothing else makes the client do so.
  mutating func writeJournal(hurries: Bool = false) {
    guard hasClient, client.hasJournal else { return }
    if hurries { _ = client.engine.session.hurryJournal() }
    _ = client.flush(at: client.time)
  }

  /// A program with a loop of its own that waits until it can write lets packets leave that wait for the journal.
  var isHeldByJournal: Bool { client.hasJournal && client.engine.session.isHeldByJournal }

  /// How long a loop may wait that has nothing else to do.
  mutating func untilJournal(atMost most: Int32) -> Int32 {
    expectJournal()
    guard hasClient, client.hasJournal, let deadline = client.engine.session.journalDeadline else {
      return most
    }
    return min(most, Int32(clamping: deadline.remaining(at: client.time)))
  }

  /// A loop is about to look when the journal is to be written.
  mutating func expectJournal() {
    state.isJournalExpected = hasClient && client.hasJournal && client.engine.session.journalDeadline != nil
  }

  /// The journal is to be written, and a loop that waits does not know when. True only once for each wait.
  mutating func isJournalUnexpected() -> Bool {
    guard client.hasJournal, !state.isJournalExpected, client.engine.session.journalDeadline != nil else {
      return false
    }
    state.isJournalExpected = true
    return true
  }

  /// The client is about to be freed. What was published behind mosquitto_disconnect() waits for the end of the
  /// connection.
  mutating func takeRestIntoJournal() {
    guard hasClient, client.hasJournal, !state.messagesBeforeConnect.isEmpty else { return }
    closeOld(state.attempt)
    publishMessagesBeforeConnect()
  }

  // MARK: Events

  mutating func handle(_ event: JournalEvent) {
    switch event {
    case .recovered(let count):
      logJournal(MOSQ_LOG_NOTICE, SHIM_JOURNAL_RECOVERED, Int32(truncatingIfNeeded: count))
    case .failed(let number): logFailure(number)
    case .healed: logJournal(MOSQ_LOG_NOTICE, SHIM_JOURNAL_HEALED, 0)
    case .stored: break
    }
  }

  private mutating func logFailure(_ number: Int32) {
    guard unsafe state.callbacks.log != nil else { return }
    var line = Line()
    unsafe line.withBuffer { buffer, size in
      unsafe callLog(MOSQ_LOG_WARNING, shim_line_unwritten(buffer, size, state.id, number))
    }
  }

  private mutating func logJournal(_ level: Int32, _ kind: Int32, _ count: Int32) {
    guard unsafe state.callbacks.log != nil else { return }
    var line = Line()
    unsafe line.withBuffer { buffer, size in
      unsafe callLog(level, shim_line(buffer, size, kind, state.id, count, 0))
    }
  }
}
