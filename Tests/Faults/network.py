"""Networks of our own: two network namespaces and what is between them. A namespace is held by a descriptor alone, so
nothing is left of it when the test is over, however it ends, and it needs no name."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import heapq
import os
import random
import re
import select
import shutil
import struct
import subprocess
import threading
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
TOOLS = ("ip", "nft")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def tool(name: str) -> str:
    return shutil.which(name, path=PATH) or name


class Namespace:
    """A network namespace. `with` puts the calling thread into it, and what it starts."""

    def __init__(self) -> None:
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            checked(libc.unshare(CLONE_NEWNET))
            self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        finally:
            checked(libc.setns(home, CLONE_NEWNET))
            os.close(home)
        self.homes: list[int] = []
        self.run("ip", "link", "set", "lo", "up")

    @property
    def path(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self.descriptor}"

    def __enter__(self) -> Namespace:
        self.homes.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY))
        checked(libc.setns(self.descriptor, CLONE_NEWNET))
        return self

    def __exit__(self, *_) -> None:
        home = self.homes.pop()
        checked(libc.setns(home, CLONE_NEWNET))
        os.close(home)

    def run(self, name: str, *arguments: str) -> str:
        with self:
            done = subprocess.run([tool(name), *arguments], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, f"{name} {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def drop(self, which: str) -> None:
        """Drops what comes in and `which` holds for, in place of what was dropped before; "": nothing. Not what goes
        out: of that the sender would be told."""
        lines = ["flush ruleset", "add table inet faults"]
        lines.append("add chain inet faults input { type filter hook input priority 0; policy accept; }")
        lines.append("add rule inet faults input iif lo accept")  # what a host says to itself is not the network
        if which:
            lines.append(f"add rule inet faults input {which} counter drop")
        self.run("nft", "\n".join(lines))

    def dropped(self) -> int:
        return int(re.search(r"counter packets (\d+)", self.run("nft", "list", "ruleset")).group(1))

    def close(self) -> None:
        os.close(self.descriptor)


@functools.cache
def available() -> str:
    """Why there are no namespaces here; nothing if there are."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [name for name in TOOLS if not shutil.which(name, path=PATH)]
    if missing:
        return f"{' and '.join(missing)} missing: .ci/need faults installs it"
    try:
        namespace = Namespace()
    except OSError as error:
        return f"network namespaces are not permitted here: {error}"
    try:
        namespace.drop("numgen random mod 100 < 1")
    except AssertionError as error:
        return f"packets cannot be filtered here: {error}"
    finally:
        namespace.close()
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "there is no /dev/net/tun here"
    return ""


class Network:
    """The gateway's side and the server's, each with an address."""

    GATEWAY, SERVER = "10.213.0.1", "10.213.0.2"

    def __init__(self) -> None:
        self.gateway, self.server = Namespace(), Namespace()

    def close(self) -> None:
        self.gateway.close()
        self.server.close()


class Cable(Network):
    """A pair of veth devices."""

    def drop(self, which: str) -> None:
        """Both ways."""
        self.gateway.drop(which)
        self.server.drop(which)

    def __init__(self) -> None:
        super().__init__()
        self.gateway.run("ip", "link", "add", "wan", "type", "veth", "peer", "name", "wan", "netns", self.server.path)
        for side, address in ((self.gateway, self.GATEWAY), (self.server, self.SERVER)):
            side.run("ip", "address", "add", f"{address}/24", "dev", "wan")
            side.run("ip", "link", "set", "wan", "up")


class Bumpy(Network):
    """Two TUN devices, and between them a forwarder that holds each packet up for a time of its own, so that they
    overtake each other, and that loses and doubles some. What it does is drawn from a seed."""

    def __init__(self, seed: int, loss: float, double: float, shortest: float, longest: float):
        super().__init__()
        self.loss, self.double, self.shortest, self.longest = loss, double, shortest, longest
        self.chance = random.Random(seed)
        self.forwarded = self.lost = self.overtaken = 0
        self.devices = []
        sides = ((self.gateway, self.GATEWAY, self.SERVER), (self.server, self.SERVER, self.GATEWAY))
        for side, address, peer in sides:
            with side:
                device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"wan", IFF_TUN | IFF_NO_PI))
            self.devices.append(device)
            side.run("ip", "address", "add", address, "peer", peer, "dev", "wan")
            side.run("ip", "link", "set", "wan", "up")
        self.over = False
        self.thread = threading.Thread(target=self.forward, daemon=True)
        self.thread.start()

    def forward(self) -> None:
        waiting: list[tuple[float, int, int, bytes]] = []  # due, number, to which device, packet
        number, last_out = 0, [0, 0]
        while not self.over:
            now = time.monotonic()
            while waiting and waiting[0][0] <= now:
                _, order, target, data = heapq.heappop(waiting)
                self.overtaken += order < last_out[target]
                last_out[target] = max(last_out[target], order)
                self.forwarded += 1
                with contextlib.suppress(OSError):
                    os.write(self.devices[target], data)
            timeout = min(0.05, waiting[0][0] - now) if waiting else 0.05
            for device in select.select(self.devices, [], [], max(0.0, timeout))[0]:
                with contextlib.suppress(BlockingIOError):
                    data = os.read(device, 65536)
                    if self.chance.random() < self.loss:
                        self.lost += 1
                        continue
                    for _ in range(2 if self.chance.random() < self.double else 1):
                        number += 1
                        due = time.monotonic() + self.chance.uniform(self.shortest, self.longest)
                        target = 1 - self.devices.index(device)
                        heapq.heappush(waiting, (due, number, target, data))

    def close(self) -> None:
        self.over = True
        self.thread.join(10)
        for device in self.devices:
            os.close(device)
        super().close()
