"""Programs that connect, publish and leave without a loop, or with a thread that hardly had the time to run one. (With
libmosquitto QoS 1 arrives only sometimes then.)"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from Support.servers import need
from Support.waiting import wait_for

from .programs import Broker, environment

PROGRAM = textwrap.dedent("""
    import ctypes, sys, time
    library = ctypes.CDLL("libmosquitto.so.1")
    library.mosquitto_new.restype = ctypes.c_void_p
    handle = ctypes.c_void_p
    library.mosquitto_new.argtypes = [ctypes.c_char_p, ctypes.c_bool, handle]
    library.mosquitto_connect.argtypes = [handle, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    text, number = ctypes.c_char_p, ctypes.c_int
    library.mosquitto_publish.argtypes = [handle, handle, text, number, text, number, ctypes.c_bool]
    library.mosquitto_loop_stop.argtypes = [handle, ctypes.c_bool]
    for name in ("disconnect", "destroy", "loop_start"):
        getattr(library, "mosquitto_" + name).argtypes = [handle]
    port, way = int(sys.argv[1]), sys.argv[2]
    library.mosquitto_lib_init()
    client = library.mosquitto_new(b"leaves", True, None)
    results = [library.mosquitto_connect(client, b"127.0.0.1", port, 60)]
    if way == "thread":
        results.append(library.mosquitto_loop_start(client))
    if way == "late":
        time.sleep(0.3)
    for qos in (0, 1):
        results.append(library.mosquitto_publish(client, None, b"leaves/" + way.encode(), 1, b"%d" % qos, qos, False))
    results.append(library.mosquitto_disconnect(client))
    if way == "thread":
        results.append(library.mosquitto_loop_stop(client, False))
    library.mosquitto_destroy(client)
    print(results)
""")


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("leaving"))
    yield broker
    broker.stop()


@pytest.mark.parametrize("way", ["at once", "late", "thread"])
def test_what_was_published_arrives(broker: Broker, our_path: Path, way: str) -> None:
    way = way.replace(" ", "-")
    since = broker.log.stat().st_size
    witness = subprocess.Popen(
        [need("mosquitto_sub"), *broker.address, "-t", f"leaves/{way}", "-C", "2", "-W", "10", "-q", "1"],
        stdout=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: "Sending SUBACK" in "\n".join(broker.told(since)), "it has subscribed")
        result = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(broker.address[broker.address.index("-p") + 1]), way],
            env=environment("ours", our_path), capture_output=True, text=True, timeout=30)
        assert result.returncode == 0, result.stderr
        assert set(result.stdout.strip()) <= set("[0, ]"), result.stdout
        got, _ = witness.communicate(timeout=15)
    finally:
        witness.kill()
        witness.wait()
    assert sorted(got.split()) == ["0", "1"]
