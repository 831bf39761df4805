import STOMPWire
import Storage

/// BEGIN, COMMIT and ABORT. A call that throws has changed nothing.
extension STOMPSession {
  /// Sends BEGIN. Returns the number of the transaction, which lasts until `commit` or `abort`, or as long as the connection.
  public mutating func begin() throws(STOMPError) -> UInt16 {
    guard isConnected else { throw .state }
    guard !isLeaving else { throw .leaving }
    // The longest name is as long as that of any other.
    let size = transactionSize(.begin, .max, receipt: nil)
    let offset = try room(for: size)
    let transaction = transactions.begin()
    guard transaction != 0 else { throw .full }
    let written = writeTransaction(.begin, transaction, at: offset, count: size, receipt: nil)
    append(.begin, offset, written, transaction, cookie: 0, hasReceipt: false)
    return transaction
  }

  public mutating func commit(_ transaction: UInt16, cookie: UInt64) throws(STOMPError) {
    try end(transaction, .commit, .commit, cookie)
  }

  public mutating func abort(_ transaction: UInt16, cookie: UInt64) throws(STOMPError) {
    try end(transaction, .abort, .abort, cookie)
  }

  private mutating func end(
    _ transaction: UInt16, _ command: ClientCommand, _ kind: FrameQueue.Kind, _ cookie: UInt64
  ) throws(STOMPError) {
    guard isConnected else { throw .state }
    guard !isLeaving else { throw .leaving }
    guard transactions.contains(transaction) else { throw .transaction }
    let number = outbox.nextNumber
    let size = transactionSize(command, transaction, receipt: number)
    let offset = try room(for: size)
    _ = writeTransaction(command, transaction, at: offset, count: size, receipt: number)
    append(kind, offset, size, transaction, cookie: cookie, hasReceipt: true)
    transactions.end(transaction)
  }

  private func transactionSize(_ command: ClientCommand, _ transaction: UInt16, receipt: UInt32?) -> Int {
    var size = FrameSize(version)
    Self.describe(to: &size, command, transaction, receipt)
    return size.count
  }

  private mutating func writeTransaction(
    _ command: ClientCommand, _ transaction: UInt16, at offset: Int, count: Int, receipt: UInt32?
  ) -> Int {
    let version = version
    var writer = FrameWriter(outbox.space(at: offset, count: count), version)
    Self.describe(to: &writer, command, transaction, receipt)
    return writer.count
  }

  private static func describe<Output: FrameOutput & ~Copyable & ~Escapable>(
    to output: inout Output, _ command: ClientCommand, _ transaction: UInt16, _ receipt: UInt32?
  ) {
    output.begin(command)
    output.header("transaction", UInt32(transaction))
    if let receipt { output.header("receipt", receipt) }
    output.end()
  }

  // MARK: What is queued in a transaction

  mutating func room(for size: Int) throws(STOMPError) -> Int {
    guard size <= outbox.capacity else { throw .tooLarge }
    guard let offset = outbox.room(for: size) else { throw .full }
    return offset
  }

  mutating func append(
    _ kind: FrameQueue.Kind, _ offset: Int, _ size: Int, _ transaction: UInt16, cookie: UInt64,
    hasReceipt: Bool
  ) {
    outbox.append(
      FrameQueue.Entry(
        cookie: cookie, offset: UInt32(truncatingIfNeeded: offset), size: UInt32(truncatingIfNeeded: size),
        transaction: transaction, kind: kind, hasReceipt: hasReceipt, isRepeatable: false,
        isQuiet: kind == .begin))
  }
}
