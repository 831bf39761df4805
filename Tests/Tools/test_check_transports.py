"""smq check over TLS, WebSockets and proxies: what it shows of each stage, and the advice for each way to fail."""

from __future__ import annotations

import json
import re
import socket
from datetime import timedelta

import pytest
from Support.certificates import NOW, Certificates
from Support.forward_proxies import Dante, Microsocks, Squid, Tinyproxy
from Support.many_listeners import PSK_IDENTITY, PSK_KEY, ManyListeners
from Support.nginx import Nginx
from Support.servers import free_port

from .test_check import steps, summary
from .tool import ROOT, smq

AFTER = " message:ok message:ok message:ok retained:ok ping:ok"


@pytest.fixture
def ca(certificates: Certificates) -> list[object]:
    return ["--cafile", certificates.ca_file]


def test_tls(listeners: ManyListeners, ca):
    found = steps(f"mqtts://localhost:{listeners['below'].port}", *ca, code=0)
    assert summary(found) == ("name:ok tcp:ok tls:ok certificate:ok certificate:ok connect:ok limits:ok resumption:ok "
                              "connect:ok connect:ok" + AFTER)
    _, _, tls, server, authority, *_ = (text for _, _, text, _ in found)
    assert re.fullmatch(r"TLS 1\.3, TLS_\w+; OpenSSL 3.*", tls)
    assert re.fullmatch(r"CN=below, by CN=intermediate; for localhost, 127\.0\.0\.1, .*; "
                        r"[-\d]{10} to [-\d]{10}, 36\d days left; .*P-256, sha256//[A-Za-z0-9+/]{43}=", server), server
    assert authority.startswith("CN=intermediate, by CN=root; ")


def test_tls_in_json(listeners: ManyListeners, ca):
    found = json.loads(smq("check", f"mqtts://localhost:{listeners['good'].port}", *ca, "-V", "5", "--json").stdout)
    of = {step["step"]: step for step in found["servers"][0]["steps"]}
    assert found["exit"] == 0 and of["tls"]["protocol"] == "TLS 1.3" and of["tls"]["cipher"].startswith("TLS_")
    certificate = of["certificate"]
    assert (certificate["subject"], certificate["issuer"]) == ("CN=good", "CN=root")
    assert "localhost" in certificate["names"] and 360 <= certificate["days_left"] <= 366
    assert of["resumption"]["result"] == "ok"


def test_a_failure_in_json(listeners: ManyListeners, ca):
    result = smq("check", f"mqtts://localhost:{listeners['client'].port}", *ca, "--json")
    last = json.loads(result.stdout)["servers"][0]["steps"][-1]
    assert result.returncode == 9
    assert last["failure"] == {"stage": "tls", "status": -407, "tls_cause": 13, "tls_alert": 116}


def test_a_pre_shared_key(listeners: ManyListeners):
    options = ["--psk", PSK_KEY, "--psk-identity", PSK_IDENTITY]
    found = steps("-h", "localhost", "-p", listeners["psk"].port, *options, "-V", "5", code=0)
    assert summary(found).startswith("name:ok tcp:ok tls:ok connect:ok limits:ok") and "pre-shared key" in found[2][2]


def test_everything_at_once(nginx: Nginx, ca, forward):
    proxy = forward(Tinyproxy)
    found = steps(nginx.at("wss", "/mqtt").url, *ca, "--proxy", proxy.url, "-V", "311", code=0)
    assert summary(found).startswith("name:ok tcp:ok proxy:ok tls:ok certificate:ok websocket:ok connect:ok")


def test_a_socket(listeners: ManyListeners):
    assert summary(steps("--unix", listeners["unix"].path, "-V", "311", code=0)) == "tcp:ok connect:ok" + AFTER
    assert summary(steps(f"unix:{listeners['unix'].path}", "-V", "311", code=0)) == "tcp:ok connect:ok" + AFTER


def test_a_certificate_that_ends_soon(certificates: Certificates, start_mosquitto, ca):
    soon = certificates.root.issue("soon", ends=NOW + timedelta(days=10))
    server = start_mosquitto(certfile=soon.chain, keyfile=soon.key)
    certificate, = (step for step in steps(f"mqtts://localhost:{server.port}", *ca, "-V", "5", code=0)
                    if step[0] == "certificate")
    assert certificate[1] == "note" and "9 days left" in certificate[2] and certificate[3].startswith("renew it soon")


# ---- What does not work


@pytest.mark.parametrize("listener, text, advice", [
    ("unknown", "no trusted CA has signed the broker's certificate: CN=unknown", "give the broker's CA with --cafile"),
    ("self-signed", "no trusted CA has signed the broker's certificate", "give the broker's CA with --cafile"),
    ("expired", "a certificate has expired: CN=expired", "the certificate has to be renewed on the broker"),
    ("future", "a certificate is not valid yet: CN=future", "check the clock of this machine"),
    ("wrong-name", "the broker's certificate is for another name", "connect to a name that the certificate is for"),
    ("client", "the broker requires a client certificate", "give one with --cert and --key"),
    ("plain", "the peer does not speak TLS", "this port may not speak TLS"),
    ("psk", "", ""),
])
def test_tls_fails(listeners: ManyListeners, ca, listener: str, text: str, advice: str):
    found = steps(f"mqtts://localhost:{listeners[listener].port}", *ca, code=9)
    assert summary(found) == "name:ok tcp:ok tls:fail"
    assert found[-1][2].startswith(f"TLS: {text}") and found[-1][3].startswith(advice) and found[-1][3]
    if listener == "wrong-name":
        assert re.search(r" \(the certificate is for [\w.]+(, [\w.]+)*\)$", found[-1][2]), found[-1]


def test_the_texts_begin_in_one_column(listeners: ManyListeners, ca):
    lines = smq("check", f"mqtts://localhost:{listeners['good'].port}", *ca, "-V", "5").stdout.decode().splitlines()[1:]
    assert {re.match(r"  (ok  |note|fail)  \w+ +", line).end() for line in lines if " -> " not in line} == {20}
    assert any("certificate" in line for line in lines)


def test_a_client_certificate_is_refused(listeners: ManyListeners, certificates: Certificates, ca):
    client = certificates.unknown_client
    found = steps(f"mqtts://localhost:{listeners['client'].port}", *ca, "--cert", client.file, "--key", client.key, code=9)
    assert found[-1][3].startswith("check that --cert is signed by a CA that the broker trusts")


def test_tls_is_asked_for_where_mqtt_is_expected(listeners: ManyListeners):
    found = steps("-h", "localhost", "-p", listeners["good"].port, code=5)
    assert found[-1][3].startswith("this port may speak TLS")


@pytest.mark.parametrize("path, text, advice", [
    ("/404", "HTTP status 404", "there is no MQTT at this path"),
    ("/401", "HTTP status 401", "the web server wants a login"),
    ("/403", "HTTP status 403", "the web server wants a login"),
    ("/200", "HTTP status 200", "this is a web page and no WebSocket"),
    ("/302", "HTTP status 302", "the server has moved"),
    ("/400", "HTTP status 400", "the server does not take this request"),
    ("/426", "HTTP status 426", "the server wants another protocol"),
    ("/429", "HTTP status 429", "the server limits connections"),
    ("/500", "HTTP status 500", "the web server has a fault"),
    ("/502", "HTTP status 502", "the web server works, but the MQTT server behind it does not"),
    ("/503", "HTTP status 503", "the web server works, but the MQTT server behind it does not"),
    ("/wrong-accept", "", "what answers there is no WebSocket of MQTT"),
])
def test_websocket_fails(nginx: Nginx, path: str, text: str, advice: str):
    found = steps(nginx.at("ws", path).url, code=10)
    assert summary(found) == "name:ok tcp:ok websocket:fail"
    assert text in found[-1][2] and found[-1][3].startswith(advice), found[-1]


def test_websocket_without_an_answer(nginx: Nginx):
    found = steps(nginx.at("ws", "/silent").url, "-W", 1, code=10)
    assert found[-1][:3] == ("websocket", "fail", "no answer in time (websocket)")
    assert "check that it is a web server" in found[-1][3]


def test_websocket_is_asked_for_where_mqtt_is_expected(listeners: ManyListeners, ca):
    for url, options, advice in (
        (f"ws://localhost:{listeners['plain'].port}/mqtt", [], "this port may speak plain MQTT (mqtt://) or TLS"),
        (f"wss://localhost:{listeners['good'].port}/mqtt", ca, "this port may speak MQTT over TLS (mqtts://)"),
    ):
        found = steps(url, *options, code=10)
        assert found[-1][:2] == ("websocket", "fail") and found[-1][3].startswith(advice), found[-1]


def test_nobody_has_the_socket_open(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "left.sock"))
    found = steps(f"unix:{tmp_path}/left.sock", code=4)
    assert found[-1][2] == "no connection: Connection refused"
    assert found[-1][3].startswith("no broker has this socket open")


def test_socks_fails(listeners: ManyListeners, forward):
    to = ["-h", "127.0.0.1", "-p", listeners.port]
    proxy = forward(Microsocks, login=("user", "word"))
    for login, text, advice in (
        ("user:wrong@", "it refused user name and password", "the proxy refused them: check the user name and the password"),
        ("", "it accepts none of the ways to authenticate", "the proxy wants a user name and a password"),
    ):
        found = steps(*to, "--proxy", f"socks5h://{login}127.0.0.1:{proxy.port}", code=8)
        assert summary(found) == "name:ok tcp:ok proxy:fail"
        assert text in found[-1][2] and found[-1][3].startswith(advice)
    found = steps("-h", "127.0.0.1", "-p", free_port(), "--proxy", proxy.url, code=8)
    assert "connection refused" in found[-1][2] and found[-1][3].startswith("the proxy works, but the broker behind it")
    found = steps("-h", "127.0.0.2", "-p", listeners.port, "--proxy", forward(Dante).url, code=8)
    assert "not allowed by its rules" in found[-1][2] and found[-1][3].startswith("the proxy's rules do not allow")


def test_http_proxies_fail(listeners: ManyListeners, nginx: Nginx, forward):
    to = ["-h", "127.0.0.1", "-p", listeners.port]
    squid = forward(Squid, login=("user", "word"))
    found = steps(*to, "--proxy", f"http://127.0.0.1:{squid.port}", code=8)
    assert "HTTP status 407" in found[-1][2] and found[-1][3].startswith("the proxy wants a user name")
    for wrong in (squid, forward(Tinyproxy, login=("user", "word"))):  # 407, and 401
        found = steps(*to, "--proxy", f"http://user:wrong@127.0.0.1:{wrong.port}", code=8)
        assert "HTTP status 40" in found[-1][2] and found[-1][3].startswith("the proxy refused them: check"), found[-1]
    found = steps("-h", "127.0.0.1", "-p", 1, "--proxy", forward(Squid).url, code=8)
    assert "HTTP status 403" in found[-1][2] and found[-1][3].startswith("the proxy's rules do not allow")
    found = steps(*to, "--proxy", f"http://127.0.0.1:{nginx.port}", code=8)
    assert found[-1][0] == "proxy" and found[-1][3]
    found = steps(*to, "--proxy", f"socks5h://127.0.0.1:{nginx.port}", code=8)
    assert found[-1][2].endswith("it does not speak SOCKS5") and found[-1][3].startswith("what answers there is no SOCKS5")


def test_the_proxy_is_not_there(listeners: ManyListeners):
    to = ["-h", "127.0.0.1", "-p", listeners.port]
    found = steps(*to, "--proxy", f"socks5h://127.0.0.1:{free_port()}", code=4)
    assert summary(found) == "name:ok tcp:fail" and found[0][2] == "of the proxy: an address is given: 127.0.0.1"
    assert found[-1][2] == "no connection to the proxy: Connection refused"
    assert found[-1][3].startswith("the proxy does not answer: check that it is running") and "broker" not in found[-1][3]
    name, = steps(*to, "--proxy", "socks5h://name.invalid", code=3)
    assert name[:2] == ("name", "fail") and name[2].startswith("the proxy name.invalid: ")


def test_the_proxy_is_silent(listeners: ManyListeners):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for scheme in ("socks5h", "http"):
            proxy = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
            found = steps("-h", "127.0.0.1", "-p", listeners.port, "--proxy", proxy, "-W", 1, code=8)
            assert found[-1][:3] == ("proxy", "fail", "no answer in time (proxy)")
            assert "does not answer as a proxy" in found[-1][3] and "MQTT" not in found[-1][3]


def test_every_cause_has_advice():
    """Of the table, as far as it can be read: each of SMQ_TLS_… has a row, and words."""
    causes = set(re.findall(r"^    (SMQ_TLS_\w+) = \d+", (ROOT / "include" / "swiftmqtt-tls-engine.h").read_text(), re.M))
    causes -= {"SMQ_TLS_NONE", "SMQ_TLS_ENGINE_NO_HEAP"}
    files = (ROOT / "Sources" / name for name in ("CommandLine/TLSFailures.swift", "smq/ProgramFailures.swift"))
    text = "".join(file.read_text() for file in files)
    rows = re.findall(r"FailureRow\(\s*\.tls, (SMQ_TLS_\w+), (\"[^\"]+\")", text)
    assert len(causes) >= 25 and {name for name, _ in rows} == causes
