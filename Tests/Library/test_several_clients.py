"""Several clients in one process."""

from __future__ import annotations

import threading

from Support import smq
from Support.waiting import PATIENCE


def test_clients_in_threads_of_their_own(mosquitto, clients):
    """Clients share nothing: each thread has its client, and no lock."""
    made = [clients(url=mosquitto.url, outbox_messages=1000) for _ in range(6)]
    failures: list[BaseException] = []

    def work(client: smq.Client) -> None:
        try:
            client.connected()
            for number in range(500):
                assert client.publish("a", b"x", qos=1 + number % 2, cookie=number) == smq.OK
            client.until(lambda: len(client.completions()) == 500)
            assert [e.cookie for e in client.completions() if e.status] == []
            client.leave()
        except BaseException as failure:  # noqa: BLE001: it is raised again where it is seen
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(client,)) for client in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert failures == []


def test_two_clients_in_one_process(clients, mosquitto, start_mosquitto):
    """Each has its own options."""
    other = start_mosquitto()
    first, second = clients(url=mosquitto.url, client_id="one"), clients(url=other.url, client_id="two", protocol=5)
    first.connected()
    second.connected()
    first.subscribed("a")
    second.subscribed("a")
    mosquitto.publish("a", "first")
    other.publish("a", "second")
    assert (first.message().payload, second.message().payload) == (b"first", b"second")
    assert (first.id, second.id) == (b"one", b"two")
