"""The option inspect: a socket at which other programs look at the client."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import swiftmqtt
from Support.inspection import Reader
from Support.waiting import wait_for


def test_what_a_client_does_can_be_read(mosquitto, tmp_path: Path):
    """In the client's own thread, while the program does something else."""
    with swiftmqtt.Client(mosquitto.url, inspect=tmp_path / "s", inspect_mode=0o640, client_id="python") as client:
        reader = Reader(str(tmp_path / "s"))
        wait_for(reader.ask())
        client.publish("inspected", "seen", qos=1).wait(20)
        wait_for(reader.has(lambda reader: any(packet.data[-4:] == b"seen" for packet in reader.packets)))
        wait_for(reader.ask())
        assert reader.numbers["messages_completed"] == 1 and reader.names == ["python"]
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o640
    assert not (tmp_path / "s").exists()
    reader.close()


def test_a_socket_that_cannot_be_made(tmp_path: Path):
    with pytest.raises(swiftmqtt.ArgumentError) as caught:
        swiftmqtt.Client("mqtt://127.0.0.1", inspect=str(tmp_path / "none" / "s"))
    assert caught.value.status == swiftmqtt.Status.INSPECT and caught.value.os_error == errno.ENOENT
    assert "No such file or directory" in str(caught.value)


def test_a_path_that_is_too_long():
    with pytest.raises(swiftmqtt.ArgumentError, match="inspect"):
        swiftmqtt.Client("mqtt://127.0.0.1", inspect="s" * 108)


def test_a_journal_whose_path_is_a_path(tmp_path: Path):
    client = swiftmqtt.Client("mqtt://127.0.0.1:1", journal=tmp_path / "j", keep_session=True, client_id="a", run=False)
    assert (tmp_path / "j").exists()
    client.close()
