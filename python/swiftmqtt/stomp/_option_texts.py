"""What help() says of each option: its type, its range, its default here, and what it means."""

from __future__ import annotations

from typing import TypeVar

DAY = "1 to 86,400,000"
MEMORY = "64 to 268,435,456"
FLAG = ("bool", "", "False")

#: By group: option -> type, range, default, meaning. A default of "" is: not given, or none.
GROUPS: dict[str, dict[str, tuple[str, str, str, str]]] = {
    "Server and client": {
        "host": ("str", "at most 253 bytes", "", "a host name or a numeric address, instead of the URL; beginning with a slash: a socket in the file system"),
        "port": ("int", "1 to 65,535", "by the scheme: 61613, 61614, 80, 443", "with host: the port"),
        "oldest": ("int", "a Version", "1.0", "the oldest version of STOMP that is offered"),
        "newest": ("int", "a Version", "1.2", "the newest version that is offered; between the two the server chooses"),
        "virtual_host": ("str", "", "/", "the host header of CONNECT: RabbitMQ's virtual host; ActiveMQ ignores it, CoilMQ wants its own host name"),
        "login": ("str", "at most 65,535 bytes", "none", "whom the server is to let in"),
        "passcode": ("str or bytes", "at most 65,535 bytes", "none", "the password"),
        "headers": ("pairs of str", "", "none", "more headers of CONNECT, such as ActiveMQ's client-id: a dict, or a list of pairs"),
    },
    "Flags": {
        "shuffle": (*FLAG, "several servers are tried in random order"),
        "ask_credentials": (*FLAG, "each attempt begins with CredentialsWanted, and waits for credentials()"),
        "ask_addresses": (*FLAG, "an attempt to reach a host name causes AddressesWanted, and waits for addresses()"),
        "websocket": (*FLAG, "with host: the connection is a WebSocket"),
    },
    "Times": {
        "heart_beat_send_ms": ("int", DAY, "10,000", "the least time between two heart-beats that the client sends; OFF: it sends none"),
        "heart_beat_receive_ms": ("int", DAY, "10,000", "the time in which it wants one of the server's; OFF: it wants none"),
        "connect_timeout_ms": ("int", DAY, "30,000", "for each attempt, from resolving the name to CONNECTED; OFF: none"),
        "receipt_timeout_ms": ("int", DAY, "30,000", "how long no receipt may arrive while some are due; OFF: none"),
        "write_timeout_ms": ("int", DAY, "30,000", "how long the kernel may accept no byte; OFF: none"),
        "tcp_user_timeout_ms": ("int", DAY, "the system's", "TCP_USER_TIMEOUT: how long the kernel resends unacknowledged data"),
        "reconnect_min_ms": ("int", "10 to 86,400,000", "1,000", "the first bound of the wait before the client reconnects; it doubles"),
        "reconnect_max_ms": ("int", "reconnect_min_ms to 86,400,000", "60,000", "the longest wait before the client reconnects"),
        "stable_ms": ("int", DAY, "30,000", "a connection that lasted for so long begins the waits anew"),
        "jitter": ("int", "a Jitter", "Jitter.FULL", "how the waits are made random"),
    },
    "Room": {
        "outbox_bytes": ("int", MEMORY, "1,048,576", "for frames until they are sent or, with a receipt, confirmed"),
        "outbox_frames": ("int", "1 to 65,535", "4,096", "how many of them"),
        "receive_bytes": ("int", MEMORY, "65,536", "the receive buffer: the headers of a frame have to fit; a larger body arrives in parts, which the package joins"),
        "control_bytes": ("int", "128 to 1,048,576", "16,384", "for acknowledgements that wait to be sent"),
        "subscriptions": ("int", "1 to 1,024", "64", "how many subscriptions there may be"),
        "subscription_bytes": ("int", "64 to 65,535", "1,024", "for the SUBSCRIBE of each"),
        "held_messages": ("int", "1 to 65,535", "64", "messages that wait for ack() or nack(): at this number the client reads no further message"),
        "held_bytes": ("int", "16 to 65,535", "128", "for what the server calls each of them; one with a longer name cannot be acknowledged"),
        "transactions": ("int", "1 to 256", "16", "how many transactions may be open"),
        "urgent_frames": ("int", "1 to 256", "16", "messages with urgent=True that wait to be sent or confirmed"),
        "urgent_bytes": ("int", MEMORY, "16,384", "for them"),
        "credential_bytes": ("int", "1 to 131,070", "512", "with credentials or ask_credentials: for login and passcode together"),
        "addresses": ("int", "1 to 8", "8", "how many addresses of a host name are tried"),
    },
    "TLS, besides the argument tls": {
        "tls_name": ("str", "at most 253 bytes", "host", "the name that the certificate must be for"),
        "alpn": ("str", "at most 255 bytes", "none", "the application protocol to ask for"),
    },
    "On the way to the server": {
        "proxy": ("str", "at most 1,024 bytes", "none", "socks5://[user:password@]host[:port] or http://…"),
        "websocket_path": ("str", "at most 4,096 bytes", "/ws", "with host: path and query of the WebSocket's request"),
        "websocket_headers": ("pairs of str", "at most 8,192 bytes", "none", "more header fields of the request: a dict, or a list of pairs"),
        "websocket_protocol": ("str", "at most 255 bytes", "those of the versions", "the subprotocols to offer, separated by \", \""),
        "websocket_bytes": ("int", "256 to 65,536", "4,096", "the largest frame to send"),
        "websocket_request_bytes": ("int", "0 to 16,384", "0", "the room for path and headers of websocket_request()"),
        "bind_device": ("str", "at most 15 bytes", "as the routes say", "the network interface that connections use"),
        "bind_address": ("str", "", "as the routes say", "the numeric address that connections come from"),
        "dscp": ("int", "1 to 63", "the system's", "the Differentiated Services Codepoint of all packets (RFC 2474)"),
        "tcp_keep_alive_s": ("int", "1 to 32,767", "none", "TCP's own keep-alive"),
        "busy_poll_us": ("int", "0 to 1,000,000", "0", "how long a call that waits looks for what arrives before it sleeps"),
    },
    "For other programs of this machine": {
        "inspect": ("str or PathLike", "1 to 107 bytes, no zero", "", "the path of a socket at which sst inspect and stats look at the client"),
        "inspect_mode": ("int", "up to 0o777", "0o600", "the permissions of that socket"),
        "inspect_bytes": ("int", "4,096 to 131,072", "65,536", "the room for frames on their way to the programs at that socket"),
    },
    "The journal": {
        "journal": ("str or PathLike", "1 to 1,000 bytes", "none", "the path of a file that keeps messages with store=True over the end of the process"),
        "journal_bytes": ("int", "65,536 to 1,073,741,824", "what these options need", "the size of the file"),
        "journal_delay_ms": ("int", "1 to 60,000", "20", "how long a message waits for others that are written with it"),
        "journal_batch_bytes": ("int", "4,096 to 1,048,576", "16,384", "how much is written at once at most; a message has to fit into it"),
        "journal_flags": ("int", "JournalFlag values, added up", "0", "swiftmqtt.stomp.JournalFlag says what each does"),
    },
}
OPTIONS = {name: row for group in GROUPS.values() for name, row in group.items()}

Class = TypeVar("Class", bound=type)


def documented(cls: Class) -> Class:
    """Lets help() list the options of a class that takes them."""
    from .._option_texts import documented_with  # not above: docs/python-options-page runs this file alone

    return documented_with(cls, GROUPS, "Options, with type, range and default. None, and a number of 0, are the default.")
