# SPDX-License-Identifier: ISC
"""What administrators are told of sessions that survive: the log of events,
and who(1)."""

import platform
import struct
import time
from pathlib import Path

import pytest
from sshwire import CHANNEL_DATA, CHANNEL_REQUEST, CHANNEL_SUCCESS
from survive import YES, begin, needed, reset, resume
from test_events import lines_of, of

import harness
from harness import LONG, ME, meeting_place, wait_for

pytestmark = needed("sshd")


@pytest.fixture
def served(make_server, tmp_path):
    """served(params): a server, and its log of events."""
    def make(params=""):
        log = tmp_path / "events"
        return make_server(f"{YES}{params}\nEventLog file:{log}\n"), log
    return make


def lose(session, server, count=1):
    reset(session.wire)
    assert wait_for(lambda: server.log_text().count("is detached") == count,
                    LONG)


def ends(server):
    assert wait_for(lambda: not server.connections(), LONG)


def told(log, conn):
    """The events of that connection, beside its first and last."""
    return [e for e in lines_of(log) if e["conn"] == conn][2:-1]


# ---- the log of events ---------------------------------------------------

def test_detached_and_resumed(served, key):
    """One line each; the connection it goes on over has lines of its own."""
    server, log = served(" time:2")
    session = begin(server, key)
    conn = of(lines_of(log), "conn-open")[0]["conn"]
    lose(session, server)
    time.sleep(.3)
    wire = resume(server, session, address="127.0.0.2")[1]
    assert wait_for(lambda: of(lines_of(log), "conn-resumed"), LONG)
    port = wire.sock.getsockname()[1]
    lose(session, server, 2)
    ends(server)
    lost, back, again, gone = told(log, conn)
    assert [e["event"] for e in (lost, back, again, gone)] == [
        "conn-detached", "conn-resumed", "conn-detached", "conn-given-up"]
    assert {e["user"] for e in (lost, back, again, gone)} == {ME}
    assert lost["why"] == again["why"] == "lost"
    assert (back["new_peer"], back["new_port"]) == ("127.0.0.2", port)
    assert .3 <= back["seconds"] < gone["seconds"] + LONG
    assert gone["why"] == "time" and gone["seconds"] >= 2
    other = [e for e in lines_of(log)
             if e["conn"] != conn and e["port"] == port]
    assert [(e["event"], e.get("method")) for e in other] == [
        ("conn-open", None), ("auth", "resume@hpnssh.org"),
        ("conn-close", None)]


def test_the_old_one_is_there(served, key):
    server, log = served()
    session = begin(server, key)
    old, wire = session.wire, resume(server, session)[1]
    assert old.was_ended() is not None
    assert wait_for(lambda: of(lines_of(log), "conn-resumed"), LONG)
    assert [e["why"] for e in of(lines_of(log), "conn-detached")] == ["moved"]
    wire.say(1, 11, "goodbye", "")
    ends(server)
    assert not of(lines_of(log), "conn-given-up")


def test_refused_by_the_rules_of_today(served, key):
    server, log = served()
    session = begin(server, key)
    lose(session, server)
    server.authorized.write_text("")
    assert isinstance(resume(server, session)[0], str)
    ends(server)
    assert [e["why"] for e in of(lines_of(log), "conn-given-up")] == [
        "refused"]


def test_one_too_many(served, key):
    server, log = served(" max:1")
    sessions = [begin(server, key) for _ in range(2)]
    for i, session in enumerate(sessions):
        lose(session, server, i + 1)
    assert wait_for(lambda: of(lines_of(log), "conn-given-up"), LONG)
    assert [e["why"] for e in of(lines_of(log), "conn-given-up")] == ["max"]


# ---- who is there --------------------------------------------------------

def records_alone():
    """A command line that runs a server with a /run of its own, where there
    are records of who is logged in."""
    script = ('mkdir -m 700 -p "$1" && mount -t tmpfs -o mode=755 none /run && '
              'mkdir -m 755 /run/sshd && touch /run/utmp && '
              'mkdir -m 700 -p "$1" && mount -t tmpfs -o mode=700 none "$1" && '
              'shift && exec "$@"')
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", script,
            "sh", str(meeting_place())]


def hosts_of(server, kind=7):
    """The hosts of the records of that kind (7: of users who are there)."""
    data = Path(f"/proc/{server.process.pid}/root/run/utmp").read_bytes()
    return [data[at + 76:at + 332].rstrip(b"\0").decode()
            for at in range(0, len(data), 384)
            if struct.unpack_from("h", data, at)[0] == kind]


@pytest.mark.skipif(bool(harness.mount_problem()),
                    reason=harness.mount_problem() or "")
@pytest.mark.skipif(platform.machine() != "x86_64",
                    reason="records are read as they are on x86-64")
def test_who(make_server, key):
    """The record of a terminal says that the session is detached, and then
    from where its user came back."""
    server = make_server(YES, within=records_alone())
    session = begin(server, key)
    wire = session.wire
    peer, _, _ = wire.open_session(0)
    wire.say(CHANNEL_REQUEST, peer, "pty-req", True, "vt100", 80, 24, 0, 0, "")
    wire.expect(CHANNEL_SUCCESS)
    wire.say(CHANNEL_REQUEST, peer, "exec", True, "echo here; sleep 60")
    wire.expect(CHANNEL_SUCCESS)
    wire.expect(CHANNEL_DATA)
    first = hosts_of(server)
    assert len(first) == 1 and first[0]
    lose(session, server)
    assert hosts_of(server) == [f"{first[0]} [detached]"]
    resume(server, session, address="127.0.0.2")
    assert wait_for(lambda: hosts_of(server) == ["127.0.0.2"], LONG)
    lose(session, server, 2)
    assert hosts_of(server) == ["127.0.0.2 [detached]"]
    resume(server, session)
    assert wait_for(lambda: hosts_of(server) == first, LONG)
    session.wire.say(1, 11, "goodbye", "")
    ends(server)
    assert hosts_of(server) == [] and len(hosts_of(server, 8)) == 1
