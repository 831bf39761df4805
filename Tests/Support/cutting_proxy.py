"""A proxy that cuts connections at a chosen byte."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterable


class CuttingProxy:
    """Between clients and a broker. Each connection in turn is cut, with a TCP RST to both sides,
    when so many bytes have come from the broker."""

    def __init__(self, port: int, cuts: Iterable[int]):
        self.upstream, self.cuts = port, iter(cuts)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.upstream)) as server:
            for sock in (client, server):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            there = threading.Thread(target=self.pump, args=(client, server), daemon=True)
            there.start()
            if self.pump(server, client, next(self.cuts, None)):
                for sock in (client, server):
                    linger = struct.pack("ii", 1, 0)
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            with contextlib.suppress(OSError):  # the client may have closed it
                client.shutdown(socket.SHUT_RD)
            there.join()

    @staticmethod
    def pump(source: socket.socket, target: socket.socket, limit: int | None = None) -> bool:
        """Returns whether the limit was reached."""
        count = 0
        try:
            while data := source.recv(65536 if limit is None else min(65536, limit - count)):
                target.sendall(data)
                count += len(data)
                if count == limit:
                    return True
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return False

    def close(self) -> None:
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
