/// Whether a message this large goes out in pieces, instead of through the outbox.
func isStreamed(_ size: Int) -> Bool { size > 524_288 }

/// The one message of -m, -f, -n or -s.
func payload(of source: Arguments.Source) throws(Complaint) -> [UInt8] {
  switch source {
  case .text(let text): return text
  case .file(let path): return try contents(of: path, option: "-f")
  case .nothing, .lines: return []
  case .whole:
    let all = try contents(of: 0, name: "standard input", option: "-s: ")
    if all.isEmpty { throw Complaint(text: "-s: standard input is empty") }
    return all
  }
}

/// The lines of standard input, as far as they have come.
struct Lines {
  private var buffer: [UInt8] = []
  private var start = 0
  private var searched = 0
  /// There is no more to read.
  private(set) var isAtEnd = false
  /// And all lines were handed out.
  var isUsedUp: Bool { isAtEnd && start == buffer.count }

  /// Reads once.
  mutating func read() throws(Complaint) {
    if start > 0 {
      buffer.removeFirst(start)
      searched -= start
      start = 0
    }
    let count = System.read(0, into: &buffer, 65_536)
    if count == 0 { isAtEnd = true }
    if count < 0 && count != -4 {
      throw Complaint(text: "-l: standard input cannot be read: \(System.errorText(Int32(-count)))")
    }
    if buffer.count > 268_435_455 { throw Complaint(text: "-l: a line is larger than a message can be") }
  }

  /// A whole line, without its end; the last one may have none.
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
