import CTool

/// What to publish: a few bytes, or a large payload that is read piece by piece.
enum Content {
  case bytes([UInt8])
  case large(LargePayload)

  /// The largest payload that goes through the outbox.
  static let most = 524_288
  /// The largest payload that a message may have, if the rest of it had no bytes (section 2.1.4).
  static let limit = 268_435_455

  init(_ bytes: [UInt8]) { self = bytes.count > Self.most ? .large(LargePayload(bytes)) : .bytes(bytes) }
}

/// The one message of -m, -f, -n or -s.
func content(of source: Arguments.Source) throws(ExitError) -> Content {
  switch source {
  case .text(let text): return Content(text)
  case .file(let path):
    let descriptor = try opened(path, option: "-f")
    let state = System.state(descriptor)
    let name = Text(path.printable)
    if state.size > Content.limit { throw tooLarge(name, "-f: ") }
    if state.size > Content.most { return .large(LargePayload(descriptor, state, name)) }
    return try content(of: descriptor, name: name, option: "-f: ")
  case .nothing, .lines: return .bytes([])
  case .whole:
    let all = try content(of: 0, name: "standard input", option: "-s: ")
    if case .bytes(let bytes) = all, bytes.isEmpty { throw ExitError(text: "-s: standard input is empty") }
    return all
  }
}

/// Everything that can be read, kept once: in pieces, because a growing list is copied.
private func content(of descriptor: Int32, name: Text, option: Text) throws(ExitError) -> Content {
  var pieces: [[UInt8]] = []
  try readAll(of: descriptor, name: name, option: option) { pieces.append($0) }
  let size = pieces.reduce(0) { $0 + $1.count }
  return size > Content.most ? .large(LargePayload(pieces, size)) : .bytes(pieces.reduce([]) { $0 + $1 })
}

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
    if buffer.count > Content.limit { throw tooLarge("a line", "-l: ") }
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
