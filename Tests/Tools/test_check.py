"""smq check: each step against a server where it works and one where it does not, the advice and the exit status."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from Support.servers import Mosquitto, free_port, need

from .tool import PROGRAM, TARGET, environment, smq, start


def steps(*arguments: object, code: int) -> list[tuple[str, str, str, str]]:
    """Step, result, text and advice of each line behind the first."""
    result = smq("check", *arguments, timeout=40)
    assert (result.returncode, result.stderr) == (code, b""), result
    found: list[tuple[str, str, str, str]] = []
    for line in result.stdout.decode().splitlines()[1:]:
        if advice := re.fullmatch(r" {20}-> (.+)", line):
            found[-1] = (*found[-1][:3], advice[1])
        else:
            word, step, text = re.fullmatch(r"  (ok  |note|fail)  (\w+) +(.+)", line).groups()
            found.append((step, word.strip(), text, ""))
    return found


def summary(found: list[tuple[str, str, str, str]]) -> str:
    return " ".join(f"{step}:{result}" for step, result, _, _ in found)


@pytest.fixture
def configured(tmp_path: Path) -> Iterator[Callable[..., Mosquitto]]:
    begun: list[Mosquitto] = []

    def begin(**settings: object) -> Mosquitto:
        begun.append(Mosquitto(tmp_path, persistence="false", **settings))
        begun[-1].start()
        return begun[-1]

    yield begin
    for broker in begun:
        broker.stop()


ALL_FINE = ("name:ok tcp:ok connect:ok limits:ok connect:ok connect:ok message:ok message:ok message:ok retained:ok "
            "ping:ok")


def test_all_works(broker: Mosquitto):
    found = steps(broker.url, code=0)
    assert summary(found) == ALL_FINE
    accepted = [re.fullmatch(r"(MQTT [\d.]+) is accepted, in [\d.]+ ms", found[line][2])[1] for line in (2, 4, 5)]
    assert accepted == ["MQTT 5.0", "MQTT 3.1.1", "MQTT 3.1"]
    assert "QoS up to 2; retained messages; wildcards" in found[3][2]
    assert not any(advice for *_, advice in found)


@pytest.mark.parametrize("options, wanted", [
    (["-V", "311"], "name:ok tcp:ok connect:ok message:ok message:ok message:ok retained:ok ping:ok"),
    (["-V", "5", "-t", "another"], ALL_FINE.replace(" connect:ok connect:ok", "")),
    (["-A", "127.0.0.1"], ALL_FINE),
])
def test_options(broker: Mosquitto, options: list[str], wanted: str):
    assert summary(steps(*broker.address, *options, code=0)) == wanted


def test_nothing_is_left_behind(broker: Mosquitto):
    """The retained message is removed again."""
    steps(*broker.address, "-t", "left/behind", code=0)
    result = smq("sub", *broker.address, "-t", "left/#", "-W", 1)
    assert (result.returncode, result.stdout) == (27, b"")


def test_json(broker: Mosquitto):
    result = smq("check", broker.url, "--json")
    found = json.loads(result.stdout)
    assert result.returncode == found["exit"] == 0 and result.stdout.count(b"\n") == 1
    server, = found["servers"]
    assert server["server"] == f"127.0.0.1 port {broker.port}"
    assert " ".join(f"{step['step']}:{step['result']}" for step in server["steps"]) == ALL_FINE


def test_several_servers(broker: Mosquitto):
    closed = free_port()
    found = json.loads(smq("check", f"mqtt://127.0.0.1:{closed},127.0.0.1:{broker.port}", "--json").stdout)
    assert found["exit"] == 4
    assert [[step["result"] for step in server["steps"]][-1] for server in found["servers"]] == ["fail", "ok"]


# ---- What does not work


def test_the_name_has_no_address():
    name, = steps("mqtt://name.invalid", code=3)
    assert name[:2] == ("name", "fail") and "check the spelling" in name[3]


def test_nobody_listens():
    _, tcp = steps("-h", "127.0.0.1", "-p", free_port(), code=4)
    assert tcp[:3] == ("tcp", "fail", "no connection: Connection refused")
    assert tcp[3].startswith("nothing listens there: check that the broker is running")


def test_there_is_no_such_socket():
    tcp, = steps("--unix", "/nonexistent", code=4)
    assert tcp[:2] == ("tcp", "fail") and "that this is the path of its socket" in tcp[3]


@pytest.mark.parametrize("way, text, advice", [
    ("silent", r"MQTT 3\.1: no answer in time \(connack\)", "it accepts connections but does not answer: check that it speaks MQTT"),
    ("closing", r"MQTT 3\.1: the broker closed .*", "this port may speak TLS"),
    # 3.1 does not look at what gives a web server away to the others.
    ("web", r"MQTT 3\.1: the (peer does not answer as an MQTT server|broker closed the connection).*", "this port "),
    ("refusing", r"MQTT 3\.1: refused: Not authorized", "the user name (-u) or the password (-P) is wrong or missing"),
])
def test_it_is_no_broker(misbehaving, way: str, text: str, advice: str):
    begin = time.monotonic()
    found = steps(*misbehaving(way), "-W", 1, code=5)
    assert summary(found) == "name:ok tcp:ok connect:note connect:note connect:fail"
    assert re.fullmatch(text, found[-1][2]) and found[-1][3].startswith(advice)
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize("way, version, step, text, advice", [
    ("tiny", "5", "subscribe", r"smq/check/\w+: it is larger than the broker, or MQTT, allows",
     "this exceeds the limit that the broker announced"),
    ("moving", "5", "subscribe", r".*: the connection was lost: the broker ended the connection: Server moved",
     "check the server that it points to"),
    ("dying", "311", "subscribe", r".*: the connection was lost: the broker closed the connection without giving a reason",
     "this user may lack permission to subscribe there"),
    ("frozen", "311", "subscribe", r".*: no answer in time", "the connection is slow, or the broker is overloaded"),
    ("forgetful", "311", "message", r"QoS 1, on .*: no answer in time", "the connection is slow, or"),
    ("resetting", "311", "connect", r"MQTT 3\.1\.1: Connection reset by peer", "this port may speak TLS"),
])
def test_a_misbehaving_broker(misbehaving, way: str, version: str, step: str, text: str, advice: str):
    found = steps(*misbehaving(way), "-W", 5, "-V", version, code=5 if step == "connect" else 6)
    assert found[-1][:2] == (step, "fail")
    assert re.fullmatch(text, found[-1][2]) and found[-1][3].startswith(advice), found[-1]


def test_a_retained_message_before_suback(misbehaving):
    """The server may send PUBLISH packets that match the subscription before SUBACK [MQTT-3.8.4]."""
    found = steps(*misbehaving("eager"), "-V", "311", code=0)
    assert summary(found) == "name:ok tcp:ok connect:ok message:ok message:ok message:ok retained:ok ping:ok"


def test_a_retained_message_without_suback(misbehaving):
    found = steps(*misbehaving("keeping_quiet"), "-V", "311", "-W", 1, code=6)
    assert summary(found).endswith("message:ok retained:fail ping:ok")
    assert re.fullmatch("smq/check/.*/retained: no answer in time", found[-2][2])


def test_a_message_is_not_kept(misbehaving):
    found = steps(*misbehaving("oblivious"), "-V", "311", "-W", 1, code=6)
    assert summary(found).endswith("message:ok retained:fail ping:ok")
    assert found[-2][2] == "the broker did not retain a message"


# ---- -W


def test_help_says_what_W_does():
    shown = smq("check", "--help").stdout.decode()
    assert re.search(r"-W SECONDS +how long each step may take \(default: 5\)\n", shown)
    for command in ("sub", "rr"):
        assert re.search(r"-W SECONDS +end after that many seconds, with exit status 27\n",
                         smq(command, "--help").stdout.decode())


SLOW = """
#include <netdb.h>
#include <unistd.h>
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    (void)name, (void)service, (void)hints, (void)found;
    sleep(100);
    return EAI_AGAIN;
}
"""


@pytest.fixture(scope="module")
def slow_resolver(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library that makes all look-ups last."""
    directory = tmp_path_factory.mktemp("resolver")
    (directory / "slow.c").write_text(SLOW)
    subprocess.run([need("gcc"), "-shared", "-fPIC", directory / "slow.c", "-o", directory / "slow.so"], check=True)
    return str(directory / "slow.so")


@pytest.mark.skipif(bool(TARGET), reason="the library is for this machine")
def test_the_name_takes_no_longer_than_W(slow_resolver: str):
    begin = time.monotonic()
    result = smq("check", "mqtt://name.example", "-W", 2, LD_PRELOAD=slow_resolver)
    assert 2 <= time.monotonic() - begin < 15
    assert result.returncode == 3, result
    assert b"  fail  name        name.example: no answer in time\n" in result.stdout


@pytest.mark.skipif(bool(TARGET), reason="the library is for this machine")
def test_a_signal_ends_a_look_up(slow_resolver: str):
    process = subprocess.Popen([PROGRAM, "check", "mqtt://name.example", "-W", "60"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment(LD_PRELOAD=slow_resolver))
    process.stdout.readline()
    time.sleep(0.3)  # it looks the name up
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 130
    assert process.stderr.read() == b"smq check: interrupted before everything was checked\n"


def test_a_step_of_many_packets_takes_no_longer_than_W(misbehaving):
    """Each answer to the step "retained" comes after 0.9 s: one is in time, all of them are not."""
    found = steps(*misbehaving("dawdling"), "-V", "311", "-W", 2, code=6)
    retained, = (step for step in found if step[0] == "retained")
    assert retained[1] == "fail" and "no answer in time" in retained[2], found


def test_it_speaks_an_old_version_only(misbehaving):
    found = steps(*misbehaving("old"), "-W", 1, code=6)
    assert summary(found) == "name:ok tcp:ok connect:note connect:note connect:ok subscribe:fail"
    assert found[2][2].startswith("MQTT 5.0: refused: ")


def test_the_broker_wants_a_password(configured, tmp_path: Path):
    passwords = tmp_path / "passwords"
    subprocess.run([need("mosquitto_passwd"), "-b", "-c", passwords, "gateway", "secret"], check=True, timeout=20)
    broker = configured(allow_anonymous="false", password_file=passwords)
    for login in ([], ["-u", "gateway", "-P", "wrong"]):
        found = steps(*broker.address, *login, code=5)
        assert summary(found) == "name:ok tcp:ok connect:note connect:note connect:fail"
        assert found[-1][3].startswith("the user name (-u) or the password (-P) is wrong or missing")
    assert summary(steps(*broker.address, "-u", "gateway", "-P", "secret", code=0)) == ALL_FINE
    for login, option in (("gateway:%73ecret", []), ("nobody:%73ecret", ["-u", "gateway"]),
                          ("%67ateway:wrong", ["-P", "secret"]), ("gateway", ["-P", "secret"])):
        result = smq("check", f"mqtt://{login}@127.0.0.1:{broker.port}", *option)
        assert result.returncode == 0 and b"ecret" not in result.stdout, result


def test_the_broker_has_limits(configured):
    broker = configured(max_qos=1, retain_available="false", max_packet_size=2000, max_keepalive=30)
    found = steps(*broker.address, code=0)
    assert summary(found) == ("name:ok tcp:ok connect:ok limits:ok connect:ok connect:ok message:ok message:ok "
                              "retained:note ping:ok")
    for limit in ("QoS up to 1", "no retained messages", "packets up to 2000 bytes", "Keep Alive 30 s"):
        assert limit in found[3][2]


def test_the_user_may_not_read(configured, tmp_path: Path):
    (tmp_path / "acl").write_text("topic write smq/check/#\ntopic readwrite allowed/#\n")
    broker = configured(acl_file=tmp_path / "acl")
    found = steps(*broker.address, "-W", 1, code=6)
    assert summary(found[-1:]) == "message:fail" and "-t gives another topic" in found[-1][3]
    assert summary(steps(*broker.address, "-t", "allowed", code=0)) == ALL_FINE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(misbehaving, number: int):
    process = start("check", *misbehaving("silent"), "-W", 30)
    for _ in range(2):
        process.stdout.readline()
    time.sleep(0.3)  # it waits for CONNACK
    process.send_signal(number)
    assert process.wait(10) == 128 + number
    assert process.stderr.read() == b"smq check: interrupted before everything was checked\n"
