#!/usr/bin/env python3
"""Generates a feed of vehicle positions like Digitransit's, and plays it.

    replay.py make FILE [--vehicles 200] [--messages 10000] [--seed 1]
    replay.py play FILE [URL] [--rate 1000] [--rounds 1]

The file has a line for each message: topic, tab, payload. The same seed makes the same file."""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from typing import Any

import swiftmqtt

LINES = ("550", "9", "2T", "M1", "K", "111N", "20", "65", "4", "P")
MODES = ("bus", "tram", "metro", "train")
STEP_DEGREES = 0.0003


def make(path: str, vehicles: int, messages: int, seed: int) -> None:
    """Vehicles that drive through Helsinki at random; now and then one does not know its position."""
    chance = random.Random(seed)
    fleet = [
        {"desi": chance.choice(LINES), "oper": chance.randint(1, 90), "veh": number + 1, "hdg": chance.randrange(360),
         "lat": chance.uniform(60.15, 60.30), "long": chance.uniform(24.70, 25.10), "dl": 0}
        for number in range(vehicles)
    ]
    with open(path, "w", encoding="utf-8") as file:
        for number in range(messages):
            vehicle = fleet[number % vehicles]
            drive(vehicle, chance)
            mode = MODES[vehicle["veh"] % len(MODES)]
            topic = (f'/hfp/v2/journey/ongoing/vp/{mode}/{vehicle["oper"]:04}/{vehicle["veh"]:05}/1{vehicle["desi"]}/1/Keskusta/'
                     "12:34/1130106/5/60;24/19/73/44")
            payload = {"VP": position(vehicle, number, chance)}
            file.write(f"{topic}\t{json.dumps(payload, separators=(',', ':'))}\n")


def drive(vehicle: dict[str, Any], chance: random.Random) -> None:
    vehicle["hdg"] = (vehicle["hdg"] + chance.randint(-20, 20)) % 360
    vehicle["dl"] += chance.choice((-1, 0, 0, 1))
    vehicle["lat"] += STEP_DEGREES * math.cos(math.radians(vehicle["hdg"]))
    vehicle["long"] += STEP_DEGREES * math.sin(math.radians(vehicle["hdg"])) / math.cos(math.radians(60.2))


def position(vehicle: dict[str, Any], number: int, chance: random.Random) -> dict[str, Any]:
    """The format of Helsinki's vehicles."""
    is_lost = chance.random() < 0.01
    return {
        "desi": vehicle["desi"], "dir": "1", "oper": vehicle["oper"], "veh": vehicle["veh"], "tsi": 1700000000 + number,
        "spd": round(chance.uniform(0, 22), 2), "hdg": None if is_lost else vehicle["hdg"],
        "lat": None if is_lost else round(vehicle["lat"], 6), "long": None if is_lost else round(vehicle["long"], 6),
        "acc": 0.1, "dl": vehicle["dl"], "drst": 0, "jrn": 300 + number % 97, "start": "12:34", "loc": "GPS", "stop": None,
        "route": f'1{vehicle["desi"]}', "occu": 0,
    }


def play(path: str, url: str, rate: float, rounds: int) -> None:
    """Plays at that rate and catches up when it is late: late messages are sent in one batch."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t", 1) for line in file]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: {error}") from error
    if not lines or any(len(line) != 2 for line in lines):
        raise ValueError(f"{path}: each line is a topic, a tab and a payload")
    with swiftmqtt.Client(url) as client:
        begin, sent = time.monotonic(), 0
        for _ in range(rounds):
            for topic, payload in lines:
                client.publish(topic, payload, quiet=True, timeout=None)  # waits for room
                sent += 1
                if (ahead := sent / rate - (time.monotonic() - begin)) > 0.005:
                    client.run(ahead)
    took = time.monotonic() - begin
    print(f"{sent} messages in {took:.1f} s, {sent / took:.0f} a second", flush=True)


def at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="write a feed into a file")
    making.add_argument("file")
    making.add_argument("--vehicles", type=at_least_one, default=200)
    making.add_argument("--messages", type=at_least_one, default=10_000)
    making.add_argument("--seed", type=int, default=1)
    playing = commands.add_parser("play", help="publish a file")
    playing.add_argument("file")
    playing.add_argument("url", nargs="?", default="mqtt://127.0.0.1")
    playing.add_argument("--rate", type=at_least_one, default=1000, help="messages a second")
    playing.add_argument("--rounds", type=at_least_one, default=1)
    arguments = parser.parse_args()
    try:
        if arguments.command == "make":
            make(arguments.file, arguments.vehicles, arguments.messages, arguments.seed)
        else:
            play(arguments.file, arguments.url, arguments.rate, arguments.rounds)
    except (OSError, ValueError, swiftmqtt.Error) as error:
        parser.exit(1, f"replay.py: {error}\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
