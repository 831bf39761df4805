"""A name server that does not answer: getaddrinfo() waits for it, in a thread of its own, and nobody else does."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from Support import smq

from .network import available, tool

# In namespaces of its own: the loopback device and the name server are nobody else's.
A_NAME_SERVER_THAT_HANGS = """
    import ctypes, os, socket, subprocess, sys, threading, time
    from Support import smq
    from Support.scripted_broker import Broker
    from Faults.watched import WatchedClient

    silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    silent.bind(("127.0.0.1", 53))
    functions = ctypes.PyDLL(sys.argv[1])
    threads = lambda: len(os.listdir("/proc/self/task"))
    before = threads()
    broker = Broker()  # a thread more
    client = WatchedClient(functions, host="broker.example", port=broker.port, connect_timeout_ms=500,
                           reconnect_min_ms=50, reconnect_max_ms=100)
    begin = time.monotonic()
    assert client.connect() == smq.OK
    most, last = 0, begin
    for number in range(6):
        event = client.disconnected()
        now = time.monotonic()
        assert (event.status, event.stage) == (smq.ERR_TIMEOUT, smq.STAGE_RESOLVE), event
        assert 0.49 <= now - last < 0.6 + 5, now - last
        last, most = now, max(most, threads())
        assert client.publish("a", b"x", qos=1, cookie=number) == smq.OK
    assert most <= before + 2, "more than one thread looks names up"

    # A client that ends while its name is looked up.
    other = WatchedClient(functions, host="other.example", connect_timeout_ms=20_000)
    assert other.connect() == smq.OK
    for _ in range(5):
        other.step(10)
    assert threads() > before + 1
    begin = time.monotonic()
    other.close()
    assert time.monotonic() - begin < 10

    def answer():
        while True:
            query, source = silent.recvfrom(512)
            end = query.index(b"\\0", 12) + 1
            question = query[12 : end + 4]
            if question[-4:-2] == b"\\0\\1":  # A
                record = bytes.fromhex("c00c00010001000000050004") + socket.inet_aton("127.0.0.1")
                reply = query[:2] + bytes.fromhex("81800001000100000000") + question + record
            else:
                reply = query[:2] + bytes.fromhex("81800001000000000000") + question
            silent.sendto(reply, source)

    threading.Thread(target=answer, daemon=True).start()
    client.wait_event(smq.EVENT_CONNECTED, 60)
    client.until(lambda: len(client.completions()) == 6)
    assert {event.status for event in client.completions()} == {smq.OK}
    print(client.watch)
    client.close()
    print("answered")
"""


def test_a_name_server_that_does_not_answer(programs: Callable[..., Path], tmp_path: Path) -> None:
    """Every attempt ends in its time, at most one thread waits, closing waits for nobody; and when answers come, it is
    connected."""
    if reason := available():
        pytest.skip(reason)
    mounting = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True)
    if mounting.returncode != 0:
        pytest.skip(f"files cannot be mounted here, as in a chroot: {mounting.stderr.strip()}")
    resolv = tmp_path / "resolv.conf"
    resolv.write_text("nameserver 127.0.0.1\noptions timeout:30 attempts:1\n")
    switch = tmp_path / "nsswitch.conf"
    switch.write_text("hosts: files dns\n")
    watch = programs("watch.c", "-shared", "-fPIC")
    mounts = [f"mount --bind {file} /etc/{file.name}" for file in (resolv, switch) if Path("/etc", file.name).exists()]
    steps = [*mounts, f"{tool('ip')} link set lo up", 'exec "$@"']
    command = ["unshare", "--net", "--mount", "--fork", "--kill-child", "sh", "-ec", "\n".join(steps), "sh"]
    program = [sys.executable, "-c", textwrap.dedent(A_NAME_SERVER_THAT_HANGS), str(watch)]
    result = subprocess.run(
        [*command, *program],
        cwd=Path(__file__).resolve().parents[1],
        env={"PATH": os.environ["PATH"], "SMQ_LIBRARY": str(smq.LIBRARY), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    print(result.stdout)
    assert result.stdout.endswith("answered\n"), result.stdout + result.stderr
