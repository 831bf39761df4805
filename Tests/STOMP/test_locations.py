"""examples-c/locations/locationd: where its fixes come from and which of them it sends, with tables and without a broker; its
positions and texts with real brokers; how it leaves."""

from __future__ import annotations

import functools
import json
import operator
import os
import signal
import socket
import subprocess
import uuid
from datetime import datetime, timedelta, timezone

import pytest

from Support.servers import free_port, need
from Support.waiting import PATIENCE, wait_for

from .conftest import BUILD
from .peer import Client, Peer

PROGRAM = str(BUILD / "examples" / "locations" / "locationd")
METRES = 111195.08  # in a degree of latitude, on the sphere of fix.h
WHOLE = ("--speed", "0", "--as-recorded", "--max-age", "0", "--distance", "0")  # each fix of a file, at once, as it is
EXPECTED_TYPE = "application/json;charset=utf-8"


def dry(*arguments: str, status: int = 0) -> list[dict]:
    """The positions that it would send."""
    done = subprocess.run([PROGRAM, "--dry", "--id", "gw", *arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == status, done.stderr
    positions = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(position.keys() == {"deviceID", "lat", "lng", "ts"} for position in positions)
    return positions


def places(positions: list[dict]) -> list[tuple]:
    return [(round(p["lat"], 5), round(p["lng"], 5), p["ts"].removesuffix(".000Z")) for p in positions]


# ---- NMEA 0183


def nmea(body: str) -> str:
    return f"${body}*{functools.reduce(operator.xor, body.encode()):02X}"


def rmc(time="120000.00", state="A", latitude="4807.038,N", longitude="01131.000,E", date="040526", talker="GP") -> str:
    return nmea(f"{talker}RMC,{time},{state},{latitude},{longitude},022.4,084.4,{date},003.1,W")


def gga(time="120001.00", quality="1", latitude="4807.100,N", longitude="01131.100,E") -> str:
    return nmea(f"GPGGA,{time},{latitude},{longitude},{quality},08,0.9,545.4,M,46.9,M,,")


HERE = (48.1173, 11.51667, "2026-05-04T12:00:00")
GOOD_NMEA = {
    "RMC": ([rmc()], [HERE]),
    "another talker": ([rmc(talker="GN")], [HERE]),
    "a newer RMC, with the mode": ([nmea("GPRMC,120000.00,A,4807.038,N,01131.000,E,0,0,040526,,,A")], [HERE]),
    "NMEA 4.1": ([nmea("GPRMC,120000.00,A,4807.038,N,01131.000,E,0,0,040526,,,A,V")], [HERE]),
    "a checksum in small letters": ([nmea("GPRMC,120007.00,A,4807.038,N,01131.000,E,0,0,040526,,").lower().replace(
        "gprmc", "GPRMC").replace(",a,", ",A,").replace(",n,", ",N,").replace(",e,", ",E,")],
        [(48.1173, 11.51667, "2026-05-04T12:00:07")]),
    "south and west": ([rmc(latitude="3357.000,S", longitude="15112.600,W")], [(-33.95, -151.21, HERE[2])]),
    "the poles and the date line": ([rmc(latitude="9000.000,N", longitude="18000.000,W")], [(90, -180, HERE[2])]),
    "no fraction": ([rmc(time="120000")], [HERE]),
    "the last century": ([rmc(date="311299")], [(*HERE[:2], "1999-12-31T12:00:00")]),
    "a leap day": ([rmc(date="290228")], [(*HERE[:2], "2028-02-29T12:00:00")]),
    "GGA takes the date of RMC": ([rmc(), gga()], [HERE, (48.11833, 11.51833, "2026-05-04T12:00:01")]),
    "GGA before any date": ([gga(), rmc()], [HERE]),
    "RMC and GGA of one moment are one fix": ([rmc(), gga(time="120000.00")], [HERE]),
    "GGA past midnight": ([rmc(time="235959"), gga(time="000000")],
                          [(*HERE[:2], "2026-05-04T23:59:59"), (48.11833, 11.51833, "2026-05-05T00:00:00")]),
    "others between": ([nmea("GPGSV,1,1,00"), "noise", "", rmc(), nmea("PGRME,15.0,M")], [HERE]),
}


@pytest.mark.parametrize("lines, expected", GOOD_NMEA.values(), ids=GOOD_NMEA)
def test_good_nmea(tmp_path, lines, expected):
    file = tmp_path / "track.nmea"
    file.write_text("".join(f"{line}\r\n" for line in lines))
    assert places(dry("--nmea", str(file), *WHOLE)) == expected


BAD_NMEA = {
    "a wrong checksum": rmc()[:-2] + "00",
    "no checksum": rmc().partition("*")[0],
    "half a checksum": rmc()[:-1],
    "more than a checksum": rmc() + "0",
    "a checksum that is no number": rmc()[:-2] + "G0",
    "no dollar": rmc()[1:],
    "a changed digit": rmc().replace("4807", "4808"),
    "the receiver warns": rmc(state="V"),
    "another state": rmc(state="B"),
    "no state": rmc(state=""),
    "no place": rmc(latitude=",", longitude=","),
    "north of the pole": rmc(latitude="9000.001,N"),
    "60 minutes": rmc(latitude="4860.000,N"),
    "east of the date line": rmc(longitude="18000.001,E"),
    "a direction that is none": rmc(latitude="4807.038,E"),
    "a letter": rmc(latitude="48O7.038,N"),
    "not a number": rmc(latitude="48nan,N"),
    "hexadecimal": rmc(latitude="480x7,N"),
    "a sign": rmc(latitude="48-7.038,N"),
    "two points": rmc(latitude="4807.0.8,N"),
    "25 o'clock": rmc(time="250000"),
    "a short time": rmc(time="1200"),
    "a fraction that is none": rmc(time="120000.x"),
    "31 February": rmc(date="310226"),
    "29 February": rmc(date="290226"),
    "month 13": rmc(date="041326"),
    "no date": rmc(date=""),
    "too few fields": nmea("GPRMC,120000,A,4807.038,N"),
    "too many fields": nmea("GPRMC" + "," * 40),
    "too long": nmea("GPRMC,120000,A,4807." + "0" * 100 + ",N,01131.000,E,0,0,040526,,"),
    "no talker": nmea("RMC,120000,A,4807.038,N,01131.000,E,0,0,040526,,"),
}


@pytest.mark.parametrize("line", BAD_NMEA.values(), ids=BAD_NMEA)
def test_bad_nmea(tmp_path, line):
    """It says nothing, and what follows counts."""
    file = tmp_path / "track.nmea"
    file.write_text(f"{line}\r\n{rmc(time='120500')}\r\n")
    assert places(dry("--nmea", str(file), *WHOLE)) == [(*HERE[:2], "2026-05-04T12:05:00")]


@pytest.mark.parametrize("sentence", [gga(quality="0"), gga(quality=""), gga(quality="9"), gga(time="")],
                         ids=["no fix", "no quality", "an unknown quality", "no time"])
def test_bad_gga(tmp_path, sentence):
    file = tmp_path / "track.nmea"
    file.write_text(f"{rmc()}\n{sentence}\n")
    assert places(dry("--nmea", str(file), *WHOLE)) == [HERE]


# ---- GPX


def gpx(*points: str) -> str:
    return f'<?xml version="1.0"?>\n<gpx version="1.1"><trk><trkseg>{"".join(points)}</trkseg></trk></gpx>'


def point(latitude: object, longitude: object, time: str = "") -> str:
    inside = f"<ele>5</ele><time>{time}</time>" if time else ""
    return f'<trkpt lat="{latitude}" lon="{longitude}">{inside}</trkpt>'


NOON = "2026-05-04T12:00:00Z"
GOOD_GPX = {
    "a track": (gpx(point(48.1, 11.5, NOON)), [(48.1, 11.5, NOON[:-1])]),
    "a zone": (gpx(point(48.1, 11.5, "2026-05-04T14:00:00+02:00")), [(48.1, 11.5, NOON[:-1])]),
    "a zone in the west": (gpx(point(48.1, 11.5, "2026-05-04T02:30:00-09:30")), [(48.1, 11.5, NOON[:-1])]),
    "a fraction": (gpx(point(48.1, 11.5, "2026-05-04T12:00:00.25Z")), [(48.1, 11.5, "2026-05-04T12:00:00.250Z")]),
    "without times": (gpx(point(1, 2), point(3, 4)), [(1, 2, "1970-01-01T00:00:00"), (3, 4, "1970-01-01T00:00:01")]),
    "a time that is none": (gpx(point(1, 2, NOON), point(3, 4, "noon")), [(1, 2, NOON[:-1]), (3, 4, "2026-05-04T12:00:01")]),
    "a route": (f'<gpx><rte><rtept lat="1" lon="2"><time>{NOON}</time></rtept></rte></gpx>', [(1, 2, NOON[:-1])]),
    "no inside": (gpx('<trkpt lat="1" lon="2"/>'), [(1, 2, "1970-01-01T00:00:00")]),
    "other quotes, order and spaces": (gpx(f"<trkpt\n x='lat=\"9\"' lon = '2'\tlat='1' ><time> {NOON} </time></trkpt>"),
                                       [(1, 2, NOON[:-1])]),
    "times that are not of points": (f"<gpx><metadata><time>2000-01-01T00:00:00Z</time></metadata>{gpx(point(1, 2, NOON))}",
                                     [(1, 2, NOON[:-1])]),
    "a comment and CDATA": (gpx(f"<!-- {point(8, 8, NOON)} --><name><![CDATA[{point(9, 9, NOON)}]]></name>", point(1, 2, NOON)),
                            [(1, 2, NOON[:-1])]),
    "points that are none": (gpx(point(91, 0, NOON), point(0, 181, NOON), point("nan", 0, NOON), point("", 0, NOON),
                                 "<trkpt lat='1'></trkpt>", point(1, 2, NOON)), [(1, 2, NOON[:-1])]),
    "an end in the middle": (gpx(point(1, 2, NOON), point(3, 4, NOON))[:-60], [(1, 2, NOON[:-1])]),
    "another file": ("hello", []),
    "an empty file": ("", []),
    "an open comment": ("<gpx><!-- " + point(1, 2, NOON), []),
}


@pytest.mark.parametrize("text, expected", GOOD_GPX.values(), ids=GOOD_GPX)
def test_gpx(tmp_path, text, expected):
    file = tmp_path / "track.gpx"
    file.write_text(text)
    assert places(dry("--gpx", str(file), *WHOLE)) == expected


def test_a_file_is_played_as_if_now_and_again(tmp_path):
    """In its own time, twenty times as fast, twice."""
    file = tmp_path / "track.gpx"
    file.write_text(gpx(point(1, 2, NOON), point(1, 3, "2026-05-04T12:00:01Z")))
    before = datetime.now(timezone.utc) - timedelta(seconds=1)
    positions = dry("--gpx", str(file), "--loop", "--count", "4", "--distance", "0", "--speed", "20")
    assert [(p["lat"], p["lng"]) for p in positions] == [(1, 2), (1, 3)] * 2
    times = [datetime.fromisoformat(p["ts"].replace("Z", "+00:00")) for p in positions]
    assert times == sorted(times) and before < times[0] and times[-1] - times[0] == timedelta(milliseconds=150)


# ---- Which fixes are sent


@pytest.mark.parametrize("distance, interval, sent", [
    ("0", "86400", [0, 1, 2, 3, 4, 5, 6]),
    ("100", "86400", [0, 3, 6]),
    ("1000", "20", [0, 3, 5, 6]),
    ("1e6", "30", [0, 4, 6]),
    ("100", "20", [0, 3, 5, 6]),
    ("1e6", "86400", [0, 6]),
])
def test_the_filter(tmp_path, distance, interval, sent):
    """By the distance from the last one that was sent, or the time since then. At the end the clock was set back."""
    track = [(0, 0), (10, 60), (15, 99), (20, 101), (30, 101), (40, 101), (-500, 101 + 101)]
    noon = datetime(2026, 5, 4, 12, tzinfo=timezone.utc)
    points = [point(48 + metres / METRES, 11, (noon + timedelta(seconds=seconds)).isoformat()) for seconds, metres in track]
    file = tmp_path / "track.gpx"
    file.write_text(gpx(*points))
    positions = dry("--gpx", str(file), *WHOLE, "--distance", distance, "--interval", interval)
    found = [(round((p["lat"] - 48) * METRES), p["ts"]) for p in positions]
    assert found == [(track[i][1], (noon + timedelta(seconds=track[i][0])).strftime("%Y-%m-%dT%H:%M:%S.000Z")) for i in sent]


@pytest.mark.parametrize("age, most, count", [(3600, "30", 0), (3600, "7200", 1), (3600, "0", 1), (0, "600", 1), (-3600, "30", 0)])
def test_stale_fixes(tmp_path, age, most, count):
    """Those that are too old, and those of a clock that is wrong."""
    file = tmp_path / "track.gpx"
    time = datetime.now(timezone.utc) - timedelta(seconds=age)
    file.write_text(gpx(point(1, 2, time.isoformat(timespec="seconds"))))
    assert len(dry("--gpx", str(file), "--as-recorded", "--max-age", most)) == count


def test_simulated():
    one, other = (dry("--simulate", "--id", name, "--count", "20", "--speed", "0", "--start=-33.9,151.2") for name in "ab")
    assert all(abs(p["lat"] + 33.9) < .005 and abs(p["lng"] - 151.2) < .005 for p in one + other)
    assert len({(p["lat"], p["lng"]) for p in one + other}) == 40


@pytest.mark.parametrize("arguments", [
    [], ["--simulate", "--gpx", "x"], ["--simulate", "more"], ["--simulate", "--id", "a.b"], ["--simulate", "--id", ""],
    ["--simulate", "--id", "x" * 65], ["--simulate", "--distance", "-1"], ["--simulate", "--distance", "1x"],
    ["--simulate", "--interval", ""], ["--simulate", "--max-age", "nan"], ["--simulate", "--count", "1.5"],
    ["--simulate", "--speed", "inf"], ["--simulate", "--start", "1"], ["--simulate", "--start", "90,0"],
    ["--simulate", "--confirm", "maybe"], ["--simulate", "--baud", "1"], ["--simulate", "--header", "x"],
    ["--simulate", "--header", "receipt:1"], ["--gpx", "/nowhere"], ["--gpsd", "[::1"], ["--gpsd", ":1"],
    ["--gpsd", "127.0.0.1:x"], ["--simulate", "--url", "http://x"], ["--nonsense"]], ids=" ".join)
def test_options_that_are_wrong(arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2 and done.stderr and not done.stdout


def test_help():
    done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0 and "--on-text PROGRAM" in done.stdout


# ---- Sensors that live


@pytest.fixture
def device(run):
    """Starts a locationd."""
    def start(*arguments: str, id: str = "gw"):
        return run("locationd", "--id", id, *arguments, folder="locations")

    return start


def stamp(age: float = 0) -> dict[str, str]:
    time = datetime.now(timezone.utc) - timedelta(seconds=age)
    return {"time": time.strftime("%H%M%S.") + f"{time.microsecond // 1000:03}", "date": time.strftime("%d%m%y")}


@pytest.fixture
def receiver():
    """A terminal device: what is written to it, a GPS receiver has said."""
    ours, theirs = os.openpty()
    path = os.ttyname(theirs)
    yield path, lambda *lines: os.write(ours, "".join(f"{line}\r\n" for line in lines).encode())
    os.close(ours)
    os.close(theirs)


def test_a_serial_line(receiver, device):
    path, say = receiver
    program = device("--nmea", path, "--baud", "9600", "--distance", "0", "--max-age", "7200", "--dry")
    say(rmc(**stamp()), rmc(**stamp(86400)), rmc(**stamp(), state="V"))
    program.says('"lat":48.1173000,"lng":11.5166667')
    program.complains("the receiver has no fix")
    assert "stale fixes are dropped" in program.complained
    program.send_signal(signal.SIGUSR1)  # what is the newest is still fresh
    program.says('"lat":48.1173000', 2)
    say("half a ", rmc(**stamp(), latitude="4900.000,N"))
    program.says('"lat":49.0000000')
    assert program.end() == 0 and program.said.count("\n") == 3


def test_a_device_that_comes_later(tmp_path, device):
    path = tmp_path / "receiver"
    program = device("--nmea", str(path), "--dry", "--max-age", "7200")
    program.complains("cannot be opened")
    ours, theirs = os.openpty()
    path.symlink_to(os.ttyname(theirs))
    os.write(ours, f"{rmc(**stamp())}\r\n".encode())
    program.says('"lat":48.1173000')
    os.close(ours)
    os.close(theirs)
    program.complains("it was closed")
    assert program.end() == 0


TPV = '{"class":"TPV","device":"/dev/x","mode":3,"time":"2026-05-04T12:00:00.000Z","lat":48.5,"lon":11.25,"eph":3.1}'


def test_gpsd(device):
    """Reports that are none are skipped, and a gpsd that goes comes back."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = device("--gpsd", f"127.0.0.1:{port}", "--max-age", "0", "--distance", "0", "--dry")
        for latitude in (48.5, 49.5):
            server.settimeout(PATIENCE)
            connection, _ = server.accept()
            with connection, connection.makefile("rw") as gpsd:
                assert json.loads(gpsd.readline().removeprefix("?WATCH=").rstrip(";\n")) == {"enable": True, "json": True}
                others = [
                    '{"class":"VERSION","release":"3.22"}', "", "noise", "{", '{"class":"TPV"', "x" * 40000,
                    '{"class":"SKY","satellites":[{"class":"TPV","mode":3,"lat":1,"lon":1}]}',
                    TPV.replace("48.5", "91"), TPV.replace("48.5", '"48.5x"'), TPV.replace("11.25", "181"),
                    TPV.replace('"lat":48.5,', ""), TPV.replace('"lat":48.5', '"x":{"lat":48.5}'),
                    TPV.replace('"time":"2026-05-04T12:00:00.000Z",', ""), TPV.replace("05-04T", "05-32T")]
                gpsd.write("".join(f"{line}\r\n" for line in [*others, TPV.replace("48.5", str(latitude))]))
                gpsd.flush()
                program.says(f'"lat":{latitude}')
                gpsd.write(TPV.replace('"mode":3', '"mode":1') + "\n")
                gpsd.flush()
                program.complains("the receiver has no fix", 1 if latitude == 48.5 else 2)
    assert program.end() == 0
    assert [json.loads(line)["lng"] for line in program.said.splitlines()] == [11.25, 11.25]


def test_gpsd_by_gpsfake(tmp_path, device):
    """The real one, with a track of our own."""
    gpsfake, port = need("gpsfake", "locations-test"), free_port()
    need("/usr/sbin/gpsd", "locations-test")
    track = tmp_path / "track.nmea"
    moments = [{"time": f"1200{second:02}.00", "latitude": f"48{second:02}.000,N"} for second in range(60)]
    track.write_text("".join(f"{rmc(**moment)}\r\n{gga(longitude='01131.000,E', **moment)}\r\n" for moment in moments))
    environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"}
    with (tmp_path / "gpsfake.log").open("wb") as log:
        fake = subprocess.Popen([gpsfake, "-q", "-c", "0.02", "-P", str(port), str(track)], stdin=subprocess.DEVNULL, stdout=log,
                                stderr=log, env=environment, cwd=tmp_path, start_new_session=True)
    try:
        program = device("--gpsd", f"localhost:{port}", "--max-age", "0", "--distance", "1000", "--count", "3", "--dry")
        assert program.wait(PATIENCE) == 0, program.complained
    finally:
        os.killpg(fake.pid, signal.SIGKILL)
        fake.wait(PATIENCE)
    positions = [json.loads(line) for line in program.said.splitlines()]
    assert len(positions) == 3 and all(48 <= p["lat"] < 49 and abs(p["lng"] - 11.516667) < .001 for p in positions)


# ---- Positions, with brokers


@pytest.fixture
def witness(rabbitmq):
    client = Client(rabbitmq)
    yield client
    client.close()


@pytest.fixture
def name() -> str:
    return uuid.uuid4().hex


def test_positions(broker, device, name, tmp_path):
    client = Client(broker)
    wildcard = type(broker).__name__ != "CoilMQ"
    client.subscribe(f"/topic/device.{'*' if wildcard else name}.location")
    file = tmp_path / "track.gpx"
    file.write_text(gpx(point(48.137154, 11.576124), point(48.2, 11.6)))
    program = device("--gpx", str(file), "--url", broker.url, "--virtual-host", broker.virtual_host, "--header", "country:DE",
                     "--expires", "600", id=name)
    for latitude in (48.137154, 48.2):
        message = client.expect("MESSAGE")
        while name not in message.headers["destination"]:  # of another test that runs
            message = client.expect("MESSAGE")
        assert message.headers["destination"] == f"/topic/device.{name}.location"
        assert message.headers["content-type"] == EXPECTED_TYPE and message.headers["country"] == "DE"
        assert int(message.headers["expires"]) > datetime.now().timestamp() * 1000
        position = json.loads(message.body)
        assert position.pop("ts").endswith("Z")
        assert position == {"deviceID": name, "lat": latitude, "lng": 11.576124 if latitude < 48.2 else 11.6}
    assert program.wait(PATIENCE) == 0, program.complained
    assert "Current position: φ:48.1372, λ:11.5761\nCurrent position: φ:48.2000, λ:11.6000\n" in program.said
    client.close()


def test_on_demand(rabbitmq, witness, device, name, receiver):
    """SIGUSR1; without a position it says so."""
    path, say = receiver
    witness.subscribe(f"/topic/device.{name}.location")
    program = device("--nmea", path, "--url", rabbitmq.url, "--max-age", "7200", id=name)
    program.complains("CONNECTED")
    program.send_signal(signal.SIGUSR1)
    program.says("Current position: ???")
    say(rmc(**stamp()))
    bodies = [witness.expect("MESSAGE").body]
    program.says("Current position: φ:48.1173, λ:11.5167")
    program.send_signal(signal.SIGUSR1)
    bodies.append(witness.expect("MESSAGE").body)
    assert bodies[0] == bodies[1]
    say(rmc(**stamp(), state="V"))
    program.says("Current position: ???", 2)
    say(rmc(**stamp()))  # at the same place, and it is news all the same
    witness.expect("MESSAGE")
    assert program.end() == 0


def test_a_source_that_is_silent(rabbitmq, device, name, receiver):
    path, say = receiver
    program = device("--nmea", path, "--url", rabbitmq.url, "--max-age", "1", id=name)
    program.complains("CONNECTED")
    wait_for(lambda: say(rmc(**stamp())) and "φ" in program.said, "a position")
    program.says("Current position: ???", 1)
    program.complains("the source is silent")
    assert program.end() == 0


def test_leaving_with_a_receipt(device):
    """What is on its way is confirmed first, then DISCONNECT is, and then it ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        program = device("--simulate", "--url", f"stomp://127.0.0.1:{server.getsockname()[1]}")
        peer = Peer(server.accept()[0])
        assert peer.receive().headers["accept-version"] == "1.1,1.2"
        peer.send("CONNECTED", version="1.2")
        frames = {frame.command: frame.headers for frame in (peer.receive(), peer.receive())}
        assert frames["SUBSCRIBE"]["destination"] == "/queue/device.gw.text"
        assert frames["SUBSCRIBE"]["ack"] == "client-individual"
        program.send_signal(signal.SIGTERM)
        peer.send("RECEIPT", receipt_id=frames["SUBSCRIBE"]["receipt"])
        peer.send("RECEIPT", receipt_id=frames["SEND"]["receipt"])
        last = peer.receive()
        assert last.command == "DISCONNECT" and program.poll() is None
        peer.send("RECEIPT", receipt_id=last.headers["receipt"])
        assert peer.closed() and program.wait(PATIENCE) == 0
        peer.close()


def test_leaving_without_a_broker(device):
    program = device("--simulate", "--url", f"stomp://127.0.0.1:{free_port()}")
    program.complains("SST_ERR_NETWORK")
    assert program.end() == 0


# ---- Texts


def left(rabbitmq, name: str) -> list[bytes]:
    """What is still in the device's queue."""
    client = Client(rabbitmq)
    queue = f"/queue/device.{name}.text"
    client.put(queue, b"last")
    client.subscribe(queue)
    bodies = [client.expect("MESSAGE").body]
    while bodies[-1] != b"last":
        bodies.append(client.expect("MESSAGE").body)
    client.close()
    return bodies[:-1]


def test_texts_that_a_person_answers(rabbitmq, witness, device, name):
    program = device("--simulate", "--url", rabbitmq.url, id=name)
    for body in ("hällo".encode(), b"a\x1b[2J\xc2\x9bb", b"third", b"fourth"):
        witness.put(f"/queue/device.{name}.text", body)
    for shown, answer in (("hällo", "y"), ("a?[2J?b", "maybe\ny")):
        program.says(f"Text: {shown}\n")
        assert f"Acknowledged: {shown}" not in program.said
        program.stdin.write(answer + "\n")
        program.stdin.flush()
        program.says(f"Acknowledged: {shown}\n")
    program.complains("y acknowledges the text, n refuses it")
    program.says("Text: third")
    assert program.end() == 0
    assert "fourth" not in program.said  # one after the other
    assert left(rabbitmq, name) == [b"third", b"fourth"]


def test_a_text_that_is_refused_comes_back(rabbitmq, witness, device, name, tmp_path):
    """RabbitMQ delivers it again at once; the program looks at it again after a while."""
    hook, seen, refused = tmp_path / "hook", tmp_path / "seen", tmp_path / "refused"
    hook.write_text(f"#!/bin/sh\ncat >>{seen}\necho >>{seen}\n[ -e {refused} ] || {{ touch {refused}; exit 3; }}\n")
    hook.chmod(0o755)
    witness.put(f"/queue/device.{name}.text", b"once more")
    program = device("--simulate", "--url", rabbitmq.url, "--on-text", str(hook), "--again", "1", id=name)
    program.says("Acknowledged: once more")
    assert program.said.count("Refused: once more") == 1 and seen.read_text() == "once more\n" * 2
    assert program.end() == 0 and left(rabbitmq, name) == []


@pytest.mark.parametrize("hook", ["/nowhere", "/bin/false"])
def test_a_hook_that_fails(rabbitmq, witness, device, name, hook):
    """The text stays the broker's, and nothing runs without end."""
    program = device("--simulate", "--url", rabbitmq.url, "--on-text", hook, id=name)
    witness.put(f"/queue/device.{name}.text", b"stays")
    program.says("Refused: stays")
    program.send_signal(signal.SIGUSR1)
    program.says("Current position: φ")
    assert program.end() == 0 and program.said.count("Refused: stays") == 1
    assert left(rabbitmq, name) == [b"stays"]


def test_texts_that_are_too_large(rabbitmq, witness, device, name):
    program = device("--simulate", "--url", rabbitmq.url, "--confirm", "auto", id=name)
    for body in (b"x" * 4095, b"y" * 4096, b"z" * 100000, b"", b"next"):
        witness.put(f"/queue/device.{name}.text", body)
    program.says("Acknowledged: next")
    assert program.end() == 0
    texts = [line.removeprefix("Text: ") for line in program.said.splitlines() if line.startswith("Text: ")]
    assert texts == ["x" * 4095, "", "next"]
    assert "a text of 4096 bytes is dropped" in program.complained and "a text of 100000 bytes" in program.complained
    assert left(rabbitmq, name) == []


def test_many_texts(rabbitmq, witness, device, name):
    bodies = [f"text {number}" for number in range(100)]
    for body in bodies:
        witness.put(f"/queue/device.{name}.text", body.encode())
    program = device("--simulate", "--url", rabbitmq.url, "--confirm", "auto", id=name)
    program.says(f"Acknowledged: {bodies[-1]}\n")
    assert program.end() == 0
    assert [line for line in program.said.splitlines() if line.startswith("Text: ")] == [f"Text: {body}" for body in bodies]


def test_activemq(brokers, device, name):
    """What is refused goes to its dead letter queue; a client-id is for one at a time."""
    activemq = brokers("ActiveMQ")
    client = Client(activemq)
    client.put(f"/queue/device.{name}.text", name.encode(), persistent="true")
    program = device("--simulate", "--url", activemq.url, "--client-id", id=name)
    program.says(f"Text: {name}")
    second = device("--simulate", "--url", activemq.url, "--client-id", id=name)
    second.complains("SST_ERR_REFUSED")
    assert second.end() == 0
    program.stdin.write("n\n")
    program.stdin.flush()
    program.says(f"Refused: {name}")
    client.subscribe("/queue/ActiveMQ.DLQ", ack="auto")
    while client.expect("MESSAGE").body != name.encode():
        pass  # of another test
    assert program.end() == 0
    client.close()
