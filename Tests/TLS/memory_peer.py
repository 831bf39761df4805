"""A TLS server in the same process: Python's ssl between two buffers. For a Connection it is a socket."""

from __future__ import annotations

import ssl


class MemoryPeer:
    """`change` may change what the server sends: change(number, record) of each record. The server says what it received in
    `got`; `say` is sent as soon as the handshake is done."""

    def __init__(self, context: ssl.SSLContext, say: bytes = b"", change=None):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.say, self.change, self.records, self.pending = say, change, 0, b""
        self.is_open, self.got, self.error = False, b"", None

    def advance(self) -> None:
        try:
            if not self.is_open:
                self.tls.do_handshake()
                self.is_open = True
                if self.say:
                    self.tls.write(self.say)
            while data := self.tls.read(65536):
                self.got += data
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            self.error = error

    # ---- What a Connection asks of its socket

    def settimeout(self, seconds: float) -> None:
        pass

    def send(self, data: bytes) -> int:
        self.incoming.write(data)
        return len(data)

    def recv(self, size: int) -> bytes:
        """Nothing more to say is the end."""
        if not self.pending and self.error is None:
            self.advance()
        self.pending += self.changed(self.outgoing.read())
        got, self.pending = self.pending[:size], self.pending[size:]
        return got

    def changed(self, data: bytes) -> bytes:
        if not self.change:
            return data
        out = b""
        while data:
            size = 5 + int.from_bytes(data[3:5], "big")
            out += self.change(self.records, data[:size])
            self.records += 1
            data = data[size:]
        return out

    def close(self) -> None:
        pass


def server_context(certificate=None, **settings: object) -> ssl.SSLContext:
    """Of a Certificate, or of a file with certificate and key; the settings are attributes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # a server does not look at its own certificates
    if certificate is not None:
        context.load_cert_chain(getattr(certificate, "chain", certificate), getattr(certificate, "key", None))
    for name, value in settings.items():
        setattr(context, name, value)
    return context
