/// The words after `sst`.
let commands: [Command] = [
  Command(
    name: "send", set: Commands.send, summary: "send a message, a file, or each line of standard input",
    usage: "-t DESTINATION {-m TEXT | -f FILE | -l | -n | -s} [OPTION]...", file: "sst_send", run: send),
  Command(
    name: "receive", set: Commands.receive, summary: "subscribe, and print the messages that arrive",
    usage: "-t DESTINATION [-t DESTINATION]... [OPTION]...", file: "sst_receive", run: receive),
  Command(
    name: "bench", set: Commands.bench, summary: "measure a broker: many clients, rates, latencies",
    usage: "[URL] [OPTION]...", file: "", run: bench),
  Command(
    name: "check", set: Commands.check, summary: "check the path to a broker, step by step",
    usage: "[URL] [OPTION]...", file: "", run: check),
  Command(
    name: "inspect", set: Commands.inspect, summary: "show the frames of a running client, or of a capture",
    usage: "{SOCKET... | FILE} [--once] [--json] [OPTION]...", file: "", run: inspect),
  Command(
    name: "stats", set: Commands.stats, summary: "print the numbers of running clients",
    usage: "SOCKET... [--json | --prometheus] [-W SECONDS]", file: "", run: stats),
  Command(
    name: "journal", set: Commands.journal, summary: "list, check or export the journal of a client",
    usage: "FILE [--json] [--pretty] [--check]", file: "", run: journal),
]
