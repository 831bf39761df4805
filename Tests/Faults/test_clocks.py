"""Clocks that jump, and one that wraps: with the system's own clocks, not with one of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from Support import smq
from Support.servers import need

TESTS = Path(__file__).resolve().parents[1]


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "SMQ_LIBRARY": str(smq.LIBRARY), "PYTHONDONTWRITEBYTECODE": "1", **more}


# ---- The wrap ----

ACROSS_THE_WRAP = """
    import socket, sys, time
    from Support import smq
    from Support.scripted_broker import Broker
    from Support.servers import free_port

    url, wrap = sys.argv[1], float(sys.argv[2])
    time.sleep(max(0, wrap - time.monotonic() - 4))
    assert 2 < wrap - time.monotonic() < 5, "the namespace's clock is not where it should be"

    # Keeps a connection alive and publishes all the time, in a session that is kept.
    talker = smq.Client(reconnect=True, url=url, client_id="talker", keep_alive_s=1, ping_timeout_ms=3000)
    # Is only kept alive.
    listener = smq.Client(reconnect=True, url=url, client_id="listener", keep_alive_s=1, ping_timeout_ms=3000)
    # Tries again and again, and there is nobody.
    port = free_port()
    lonely = smq.Client(reconnect=True, url=f"mqtt://127.0.0.1:{port}", reconnect_min_ms=200, reconnect_max_ms=500,
                        jitter=smq.JITTER_NONE)
    # Waits for an answer that does not come, from before the wrap until after it.
    silent = socket.create_server(("127.0.0.1", 0))
    waiting = smq.Client(url=f"mqtt://127.0.0.1:{silent.getsockname()[1]}", connect_timeout_ms=2000)
    # Begins to wait for its next attempt before the wrap, and makes it after.
    patient = smq.Client(reconnect=True, url=f"mqtt://127.0.0.1:{port}", reconnect_min_ms=2000, jitter=smq.JITTER_NONE)

    clients = [talker, listener, lonely, waiting, patient]
    for client in (talker, listener, lonely):
        assert client.connect() == smq.OK
    attempts, retries, given_up, started, tried, broker = [], [], [], None, [], None
    count, next_message = 0, time.monotonic()
    while (now := time.monotonic()) < wrap + 3:
        if started is None and now > wrap - 1:  # these two are in the middle of it at the wrap
            assert waiting.connect() == smq.OK and patient.connect() == smq.OK
            started = now
        if now >= next_message:
            assert talker.publish("wrap", b"%d" % count, qos=1, cookie=count) == smq.OK
            count, next_message = count + 1, now + 0.1
        if broker is None and now > wrap + 2:
            broker = Broker(port=port)
        before = now
        for client in clients:
            client.step(2)
        now = time.monotonic()
        for event in [e for e in lonely.events if e.type == smq.EVENT_DISCONNECTED]:
            lonely.events.remove(event)
            attempts.append((before, now))  # it failed between the two
            retries.append(event.retry_ms / 1000)
        if waiting.of(smq.EVENT_DISCONNECTED) and not given_up:
            given_up.append(now - started)
        if len(patient.of(smq.EVENT_DISCONNECTED)) > len(tried):
            tried.append(now - started)
    for client in (talker, listener):
        assert not client.of(smq.EVENT_DISCONNECTED), client.events
        assert len(client.of(smq.EVENT_CONNECTED)) == 1
    talker.until(lambda: len(talker.completions()) == count)
    assert [e.cookie for e in talker.completions()] == list(range(count))
    assert {e.status for e in talker.completions()} == {smq.OK}
    assert 5 <= listener.stats.packets_sent <= 15, listener.stats  # CONNECT, and PINGREQ nearly every second
    lonely.until(lambda: lonely.state == smq.STATE_CONNECTED)
    gaps = [later[1] - sooner[0] for sooner, later in zip(attempts, attempts[1:])]
    # Not one too early, and after the wrap as many as before.
    assert all(gap >= wait - 0.002 for gap, wait in zip(gaps, retries)), (gaps, retries)
    assert sum(at < wrap for _, at in attempts) >= 3 and sum(at > wrap for _, at in attempts) >= 2, attempts
    assert waiting.events[0].status == smq.ERR_TIMEOUT
    assert 1.99 <= given_up[0] < 2 + 5, given_up
    assert 1.99 <= tried[1] < 2 + 5, tried
    print("across")
"""


@pytest.mark.parametrize("bits", [31, 32])
def test_the_clock_wraps(mosquitto, bits):
    """Milliseconds in 32 bits, which is what timers are kept in, wrap after 49.7 days: a time namespace begins just
    before. At half of it a sign would change."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not os.path.exists("/proc/self/ns/time"):
        pytest.skip("a time namespace needs root, unshare(1) and a kernel that has them")
    wrap = (1 << bits) / 1000
    offset = int(wrap - time.monotonic()) - 6
    command = ["unshare", "--time", "--fork", f"--monotonic={offset}"]
    if subprocess.run([*command, "true"], capture_output=True, timeout=10).returncode:
        pytest.skip("time namespaces are not permitted here")
    program = [sys.executable, "-c", textwrap.dedent(ACROSS_THE_WRAP), mosquitto.url, str(wrap)]
    result = subprocess.run(
        [*command, *program], cwd=TESTS, env=environment(), capture_output=True, text=True, timeout=60
    )
    assert result.stdout.endswith("across\n"), result.stdout + result.stderr


# ---- Jumps ----

THROUGH_A_JUMP = """
    import os, sys, time
    from Support import smq

    url, file, which, jump = sys.argv[1:]
    client = smq.Client(reconnect=True, url=url, client_id="jumper", flags=smq.OPTION_KEEP_SESSION, keep_alive_s=1,
                        ping_timeout_ms=3000, reconnect_min_ms=20, reconnect_max_ms=100)

    def run(steps):  # of 10 ms at most, by nobody's clock
        for _ in range(steps):
            client.step(10)

    def publish(first, count):
        for number in range(first, first + count):
            assert client.publish("jump", b"%d" % number, qos=2, cookie=number) == smq.OK

    def clock():
        return {"wall": time.time, "monotonic": time.monotonic}[which]()

    assert client.connect() == smq.OK
    while not client.of(smq.EVENT_CONNECTED):
        run(1)
    publish(0, 10)
    run(50)
    sent, before, due = client.stats.packets_sent, clock(), smq.library.smq_next_timeout_ms(client.handle)
    assert 0 <= due < 1000
    with open(file + ".new", "w") as new:
        new.write(jump + "\\n")
    os.rename(file + ".new", file)
    jumped = clock() - before
    assert abs(abs(jumped) - 3600) < 60, "the clock did not jump: %s" % jumped
    due = smq.library.smq_next_timeout_ms(client.handle)
    print("due in", due)
    if which == "wall":
        assert 0 <= due < 1000
    elif jumped > 0:
        assert due == 0
    publish(10, 20)
    run(300)
    publish(30, 10)
    for _ in range(1000):
        if len(client.completions()) == 40:
            break
        run(1)
    assert [e.cookie for e in client.completions()] == list(range(40)), client.events
    assert {e.status for e in client.completions()} == {smq.OK}
    ends = [smq.status_name(e.status) for e in client.of(smq.EVENT_DISCONNECTED)]
    pings = client.stats.packets_sent - sent - 60  # PUBLISH and PUBREL of thirty
    print("ends", ends, "pings", pings)
    assert client.state == smq.STATE_CONNECTED
    print("through")
"""


@pytest.mark.parametrize("jump", ["+3600", "-3600"], ids=["an hour on", "an hour back"])
@pytest.mark.parametrize("which", ["wall", "monotonic"])
def test_the_clock_jumps(mosquitto, tmp_path, which, jump):
    """The wall clock changes nothing. CLOCK_MONOTONIC does not jump; if it does all the same, the client is there
    again at once."""
    need("faketime", "faults")
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    assert library, "faketime is there, and its library is not"
    file = tmp_path / "now"
    file.write_text("+0\n")
    fake = environment(
        LD_PRELOAD=str(library),
        FAKETIME_TIMESTAMP_FILE=str(file),
        FAKETIME_NO_CACHE="1",
        FAKETIME_DONT_FAKE_MONOTONIC="1" if which == "wall" else "0",
    )
    program = [sys.executable, "-c", textwrap.dedent(THROUGH_A_JUMP), mosquitto.url, str(file), which, jump]
    result = subprocess.run(program, cwd=TESTS, env=fake, capture_output=True, text=True, timeout=60)
    print(result.stdout)
    assert result.stdout.endswith("through\n"), result.stdout + result.stderr
    if which == "wall":
        assert "ends [] " in result.stdout
