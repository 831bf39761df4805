"""docs/recipes/systemd.md, and the units of docs/looking-inside.md: what systemd would be told, and whether it would take
the units."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import socket
import subprocess

import pytest

from .blocks import ROOT, blocks
from Support.waiting import wait_for

PAGE = ROOT / "docs" / "recipes" / "systemd.md"
PROGRAM, UNIT = blocks(PAGE)
METRICS, TIMER, RUNTIME = [block for block in blocks(ROOT / "docs" / "looking-inside.md") if block.language == "ini"]


def told(receiver: socket.socket) -> list[str]:
    """What has come since the last time."""
    found = []
    while True:
        try:
            found += receiver.recv(4096, socket.MSG_DONTWAIT).decode().splitlines()
        except BlockingIOError:
            return found


@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_what_systemd_is_told(session, tmp_path, abstract):
    program = session.compile(PROGRAM, "daemon")
    name = f"@test-{tmp_path.parent.name}-{tmp_path.name}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(name.replace("@", "\0") if abstract else name)
        environment = {**session.environment, "NOTIFY_SOCKET": name, "WATCHDOG_USEC": "200000"}
        process = subprocess.Popen([program, session.broker.url], env=environment)
        lines: list[str] = []

        def until(line: str, times: int = 1) -> None:
            def has_come() -> bool:
                lines.extend(told(receiver))
                return sum(line in each for each in lines) >= times

            wait_for(has_come, f"{line}: {lines}")

        try:
            until("STATUS=connected")
            assert lines[0] == "READY=1"
            until("WATCHDOG=1", 10)
            session.broker.stop()  # which is no reason to stop feeding
            until("STATUS=SMQ_ERR_")
            lines.clear()
            until("WATCHDOG=1", 10)
            session.broker.start()
            until("STATUS=connected")
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
            until("STOPPING=1")
        finally:
            process.kill()
            process.wait()


def test_without_systemd(session):
    """From a terminal it does the same, and tells nobody."""
    program = session.compile(PROGRAM, "daemon")
    command = [program, session.broker.url]
    process = subprocess.Popen(command, env=session.environment, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: "New client connected" in session.broker.log.read_text(), "a connection")
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
        assert (process.returncode, errors) == (0, "")
    finally:
        process.kill()
        process.wait()


def test_the_unit(tmp_path):
    """Judged by systemd itself where it is installed; its program is replaced by one that exists."""
    text = UNIT.text
    for key in ("Type=notify", "WatchdogSec=", "Restart=on-failure", "ExecStart="):
        assert key in text
    verify = shutil.which("systemd-analyze")
    if not verify:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "sensord.service"
    unit.write_text(text.replace("/usr/local/bin/sensord", "/bin/true"))
    result = subprocess.run([verify, "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    complaints = [line for line in (result.stdout + result.stderr).splitlines() if "sensord" in line]
    assert complaints == []


def test_the_units_of_metrics(tmp_path):
    """The part of a unit that makes the directory is added to the unit of the daemon."""
    verify = shutil.which("systemd-analyze")
    if not verify:
        pytest.skip("systemd-analyze is not installed")
    parts = RUNTIME.text.removeprefix("[Service]\n")
    units = {"mqtt-metrics.service": METRICS.text, "mqtt-metrics.timer": TIMER.text,
             "sensord.service": UNIT.text.replace("/usr/local/bin/sensord", "/bin/true").replace("[Install]", f"{parts}[Install]")}  # fmt: skip
    for name, text in units.items():
        (tmp_path / name).write_text(text)
    result = subprocess.run([verify, "verify", "--man=no", *(tmp_path / name for name in units)], capture_output=True, text=True, timeout=60)
    said = (result.stdout + result.stderr).splitlines()
    assert [line for line in said if "sensord" in line or "mqtt-metrics" in line] == []


def test_what_the_service_of_metrics_does(session, tmp_path):
    path = tmp_path / "board" / "client.sock"
    path.parent.mkdir()
    client = subprocess.Popen(["smq", "sub", "-t", "a", "-i", "board", "--inspect", path], env=session.environment)
    try:
        wait_for(path.exists, "the socket")
        (command,) = re.findall(r"^ExecStart=(/bin/sh -c '.*')$", METRICS.text, re.M)
        assert command.count("/var/lib/node_exporter") == command.count("/run/board") == 1
        command = command.replace("/var/lib/node_exporter", str(tmp_path)).replace("/run/board", f"{tmp_path}/board")
        subprocess.run(shlex.split(command), env=session.environment, check=True, timeout=60)
        assert 'swiftmqtt_state{client_id="board",' in (tmp_path / "mqtt.prom").read_text()
        assert not (tmp_path / "mqtt.prom.new").exists()
    finally:
        client.kill()
        client.wait()
