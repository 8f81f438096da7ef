# SPDX-License-Identifier: ISC
"""Mux clients that speak the protocol themselves (-O proxy): a small one, in Python, on a master of ours."""

import os
import signal
import socket
import struct
import subprocess

import pytest
import sshwire as wire
from forwarding import exactly
from muxes import Master, control, mux_client
from sshwire import message, string

import harness
from harness import LONG, run, start, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")

HELLO, PROXY, PROXY_OK = 1, 0x1000000f, 0x8000000f
WINDOW, PACKET = 1 << 20, 32768


class Proxied:
    """A client of the connection protocol, behind a master's socket."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LONG)
        self.sock.connect(str(path))
        self.frame(struct.pack(">II", HELLO, 4))
        assert self.unframe()[:4] == wire.u32(HELLO)
        self.frame(struct.pack(">II", PROXY, 7))
        assert self.unframe() == struct.pack(">II", PROXY_OK, 7)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.sock.close()

    def frame(self, body):
        self.sock.sendall(wire.u32(len(body)) + body)

    def unframe(self):
        head = exactly(self.sock, 4)
        return exactly(self.sock, struct.unpack(">I", head)[0]) if head else b""

    def put(self, kind, *fields):
        self.frame(b"\0" + message(kind, *fields))

    def get(self):
        """(type, the rest); (None, b"") at the end."""
        body = self.unframe()
        if not body:
            return None, b""
        assert len(body) >= 5  # OpenSSH's needs so many
        return body[1], body[2:len(body) - body[0]]

    def expect(self, kind):
        got, rest = self.get()
        assert got == kind, (got, rest)
        return rest

    def open(self, number, *fields, kind="session"):
        self.put(wire.CHANNEL_OPEN, kind, number, WINDOW, PACKET, *fields)
        to, theirs = struct.unpack_from(
            ">II", self.expect(wire.OPEN_CONFIRMATION))
        assert to == number
        return theirs

    def run(self, number, command):
        channel = self.open(number)
        self.put(wire.CHANNEL_REQUEST, channel, "exec", True, command)
        return channel

    def is_ended(self):
        try:
            while self.get()[0] is not None:
                pass
        except ConnectionResetError:
            pass
        return True

    def rest_of(self, number):
        """(output, status) of a session, up to its CLOSE."""
        out, status = b"", None
        while True:
            kind, rest = self.get()
            assert kind is not None
            assert rest[:4] == wire.u32(number)
            if kind == wire.CHANNEL_DATA:
                out += rest[8:]
            elif kind == wire.CHANNEL_REQUEST and b"exit-status" in rest:
                status = struct.unpack(">I", rest[-4:])[0]
            elif kind == wire.CHANNEL_CLOSE:
                return out, status


@pytest.fixture
def master(sshd, tmp_path):
    with Master("hpn", sshd, tmp_path / "socket") as m:
        yield m


def test_command(master):
    with Proxied(master.path) as p:
        channel = p.run(1234, "cat; exit 9")
        while p.get()[0] != wire.WINDOW_ADJUST:
            pass
        p.put(wire.CHANNEL_DATA, channel, "there and back")
        p.put(wire.CHANNEL_EOF, channel)
        assert p.rest_of(1234) == (b"there and back", 9)
        p.put(wire.CHANNEL_CLOSE, channel)
        # and another, on the same one
        p.run(5, "echo again")
        assert p.rest_of(5) == (b"again\n", 0)


def test_its_channels_end_with_it(master, tmp_path):
    alive = tmp_path / "alive"
    with Proxied(master.path) as p:
        p.run(1, f"touch {alive}; cat; rm {alive}")
        assert wait_for(alive.exists)
        listed = control("hpn", master.path, "channels").ok().text
        assert "session" in listed
    assert wait_for(lambda: not alive.exists())
    assert run(mux_client("hpn", master.path, "echo on")).ok().out == b"on\n"


def test_port(master):
    with Proxied(master.path) as p:
        p.put(wire.GLOBAL_REQUEST, "tcpip-forward", True, "localhost", 0)
        port, = struct.unpack(">I", p.expect(wire.REQUEST_SUCCESS))
        with socket.create_connection(("127.0.0.1", port), LONG) as s:
            rest = p.expect(wire.CHANNEL_OPEN)
            kind = string("forwarded-tcpip")
            assert rest.startswith(kind)
            channel, = struct.unpack_from(">I", rest, len(kind))
            assert string("localhost") + wire.u32(port) in rest
            p.put(wire.OPEN_CONFIRMATION, channel, 6, WINDOW, PACKET)
            p.put(wire.CHANNEL_DATA, channel, "welcome")
            assert exactly(s, 7) == b"welcome"

    def is_free():
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except ConnectionRefusedError:
            return True

    assert wait_for(is_free)  # it was cancelled


def test_port_that_is_named(master):
    """Its answer has nothing in it."""
    port = harness.free_port()
    with Proxied(master.path) as p:
        p.put(wire.GLOBAL_REQUEST, "tcpip-forward", True, "localhost", port)
        assert p.expect(wire.REQUEST_SUCCESS) == b""
        p.put(wire.GLOBAL_REQUEST, "tcpip-forward", True, "localhost", port)
        assert p.expect(wire.REQUEST_FAILURE) == b""


@pytest.mark.parametrize("what", [
    (wire.GLOBAL_REQUEST, "no-more-sessions@openssh.com", False),
    (wire.CHANNEL_DATA, 0, "to another's channel"),
    (wire.CHANNEL_CLOSE, 0),
    (wire.KEXINIT, bytes(16)),
    (wire.DISCONNECT, 11, "bye", ""),
    (wire.CHANNEL_OPEN, "session"),
], ids=lambda what: f"{what[0]}-{len(what)}")
def test_what_is_not_allowed(master, what):
    """It ends; a session beside it goes on."""
    held = start(mux_client("hpn", master.path, "echo there; cat"),
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert held.stdout.readline() == b"there\n"
    with Proxied(master.path) as p:
        p.put(*what)
        assert p.is_ended()
    assert held.communicate(b"on", LONG)[0] == b"on"


def test_one_that_stops(master):
    """It does not read; others go on, and what it is sent is bounded by the
    window that it gave."""
    with Proxied(master.path) as p:
        p.run(1, "cat /dev/zero")
        for n in range(3):
            assert run(mux_client("hpn", master.path, f"echo {n}")).ok().out \
                == f"{n}\n".encode()


def test_end_of_the_master(master):
    with Proxied(master.path) as p:
        p.run(1, "cat")
        master.process.send_signal(signal.SIGTERM)
        assert p.is_ended()
        master.process.wait(LONG)
    assert not os.path.exists(master.path)
