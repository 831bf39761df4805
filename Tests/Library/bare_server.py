"""bare_server.py: answers CONNECT, PUBLISH with QoS 1 and PINGREQ of any number of clients, and nothing else.

Prints its port, and at the end of its input how many packets of each kind came.
"""

from __future__ import annotations

import contextlib
import resource
import selectors
import socket
import sys
from collections import Counter

NAMES = {1: "connects", 3: "publishes", 12: "pings", 14: "disconnects"}


def serve() -> Counter[str]:
    counts: Counter[str] = Counter()
    selector = selectors.DefaultSelector()
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    print(listener.getsockname()[1], flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                return counts
            if key.fileobj is listener:
                connection, _ = listener.accept()
                selector.register(connection, selectors.EVENT_READ, bytearray())
            elif not answer(key.fileobj, key.data, counts):
                selector.unregister(key.fileobj)
                key.fileobj.close()


def answer(connection: socket.socket, waiting: bytearray, counts: Counter[str]) -> bool:
    with contextlib.suppress(ConnectionError):
        waiting += (received := connection.recv(4096))
        while len(waiting) >= 2 and len(waiting) >= (size := 2 + waiting[1]):  # no packet is longer than 127 bytes
            packet, waiting[:size] = bytes(waiting[:size]), b""
            kind = packet[0] >> 4
            counts[NAMES[kind]] += 1
            if kind == 1:
                connection.sendall(b"\x20\2\0\0")
            elif kind == 3:
                topic = 4 + packet[3]
                connection.sendall(b"\x40\2" + packet[topic : topic + 2])
            elif kind == 12:
                connection.sendall(b"\xd0\0")
        return bool(received)
    return False


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(*(f"{name} {count}" for name, count in serve().items()), flush=True)
