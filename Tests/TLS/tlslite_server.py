#!/usr/bin/env python3
"""tlslite_server.py FILE HOW VERSION: a TLS server in Python alone, for one connection, that does what no other would. It prints
its port. FILE has the key and the chain, VERSION is 3 or 4 (TLS 1.2, 1.3), HOW is one of the functions below: `chain` does nothing
odd. It is run by a Python that has requirements.txt."""

import socket
import sys

from tlslite.api import HandshakeSettings, TLSConnection, X509CertChain, parsePEMKey
from tlslite.constants import AlertLevel, ContentType, KeyUpdateMessageType
from tlslite.messages import Alert
from tlslite.x509 import X509


class Unread(X509):
    """A certificate that is sent as it is, whatever it says."""

    def parseBinary(self, data):
        try:
            return super().parseBinary(data)
        except Exception:
            self.bytes, self.certAlg = bytearray(data), "ecdsa"
            return self


def load(path):
    text = open(path).read()
    key, *certificates = text.split("-----BEGIN CERTIFICATE-----")
    chain = []
    for each in certificates:
        certificate = Unread()
        chain.append(certificate.parse("-----BEGIN CERTIFICATE-----" + each) or certificate)
    return parsePEMKey(key, private=True), X509CertChain(chain)


def chain(connection):
    pass


def small_records(connection):
    """Every record has one byte, those of the handshake, too."""
    connection.recordSize = 1


def key_updates(connection):
    """Each message under another key; the client is asked to change its own, too."""
    for _ in range(20):
        for _ in connection.send_keyupdate_request(KeyUpdateMessageType.update_requested):
            pass
        connection.write(b"x")


def alert(connection):
    """A fatal alert after the handshake: internal_error."""
    for _ in connection._sendMsg(Alert().create(80, AlertLevel.fatal)):
        pass


def oversize(connection):
    """A record longer than TLS allows."""
    connection.sock.socket.sendall(bytes([ContentType.application_data, 3, 3, 0x50, 0]) + bytes(0x5000))


def half_close(connection):
    """The end without close_notify."""
    connection.sock.socket.shutdown(socket.SHUT_WR)


def goodbye(connection):
    """close_notify, and after it the server still reads."""
    for _ in connection._sendMsg(Alert().create(0, AlertLevel.warning)):
        pass


def main():
    file, how, version = sys.argv[1:]
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    listener.settimeout(30)
    sock, _ = listener.accept()
    sock.settimeout(20)
    key, certificates = load(file)
    settings = HandshakeSettings()
    settings.minVersion = settings.maxVersion = (3, int(version))
    connection = TLSConnection(sock)
    act = globals()[how]
    try:
        if how == "small_records":
            act(connection)
        connection.handshakeServer(certChain=certificates, privateKey=key, settings=settings)
        if how != "small_records":
            act(connection)
        connection.write(b"hello")
        while data := connection.read(16384):
            connection.write(data)
    except Exception as error:  # what the client makes of it is what counts
        print(type(error).__name__, error, file=sys.stderr)
    sock.close()


main()
