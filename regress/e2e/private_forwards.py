# SPDX-License-Identifier: ISC
"""For tests of private forwards, of agent and display: servers of a user with
a home directory of its own, and servers that are greedy."""

import shutil
import subprocess

import pytest
from ownetc import USER, OwnEtc, problem, short_place
from sshwire import (CHANNEL_CLOSE, CHANNEL_FAILURE, CHANNEL_OPEN,
                     CHANNEL_REQUEST, CHANNEL_SUCCESS, EXT_INFO,
                     OPEN_CONFIRMATION, OPEN_FAILURE, FakeServer, connect,
                     load_key, message)

import harness
from harness import Client


class Place(OwnEtc):
    """One server for all tests that want the same."""

    def __init__(self, directory, keys):
        super().__init__(directory, keys)
        self.running = {}

    def server(self, config="", key_options="", kind="hpn"):
        what = kind, config, key_options
        if what not in self.running:
            self.running[what] = super().server(
                config, kind=kind, key_options=key_options)
        return self.running[what]


def place(keys):
    return short_place(Place, "o", keys, problem())


def ask(wire, channel, name, *fields):
    wire.say(CHANNEL_REQUEST, channel, name, True, *fields)
    return wire.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE)[0]


def logged_in(server):
    return connect(server).login(USER, load_key(server.keys.path("ed25519")))


class Session:
    """A session that stays until its end is wanted: it runs a command that
    writes one line, and then echoes. shown: the line without its brackets,
    None if nothing was between them. errors: what the client wrote, which is
    known when the session has ended."""

    def __init__(self, client, command, *options, env, flags=()):
        self.process = harness.start(
            [*client.ssh_args(*options, flags=flags), command + "; cat"],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        line = self.process.stdout.readline().decode().strip()
        self.shown = line[1:-1] or None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        try:
            _, err = self.process.communicate(timeout=harness.LONG)
            self.errors = err.decode()
        finally:
            harness.kill_group(self.process)

    def echo(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()
        return self.process.stdout.read(len(text)) == text


class Greedy:
    """A server that opens channels of a type once the session has begun, and
    records the requests of the session."""

    def __init__(self, directory, keys, kind, *fields, count=1, ext=(),
                 then=None, early=False):
        self.kind, self.fields, self.count, self.ext = \
            kind, fields, count, ext
        self.then = then  # called with the wire, before the session ends
        self.early = early  # before the session is confirmed
        self.requests, self.answers = [], []
        self.said = {}  # by the name of the request, its own fields
        self.server = FakeServer(directory, keys, self.talk)

    def talk(self, w):
        w.handshake(self.server.host)
        if self.ext:
            w.say(EXT_INFO, len(self.ext) // 2, *self.ext)
        w.accept_user()
        opened = w.expect(CHANNEL_OPEN)
        opened.string()
        number = opened.u32()
        if self.early:
            self.grab(w)
        w.say(OPEN_CONFIRMATION, number, 0, 1 << 20, 1 << 15)
        while not self.requests or self.requests[-1] != "exec":
            request = w.expect(CHANNEL_REQUEST)
            request.u32()
            self.requests.append(request.text())
            if request.bool():
                w.say(CHANNEL_SUCCESS, number)
            self.said[self.requests[-1]] = request.rest()
        if not self.early:
            self.grab(w)
        if self.then:
            self.then(w)
        w.send(message(CHANNEL_REQUEST, number, "exit-status", False, 0),
               message(CHANNEL_CLOSE, number))
        w.expect(CHANNEL_CLOSE)

    def grab(self, w):
        for i in range(self.count):
            w.say(CHANNEL_OPEN, self.kind, 7 + i, 1 << 20, 1 << 15,
                  *self.fields)
        for _ in range(self.count):
            kind, answer = w.expect(OPEN_FAILURE, OPEN_CONFIRMATION)
            self.answers.append((kind, answer.u32(), answer.u32()))

    def visit(self, *options, env=None, flags=(), **kw):
        with self.server:
            return Client("hpn", self.server, log_level="INFO").ssh(
                "true", options=("ConnectTimeout=20", *options), flags=flags,
                env=env, **kw)


@pytest.fixture
def own(place):
    """The place, with nothing that a test before left in the home."""
    shutil.rmtree(place.home / ".ssh", ignore_errors=True)
    (place.home / ".Xauthority").unlink(missing_ok=True)
    return place
