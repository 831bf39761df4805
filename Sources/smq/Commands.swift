/// The words after `smq`.
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
