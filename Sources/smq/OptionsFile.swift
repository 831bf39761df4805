/// The options in a file: one to a line, its name, a space and its value; `#` begins a comment.
func optionsFile(_ path: [UInt8]) throws(Complaint) -> ArraySlice<[UInt8]> {
  words(of: try contents(of: path, option: "-o"))
}

/// Those in the file that mosquitto_pub and its like read, too; none if it is not there.
func defaultOptions(_ command: Command) throws(Complaint) -> ArraySlice<[UInt8]> {
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
  return words(of: try contents(of: descriptor, name: path))
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

private func words(of file: [UInt8]) -> ArraySlice<[UInt8]> {
  var words: [[UInt8]] = []
  for line in file.split(separator: 10) {
    var line = Array(line)
    while let last = line.last, last == 13 || last == 32 { line.removeLast() }
    guard let first = line.first, first != 35 else { continue }
    guard let space = line.firstIndex(of: 32) else {
      words.append(line)
      continue
    }
    let name = Array(line[..<space])
    let value = Array(line[space...].drop { $0 == 32 })
    words.append(name)
    // -D has several words, of which only the last may have spaces.
    if name == "-D" || name == "--property" {
      let count =
        value.split(separator: 32).dropFirst().first.map { Array($0) } == ascii("user-property") ? 3 : 2
      words += value.split(separator: 32, maxSplits: count).map { Array($0) }
    } else {
      words.append(value)
    }
  }
  return words[...]
}

extension Optional where Wrapped == [UInt8] {
  fileprivate static func == (left: [UInt8]?, right: [UInt8]) -> Bool {
    guard let left else { return false }
    return left == right
  }
}
