# SPDX-License-Identifier: ISC
"""hpnssh as a client of its own on a master's connection (-O proxy), where
the master is ours, and where it is a hostile one, in Python. Stock's master is
in interop/test_mux_stock.py."""

import os
import socket
import struct
import subprocess
import threading

import pytest
import sshwire as wire
from forwarding import exactly
from muxes import Master, control, mux_client
from sshwire import message, string
from terminal import Terminal

import harness
from harness import LONG, run, start, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")

HELLO, PROXY, FAILURE, PROXY_OK = 1, 0x1000000f, 0x80000003, 0x8000000f


def proxied(path, *command, flags=(), **kw):
    return mux_client("hpn", path, *command, flags=["-O", "proxy", *flags],
                     **kw)


# ---- our own master -----------------------------------------------------

@pytest.fixture
def master(sshd, tmp_path):
    with Master("hpn", sshd, tmp_path / "socket") as m:
        yield m


def test_more_than_a_window(master, data_file):
    data = data_file(20 << 20).read_bytes()
    done = run(proxied(master.path, "cat"), stdin=data)
    assert done.ok().out == data


def test_it_is_a_channel_of_the_master(master):
    held = start(proxied(master.path, "echo there; cat"),
                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert held.stdout.readline() == b"there\n"
    assert "session" in control("hpn", master.path, "channels").ok().text
    held.communicate(b"", LONG)
    assert held.returncode == 0
    listed = control("hpn", master.path, "channels").ok().text
    assert "session" not in listed


def test_alive_checks_and_rekeys_are_the_masters(master):
    """Asking for either would end it."""
    done = run(proxied(master.path, "sleep 2.5; echo on", options=[
        "ServerAliveInterval=1", "RekeyLimit=16K 1", "NoneEnabled=yes",
        "NoneSwitch=yes"]))
    assert done.ok().out == b"on\n"


def test_escapes(master):
    with Terminal(proxied(master.path, flags=["-tt"])) as terminal:
        terminal.line("HISTFILE=; PS1='re''ady> '; stty -echo; echo o''n")
        terminal.expect("on")
        terminal.expect("ready> ")
        terminal.type("\r~I")
        terminal.expect("through the proxy of a master")
        terminal.type("\r~R")
        terminal.expect("[cannot rekey now]")
        terminal.line("exit 5")
        assert terminal.wait() == 5


def test_what_is_not_lent(master):
    """The server would open channels for it to the master."""
    env = {**os.environ, "SSH_AUTH_SOCK": "/nobody",
           "DISPLAY": ":77"}
    done = run(proxied(master.path, "echo on",
                       flags=["-A", "-X"]), env=env)
    assert "Agent forwarding is not possible through a master's proxy" \
        in done.errors
    assert "X11 forwarding is not possible through" in done.errors


def test_a_path_at_the_server(master, tmp_path):
    path = tmp_path / "listens"
    done = run(proxied(master.path, f"ls {path}; echo on",
                       flags=["-R", f"{path}:127.0.0.1:1"]))
    assert "not possible through a master's proxy" in done.errors
    assert done.out == b"on\n"


def test_a_failure_that_would_not_be_known(master):
    port = harness.free_port()
    done = run(proxied(master.path, "echo on", options=[
        "ExitOnForwardFailure=yes"], flags=["-R", f"{port}:127.0.0.1:1"]))
    assert (done.rc, done.out) == (255, b"")
    assert "not known through a master's proxy" in done.errors


def test_a_port_that_the_server_picks(master):
    done = run(proxied(master.path, "sleep 0.3; echo on",
                       flags=["-R", "0:127.0.0.1:1"]))
    assert done.ok().out == b"on\n"
    assert "Allocated port" in done.errors


def test_nobody_there(tmp_path):
    done = run(proxied(tmp_path / "none", "echo on"))
    assert (done.rc, done.out) == (255, b"")
    assert "Control socket connect" in done.errors


def test_no_path():
    done = run([harness.program("hpn", "ssh"), "-F", "none", "-O", "proxy",
                "127.0.0.1"])
    assert done.rc == 255
    assert 'No ControlPath specified for "-O" command' in done.errors


# ---- a hostile one ------------------------------------------------------

class Hostile:
    """A master that says what it wants."""

    def __init__(self, path, says, answer=None):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(1)
        self.says, self.heard = says, b""
        self.answer = answer
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.thread.join(LONG)
        assert not self.thread.is_alive()
        self.listener.close()

    def serve(self):
        self.listener.settimeout(LONG)
        s, _ = self.listener.accept()
        s.settimeout(LONG)
        with s:
            self.frame(s, struct.pack(">II", HELLO, 4))
            assert self.unframe(s)[:4] == wire.u32(HELLO)
            kind, number = struct.unpack(">II", self.unframe(s))
            assert kind == PROXY
            answer = self.answer or struct.pack(">I", PROXY_OK)
            self.frame(s, answer[:4] + wire.u32(number) + answer[4:])
            try:
                s.sendall(self.says)
                while True:
                    got = s.recv(65536)
                    if not got:
                        break
                    self.heard += got
            except ConnectionError:
                pass

    @staticmethod
    def frame(s, body):
        s.sendall(wire.u32(len(body)) + body)

    @staticmethod
    def unframe(s):
        return exactly(s, struct.unpack(">I", exactly(s, 4))[0])


def packet(kind, *fields, padding=0):
    body = bytes([padding]) + message(kind, *fields)
    return wire.u32(len(body)) + body


@pytest.mark.parametrize("says", [
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    wire.u32(256 << 10 | 1) + bytes(100),
    packet(wire.CHANNEL_DATA, 0, "x", padding=200),
    packet(wire.KEXINIT, bytes(16)),
    packet(wire.DISCONNECT, 11, "bye", ""),
], ids=range(6))
def test_hostile_master(tmp_path, says):
    """It ends at once, with 255 and a line, and has asked for nothing but
    channels."""
    with Hostile(tmp_path / "socket", says) as master:
        done = run(proxied(tmp_path / "socket", "echo on"), timeout=LONG)
    assert (done.rc, done.out) == (255, b"")
    assert done.errors.strip()
    assert len(master.heard) < 1000


@pytest.mark.parametrize("kind", ["session", "auth-agent@openssh.com", "x11",
                                  "forwarded-tcpip"])
def test_master_that_opens_channels(tmp_path, kind):
    """What was not asked for is refused."""
    fields = {"x11": ("127.0.0.1", 1),
              "forwarded-tcpip": ("localhost", 1, "127.0.0.1", 1)}
    says = packet(wire.CHANNEL_OPEN, kind, 5, 1 << 20, 32768,
                  *fields.get(kind, ()))
    with Hostile(tmp_path / "socket", says) as master:
        p = start(proxied(tmp_path / "socket", flags=["-N"]),
                  stderr=subprocess.DEVNULL)
        refusal = bytes([wire.OPEN_FAILURE]) + wire.u32(5)
        assert wait_for(lambda: refusal in master.heard)
        p.terminate()
        assert p.wait(LONG) == 0


def test_master_that_denies(tmp_path):
    answer = struct.pack(">I", FAILURE) + string("no \x1b[2J")
    with Hostile(tmp_path / "socket", b"", answer):
        done = run(proxied(tmp_path / "socket", "echo on"))
    assert (done.rc, done.out) == (255, b"")
    assert 'Master refused "proxy": no ' in done.errors
    assert "\x1b" not in done.errors
