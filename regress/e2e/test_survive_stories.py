# SPDX-License-Identifier: ISC
"""Sessions that survive, in stories that follow from a seed: nothing gets
through, connections are reset, addresses and routes change, a program stands
still, keys are exchanged, forwards come and go, and what was sent is what
arrives. HPN_SURVIVE_STORIES=200 makes so many, from HPN_SEED on."""

import contextlib
import hashlib
import os
import random
import signal
import socket
import subprocess
import threading
import time

import pytest
from descriptors import copy_of
from faults.proxy import shut
from forwarding import Service, exactly, reach
from paths import inside, laid, problem

import harness
from harness import LONG, have, wait_for

PROBLEM = problem()
pytestmark = [
    pytest.mark.skipif(not have("hpn", "ssh", "sshd"),
                       reason="hpnssh or hpnsshd is not built"),
    pytest.mark.skipif(bool(PROBLEM), reason=PROBLEM or ""),
]
FIRST = int(os.environ.get("HPN_SEED", "0"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("HPN_SURVIVE_STORIES", "10")))
# A try that was given up on a path that is gone ends with the time for logins.
YES = "LogLevel VERBOSE\nSurvive yes\nLoginGraceTime 20\n"


@pytest.fixture(scope="module")
def paths(nothing_left, keys, tmp_path_factory):
    with laid(tmp_path_factory.mktemp("stories"), keys, YES) as made:
        yield made


class Stream:
    """Bytes that go through `cat` over there, and their sum."""

    def __init__(self, process):
        self.process, self.said = process, hashlib.sha256()
        self.heard, self.sizes = hashlib.sha256(), [0, 0]
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        while piece := self.process.stdout.read1(1 << 16):
            self.heard.update(piece)
            self.sizes[1] += len(piece)

    def say(self, data):
        self.said.update(data)
        self.sizes[0] += len(data)
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        rc = self.process.wait(LONG)
        self.reader.join(LONG)
        return rc


class Story:
    """One client, and what happens to it. All runs inside of the client's
    namespace."""

    def __init__(self, paths, seed):
        self.rng = random.Random(seed)
        self.paths, self.told, self.echoes = paths, [], []
        self.errors = paths.directory / f"story-{seed}.err"

    # ---- what may happen -------------------------------------------------

    def hole(self):
        self.paths.begin_hole()
        time.sleep(self.rng.choice((.2, .2, 1, 1, 3, 5)))
        self.paths.end_hole()

    def reset(self):
        """Resets the connection of the client's end, or of the server's."""
        ours = self.rng.random() < .5
        pids = [self.process.pid] if ours else self.paths.server.connections()
        for pid in pids:
            with contextlib.suppress(OSError):
                for entry in os.scandir(f"/proc/{pid}/fd"):
                    self.reset_one(pid, int(entry.name))

    def reset_one(self, pid, number):
        """If it is one of the connection between them."""
        fd = copy_of(pid, number)
        try:
            sock = socket.socket(fileno=fd)
        except OSError:  # it is no socket
            os.close(fd)
            return
        with contextlib.suppress(OSError), sock:
            if sock.family == socket.AF_INET and self.paths.host in (
                    sock.getpeername()[0], sock.getsockname()[0]):
                shut(sock, True)

    def address(self):
        self.paths.move()

    def route(self):
        self.paths.go_by(self.rng.choice(("wire", "radio")))

    def stop(self):
        """The client's machine sleeps, or the server's process is held up."""
        pids = [self.process.pid]
        if self.rng.random() < .3:
            pids = [pid for pid, (_, name) in
                    self.paths.server.connections().items()
                    if name == "hpnsshd-user"]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        time.sleep(self.rng.choice((.1, 1, 1, 4)))
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def stream(self):
        """Ever more than the pipes and windows take at once."""
        self.cat.say(self.rng.randbytes(self.rng.randrange(3 << 20)))

    def forward(self):
        """A connection through -L or -R, which ends while others go on."""
        port = self.rng.choice(self.ports)
        data = self.rng.randbytes(self.rng.randrange(1, 1 << 20))
        begins = self.far if port == self.ports[1] else self.paths.near
        got = []

        def echo():
            with contextlib.suppress(OSError), reach(port) as sock:
                sender = threading.Thread(target=sock.sendall, args=(data,))
                sender.start()
                got.append(exactly(sock, len(data)))
                sender.join(LONG)
        # In a thread of its own, which goes on while the next thing happens.
        thread = threading.Thread(target=inside, args=(begins, echo))
        thread.start()
        self.echoes.append((thread, data, got))

    def happens(self):
        what = self.rng.choice(("hole", "reset", "reset", "address", "route",
                                "stop", "stream", "stream", "forward",
                                "forward"))
        self.told.append(what)
        getattr(self, what)()
        time.sleep(self.rng.choice((0, .05, .5)))

    # ---- the story -------------------------------------------------------

    def text(self):
        return (f"{self.told}\n{self.errors.read_text()[-4000:]}\n"
                f"{self.paths.server.log_text()[-4000:]}")

    def begin(self):
        self.ports = [harness.free_port(), harness.free_port()]
        self.far = self.paths.far
        self.services = [inside(self.far, Service), Service()]
        rekey = self.rng.choice(("1G", "1G", "1M", "200K"))
        client = self.paths.client(
            ["Survive=yes", "ServerAliveInterval=1", "ServerAliveCountMax=1",
             f"RekeyLimit={rekey}", "ExitOnForwardFailure=yes"],
            log_level="VERBOSE")
        flags = [f"-L{self.ports[0]}:127.0.0.1:{self.services[0].port}",
                 f"-R{self.ports[1]}:127.0.0.1:{self.services[1].port}"]
        with open(self.errors, "wb") as log:
            self.process = harness.start(
                [*client.ssh_args(flags=flags), "cat"], stderr=log,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.told.append(f"RekeyLimit {rekey}")
        assert wait_for(lambda: "survives its connection" in
                        self.errors.read_text() or
                        self.process.poll() is not None, LONG)
        assert self.process.poll() is None, self.text()
        self.cat = Stream(self.process)

    def run(self):
        self.begin()
        try:
            for _ in range(self.rng.randrange(3, 9)):
                self.happens()
            self.cat.say(b"end\n")
            for thread, data, got in self.echoes:
                thread.join(LONG)
                assert not thread.is_alive() and got == [data], self.text()
            rc = self.cat.end()
            assert rc == 0 and self.cat.sizes[0] == self.cat.sizes[1] and \
                self.cat.heard.digest() == self.cat.said.digest(), \
                (rc, self.cat.sizes, self.text())
        finally:
            harness.kill_group(self.process)
            for one in self.services:
                one.close()


@pytest.mark.parametrize("seed", SEEDS)
def test_story(paths, seed):
    inside(paths.near, Story(paths, seed).run)
    assert wait_for(lambda: not paths.server.connections(), LONG), \
        paths.server.log_text()[-4000:]
