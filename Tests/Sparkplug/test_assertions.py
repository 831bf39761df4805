"""The numbered assertions of Sparkplug 3.0 for an Edge Node that a client can show, in one run with everything in it (conftest.play).

What is not here: assertions for hosts and servers; those about data sets, templates, property sets and historical
data, which the example does not have; those of 5.0, which it does not speak; and that ids are unique, which is up to who
gives them.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Message, Run

RULES: dict[str, Callable[[Run], None]] = {}
BIRTHS, DATA = ("NBIRTH", "DBIRTH"), ("NDATA", "DDATA")
SEQUENCED = (*BIRTHS, *DATA, "DDEATH")
INT64, UINT64, DOUBLE, BOOLEAN, STRING = 4, 8, 10, 11, 12
FIELDS = {INT64: "long_value", UINT64: "long_value", DOUBLE: "double_value", BOOLEAN: "boolean_value", STRING: "string_value"}


def rule(*identifiers: str) -> Callable:
    def add(function: Callable[[Run], None]) -> Callable[[Run], None]:
        for identifier in identifiers:
            assert RULES.setdefault(f"tck-id-{identifier}", function) is function
        return function
    return add


def bdseq(message: Message) -> int:
    metric = message.metric("bdSeq")
    assert metric["datatype"] == INT64 and metric["field"] == "long_value" and 0 <= metric["value"] <= 255
    return metric["value"]


# ---- Sessions ----


@rule("principles-persistence-clean-session-311")
def clean_session(run):
    assert [packet["fields"]["mqtt.conflag.cleansess"] for packet in run.connects] == [["1"]] * 3
    assert [packet["fields"]["mqtt.ver"] for packet in run.connects] == [["4"]] * 3


@rule("principles-birth-certificates-order", "message-flow-edge-node-birth-publish-connect",
      "message-flow-device-birth-publish-nbirth-wait")
def births_first(run):
    for connection in range(3):
        types = [message.type for message in run.of_connection(connection, *SEQUENCED, "NDEATH")]
        assert types[:2] == ["NBIRTH", "DBIRTH"]


@rule("message-flow-edge-node-ncmd-subscribe", "message-flow-device-dcmd-subscribe", "payloads-state-subscribe")
def subscriptions(run):
    for connection in range(3):
        packets = [packet for packet in run.packets if packet["connection"] == connection]
        (subscribe,) = [packet for packet in packets if packet["type"] == "SUBSCRIBE"]
        assert subscribe["fields"]["mqtt.topic"] == [
            "spBv1.0/plant/NCMD/gateway", "spBv1.0/plant/DCMD/gateway/board", "spBv1.0/STATE/scada"]
        assert subscribe["fields"]["mqtt.sub.qos"] == ["1"] * 3
        (suback,) = [packet for packet in packets if packet["type"] == "SUBACK"]
        assert suback["time"] <= run.of_connection(connection, "NBIRTH")[0].time


# ---- The Will, and bdSeq ----


@rule("message-flow-edge-node-birth-publish-will-message", "payloads-ndeath-will-message")
def every_connect_has_a_will(run):
    assert len(run.connects) == len(run.wills) == 3


@rule("message-flow-edge-node-birth-publish-will-message-topic", "topics-ndeath-topic")
def topic_of_the_will(run):
    assert {will.topic for will in run.wills} == {"spBv1.0/plant/NDEATH/gateway"}


@rule("message-flow-edge-node-birth-publish-will-message-qos", "payloads-ndeath-will-message-qos")
def qos_of_the_will(run):
    assert {will.qos for will in run.wills} == {1}


@rule("message-flow-edge-node-birth-publish-will-message-will-retained", "payloads-ndeath-will-message-retain")
def the_will_is_not_retained(run):
    assert {will.retain for will in run.wills} == {False}


@rule("message-flow-edge-node-birth-publish-will-message-payload", "topics-ndeath-payload", "topics-ndeath-seq",
      "payloads-ndeath-seq")
def payload_of_ndeath(run):
    for death in [*run.wills, *run.of("NDEATH")]:
        assert [metric["name"] for metric in death.payload["metrics"]] == ["bdSeq"]
        assert death.payload["seq"] is None and death.payload["timestamp"] is not None


@rule("message-flow-edge-node-birth-publish-will-message-payload-bdSeq", "topics-nbirth-bdseq-increment")
def bdseq_counts_connects(run):
    assert [bdseq(will) for will in run.wills] == [0, 1, 2]


@rule("topics-nbirth-bdseq-included", "topics-nbirth-bdseq-matching", "payloads-nbirth-bdseq", "payloads-nbirth-bdseq-repeat",
      "message-flow-edge-node-birth-publish-nbirth-payload-bdSeq", "payloads-ndeath-bdseq",
      "operational-behavior-data-commands-rebirth-action-3")
def bdseq_of_births_and_deaths(run):
    for message in run.of("NBIRTH", "NDEATH"):
        assert bdseq(message) == bdseq(run.wills[message.connection])


# ---- Topics ----


@rule("topic-structure", "topic-structure-namespace-a", "topic-structure-namespace-valid-group-id",
      "topic-structure-namespace-valid-edge-node-id", "topic-structure-namespace-valid-device-id",
      "topic-structure-namespace-device-id-associated-message-types", "topics-nbirth-topic", "topics-ndata-topic",
      "topics-dbirth-topic", "topics-ddata-topic", "topics-ddeath-topic", "message-flow-edge-node-birth-publish-nbirth-topic",
      "message-flow-device-birth-publish-dbirth-topic", "message-flow-device-birth-publish-dbirth-match-edge-node-topic")
def topics(run):
    assert {message.topic for message in run.messages} == {
        *(f"spBv1.0/plant/{kind}/gateway" for kind in ("NBIRTH", "NDATA", "NDEATH")),
        *(f"spBv1.0/plant/{kind}/gateway/board" for kind in ("DBIRTH", "DDATA", "DDEATH"))}


def qos_0(kind: str) -> Callable[[Run], None]:
    def check(run):
        assert run.of(kind) and {message.qos for message in run.of(kind)} == {0}
    return check


def not_retained(kind: str) -> Callable[[Run], None]:
    def check(run):
        assert run.of(kind) and {message.retain for message in run.of(kind)} == {False}
    return check


def qos_0_not_retained(kind: str) -> Callable[[Run], None]:
    def check(run):
        qos_0(kind)(run)
        not_retained(kind)(run)
    return check


for kind in SEQUENCED:
    rule(f"topics-{kind.lower()}-mqtt")(qos_0_not_retained(kind))
for kind in (*BIRTHS, *DATA):
    rule(f"payloads-{kind.lower()}-qos")(qos_0(kind))
    rule(f"payloads-{kind.lower()}-retain")(not_retained(kind))
for kind, flow in zip(BIRTHS, ("edge-node", "device")):
    rule(f"message-flow-{flow}-birth-publish-{kind.lower()}-qos")(qos_0(kind))
    rule(f"message-flow-{flow}-birth-publish-{kind.lower()}-retained")(not_retained(kind))


# ---- The sequence ----


@rule("topics-nbirth-seq-num", "payloads-nbirth-seq", "payloads-sequence-num-zero-nbirth",
      "message-flow-edge-node-birth-publish-nbirth-payload-seq")
def nbirth_begins_at_zero(run):
    assert len(run.of("NBIRTH")) == 4 and {message.payload["seq"] for message in run.of("NBIRTH")} == {0}


@rule("payloads-sequence-num-always-included", "payloads-sequence-num-incrementing", "topics-ndata-seq-num", "topics-dbirth-seq",
      "topics-ddata-seq-num", "topics-ddeath-seq-num", "payloads-dbirth-seq", "payloads-dbirth-seq-inc", "payloads-ndata-seq",
      "payloads-ndata-seq-inc", "payloads-ddata-seq", "payloads-ddata-seq-inc", "payloads-ddeath-seq", "payloads-ddeath-seq-inc",
      "payloads-ddeath-seq-number", "message-flow-device-birth-publish-dbirth-payload-seq")
def each_has_the_next_number(run):
    expected = None
    for message in run.of(*SEQUENCED):
        assert message.payload["seq"] == (0 if message.type == "NBIRTH" else expected)
        expected = (message.payload["seq"] + 1) % 256
    assert {message.payload["seq"] for message in run.of(*SEQUENCED)} == set(range(256))


@rule("payloads-dbirth-order", "payloads-ndata-order", "payloads-ddata-order", "operational-behavior-data-commands-rebirth-action-1",
      "operational-behavior-data-commands-rebirth-action-2")
def data_follow_all_births(run):
    """After the NBIRTH of a rebirth, too."""
    messages = run.of(*SEQUENCED)
    for index, message in enumerate(messages):
        if message.type == "NBIRTH":
            assert messages[index + 1].type == "DBIRTH"


# ---- Times ----


@rule("payloads-timestamp-in-UTC", "payloads-metric-timestamp-in-UTC", "topics-nbirth-timestamp", "topics-dbirth-timestamp",
      "topics-ndata-timestamp", "topics-ddata-timestamp", "payloads-ddeath-timestamp",
      "payloads-nbirth-timestamp", "payloads-dbirth-timestamp", "payloads-ndata-timestamp", "payloads-ddata-timestamp",
      "payloads-name-birth-data-requirement")
def times(run):
    for message in run.of(*SEQUENCED):
        assert abs(message.payload["timestamp"] / 1000 - message.time) < 20
        for metric in message.payload["metrics"]:
            assert metric["timestamp"] <= message.payload["timestamp"]


@rule("operational-behavior-data-publish-nbirth-order", "operational-behavior-data-publish-dbirth-order")
def chronological(run):
    last: dict[object, int] = {}
    for message in run.of(*BIRTHS, *DATA):
        for metric in message.payload["metrics"]:
            key = metric["alias"] or metric["name"]
            assert metric["timestamp"] >= last.get(key, 0)
            last[key] = metric["timestamp"]


# ---- Metrics ----


@rule("topics-nbirth-metric-reqs", "topics-nbirth-metrics", "topics-dbirth-metric-reqs", "topics-dbirth-metrics",
      "operational-behavior-data-publish-nbirth", "operational-behavior-data-publish-nbirth-values",
      "operational-behavior-data-publish-dbirth", "operational-behavior-data-publish-dbirth-values",
      "payloads-metric-datatype-req", "payloads-metric-datatype-value", "payloads-metric-datatype-value-type",
      "payloads-name-requirement", "message-flow-edge-node-birth-publish-nbirth-payload", "message-flow-device-birth-publish-dbirth-payload")
def births_have_everything(run):
    expected = {
        "NBIRTH": {"bdSeq": INT64, "Node Control/Rebirth": BOOLEAN, "Properties/Software": STRING, "load/minute_1": DOUBLE},
        "DBIRTH": {"memory/available": UINT64, "output/light": BOOLEAN}}
    for message in run.of(*BIRTHS):
        metrics = message.payload["metrics"]
        assert {metric["name"]: metric["datatype"] for metric in metrics} == expected[message.type]
        assert all(metric["field"] == FIELDS[metric["datatype"]] and metric["value"] is not None for metric in metrics)


@rule("payloads-alias-uniqueness", "payloads-alias-birth-requirement", "payloads-alias-data-cmd-requirement",
      "payloads-metric-datatype-not-req")
def aliases(run):
    known: dict[int, str] = {}
    for message in run.of(*BIRTHS, *DATA):
        for metric in message.payload["metrics"]:
            if message.type in BIRTHS and metric["alias"] is not None:
                assert known.setdefault(metric["alias"], metric["name"]) == metric["name"]
            if message.type in DATA:
                assert metric["alias"] in known and metric["name"] is None and metric["datatype"] is None
    assert len(known) == len(set(known.values())) == 3


@rule("principles-rbe-recommended", "operational-behavior-data-publish-nbirth-change", "operational-behavior-data-publish-dbirth-change",
      "topics-ndata-payload", "topics-ddata-payload")
def only_changes(run):
    known: dict[int, object] = {}
    for message in run.of(*BIRTHS, *DATA):
        assert message.payload["metrics"]
        for metric in message.payload["metrics"]:
            if message.type in DATA:
                assert known[metric["alias"]] != metric["value"]
            if metric["alias"] is not None:
                known[metric["alias"]] = metric["value"]


# ---- Commands ----


@rule("topics-nbirth-rebirth-metric", "payloads-nbirth-rebirth-req", "operational-behavior-data-commands-rebirth-name",
      "operational-behavior-data-commands-rebirth-name-aliases", "operational-behavior-data-commands-rebirth-datatype",
      "operational-behavior-data-commands-rebirth-value")
def rebirth(run):
    for message in run.of("NBIRTH"):
        metric = message.metric("Node Control/Rebirth")
        assert (metric["datatype"], metric["value"], metric["alias"]) == (BOOLEAN, False, None)


@rule("operational-behavior-device-ddeath")
def the_device_went(run):
    (death,) = run.of("DDEATH")
    after = [message.type for message in run.messages if message.time > death.time and message.topic.endswith("board")]
    assert death.payload["metrics"] == [] and after[0] == "DBIRTH"


# ---- The host ----


def states(run: Run, connection: int) -> list[dict]:
    return [packet for packet in run.packets if packet["connection"] == connection and packet["direction"] == "server"
            and packet["type"] == "PUBLISH" and packet["fields"]["mqtt.topic"] == ["spBv1.0/STATE/scada"]]


@rule("message-flow-edge-node-birth-publish-phid-wait", "message-flow-edge-node-birth-publish-phid-wait-id",
      "message-flow-edge-node-birth-publish-phid-wait-online", "operational-behavior-edge-node-birth-sequence-wait")
def births_wait_for_the_host(run):
    for connection in range(3):
        online = next(packet for packet in states(run, connection) if b"true" in packet["raw"]["mqtt.msg"][0])
        assert run.of_connection(connection, "NBIRTH")[0].time >= online["time"]


@rule("message-flow-edge-node-birth-publish-phid-wait-timestamp", "message-flow-edge-node-birth-publish-phid-offline",
      "operational-behavior-edge-node-termination-host-offline", "operational-behavior-edge-node-termination-host-offline-timestamp",
      "operational-behavior-edge-node-termination-host-offline-reconnect")
def an_offline_host_ends_the_session(run):
    """Not the one with an older timestamp, which came first."""
    offline = [packet for packet in states(run, 0) if b"false" in packet["raw"]["mqtt.msg"][0]]
    (death,) = run.of_connection(0, "NDEATH")
    assert len(offline) == 3 and offline[1]["time"] < offline[2]["time"] <= death.time
    assert run.messages[run.messages.index(death) - 1].time <= death.time
    assert [packet["type"] for packet in run.packets if packet["connection"] == 0 and packet["direction"] == "client"][-1] == "DISCONNECT"


# ---- The end ----


@rule("operational-behavior-edge-node-intentional-disconnect-ndeath", "operational-behavior-edge-node-intentional-disconnect-packet",
      "payloads-ndeath-will-message-publisher", "payloads-ndeath-will-message-publisher-disconnect-mqtt311")
def it_leaves_with_its_death(run):
    for connection in (0, 2):
        said = [packet for packet in run.packets if packet["connection"] == connection and packet["direction"] == "client"]
        assert said[-1]["type"] == "DISCONNECT" and said[-2]["fields"]["mqtt.topic"] == ["spBv1.0/plant/NDEATH/gateway"]


@pytest.mark.parametrize("identifier", sorted(RULES))
def test_assertion(run: Run, identifier: str):
    RULES[identifier](run)
