"""smq_disconnect(): in any state, twice, and with a server that does not stop talking."""

from __future__ import annotations

import time

from Support import smq
from Support.preloaded import preloaded
from Support.scripted_broker import CONNECT, DISCONNECT, PUBACK, PUBLISH, Script, nothing

KEEP = dict(client_id="keeper", flags=smq.OPTION_KEEP_SESSION)
QUICK = dict(reconnect=True, reconnect_min_ms=20, reconnect_max_ms=200)


def test_leaving_twice_and_coming_back(clients, mosquitto):
    """A second smq_disconnect() changes nothing, and the client can connect again."""
    client = clients(url=mosquitto.url, **QUICK)
    for _ in range(3):
        assert client.connect() == smq.OK
        client.wait_event(smq.EVENT_CONNECTED)
        for _ in range(3):
            assert client.disconnect() == smq.OK
        assert client.disconnected().status == smq.OK
        assert client.disconnect() == smq.OK
        client.run(0.05)
        assert list(client.events) == []
    assert client.stats.connections == 3


def test_leaving_in_the_middle_of_everything(clients, mosquitto):
    """In every state there is, with messages in flight, at once and with patience."""
    for round in range(40):
        client = clients(url=mosquitto.url, client_id=f"leaving-{round}")
        assert client.connect() == smq.OK
        for _ in range(20):
            assert client.publish("a", b"x", qos=round % 3) == smq.OK
        for _ in range(round // 4):
            client.step(0 if round % 2 else 1)
        assert client.disconnect(round % 4 * 500) == smq.OK
        assert client.disconnected().status == smq.OK
        assert client.state == smq.STATE_DISCONNECTED
        client.close()


COUNTED_RECV = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <sys/socket.h>
    static int calls;
    int received(void) { int result = calls; calls = 0; return result; }
    ssize_t recv(int fd, void *buffer, size_t size, int flags) {
        static ssize_t (*real)(int, void *, size_t, int);
        if (!real) real = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
        calls++;
        return real(fd, buffer, size < 1000 ? size : 1000, flags); /* so that there is always more */
    }
"""


FLOOD = """
    import ctypes, socket, threading, time
    from Support import smq

    listener = socket.create_server(("127.0.0.1", 0))
    flooding = threading.Event()

    def serve():
        connection, _ = listener.accept()
        connection.recv(1024)
        connection.sendall(bytes.fromhex("20020000"))
        while b"\\xe0\\x00" not in connection.recv(1024):
            pass
        connection.setblocking(False)
        data = bytes(65536)
        while True:
            try:
                connection.send(data)
            except BlockingIOError:
                flooding.set()  # there is as much as the two kernels hold
                time.sleep(0.0002)
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    client = smq.Client(host="127.0.0.1", port=listener.getsockname()[1])
    client.connected()
    library, received = ctypes.CDLL(None), []
    library.received()
    assert client.disconnect() == smq.OK
    while smq.library.smq_service(client.handle) == 0:
        received.append(library.received())
        flooding.wait(2)
        time.sleep(0.001)
    event = client.take()
    assert flooding.is_set()
    print(event.status, max(received), len(received), sum(received))
"""


def test_a_server_that_floods_whoever_leaves(tmp_path):
    """After DISCONNECT what still comes is read, so that nothing is reset, but only so much at a time, and not for
    ever."""
    begin = time.monotonic()
    status, most, rounds, all = map(int, preloaded(tmp_path, COUNTED_RECV, FLOOD).split())
    print(f"{rounds} calls of smq_service(), {most} of recv() in one at most, {all} in all")
    assert status == smq.OK
    assert 8 <= most <= 9  # one more, where DISCONNECT left in a step that had received
    assert rounds > 10
    assert time.monotonic() - begin < 20


FEW = """
    import ctypes, socket, threading
    from Support import smq

    listener = socket.create_server(("127.0.0.1", 0))
    answered = threading.Event()

    def serve():
        connection, _ = listener.accept()
        connection.recv(1024)
        connection.sendall(bytes.fromhex("20020000"))
        while b"\\xe0\\x00" not in connection.recv(1024):
            pass
        connection.sendall(bytes.fromhex("40020001"))
        answered.set()
        connection.recv(1024)
        connection.close()

    threading.Thread(target=serve, daemon=True).start()
    client = smq.Client(host="127.0.0.1", port=listener.getsockname()[1])
    client.connected()
    assert client.disconnect() == smq.OK
    smq.library.smq_service(client.handle)
    assert answered.wait(10)
    print(client.disconnected().status, ctypes.c_int.in_dll(ctypes.CDLL(None), "nowhere").value)
"""


RECV_TO_NOWHERE = """
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <sys/socket.h>
    int nowhere;
    ssize_t recv(int fd, void *buffer, size_t size, int flags) {
        static ssize_t (*real)(int, void *, size_t, int);
        if (!real) real = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
        if (!buffer) nowhere++;
        return real(fd, buffer, size, flags);
    }
"""


def test_a_few_bytes_for_whoever_leaves(tmp_path):
    """They go into a buffer: valgrind complains of receiving to nowhere."""
    assert preloaded(tmp_path, RECV_TO_NOWHERE, FEW).split() == [str(smq.OK), "0"]


def test_an_attempt_given_up(clients, broker, protocol):
    broker.scripts = [Script(at={1: nothing})]
    client = clients(url=broker.url, protocol=protocol)
    assert client.connect() == smq.OK
    client.until(lambda: broker.of(CONNECT))
    assert client.disconnect(1_000_000) == smq.OK  # which it does not wait for
    event = client.disconnected()
    assert (event.status, event.stage) == (smq.OK, smq.STAGE_NONE)
    client.connected()


def test_drain_has_a_limit(clients, broker, protocol):
    broker.scripts = [Script(hold={PUBACK}), Script(session_present=1)]
    client = clients(url=broker.url, protocol=protocol, **KEEP)
    client.connected()
    assert client.publish("a", qos=1, cookie=1) == smq.OK
    client.until(lambda: broker.held)
    start = time.monotonic()
    assert client.disconnect(200) == smq.OK
    assert client.state == smq.STATE_DISCONNECTING
    event = client.disconnected()
    assert 0.198 <= time.monotonic() - start < 20
    assert event.status == smq.OK
    broker.wait_for(lambda: broker.of(DISCONNECT))
    broker.held.clear()
    client.connected()
    assert client.completed(1).status == smq.OK
    assert [p.dup for p in broker.of(PUBLISH)] == [0, 1]
