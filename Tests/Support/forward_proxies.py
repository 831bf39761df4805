"""Proxies of other people, through which a client reaches its server: SOCKS5 and HTTP CONNECT.

    with Microsocks(tmp_path, login=("user", "password")) as proxy:
        ...
        proxy.until_carried(server.port)  # its own log says that it has connected to that port
"""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path
from urllib.parse import quote

from .servers import Server, need
from .waiting import wait_for

BLOCKED = "127.0.0.2"  # the address to which Dante connects nobody


class ForwardProxy(Server):
    scheme = "socks5"
    line = ""  # of the log, when it has connected to {host} and {port}, both being patterns

    def __init__(self, directory: Path, login: tuple[str, str] | None = None):
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(directory)
        self.login = login

    @property
    def url(self) -> str:
        login = ":".join(quote(part, safe="") for part in self.login) + "@" if self.login else ""
        return f"{self.scheme}://{login}{self.host}:{self.port}"

    def carried(self, port: int, host: str = r"[^ ]*") -> int:
        """How many connections to this port have gone through it, as its log says."""
        pattern = self.line.format(host=host, port=port)
        return len(re.findall(pattern, self.log.read_text(errors="replace")))

    def until_carried(self, port: int, count: int = 1) -> None:
        """Squid writes its line at the end of the connection, the others at its beginning."""
        wait_for(lambda: self.carried(port) >= count, f"{type(self).__name__} has connected to port {port}")


class Microsocks(ForwardProxy):
    """Debian's microsocks 1.0.3.

    - It answers with BND.ADDR 0.0.0.0 and BND.PORT 0.
    - Without a password it takes only method 00, with one only method 02, and answers `05 ff` otherwise.
    - The answer to a password is `01 00`, or `01 02` and the end.
    - A server that refuses is `05 05`; a name that nobody knows is `05 01`.
    """

    line = r"connected to {host}:{port}\b"

    def launch(self):
        login = ["-u", self.login[0], "-P", self.login[1]] if self.login else []
        return self.run([need("microsocks", "peers"), "-i", self.host, "-p", str(self.port), *login])


class Dante(ForwardProxy):
    """Debian's dante-server 1.4.2, without passwords.

    - A refusal has a domain name as BND.ADDR: `05 04 00 03 0e …`.
    - BLOCKED is refused by rule, `05 02`. Anything but CONNECT is, too.
    """

    line = r"pass\(\d+\): tcp/connect \[: [^\n]* {host}\.{port}\b"

    def launch(self):
        config = self.directory / "danted.conf"
        user = "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")
        config.write_text(f"""\
logoutput: stderr
internal: {self.host} port = {self.port}
external: 127.0.0.1
clientmethod: none
socksmethod: none
user.privileged: {user}
user.unprivileged: {user}
client pass {{
    from: 127.0.0.0/8 to: 0.0.0.0/0
}}
socks block {{
    from: 0.0.0.0/0 to: {BLOCKED}/32
    log: error
}}
socks pass {{
    from: 0.0.0.0/0 to: 0.0.0.0/0
    command: connect
    log: connect error
}}
""")
        return self.run([need("danted", "peers"), "-N", "1", "-f", str(config), "-p", str(self.directory / "pid")])


class Tinyproxy(ForwardProxy):
    """Debian's tinyproxy 1.11.

    - It answers `HTTP/1.0 200 Connection established`, whatever the request's version.
    - Without a password it answers 407, to a wrong one 401.
    - Ports other than `allowed` are refused by 403. A server that refuses is 500.
    """

    scheme = "http"
    # Lines of other connections may be between the two.
    line = r"returned for {host}:{port}\n(?:(?![^\n]*(?:opensock|Established))[^\n]*\n)*[^\n]*Established connection"

    def __init__(self, directory: Path, login: tuple[str, str] | None = None, allowed: tuple[int, ...] = ()):
        super().__init__(directory, login)
        self.allowed = allowed  # all, if there are none

    def launch(self):
        config = self.directory / "tinyproxy.conf"
        lines = [f"Port {self.port}", f"Listen {self.host}", "Timeout 600", "MaxClients 100", "LogLevel Info"]
        lines += [f"BasicAuth {self.login[0]} {self.login[1]}"] if self.login else []
        lines += [f"ConnectPort {port}" for port in self.allowed]
        config.write_text("\n".join(lines) + "\n")
        return self.run([need("tinyproxy", "peers"), "-d", "-c", str(config)])


class Squid(ForwardProxy):
    """Debian's Squid 5.

    - It answers `HTTP/1.1 200 Connection established` without any header.
    - A refusal has a body and Content-Length: 403 by rule (the port 1), 407 without a password or with a wrong one, 503
      when the server refuses or has no address.
    - A line about a connection is written at its end.
    """

    scheme = "http"
    line = r"TCP_TUNNEL/200 \d+ CONNECT {host}:{port} "

    @property
    def name(self) -> str:
        return f"squid{self.port}"

    def launch(self):
        config = self.directory / "squid.conf"
        lines = [
            f"http_port {self.host}:{self.port}",
            f"pid_filename {self.directory}/pid",
            "cache deny all",
            "cache_log /dev/stderr",
            "access_log stdio:/dev/stderr",
            "logfile_rotate 0",
            "coredump_dir none",
            "netdb_filename none",
            "pinger_enable off",
            "unlinkd_program /bin/true",
            "shutdown_lifetime 0 seconds",
            "max_filedescriptors 1024",
            "dns_nameservers 127.0.0.1",  # nobody is asked: names are those of /etc/hosts
            "dns_timeout 1 second",
            "visible_hostname squid.example",
            "acl forbidden port 1",
            "http_access deny forbidden",
        ]
        if self.login:
            # Squid may not read files here, so the helper has the password in its arguments: it answers a line with
            # both, in the encoding of URLs, by OK or ERR.
            known = ".".join(quote(part, safe="") for part in self.login)
            lines += [
                f"auth_param basic program {shutil.which('sed')} -u s/^{known}$/OK/;t;s/.*/ERR/",
                "auth_param basic children 1",
                "acl known proxy_auth REQUIRED",
            ]
        lines += [f"http_access allow {'known' if self.login else 'all'}", "http_access deny all"]
        config.write_text("\n".join(lines) + "\n")
        # Started by root it changes to the user proxy, and opens this file anew.
        self.log.touch()
        self.log.chmod(0o666)
        # The name is that of its shared memory, of which there would be one for all.
        return self.run([need("squid", "peers"), "-N", "-n", self.name, "-f", str(config)])

    def stop(self, number: int = signal.SIGTERM) -> None:
        super().stop(signal.SIGKILL)  # any other way takes it a second
        for left in Path("/dev/shm").glob(f"{self.name}-*"):
            left.unlink(missing_ok=True)
