/// A word after the name of the program.
struct Command {
  let name: StaticString
  let set: UInt16
  let summary: StaticString
  /// Its arguments, in a line or two.
  let usage: StaticString
  /// The file in ~/.config with its default options; empty: none.
  let file: StaticString
  let run: (Arguments) throws(ExitError) -> Int32

  var title: Text { "\(Program.name) \(name)" }
}

/// The program: its arguments, without its name, and its exit status.
func run(_ words: [[UInt8]]) -> Int32 {
  guard let first = words.first else { return usageOfAll(to: 2) }
  if first == "--version" || first == "version" { return printVersion() }
  if first == "--help" || first == "help" { return help(Array(words.dropFirst())) }
  guard let command = commands.first(where: { first == $0.name }) else {
    var names = Text()
    for (index, command) in commands.enumerated() {
      names += index > 0 ? ", \(command.name)" : "\(command.name)"
    }
    printError(Text(Program.name.bytes), "\"\(first.printable)\" is not a command: use \(names) or help")
    return 1
  }
  do {
    let arguments = try Arguments(command, Array(words.dropFirst()))
    if arguments.wantsHelp { return usage(of: command) }
    if arguments.wantsVersion { return printVersion() }
    defer { arguments.flush() }
    let status = try command.run(arguments)
    try arguments.finish()
    return status
  } catch {
    printError(command.title, error.text)
    if error.isUsage { say("\(command.title) --help lists the options.\n", to: 2) }
    return error.status
  }
}
