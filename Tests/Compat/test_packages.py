"""Programs of other people, as Debian built them against libmosquitto, doing what they are for: first on libmosquitto,
then on the drop-in, and what arrives at a witness is the same."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from Support.certificates import Certificates
from Support.servers import free_port
from Support.waiting import wait_for

from .conftest import ROOT
from .programs import Broker, Witness, environment

LIBRARIES = Path("/usr/lib")
HERE = ROOT / "Tests" / "Compat"


class Stage:
    """A broker, a witness and one of the libraries."""

    def __init__(self, broker: Broker, directory: Path, library: str, variables: dict[str, str], path: Path):
        self.broker, self.directory, self.library = broker, directory, library
        self.variables, self.path = variables, path
        self.topic = self.base = f"row/{library}"
        self.witness = Witness(broker, f"{self.topic}/#", f"/{self.topic}/#", told="%p")

    @contextmanager
    def running(self, command: list[object], **options: object) -> Iterator[subprocess.Popen]:
        """Whatever happens, it has ended afterwards. It was told to end, or has ended by itself."""
        with (self.directory / "said").open("wb") as said:
            process = subprocess.Popen(
                [str(part) for part in command], cwd=self.directory, env=self.variables,
                **{"stdin": subprocess.DEVNULL, "stdout": said, "stderr": subprocess.STDOUT, **options})
        try:
            yield process
            if process.poll() is None:
                process.terminate()
            process.wait(10)
        finally:
            process.kill()
            process.wait()

    @property
    def said(self) -> str:
        return (self.directory / "said").read_text(errors="replace")

    def received(self, ending: str = "") -> list[str]:
        """Topics below ours, QoS, whether retained, and payloads; those of topics that end so."""
        lines = [line.removeprefix("/")[len(self.topic):] for line in self.witness.all(self.topic)]
        return [line for line in lines if line.split("\t")[0].endswith(ending)]

    def await_received(self, pattern: str, count: int = 1) -> None:
        def arrived() -> bool:
            return sum(bool(re.search(pattern, line)) for line in self.received()) >= count

        try:
            wait_for(arrived, pattern)
        except AssertionError:
            pytest.fail(f"{self.library}: {pattern} is not among {self.received()}\n{self.said}")

    def send(self, topic: str, payload: str, *more: str) -> None:
        self.broker.send(["-t", f"{self.base}/{topic}", "-m", payload, *more])

    def await_subscribed(self, count: int = 1) -> None:
        """The witness is one."""
        try:
            wait_for(
                lambda: sum("Sending SUBACK to" in line for line in self.broker.told()) > count, "a subscription")
        except AssertionError:
            pytest.fail(f"{self.library}: {self.said}\n" + "\n".join(self.broker.told()))

    def check_loaded(self, process: subprocess.Popen) -> None:
        maps = Path(f"/proc/{process.pid}/maps").read_text()
        assert set(re.findall(r"\S*libmosquitto\.so\S*", maps)) == {str(self.path)}


@pytest.fixture
def on_both(
    tmp_path: Path, real_path: Path, our_path: Path, certificates: Certificates
) -> Callable[[Callable[[Stage], object]], None]:
    """Runs a scene on each library, with a broker of its own, and compares what it returns."""

    def run(scene: Callable[[Stage], object]) -> None:
        outcomes = {}
        for library, path in (("real", real_path.resolve()), ("ours", our_path.resolve())):
            directory = tmp_path / library
            directory.mkdir()
            broker = Broker(directory, certificates)
            try:
                stage = Stage(broker, directory, library, environment(library, our_path), path)
                outcomes[library] = scene(stage)
                stage.witness.close()
            finally:
                broker.stop()
        assert outcomes["real"]
        assert outcomes["ours"] == outcomes["real"]

    return run


def installed(program: str, package: str, module: str) -> Path:
    """The program, if it and its module are there."""
    path = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
    if not path or not next(LIBRARIES.glob(module), None):
        reason = f"{package} is missing: .ci/need compat installs it"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return Path(path)


@pytest.mark.parametrize("secure", [False, True], ids=["TCP", "TLS"])
def test_collectd(on_both, certificates: Certificates, secure: bool):
    """Takes values from one topic and publishes them to another, and those of its own every second."""
    program = installed("collectd", "collectd-core", "collectd/mqtt.so")

    def scene(stage: Stage) -> object:
        client = certificates.client
        where = f"""\
    Host "localhost"
    Port {stage.broker.secure["tls_client"]}
    CACert "{certificates.ca_file}"
    CertificateFile "{client.file}"
    CertificateKeyFile "{client.key}"
    TLSProtocol "tlsv1.2"
""" if secure else f"""\
    Host "127.0.0.1"
    Port {stage.broker.port}
"""
        config = stage.directory / "collectd.conf"
        config.write_text(f"""\
Hostname "here"
BaseDir "{stage.directory}"
PIDFile "{stage.directory}/collectd.pid"
PluginDir "{next(LIBRARIES.glob("collectd/mqtt.so")).parent}"
TypesDB "/usr/share/collectd/types.db"
Interval 1
LoadPlugin load
LoadPlugin mqtt
<Plugin mqtt>
  <Publish "out">
{where}    ClientId "publisher"
    Prefix "{stage.topic}/out"
    QoS 2
    StoreRates false
    Retain true
  </Publish>
  <Subscribe "in">
{where}    ClientId "subscriber"
    Topic "{stage.topic}/in/#"
    QoS 2
  </Subscribe>
</Plugin>
""")
        with stage.running([program, "-f", "-C", config]) as process:
            stage.await_subscribed()
            for number in range(1, 4):
                stage.send(f"in/there/test/gauge-{number}", f"{1700000000 + number}:{number}.5", "-q", str(number - 1))
                stage.await_received(rf"gauge-{number}\t.*:{number}\.5")
            stage.await_received("/out/here/load/load", 3)
            stage.check_loaded(process)
        own = {re.sub(r"[\d.]+", "N", line) for line in stage.received("/out/here/load/load")}

        def ended() -> list[str]:
            lines = [line.partition(": ")[2] for line in stage.broker.told() if "disconnected" in line or " closed" in line]
            return sorted(line for line in lines if "publisher" in line or "subscriber" in line)

        # The server may learn of it later than the process ends.
        wait_for(lambda: len(ended()) >= 2, "both connections have ended")
        ends = ended()
        return own, stage.received("gauge-1"), stage.received("gauge-2"), stage.received("gauge-3"), ends

    on_both(scene)


@pytest.mark.parametrize("secure", [False, True], ids=["TCP", "TLS"])
def test_kamailio(on_both, certificates: Certificates, secure: bool):
    """Its own loop watches the socket; a message is answered by the script."""
    program = installed("kamailio", "kamailio-mqtt-modules", "*/kamailio/modules/mqtt.so")

    def scene(stage: Stage) -> object:
        where = f"""\
modparam("mqtt", "host", "localhost")
modparam("mqtt", "port", {stage.broker.secure["tls_client"]})
modparam("mqtt", "tls_method", "tlsv1.2")
modparam("mqtt", "ca_file", "{certificates.ca_file}")
modparam("mqtt", "certificate", "{certificates.client.file}")
modparam("mqtt", "private_key", "{certificates.client.key}")
modparam("mqtt", "verify_certificate", 1)
""" if secure else f"""\
modparam("mqtt", "host", "127.0.0.1")
modparam("mqtt", "port", {stage.broker.port})
"""
        config = stage.directory / "kamailio.cfg"
        config.write_text(f"""\
#!KAMAILIO
debug=2
log_stderror=yes
fork=yes
children=1
disable_tcp=yes
listen=udp:127.0.0.1:{free_port()}
mpath="{next(LIBRARIES.glob("*/kamailio/modules/mqtt.so")).parent}/"
loadmodule "pv.so"
loadmodule "mqtt.so"
{where}modparam("mqtt", "id", "kamailio")
modparam("mqtt", "keepalive", 5)
modparam("mqtt", "will_topic", "{stage.topic}/will")
modparam("mqtt", "will", "gone")
request_route {{
    exit;
}}
event_route[mqtt:connected] {{
    mqtt_subscribe("{stage.topic}/in/#", 1);
    mqtt_publish("{stage.topic}/state", "here", 1);
}}
event_route[mqtt:message] {{
    mqtt_publish("{stage.topic}/answer", "$mqtt(topic) $mqtt(msg) $mqtt(qos)", 2);
}}
""")
        with stage.running([program, "-DD", "-E", "-f", config, "-Y", stage.directory, "-m", "32"]) as process:
            stage.await_received("/state\t")
            stage.await_subscribed()
            for number in range(3):
                stage.send("in/number", f"text {number}", "-q", str(number))
                stage.await_received(rf"/answer\t.*text {number}")
            stage.check_loaded(process)
        stage.await_received("/will\t")  # it ends without DISCONNECT
        return [line.replace(stage.topic, "TOPIC") for line in stage.received()]

    on_both(scene)


@pytest.mark.parametrize("secure", [False, True], ids=["TCP", "TLS"])
def test_rtpengine(on_both, certificates: Certificates, secure: bool):
    """Its own thread publishes how it is, larger than a packet of the network."""
    program = installed("rtpengine", "rtpengine-daemon", "*/libmosquitto.so.1")

    def scene(stage: Stage) -> object:
        port = stage.broker.secure["tls_client"] if secure else stage.broker.port
        where = [f"--mqtt-cafile={certificates.ca_file}", f"--mqtt-certfile={certificates.client.file}",
                 f"--mqtt-keyfile={certificates.client.key}"] if secure else []
        command = [
            program, "--config-file=none", "--foreground", "--log-stderr", "--table=-1", "--interface=127.0.0.1",
            f"--listen-ng=127.0.0.1:{free_port()}", f"--pidfile={stage.directory}/pid",
            "--mqtt-host=localhost", f"--mqtt-port={port}", "--mqtt-id=rtpengine", "--mqtt-publish-qos=2",
            "--mqtt-publish-interval=100", "--mqtt-publish-scope=global", f"--mqtt-publish-topic={stage.topic}/state"]
        with stage.running([*command, *where]) as process:
            stage.await_received("/state\t", 3)
            stage.check_loaded(process)
        first = stage.received("/state")[0].split("\t")
        return first[:-1], shape(json.loads(first[-1]))

    on_both(scene)


def shape(value: object) -> object:
    """What a JSON text has, without the numbers, which differ each time."""
    if isinstance(value, dict):
        return {name: shape(part) for name, part in value.items()}
    return [shape(part) for part in value] if isinstance(value, list) else type(value).__name__


def test_baresip(on_both):
    """A telephone that takes commands and tells its answers, below a topic that begins with a slash."""
    program = installed("baresip", "baresip-core", "baresip/modules/mqtt.so")

    def scene(stage: Stage) -> object:
        config = stage.directory / "config"
        config.write_text(f"""\
sip_listen 127.0.0.1:0
module_path {next(LIBRARIES.glob("baresip/modules/mqtt.so")).parent}
module menu.so
module mqtt.so
mqtt_broker_host 127.0.0.1
mqtt_broker_port {stage.broker.port}
mqtt_broker_clientid baresip
mqtt_basetopic {stage.topic}
""")
        (stage.directory / "accounts").write_text("")
        (stage.directory / "contacts").write_text("")
        stage.base = f"/{stage.topic}"
        with stage.running([program, "-f", stage.directory]) as process:
            stage.await_subscribed()
            for token, command in enumerate(("about", "uafind", "modules", "nonsense")):
                stage.send("command/x", f'{{"command": "{command}", "token": "{token}"}}')
                stage.await_received(f"/command_resp/{token}\t")
            stage.check_loaded(process)
            # It says that it ends, too, if it still gets to it.
            return stage.received()

    on_both(scene)


def test_mosquittopp(on_both, tmp_path: Path):
    """A C++ program on libmosquittopp, which calls libmosquitto."""
    if not Path("/usr/include/mosquittopp.h").exists():
        pytest.skip("libmosquittopp-dev is missing: .ci/need compat installs it")
    program = tmp_path / "echo"
    command = ["g++", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "echo.cpp", "-lmosquittopp", "-lmosquitto"]
    subprocess.run(command, check=True, timeout=100)

    def scene(stage: Stage) -> object:
        with stage.running([program, stage.broker.port, stage.topic]) as process:
            stage.await_received("/out\t.*hello")
            stage.check_loaded(process)
            for text in ("one", "two", "end"):
                stage.send("in", text, "-q", "2")
                stage.await_received(f"/out\t.*{text}")
            process.wait(10)
        stage.witness.sync(stage.broker)
        return process.returncode, stage.received(), stage.said.splitlines()

    on_both(scene)
