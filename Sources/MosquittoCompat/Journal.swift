// A journal for a program that knows nothing of it: MOSQUITTO_JOURNAL says in which directory.

import CMosquitto
import CPlatform
import Driver
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
  /// A client has one if its session is kept, and the program has chosen its id.
  mutating func chooseJournal(keepsSession: Bool) {
    unsafe MosquittoCompat.free(&state.journalPath)
    guard keepsSession, let id = unsafe state.id else { return }
    unsafe state.journalPath = shim_journal_path(id)
  }

  /// Without a thread: programs with a loop of their own could not be woken by it.
  func setJournal(_ request: inout RequestedOptions) {
    guard unsafe state.journalPath != nil else { return }
    request.journal = unsafe spanOrNone(state.journalPath)
    request.journalFlags = 2
    request.journalBatchBytes = 262_144
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
      let number = number(of: error)
      unsafe state.client?.deinitialize(count: 1)
      unsafe state.client = nil
      unsafe shim_free(state.memory)
      unsafe state.memory = nil
      logJournal(MOSQ_LOG_ERR, isRefused: true, number)
      shim_set_errno(number)
      return MOSQ_ERR_ERRNO
    }
    // Message ids go on behind those of the messages that are there.
    if let cookie = client.engine.session.lastCookie {
      state.earlierMids = Counter.high(cookie)
      if state.midCount < state.earlierMids { state.midCount = state.earlierMids }
    }
    return MOSQ_ERR_SUCCESS
  }

  /// The program does not know the id of such a message, so no callback tells its end.
  func isOfEarlierProcess(_ cookie: UInt64) -> Bool {
    state.earlierMids > 0 && Counter.high(cookie) <= state.earlierMids
  }

  mutating func handle(_ event: JournalEvent) {
    switch event {
    case .recovered(let count):
      logJournal(MOSQ_LOG_NOTICE, SHIM_JOURNAL_RECOVERED, Int32(truncatingIfNeeded: count))
    case .failed(let number): logJournal(MOSQ_LOG_WARNING, isRefused: false, number)
    case .healed: logJournal(MOSQ_LOG_NOTICE, SHIM_JOURNAL_HEALED, 0)
    case .stored: break
    }
  }

  private func number(of error: JournalError) -> Int32 {
    switch error {
    case .system(let number): number
    case .locked: shim_journal_errno(Int32(SHIM_JOURNAL_LOCKED))
    case .corrupt: shim_journal_errno(Int32(SHIM_JOURNAL_CORRUPT))
    case .other: shim_journal_errno(Int32(SHIM_JOURNAL_OTHER))
    case .size: shim_journal_errno(Int32(SHIM_JOURNAL_SIZE))
    }
  }

  private mutating func logJournal(_ level: Int32, isRefused: Bool, _ number: Int32) {
    guard unsafe state.callbacks.log != nil else { return }
    var line = Line()
    unsafe line.withBuffer { buffer, size in
      unsafe callLog(level, shim_line_journal(buffer, size, state.id, isRefused, number))
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
