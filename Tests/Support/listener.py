"""A server on loopback that does with each connection what a function says: for what is no MQTT, or byte for byte."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable


class Listener:
    """Listens from the start. Each connection is served in a thread of its own, and closed when `serve` returns."""

    def __init__(self, serve: Callable[[socket.socket], None]):
        self.serve = serve
        self.accepted = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.url = f"mqtt://127.0.0.1:{self.port}"
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        with contextlib.suppress(OSError):  # it is closed
            while True:
                connection, _ = self.listener.accept()
                self.accepted += 1
                threading.Thread(target=self.run, args=(connection,), daemon=True).start()

    def run(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):  # the other side has gone
            self.serve(connection)

    def close(self) -> None:
        # A thread that waits in accept() is not woken by close() alone.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
