# SPDX-License-Identifier: ISC
"""Sessions that survive, where the other end or its network means ill: servers
against hpnssh, and processes of users against their monitors."""

import contextlib
import os
import resource
import select
import signal
import socket
import time

import pytest
from descriptors import copy_of
from sshwire import (CHANNEL_OPEN, GLOBAL_REQUEST, REQUEST_SUCCESS,
                     SERVICE_ACCEPT, SERVICE_REQUEST, USERAUTH_FAILURE,
                     USERAUTH_REQUEST, USERAUTH_SUCCESS, fake_servers, string)
from survive import REQUEST, YES, ask, begin, needed, reset, resume
from test_survive_server import works
from tickets import log_in

import harness
from harness import LONG, Client, wait_for

pytestmark = needed("ssh", "sshd")
EXT_INFO, IGNORE, BANNER = 7, 2, 53


# ---- servers -------------------------------------------------------------

@pytest.fixture
def make(tmp_path, keys):
    with fake_servers(tmp_path, keys) as make:
        yield make


def let_in(w, host, seconds=3, size=1 << 20):
    """Grants a session of so many seconds, and what the client said."""
    w.handshake(host)
    w.expect(SERVICE_REQUEST)
    w.say(SERVICE_ACCEPT, "ssh-userauth")
    w.expect(USERAUTH_REQUEST)
    w.say(EXT_INFO, 1, REQUEST, "1")
    w.say(USERAUTH_SUCCESS)
    w.expect(CHANNEL_OPEN)
    while w.expect(GLOBAL_REQUEST).text() != REQUEST:
        pass
    w.say(REQUEST_SUCCESS, string(bytes(16)), string(bytes(32)), seconds, size)


def run(server, **kw):
    """The program's end, and how long it took."""
    begun = time.monotonic()
    done = Client("hpn", server, options=["Survive=yes"],
                  log_level="VERBOSE", **kw).ssh("true", timeout=60)
    return done, time.monotonic() - begun


def drips_lines(w, host):
    for _ in range(40):
        w.raw(b"patience\r\n")
        time.sleep(.3)


def drips_ignored(w, host):
    w.handshake(host)
    for _ in range(40):
        w.say(IGNORE, "")
        time.sleep(.3)


def drips_banners(w, host):
    w.handshake(host)
    w.expect(SERVICE_REQUEST)
    w.say(SERVICE_ACCEPT, "ssh-userauth")
    w.expect(USERAUTH_REQUEST)
    for _ in range(40):
        w.say(BANNER, "patience\n", "")
        time.sleep(.3)


def is_silent(w, host):
    time.sleep(8)


@pytest.mark.parametrize("later", [drips_lines, drips_ignored, drips_banners,
                                   is_silent])
def test_time_is_up_however_slow_the_answer(make, later):
    def script(w):
        if server.connections > 1:
            later(w, server.host)
            return
        let_in(w, server.host)
        time.sleep(.3)
        reset(w)

    server = make(script)
    done, took = run(server)
    assert done.rc == 255
    assert "given up after 3 s" in done.errors
    assert took < 15 * harness.SLOW, took


def test_a_try_is_bounded_as_a_whole(make):
    """Each answer comes in time, but altogether they take too long, as on a
    path that was lost meanwhile: there is another try."""
    left = []

    def slowly(w):
        def rest():
            time.sleep(2.6)
            poll = select.poll()
            poll.register(w.sock, select.POLLRDHUP)
            left.append(bool(poll.poll(0)))

        rest()
        w.identify()
        rest()
        w.handshake(server.host)
        w.expect(SERVICE_REQUEST)
        rest()
        w.say(SERVICE_ACCEPT, "ssh-userauth")
        w.expect(USERAUTH_REQUEST)
        rest()

    def script(w):
        if server.connections == 1:
            let_in(w, server.host, 60)
            time.sleep(.3)
            reset(w)
        elif server.connections == 2:
            slowly(w)
        else:
            w.handshake(server.host)
            w.expect(SERVICE_REQUEST)
            w.say(SERVICE_ACCEPT, "ssh-userauth")
            w.expect(USERAUTH_REQUEST)
            w.say(USERAUTH_FAILURE, "publickey", False)

    server = make(script)
    done, took = run(server)
    assert (done.rc, server.connections) == (255, 3), (done.errors, left)
    assert left[-1], left


# ---- processes of users --------------------------------------------------

@pytest.fixture
def server(make_server):
    return make_server(YES)


def sockets_of(pid):
    """Numbers of its datagram sockets, which are those of the talk."""
    found = []
    for entry in os.scandir(f"/proc/{pid}/fd"):
        fd = copy_of(pid, int(entry.name))
        try:
            with socket.socket(fileno=os.dup(fd)) as s:
                if s.family == socket.AF_UNIX and \
                        s.type == socket.SOCK_DGRAM and not s.getsockname():
                    found.append(int(entry.name))
        except OSError:
            pass
        os.close(fd)
    return found


def users(server):
    return [pid for pid, (_, name) in server.connections().items()
            if name == "hpnsshd-user"]


def monitors(server):
    return [pid for pid in server.connections() if pid not in users(server)]


def detached(server, count=1):
    return wait_for(lambda: server.log_text().count("is detached") == count,
                    LONG)


@pytest.mark.parametrize("said", [b"", b"\3", bytes(8), bytes(9), bytes(99),
                                  b"\1" + bytes(8), b"\2" + bytes(8)])
def test_talk_that_is_none(server, key, said):
    """The monitor of a process that says anything ends with it."""
    session = begin(server, key)
    works(session.wire)
    pid = users(server)[0]
    talk = sockets_of(pid)
    assert len(talk) == 1
    with socket.socket(fileno=copy_of(pid, talk[0])) as s:
        s.send(said)
    time.sleep(.2)
    session.wire.say(1, 11, "goodbye", "")
    session.wire.close()
    assert wait_for(lambda: not server.connections(), 20)


def test_stopped_for_ever(make_server, key):
    """A process that its user has stopped is no way around the limits."""
    server = make_server(YES + " time:1")
    session = begin(server, key)
    works(session.wire)
    pid = users(server)[0]
    reset(session.wire)
    assert detached(server)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert wait_for(lambda: not server.connections(), 40)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("survives", ["yes", "no"])
def test_told_to_end_while_it_is_stopped(make_server, key, survives):
    """A monitor that is told to end does not wait for such a one for ever."""
    server = make_server(f"LogLevel VERBOSE\nSurvive {survives}")
    wire = log_in(server, key)
    assert (ask(wire) is not None) == (survives == "yes")
    works(wire)
    stopped, told = users(server)[0], monitors(server)
    os.kill(stopped, signal.SIGSTOP)
    try:
        for pid in told:
            os.kill(pid, signal.SIGTERM)
        assert wait_for(lambda: not server.connections(), 40)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(stopped, signal.SIGCONT)
    wire.close()


def test_client_that_is_here_is_not_counted(make_server, key):
    """As many as may are detached; the client of one more comes by another
    connection before its old one is known to be lost."""
    server = make_server(YES + " max:1")
    away, here = begin(server, key), begin(server, key)
    reset(away.wire)
    assert detached(server)
    for i in range(2):
        got, wire = resume(server, here)
        assert got == 0
    works(wire)
    assert "too many sessions" not in server.log_text()
    reset(wire)
    assert wait_for(lambda: "too many sessions" in server.log_text(), LONG)


def test_nothing_to_grant_with(server, key):
    """A monitor that can open nothing more says no, and the session goes
    on."""
    wire = log_in(server, key)
    works(wire)
    limits = {pid: resource.prlimit(pid, resource.RLIMIT_NOFILE)
              for pid in monitors(server)}
    for pid in limits:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, limits[pid][1]))
    assert ask(wire) is None
    for pid, was in limits.items():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, was)
    assert ask(wire) is not None
