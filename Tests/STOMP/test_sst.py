"""sst, the command line, with real brokers and a client written by hand at the other end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from Support.servers import free_port
from Support.waiting import wait_for

from .conftest import BUILD
from .peer import PATIENCE, Client

SST = BUILD / "tools" / "sst"
SMQ = BUILD / "tools" / "smq"


def environment(**more: str) -> dict[str, str]:
    """English, UTC, and nobody's options file."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "XDG_"))}
    return kept | {"LC_ALL": "C", "TZ": "UTC", "HOME": "/nonexistent", **more}


def sst(*arguments: object, stdin: str = "", program: Path = SST, **more: str) -> subprocess.CompletedProcess:
    return subprocess.run([program, *map(str, arguments)], input=stdin, capture_output=True, text=True, timeout=PATIENCE,
                          env=environment(**more))


def fine(*arguments: object, **more: str) -> str:
    result = sst(*arguments, **more)
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


@pytest.fixture
def at(broker) -> list[str]:
    """How to get there. CoilMQ knows no ACK of 1.2."""
    old = ["-V", "1.1"] if type(broker).__name__ == "CoilMQ" else []
    return ["-L", broker.url, "--virtual-host", broker.virtual_host, *old]


@pytest.fixture
def rabbit(rabbitmq) -> list[str]:
    return ["-L", rabbitmq.url]


@pytest.fixture
def witness(broker):
    client = Client(broker)
    yield client
    client.close()


# ---- send


def test_a_message_with_headers(at, witness, queue):
    witness.subscribe(queue)
    fine("send", *at, "-t", queue, "-m", "hällo", "-H", "colour: a:b\\c", "-H", "empty:", "--content-type", "text/plain")
    message = witness.expect("MESSAGE")
    assert message.body == "hällo".encode() and message.headers["colour"] == "a:b\\c" and message.headers["empty"] == ""
    assert message.headers["content-type"] == "text/plain" and message.headers["destination"] == queue


@pytest.mark.parametrize("options", [[], ["--no-receipt"], ["--transaction"]], ids=" ".join)
def test_lines(broker, at, witness, queue, options):
    """CoilMQ loses its way in what arrives as more than some thousand bytes."""
    witness.subscribe(queue)
    lines = [f"line {number}" for number in range(10 if type(broker).__name__ == "CoilMQ" else 300)]
    fine("send", *at, "-t", queue, "-l", *options, stdin="\n".join(lines))
    assert [witness.expect("MESSAGE").body.decode() for _ in lines] == lines


def test_files_and_repetitions(rabbit, queue, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(bytes(range(256)) * 1000)
    fine("send", *rabbit, "-t", queue, "-f", file)
    fine("send", *rabbit, "-t", queue, "-s", stdin="all\nof it")
    fine("send", *rabbit, "-t", queue, "-n", "--repeat", 2, "--repeat-delay", 0.01)
    printed = fine("receive", *rabbit, "-t", queue, "-C", 4, "-F", "%l %x")
    assert printed == f"256000 {file.read_bytes().hex()}\n9 {b'all'.hex()}0a{b'of it'.hex()}\n0 \n0 \n"


def test_a_transaction_that_is_cut_leaves_nothing(rabbit, queue, tmp_path):
    errors = tmp_path / "errors"
    with errors.open("wb") as to:
        program = subprocess.Popen([SST, "send", *rabbit, "-t", queue, "-l", "--transaction", "-d"],
                                   stdin=subprocess.PIPE, stderr=to, text=True, env=environment())
    program.stdin.write("one\ntwo\n")
    program.stdin.flush()
    wait_for(lambda: "is connected" in errors.read_text(), "a connection", PATIENCE)
    with pytest.raises(subprocess.TimeoutExpired):
        program.wait(0.3)
    program.send_signal(signal.SIGTERM)
    assert program.wait(PATIENCE) == 143 and "interrupted before everything was sent" in errors.read_text()
    program.stdin.close()
    fine("send", *rabbit, "-t", queue, "-m", "last")
    assert fine("receive", *rabbit, "-t", queue, "-C", 1) == "last\n"


def test_what_the_broker_refuses(rabbit):
    result = sst("send", *rabbit, "-t", "/nowhere/a", "-m", "x")
    assert result.returncode == 7 and "the broker ended the connection" in result.stderr
    result = sst("receive", *rabbit, "-t", "/nowhere/a")
    assert result.returncode == 7 and "Unknown destination" in result.stderr


# ---- receive


def test_a_queue_keeps_what_is_not_printed(at, queue):
    fine("send", *at, "-t", queue, "-l", stdin="1\n2\n3\n4\n")
    assert fine("receive", *at, "-t", queue, "-C", 1) == "1\n"
    # CoilMQ puts what comes back behind the others.
    printed = fine("receive", *at, "-t", queue, "-C", 3, "-v").splitlines()
    assert sorted(printed) == [f"{queue} 2", f"{queue} 3", f"{queue} 4"]


@pytest.mark.parametrize("mode", ["auto", "client", "client-individual"])
def test_modes_of_acknowledgement(rabbit, queue, mode):
    fine("send", *rabbit, "-t", queue, "-l", stdin="1\n2\n")
    assert fine("receive", *rabbit, "-t", queue, "--ack", mode, "-C", 2, "-N") == "12"
    fine("send", *rabbit, "-t", queue, "-m", "last")  # they were acknowledged: nothing is before it
    assert fine("receive", *rabbit, "-t", queue, "-C", 1) == "last\n"


def test_the_time_is_up(rabbit, queue):
    result = sst("receive", *rabbit, "-t", queue, "-W", 1)
    assert result.returncode == 27 and result.stderr == "sst receive: the time of -W is up\n"


def test_formats(rabbit, queue):
    fine("send", *rabbit, "-t", queue, "-m", '{"a": 1}', "-H", "colour: red", "--content-type", "application/json")
    fine("send", *rabbit, "-t", queue, "-m", '{"a": 1}', "-H", "colour: red", "--content-type", "application/json")
    printed = fine("receive", *rabbit, "-t", queue, "-C", 2, "-F", r"%d|%b|%.3c|%4l|%h|@Y\t%j|%J")
    lines = printed.splitlines()
    destination, body, kind, length, headers, rest = lines[0].split("|", 5)
    assert (destination, body, kind, length) == (queue, '{"a": 1}', "app", "   8") and "colour:red" in headers.split()
    quoted, plain = map(json.loads, rest.split("\t")[1].split("|"))
    assert quoted["body"] == '{"a": 1}' and plain["body"] == {"a": 1} and quoted["headers"]["colour"] == "red"
    assert quoted["destination"] == queue and quoted["length"] == 8


def test_a_body_that_is_no_text(rabbit, queue, tmp_path):
    (tmp_path / "file").write_bytes(b"\xff\x00")
    fine("send", *rabbit, "-t", queue, "-f", tmp_path / "file")
    assert json.loads(fine("receive", *rabbit, "-t", queue, "-C", 1, "-F", "%j"))["body_hex"] == "ff00"


def test_a_selector(brokers, queue):
    broker = brokers("ActiveMQ")
    at = ["-L", broker.url]
    for colour in ("blue", "red"):
        fine("send", *at, "-t", queue, "-m", colour, "-H", f"colour: {colour}", "--no-content-length")
    assert fine("receive", *at, "-t", queue, "--selector", "colour = 'red'", "-C", 1) == "red\n"


def test_it_reconnects(rabbit, queue, tmp_path):
    """The connection is cut in between, and what comes after it is printed."""
    place = re.search(r"@(.*):(\d+)", rabbit[1])
    listener = socket.create_server(("127.0.0.1", 0))
    carried: list[socket.socket] = []

    def carry(one, other):
        while data := one.recv(65536):
            other.sendall(data)

    def serve():
        while True:
            try:
                one, _ = listener.accept()
            except OSError:
                return
            other = socket.create_connection((place[1], int(place[2])))
            carried.extend((one, other))
            for pair in ((one, other), (other, one)):
                threading.Thread(target=lambda a, b: _quiet(carry, a, b), args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("wb") as to, err.open("wb") as errors:
        program = subprocess.Popen(
            # An acknowledgement might not be there yet when the connection breaks, and then the message comes again.
            [SST, "receive", "-L", f"stomp://guest:guest@127.0.0.1:{listener.getsockname()[1]}", "-t", queue, "-C", "2",
             "--ack", "auto"],
            stdout=to, stderr=errors, env=environment())
    try:
        fine("send", *rabbit, "-t", queue, "-m", "before")
        wait_for(lambda: out.read_text() == "before\n", "the first message", PATIENCE)
        for one in carried[:2]:
            one.shutdown(socket.SHUT_RDWR)
        wait_for(lambda: "trying again" in err.read_text(), "the loss is told", PATIENCE)
        fine("send", *rabbit, "-t", queue, "-m", "after")
        assert program.wait(PATIENCE) == 0 and out.read_text() == "before\nafter\n"
    finally:
        program.kill()
        program.wait()
        listener.close()
        for one in carried:
            one.close()


def _quiet(function, *arguments):
    try:
        function(*arguments)
    except OSError:
        pass


# ---- check


STEPS = "name tcp connect heart-beat subscribe receipt message disconnect"


def test_all_works(broker, at):
    steps = json.loads(fine("check", broker.url, *at[2:], "--json"))["servers"][0]["steps"]
    assert [step["step"] for step in steps] == STEPS.split() and {step["result"] for step in steps} == {"ok"}
    assert steps[2]["version"] in ("1.1", "1.2") and steps[3]["receive_ms"] >= 0


def test_over_a_websocket(rabbitmq):
    assert re.findall(r"^  ok +(\S+)", fine("check", rabbitmq.web_url), re.M) == STEPS.replace(
        "connect ", "websocket connect ", 1).split()


def test_a_version_without_heart_beats(rabbitmq):
    printed = fine("check", rabbitmq.url, "-V", "1.0")
    assert "STOMP 1.0 is chosen by RabbitMQ" in printed and "note  heart-beat  STOMP 1.0 has none" in printed


@pytest.mark.parametrize("asked, text", [
    ("0,0", "there will be none, as --heart-beat asks"), ("5000,0", "only this client sends one, as --heart-beat asks"),
])
def test_no_heart_beats(rabbitmq, asked, text):
    note, advice = re.search(r"^  note  heart-beat  (.*)\n +-> (.*)$", fine("check", rabbitmq.url, "--heart-beat", asked), re.M).groups()
    assert note == text and advice.startswith("a dead link is noticed by TCP only")


@pytest.mark.parametrize("greeting, answer, why", [
    (b"SSH-2.0-OpenSSH_9.2\r\n", b"", "a command is CONNECTED, MESSAGE, RECEIPT or ERROR"),
    (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", "a command is CONNECTED, MESSAGE, RECEIPT or ERROR"),
    (b"", b"AMQP\0\0\x09\x01", "it closed the connection"),
    (b"", None, "Connection reset by peer"),
], ids=["SSH", "HTTP", "AMQP", "reset"])
def test_what_is_no_stomp_server(greeting, answer, why):
    def serve():
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                peer.sendall(greeting)
                # What is unread when a socket is closed makes a reset of it.
                peer.recv(1 if answer is None else 65_536)
                peer.sendall(answer or b"")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        port = listener.getsockname()[1]
        said = f"the peer does not answer as a STOMP server: {why}"
        for command, *more in (("send", "-n"), ("receive",)):
            result = sst(command, "-h", "127.0.0.1", "-p", port, "-t", "/queue/a", *more)
            assert result.returncode == 1
            assert result.stderr == f"sst {command}: cannot connect to 127.0.0.1 port {port}: {said}\n"
        result = sst("check", "-h", "127.0.0.1", "-p", port)
        assert result.returncode == 5 and f"  fail  connect     {said}\n" in result.stdout and "-> this port " in result.stdout
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE)


def test_a_login_that_is_wrong(rabbitmq):
    result = sst("check", rabbitmq.url, "-u", "guest", "-P", "secret")
    assert result.returncode == 5 and "Access refused for user 'guest'" in result.stdout and "-P" in result.stdout
    result = sst("send", "-L", rabbitmq.url, "-u", "guest", "-P", "secret", "-t", "/queue/a", "-n")
    assert result.returncode == 5 and "cannot connect to" in result.stderr and "secret" not in result.stderr


def test_nobody_listens():
    result = sst("check", f"stomp://127.0.0.1:{free_port()}")
    assert result.returncode == 4 and "nothing listens there" in result.stdout


def test_no_such_name():
    assert sst("check", "stomp://nowhere.invalid").returncode == 3


def test_what_is_no_websocket(rabbitmq):
    result = sst("check", f"ws://127.0.0.1:{rabbitmq.web_port}/nowhere")
    assert result.returncode == 10 and "there is no STOMP at this path" in result.stdout


def test_what_does_not_speak_tls(rabbitmq):
    result = sst("check", f"stomps://127.0.0.1:{rabbitmq.port}", "-W", 2)
    assert result.returncode == 9 and "61614" in result.stdout


def test_debug_tells_each_step(rabbit, queue):
    result = sst("send", *rabbit, "-t", queue, "-n", "-d")
    assert result.returncode == 0 and "is connected, with STOMP 1.2" in result.stderr
    lines = result.stderr.splitlines()
    [connect] = [line for line in lines if line.startswith('Client sends CONNECT (accept-version "1.0,1.1,1.2", host "/", ')]
    assert 'login "guest", passcode, ' in connect
    assert any(line.startswith('Client receives CONNECTED (') for line in lines)
    assert f'Client sends SEND (destination "{queue}", ' in result.stderr and "body of 0 bytes" in result.stderr
    assert 'Client receives RECEIPT (receipt-id "' in result.stderr


def test_debug_shows_no_passcode(rabbitmq, queue):
    result = sst("send", "-L", rabbitmq.url.replace("guest:guest", "guest:s3cret"), "-t", queue, "-n", "-d")
    assert result.returncode == 5 and "s3cret" not in result.stderr and "receives ERROR (" in result.stderr
    assert 'login "guest", passcode, ' in result.stderr


# ---- inspect, stats


@pytest.fixture
def running(rabbit, queue, tmp_path):
    """sst receive, with an inspection socket."""
    path = tmp_path / "socket"
    child = subprocess.Popen([SST, "receive", *rabbit, "-t", queue, "--inspect", path], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, env=environment())
    wait_for(lambda: path.exists() and "connected" in sst("stats", path).stdout)
    yield path
    child.send_signal(signal.SIGTERM)
    child.wait(PATIENCE)
    child.stderr.close()


def inspected(path, *options: object) -> subprocess.Popen:
    """sst inspect, once the client has let it in."""
    child = subprocess.Popen([SST, "inspect", path, *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, env=environment())
    connections = ["ss", "-xH", "state", "connected", "src", str(path)]
    wait_for(lambda: subprocess.run(connections, capture_output=True, text=True, check=False).stdout.strip())
    return child


def test_frames_are_lines(rabbit, running, queue):
    child = inspected(running, "--filter", f"MESSAGE ACK {queue[:12]}*", "-C", 1, "-W", 20)
    fine("send", *rabbit, "-t", queue, "-m", '{"id": 7}', "-H", "colour:red")
    printed, complaint = child.communicate(timeout=PATIENCE)
    assert (child.returncode, complaint) == (0, "")
    assert re.fullmatch(rf"\d{{4}}-\d\d-\d\dT[0-9:.]+Z < MESSAGE {queue} 9 bytes subscription \S+ ack \S+ message-id .*\n", printed)


def test_frames_as_json(rabbit, running, queue):
    child = inspected(running, "--filter", "received", "--json", "-C", 1, "-W", 20)
    fine("send", *rabbit, "-t", queue, "-m", '{"id": 7}', "-H", "colour:red")
    told = json.loads(child.communicate(timeout=PATIENCE)[0])
    assert (told["frame"], told["direction"], told["headers"]["colour"]) == ("MESSAGE", "received", "red")
    assert (told["format"], told["body"], told["body_bytes"]) == ("JSON", {"id": 7}, 9)


def test_the_time_is_up(running):
    result = sst("inspect", running, "-W", 1)
    assert result.returncode == 27 and "the time of -W is up" in result.stderr


def test_numbers(rabbit, running, queue):
    fine("send", *rabbit, "-t", queue, "-m", "x")
    wait_for(lambda: re.search(r"messages_received +1$", fine("stats", running), re.M))
    printed = fine("stats", running)
    assert printed.startswith(f"{running}\n  state                     connected\n  protocol                  1.2\n")
    [told] = json.loads(fine("stats", running, "--json"))
    assert (told["socket"], told["state"], told["protocol"]) == (str(running), "connected", 12) and "client_id" not in told
    metrics = fine("stats", running, "--prometheus")
    assert f'# TYPE swiftstomp_held gauge\nswiftstomp_held{{socket="{running}"}} 0\n' in metrics
    assert f'\nswiftstomp_messages_received_total{{socket="{running}"}} 1\n' in metrics
    assert metrics.count("# HELP ") == metrics.count("# TYPE ")


def test_a_capture(rabbit, running, queue, tmp_path):
    """What comes over the socket is a capture: sst reads it again, and smq says what it is."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as reader:
        reader.connect(str(running))
        capture = reader.recv(1 << 18)
        fine("send", *rabbit, "-t", queue, "-m", "x\x1b[2J")
        while b"\nACK\n" not in capture and b"ACK\nid" not in capture:
            capture += reader.recv(1 << 18)
    (tmp_path / "file").write_bytes(capture)
    lines = fine("inspect", tmp_path / "file").splitlines()
    assert [re.search("[<>] [A-Z]+", line)[0] for line in lines] [-2:] == ["< MESSAGE", "> ACK"]
    assert "\x1b" not in fine("inspect", tmp_path / "file", "--json")
    result = sst("inspect", tmp_path / "file", program=SMQ)
    assert result.returncode == 1 and "these are frames of STOMP, which sst inspect shows" in result.stderr
    (tmp_path / "half").write_bytes(capture[:-10])
    result = sst("inspect", tmp_path / "half")
    assert result.returncode == 0 and len(result.stdout.splitlines()) == len(lines) - 1
    assert "the capture ends in the middle of a block" in result.stderr


def test_an_inspection_socket_that_cannot_be_made(rabbit, queue, running):
    result = sst("send", *rabbit, "-t", queue, "-n", "--inspect", running)
    assert result.returncode == 1 and f"--inspect {running}: Address already in use" in result.stderr
    result = sst("send", *rabbit, "-t", queue, "-n", "--inspect", "/nowhere/at/all")
    assert result.returncode == 1 and "--inspect /nowhere/at/all: No such file or directory" in result.stderr


def test_an_inspection_socket_of_an_options_file(rabbit, queue, tmp_path):
    (tmp_path / "sst_send").write_text(f"--inspect {tmp_path}/s\n-t {queue}\n")
    child = subprocess.Popen([SST, "send", *rabbit, "-l"], stdin=subprocess.PIPE,
                             env=environment(XDG_CONFIG_HOME=str(tmp_path)))
    wait_for(lambda: (tmp_path / "s").exists())
    child.communicate(b"", timeout=PATIENCE)
    assert child.returncode == 0 and not (tmp_path / "s").exists()


def test_a_client_that_is_not_there(tmp_path):
    for command in ("inspect", "stats"):
        result = sst(command, tmp_path / "none")
        assert result.returncode == 1 and "none: No such file or directory" in result.stderr


# ---- bench


@pytest.mark.parametrize("options, expected", [([], 400), (["-t", "QUEUE", "--receivers", "2"], 200), (["--no-receipt"], 400)])
def test_bench(rabbitmq, queue, options, expected):
    options = [queue if option == "QUEUE" else option for option in options]
    if "--receivers" not in options:
        options += ["--receivers", "2"]
    told = json.loads(fine("bench", rabbitmq.url, "--messages", 200, "--senders", 2, "--json", *options))
    assert (told["sent"], told["received"], told["lost"], told["failed"]) == (200, expected, 0, 0)
    assert told["delivery_us"]["p50"] > 0 and (told["receipt_us"] is None) == ("--no-receipt" in options)


def test_bench_in_words(rabbitmq):
    printed = fine("bench", rabbitmq.url, "--messages", 20, "--rate", 200)
    assert printed.startswith("senders 1, receivers 1, with receipts, bodies of 64 bytes\n")
    assert re.search(r"^receipt after p50 .* max ", printed, re.M)


# ---- The command line


@pytest.mark.parametrize("line, text", [
    ("send", "a destination is required: use -t"), ("send -t a", "a message is required"),
    ("send -t a -m x -n", "only one of -f, -l, -m, -n and -s can be used"), ("receive", "a destination is required"),
    ("send -t a -n -q 1", 'unknown option "-q"'), ("send -t a -n -V 2.0", 'needs 1.0, 1.1 or 1.2, not "2.0"'),
    ("send -t a -n -L mqtt://h", "-L: mqtt:// is MQTT, which smq speaks"),
    ("send -t a -n -L http://h", "-L: it has to begin with stomp://"), ("send -t a -n -L stomp://", "-L: malformed at byte 8"),
    ("check mqtts://h", "the URL: mqtts:// is MQTT, which smq speaks"), ("bench --receivers x", "needs a number"),
    ("send -t a -n -H host:x", "the library writes host itself: --virtual-host sets it"),
    ("receive -t a --ack all", "needs auto, client or client-individual"), ("receive -t a -F %q", "unknown '%q'"),
    ("send -t a -l --repeat 2", "--repeat cannot be used with -l"), ("send -t a -f /nonexistent", "cannot open /nonexistent"),
    ("send -t a -n --inspect " + "p" * 108, "--inspect: a path has at most 107 bytes"),
    ("inspect", "what to look at is required"), ("stats", "an inspection socket is required"),
    ("inspect a --filter SEMD", "is not names of frames"), ("stats a --json --prometheus", "cannot be used together"),
    ("inspect a b c d e f g", "at most 6 clients"), ("inspect -t a", "-t is not an option of sst inspect"),
    ("send -t a -n --proxy nonsense://h", "--proxy: the form is"), ("frob", '"frob" is not a command: use send, receive, bench, check, inspect, stats'),
])
def test_what_is_wrong_is_said(line, text):
    result = sst(*line.split())
    assert result.returncode == 1 and text in result.stderr, result.stderr


def test_smq_names_sst():
    result = sst("pub", "-L", "stomp://h", "-t", "a", "-n", program=SMQ)
    assert result.returncode == 1 and "-L: stomp:// is STOMP, which sst speaks" in result.stderr


def test_an_options_file(rabbitmq, queue, tmp_path):
    (tmp_path / "sst_send").write_text(f"# a comment\n-L {rabbitmq.url}\n-t {queue}\n-H spaced: out here\n")
    fine("send", "-n", XDG_CONFIG_HOME=str(tmp_path))
    assert "spaced:out here" in fine("receive", "-L", rabbitmq.url, "-t", queue, "-C", 1, "-F", "%h")
    (tmp_path / "sst_send").write_text("# a comment\n\n-t /queue/a\n--colour red\n")
    assert sst("send", "-n", XDG_CONFIG_HOME=str(tmp_path)).stderr.startswith(
        f'sst send: {tmp_path}/sst_send:4: unknown option "--colour"\n')


def test_help_and_version():
    assert fine("--version").startswith("sst, a STOMP client for the command line, on libswiftstomp ")
    for command in ("send", "receive", "bench", "check", "inspect", "stats"):
        printed = fine(command, "--help")
        assert printed == fine("help", command) and max(map(len, printed.splitlines())) <= 100


def test_each_command_says_what_its_destination_is():
    told = {re.search(r"  -t, --destination DESTINATION\n((?: {26}.*\n)+)", fine(command, "--help"))[1]
            for command in ("send", "receive", "bench", "check")}
    assert len(told) == 4


def test_completion():
    script = '. "$1"; COMP_WORDS=("$2" send --protocol-version "") COMP_CWORD=3; _smq "$2"; echo "${COMPREPLY[*]}"; complete -p sst'
    completion = Path(__file__).parents[2] / "Sources" / "CommandLine" / "completion.bash"
    printed = subprocess.run(["bash", "-c", script, "bash", completion, SST], capture_output=True, text=True, timeout=PATIENCE)
    assert printed.stdout == "1.0 1.1 1.2\ncomplete -F _smq sst\n"


def test_the_manual_pages_are_up_to_date(tmp_path):
    manual = Path(__file__).parents[2] / "docs" / "manual"
    subprocess.run([sys.executable, manual / "generate", SST, tmp_path], check=True, timeout=PATIENCE)
    pages = {page.name: page.read_text() for page in tmp_path.iterdir()}
    assert pages == {page.name: page.read_text() for page in manual.glob("sst*.1")}, "make manual writes them anew"
