"""Brokers that speak STOMP, from Debian and PyPI, each with ports and a directory of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

from Python import pythons
from Python.stomp_servers import REQUIREMENTS
from Support.servers import RabbitMQ as MQTTRabbitMQ
from Support.servers import Server, free_port, need

LIBRARIES = Path("/usr/share/activemq/lib")


class Broker(Server):
    """`url` is that of STOMP. What brokers do in their own ways, a flag each."""

    virtual_host = "/"
    prefix = "/queue/"
    confirms_refusals = True  # ERROR says which frame it refuses
    sends_receipts_on = False  # MESSAGE has the receipt header of the SEND

    @property
    def url(self) -> str:
        login = ":".join(self.login) + "@" if self.login else ""
        return f"stomp://{login}{self.host}:{self.port}"


class RabbitMQ(MQTTRabbitMQ, Broker):
    """With the plugins rabbitmq_stomp and rabbitmq_web_stomp."""

    login = ("guest", "guest")
    confirms_refusals = False
    sends_receipts_on = True
    url = Broker.url

    def __init__(self, directory: Path):
        super().__init__(directory)
        self.web_port = free_port()
        self.config.write_text(f"""\
listeners.tcp = none
stomp.listeners.tcp.1 = {self.host}:{self.port}
web_stomp.tcp.ip = {self.host}
web_stomp.tcp.port = {self.web_port}
""")
        (directory / "enabled_plugins").write_text("[rabbitmq_stomp,rabbitmq_web_stomp].\n")

    def ports(self) -> list[int]:
        return [self.port, self.web_port]

    @property
    def web_url(self) -> str:
        return f"ws://guest:guest@{self.host}:{self.web_port}"


class ActiveMQ(Broker):
    """ActiveMQ Classic, without Spring: a broker URI says it all."""

    def launch(self) -> subprocess.Popen:
        if not LIBRARIES.exists():
            need("activemq", "stomp")
        jars = [*LIBRARIES.glob("*.jar"), *LIBRARIES.glob("optional/*.jar")]
        jars += Path("/usr/share/java").glob("hawt*.jar")
        data = self.directory / "data"
        connector = f"stomp://{self.host}:{self.port}?transport.hbGracePeriodMultiplier=1.5"
        return self.run([
            need("java", "stomp"), "-Xmx256m", "-Dactivemq.home=/usr/share/activemq",
            f"-Dactivemq.base={self.directory}", f"-Dactivemq.data={data}", "-cp", ":".join(map(str, jars)),
            "org.apache.activemq.console.Main", "start",
            f"broker:({connector})/tests?persistent=true&useJmx=false&dataDirectory={data}"])


class CoilMQ(Broker):
    """Of PyPI; it takes no virtual host but its own name."""

    confirms_refusals = False

    def __init__(self, directory: Path):
        super().__init__(directory)
        self.virtual_host = socket.getfqdn()

    def launch(self) -> subprocess.Popen:
        python = pythons.with_requirements(REQUIREMENTS, "stomp")
        arguments = ["coilmq", "-b", self.host, "-p", str(self.port)]
        return self.run([str(python), "-W", "ignore", "-c",
                         f"import sys; sys.argv={arguments!r}; from coilmq.start import main; main()"])

    def stop(self, number: int = signal.SIGINT) -> None:
        super().stop(number)
