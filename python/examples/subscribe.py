#!/usr/bin/env python3
"""Prints what arrives: subscribe.py [URL [FILTER…]], until Ctrl-C."""

from __future__ import annotations

import sys

import swiftmqtt


def main(url: str = "mqtt://127.0.0.1", *filters: str) -> None:
    with swiftmqtt.Client(url) as client:
        answer = client.subscribe(filters or ("greenhouse/#",), qos=1).wait(10)
        print("subscribed, granted QoS", *answer.reason_codes, flush=True)
        for message in client:  # across reconnects
            try:
                value = message.decode()  # as its content type says, which MQTT 5.0 brings along; else bytes
            except ValueError:
                value = message.payload
            print(f"{message.topic} {value!r}{' (retained)' if message.retain else ''}", flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (swiftmqtt.Error, TimeoutError) as error:
        sys.exit(f"subscribe.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
