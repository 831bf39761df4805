"""What does not fit: here the client has no more room than the library gives it by itself."""

from __future__ import annotations

from .scenario import Run, scenario


@scenario(shows={3: "larger-than-the-buffer", 4: "larger-than-the-buffer", 5: "limits larger-than-the-buffer"})
def receives_what_is_larger_than_its_room(run: Run) -> None:
    client = run.connected(own_defaults=True)
    client.subscribe("large", "small", qos=1)
    peer = run.peer()
    peer.publish("large", b"x" * 10_000, qos=1)
    peer.publish("small", b"small", qos=1)
    client.until(lambda: any(event[2] == b"small" for event in client.of("message")))
    client.settle()


@scenario(versions=(4, 5), shows={4: "larger-than-the-outbox", 5: "limits larger-than-the-outbox"})
def publishes_what_is_larger_than_its_room(run: Run) -> None:
    client = run.connected(own_defaults=True)
    client.publish("large", b"x" * 100_000, qos=1)
    client.publish("small", b"x", qos=1)


@scenario(versions=(4, 5), shows={4: "full-outbox", 5: "limits full-outbox"})
def publishes_more_messages_than_it_has_room_for(run: Run) -> None:
    client = run.connected(own_defaults=True)
    for number in range(300):
        client.publish(f"a/{number}", b"1", qos=1, wait=False)
    for _, number, answer in client.calls:
        if answer == "ok":
            client.completed(number)


@scenario(versions=(4, 5), shows={4: "full-requests", 5: "limits full-requests"})
def subscribes_more_often_than_it_has_room_for(run: Run) -> None:
    client = run.connected(own_defaults=True)
    for number in range(20):
        client.subscribe(f"a/{number}", wait=False)
    granted = sum(answer == "ok" for _, _, answer in client.calls)
    client.until(lambda: len(client.of("subscribed")) == granted)
