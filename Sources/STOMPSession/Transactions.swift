import Storage

/// Transactions that were begun on this connection: a slot of each, and a number, which is its name.
struct Transactions: ~Copyable {
  struct Transaction: BitwiseCopyable {
    /// 0: the slot is free.
    var number: UInt16 = 0
  }

  private var table: Table<Transaction>
  private var last: UInt16 = 0
  private(set) var open = 0

  init(_ table: consuming Table<Transaction>) {
    self.table = table
    for slot in 0..<self.table.count { self.table[slot] = Transaction() }
  }

  func contains(_ number: UInt16) -> Bool { number != 0 && slot(of: number) != nil }

  /// The number of a new one; 0: there are as many as there may be.
  mutating func begin() -> UInt16 {
    guard let slot = slot(of: 0) else { return 0 }
    repeat { last = last == .max ? 1 : last &+ 1 } while contains(last)
    table[slot] = Transaction(number: last)
    open &+= 1
    return last
  }

  mutating func end(_ number: UInt16) {
    guard number != 0, let slot = slot(of: number) else { return }
    table[slot] = Transaction()
    open &-= 1
  }

  /// "implicitly aborted if the connection fails".
  mutating func connectionEnded() {
    for slot in 0..<table.count { table[slot] = Transaction() }
    open = 0
  }

  private func slot(of number: UInt16) -> Int? {
    for slot in 0..<table.count where table[slot].number == number { return slot }
    return nil
  }
}
