import CTool

/// What to publish: a few bytes, or a large payload that is read piece by piece.
enum Content {
  case bytes([UInt8])
  case large(LargePayload)

  /// The largest payload that goes through the outbox.
  static let most = 524_288

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
    if state.size > Program.largestMessage { throw tooLarge(name, "-f: ") }
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
