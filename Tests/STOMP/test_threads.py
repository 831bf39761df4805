"""sst_submit() from several threads, and a runner that owns the client: nothing is lost, each thread's messages are in its
order."""

from __future__ import annotations

import re
import subprocess

import pytest

from .conftest import BUILD, ROOT
from .peer import PATIENCE, Client


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("threads") / "threads"
    subprocess.run(
        ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", ROOT / "Tests" / "STOMP" / "threads.c",
         f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-lswiftstomp", "-pthread", "-o", path], check=True, timeout=60)
    return path


def test_threads_submit(rabbitmq, queue, program):
    witness = Client(rabbitmq)
    witness.subscribe(queue)
    done = subprocess.run([program, rabbitmq.url, queue, "4", "250"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done
    assert done.stdout.splitlines() == [
        "delivered 1000 failed 0 logged 1",
        "sent 1000 submitted 1000 full as counted waiting 0 outbox 0 connections 1"]
    came = [tuple(map(int, witness.expect("MESSAGE").body.split())) for _ in range(1000)]
    for thread in range(4):
        assert [number for who, number in came if who == thread] == list(range(250))
    witness.close()


def test_nobody_listens(queue, program):
    """What was submitted stays, and the runner ends."""
    from Support.servers import free_port

    done = subprocess.run([program, f"stomp://127.0.0.1:{free_port()}", queue, "1", "20"], capture_output=True, text=True,
                          timeout=PATIENCE)
    assert done.returncode == 0, done
    first, second = done.stdout.splitlines()
    assert first == "delivered 0 failed 0 logged 0"
    found = re.fullmatch(r"sent 0 submitted 20 full as counted waiting (\d+) outbox (\d+) connections 0", second)
    # How many the owner has moved before it was stopped depends on the machine; the outbox has 16 places.
    assert found and int(found[1]) + int(found[2]) == 20 and int(found[2]) <= 16, second
