# SPDX-License-Identifier: ISC
"""Tickets by which a client comes back when its connection is lost: LoginTickets
at the server, rows of the table of threats in docs/SECURITY-MODEL.md."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
from sshwire import (CHANNEL_DATA, CHANNEL_REQUEST, CHANNEL_SUCCESS,
                     DISCONNECT)
from test_tickets import YES, refused
from tickets import METHOD, ask, log_in, redeem

import harness
from harness import ME

pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "sshd"),
                       reason="hpnsshd is not built"),
    pytest.mark.skipif(os.geteuid() != 0,
                       reason="tickets need a server of the superuser's"),
]


@pytest.fixture
def server(make_server):
    return make_server(YES)


def ticket_of(wire):
    ticket, = ask(wire, 0, instead=1)
    assert ticket.kind == b"r"
    return ticket


def monitors(server, mark):
    return [pid for pid in server.connections()
            if mark in harness.title(pid)]


def lose(server, wire):
    """Ends without a word, and waits until the server waits."""
    before = len(monitors(server, b"[lost]"))
    wire.close()
    assert harness.wait_for(
        lambda: len(monitors(server, b"[lost]")) > before or None)


def back(server, ticket, **kw):
    got, wire = redeem(server, ticket, **kw)
    assert got == "yes", got
    return wire


def runs(wire):
    """A command of the session is run."""
    peer, _, _ = wire.open_session()
    wire.say(CHANNEL_REQUEST, peer, "exec", True, "echo here; exec cat")
    wire.expect(CHANNEL_SUCCESS)
    data = wire.expect(CHANNEL_DATA)
    data.u32()
    assert data.string() == b"here\n"


def test_again_and_again(server, key):
    wire = log_in(server, key)
    ticket = ticket_of(wire)
    for _ in range(4):
        assert 28000 < ticket.seconds <= 28800
        lose(server, wire)
        wire = back(server, ticket)
        ticket = ticket_of(wire)
        runs(wire)
    # Each of them is told to be that login's, and only one process waits.
    assert len(re.findall(f"Accepted {METHOD}", server.log_text())) == 4
    wire.say(DISCONNECT, 11, "bye", "")
    wire.close()
    assert harness.wait_for(lambda: not server.connections())
    assert not any(harness.meeting_place().glob(ticket.name[:16].hex()))


def test_one_in_its_place(server, key):
    """The server has not seen that the first one is lost: it ends."""
    first = log_in(server, key)
    ticket, beside = ask(first, 1, instead=1)
    if ticket.kind == b"p":
        ticket, beside = beside, ticket
    runs(first)
    second = back(server, ticket)
    assert first.was_ended() is not None
    runs(second)
    refused(server, beside, "unknown, or")


def test_the_newest_counts(server, key):
    """A client that lost its second connection before it could ask comes by
    the same ticket; each new one ends the one before."""
    first = log_in(server, key)
    ticket = ticket_of(first)
    lose(server, first)
    wires = [back(server, ticket)]
    for _ in range(3):
        wires.append(back(server, ticket))
        assert wires[-2].was_ended() is not None
    runs(wires[-1])
    # By the next ticket, the older one is spent.
    newer = ticket_of(wires[-1])
    lose(server, wires[-1])
    last = back(server, newer)
    refused(server, ticket, "unknown, or")
    runs(last)


@pytest.mark.parametrize("how", ["disconnect", "signal", "killed"])
def test_ended_is_not_lost(server, key, how):
    first = log_in(server, key)
    ticket = ticket_of(first)
    if how == "disconnect":
        first.say(DISCONNECT, 11, "bye", "")
    else:
        pid, = monitors(server, b"[priv]")
        os.kill(pid, signal.SIGTERM if how == "signal" else signal.SIGKILL)
    assert harness.wait_for(lambda: not server.connections())
    refused(server, ticket, "unknown, or its session has ended")
    first.close()


def test_ended_by_an_heir(server, key):
    """Neither is the first one good any more when the second has ended."""
    first = log_in(server, key)
    ticket = ticket_of(first)
    lose(server, first)
    second = back(server, ticket)
    second.say(DISCONNECT, 11, "bye", "")
    second.close()
    assert harness.wait_for(lambda: not server.connections())
    refused(server, ticket, "unknown, or its session has ended")


def test_linger(make_server, key):
    server = make_server(YES + " linger:1")
    first = log_in(server, key)
    ticket = ticket_of(first)
    first.close()
    assert harness.wait_for(lambda: not server.connections())
    refused(server, ticket, "unknown, or its session has ended")
    server = make_server(YES + " linger:0")
    first = log_in(server, key)
    assert ask(first, 0, instead=1) is None
    assert [t.kind for t in ask(first, 1, instead=1)] == [b"p"]
    first.close()
    assert harness.wait_for(lambda: not server.connections())


def test_one_that_lingers(server, key):
    """One process, which ends when it is told to; nothing of the session."""
    first = log_in(server, key)
    ticket = ticket_of(first)
    lose(server, first)
    assert harness.wait_for(lambda: len(server.connections()) == 1)
    pid, = monitors(server, b"[lost]")
    open_ones = [os.readlink(f"/proc/{pid}/fd/{n}")
                 for n in os.listdir(f"/proc/{pid}/fd")]
    assert sum(name.startswith("socket:") for name in open_ones) <= 2, \
        open_ones
    os.kill(pid, signal.SIGTERM)
    assert harness.wait_for(lambda: not server.connections())
    refused(server, ticket, "unknown, or its session has ended")


def test_heirs_are_as_old(make_server, key):
    """A ticket that follows another one is as old as the first, also if each
    of them lives for less than a second."""
    server = make_server(YES + " maxage:6")
    wire = log_in(server, key)
    began, got = time.monotonic(), None
    while time.monotonic() < began + 7:
        got = ask(wire, 0, instead=1)
        if got is None:
            break
        verdict, wire = redeem(server, got[0])
        if verdict != "yes":
            break
        time.sleep(0.7)
    assert time.monotonic() < began + 7
    assert ask(log_in(server, key), 0, instead=1) is not None


def test_heirs_mint_for_others(server, key):
    first = log_in(server, key)
    ticket = ticket_of(first)
    lose(server, first)
    second = back(server, ticket)
    beside, = ask(second, 1)
    runs(back(server, beside))
    runs(second)


def test_rules_of_today(server, key):
    first = log_in(server, key)
    ticket = ticket_of(first)
    lose(server, first)
    lines = server.authorized.read_text()
    server.authorized.write_text("")
    refused(server, ticket, "what was shown does not hold any more")
    server.authorized.write_text(lines)
    runs(back(server, ticket))


def test_proofs_and_addresses(server, key):
    """One wrong proof, a wrong kind or another address burns it."""
    for kw, why in ((dict(proof=bytes(32)), "the proof is wrong"),
                    (dict(kind=b"p"), "the proof is wrong"),
                    (dict(address="127.0.0.2"), "from another address")):
        first = log_in(server, key)
        ticket = ticket_of(first)
        lose(server, first)
        refused(server, ticket, why, **kw)
        if "address" not in kw:
            refused(server, ticket, "unknown, or used before")


def test_the_root_of_auth_is_empty(make_server, tmp_path):
    """hpnsshd says when something is in the directory that hpnsshd-auth is
    locked in."""
    text = Path(harness.hpn("sshd")).read_bytes()
    top = re.search(rb"\0(/[!-~]*/empty|/run/hpnsshd)\0", text)[1].decode()
    alien = Path(top) / f"alien-{os.getpid()}"
    alien.write_text("")
    try:
        server = make_server("")
        assert f"{top} is not empty" in server.log_text()
    finally:
        alien.unlink()
