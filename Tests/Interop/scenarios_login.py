"""User names and passwords, and what a server refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

from Support.servers import need

from .scenario import Run, scenario

WITNESS = ("witness", "seen")


def passwords(directory: Path) -> dict[str, object]:
    """A password_file with two users, and an acl_file that keeps one of them from `closed`."""
    file, rules = directory / "passwords", directory / "rules"
    file.touch()
    for user, password in (WITNESS, ("gateway", "s3cret")):
        subprocess.run([need("mosquitto_passwd"), "-b", file, user, password], check=True, capture_output=True)
    rules.write_text("user witness\ntopic readwrite #\nuser gateway\ntopic readwrite open/#\ntopic read open/#\n")
    for path in (file, rules):
        path.chmod(0o600)
    return dict(allow_anonymous="false", password_file=file, acl_file=rules)


@scenario(files=passwords, login=WITNESS)
def logs_in(run: Run) -> None:
    run.connected(user="gateway", password=b"s3cret").publish("open/a", b"1", qos=1)


@scenario(files=passwords, login=WITNESS, shows="refusal-told-twice")
def has_the_wrong_password(run: Run) -> None:
    run.client(user="gateway", password=b"secret").connect()


@scenario(files=passwords, login=WITNESS, shows="refusal-told-twice")
def is_not_known(run: Run) -> None:
    run.client(user="gatehouse", password=b"s3cret").connect()


@scenario(files=passwords, login=WITNESS, shows="refusal-told-twice")
def is_anonymous_where_nobody_may_be(run: Run) -> None:
    run.client().connect()


@scenario(files=passwords, login=WITNESS, shows="refusal-told-twice")
def is_refused_twice(run: Run) -> None:
    client = run.client(user="gateway", password=b"secret")
    client.connect()
    client.connect()


@scenario()
def has_a_user_name_alone(run: Run) -> None:
    run.connected(user="gateway")


@scenario()
def has_a_password_alone(run: Run) -> None:
    if client := run.client(password=b"s3cret"):
        client.connect()


@scenario(versions=(4, 5), shows="empty-password")
def has_an_empty_password(run: Run) -> None:
    run.connected(user="gateway", password=b"")


@scenario(versions=(4, 5))
def has_a_user_name_that_is_not_ascii(run: Run) -> None:
    run.connected(user="gäteway", password=b"s\xc3\xa4cret")


def denied(run: Run, qos: int) -> None:
    """Mosquitto answers and hangs up."""
    client = run.connected(user="gateway", password=b"s3cret")
    client.publish("closed/a", b"1", qos=qos, wait=False)
    client.until(lambda: not client.is_up)


@scenario(files=passwords, login=WITNESS)
def publishes_what_it_may_not_with_qos_1(run: Run) -> None:
    denied(run, 1)


@scenario(versions=(5,), files=passwords, login=WITNESS)  # before 5.0 it is chance whether PUBREL is still sent
def publishes_what_it_may_not_with_qos_2(run: Run) -> None:
    denied(run, 2)


@scenario(files=passwords, login=WITNESS)
def subscribes_to_what_it_may_not(run: Run) -> None:
    client = run.connected(user="gateway", password=b"s3cret")
    client.subscribe("closed/a", qos=1)
    client.subscribe("open/a", qos=1)
