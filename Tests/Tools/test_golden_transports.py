"""smq pub, sub and rr next to mosquitto_pub, mosquitto_sub and mosquitto_rr over TLS, with pre-shared keys, through SOCKS5 and
sockets in the file system: each way works with both or with neither, and what is printed and published is the same.

The exit status of a way that does not work is 1 with smq; with Mosquitto's programs it is 1, 7, 8 or 14, as it comes."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from Support.certificates import Certificates, hashed_directory
from Support.forward_proxies import Microsocks
from Support.many_listeners import PSK_IDENTITY, PSK_KEY, ManyListeners
from Support.servers import free_port, need

from .tool import SMQ, environment

LOGIN = ("user", "password")


@dataclass(frozen=True)
class Way:
    """`{name}` in the options stands for the port of that listener; `{t}` for the topic."""

    name: str
    options: str
    works: bool = True
    is_same: bool = True  # else it is the other way round with Mosquitto's programs
    reason: str = ""  # for that; smq(1) has it under DIFFERENCES


HOST = "-h localhost -p "
OPTIONS_OF_TLS = "an option of TLS turns TLS on; Mosquitto's programs connect without TLS, or forget the option, if no CA is given"
WAYS = (
    # ---- Whom to trust
    Way("a CA file", HOST + "{good} --cafile {ca}"),
    Way("a CA directory", HOST + "{good} --capath {capath}"),
    Way("a URL and a CA file", "-L mqtts://localhost:{good}/{t} --cafile {ca}"),
    Way("a URL without TLS and a CA file", "-L mqtt://localhost:{good}/{t} --cafile {ca}"),
    Way("an IP address", "-h 127.0.0.1 -p {good} --cafile {ca}"),
    Way("RSA", HOST + "{rsa} --cafile {ca}"),
    Way("a CA below the root", HOST + "{below} --cafile {ca}"),
    Way("the CAs of the system, too", HOST + "{good} --cafile {ca} --tls-use-os-certs"),
    Way("only the CAs of the system", HOST + "{good} --tls-use-os-certs", works=False),
    Way("a URL and the CAs of the system", "-L mqtts://localhost:{good}/{t}", works=False),
    Way("another CA", HOST + "{good} --cafile {other}", works=False),
    Way("an unknown CA", HOST + "{unknown} --cafile {ca}", works=False),
    Way("a certificate that signs itself", HOST + "{self-signed} --cafile {ca}", works=False),
    Way("an expired certificate", HOST + "{expired} --cafile {ca}", works=False),
    Way("a certificate of the future", HOST + "{future} --cafile {ca}", works=False),
    Way("another name", HOST + "{wrong-name} --cafile {ca}", works=False),
    Way("another name, insecurely", HOST + "{wrong-name} --cafile {ca} --insecure"),
    Way("an unknown CA, insecurely", HOST + "{unknown} --cafile {ca} --insecure", works=False),
    Way("no such file", HOST + "{good} --cafile /nonexistent", works=False),
    Way("no such directory", HOST + "{good} --capath /nonexistent", works=False),
    Way("a file without a certificate", HOST + "{good} --cafile /etc/passwd", works=False),
    # ---- Client certificates
    Way("a client certificate", HOST + "{client} --cafile {ca} --cert {cert} --key {key}"),
    Way("a client certificate as the user name", HOST + "{client-name} --cafile {ca} --cert {cert} --key {key}"),
    Way("a client certificate in PEM", HOST + "{client} --cafile {ca} --cert {cert} --key {key} --keyform pem"),
    Way("no client certificate", HOST + "{client} --cafile {ca}", works=False),
    Way("a client certificate of another CA", HOST + "{client} --cafile {ca} --cert {alien} --key {alienkey}", works=False),
    Way("a revoked client certificate", HOST + "{client-crl} --cafile {ca} --cert {revoked} --key {revokedkey}", works=False),
    Way("a certificate without its key", HOST + "{client} --cafile {ca} --cert {cert}", works=False),
    Way("a key without its certificate", HOST + "{client} --cafile {ca} --key {key}", works=False),
    Way("a key of another certificate", HOST + "{client} --cafile {ca} --cert {cert} --key {alienkey}", works=False),
    Way("a form without a key", HOST + "{good} --cafile {ca} --keyform pem", works=False),
    Way("an unknown form", HOST + "{client} --cafile {ca} --cert {cert} --key {key} --keyform der", works=False),
    # ---- How
    Way("TLS 1.3", HOST + "{good} --cafile {ca} --tls-version tlsv1.3"),
    Way("TLS 1.2 and newer", HOST + "{tls1.3} --cafile {ca} --tls-version tlsv1.2"),
    Way("TLS 1.1 and newer", HOST + "{good} --cafile {ca} --tls-version tlsv1.1"),
    Way("TLS 1.0", HOST + "{good} --cafile {ca} --tls-version tlsv1", works=False),
    Way("a version in capitals", HOST + "{good} --cafile {ca} --tls-version TLSV1.2", works=False),
    Way("a cipher suite", HOST + "{good} --cafile {ca} --ciphers ECDHE-ECDSA-AES128-GCM-SHA256"),
    Way("no such cipher suite", HOST + "{good} --cafile {ca} --ciphers NOTHING", works=False),
    Way("an application protocol", HOST + "{good} --cafile {ca} --tls-alpn mqtt"),
    Way("no such engine", HOST + "{client} --cafile {ca} --cert {cert} --key {key} --tls-engine nothing --keyform engine",
        works=False),
    Way("TLS where there is none", HOST + "{plain} --cafile {ca}", works=False),
    Way("no TLS where there is", HOST + "{good}", works=False),
    # ---- Pre-shared keys
    Way("a pre-shared key", HOST + "{psk} --psk {pskkey} --psk-identity {identity}"),
    Way("another pre-shared key", HOST + "{psk} --psk 0011 --psk-identity {identity}", works=False),
    Way("another identity", HOST + "{psk} --psk {pskkey} --psk-identity nobody", works=False),
    Way("half a byte", HOST + "{psk} --psk 0 --psk-identity {identity}", works=False),
    Way("no hexadecimal digits", HOST + "{psk} --psk key --psk-identity {identity}", works=False),
    Way("a key without an identity", HOST + "{psk} --psk {pskkey}", works=False),
    Way("a pre-shared key and a CA", HOST + "{psk} --psk {pskkey} --psk-identity {identity} --cafile {ca}", works=False),
    Way("certificates where there is a key", HOST + "{psk} --cafile {ca}", works=False),
    # ---- Other ways
    Way("a socket", "--unix {socket}"),
    Way("no such socket", "--unix /nonexistent", works=False),
    Way("from an address", HOST + "{plain} -A 127.0.0.1"),
    Way("from an address by name", "-h 127.0.0.1 -p {plain} -A localhost"),
    Way("from an address, over TLS", HOST + "{good} --cafile {ca} -A 127.0.0.1"),
    Way("from an address, by URL", "-L mqtt://127.0.0.1:{plain}/{t} -A 127.0.0.1"),
    Way("from no address of ours", "-h 127.0.0.1 -p {plain} -A 192.0.2.1", works=False),
    Way("a proxy", HOST + "{plain} --proxy socks5h://{login}@127.0.0.1:{socks}"),
    Way("a proxy, over TLS", HOST + "{good} --cafile {ca} --proxy socks5h://{login}@127.0.0.1:{socks}"),
    Way("a proxy and a wrong password", HOST + "{plain} --proxy socks5h://user:wrong@127.0.0.1:{socks}", works=False),
    Way("a proxy and no password", HOST + "{plain} --proxy socks5h://127.0.0.1:{socks}", works=False),
    Way("a proxy that is not there", HOST + "{plain} --proxy socks5h://127.0.0.1:{closed}", works=False),
    Way("a proxy of another kind", HOST + "{plain} --proxy ftp://127.0.0.1:{closed}", works=False),
    # ---- Where we differ
    Way("insecurely, without a CA", HOST + "{plain} --insecure", works=False, is_same=False, reason=OPTIONS_OF_TLS),
    Way("a version of TLS alone", HOST + "{plain} --tls-version tlsv1.2", works=False, is_same=False, reason=OPTIONS_OF_TLS),
    Way("an engine without its key", HOST + "{good} --cafile {ca} --tls-engine pkcs11", works=False, is_same=False,
        reason="an option that would do nothing is an error"),
)

COMMANDS = {
    "pub": "-t {t} -m published -q 1",
    "sub": "-t {t} -C 1 -W 20",
    "rr": "-t {t}/ask -e {t} -m question -W 20 -V 311",
}


@pytest.fixture(scope="module")
def places(
    tmp_path_factory: pytest.TempPathFactory, listeners: ManyListeners, certificates: Certificates
) -> Iterator[dict[str, object]]:
    directory = tmp_path_factory.mktemp("ways")
    all_of = certificates
    named = {"ca": all_of.ca_file, "other": all_of.other.certificate,
             "capath": hashed_directory(directory / "hashed", all_of.ca_file),
             "cert": all_of.client.file, "key": all_of.client.key,
             "alien": all_of.unknown_client.file, "alienkey": all_of.unknown_client.key,
             "revoked": all_of.revoked_client.file, "revokedkey": all_of.revoked_client.key,
             "socket": listeners["unix"].path, "pskkey": PSK_KEY, "identity": PSK_IDENTITY, "closed": free_port(),
             "login": ":".join(LOGIN)}
    ports = {name: address.port for name, address in listeners.listeners.items()}
    with Microsocks(directory / "socks", login=LOGIN) as proxy:
        yield ports | named | {"socks": proxy.port}


def run(program: list[str], arguments: str, places: dict[str, object]) -> subprocess.CompletedProcess:
    words = shlex.split(arguments)
    for name, value in places.items():
        words = [word.replace("{" + name + "}", str(value)) for word in words]
    return subprocess.run([*program, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                          env=environment(), start_new_session=True)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("way", WAYS, ids=[way.name for way in WAYS])
def test_way(listeners: ManyListeners, places: dict[str, object], level: str, way: Way, command: str):
    printed = []
    for program in ([need(f"mosquitto_{command}")], [*SMQ, command]):
        is_ours = len(printed) == 1
        topic = f"{level}/{len(printed)}"
        kept = ["-h", listeners.host, "-p", str(listeners.port), "-t", topic]
        if command != "pub":
            subprocess.run([need("mosquitto_pub"), *kept, "-m", "kept", "-r", "-q", "1"], check=True, timeout=60)
        options = COMMANDS[command] + (" -r" if command == "pub" else "")
        if "-L" in way.options and command == "rr":
            options = options.replace("-t {t}/ask ", "")
            topic_of_url = "{t}/ask"
        else:
            topic_of_url = "{t}"
        arguments = f"{way.options.replace('{t}', topic_of_url)} {options}"
        result = run(program, arguments, places | {"t": topic})
        works = way.works == (is_ours or way.is_same)
        assert (result.returncode == 0) == works, (program, result)
        if is_ours and not works:
            assert result.returncode == 1 and result.stderr.startswith(b"smq %s: " % command.encode()), result
        if command == "pub" and works:
            got = subprocess.run([need("mosquitto_sub"), *kept, "-C", "1", "-W", "20"], capture_output=True, timeout=60)
            printed.append(got.stdout)
            assert got.stdout == b"published\n"
        else:
            printed.append(result.stdout)
        assert works == bool(printed[-1])
    if way.is_same:
        assert printed[0] == printed[1]


def test_there_are_many_ways():
    assert len({way.name for way in WAYS}) == len(WAYS) >= 60
