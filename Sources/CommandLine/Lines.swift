/// The lines of standard input that have been read so far.
struct Lines {
  private var buffer: [UInt8] = []
  private var start = 0
  private var searched = 0
  /// There is no more to read.
  private(set) var isAtEnd = false
  /// There is no more to read, and all lines were returned.
  var isUsedUp: Bool { isAtEnd && start == buffer.count }

  /// Reads once.
  mutating func read() throws(ExitError) {
    if start > 0 {
      buffer.removeFirst(start)
      searched -= start
      start = 0
    }
    let count = System.read(0, into: &buffer, 65_536)
    if count == 0 { isAtEnd = true }
    if count < 0 && count != -4 {
      throw ExitError(text: "-l: standard input cannot be read: \(System.errorText(Int32(-count)))")
    }
    if buffer.count > Program.largestMessage { throw tooLarge("a line", "-l: ") }
  }

  /// A whole line without its end; the last one may have none.
  mutating func next() -> [UInt8]? {
    while searched < buffer.count {
      if buffer[searched] == 10 {
        let line = Array(buffer[start..<searched])
        searched += 1
        start = searched
        return line
      }
      searched += 1
    }
    guard isAtEnd && start < buffer.count else { return nil }
    let line = Array(buffer[start...])
    start = buffer.count
    return line
  }
}
