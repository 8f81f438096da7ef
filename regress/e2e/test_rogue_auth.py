# SPDX-License-Identifier: ISC
"""An hpnsshd-auth that was taken over, against sessions that survive, tickets
and grants: whatever it asks the monitor for, in any order, it has nothing that
its client has not proved, and nobody else loses anything by it."""

import contextlib
import os
import random
import socket
import threading

import pytest
from rogue_auth import HAND_OVER, LOG, OF_THE_SESSION, SIGN, TRY, USER, Rogue
from sshwire import USERAUTH_FAILURE, Closed, Reader, string
from survive import METHOD as RESUME
from survive import YES as SURVIVE
from survive import begin, needed, request, reset, resume
from test_survive_server import works
from tickets import METHOD as TICKET
from tickets import ask, log_in, reach, redeem

import harness
from harness import LONG, ME

pytestmark = needed("sshd")
YES = (f"{SURVIVE}\nLoginTickets yes\nPerSourcePenalties no\n"
       "MaxStartups 100\n")
STORIES = int(os.environ.get("HPN_ROGUE_STORIES", "4"))
REFUSED = "no place in phase"


@pytest.fixture
def rogue(tmp_path):
    return Rogue(tmp_path / "rogue", harness.program("hpn", "sshd-auth"))


@pytest.fixture
def server(make_server, rogue):
    return make_server(f"{YES}SshdAuthPath {rogue.program}\n")


def log_since(server, mark):
    return server.log.read_bytes()[mark:].decode(errors="replace")


def mark_of(server):
    return server.log.stat().st_size


def detached(server, session):
    reset(session.wire)
    assert harness.wait_for(lambda: server.log_text().rstrip().endswith(
        "is detached: connection lost"), LONG)


def cut(server, session, **kw):
    """A return that comes to nothing, by its client's own connection."""
    with contextlib.suppress(Closed, AssertionError, OSError):
        wire = reach(server)
        with contextlib.closing(wire):
            wire.send(request(wire, session, **kw)[0])
            while wire.recv()[0] != USERAUTH_FAILURE:
                pass


def knock(server):
    """A connection that says nothing of its own."""
    with contextlib.suppress(OSError):
        with socket.create_connection(("127.0.0.1", server.port), LONG) as s:
            s.sendall(b"SSH-2.0-x\r\n")
            while s.recv(4096):
                pass


def comes_back(server, rogue, session, channel=0):
    rogue.plan()
    got, wire = resume(server, session)
    assert isinstance(got, int), got
    works(wire, number=channel)


def kinds(rogue):
    return [r[0] for r in rogue.requests() if r[0] != LOG]


def has_said(rogue, *these):
    """A connection that asked for these has ended, or hangs."""
    return harness.wait_for(lambda: (rogue.place / "said").exists() and
                            kinds(rogue) == list(these), LONG)


def test_one_that_changes_nothing(server, rogue, key):
    """What stands between the two programs breaks nothing by itself."""
    session = begin(server, key)
    assert has_said(rogue, SIGN, USER, TRY, HAND_OVER), kinds(rogue)
    detached(server, session)
    comes_back(server, rogue, session)


def test_what_was_said_before(server, rogue, key):
    """It knows all that was said for a return and for a ticket, the hashes of
    those connections too, and says it again."""
    session = begin(server, key)
    detached(server, session)
    first = log_in(server, key)
    ticket = ask(first, 1)[0]
    comes_back(server, rogue, session)
    assert has_said(rogue, SIGN, USER, TRY, HAND_OVER)
    back = rogue.requests()
    rogue.plan()
    got, wire = redeem(server, ticket)
    assert got == "yes"
    assert has_said(rogue, SIGN, USER, TRY, HAND_OVER)
    ticketed = rogue.requests()
    for name, said, why in ((RESUME, back, "the proof is wrong"),
                            (TICKET, ticketed, "unknown")):
        assert any(r[0] == TRY for r in said)
        rogue.plan(script=said)
        mark = mark_of(server)
        knock(server)
        log = log_since(server, mark)
        assert why in log and f"Accepted {name}" not in log, log
        assert REFUSED in log, log  # the state that it hands over
    rogue.plan()
    works(session.wire, number=1)
    wire.open_session()


@pytest.mark.parametrize("kind", OF_THE_SESSION)
def test_requests_of_the_session(server, rogue, key, kind):
    """They are not for hpnsshd-auth, also when its client is let in."""
    session = begin(server, key)
    detached(server, session)
    for at in (SIGN, USER, TRY, HAND_OVER):
        rogue.plan(at=at, before=[bytes([kind]) + bytes(16)])
        mark = mark_of(server)
        cut(server, session)
        log = log_since(server, mark)
        assert f"request {kind} has {REFUSED}" in log and \
            "goes on from" not in log, log
    comes_back(server, rogue, session)


@pytest.mark.parametrize("then", ["end", "hang"])
@pytest.mark.parametrize("at", [SIGN, USER, TRY, HAND_OVER])
def test_ends_or_hangs(server, rogue, key, at, then):
    """At any place of a return, which may be one that was let in: the next
    connection of that client has the session."""
    session = begin(server, key)
    detached(server, session)
    rogue.plan(at=at, instead=[], then=then)
    late = threading.Thread(target=cut, args=(server, session), daemon=True)
    late.start()
    before = (SIGN, USER, TRY, HAND_OVER)
    assert has_said(rogue, *before[:before.index(at)])
    comes_back(server, rogue, session)


def test_a_state_that_is_none(server, rogue, key):
    """It hands over what is no state of a connection: the session waits for
    another one."""
    session = begin(server, key)
    detached(server, session)
    comes_back(server, rogue, session)
    assert has_said(rogue, SIGN, USER, TRY, HAND_OVER)
    good = Reader(rogue.requests()[-1][1:])
    packet, kex = good.string(), good.string()
    detached(server, session)
    for state in ((b"", b""), (packet, b""), (b"", kex), (packet[:-1], kex),
                  (packet, kex[:-1]), (kex, packet), (bytes(100), bytes(100)),
                  (packet[:1] + os.urandom(1 << 20), kex)):
        rogue.plan(at=HAND_OVER, instead=[
            bytes([HAND_OVER]) + string(state[0]) + string(state[1])])
        mark = mark_of(server)
        cut(server, session)
        assert harness.wait_for(
            lambda: "is not handed over" in log_since(server, mark)), \
            log_since(server, mark)
    comes_back(server, rogue, session, channel=1)


def test_of_another_user(server, rogue, key):
    """The name that it tells is not the one that its client's proof is for."""
    session = begin(server, key)
    detached(server, session)
    first = log_in(server, key)
    names = "daemon", "nobody", f"{ME} ", ""
    service = string("ssh-connection")
    for name, ticket in zip(names, ask(first, len(names))):
        rogue.plan(at=USER, instead=[bytes([USER]) + string(name) + service])
        mark = mark_of(server)
        cut(server, session)
        with contextlib.suppress(Closed, AssertionError):
            redeem(server, ticket)
        log = log_since(server, mark)
        assert "Accepted" not in log and "goes on from" not in log, log
    comes_back(server, rogue, session)


@pytest.mark.parametrize("seed", range(STORIES))
def test_anything(server, rogue, key, seed):
    """Chance decides what it does, for clients that have proved what they are
    and for strangers: these are never let in, and the session of the others is
    there all the time."""
    chance = random.Random(seed)
    session = begin(server, key)
    detached(server, session)
    for i in range(10):
        stranger = chance.random() < .6
        rogue.plan(seed=chance.random())
        mark = mark_of(server)
        cut(server, session, **({"key": bytes(32)} if stranger else {}))
        log = log_since(server, mark)
        assert not (stranger and "Accepted" in log), log
        assert "killed by signal" not in log and "fatal" not in log, log
    comes_back(server, rogue, session)
