#!/usr/bin/env python3
"""Shows the vehicles of a city. Reads a feed like Digitransit's and keeps the latest position of each vehicle.

On a terminal it shows a table, each second anew; elsewhere a line for each vehicle that has moved meanwhile. With --once it
prints each vehicle once, after that many seconds, and ends."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable

import swiftmqtt

TOPIC = "/hfp/v2/journey/ongoing/vp/#"
FIELDS = ("desi", "lat", "long", "dl", "hdg")
HEADINGS = ("vehicle", "line", "latitude", "longitude", "delay", "heading")
VEHICLES = 4096
SHOW_S = 1.0


class Fleet:
    """The latest position of each vehicle."""

    def __init__(self) -> None:
        self.latest: dict[str, tuple[object, ...]] = {}
        self.moved: set[str] = set()
        self.messages = self.malformed = self.left_out = 0

    def take(self, message: swiftmqtt.Message) -> None:
        """/hfp/v2/journey/ongoing/vp/MODE/OPERATOR/VEHICLE/…, {"VP":{"desi":"550","lat":60.2,…}}"""
        self.messages += 1
        levels = message.topic.split("/")
        try:
            position = message.json()["VP"]
            vehicle = "/".join(levels[7:9])
            if len(levels) < 9 or not isinstance(position, dict):
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError):
            self.malformed += 1
            return
        if vehicle not in self.latest and len(self.latest) >= VEHICLES:
            self.left_out += 1
            return
        self.latest[vehicle] = tuple(position.get(field) for field in FIELDS)
        self.moved.add(vehicle)

    def show(self, is_terminal: bool) -> None:
        """Prints the vehicles that have moved; on a terminal, as many as fit."""
        if is_terminal:
            room = max(1, shutil.get_terminal_size().lines - 3)
            print(f"\033[H\033[J{len(self.latest)} vehicles, {self.messages} messages")
            print(row(HEADINGS))
            shown: Iterable[str] = sorted(self.latest)[:room]
        else:
            shown = sorted(self.moved)
        for vehicle in shown:
            print(row((vehicle, *self.latest[vehicle])))
        self.moved.clear()
        sys.stdout.flush()


def row(cells: tuple[object, ...]) -> str:
    """Without characters that could control the terminal: only printable ASCII is left."""
    texts = ("-" if cell is None else str(cell) for cell in cells)
    name, *rest = ("".join(c if " " < c < "\x7f" else "?" for c in text) for text in texts)
    return f"{name:<24.23}" + "".join(f"{text:>12.11}" for text in rest)


def watch(client: swiftmqtt.Client, fleet: Fleet, once: float | None) -> None:
    is_terminal = sys.stdout.isatty() and once is None
    end = time.monotonic() + (once or float("inf"))
    next_show = time.monotonic() + SHOW_S
    while (now := time.monotonic()) < end:
        if now >= next_show:
            if once is None:
                fleet.show(is_terminal)
            next_show = now + SHOW_S
        try:
            fleet.take(client.receive(min(next_show, end) - now))
        except TimeoutError:
            pass
    fleet.show(is_terminal)


def some_seconds(text: str) -> float:
    try:
        if 0 < float(text) < float("inf"):
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text} is no number above 0")


def complain(ended: swiftmqtt.Error | None) -> None:
    if ended:
        print(ended, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", default="mqtt://127.0.0.1", help="mqtt://HOST[:PORT]")
    parser.add_argument("filter", nargs="?", default=TOPIC, help=f"what to subscribe to: {TOPIC}")
    parser.add_argument("--once", type=some_seconds, metavar="SECONDS", help="print each vehicle once, after so long")
    arguments = parser.parse_args()
    if sys.stdout is None:
        parser.exit(2, "transit.py: standard output is closed\n")

    def leave(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, leave)
    fleet = Fleet()
    try:
        # Short waits: what is missed is missed.
        client = swiftmqtt.Client(arguments.url, reconnect_min_ms=100, reconnect_max_ms=1000)
        client.on_disconnected = complain
        client.connect(wait=False)
        with client:
            client.subscribe(arguments.filter)  # again by itself on each new connection
            try:
                watch(client, fleet, arguments.once)
            except KeyboardInterrupt:
                fleet.show(sys.stdout.isatty())
    except swiftmqtt.Error as error:
        parser.exit(2, f"transit.py: {error}\n")
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes at its end
        print(f"transit.py: cannot print: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    print(f"{fleet.messages} messages of {len(fleet.latest)} vehicles, {fleet.malformed} malformed, "
          f"{fleet.left_out} of vehicles there was no room for", file=sys.stderr)
    return 0 if fleet.latest else 1


if __name__ == "__main__":
    sys.exit(main())
