/// Writes to a descriptor; returns whether that succeeded.
@discardableResult
func say(_ text: Text, to descriptor: Int32) -> Bool { System.write(descriptor, text.bytes) == 0 }

/// Prints a line on standard error, whatever characters the text has.
func printError(_ who: Text, _ text: Text) { say("\(who): \(text.bytes.escaped)\n", to: 2) }

func printVersion() -> Int32 {
  // Program and library are one source tree, but the program may run with another library.
  finish("\(Program.name), \(Program.summary), on \(Program.library) \(Library.libraryVersion)\n", to: 1)
}

/// The exit status of a program that ends by printing this.
private func finish(_ text: Text, to descriptor: Int32) -> Int32 {
  if say(text, to: descriptor) { return descriptor == 1 ? 0 : 1 }
  printError(Text(Program.name.bytes), "cannot write to standard output")
  return 1
}

/// The command help: [COMMAND | --table]
func help(_ words: [[UInt8]]) -> Int32 {
  guard let word = words.first else { return usageOfAll(to: 1) }
  if word == "--table" { return finish(table(), to: 1) }
  guard let command = commands.first(where: { word == $0.name }) else {
    printError("\(Program.name) help", "\"\(word.printable)\" is not a command")
    return 1
  }
  return usage(of: command)
}

func usageOfAll(to descriptor: Int32) -> Int32 {
  var text: Text = "Usage: \(Program.name) COMMAND [OPTION]...\n\n"
  for command in commands {
    text += "  \(padded(command.name.bytes, 9))\(command.summary)\n"
  }
  text +=
    "  help     show the options of a command: \(Program.name) help COMMAND, or \(Program.name) COMMAND --help\n"
  text += Text(Program.note.bytes)
  return finish(text, to: descriptor)
}

func usage(of command: Command) -> Int32 {
  var text: Text =
    "\(command.title): \(command.summary)\n\nUsage: \(command.title) \(command.usage)\n\n"
  for option in options where option.commands & command.set != 0 && !option.help.bytes.isEmpty {
    let names = Text("  \(heading(option))")
    let isShort = names.bytes.count < 26
    text += isShort ? Text(padded(names.bytes, 26)) : "\(names)\n\(padded([], 26))" as Text
    text += "\(wrapped(short(words(option.help)), indent: 26))\n"
  }
  return finish(text, to: 1)
}

/// "-h, --host HOST"
private func heading(_ option: Option) -> Text {
  let comma: StaticString = option.hasShort && option.hasLong ? ", " : option.hasShort ? "" : "    "
  let space: StaticString = option.takesValue ? " " : ""
  return "\(option.short)\(comma)\(option.long)\(space)\(option.value)"
}

/// With what shows pins in its place.
private func words(_ help: StaticString) -> [UInt8] {
  help.bytes.flatMap { $0 == 94 ? Program.pinSource.bytes : [$0] }
}

/// Without the part that only the manual has.
private func short(_ help: [UInt8]) -> [UInt8] {
  guard let tilde = help.firstIndex(of: 126) else { return help }
  var end = tilde
  while end > 0 && (help[end - 1] == 32 || help[end - 1] == 59) { end -= 1 }
  return Array(help[..<end])
}

private func padded(_ text: [UInt8], _ width: Int) -> [UInt8] {
  text + [UInt8](repeating: 32, count: max(0, width - text.count))
}

/// In lines of 100 characters.
private func wrapped(_ text: [UInt8], indent: Int) -> Text {
  var result = Text()
  var column = indent
  for word in text.split(separator: 32) {
    if column > indent && column + 1 + word.count > 100 {
      result += "\n\(padded([], indent))"
      column = indent
    } else if column > indent {
      result += " "
      column += 1
    }
    result.bytes += word
    column += word.count
  }
  return result
}

/// The table for programs, such as those that make the manual and the completion: lines with tabs.
private func table() -> Text {
  var text = Text()
  for command in commands { text += "command\t\(command.name)\t\(command.summary)\t\(command.usage)\n" }
  for option in options {
    let users = listed(commands.filter { option.commands & $0.set != 0 }.map { $0.name })
    text += "option\t\(users)\t\(option.short)\t\(option.long)\t\(option.value)\t\(words(option.help))\n"
  }
  text += Program.table
  return text
}

func listed(_ names: [StaticString]) -> Text {
  var text = Text()
  for name in names { text += text.isEmpty ? Text(name.bytes) : ",\(name)" as Text }
  return text
}
