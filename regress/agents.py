# SPDX-License-Identifier: ISC
"""A small agent (RFC 9987) for tests: one key, and a record of what it was
told. And its client; and programs that are agents."""

import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

import harness
from forwarding import Service

LIST, KEYS, SIGN, SIGNATURE = 11, 12, 13, 14
FAILURE, SUCCESS, EXTENSION = 5, 6, 27


def string(data):
    data = data.encode() if isinstance(data, str) else data
    return struct.pack(">I", len(data)) + data


def cut(data, count):
    """That many strings, and the rest."""
    out = []
    for _ in range(count):
        n, = struct.unpack_from(">I", data)
        out.append(data[4:4 + n])
        data = data[4 + n:]
    return (*out, data)


def receive(sock):
    """A message, or b"" at the end."""
    data = b""
    while len(data) < 4 or len(data) < 4 + struct.unpack_from(">I", data)[0]:
        chunk = sock.recv(65536)
        if not chunk:
            return b""
        data += chunk
    return data[4:]


def ask(path, message, timeout=20):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(timeout)
        s.connect(str(path))
        s.sendall(string(message))
        return receive(s)


def comments(path):
    """The comments of the keys that an agent lists."""
    answer = ask(path, bytes([LIST]))
    assert answer[0] == KEYS, answer
    count, rest, out = struct.unpack_from(">I", answer, 1)[0], answer[5:], []
    for _ in range(count):
        _, comment, rest = cut(rest, 2)
        out.append(comment.decode())
    return out


class Agent(Service):
    """key: as of sshwire.load_key(). bound: what it was told of connections,
    as (host key, session id, signature, forwarded)."""

    def __init__(self, path, key, comment="test key", silent=False):
        self.key, self.comment = key, comment
        self.silent = silent
        self.bound, self.messages = [], []
        # One that is busy: who connects has to try again.
        super().__init__(self._talk, str(path), backlog=4)

    @property
    def connections(self):
        return len(self.peers)

    def _talk(self, sock):
        while message := receive(sock):
            self.messages.append(message)
            if not self.silent:
                sock.sendall(string(self._answer(message)))

    def _answer(self, message):
        kind, rest = message[0], message[1:]
        if kind == LIST:
            return (bytes([KEYS]) + struct.pack(">I", 1)
                    + string(self.key.blob) + string(self.comment))
        if kind == SIGN:
            blob, data, _ = cut(rest, 2)
            if blob == self.key.blob:
                return bytes([SIGNATURE]) + string(self.key.sign(data))
        if kind == EXTENSION:
            name, host, session, signature, rest = cut(rest, 4)
            assert name == b"session-bind@openssh.com"
            self.bound.append((host, session, signature, rest == b"\1"))
            return bytes([SUCCESS])
        return bytes([FAILURE])

    def __exit__(self, *exc):
        super().__exit__(*exc)
        if os.path.exists(self.path):
            os.unlink(self.path)


class Running:
    """An agent of either kind in the foreground, and commands that use it."""

    def __init__(self, *args, kind="hpn", env=None, user=None, within=()):
        self.args = [*within, harness.program(kind, "ssh-agent"), "-D", *args]
        self.env, self.user = env or {}, user

    def __enter__(self):
        # A short name: names of sockets are limited.
        self.dir = Path(tempfile.mkdtemp(prefix="hpn", dir="/tmp"))
        self.path = self.dir / "agent"
        self.log = self.dir / "log"
        kw = {}
        if self.user:
            shutil.chown(self.dir, self.user, self.user)
            kw = {"user": self.user, "group": self.user, "extra_groups": []}
        with open(self.log, "wb") as log:
            self.process = harness.start(
                [*self.args, "-a", self.path], stdout=subprocess.DEVNULL,
                stderr=log, env=harness.clean_env(**self.env), **kw)
        if not harness.wait_for(self.answers):
            said = self.said()
            self.__exit__()
            raise AssertionError(f"the agent did not begin: {said}")
        return self

    def answers(self):
        """Its socket is there a moment before it can be connected to."""
        try:
            return ask(self.path, bytes([LIST]))
        except OSError:
            return None

    def said(self):
        return self.log.read_text()

    def environ(self, **changes):
        return harness.clean_env(SSH_AUTH_SOCK=self.path, **changes)

    def run(self, *command, **kw):
        kw.setdefault("env", self.environ())
        return harness.run(command, **kw)

    def add(self, *args, **kw):
        """The stock ssh-add."""
        return self.run(harness.stock("ssh-add"), *args, **kw)

    def stop(self, number=signal.SIGTERM):
        """Ends it; its exit status."""
        self.process.send_signal(number)
        return self.process.wait(harness.LONG)

    def __exit__(self, *exc):
        harness.kill_group(self.process)
        shutil.rmtree(self.dir)


@pytest.fixture
def stock_agent(tmp_path, background):
    """The socket of an agent of stock, which has no key."""
    if not harness.stock("ssh-agent"):
        pytest.skip("no ssh-agent is installed")
    sock = tmp_path / "agent"
    background([harness.stock("ssh-agent"), "-D", "-a", sock],
               stdout=subprocess.DEVNULL)

    def listens():
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(str(sock)) == 0
    assert harness.wait_for(listens)
    return sock


@pytest.fixture(params=["stock", "hpn"])
def each_agent(request, tmp_path, background):
    """The environment of an agent, stock's and ours, which has no key."""
    if not harness.have(request.param, "ssh-agent"):
        pytest.skip("there is no such agent")
    sock = tmp_path / "agent"
    background([harness.program(request.param, "ssh-agent"), "-D", "-a",
                sock],
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert harness.wait_for(lambda: harness.takes_connections(sock))
    return {"SSH_AUTH_SOCK": str(sock)}
