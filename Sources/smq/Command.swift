/// A word after `smq`.
struct Command {
  let name: StaticString
  let set: UInt16
  let summary: StaticString
  /// Its arguments, in a line or two.
  let usage: StaticString
  /// The file in ~/.config with its default options; empty: none.
  let file: StaticString
  let run: (Arguments) throws(ExitError) -> Int32

  var title: Text { "smq \(name)" }
}

let commands: [Command] = [
  Command(
    name: "pub", set: Commands.pub, summary: "publish a message, a file, or each line of standard input",
    usage: "-t TOPIC {-m TEXT | -f FILE | -l | -n | -s} [OPTION]...", file: "mosquitto_pub", run: publish),
  Command(
    name: "sub", set: Commands.sub, summary: "subscribe, and print the messages that arrive",
    usage: "-t FILTER [-t FILTER]... [OPTION]...", file: "mosquitto_sub", run: subscribe),
  Command(
    name: "rr", set: Commands.rr, summary: "publish a request, and print the response",
    usage: "-t TOPIC -e TOPIC {-m TEXT | -f FILE | -n | -s} [OPTION]...", file: "mosquitto_rr", run: request),
  Command(
    name: "bench", set: Commands.bench, summary: "measure a broker: many clients, rates, latencies",
    usage: "[URL] [OPTION]...", file: "", run: bench),
  Command(
    name: "check", set: Commands.check, summary: "check the path to a broker, step by step",
    usage: "[URL] [OPTION]...", file: "", run: check),
  Command(
    name: "journal", set: Commands.journal, summary: "list, check or export the journal of a client",
    usage: "FILE [--json] [--pretty] [--check]", file: "", run: journal),
  Command(
    name: "console", set: Commands.console, summary: "connect, and publish and subscribe by typing",
    usage: "[-t FILTER]... [OPTION]...", file: "", run: console),
  Command(
    name: "inspect", set: Commands.inspect,
    summary: "show the packets of a running client, of a capture, or of a broker's topics",
    usage: "{SOCKET... | FILE | -t FILTER...} [--once] [--json] [OPTION]...", file: "", run: inspect),
  Command(
    name: "top", set: Commands.top, summary: "show what a running client is busy with, or a broker's topics",
    usage: "{SOCKET... | FILE | -t FILTER...} [--once] [--json] [OPTION]...", file: "", run: top),
  Command(
    name: "replay", set: Commands.replay,
    summary: "play a capture again, as its client or as its broker",
    usage: "FILE [-h HOST] [-p PORT] [--server] [--speed FACTOR] [-W SECONDS]", file: "", run: replay),
  Command(
    name: "stats", set: Commands.stats, summary: "print the numbers of running clients",
    usage: "SOCKET... [--json | --prometheus] [-W SECONDS]", file: "", run: stats),
]

/// The program: its arguments, without its name, and its exit status.
func run(_ words: [[UInt8]]) -> Int32 {
  guard let first = words.first else { return usageOfAll(to: 2) }
  if first == "--version" || first == "version" { return printVersion() }
  if first == "--help" || first == "help" { return help(Array(words.dropFirst())) }
  guard let command = commands.first(where: { first == $0.name }) else {
    printError(
      "smq",
      "\"\(first.printable)\" is not a command: use pub, sub, rr, bench, check, journal, console, inspect, top, replay, stats or help"
    )
    return 1
  }
  do {
    let arguments = try Arguments(command, Array(words.dropFirst()))
    if arguments.wantsHelp { return usage(of: command) }
    if arguments.wantsVersion { return printVersion() }
    defer { arguments.captureFile?.flush() }
    let status = try command.run(arguments)
    try arguments.captureFile?.finish()
    return status
  } catch {
    printError(command.title, error.text)
    if error.isUsage { say("smq \(command.name) --help lists the options.\n", to: 2) }
    return error.status
  }
}
