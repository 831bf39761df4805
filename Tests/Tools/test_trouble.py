"""What goes wrong outside: a line on standard error that says what, an exit status that is not 0, and an end."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from Support.servers import Mosquitto, free_port
from Support.waiting import wait_for

from .tool import SMQ, environment, smq, start

COMMANDS = {
    "pub": ["pub", "-t", "a", "-m", "x", "-q", "1"],
    "sub": ["sub", "-t", "a"],
    "rr": ["rr", "-t", "a", "-e", "b", "-m", "x", "-V", "311"],
    "bench": ["bench", "--seconds", "1"],
}
each_command = pytest.mark.parametrize("command", COMMANDS)


def fails(result: subprocess.CompletedProcess, code: int, text: str) -> None:
    """With one line that matches."""
    stderr = result.stderr.decode(errors="replace")
    assert result.returncode == code, (result.returncode, stderr)
    line, nothing = stderr.split("\n")
    assert re.fullmatch(text, line) and nothing == "", stderr


# ---- The broker is not there, or is none


@each_command
def test_nobody_listens(command: str):
    port = free_port()
    result = smq(*COMMANDS[command], "-h", "127.0.0.1", "-p", port)
    fails(result, 1, rf"smq {command}: .*cannot connect to 127\.0\.0\.1 port {port}: Connection refused")


@each_command
def test_the_name_has_no_address(command: str):
    result = smq(*COMMANDS[command], "-h", "name.invalid")
    fails(result, 1, rf"smq {command}: .*cannot connect to name.invalid port 1883: the name has no address: \w.*")


@pytest.mark.parametrize("options, text", [
    (["-p", "1", "-A", "name.invalid"], r"localhost port 1 from name\.invalid \(-A\): the name has no address: \w.*"),
    (["-p", "1", "-A", "192.0.2.1"], r"localhost port 1 from 192\.0\.2\.1 \(-A\): Cannot assign requested address"),
    (["--unix", "/nonexistent"], "/nonexistent: No such file or directory"),
])
def test_other_ways_to_connect(options: list[str], text: str):
    fails(smq(*COMMANDS["pub"], *options), 1, f"smq pub: cannot connect to {text}")


@each_command
@pytest.mark.parametrize("way, code, text", [
    ("closing", 1, "the broker closed the connection without giving a reason"),
    ("web", 1, r"the peer does not answer as an MQTT server: .*"),
    ("refusing", 5, "refused: Not authorized"),
])
def test_it_is_no_broker(misbehaving, command: str, way: str, code: int, text: str):
    address = misbehaving(way)
    result = smq(*COMMANDS[command], *address)
    fails(result, code, rf"smq {command}: .*cannot connect to 127\.0\.0\.1 port {address[3]}: {text}")


@pytest.mark.parametrize("command", ["sub", "rr"])
def test_it_takes_connections_and_is_silent(misbehaving, command: str):
    begin = time.monotonic()
    result = smq(*COMMANDS[command], *misbehaving("silent"), "-W", 1)
    fails(result, 27, f"smq {command}: .* -W.*")
    assert time.monotonic() - begin >= 1


@each_command
def test_the_next_server_of_a_url(broker: Mosquitto, command: str):
    """The first one is not there."""
    url = ["mqtt://127.0.0.1:1,127.0.0.1:2"]
    if command != "bench":
        url.insert(0, "-L")
    fails(smq(*COMMANDS[command], *url), 1, rf"smq {command}: .*cannot connect to {url[-1]}: Connection refused")
    url[-1] += f",{broker.host}:{broker.port}"
    options = {"sub": ["-E"], "rr": ["-W", "1"], "bench": ["--messages", "1"]}.get(command, [])
    result = smq(*COMMANDS[command], *url, *options)
    assert result.returncode == (27 if command == "rr" else 0), result


def test_the_time_of_W_is_up_while_it_connects_by_itself():
    """Nobody takes the connection off a queue that is full."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            queued = stack.enter_context(socket.socket())
            queued.setblocking(False)
            queued.connect_ex(listener.getsockname())
        begin = time.monotonic()
        options = ["-h", "127.0.0.1", "-p", listener.getsockname()[1], "-A", "127.0.0.1", "-W", 1]
        fails(smq(*COMMANDS["sub"], *options), 27, "smq sub: the time of -W is up")
        assert 1 <= time.monotonic() - begin < 15


def test_what_is_not_printed_stays_with_the_session(broker: Mosquitto):
    """More messages are on their way than -C asks for."""
    options = ["-h", broker.host, "-p", broker.port, "-t", "kept/session", "-q", 1, "-i", "session", "-c"]
    assert smq("sub", *options, "-E").returncode == 0
    lines = b"".join(b"%d\n" % number for number in range(30))
    assert smq("pub", *options[:6], "-q", 1, "-l", stdin=lines).returncode == 0
    printed = [smq("sub", *options, "-C", 3, "-W", 10).stdout for _ in range(10)]
    assert b"".join(printed) == lines


# ---- The broker dies


def test_pub_when_the_connection_breaks(misbehaving):
    address = misbehaving("dying")
    fails(smq(*COMMANDS["pub"], *address), 7,
          rf"smq pub: the connection to 127\.0\.0\.1 port {address[3]} was lost: the broker closed .*")


def test_sub_tries_again(misbehaving):
    result = smq(*COMMANDS["sub"], *misbehaving("dying"), "-W", 3)
    lines = result.stderr.decode().splitlines()
    assert result.returncode == 27 and len(lines) >= 2
    assert all(line.endswith("was lost: the broker closed the connection without giving a reason; trying again")
               for line in lines[:-1])


def test_lines_outlive_the_broker(tmp_path: Path):
    """smq pub -l and smq sub wait for a broker that is started anew, and nothing of QoS 1 is lost."""
    broker = Mosquitto(tmp_path, persistence="true", autosave_interval=1, autosave_on_changes="true")
    broker.start()
    try:
        subscriber = start("sub", *broker.address, "-t", "a", "-q", 1, "-c", "-i", "witness", "-k", 5)
        wait_for(lambda: "Sending SUBACK to witness" in broker.log.read_text(), "it has subscribed")
        publisher = start("pub", *broker.address, "-t", "a", "-q", 1, "-l", "-k", 5, stdin=subprocess.PIPE)
        lines = [b"line %d\n" % number for number in range(20)]
        publisher.stdin.write(b"".join(lines[:10]))
        publisher.stdin.flush()
        taken = [subscriber.stdout.readline() for _ in range(10)]
        broker.stop()
        publisher.stdin.write(b"".join(lines[10:]))
        broker.start()
        _, complaints = publisher.communicate(timeout=40)
        while taken[-1] != lines[-1]:
            taken.append(subscriber.stdout.readline())
            assert taken[-1], subscriber.stderr.read()
        subscriber.terminate()
        assert subscriber.wait(20) == 0
    finally:
        broker.stop()
    assert publisher.returncode == 0
    # QoS 1: what was on its way may come twice.
    assert set(taken) == set(lines)
    assert b"; trying again\n" in complaints


# ---- Standard input and output


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["help", "sub"], ["help", "--table"], ["check"]])
@pytest.mark.parametrize("output", [">&-", ">/dev/full"])
def test_standard_output_cannot_be_written_to(arguments: list[str], output: str):
    result = redirected(output, *arguments, *(["-p", "1"] if arguments == ["check"] else []))
    fails(result, 1, "smq.*: cannot write to standard output")


@pytest.mark.parametrize("arguments", [["--help"], ["help", "--table"], ["check", "-p", "1"]])
def test_standard_output_is_a_pipe_that_nobody_reads(arguments: list[str]):
    reader, writer = os.pipe()
    os.close(reader)
    process = start(*arguments, stdout=writer)
    os.close(writer)
    assert process.wait(10) == 1
    assert re.fullmatch(rb"smq.*: cannot write to standard output.*\n", process.stderr.read())


@pytest.mark.parametrize("output, reason", [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")])
@pytest.mark.parametrize("command", ["sub", "rr"])
def test_messages_cannot_be_written(broker: Mosquitto, command: str, output: str, reason: str):
    broker.publish("kept/full", "text", "-r")
    options = ["-t", "kept/#"] if command == "sub" else ["-t", "x", "-e", "kept/full", "-m", "x", "-V", "311"]
    result = redirected(output, command, *broker.address, *options)
    fails(result, 1, f"smq {command}: cannot write to standard output: {reason}")


def test_bench_and_a_full_output(broker: Mosquitto):
    result = redirected(">/dev/full", "bench", *broker.address, "--messages", "10")
    fails(result, 1, "smq bench: cannot write to standard output")


def test_nobody_reads(broker: Mosquitto):
    """It ends at once, and not with the next message."""
    process = start("sub", *broker.address, "-t", "kept/nobody")
    broker.publish("kept/nobody", "text")  # which it may have come too late for
    await_subscribed(broker, process)
    process.stdout.close()
    assert process.wait(10) == 1
    assert process.stderr.read() == b"smq sub: cannot write to standard output: Broken pipe\n"


@pytest.mark.parametrize("source, reason", [("<&-", "Bad file descriptor"), ("</", "Is a directory")])
def test_standard_input_cannot_be_read(broker: Mosquitto, source: str, reason: str):
    fails(redirected(source, "pub", *broker.address, "-t", "a", "-l"), 1,
          f"smq pub: -l: standard input cannot be read: {reason}")
    fails(redirected(source, "pub", *broker.address, "-t", "a", "-s"), 1,
          f"smq pub: -s: cannot read standard input: {reason}")


def test_nothing_but_the_status_with_quiet():
    for command in ("pub", "sub", "rr"):
        result = smq(*COMMANDS[command], "-p", 1, "--quiet")
        assert (result.returncode, result.stdout, result.stderr) == (1, b"", b"")


# ---- Signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("options, way, line", [
    (["pub", "-t", "a", "-m", "x"], "silent", "smq pub: interrupted before everything was published"),
    (["pub", "-t", "a", "-m", "x", "-q", "1"], "frozen", "smq pub: interrupted before everything was published"),
    (["pub", "-t", "a", "-m", "x", "--repeat", "2", "--repeat-delay", "60"], "frozen",
     "smq pub: interrupted before everything was published"),
    (["pub", "-t", "a", "-l"], "frozen", "smq pub: interrupted before everything was published"),
    (["rr", "-t", "a", "-e", "b", "-m", "x", "-V", "311"], "frozen", "smq rr: interrupted before a response arrived"),
    (["sub", "-t", "a"], "silent", ""),
    (["sub", "-t", "a"], "frozen", ""),
])
def test_interrupted(misbehaving, options: list[str], way: str, line: str, number: int):
    address = misbehaving(way)
    process = start(*options, *address, stdin=subprocess.PIPE)
    await_catching(process)
    time.sleep(0.2)  # and is where it stays
    process.send_signal(number)
    assert process.wait(10) == (128 + number if line else 0)
    assert process.stderr.read().decode() == (f"{line}\n" if line else "")


# ---- Helpers


def redirected(redirection: str, *arguments: object) -> subprocess.CompletedProcess:
    """Run by a shell that redirects a descriptor."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *SMQ, *map(str, arguments)], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), timeout=30)


def await_catching(process: subprocess.Popen) -> None:
    """Until a signal would not just kill it."""
    def catches() -> bool:
        caught, = re.findall(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{process.pid}/status").read_text(), re.M)
        return bool(int(caught, 16) >> signal.SIGINT - 1 & 1)

    wait_for(catches, "it catches SIGINT")


def await_subscribed(broker: Mosquitto, process: subprocess.Popen) -> None:
    """Until messages on its topic come."""
    os.set_blocking(process.stdout.fileno(), False)

    def came() -> bool:
        broker.publish("kept/nobody", "text")
        return bool(process.stdout.read())

    wait_for(came, "it has subscribed")
