"""What help() says of each option: its type, its range, its default here, and what it means."""

from __future__ import annotations

import textwrap
from typing import Any, TypeVar

DAY = "1 to 86,400,000"
MEMORY = "64 to 268,435,456"
FLAG = ("bool", "", "False")

#: By group: option -> type, range, default, meaning. A default of "" is: not given, or none.
GROUPS: dict[str, dict[str, tuple[str, str, str, str]]] = {
    "Server and client": {
        "host": ("str", "at most 253 bytes", "", "a host name or a numeric address, instead of the URL; beginning with a slash: a socket in the file system"),
        "port": ("int", "1 to 65,535", "by the scheme: 1883, 8883, 80, 443", "with host: the port"),
        "protocol": ("int", "a swiftmqtt.Protocol", "5.0, or what the server speaks", "the version; given, it is spoken or the attempt fails, unless fallback is set"),
        "client_id": ("str", "at most 65,535 bytes", "the server assigns one", "the Client Identifier; each '%' becomes a random byte in hex, as in \"gateway-%%%%\""),
        "user_name": ("str", "at most 65,535 bytes", "none", "an empty one is sent, too"),
        "password": ("str or bytes", "at most 65,535 bytes", "none", "an empty one is sent, too"),
        "will": ("swiftmqtt.Will", "", "none", "the message that the server publishes if the connection ends without DISCONNECT"),
    },
    "Flags": {
        "keep_session": (*FLAG, "keeps the Session State across connections; needs a client_id"),
        "new_session": (*FLAG, "5.0, with keep_session: the first connection begins a new session, later ones resume it"),
        "fallback": ("bool", "", "True without protocol", "tries the next older version if the server does not speak this one; not with an authentication_method"),
        "client_id_as_is": (*FLAG, "'%' in client_id stands for itself"),
        "shuffle": (*FLAG, "several servers are tried in random order"),
        "redirect": (*FLAG, "5.0: follows a server that refers to another one, which gets the credentials, too"),
        "qos_0_connected": (*FLAG, "QoS 0 messages are for the current connection only: without one, publishing fails"),
        "websocket": (*FLAG, "with host: the connection is a WebSocket"),
    },
    "Properties of CONNECT, 5.0": {
        "request_response_information": ("int", "0 or 1", "none", "asks the server for Response Information"),
        "request_problem_information": ("int", "0 or 1", "none", "0: the server is to send reason strings and User Properties in few packets only"),
        "user_properties": ("pairs of str", "", "none", "User Properties: a dict, or a list of pairs"),
        "authentication_method": ("str", "", "none", "enhanced authentication: the method; see authenticate"),
        "authentication_data": ("bytes", "", "none", "enhanced authentication: the first data"),
    },
    "Times": {
        "keep_alive_s": ("int", "1 to 65,535", "60", "Keep Alive; OFF: none"),
        "session_expiry_s": ("int", "0 to 4,294,967,295", "forever with keep_session, otherwise 0", "5.0: how long the server keeps the session after the connection"),
        "connect_timeout_ms": ("int", DAY, "30,000", "for each attempt, from resolving the name to CONNACK; OFF: none"),
        "ping_timeout_ms": ("int", DAY, "10,000", "how long the server may stay silent after PINGREQ"),
        "answer_timeout_ms": ("int", DAY, "30,000", "how long no acknowledgement may arrive while some are awaited; OFF: none"),
        "write_timeout_ms": ("int", DAY, "30,000", "how long the kernel may accept no byte; OFF: none"),
        "tcp_user_timeout_ms": ("int", DAY, "the system's", "TCP_USER_TIMEOUT: how long the kernel resends unacknowledged data"),
        "reconnect_min_ms": ("int", "10 to 86,400,000", "1,000", "the first bound of the wait before the client reconnects; it doubles"),
        "reconnect_max_ms": ("int", "reconnect_min_ms to 86,400,000", "60,000", "the longest wait before the client reconnects"),
        "stable_ms": ("int", DAY, "30,000", "a connection that lasted for so long begins the waits anew"),
        "jitter": ("int", "a swiftmqtt.Jitter", "Jitter.FULL", "how the waits are made random"),
    },
    "Room": {
        "outbox_bytes": ("int", MEMORY, "1,048,576", "for published messages until they are sent (QoS 0) or acknowledged"),
        "outbox_messages": ("int", "1 to 65,023", "4,096", "how many of them"),
        "urgent_messages": ("int", "1 to 256", "16", "how many urgent messages; 0: there are none"),
        "urgent_bytes": ("int", MEMORY, "16,384", "for urgent messages"),
        "receive_bytes": ("int", MEMORY, "65,536", "the receive buffer; a larger payload arrives in parts, which the package joins"),
        "in_flight_maximum": ("int", "1 to 65,535", "what the server allows; 20 before 5.0", "QoS 1 and 2 messages sent and not yet acknowledged"),
        "receive_maximum": ("int", "1 to 65,535", "64", "QoS 1 and 2 messages received and not yet acknowledged"),
        "unreleased_maximum": ("int", "1 to 65,535", "all; without keep_session receive_maximum", "QoS 2 messages that were delivered and that the server has not released"),
        "maximum_packet_bytes": ("int", "receive_bytes to 268,435,460", "none", "5.0: the Maximum Packet Size that the server is told; OFF: none"),
        "requests": ("int", "1 to 256", "64", "SUBSCRIBE and UNSUBSCRIBE packets not yet acknowledged"),
        "request_bytes": ("int", "32 to 268,435,456", "8,192", "for these packets"),
        "control_bytes": ("int", "32 to 1,048,576", "an eighth of receive_bytes, but 256 to 4,096", "for acknowledgements, AUTH and DISCONNECT that wait to be sent"),
        "subscriptions": ("int", "1 to 1,024", "256", "Topic Filters that are kept to resubscribe; OFF: none"),
        "subscription_bytes": ("int", "1 to 268,435,456", "16,384", "for these filters"),
        "resubscribe": ("int", "a swiftmqtt.Resubscribe", "Resubscribe.IF_LOST", "when the client resubscribes"),
        "topic_aliases_in": ("int", "0 to 1,024", "0", "5.0: Topic Aliases that the server may use"),
        "topic_aliases_out": ("int", "0 to 1,024", "0", "5.0: Topic Aliases to use, as far as the server allows"),
        "topic_alias_bytes": ("int", "1 to 65,535", "128", "the longest topic that is kept for an alias"),
        "replies": ("int", "0 to 1,024", "64", "5.0: calls of request() that wait for their reply"),
        "stream_bytes": ("int", "64 to 1,048,576", "16,384", "the buffer for payloads that are streamed; 0: none"),
        "references": ("int", "1 to 65,535", "16", "messages of publish_reference() that are not complete; 0: none"),
        "submit_messages": ("int", "1 to 65,536", "256", "messages of submit() that wait; rounded up to a power of two; 0: none"),
        "submit_bytes": ("int", "16 to 1,048,576", "1,024", "for topic, properties and payload of each of them"),
        "credential_bytes": ("int", "1 to 131,070", "512", "with credentials: the room for user name and password together"),
        "addresses": ("int", "1 to 8", "8", "how many addresses of a host name are tried"),
    },
    "TLS, besides the argument tls": {
        "tls_name": ("str", "at most 253 bytes", "host", "the name that the certificate must be for"),
        "alpn": ("str", "at most 255 bytes", "none", "the application protocol to ask for, such as \"mqtt\""),
    },
    "On the way to the server": {
        "proxy": ("str", "at most 1,024 bytes", "none", "socks5://[user:password@]host[:port] or http://…"),
        "websocket_path": ("str", "at most 4,096 bytes", "/mqtt", "with host: path and query of the WebSocket's request"),
        "websocket_headers": ("pairs of str", "at most 8,192 bytes", "none", "more header fields of the request: a dict, or a list of pairs"),
        "websocket_protocol": ("str", "at most 255 bytes", "mqtt", "the subprotocols to offer, separated by \", \""),
        "websocket_bytes": ("int", "256 to 65,536", "4,096", "the largest frame to send"),
        "websocket_request_bytes": ("int", "1 to 16,384", "8,192 with websocket_request, otherwise 0", "the room for path and headers of a request that is asked for"),
        "bind_device": ("str", "at most 15 bytes", "as the routes say", "the network interface that connections use"),
        "bind_address": ("str", "", "as the routes say", "the numeric address that connections come from"),
        "dscp": ("int", "1 to 63", "the system's", "the Differentiated Services Codepoint of all packets"),
        "tcp_keep_alive_s": ("int", "1 to 32,767", "none", "TCP's own keep-alive; MQTT's is keep_alive_s"),
        "busy_poll_us": ("int", "1 to 1,000,000", "0", "how long the client looks for what arrives before it sleeps"),
    },
    "The journal and the trace": {
        "journal": ("str or PathLike", "1 to 1,000 bytes", "none", "the path of a file that keeps messages of QoS 1 and 2 over the end of the process; needs keep_session"),
        "journal_bytes": ("int", "65,536 to 1,073,741,824", "what these options need", "the size of the file"),
        "journal_delay_ms": ("int", "1 to 60,000", "20", "how long a message waits for others that are written with it"),
        "journal_batch_bytes": ("int", "4,096 to 1,048,576", "16,384", "how much is written at once at most"),
        "journal_flags": ("int", "JournalFlag values, added up", "0", "swiftmqtt.JournalFlag says what each does"),
        "trace_bytes": ("int", "256 to 16,777,216", "0", "the room for the last packets, for trace(); 0: no trace"),
        "trace_packet_bytes": ("int", "1 to a quarter of trace_bytes", "256, or that quarter if it is less", "how much is kept of a packet"),
        "inspect": ("str or PathLike", "1 to 107 bytes, no zero", "", "the path of a socket at which smq inspect, top and stats look at the client"),
        "inspect_mode": ("int", "up to 0o777", "0o600", "the permissions of that socket"),
        "inspect_bytes": ("int", "4,096 to 131,072", "65,536", "the room for packets on their way to the programs at that socket"),
    },
}
OPTIONS = {name: row for group in GROUPS.values() for name, row in group.items()}
INTRODUCTION = "Options, with type, range and default. A number of 0 means what it does in swiftmqtt.h."


Groups = dict[str, dict[str, "tuple[str, str, str, str]"]]


def text(indent: str = "    ", groups: Groups = GROUPS, introduction: str = INTRODUCTION) -> str:
    """All of them, as help() shows them."""
    lines = ["", f"{indent}{introduction}"]
    for group, options in groups.items():
        lines += ["", f"{indent}{group}"]
        for name, (kind, extent, default, meaning) in options.items():
            head = ", ".join(part for part in (kind, extent, default and f"default: {default}") if part)
            lines.append(f"{indent}  {name} ({head})")
            lines += textwrap.wrap(meaning, 100, initial_indent=f"{indent}      ", subsequent_indent=f"{indent}      ")
    return "\n".join(lines) + "\n" + indent


class _Documented:
    """A docstring with the options behind it, which are put together when somebody asks for it."""

    def __init__(self, told: str, groups: Groups, introduction: str):
        self._told, self._groups, self._introduction = told, groups, introduction

    def __get__(self, instance: object, owner: type | None = None) -> str:
        return self._told.rstrip() + "\n" + text(groups=self._groups, introduction=self._introduction)


Class = TypeVar("Class", bound=type)


def documented(cls: Class) -> Class:
    """Lets help() list the options of a class that takes them. Without docstrings (-OO) there are none."""
    return documented_with(cls, GROUPS, INTRODUCTION)


def documented_with(cls: Class, groups: Groups, introduction: str) -> Class:
    """The same, for these options."""
    if cls.__doc__ is not None:
        told: Any = _Documented(cls.__doc__, groups, introduction)
        cls.__doc__ = told
    return cls
