"""TLS, WebSocket, proxies and sockets as Mosquitto's programs do not have them; keys that ask for a password; and what is said
when a way does not work."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import termios
from pathlib import Path

import pytest
from Support import softhsm
from Support.certificates import Certificates
from Support.forward_proxies import Microsocks, Squid, Tinyproxy
from Support.many_listeners import ManyListeners
from Support.nginx import Nginx
from Support.waiting import wait_for

from .tool import BUILD, PROGRAM, SMQ, TARGET, environment, smq

PUB = ["-t", "a", "-m", "x", "-q", "1"]


def works(*arguments: object) -> None:
    result = smq("pub", *arguments, *PUB)
    assert (result.returncode, result.stderr) == (0, b""), result


def fails(text: str, *arguments: object) -> None:
    result = smq("pub", *arguments, *PUB)
    assert result.returncode == 1, result
    assert re.fullmatch(rf"smq pub: {text}\n", result.stderr.decode()), result.stderr


def ca(certificates: Certificates) -> list[object]:
    return ["--cafile", certificates.ca_file]


# ---- Ways of our own


def test_websocket(listeners: ManyListeners, nginx: Nginx, certificates: Certificates):
    works("-L", listeners["ws"].url)
    works("-h", "127.0.0.1", "-p", listeners["ws"].port, "--ws-path", "/mqtt")
    works("-h", "127.0.0.1", "-p", listeners["ws"].port, "--ws-path", "/mqtt", "--ws-protocol", "mqtt")
    works("-L", listeners["wss"].url, *ca(certificates))
    works("-L", nginx.at("wss", "/mqtt").url, *ca(certificates))
    works("-L", nginx.at("ws", "/token").url, "--ws-header", "X-Token: secret")
    assert smq("sub", "-L", listeners["ws"].url, "-t", "a", "-E").returncode == 0


def test_a_host_where_a_url_is(listeners: ManyListeners, certificates: Certificates):
    """It is mqtt://, and with a CA mqtts://, as in a URL."""
    works("-L", f"127.0.0.1:{listeners['plain'].port}")
    works("-L", f"localhost:{listeners['good'].port}", *ca(certificates))
    topic = ["sub", "-L", f"127.0.0.1:{listeners['plain'].port}/a", "-E"]
    assert smq(*topic).returncode == 0
    assert smq("check", f"127.0.0.1:{listeners['plain'].port}").returncode == 0


def test_a_socket_by_url_and_by_relative_path(listeners: ManyListeners):
    path = Path(listeners["unix"].path)
    works("-L", f"unix:{path}")
    result = subprocess.run([*SMQ, "pub", "--unix", path.name, *PUB], cwd=path.parent, env=environment(), timeout=60)
    assert result.returncode == 0


def test_http_proxies(listeners: ManyListeners, certificates: Certificates, forward):
    for proxy in (forward(Tinyproxy, login=("user", "word")), forward(Squid)):
        works("-h", "localhost", "-p", listeners["good"].port, *ca(certificates), "--proxy", proxy.url)
        works("-L", listeners["ws"].url, "--proxy", proxy.url)
        proxy.until_carried(listeners["good"].port)


def test_a_login_of_a_proxy_with_any_characters(listeners: ManyListeners, forward):
    works("-h", "localhost", "-p", listeners.port, "--proxy", forward(Microsocks, login=("user@1", "a:b/c d")).url)


def test_the_name_for_the_certificate(listeners: ManyListeners, certificates: Certificates):
    works("-h", "localhost", "-p", listeners["wrong-name"].port, *ca(certificates), "--tls-name", "other.example")


def test_pins_are_those_that_check_prints(listeners: ManyListeners, certificates: Certificates):
    address = ["-h", "localhost", "-p", listeners["good"].port, *ca(certificates)]
    shown = smq("check", *address, "-V", "5").stdout.decode()
    pin = re.search(r"certificate .*(sha256//[A-Za-z0-9+/]{43}=)", shown)[1]
    works(*address, "--pin", pin)
    works(*address, "--pin", "00" * 32, "--pin", pin)
    fails(r"cannot connect to localhost port \d+: TLS: the broker's key is none of those of --pin: CN=good, .*", *address,
          "--pin", "00" * 32)


def test_revoked_certificates(listeners: ManyListeners, certificates: Certificates):
    crl = [*ca(certificates), "--crl", certificates.crl]
    works("-h", "localhost", "-p", listeners["good"].port, *crl)
    fails(r"cannot connect to .*: TLS: a certificate was revoked: CN=revoked, .*", "-h", "localhost", "-p",
          listeners["revoked"].port, *crl)


def test_options_of_sockets(listeners: ManyListeners):
    works("-h", "127.0.0.1", "-p", listeners.port, "--dscp", "46", "--tcp-keepalive", "30")
    works("-h", "127.0.0.1", "-p", listeners.port, "--interface", "lo")
    fails(r"cannot connect to 127\.0\.0\.1 port \d+: No such device", "-h", "127.0.0.1", "-p", listeners.port, "--interface",
          "nothing0")


def test_a_key_that_stays_in_its_hardware(listeners: ManyListeners, certificates: Certificates, tmp_path: Path):
    """By its URI alone, or as Mosquitto's programs are told of it."""
    where = softhsm.token(tmp_path, certificates.client)
    options = ["-L", listeners["client"].url_for("localhost"), *ca(certificates), "--cert", certificates.client.file, "--key"]
    for key in (
        [softhsm.URI_WITH_PIN],
        [softhsm.URI_WITH_PIN, "--keyform", "engine"],
        [softhsm.URI_WITH_PIN, "--keyform", "engine", "--tls-engine", "pkcs11"],
    ):
        result = smq("pub", *options, *key, *PUB, **where)
        assert (result.returncode, result.stderr) == (0, b""), (key, result)
    result = smq("pub", *options, softhsm.URI_WITH_PIN.replace("client", "nothing"), *PUB, **where)
    # The engine has lines of its own, in which it repeats the URI.
    assert result.returncode == 1 and result.stderr.endswith(b"\nsmq pub: TLS: --key: failed loading private key\n"), result


def test_bench_over_tls(listeners: ManyListeners, certificates: Certificates):
    result = smq("bench", listeners["good"].url, *ca(certificates), "--messages", "20", "-q", "1", "--publishers", "3")
    assert (result.returncode, result.stderr) == (0, b"")


# ---- Passwords


def on_terminal(arguments: list[object], typed: bytes) -> tuple[int, bytes]:
    """Status and output with a terminal, on which this is typed when it asks."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(SMQ[0], [*SMQ, *map(str, arguments)], environment())
    shown = b""
    try:
        while b"pass phrase" not in shown:
            shown += os.read(terminal, 1000)
        wait_for(lambda: not termios.tcgetattr(terminal)[3] & termios.ECHO, "it hides what is typed")
        os.write(terminal, typed)
        while True:
            shown += os.read(terminal, 1000)
    except OSError:  # it has ended
        pass
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown


def test_the_password_of_a_key_is_asked_for(listeners: ManyListeners, certificates: Certificates):
    client = certificates.client
    arguments = ["pub", "-h", "localhost", "-p", listeners["client"].port, *ca(certificates), "--cert", client.file,
                 "--key", client.encrypted_key("s3cret"), *PUB]
    status, shown = on_terminal(arguments, b"s3cret\n")
    assert status == 0 and b"Enter PEM pass phrase:" in shown and b"s3cret" not in shown


# ---- What is said


@pytest.mark.parametrize("listener, options, text", [
    ("unknown", [], r"no trusted CA has signed the broker's certificate: CN=unknown, valid from .*"),
    ("expired", [], r"a certificate has expired: CN=expired, valid from [-\d]{10} to [-\d]{10} \(.*"),
    ("future", [], "a certificate is not valid yet: CN=future, .*"),
    ("wrong-name", [], "the broker's certificate is for another name: CN=wrong-name, .*"),
    ("client", [], r"the broker requires a client certificate \(alert 116, certificate_required\)"),
    ("plain", [], "the peer does not speak TLS.*"),
])
def test_tls_says_why(listeners: ManyListeners, certificates: Certificates, listener: str, options: list, text: str):
    port = listeners[listener].port
    fails(rf"cannot connect to localhost port {port}: TLS: {text}", "-h", "localhost", "-p", port, *ca(certificates), *options)


def test_a_refused_client_certificate(listeners: ManyListeners, certificates: Certificates):
    for listener, client in (("client", certificates.unknown_client), ("client-crl", certificates.revoked_client)):
        fails(r"cannot connect to .*: TLS: the broker does not accept the client certificate \(alert \d+, \w+\)",
              "-h", "localhost", "-p", listeners[listener].port, *ca(certificates), "--cert", client.file, "--key", client.key)


@pytest.mark.parametrize("path, text", [
    ("/403", r'HTTP status 403, "Forbidden"'), ("/404", r'HTTP status 404, "Not Found"'),
    ("/302", r'HTTP status 302, "wss://other\.example/mqtt\?\.\.\."'),
])
def test_websocket_says_why(nginx: Nginx, path: str, text: str):
    address = nginx.at("ws", path)
    fails(rf"cannot connect to {re.escape(address.url)}: the WebSocket failed: {text}", "-L", address.url)


def test_a_query_is_not_told(nginx: Nginx):
    result = smq("pub", "-L", nginx.at("ws", "/403").url + "?token=s3cret", *PUB)
    assert result.returncode == 1 and b"/403?..." in result.stderr and b"s3cret" not in result.stderr


def test_proxies_say_why(listeners: ManyListeners, forward):
    port = listeners.port
    socks, squid = forward(Microsocks, login=("user", "word")), forward(Squid)
    to = ["-h", "localhost", "-p", port]
    fails(rf"cannot connect to localhost port {port} through socks5://127\.0\.0\.1:{socks.port}: the proxy does not connect: "
          "it refused user name and password", *to, "--proxy", f"socks5h://user:s3cret@127.0.0.1:{socks.port}".replace("5h", "5"))
    fails(r".*: the proxy does not connect: it accepts none of the ways to authenticate", *to, "--proxy",
          f"socks5h://127.0.0.1:{socks.port}")
    fails(r'.*: the proxy does not connect: HTTP status 403, "Forbidden"', "-h", "localhost", "-p", 1, "--proxy", squid.url)


# ---- The library is not there


@pytest.mark.skipif(bool(TARGET), reason="a program for this machine is copied")
def test_without_the_library_of_tls(tmp_path: Path, listeners: ManyListeners, certificates: Certificates):
    """All but TLS works, and TLS is never left out."""
    (tmp_path / "tools").mkdir()
    shutil.copy(PROGRAM, tmp_path / "tools")
    for library in BUILD.glob("libswiftmqtt.so*"):
        shutil.copy(library, tmp_path, follow_symlinks=False)

    def run(*arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run([tmp_path / "tools" / "smq", *map(str, arguments), *PUB], capture_output=True, timeout=60,
                              env=environment())

    plain = run("pub", "-h", "localhost", "-p", listeners.port)
    assert plain.returncode == 0, plain
    for options in (ca(certificates), ["--insecure"], ["--psk", "00", "--psk-identity", "x"]):
        result = run("pub", "-h", "localhost", "-p", listeners.port, *options)
        assert result.returncode == 1
        assert result.stderr.startswith(
            b"smq pub: TLS needs libswiftmqtt-tls, which is not installed (Debian: libswiftmqtt-tls1): "), result
