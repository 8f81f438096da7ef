# SPDX-License-Identifier: ISC
"""A client that does not keep to the protocol after its login: channels, and
peers that stop."""

import socket
import time

import pytest

import harness
from harness import Client, ME, SLOW
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_EOF, CHANNEL_FAILURE,
                     CHANNEL_OPEN, CHANNEL_REQUEST, CHANNEL_SUCCESS, Closed,
                     DISCONNECT, EXTENDED_DATA, GLOBAL_REQUEST, KEX_INIT,
                     NEWKEYS, OPEN_CONFIRMATION, OPEN_FAILURE, REQUEST_FAILURE,
                     REQUEST_SUCCESS, UNIMPLEMENTED, USERAUTH_SUCCESS,
                     WINDOW_ADJUST, message, string, u32)
from test_hostile_client import (MEMORY, logged_in,  # noqa: F401
                                 memory_kib, server, wire)


def test_window_overrun(logged_in):
    w = logged_in()
    number, window, packet = w.open_session()
    w.say(CHANNEL_REQUEST, number, "exec", True, "sleep 60")
    w.expect(CHANNEL_SUCCESS)
    block = message(CHANNEL_DATA, number, string(bytes(packet)))
    try:
        # The server may have given back what the command's pipe took, and the
        # window grows with the buffer of the kernel.
        for _ in range((window + (24 << 20)) // packet + 2):
            w.send(block)
    except (Closed, TimeoutError):
        pass
    w.was_ended()


def test_window_overflow(logged_in):
    w = logged_in()
    number, _, _ = w.open_session()
    w.say(WINDOW_ADJUST, number, 0xffffffff)
    w.was_ended()


@pytest.mark.parametrize("hurt", [
    [CHANNEL_DATA, 1, "x"], [CHANNEL_DATA, 0xffffffff, "x"],
    [CHANNEL_DATA, 0x80000009, "x"], [EXTENDED_DATA, 77, 1, "x"],
    [CHANNEL_EOF, 99], [CHANNEL_CLOSE, 0xffffffff], [WINDOW_ADJUST, 9, 9],
    [CHANNEL_REQUEST, 5, "exec", True, "id"], [CHANNEL_SUCCESS, 0],
    [CHANNEL_FAILURE, 0xfffffffe], [OPEN_CONFIRMATION, 0, 0, 0, 0],
    [OPEN_FAILURE, 0, 1, "", ""], [REQUEST_SUCCESS], [REQUEST_FAILURE],
    [CHANNEL_DATA, 0, u32(0xffffffff)], [CHANNEL_DATA], [CHANNEL_OPEN],
    [CHANNEL_OPEN, "session", 0], [CHANNEL_REQUEST, 0],
    [USERAUTH_SUCCESS], [NEWKEYS], [KEX_INIT, string(bytes(32))],
], ids=lambda h: f"{h[0]}-{message(*h).hex()[2:14]}")
def test_channel_that_is_not_there(logged_in, hurt):
    w = logged_in()
    assert w.open_session()[0] == 0
    w.say(*hurt)
    if hurt[0] == USERAUTH_SUCCESS:
        w.expect(UNIMPLEMENTED, DISCONNECT)
    else:
        w.was_ended()


def test_messages_after_eof_and_close(logged_in):
    for last in (CHANNEL_EOF, CHANNEL_CLOSE):
        w = logged_in()
        number = w.open_session()[0]
        w.say(CHANNEL_REQUEST, number, "exec", False, "sleep 1")
        w.say(last, number)
        w.say(CHANNEL_DATA, number, "late")
        w.was_ended()


def test_eof_that_crosses_ours(logged_in):
    """The command has closed its output, but lives; then the client has no
    more to say: the session must still end with the command."""
    w = logged_in()
    number = w.open_session()[0]
    w.say(CHANNEL_REQUEST, number, "exec", False,
          "exec >&- 2>&-; sleep 0.3; exit 3")
    while w.recv()[0] != CHANNEL_EOF:
        pass
    w.say(CHANNEL_EOF, number)
    request = w.expect(CHANNEL_REQUEST)
    assert (request.u32(), request.text()) == (0, "exit-status")
    w.expect(CHANNEL_CLOSE)


def test_too_many_channels(make_server, wire, key):
    """100 000 opens: MaxSessions are there, the rest is refused, and the
    server does not grow."""
    server = make_server("MaxSessions 10\n")
    w = wire(server).login(ME, key)
    before = memory_kib(server)
    total = 100_000 if SLOW == 1 else 10_000
    opened = refused = 0
    for start in range(0, total, 1000):
        w.send(*(message(CHANNEL_OPEN, "session", n, 100, 100)
                 for n in range(start, start + 1000)))
        for _ in range(1000):
            kind, _ = w.expect(OPEN_CONFIRMATION, OPEN_FAILURE)
            opened += kind == OPEN_CONFIRMATION
            refused += kind == OPEN_FAILURE
    assert (opened, refused) == (10, total - 10)
    assert memory_kib(server) - before < 8 * 1024 * MEMORY


def test_types_of_channels(logged_in):
    w = logged_in()
    for kind in ("no-such", "", "x" * 100, "session\0x", "direct-tcpip"):
        w.say(CHANNEL_OPEN, string(kind), 1, 1000, 1000)
        try:
            if w.expect(OPEN_FAILURE, DISCONNECT)[0] == DISCONNECT:
                w = logged_in()
        except Closed:
            w = logged_in()
    assert w.open_session()


def output(w, number):
    """Everything that a command says, until it closes the channel."""
    said = b""
    while True:
        kind, r = w.expect(CHANNEL_DATA, EXTENDED_DATA, CHANNEL_CLOSE,
                           CHANNEL_EOF, CHANNEL_REQUEST)
        if kind == CHANNEL_CLOSE:
            return said
        if kind == CHANNEL_DATA:
            r.u32()
            said += r.string()


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH", "PATH",
                                  "BASH_ENV", "ENV", "LC_A\0B", "LC_A=B",
                                  "lang", ""])
def test_variables_that_are_not_accepted(logged_in, name):
    w = logged_in()
    number = w.open_session()[0]
    w.say(CHANNEL_REQUEST, number, "env", True, string(name), "/evil.so")
    try:
        kind = w.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE, DISCONNECT)[0]
    except Closed:
        kind = DISCONNECT
    if kind == DISCONNECT and "\0" in name:
        return
    assert kind == CHANNEL_FAILURE
    w.say(CHANNEL_REQUEST, number, "exec", False, "env; true")
    assert b"/evil.so" not in output(w, number)


def test_variable_that_is_accepted(logged_in):
    w = logged_in()
    number = w.open_session()[0]
    w.say(CHANNEL_REQUEST, number, "env", True, "LC_ALL", "C")
    w.expect(CHANNEL_SUCCESS)
    w.say(CHANNEL_REQUEST, number, "exec", False, "echo $LC_ALL")
    assert output(w, number) == b"C\n"


def test_many_variables(logged_in):
    """As many as somebody cares to send: bounded, and no harm done."""
    w = logged_in()
    number = w.open_session()[0]
    w.send(*(message(CHANNEL_REQUEST, number, "env", False, f"LC_{n}",
                     string(b"x" * 1000)) for n in range(5000)))
    w.say(CHANNEL_REQUEST, number, "exec", True, "echo alive")
    try:
        if w.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE)[0] == CHANNEL_SUCCESS:
            assert output(w, number) in (b"alive\n", b"")
    except Closed:
        pass


@pytest.mark.parametrize("request_fields", [
    ("exec", u32(0xffffffff)), ("exec",), ("exec", string(b"a\0b")),
    ("pty-req", "xterm"), ("pty-req", string("x" * 70_000), 80, 24, 0, 0, ""),
    ("pty-req", "xterm", 80, 24, 0, 0, string(b"\x80" * 5000)),
    ("pty-req", "xterm", 0xffffffff, 0xffffffff, 0, 0, string(b"\1")),
    ("window-change", 1), ("signal", "NOSUCH"), ("signal", u32(77)),
    ("subsystem", "no-such"), ("exit-status", 0), ("xon-xoff", True),
    ("x11-req", True, "a", "b", 0), ("auth-agent-req@openssh.com",),
    ("no-such-request", string(b"x" * 200_000)), ("env", "LC_X"),
], ids=lambda f: f"{f[0]}-{len(f)}")
def test_hurt_channel_requests(logged_in, request_fields):
    """Refused, or the connection ends; never a crash (see `server`)."""
    what, *fields = request_fields
    w = logged_in()
    number = w.open_session()[0]
    w.say(CHANNEL_REQUEST, number, what, True, *fields)
    try:
        w.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE, DISCONNECT)
    except Closed:
        pass


def test_signal_right_behind_a_command(logged_in):
    """It reaches the process, whether that has come to its command yet."""
    w = logged_in()
    for i in range(20):
        number = w.open_session(i)[0]
        w.send(message(CHANNEL_REQUEST, number, "exec", True, "sleep 60"),
               message(CHANNEL_REQUEST, number, "signal", True, "KILL"))
        w.expect(CHANNEL_SUCCESS)
        assert w.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE)[0] == \
            CHANNEL_SUCCESS, i
        ended = w.expect(CHANNEL_REQUEST)
        ended.u32()
        assert ended.text() == "exit-signal"
        w.say(CHANNEL_CLOSE, number)
        w.expect(CHANNEL_CLOSE)


def test_second_command_in_a_session(logged_in):
    w = logged_in()
    number = w.open_session()[0]
    w.say(CHANNEL_REQUEST, number, "exec", True, "sleep 2")
    w.expect(CHANNEL_SUCCESS)
    w.say(CHANNEL_REQUEST, number, "exec", True, "echo twice")
    assert w.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE)[0] == CHANNEL_FAILURE


def test_no_more_sessions(logged_in):
    w = logged_in()
    assert w.open_session()
    w.say(GLOBAL_REQUEST, "no-more-sessions@openssh.com", False)
    w.say(CHANNEL_OPEN, "session", 1, 1000, 1000)
    try:
        assert w.expect(OPEN_FAILURE, OPEN_CONFIRMATION,
                        DISCONNECT)[0] != OPEN_CONFIRMATION
    except Closed:
        pass


# ---- peers that stop ---------------------------------------------------

@pytest.mark.parametrize("stage", ["identification", "kexinit", "value",
                                   "newkeys", "service", "auth"])
def test_client_that_stops(make_server, wire, stage):
    """In the middle of a packet, at each step: LoginGraceTime ends it."""
    server = make_server("LoginGraceTime 1\n")
    w = wire(server)
    stages = ["identification", "kexinit", "value", "newkeys", "service",
              "auth"]
    steps = [lambda: None, w.identify,
             lambda: (w.send_kexinit(), w.read_kexinit()),
             lambda: w.client_exchange(),
             lambda: (w.send_newkeys(), w.read_newkeys()), w.ask_service]
    for step in steps[:stages.index(stage) + 1]:
        step()
    w.raw(b"SSH-2.0" if stage == "identification" else
          u32(48 if w.tx else 44) + b"\6" * 20)
    w.sock.settimeout(6 * SLOW)
    try:
        while True:
            w._fill()
    except Closed:
        pass
    assert harness.wait_for(lambda: not server.connections())
    assert "Timeout before authentication" in server.log_text()


def test_client_that_stops_after_login(make_server, wire, key):
    """ClientAlive ends it."""
    server = make_server("ClientAliveInterval 1\nClientAliveCountMax 1\n")
    w = wire(server).login(ME, key)
    number = w.open_session()[0]
    w.say(CHANNEL_REQUEST, number, "exec", True, "cat")
    w.raw(u32(48) + b"x" * 20)
    assert harness.wait_for(lambda: not server.connections())


@pytest.mark.parametrize("most, given_up", [(0, False), (1, True)])
def test_client_that_does_not_answer(make_server, wire, key, most, given_up):
    """A client that says nothing is asked so many times, and then given up;
    with 0 it is asked, but never given up."""
    server = make_server("ClientAliveInterval 1\n"
                         f"ClientAliveCountMax {most}\n")
    w = wire(server).login(ME, key)
    asked = 0
    try:
        while asked < 3:
            payload = w.recv()
            asked += b"keepalive@openssh.com" in payload
            if payload[0] == DISCONNECT:
                break
    except Closed:
        pass
    assert (asked < 3) == given_up
    if not given_up:
        assert w.open_session()


def test_reader_that_stops_does_not_hold_others(make_server, wire, key):
    """One client that takes no data costs its own connection only."""
    server = make_server()
    w = wire(server).login(ME, key)
    number = w.open_session(window=0x7fffffff)[0]
    w.say(CHANNEL_REQUEST, number, "exec", True, "cat /dev/zero")
    time.sleep(0.5)
    before = memory_kib(server)
    time.sleep(1)
    assert memory_kib(server) - before < 8 * 1024 * MEMORY
    assert wire(server).login(ME, key)


def test_half_open(wire):
    """A client that only stops sending hears the end of the server."""
    w = wire().identify()
    w.sock.shutdown(socket.SHUT_WR)
    w.was_ended()


def test_ordinary_client_still_gets_in(server):
    """After all of the above."""
    assert Client("hpn", server).ssh("exit 7").rc == 7
