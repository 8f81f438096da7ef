# SPDX-License-Identifier: ISC
"""hpnsync --retry over a path that breaks (faults/proxy.py) at random places of
a run that deletes: in the first flight, scans, data, deletes, and while the lock
goes. The result is that of an unbroken run. HPN_SEED=n: other places."""

import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

import harness
from faults.proxy import Fault, Proxy, for_connections
from harness import ME, Client, have, hpn, run, start, wait_for

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sshd"),
                                reason="hpnsync or hpnsshd is not built")

SEED = os.environ.get("HPN_SEED", "1")
KINDS = [k for k in ("hpn", "stock") if have(k, "sshd")]
WAYS = [(kind, up) for kind in KINDS for up in (True, False)]
PLACES = 8  # of each way: about 30 in all
LOGIN = 3300  # bytes, about: until then nobody is logged in
QUICK = ("ConnectTimeout=5", "ServerAliveInterval=1", "ServerAliveCountMax=3")


class Place:
    """A source, a target that differs, and a command through a proxy."""

    deletes = ("--delete",)

    def __init__(self, directory, server, up):
        directory.mkdir(exist_ok=True)
        self.source, self.target = directory / "from", directory / "to"
        self.server, self.up = server, up
        self.known_hosts = directory / "known_hosts"
        rng = random.Random(SEED)
        for i in range(90):
            size = 300_000 if i in (20, 60) else rng.randrange(3000)
            data = rng.randbytes(size)
            name = f"d{i % 9}/e{i % 2}/f{i}"
            self.write(self.source / name, data)
            if i % 3:
                self.write(self.target / name, data[:size // 2] if i % 3 == 1
                           else data)
        for i in range(30):
            self.write(self.target / f"d{i % 5}/gone{i % 2}/g{i}", b"x")

    @staticmethod
    def write(path, data):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (10**9, 10**9))

    def command(self, proxy, *flags):
        self.known_hosts.write_text("".join(
            f"[{proxy.host}]:{proxy.port} " + line.split(" ", 1)[1] + "\n"
            for line in self.server.known_hosts.read_text().splitlines()))
        client = Client("hpn", self.server, known_hosts=self.known_hosts)
        shell = " ".join(map(str, [hpn("ssh"), *client.options(*QUICK), "-p",
                                   proxy.port]))
        far = f"{ME}@{proxy.host}:"
        ends = [f"{self.source}/", f"{far}{self.target}/"] if self.up else \
            [f"{far}{self.source}/", f"{self.target}/"]
        return [hpn("sync"), "-ai", *self.deletes, *flags, "-e", shell, *ends]

    def through(self, faults, *flags):
        with Proxy(("127.0.0.1", self.server.port),
                   for_connections(faults)) as proxy:
            return proxy, run(self.command(proxy, *flags))

    def seen(self, top):
        return {str(p.relative_to(top)): (
            p.stat().st_mode, p.stat().st_mtime_ns // 10**9,
            p.read_bytes() if p.is_file() else None)
            for p in [top, *top.rglob("*")]}

    def check(self, *why):
        assert self.seen(self.target) == self.seen(self.source), why


def most_of(directory, server, up):
    """How many bytes an unbroken run moves, with the login."""
    place = Place(directory / "whole", server, up)
    proxy, done = place.through([])
    assert done.rc == 0, done
    place.check(done)
    return sum(proxy.connections[0].moved.values())


def broken(directory, server, up, at, kind):
    place = Place(directory, server, up)
    proxy, done = place.through([Fault(kind, at=at, conn=0)], "--retry=3")
    why = (at, kind, proxy.happenings, done)
    assert done.rc == 0, why
    assert b"plan:" not in done.err, why
    place.check(*why)
    return len(proxy.connections)


@pytest.mark.parametrize("kind,up", WAYS, ids=lambda v: {
    True: "up", False: "down"}.get(v, v))
def test_breaks_anywhere(shared_servers, tmp_path, kind, up):
    server = shared_servers(kind)
    most = most_of(tmp_path, server, up)
    rng = random.Random(f"{SEED} {kind} {up}")
    places = [(rng.randrange(LOGIN, most), rng.choice(("cut", "close")))
              for _ in range(PLACES - 2)]
    # Near the end: deletes, and the lock.
    places += [(most - rng.randrange(100, 6000), "cut") for _ in range(2)]
    with ThreadPoolExecutor(2) as threads:
        tries = list(threads.map(
            lambda p: broken(tmp_path / str(p[0]), server, up, *p), places))
    assert max(tries) > 1, tries


def in_place_over_a_break(directory, server, up, at):
    """The old content of every file that was changed in place is in its backup,
    whatever was half written when the connection was lost."""
    place = Place(directory, server, up)
    place.deletes = ()
    old, whole = files_of(place.target), files_of(place.source)
    proxy, done = place.through([Fault("cut", at=at, conn=0)], "--retry=3",
                                "--inplace", "--backup")
    why = (at, proxy.happenings, done)
    assert done.rc == 0, why
    now = files_of(place.target)
    for name, content in whole.items():
        assert now.pop(name) == content, (name, why)
        if old.get(name, content) != content:
            assert now.pop(f"{name}~") == old[name], (name, why)
        old.pop(name, None)
    # Copies that were not whole when the connection was lost may be left.
    assert {n: c for n, c in now.items() if ".hpnpart" not in n} == old, why


@pytest.mark.parametrize("kind,up", WAYS, ids=lambda v: {
    True: "up", False: "down"}.get(v, v))
def test_breaks_in_place(shared_servers, tmp_path, kind, up):
    server = shared_servers(kind)
    most = most_of(tmp_path, server, up)
    rng = random.Random(f"in place {SEED} {kind} {up}")
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda at: in_place_over_a_break(
            tmp_path / str(at), server, up, at),
            [rng.randrange(LOGIN, most) for _ in range(PLACES)]))


def files_of(top):
    return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*")
            if p.is_file()}


def moved_over_a_break(directory, server, up, at, deletes):
    place = Place(directory, server, up)
    place.deletes = deletes
    whole = files_of(place.source)
    proxy, done = place.through([Fault("cut", at=at, conn=0)], "--retry=3",
                                "--remove-source-files", "--max-delete=1000")
    why = (at, proxy.happenings, done)
    left, there = files_of(place.source), files_of(place.target)
    # A second plan would delete what the first one has moved.
    assert done.rc == 0 or (deletes and done.rc == 12), why
    for name, content in whole.items():
        assert content in (left.get(name), there.get(name)), (name, why)
    assert done.rc == 12 or left == {}, why


@pytest.mark.parametrize("kind,up", WAYS, ids=lambda v: {
    True: "up", False: "down"}.get(v, v))
@pytest.mark.parametrize("deletes", [(), ("--delete",)],
                         ids=["", "delete"])
def test_moves(shared_servers, tmp_path, kind, up, deletes):
    """--remove-source-files, over a break in its rounds of fsync, too."""
    server = shared_servers(kind)
    most = most_of(tmp_path, server, up)
    rng = random.Random(f"{SEED} {kind} {up} moves")
    places = [rng.randrange(most // 2, most) for _ in range(3)]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda at: moved_over_a_break(
            tmp_path / str(at), server, up, at, deletes), places))


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
def test_without_retry(shared_servers, tmp_path, up):
    """It ends with rsync's status and a word, and nothing is deleted."""
    server = shared_servers("hpn")
    place = Place(tmp_path, server, up)
    proxy, done = place.through([Fault("cut", at=most_of(tmp_path, server, up)
                                       // 2)])
    assert done.rc == 12 and len(proxy.connections) == 1, done
    assert b"connection lost" in done.err, done
    assert len(list(place.target.rglob("g[0-9]*"))) == 30
    assert (b"stays locked" in done.err) == (
        place.target / ".hpnsync-lock").exists(), done


def test_tries_end(shared_servers, tmp_path):
    """N that do nothing."""
    place = Place(tmp_path, shared_servers("hpn"), True)
    proxy, done = place.through([Fault("cut", at=LOGIN + 800)], "--retry=2")
    assert done.rc in (12, 255) and len(proxy.connections) == 3, done
    assert b"(2 of 2): all is compared again" in done.err, done


def test_list_from_standard_input(shared_servers, tmp_path):
    """Standard input has its list once: the run does not begin again without
    it."""
    server = shared_servers("hpn")
    place = Place(tmp_path, server, True)
    at = most_of(tmp_path, server, True) // 2
    with Proxy(("127.0.0.1", place.server.port), for_connections(
            [Fault("cut", at=at, conn=0)])) as proxy:
        done = run(place.command(proxy, "--retry=3", "--exclude-from=-"),
                   stdin=b"gone0\n")
    assert done.rc == 12 and len(proxy.connections) <= 2, done
    assert len(list(place.target.rglob("gone0/g*"))) == 15


def test_max_delete_is_of_all_tries(shared_servers, tmp_path):
    place = Place(tmp_path, shared_servers("hpn"), True)
    proxy, done = place.through([Fault("cut", at=LOGIN + 2500, conn=0)],
                                "--retry=3", "--max-delete=39")
    assert done.rc == 25 and len(proxy.connections) > 1, done
    assert len(list(place.target.rglob("g[0-9]*"))) == 30


def test_told_to_end_while_it_waits(shared_servers, tmp_path):
    place = Place(tmp_path, shared_servers("hpn"), True)
    with Proxy(("127.0.0.1", place.server.port), for_connections(
            [Fault("cut", at=LOGIN + 1500, conn=0),
             Fault("refuse")])) as proxy:
        process = start(place.command(proxy, "--retry=9"))
        assert wait_for(lambda: len(proxy.connections) > 2)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=harness.LONG)
    assert process.returncode in (75, -signal.SIGTERM)
