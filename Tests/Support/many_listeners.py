"""One Mosquitto with a listener for each way to reach it: TCP, TLS with every kind of certificate, PSK, WebSocket, a unix
socket.

    def test_it(listeners):
        listeners["expired"].url, listeners["wss"].port, listeners["unix"].path

What a test should know of Mosquitto 2.0.11 here:

- A WebSocket listener takes any path, and any subprotocol or none. Without `mqtt` it answers 101 and then nothing more.
- Over WebSocket it sends 4 KiB of a large message each 100 ms.
- A client certificate is refused by an alert. In TLS 1.3 that comes after the client's handshake has ended.
- Two tickets come behind each handshake of TLS 1.3, good for 7,200 s. Early data is not allowed.
"""

from __future__ import annotations

import socket
from pathlib import Path

from .address import Address
from .certificates import Certificate, Certificates
from .servers import Mosquitto, free_port
from .waiting import wait_for

PSK_IDENTITY, PSK_KEY = "identity", "00112233445566778899aabbccddeeff"


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


class ManyListeners(Mosquitto):
    """`server["name"]` is an Address; the names are those of `_listeners`."""

    def __init__(self, directory: Path, certificates: Certificates):
        super().__init__(directory)
        self.certificates = certificates
        self.listeners = {"plain": Address("mqtt", self.host, self.port)}
        psk_file = directory / "psk.txt"
        psk_file.write_text(f"{PSK_IDENTITY}:{PSK_KEY}\n")
        lines = [f"psk_file {psk_file}"]
        for name, (scheme, host, settings) in self._listeners().items():
            lines += self._add(name, scheme, host, settings)
        self.config.write_text(self.config.read_text() + "\n".join(lines) + "\n")

    def start(self) -> None:
        super().start()
        # It opens the listeners in their order, and the first is the one that has answered.
        wait_for(lambda: " running\n" in self.log.read_text(), "all listeners are open")

    def __getitem__(self, name: str) -> Listener:
        return self.listeners[name]

    def _listeners(self) -> dict[str, tuple[str, str, dict[str, object]]]:
        """Scheme, address and lines of the configuration."""
        all_of = self.certificates
        good = certified(all_of.good)
        wants_client = good | {"cafile": all_of.ca_file, "require_certificate": "true"}
        rows = {
            "good": ("mqtts", "127.0.0.1", good),
            "tls1.3": ("mqtts", "127.0.0.1", good | {"tls_version": "tlsv1.3"}),
            "rsa": ("mqtts", "127.0.0.1", certified(all_of.rsa)),
            "below": ("mqtts", "127.0.0.1", certified(all_of.below)),
            "wrong-name": ("mqtts", "127.0.0.1", certified(all_of.wrong_name)),
            "expired": ("mqtts", "127.0.0.1", certified(all_of.expired)),
            "future": ("mqtts", "127.0.0.1", certified(all_of.future)),
            "revoked": ("mqtts", "127.0.0.1", certified(all_of.revoked)),
            "unknown": ("mqtts", "127.0.0.1", certified(all_of.unknown)),
            "self-signed": ("mqtts", "127.0.0.1", certified(all_of.self_signed)),
            "client": ("mqtts", "127.0.0.1", wants_client),
            "client-crl": ("mqtts", "127.0.0.1", wants_client | {"crlfile": all_of.crl}),
            "client-name": ("mqtts", "127.0.0.1", wants_client | {"use_identity_as_username": "true"}),
            "psk": ("mqtts", "127.0.0.1", {"psk_hint": "hint"}),
            # The name of the interface: with an address, a WebSocket listener is open to all.
            "ws": ("ws", "lo", {"protocol": "websockets"}),
            "wss": ("wss", "lo", {"protocol": "websockets"} | good),
            "wss-client": ("wss", "lo", {"protocol": "websockets"} | wants_client),
            "unix": ("unix", "", {}),
        }
        if has_ipv6():
            rows["ipv6"] = ("mqtts", "::1", good)
        return rows

    def _add(self, name: str, scheme: str, host: str, settings: dict[str, object]) -> list[str]:
        if scheme == "unix":
            path = self.directory / "socket"
            self.listeners[name] = Address(scheme, "", 0, str(path))
            first = f"listener 0 {path}"
        else:
            address = "127.0.0.1" if host == "lo" else host
            port = free_port(address)
            self.listeners[name] = Address(scheme, address, port, "/mqtt" if host == "lo" else "")
            first = f"listener {port} {host}"
        return [first, *(f"{key} {value}" for key, value in settings.items())]


def certified(certificate: Certificate) -> dict[str, object]:
    return {"certfile": certificate.chain, "keyfile": certificate.key}
