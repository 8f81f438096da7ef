# SPDX-License-Identifier: ISC
"""Servers that mean ill against hpnssh with Survive: grants without sense,
numbers that are false, answers without proof. None makes the client say what
is not for it, or keep more than its own limit."""

import contextlib
import os
import select
import struct
import time

import pytest
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_EOF, CHANNEL_OPEN,
                     CHANNEL_REQUEST, DISCONNECT, GLOBAL_REQUEST,
                     OPEN_CONFIRMATION, REQUEST_FAILURE, REQUEST_SUCCESS,
                     SERVICE_ACCEPT, SERVICE_REQUEST, UNIMPLEMENTED,
                     USERAUTH_REQUEST, USERAUTH_SUCCESS, Closed, Reader,
                     fake_servers, string)
from survive import RECEIVED, REQUEST, RESUME_OK, count_received, reset
from tickets import mac

import harness
from harness import LONG, ME, Client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh"),
                                reason="hpnssh is not built")
EXT_INFO = 7
SECRET = b"s" * 32
MOST = 32 << 20  # bytes that the client keeps, and asks for


@pytest.fixture
def make(tmp_path, keys):
    with fake_servers(tmp_path, keys) as make:
        yield make


def run(server, survive="yes", **kw):
    return Client("hpn", server, options=[f"Survive={survive}"],
                  log_level="VERBOSE").ssh("true", timeout=LONG, **kw)


def u64(n):
    return struct.pack(">Q", n)


def messages(w, seconds):
    """Those that come within so many seconds, or until the client has gone."""
    until = time.monotonic() + seconds
    with contextlib.suppress(Closed):
        while (left := until - time.monotonic()) > 0:
            if w.buffer or select.select([w.sock], [], [], left)[0]:
                yield w.recv()


class Granted:
    """A server's side of a session."""

    def __init__(self, host):
        self.host, self.key, self.received = host, None, 0
        self.number = None

    def log_in(self, w, before=()):
        """Lets the client in, after that many messages more."""
        w.handshake(self.host)
        w.expect(SERVICE_REQUEST)
        w.say(SERVICE_ACCEPT, "ssh-userauth")
        w.expect(USERAUTH_REQUEST)
        w.say(EXT_INFO, 1, REQUEST, "1")
        for fields in before:
            w.say(*fields)
        w.say(USERAUTH_SUCCESS)

    def asked(self, w):
        """The client has opened its session, and asks for a grant."""
        opened = w.expect(CHANNEL_OPEN)
        opened.string()
        self.number = opened.u32()
        while w.expect(GLOBAL_REQUEST).text() != REQUEST:
            pass

    def grant(self, w, seconds=60, size=MOST, handle=bytes(16), secret=SECRET,
              more=b""):
        w.say(REQUEST_SUCCESS, string(handle), string(secret), seconds, size,
              more)
        self.key = mac(secret, REQUEST.encode() + string(w.session_id)
                       + string(ME) + string(self.host.blob))
        count_received(self, w)

    def begin(self, w, window=1 << 21):
        """All of that, until the client's command has begun."""
        self.log_in(w)
        self.asked(w)
        self.grant(w)
        w.passes = (RECEIVED, CHANNEL_REQUEST)
        self.open(w, window)

    def open(self, w, window=1 << 21):
        w.say(OPEN_CONFIRMATION, self.number, 0, window, 1 << 15)
        while True:
            request = w.expect(CHANNEL_REQUEST)
            request.u32()
            if request.text() == "exec":
                return

    def hear_resume(self, w):
        """The client's proof, when it wants to go on."""
        w.handshake(self.host)
        w.expect(SERVICE_REQUEST)
        w.say(SERVICE_ACCEPT, "ssh-userauth")
        return w.expect(USERAUTH_REQUEST).rest()[-32:]

    def agree(self, w, proof, received=None, key=None):
        count = u64(self.received if received is None else received)
        answer = mac(key or self.key, b"server" + string(w.session_id)
                     + count + proof)
        w.say(RESUME_OK, count, string(answer))
        if key is None:
            self.key = mac(self.key, b"next" + string(w.session_id))


def finish(w, number):
    w.say(CHANNEL_REQUEST, number, "exit-status", False, 7)
    w.say(CHANNEL_CLOSE, number)
    w.drain()


# ---- the grant -----------------------------------------------------------

@pytest.mark.parametrize("bad", [
    dict(size=0), dict(size=0xffffffff), dict(size=MOST + 1), dict(seconds=0),
    dict(seconds=0xffffffff), dict(handle=b""), dict(handle=bytes(17)),
    dict(secret=bytes(31)), dict(more=b"x")])
def test_grants_that_are_none(make, bad):
    """The session goes on without one, and ends with its connection."""
    def script(w):
        g = Granted(server.host)
        g.log_in(w)
        g.asked(w)
        g.grant(w, **bad)
        w.passes = (CHANNEL_REQUEST,)
        g.open(w)
        w.say(CHANNEL_DATA, g.number, "here\n")
        time.sleep(.3)
        reset(w)

    server = make(script)
    done = run(server)
    assert (done.rc, done.out, server.connections) == (255, b"here\n", 1), \
        done.errors
    assert "survives its connection" not in done.errors


def test_nobody_asked_for_a_grant(make):
    """Without Survive the client says nothing of it, whatever it is told, and
    a number of messages means nothing to it."""
    heard = []

    def script(w):
        g = Granted(server.host)
        g.log_in(w)
        recv = w.recv

        def noting():
            heard.append(recv())
            return heard[-1]
        w.recv = noting
        opened = w.expect(CHANNEL_OPEN)
        opened.string()
        g.number = opened.u32()
        g.open(w)
        w.say(RECEIVED, u64(1))
        w.expect(UNIMPLEMENTED)
        w.say(CHANNEL_REQUEST, g.number, "exit-status", False, 7)
        w.say(CHANNEL_CLOSE, g.number)
        w.drain()

    server = make(script)
    done = run(server, survive="no")
    assert (done.rc, server.connections) == (7, 1), done.errors
    assert heard and not any(REQUEST.encode() in p for p in heard)


# ---- numbers -------------------------------------------------------------

@pytest.mark.parametrize("lie", ["more", "most", "less", "in an exchange"])
def test_false_numbers(make, lie):
    """The connection ends, and with it the session: it is no loss."""
    def script(w):
        g = Granted(server.host)
        g.begin(w)
        w.say(RECEIVED, u64(g.received))
        w.say(RECEIVED, u64(g.received))  # again: that is none
        w.say(CHANNEL_DATA, g.number, "here\n")
        if lie == "in an exchange":
            w.send_kexinit()
        w.say(RECEIVED, u64({"more": g.received + 99, "most": (1 << 64) - 1,
                             "less": g.received - 1}.get(lie, g.received)))
        w.passes += (20,)  # KEXINIT
        assert w.was_ended() is not None

    server = make(script)
    done = run(server)
    assert (done.rc, done.out, server.connections) == (255, b"here\n", 1), \
        done.errors


@pytest.mark.parametrize("lie", ["more", "2^63", "most", "less"])
def test_false_numbers_at_a_return(make, lie):
    """With the right proof: the session ends, and nothing is said again."""
    after = []

    def script(w):
        if server.connections == 1:
            g.begin(w)
            w.say(RECEIVED, u64(g.received))
            w.say(CHANNEL_DATA, g.number, "here\n")
            time.sleep(.3)
            reset(w)
            return
        proof = g.hear_resume(w)
        g.agree(w, proof, {"more": g.received + 99, "2^63": 1 << 63,
                           "most": (1 << 64) - 1,
                           "less": g.received - 1}[lie])
        w.say(USERAUTH_SUCCESS)
        after.extend(w.drain())

    server = make(script)
    g = Granted(server.host)
    done = run(server)
    assert (done.rc, server.connections) == (255, 2), done.errors
    assert "does not go on" in done.errors
    assert not [p for p in after if p[0] >= 80], after


# ---- answers -------------------------------------------------------------

def no_key(w, g, proof):
    g.agree(w, proof, key=bytes(32))


def no_proof(w, g, proof):
    w.say(RESUME_OK, u64(g.received), string(b""))


def its_own_proof(w, g, proof):
    w.say(RESUME_OK, u64(g.received), string(proof))


def no_answer(w, g, proof):
    w.say(USERAUTH_SUCCESS)


def twice(w, g, proof):
    key = g.key
    g.agree(w, proof)
    g.agree(w, proof, key=key)


@pytest.mark.parametrize("answer", [no_key, no_proof, its_own_proof, no_answer,
                                    twice])
def test_answers_without_proof(make, answer):
    """A machine that has the host key, but not the session, hears nothing of
    it: neither what was typed, nor where forwards lead."""
    after = []

    def script(w):
        if server.connections == 1:
            g.begin(w)
            time.sleep(.3)
            reset(w)
        elif server.connections == 2:
            answer(w, g, g.hear_resume(w))
            if answer is not no_answer:
                w.say(USERAUTH_SUCCESS)
            after.extend(w.drain())
        else:  # the right one, which some of them are tried again at
            proof = g.hear_resume(w)
            g.agree(w, proof)
            w.say(USERAUTH_SUCCESS)
            finish(w, g.number)

    server = make(script)
    g = Granted(server.host)
    done = run(server)
    assert done.rc in (7, 255), done.errors
    assert not [p for p in after if p[0] >= 80], after
    if done.rc == 255:
        assert server.connections == 2
        assert "does not go on" in done.errors, done.errors


def test_welcome_of_a_login(make):
    """RESUME_OK to a client that has asked for no session."""
    def script(w):
        g = Granted(server.host)
        g.log_in(w, [(RESUME_OK, u64(0), string(bytes(32)))])
        after.extend(messages(w, 3))

    after = []
    server = make(script)
    done = run(server)
    said = [p[0] for p in after]
    assert UNIMPLEMENTED in said or DISCONNECT in said or not said, said
    assert done.rc == 255 or UNIMPLEMENTED in said, done.errors


# ---- memory --------------------------------------------------------------

def test_no_acknowledgement(make):
    """A server that takes all and acknowledges nothing makes the client wait,
    and keep no more than it has granted."""
    taken = []

    def count(w, payload):
        """The bytes of a message that count, None at their end. The
        client's question whether the connection is lost is answered."""
        if payload[0] == GLOBAL_REQUEST:
            name, wants_reply = Reader(payload[1:]).text(), payload[-1]
            assert (name, wants_reply) == ("keepalive@openssh.com", 1)
            w.say(REQUEST_FAILURE)
        if payload[0] == CHANNEL_EOF:
            return None
        return len(payload) - 9 if payload[0] == CHANNEL_DATA else 0

    def script(w):
        g = Granted(server.host)
        g.log_in(w)
        g.asked(w)
        g.grant(w, size=2 << 20)
        w.passes = (RECEIVED, CHANNEL_REQUEST)
        g.open(w, window=1 << 30)
        got = sum(count(w, payload) for payload in messages(w, 6))
        taken.append(got)
        while True:
            w.say(RECEIVED, u64(g.received))
            more = count(w, w.recv())
            if more is None:
                break
            got += more
        taken.append(got)
        finish(w, g.number)

    server = make(script)
    data = os.urandom(12 << 20)
    done = run(server, stdin=data)
    assert done.rc == 7, (done.errors, taken)
    assert 1 << 20 < taken[0] < (2 << 20) + (1 << 16), taken
    assert taken[1] == len(data), taken
