public import Storage

/// Recovery: what the journal says of the messages, record by record, and then which of them there are, in
/// order.
extension StoredMessages {
  /// Forgets everything, before the first record.
  public mutating func beginRecovery() { entries.clear() }

  public var capacity: Int { entries.count }

  /// Handles the record of a message, which is in the commit that begins at `place`; `value` is what its owner keeps of it
  /// until it is `restored`: `Entry.slot`.
  @_optimize(size)
  public mutating func found(_ entry: Int, serial: Counter, place: UInt32, _ state: State, value: UInt16) {
    entries[entry] = Entry(serial: serial, place: place, slot: value)
    entries[entry].state = state
    if lastSerial < serial { lastSerial = serial }
  }

  /// Handles the record of another state.
  @_optimize(size)
  public mutating func found(_ entry: Int, _ state: State, value: UInt16) {
    guard entries[entry].state != .free else { return }
    entries[entry].state = state
    entries[entry].slot = value
  }

  /// Puts the messages that there are into their order. Returns how many they are; `nil`: more than the
  /// outbox has room for.
  @inline(never)
  @_optimize(size)
  public mutating func orderFound() -> Int? {
    var count = 0
    for entry in 0..<entries.count where entries[entry].state != .free {
      guard count < numbers.count else { return nil }
      numbers[count] = UInt16(truncatingIfNeeded: entry)
      count &+= 1
    }
    sort(count) { entries, one, other in
      entries[one].serial < entries[other].serial
    }
    return count
  }

  /// Which message is the one at an index of that order.
  public func found(at index: Int) -> Int { Int(numbers[index]) }

  /// Handles that a message has got a descriptor.
  @_optimize(size)
  public mutating func restored(_ entry: Int, in slot: Int) {
    entries[entry].slot = UInt16(truncatingIfNeeded: slot)
  }

  /// Ends recovery, after the first `count` of the order were restored: from now on the journal is told of
  /// what changes. `age` says how old the block at a place is.
  @inline(never)
  @_optimize(size)
  public mutating func endRecovery(_ count: Int, age: (UInt32) -> UInt32) {
    // The chain of commits begins with the oldest.
    for index in 0..<count { entries[Int(numbers[index])].next = UInt16(truncatingIfNeeded: index) }
    sort(count) { entries, one, other in age(entries[one].place) > age(entries[other].place) }
    for index in 0..<count { link(Int(numbers[index])) }
    var number = oldest
    while number != 0 {
      let entry = Int(number) &- 1
      numbers[Int(entries[entry].slot)] = UInt16(truncatingIfNeeded: entry)
      entries[entry].next = 0
      number = entries[entry].newer
    }
    used = entries.count
    // The lowest are given out first, because the next process may have fewer.
    var entry = entries.count
    while entry > 0 {
      entry &-= 1
      if entries[entry].state == .free { putFree(entry) }
    }
  }

  /// Sorts the first `count` numbers: a heap, because it needs no memory and no luck.
  @inline(never)
  @_optimize(size)
  private mutating func sort(_ count: Int, _ isBefore: (borrowing Table<Entry>, Int, Int) -> Bool) {
    var start = count / 2
    while start > 0 {
      start &-= 1
      sink(start, count, isBefore)
    }
    var end = count
    while end > 1 {
      end &-= 1
      swapNumbers(0, end)
      sink(0, end, isBefore)
    }
  }

  @inline(never)
  @_optimize(size)
  private mutating func sink(_ start: Int, _ end: Int, _ isBefore: (borrowing Table<Entry>, Int, Int) -> Bool)
  {
    var parent = start
    while parent &* 2 &+ 1 < end {
      var child = parent &* 2 &+ 1
      if child &+ 1 < end, isBefore(entries, Int(numbers[child]), Int(numbers[child &+ 1])) { child &+= 1 }
      guard isBefore(entries, Int(numbers[parent]), Int(numbers[child])) else { return }
      swapNumbers(parent, child)
      parent = child
    }
  }

  @_optimize(size)
  private mutating func swapNumbers(_ one: Int, _ other: Int) {
    let number = numbers[one]
    numbers[one] = numbers[other]
    numbers[other] = number
  }
}
