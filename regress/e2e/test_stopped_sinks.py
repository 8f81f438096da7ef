# SPDX-License-Identifier: ISC
"""A sink that stops for a while (SIGSTOP) costs no process more memory than
a connection's budget, and what was sent arrives all the same.

HPN_STOP=60 stops it for a minute; by default it is a second. With -s the
memory of each process is printed."""

import hashlib
import os
import signal
import subprocess
import threading
import time

import pytest

import harness
from harness import hpn

pytestmark = pytest.mark.skipif(not harness.have("hpn", "scp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")
STOP = float(os.environ.get("HPN_STOP", "1"))
SIZE = 128 << 20  # several budgets
BUDGET_KIB = 64 << 10
RATE = 1600 * 1000  # Kbit/s: so it lasts until it is stopped


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A file, and its digest."""
    path = tmp_path_factory.mktemp("data") / "data"
    block, digest = os.urandom(1 << 20), hashlib.sha256()
    with open(path, "wb") as f:
        for i in range(SIZE >> 20):
            piece = i.to_bytes(8, "big") + block[8:]
            f.write(piece)
            digest.update(piece)
    return path, digest.hexdigest()


def digest_of(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


class Memory:
    """The memory of the client and of the server's processes, while the block
    runs."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.least, self.most = {}, {}
        self.over = threading.Event()

    def look(self):
        names = {pid: name for pid, (_, name) in
                 self.server.connections().items() if "hpnsshd" in name}
        names[self.client.pid] = "client"
        for pid, name in names.items():
            kib = harness.rss_kib(pid)
            if kib:
                self.least.setdefault((name, pid), kib)
                self.most[name, pid] = max(kib, self.most.get((name, pid),
                                                              0))

    def watch(self):
        while not self.over.wait(0.02):
            self.look()

    def __enter__(self):
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.over.set()
        self.thread.join()

    def expect_in_budget(self):
        for which, most in self.most.items():
            print(f"{which[0]}: {self.least[which] / 1024:.1f} MiB at first, "
                  f"{most / 1024:.1f} MiB at most")
            if not harness.is_sanitized():
                assert most - self.least[which] <= BUDGET_KIB + 4096, which


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass  # of a connection before


def stop(pids):
    send(pids, signal.SIGSTOP)
    try:
        time.sleep(STOP)
    finally:
        send(pids, signal.SIGCONT)


def test_reader_of_the_client(ssh, background, data):
    path, digest = data
    client = background(ssh.ssh_args() + [f"sleep 0.3; cat {path}"],
                        stdout=subprocess.PIPE)
    with Memory(client, ssh.server) as memory:
        reader = background(["sha256sum"], stdin=client.stdout,
                            stdout=subprocess.PIPE)
        time.sleep(0.35)
        stop([reader.pid])
        assert client.wait(60) == 0
    assert reader.stdout.read(64).decode() == digest
    memory.expect_in_budget()


def test_remote_command(ssh, background, data):
    path, digest = data
    # Nothing is sent before the sink was found, or it might end before.
    source, feed = os.pipe()
    client = background(ssh.ssh_args() + ["exec sha256sum"],
                        stdin=source, stdout=subprocess.PIPE)
    os.close(source)
    with Memory(client, ssh.server) as memory:
        def sinks():
            return [pid for pid, (_, name) in
                    ssh.server.connections().items() if name == "sha256sum"]
        assert harness.wait_for(sinks)
        background(["cat", path], stdout=feed)
        os.close(feed)
        stop(sinks())
        assert client.wait(60) == 0
    assert client.stdout.read(64).decode() == digest
    memory.expect_in_budget()


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_server_of_a_copy(ssh, background, data, tmp_path, up):
    path, digest = data
    far, target = "127.0.0.1:", tmp_path / "out"
    ends = [path, f"{far}{target}"] if up else [f"{far}{path}", target]
    client = background([hpn("scp"), "-q", "-l", str(RATE), *ssh.options(),
                         "-P", str(ssh.server.port), *ends],
                        stderr=subprocess.PIPE)
    part = tmp_path / ".out.hpnpart"
    with Memory(client, ssh.server) as memory:
        assert harness.wait_for(lambda: part.exists() and
                                part.stat().st_size > 1 << 20, 10)
        stop(list(ssh.server.connections()))
        assert client.poll() is None or up
        assert client.wait(60) == 0, client.stderr.read()
    assert digest_of(target) == digest
    memory.expect_in_budget()
