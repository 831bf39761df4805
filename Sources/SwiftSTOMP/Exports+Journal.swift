// swift-format-ignore-file: AlwaysUseLowerCamelCase
//
// The C functions of chapter 14: the journal.

import CInterface
public import CSwiftSTOMP
import Driver
import STOMPClient
import STOMPSession
import Storage

@c @implementation
public func sst_sync(_ client: OpaquePointer?, _ timeout_ms: Int32) -> Int32 {
  status { () throws(Status) in
    let slot = try unsafe slot(client)
    guard timeout_ms >= -1 else { throw .option }
    guard unsafe slot.pointee.client.engine.hasJournal else { throw .notSupported }
    switch unsafe slot.pointee.client.syncJournal(timeout: timeout_ms) {
    case .stored: return 1
    case .timedOut: return 0
    case .failed: throw .journal
    }
  }
}

@c @implementation
public func sst_journal_state(
  _ client: OpaquePointer?, _ state: UnsafeMutablePointer<sst_journal_info>?
) -> Int32 {
  status { () throws(Status) in
    guard let state = unsafe state else { throw .null }
    let slot = try unsafe slot(client)
    let size = unsafe state.pointee.size
    let known = MemoryLayout<sst_journal_info>.size
    guard size >= UInt32(truncatingIfNeeded: known), size <= 4096 else { throw .structSize }
    guard let numbers = unsafe slot.pointee.client.engine.session.journalNumbers else { throw .notSupported }
    unsafe state.pointee = sst_journal_info(numbers)
    unsafe state.pointee.size = size
    unsafe StructSize.clearTail(state, size, known: known)
    return Status.ok.rawValue
  }
}

extension sst_journal_info {
  fileprivate init(_ numbers: FrameJournalNumbers) {
    self.init()
    accepted = numbers.accepted.uint64
    stored = numbers.stored.uint64
    os_error = numbers.lastError
    failures = numbers.failures
    blocks = numbers.blocks
    used = numbers.used
    torn = numbers.torn
  }
}
