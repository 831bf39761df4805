/// The options in a file: one to a line, its name, a space and its value; `#` begins a comment.
func optionsFile(_ path: [UInt8]) throws(Complaint) -> [ArraySlice<[UInt8]>] {
  lines(of: try contents(of: path, option: "-o"))
}

/// Those in the file that mosquitto_pub and its like read, too; none if it is not there.
func defaultOptions(_ command: Command) throws(Complaint) -> [ArraySlice<[UInt8]>] {
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
  return lines(of: try contents(of: descriptor, name: path))
}

/// All that is in a file.
func contents(of path: [UInt8], option: Text) throws(Complaint) -> [UInt8] {
  let descriptor = System.open(path)
  guard descriptor >= 0 else {
    throw Complaint(text: "\(option): cannot open \(path.printable): \(System.errorText(-descriptor))")
  }
  return try contents(of: descriptor, name: Text(path.printable), option: "\(option): ")
}

/// All that can be read from a descriptor, which is closed. MQTT takes no more than 268,435,455 bytes.
func contents(of descriptor: Int32, name: Text, option: Text = "") throws(Complaint) -> [UInt8] {
  defer { System.close(descriptor) }
  var whole: [UInt8] = []
  while whole.count <= 268_435_455 {
    let count = System.read(descriptor, into: &whole, 65_536)
    if count == 0 { return whole }
    if count < 0 { throw Complaint(text: "\(option)cannot read \(name): \(System.errorText(Int32(-count)))") }
  }
  throw Complaint(text: "\(option)\(name) is larger than a message can be")
}

/// Each line's words, but for empty lines and comments.
private func lines(of file: [UInt8]) -> [ArraySlice<[UInt8]>] {
  file.split(separator: 10).map { words(of: $0) }.filter { words in
    words.first.map { !$0.begins(with: "#") } ?? false
  }
}

/// The name, and a value that may have blanks in it. Of those of -D only the last may.
private func words(of line: ArraySlice<UInt8>) -> ArraySlice<[UInt8]> {
  var rest = line.drop { $0 == 32 }
  while let last = rest.last, last == 13 || last == 32 { rest.removeLast() }
  var words: [[UInt8]] = []
  while !rest.isEmpty {
    let isProperty = words.first.map { $0 == "-D" || $0 == "--property" } ?? false
    let isLast = isProperty ? words.count == (words.count > 2 && isPair(words[2]) ? 4 : 3) : words.count == 1
    let word = isLast ? rest : rest.prefix { $0 != 32 }
    words.append(Array(word))
    rest = rest[word.endIndex...].drop { $0 == 32 }
  }
  return words[...]
}
