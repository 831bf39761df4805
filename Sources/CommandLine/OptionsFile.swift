/// A line of a file of options: its name, a space and its value.
struct OptionsLine {
  /// PATH:LINE, as compilers have it.
  let place: Text
  let words: [[UInt8]]
}

/// The options in a file, one to a line; `#` begins a comment.
func optionsFile(_ path: [UInt8]) throws(ExitError) -> [OptionsLine] {
  let name = Text(path.printable)
  return lines(of: try contents(of: try opened(path, option: "-o"), name: name, option: "-o: "), name)
}

/// The options of the command's own file; none if it does not exist.
func defaultOptions(_ command: Command) throws(ExitError) -> [OptionsLine] {
  guard !command.file.bytes.isEmpty else { return [] }
  var directory = Text(System.environment("XDG_CONFIG_HOME"))
  if directory.isEmpty {
    let home = System.environment("HOME")
    guard !home.isEmpty else { return [] }
    directory = "\(home)/.config"
  }
  let path: Text = "\(directory)/\(command.file)"
  let descriptor = System.open(path.bytes)
  guard descriptor >= 0 else { return [] }
  let name = Text(path.bytes.printable)
  return lines(of: try contents(of: descriptor, name: name), name)
}

func opened(_ path: [UInt8], option: Text) throws(ExitError) -> Int32 {
  let descriptor = System.open(path)
  guard descriptor >= 0 else {
    throw ExitError(text: "\(option): cannot open \(path.printable): \(System.errorText(-descriptor))")
  }
  return descriptor
}

/// Reads everything from a descriptor, and closes it.
func contents(of descriptor: Int32, name: Text, option: Text = "") throws(ExitError) -> [UInt8] {
  var whole: [UInt8] = []
  try readAll(of: descriptor, name: name, option: option) { whole += $0 }
  return whole
}

/// Passes on what can be read, in pieces of 65,536 bytes except the last, and closes the descriptor.
func readAll(of descriptor: Int32, name: Text, option: Text, _ take: ([UInt8]) -> Void) throws(ExitError) {
  defer { System.close(descriptor) }
  var size = 0
  while true {
    var piece: [UInt8] = []
    piece.reserveCapacity(65_536)
    var count: Int64 = 1
    while count > 0 && piece.count < 65_536 {
      count = System.read(descriptor, into: &piece, 65_536 - piece.count)
    }
    if count < 0 { throw ExitError(text: "\(option)cannot read \(name): \(System.errorText(Int32(-count)))") }
    size += piece.count
    if size > Program.largestMessage { throw tooLarge(name, option) }
    if !piece.isEmpty { take(piece) }
    if count == 0 { return }
  }
}

func tooLarge(_ name: Text, _ option: Text) -> ExitError {
  ExitError(
    text:
      "\(option)\(name) is larger than a message can be: \(Program.limiter) allows \(Program.largestMessage) bytes"
  )
}

/// Without empty lines and comments.
private func lines(of file: [UInt8], _ name: Text) -> [OptionsLine] {
  var lines: [OptionsLine] = []
  for (index, line) in file.split(separator: 10, omittingEmptySubsequences: false).enumerated() {
    let words = words(of: line)
    guard let first = words.first, !first.begins(with: "#") else { continue }
    lines.append(OptionsLine(place: "\(name):\(index + 1)", words: words))
  }
  return lines
}

/// The name, and a value of which the last part may contain spaces.
private func words(of line: ArraySlice<UInt8>) -> [[UInt8]] {
  var rest = line.drop { $0 == 32 }
  while let last = rest.last, last == 13 || last == 32 { rest.removeLast() }
  var words: [[UInt8]] = []
  while !rest.isEmpty {
    let isLast = Program.endsLine(words)
    let word = isLast ? rest : rest.prefix { $0 != 32 }
    words.append(Array(word))
    rest = rest[word.endIndex...].drop { $0 == 32 }
  }
  return words
}
