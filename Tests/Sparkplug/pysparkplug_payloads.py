"""Payloads of Sparkplug B by pysparkplug, in a Python that has it.

A line "decode HEX" gives JSON: timestamp and seq (None: not there), and of each metric what is there of name, alias,
timestamp, datatype, and its value (the field's name, and what it has). A line "encode NAME TYPE VALUE" gives the hex of
a payload with one metric; a NAME that is a number is an alias.
"""

import json
import sys
import time

from pysparkplug import _protobuf as protobuf

TYPES = {"boolean": (11, "boolean_value", lambda text: text == "true"), "int64": (4, "long_value", int)}


def optional(message, name):
    return getattr(message, name) if message.HasField(name) else None


def decode(data):
    payload = protobuf.Payload.FromString(data)
    assert not payload.HasField("uuid") and not payload.HasField("body")
    metrics = []
    for metric in payload.metrics:
        field = metric.WhichOneof("value")
        described = {name: optional(metric, name) for name in ("name", "alias", "timestamp", "datatype", "is_null")}
        metrics.append({**described, "field": field, "value": getattr(metric, field) if field else None})
    return {"timestamp": optional(payload, "timestamp"), "seq": optional(payload, "seq"), "metrics": metrics}


def encode(name, kind, value):
    datatype, field, read = TYPES[kind]
    payload = protobuf.Payload(timestamp=int(time.time() * 1000))
    metric = payload.metrics.add(timestamp=payload.timestamp, datatype=datatype)
    if name.isdigit():
        metric.alias = int(name)
    else:
        metric.name = name
    setattr(metric, field, read(value))
    return payload.SerializeToString().hex()


for line in sys.stdin:
    word, *rest = line.split(" ")
    rest[-1] = rest[-1].rstrip("\n")
    print(json.dumps(decode(bytes.fromhex(rest[0]))) if word == "decode" else encode(" ".join(rest[:-2]), *rest[-2:]), flush=True)
