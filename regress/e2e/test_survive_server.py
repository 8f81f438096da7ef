# SPDX-License-Identifier: ISC
"""Sessions that survive at the server: who may come back to them, and each row
of the table of threats in docs/SECURITY-MODEL.md."""

import contextlib
import os
import re
import signal
import time
from pathlib import Path

import pytest
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_REQUEST,
                     CHANNEL_SUCCESS, GLOBAL_REQUEST, USERAUTH_FAILURE,
                     Closed, Reader, string)
from survive import (METHOD, REQUEST, YES, ask, begin, needed, reset, resume,
                     show)
from survive import request as resume_request
from tickets import log_in, reach

import harness
from harness import LONG, ME, meeting_place

pytestmark = needed("sshd")


@pytest.fixture
def server(make_server):
    return make_server(YES)


def works(wire, number=0):
    """A command of the session runs."""
    peer, _, _ = wire.open_session(number)
    wire.say(CHANNEL_REQUEST, peer, "exec", True, "echo here; sleep 60")
    wire.expect(CHANNEL_SUCCESS)
    data = wire.expect(CHANNEL_DATA)
    data.u32()
    assert data.string() == b"here\n"


def since(server, mark):
    return server.log.read_bytes()[mark:].decode(errors="replace")


def refused(server, session, reason, **kw):
    mark = server.log.stat().st_size
    got, wire = resume(server, session, **kw)
    wire.close()
    assert isinstance(got, str) and METHOD not in got, got
    log = since(server, mark)
    assert reason in log, log
    assert f"Accepted {METHOD}" not in log
    return got


def is_over(server):
    return harness.wait_for(lambda: not server.connections(), LONG)


# ---- what it is for ------------------------------------------------------

def test_comes_back(server, key):
    session = begin(server, key)
    assert (session.seconds, session.size) == (600, 1 << 20)
    for i in range(3):
        reset(session.wire)
        got, wire = resume(server, session)
        assert got == 0
    works(wire)
    log = server.log_text()  # of a session that goes on already
    assert re.search(rf"Accepted {METHOD} for {ME} from 127\.0\.0\.1 port \d+ "
                     r"ssh2: session \d+ \(publickey ED25519 SHA256:", log)
    assert re.search(rf"Session of {ME} from \S+ port \d+ goes on from \S+ "
                     r"port \d+ after \d+ s", log)
    assert "Failed" not in log


def test_comes_while_the_old_one_is_there(server, key):
    """Its connection hangs, and the server does not know yet."""
    session = begin(server, key)
    old = session.wire
    got, wire = resume(server, session)
    assert got == 0
    assert old.was_ended() is not None
    works(wire)


def test_the_grant_is_within_both_limits(make_server, key):
    server = make_server(YES + " time:20 memory:2M")
    session = begin(server, key, seconds=3600, size=32 << 20)
    assert (session.seconds, session.size) == (20, 2 << 20)
    session = begin(server, key, seconds=3, size=1000)
    assert (session.seconds, session.size) == (3, 1000)


def test_only_who_is_told_sees_it(make_server, key):
    for config, told in (("", None), (YES, "1"),
                         (f"Match User {ME}\nSurvive yes", "1"),
                         ("Match User nobody\nSurvive yes", None)):
        server = make_server(config)
        wire = log_in(server, key)
        r = Reader(wire.ext_info[1:])
        said = {r.text(): r.text() for _ in range(r.u32())}
        assert said.get(REQUEST) == told
        assert (ask(wire) is None) == (told is None)
        wire.close()


def test_once_and_of_this_version(server, key):
    wire = log_in(server, key)
    for bad in (dict(version=b"\2"), dict(seconds=0), dict(size=0),
                dict(seconds=86401), dict(size=(64 << 20) + 1)):
        assert ask(wire, **bad) is None
    assert ask(wire) is not None
    assert ask(wire) is None
    works(wire)
    wire.say(GLOBAL_REQUEST, REQUEST, True, b"\1")
    assert wire.was_ended() is not None


# ---- who may not ---------------------------------------------------------

def test_proofs_that_are_no_good(server, key):
    """None changes anything: the connection goes on, and so does the right
    proof later."""
    session = begin(server, key)
    other = begin(server, key)
    cases = [dict(session_id=session.wire.session_id), dict(proof=bytes(32)),
             dict(key=bytes(32)), dict(key=other.key), dict(generation=1),
             dict(generation=0xffffffff)]
    for case in cases:
        refused(server, session, "the proof is wrong", **case)
    refused(server, session, "unknown, or its session has ended",
            handle=bytes(16))
    works(session.wire)
    log = server.log_text()
    assert "is detached" not in log
    reset(other.wire)
    assert resume(server, other)[0] == 0


def test_equal_answers(make_server, server, key):
    """What a stranger to the session is told says nothing about it: not
    whether there is one."""
    session = begin(server, key)
    off = make_server("LogLevel VERBOSE")
    assert len({refused(server, session, "", key=bytes(32)),
                refused(server, session, "", handle=bytes(16)),
                refused(server, session, "", user="daemon"),
                refused(off, session, "not asked for")}) == 1


def test_a_proof_again(server, key):
    """A recorded request is no good over another connection."""
    session = begin(server, key)
    text, _ = resume_request(reach(server), session)
    wire = reach(server)
    wire.send(text)
    wire.expect(USERAUTH_FAILURE)
    works(session.wire)


def test_another_user(server, key):
    session = begin(server, key)
    refused(server, session, "", user="daemon")
    works(session.wire)


def test_forms_that_are_no_good(server, key):
    session = begin(server, key)
    refused(server, session, "not of a form", version=b"\2")
    for bad in (dict(handle=b""), dict(handle=bytes(17)),
                dict(proof=bytes(31))):
        wire = reach(server)
        with pytest.raises((Closed, AssertionError)):
            show(wire, session, **bad)
    works(session.wire)


def test_an_answer_that_is_lost(server, key):
    """The client has not heard that it is let in, and comes again with the
    key that it has; once it has spoken, that one is over."""
    session = begin(server, key)
    reset(session.wire)
    before = session.key
    wire = resume(server, session)[1]
    reset(wire)
    session.key, session.generation = before, 0
    got, wire = resume(server, session)
    assert got == 0 and session.generation == 1
    works(wire)
    time.sleep(.2)
    reset(wire)
    refused(server, session, "the proof is wrong", key=before, generation=0)
    assert resume(server, session)[0] == 2


def test_tries_that_overtake(server, key):
    """The client has given a try up and is in by the next one, when the server
    comes to see the first one. The client comes back all the same."""
    session = begin(server, key)
    reset(session.wire)
    late = reach(server)
    text, _ = resume_request(late, session)
    got, wire = resume(server, session)
    assert got == 0
    late.send(text)
    assert wire.was_ended() is not None
    assert resume(server, session)[0] == 0
    works(session.wire)


def test_monitors_that_die(server, key):
    """The monitor of the next connection is killed at any moment of what it
    does: the session waits for another one."""
    session = begin(server, key)
    reset(session.wire)
    mine = set(server.connections())
    for i in range(20):
        wire = reach(server)
        other = [pid for pid, (_, name) in server.connections().items()
                 if pid not in mine and name == "hpnsshd-session"]
        wire.send(resume_request(wire, session)[0])
        time.sleep(i / 1000)
        for pid in other:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wire.close()
    assert resume(server, session)[0] == 0
    works(session.wire)


@pytest.mark.parametrize("count", [1, 1 << 63])
def test_more_than_was_sent(server, key, count):
    """A client that says so ends its session."""
    session = begin(server, key)
    reset(session.wire)
    wire = resume(server, session, received=count)[1]
    assert wire.was_ended() is not None
    assert is_over(server)
    refused(server, session, "")


def test_ended_is_not_lost(server, key):
    session = begin(server, key)
    session.wire.say(1, 11, "goodbye", "")
    session.wire.close()
    assert is_over(server)
    refused(server, session, "unknown, or its session has ended")
    meeting = Path(f"/proc/{server.process.pid}/root{meeting_place()}")
    assert meeting.is_dir()
    assert not (meeting / session.handle.hex()).exists()


def test_killed(server, key):
    session = begin(server, key)
    reset(session.wire)
    assert harness.wait_for(lambda: "is detached" in server.log_text(), LONG)
    for pid in server.connections():
        os.kill(pid, signal.SIGKILL)
    assert is_over(server)  # one that is about to end is asked in vain
    refused(server, session, "unknown, or its session has ended")


# ---- rules of today ------------------------------------------------------

def ended_by(server, session, reason, **kw):
    refused(server, session, reason, **kw)
    assert is_over(server)
    assert "its client may not come back" in server.log_text()


def test_key_removed(server, key):
    session = begin(server, key)
    reset(session.wire)
    server.authorized.write_text("")
    ended_by(server, session, "what was shown does not hold any more")


def test_key_gets_a_command(server, key):
    """The session is not held to it, so it does not go on."""
    session = begin(server, key)
    reset(session.wire)
    server.authorized.write_text(
        f'command="true" {server.keys.public("ed25519")}\n')
    ended_by(server, session, "what it may do is another by now")


@pytest.mark.parametrize("late", [
    "DenyUsers *", "PubkeyAuthentication no", "Survive no", "PermitTTY no",
    "AllowTcpForwarding no", "ForceCommand true",
    "AuthenticationMethods publickey,password",
    "GatewayPorts yes", "MaxSessions 1", "SetEnv X=1", "UserRateMax 1MB",
    "ChannelTimeout *=5m",
    "Match Address 127.0.0.1\nDenyUsers *\nMatch all"])
def test_rules_that_changed(server, key, late):
    session = begin(server, key)
    reset(session.wire)
    text = server.config.read_text()
    word = late.split()[0]
    if word != "Match":
        text = re.sub(rf"(?m)^{word} .*$", "", text)
        server.config.write_text(f"{late}\n{text}")
    else:
        server.config.write_text(f"{text}\n{late}\n")
    mark = server.log.stat().st_size
    os.kill(server.process.pid, signal.SIGHUP)
    assert harness.wait_for(lambda: "listening on" in since(server, mark))
    got, wire = resume(server, session)
    wire.close()
    assert isinstance(got, str) and METHOD not in got


def test_from_another_address(make_server, key):
    server = make_server(YES)
    session = begin(server, key)
    reset(session.wire)
    got, wire = resume(server, session, address="127.0.0.2")
    assert got == 0
    works(wire)
    assert harness.wait_for(lambda: "goes on from 127.0.0.2" in
                            server.log_text(), LONG)
    server = make_server(YES + " address:same")
    session = begin(server, key)
    refused(server, session, "from another address", address="127.0.0.2")
    reset(session.wire)
    assert resume(server, session)[0] == 0


def test_a_process_that_is_stopped(server, key):
    """The session is there, but does not answer: nothing is decided, and the
    client may come again."""
    session = begin(server, key)
    works(session.wire)
    reset(session.wire)
    assert harness.wait_for(lambda: "is detached" in server.log_text(), LONG)
    mine = [pid for pid, (_, name) in server.connections().items()
            if name == "hpnsshd-user"]
    assert mine
    for pid in mine:
        os.kill(pid, signal.SIGSTOP)
    wire = reach(server)
    wire.send(resume_request(wire, session)[0])
    assert wire.was_ended() is not None
    for pid in mine:
        os.kill(pid, signal.SIGCONT)
    assert isinstance(resume(server, session)[0], int)


# ---- limits --------------------------------------------------------------

def test_time(make_server, key):
    server = make_server(YES + " time:1")
    session = begin(server, key)
    works(session.wire)
    reset(session.wire)
    assert is_over(server)
    assert "is ended: 1 s without a client" in server.log_text()
    refused(server, session, "unknown, or its session has ended")


def test_how_many_wait(make_server, key):
    server = make_server(YES + " max:2")
    sessions = [begin(server, key) for _ in range(4)]
    for s in sessions[:2]:
        reset(s.wire)
    assert harness.wait_for(
        lambda: server.log_text().count("is detached") == 2, LONG)
    reset(sessions[2].wire)
    assert harness.wait_for(
        lambda: "too many sessions of this user" in server.log_text(), LONG)
    refused(server, sessions[2], "")
    assert resume(server, sessions[0])[0] == 0
    assert harness.wait_for(lambda: "goes on from" in server.log_text(), LONG)
    reset(sessions[3].wire)
    assert harness.wait_for(
        lambda: server.log_text().count("is detached") == 4, LONG)
    assert resume(server, sessions[3])[0] == 0


def test_output_waits(make_server, key):
    """What a session without a client may write is bounded, and all of it
    comes later."""
    server = make_server(YES + " memory:1M")
    session = begin(server, key)
    wire = session.wire
    peer, _, _ = wire.open_session(0, window=1 << 30)
    wire.say(CHANNEL_REQUEST, peer, "exec", True,
             "sleep .5; head -c 20000000 /dev/zero; echo end")
    wire.expect(CHANNEL_SUCCESS)
    time.sleep(.2)
    reset(wire)
    assert harness.wait_for(lambda: "is detached" in server.log_text(), LONG)
    time.sleep(1)
    kept = max(harness.rss_kib(p) for p in server.connections())
    assert kept < 32 << 10, kept
    got, wire = resume(server, session)
    assert got == 2
    wire.passes += (CHANNEL_REQUEST,)  # the exit status may come before
    data = b""
    while not data.endswith(b"end\n"):
        r = wire.expect(CHANNEL_DATA)
        r.u32()
        data += r.string()
        session.tell()
    assert len(data) == 20_000_004
    wire.expect(CHANNEL_CLOSE)

