"""Debian's nginx in front of an MQTT server's WebSocket listener, and as an HTTP server that refuses.

    with Nginx(directory, certificates, listeners["ws"].port) as nginx:
        nginx.at("ws", "/mqtt").url, nginx.at("wss", "/401").url

What a test should know of it:

- It closes its side by FIN when the server behind it does, without a Close frame of its own.
- It answers 400 to what is no HTTP, TLS on the plain port included, and closes.
- `requests` has what it was asked, from its log, where a line is written at the end of each request.
"""

from __future__ import annotations

import re
import signal
import socket
from pathlib import Path

from .address import Address
from .certificates import Certificates, openssl
from .servers import Server, free_port, need

LOGIN = ("user", "password")  # of /login
STATUSES = (200, 204, 400, 401, 403, 404, 426, 429, 500, 503)  # /N is answered by the status N
REDIRECTS = (301, 302, 307, 308)  # with LOCATION
LOCATION = "wss://other.example/mqtt?token=of-the-redirect"
LONG = (3000, 6)  # bytes of a header of /long, and how many there are

UPGRADE = """proxy_pass http://127.0.0.1:{upstream}; proxy_http_version 1.1; proxy_read_timeout 600s;
            proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;"""

# What a location does. A request to /mqtt goes through as it is.
LOCATIONS = {
    "/mqtt": UPGRADE,
    "/without-subprotocol": UPGRADE + " proxy_hide_header Sec-WebSocket-Protocol;",
    "/other-subprotocol": UPGRADE
    + " proxy_hide_header Sec-WebSocket-Protocol; add_header Sec-WebSocket-Protocol chat always;",
    "/wrong-accept": UPGRADE
    + " proxy_hide_header Sec-WebSocket-Accept; add_header Sec-WebSocket-Accept AAAAAAAAAAAAAAAAAAAAAAAAAAA= always;",
    "/extension": UPGRADE + " add_header Sec-WebSocket-Extensions permessage-deflate always;",
    "/login": UPGRADE + " auth_basic realm; auth_basic_user_file {passwords};",
    "/token": "if ($http_x_token != secret) {{ return 403; }} " + UPGRADE,
    "/long": UPGRADE + f" add_header X-Long {'x' * LONG[0]} always;" * LONG[1],
    "/502": "proxy_pass http://127.0.0.1:{dead};",
    # Its server accepts and says nothing.
    "/silent": "proxy_pass http://127.0.0.1:{silent}; proxy_read_timeout 600s;",
}


class Nginx(Server):
    def __init__(self, directory: Path, certificates: Certificates, upstream: int):
        """`upstream` is the port of the WebSocket listener."""
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(directory)
        self.certificate = certificates.good
        self.tls_port = free_port(self.host)
        self.access_log = directory / "access.log"
        passwords = directory / "passwords"
        passwords.write_text(f"{LOGIN[0]}:{openssl('passwd', '-apr1', LOGIN[1])}")
        self.silent = socket.create_server((self.host, 0))
        silent = self.silent.getsockname()[1]
        names = {"upstream": upstream, "silent": silent, "dead": free_port(self.host), "passwords": passwords}
        locations = {f"= {path}": lines.format(**names) for path, lines in LOCATIONS.items()}
        locations |= {f"= /{status}": f'return {status} "refused\\n";' for status in STATUSES if status != 401}
        locations["= /401"] = 'add_header WWW-Authenticate "Basic realm=\\"x\\"" always; return 401;'
        locations |= {f"= /{status}": f"return {status} {LOCATION};" for status in REDIRECTS}
        self.config = directory / "nginx.conf"
        self.config.write_text(self._configuration(locations))

    def at(self, scheme: str, path: str) -> Address:
        """Where a location is reached: scheme ws or wss."""
        return Address(scheme, self.host, self.tls_port if scheme == "wss" else self.port, path)

    @property
    def requests(self) -> list[tuple[str, int]]:
        """The path with its query, and the status, of each request that has ended."""
        text = self.access_log.read_text() if self.access_log.exists() else ""
        return [(path, int(status)) for path, status in re.findall(r'"GET (\S+) [^"]*" (\d+)', text)]

    def launch(self):
        return self.run([need("/usr/sbin/nginx", "peers"), "-p", str(self.directory), "-c", str(self.config)])

    def stop(self, number: int = signal.SIGTERM) -> None:
        super().stop(number)
        self.silent.close()

    def _configuration(self, locations: dict[str, str]) -> str:
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = "\n".join(f"    {kind}_temp_path {self.directory}/{kind};" for kind in kinds)
        inside = "\n".join(f"        location {match} {{ {lines} }}" for match, lines in locations.items())
        return f"""\
daemon off;
master_process off;
pid {self.directory}/pid;
error_log stderr info;
events {{ worker_connections 256; }}
http {{
{folders}
    access_log {self.access_log};
    proxy_buffer_size 64k;
    proxy_buffers 4 64k;
    large_client_header_buffers 4 32k;
    server {{
        listen {self.host}:{self.port};
        listen {self.host}:{self.tls_port} ssl;
        ssl_certificate {self.certificate.chain};
        ssl_certificate_key {self.certificate.key};
{inside}
    }}
}}
"""
