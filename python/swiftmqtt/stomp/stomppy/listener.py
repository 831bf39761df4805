"""The listeners of stomp.listener: the base class, and those that programs derive theirs from."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from .utils import Frame

__all__ = [
    "ConnectionListener",
    "PrintingListener",
    "Publisher",
    "StatsListener",
    "TestListener",
    "WaitingListener",
]

_LOG = logging.getLogger("stomp.py")


class Publisher:
    """What listeners are registered with."""

    def set_listener(self, name: str, listener: Any) -> None:
        """Sets the listener of this name."""

    def remove_listener(self, name: str) -> None:
        """Removes the listener of this name."""

    def get_listener(self, name: str) -> Any:
        """Returns the listener of this name, or None."""
        return None


class ConnectionListener:
    """A listener: a program overrides what it wants to be told. All run in the connection's thread, but for on_send() and
    on_disconnecting(), which run in the thread that calls the connection."""

    def on_connecting(self, host_and_port: tuple[str, int]) -> None:
        """The server can be reached, and CONNECT was sent."""

    def on_connected(self, frame: Frame) -> None:
        """The server accepted the connection: CONNECTED."""

    def on_disconnecting(self) -> None:
        """DISCONNECT is about to be sent."""

    def on_disconnected(self) -> None:
        """The connection has ended."""

    def on_heartbeat_timeout(self) -> None:
        """Nothing came for two and a half times the time that the server had agreed to."""

    def on_before_message(self, frame: Frame) -> None:
        """A message came. What this makes of the frame is what on_message() gets."""

    def on_message(self, frame: Frame) -> None:
        """A message came: MESSAGE. Its body is a str, or bytes with auto_decode=False."""

    def on_receipt(self, frame: Frame) -> None:
        """The server has confirmed a frame: its header "receipt-id" is what the program has called the receipt."""

    def on_error(self, frame: Frame) -> None:
        """The server sent ERROR."""

    def on_send(self, frame: Frame) -> None:
        """A frame is about to be sent. What this makes of a SEND is sent."""

    def on_heartbeat(self) -> None:
        """Never told: the library keeps heart-beats to itself. stomp.py tells it of each that came."""

    def on_receiver_loop_completed(self, frame: Frame | None) -> None:
        """The connection's thread is about to end; on_disconnected() follows."""


class WaitingListener(ConnectionListener):
    """Lets a program wait for a receipt, and for the end of the connection."""

    def __init__(self, receipt: str | None):
        self.receipt = receipt
        self.received = self.disconnected = False
        self.receipt_condition, self.disconnect_condition = threading.Condition(), threading.Condition()

    def on_receipt(self, frame: Frame) -> None:
        """Wakes wait_on_receipt() if it is this listener's receipt."""
        if frame.headers.get("receipt-id") == self.receipt:
            with self.receipt_condition:
                self.received = True
                self.receipt_condition.notify_all()

    def on_disconnected(self) -> None:
        """Wakes wait_on_disconnected()."""
        with self.disconnect_condition:
            self.disconnected = True
            self.disconnect_condition.notify_all()

    def wait_on_receipt(self) -> None:
        """Waits for the receipt; the next call waits for another one."""
        with self.receipt_condition:
            self.receipt_condition.wait_for(lambda: self.received)
            self.received = False

    def wait_on_disconnected(self) -> None:
        """Waits for the end of the connection."""
        with self.disconnect_condition:
            self.disconnect_condition.wait_for(lambda: self.disconnected)


class StatsListener(ConnectionListener):
    """Counts what it is told."""

    def __init__(self) -> None:
        self.errors = self.connections = self.disconnects = self.messages = self.messages_sent = 0
        self.heartbeat_timeouts = self.heartbeat_count = 0

    def on_connecting(self, host_and_port: tuple[str, int]) -> None:
        """Counts a connection."""
        self.connections += 1

    def on_disconnected(self) -> None:
        """Counts an end."""
        self.disconnects += 1

    def on_error(self, frame: Frame) -> None:
        """Counts an ERROR."""
        self.errors += 1

    def on_message(self, frame: Frame) -> None:
        """Counts a message."""
        self.messages += 1

    def on_send(self, frame: Frame) -> None:
        """Counts a frame, of any kind."""
        self.messages_sent += 1

    def on_heartbeat_timeout(self) -> None:
        """Counts a heart-beat that did not come."""
        self.heartbeat_timeouts += 1

    def __str__(self) -> str:
        return (
            f"Connections: {self.connections}\nDisconnects: {self.disconnects}\nMessages sent: {self.messages_sent}\n"
            f"Messages received: {self.messages}\nHeartbeats received: {self.heartbeat_count}\nErrors: {self.errors}"
        )


class PrintingListener(ConnectionListener):
    """Prints what it is told, or logs it with print_to_log."""

    def __init__(self, print_to_log: bool = False):
        self.print_to_log = print_to_log

    def _print(self, *parts: object) -> None:
        line = " ".join(map(str, parts))
        if self.print_to_log:
            _LOG.info("%s", line)
        else:
            print(line)

    def on_connecting(self, host_and_port: tuple[str, int]) -> None:
        """Prints it."""
        self._print("on_connecting", *host_and_port)

    def on_connected(self, frame: Frame) -> None:
        """Prints it."""
        self._print("on_connected", frame.headers, frame.body)

    def on_disconnected(self) -> None:
        """Prints it."""
        self._print("on_disconnected")

    def on_heartbeat_timeout(self) -> None:
        """Prints it."""
        self._print("on_heartbeat_timeout")

    def on_before_message(self, frame: Frame) -> None:
        """Prints it."""
        self._print("on_before_message", frame.headers, frame.body)

    def on_message(self, frame: Frame) -> None:
        """Prints it."""
        self._print("on_message", frame.headers, frame.body)

    def on_receipt(self, frame: Frame) -> None:
        """Prints it."""
        self._print("on_receipt", frame.headers, frame.body)

    def on_error(self, frame: Frame) -> None:
        """Prints it."""
        self._print("on_error", frame.headers, frame.body)

    def on_send(self, frame: Frame) -> None:
        """Prints it, without the passcode."""
        shown = {name: "********" if name == "passcode" else value for name, value in frame.headers.items()}
        self._print("on_send", frame.cmd, shown, frame.body)


class TestListener(StatsListener, WaitingListener, PrintingListener):
    """Counts, prints, keeps messages, and lets a test wait for them."""

    __test__ = False  # for pytest: it is none

    def __init__(self, receipt: str | None = None, print_to_log: bool = False):
        StatsListener.__init__(self)
        PrintingListener.__init__(self, print_to_log)
        WaitingListener.__init__(self, receipt)
        self.timestamp = time.strftime("%Y%m%d%H%M%S")
        self.message_list: list[tuple[dict[str, Any], Any]] = []
        self.message_condition, self.message_received = threading.Condition(), False

    def wait_for_message(self) -> None:
        """Waits for a message; the next call waits for another one."""
        with self.message_condition:
            self.message_condition.wait_for(lambda: self.message_received)
            self.message_received = False

    def get_latest_message(self) -> tuple[dict[str, Any], Any]:
        """Returns headers and body of the last message."""
        return self.message_list[-1]

    def on_connecting(self, host_and_port: tuple[str, int]) -> None:
        """Counts and prints it."""
        StatsListener.on_connecting(self, host_and_port)
        PrintingListener.on_connecting(self, host_and_port)

    def on_connected(self, frame: Frame) -> None:
        """Prints it."""
        PrintingListener.on_connected(self, frame)

    def on_disconnected(self) -> None:
        """Counts and prints it, and wakes wait_on_disconnected()."""
        StatsListener.on_disconnected(self)
        PrintingListener.on_disconnected(self)
        WaitingListener.on_disconnected(self)

    def on_heartbeat_timeout(self) -> None:
        """Counts and prints it."""
        StatsListener.on_heartbeat_timeout(self)
        PrintingListener.on_heartbeat_timeout(self)

    def on_message(self, frame: Frame) -> None:
        """Counts, prints and keeps it, and wakes wait_for_message()."""
        StatsListener.on_message(self, frame)
        PrintingListener.on_message(self, frame)
        with self.message_condition:
            self.message_list.append((frame.headers, frame.body))
            self.message_received = True
            self.message_condition.notify_all()

    def on_receipt(self, frame: Frame) -> None:
        """Prints it, and wakes wait_on_receipt()."""
        PrintingListener.on_receipt(self, frame)
        WaitingListener.on_receipt(self, frame)

    def on_error(self, frame: Frame) -> None:
        """Counts and prints it."""
        StatsListener.on_error(self, frame)
        PrintingListener.on_error(self, frame)

    def on_send(self, frame: Frame) -> None:
        """Counts and prints it."""
        StatsListener.on_send(self, frame)
        PrintingListener.on_send(self, frame)
