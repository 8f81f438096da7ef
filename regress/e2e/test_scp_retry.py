# SPDX-License-Identifier: ISC
"""hpnscp --retry over a path that breaks again and again (faults/proxy.py):
the copy ends after about as many breaks as its size is times the gap between
them, because what has arrived is kept. And what is silent, or refused, ends.

HPN_FAULTS=all tries all combinations of flags (HPN_SEED=n: other breaks); by
default there is a sample.
"""

import hashlib
import itertools
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import harness
from faults.proxy import Fault, Proxy, for_connections, random_breaks
from harness import ME, Client, Server, clean_env, have, hpn, run

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")

MB = 1 << 20
SEED = os.environ.get("HPN_SEED", "1")
ALL = os.environ.get("HPN_FAULTS") == "all"
KINDS = [k for k in ("hpn", "stock") if have(k, "sshd")]
GAP = {"hpn": 4 * MB, "stock": 10 * MB}
FLAGS = ((), ("-Z",), ("--verify",), ("-j4",), ("-p",), ("--in-place",),
         ("-Z", "-p", "--verify", "-j4"), ("--in-place", "--verify"))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Place:
    """A source, and a command that copies it through a proxy."""

    def __init__(self, directory, server, shape, up):
        self.source, self.target = directory / "from", directory / "to"
        self.server, self.up, self.shape = server, up, shape
        rng = random.Random(f"{SEED} {shape}")
        self.gap = GAP[server.kind]
        sizes = [3 * self.gap] if shape == "file" else [
            rng.choice((0, 3000, 200_000, MB, 2 * MB)) for _ in range(24)]
        self.target.mkdir()
        for i, size in enumerate(sizes):
            path = self.source / f"{'abc'[i % 3]}/f{i}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(rng.randbytes(size))
        self.size = sum(sizes)
        self.known_hosts = directory / "known_hosts"

    def command(self, proxy, *flags, options=()):
        self.known_hosts.write_text("".join(
            f"[{proxy.host}]:{proxy.port} " + line.split(" ", 1)[1] + "\n"
            for line in self.server.known_hosts.read_text().splitlines()))
        client = Client("hpn", self.server, known_hosts=self.known_hosts)
        far = f"{ME}@{proxy.host}:"
        ends = [self.source, f"{far}{self.target}"] if self.up else \
            [f"{far}{self.source}", self.target]
        return [hpn("scp"), "-r", *client.options(*options), "-P",
                str(proxy.port), *flags, *ends]

    def check(self):
        files = [p for p in self.source.rglob("*") if p.is_file()]
        top = self.target / "from"
        for p in files:
            assert digest(p) == digest(top / p.relative_to(self.source)), p
        there = {p.relative_to(top) for p in top.rglob("*") if p.is_file()}
        assert there == {p.relative_to(self.source) for p in files}


def sample(cases, n):
    return cases if ALL else random.Random(7).sample(cases, n)


# What a stock server keeps of a file that is written in place nobody can tell
# it from what somebody else has put there.
CASES = [c for c in itertools.product(KINDS, ("file", "tree"), (True, False),
                                      FLAGS)
         if not (c[0] == "stock" and c[2] and "--in-place" in c[3])]


@pytest.mark.parametrize(
    "kind,shape,up,flags", sample(CASES, 8),
    ids=lambda v: "".join(v) if isinstance(v, tuple) else str(v))
def test_breaks_for_ever(shared_servers, tmp_path, kind, shape, up, flags):
    place = Place(tmp_path, shared_servers(kind), shape, up)
    plan = random_breaks(SEED, place.gap, ("cut", "close", "half"))
    with Proxy(("127.0.0.1", place.server.port), plan,
               together=True) as proxy:
        done = run(place.command(proxy, "--retry=3", *flags),
                   timeout=120 * harness.SLOW)
        done.ok()
        place.check()
        # Some of each gap is logins, and what was under way at its end; of
        # marks, at a stock server, that is more.
        most = 3 + 3 * place.size // place.gap * (
            2 if "--verify" in flags else 1)
        assert (shape == "file") < len(proxy.connections) <= most * (
            4 if "-j4" in flags else 1), proxy.happenings


# ---- silence ------------------------------------------------------------

QUICK = ("ConnectTimeout=2", "ServerAliveInterval=1", "ServerAliveCountMax=1")


def small(tmp_path, server, up=True, size=100_000):
    place = Place(tmp_path, server, "tree", up)
    for path in place.source.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:size // 24])
    return place


def through(place, faults, *flags, options=QUICK, **kw):
    with Proxy(("127.0.0.1", place.server.port), for_connections(faults),
               **kw) as proxy:
        began = time.monotonic()
        done = run(place.command(proxy, *flags, options=options))
        return proxy, done, time.monotonic() - began


@pytest.mark.parametrize("kind", KINDS)
def test_first_connection_is_silent(shared_servers, tmp_path, kind):
    """Before the banner, in the key exchange, in authentication, or when the
    session begins: the first connection is tried again."""
    server = shared_servers(kind)

    def one(at):
        place = small(tmp_path / str(at), server, at % 2 == 0)
        # As where a person could be asked.
        proxy, done, _ = through(
            place, [Fault("stall", "down", at, conn=0)], "--retry=1",
            options=("BatchMode=no", *QUICK))
        done.ok()
        assert len(proxy.connections) == 2, (at, proxy.happenings)
        place.check()

    steps = (0, 25, 700, 1500, 2100, 2600, 3201)
    for at in steps:
        (tmp_path / str(at)).mkdir()
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(one, steps))


def test_first_connection_is_silent_at_the_end(shared_servers, tmp_path):
    """There is an end when the tries are used up."""
    place = small(tmp_path, shared_servers("hpn"))
    proxy, done, took = through(place, [Fault("stall", "down", 0)],
                                "--retry=1")
    assert done.rc == 255 and len(proxy.connections) == 2
    assert "timed out before the keys were agreed on" in done.errors
    assert done.errors.endswith("hpnscp: Connection closed\n")


def test_first_connection_is_refused(shared_servers, tmp_path):
    """As a server does that has too many of them."""
    place = small(tmp_path, shared_servers("hpn"))
    proxy, done, _ = through(place, [Fault("refuse", conn=0)], "--retry=1")
    done.ok()
    place.check()


def test_a_person_has_time(shared_servers, keys, tmp_path):
    """What somebody takes to answer is no silence of the host."""
    place = small(tmp_path, shared_servers("hpn"))
    key = tmp_path / "key"
    key.write_bytes(keys.path("ed25519").read_bytes())
    key.chmod(0o600)
    run([hpn("ssh-keygen"), "-q", "-p", "-P", "", "-N", "secret", "-f",
         key]).ok()
    askpass = tmp_path / "askpass"
    askpass.write_text("#!/bin/sh\nsleep 3\necho secret\n")
    askpass.chmod(0o755)
    with Proxy(("127.0.0.1", place.server.port)) as proxy:
        command = place.command(proxy, "--retry=2", options=(
            "BatchMode=no", "ConnectTimeout=1"))
        command[command.index("-i") + 1] = str(key)
        run(command, env=clean_env(SSH_ASKPASS=str(askpass),
                                   SSH_ASKPASS_REQUIRE="force")).ok()
        assert len(proxy.connections) == 1
    place.check()


def test_without_retry_it_ends(shared_servers, tmp_path):
    place = small(tmp_path, shared_servers("hpn"))
    proxy, done, _ = through(place, [Fault("cut", "down", 0)])
    assert done.rc == 255 and len(proxy.connections) == 1


def test_cut_while_it_asks_for_names(shared_servers, tmp_path):
    """Patterns, directories and attributes are asked for again."""
    server = shared_servers("hpn")
    for at in (3300, 3900, 4200):
        (tmp_path / str(at)).mkdir()
        place = small(tmp_path / str(at), server, up=False)
        with Proxy(("127.0.0.1", server.port), for_connections(
                [Fault("cut", "down", at, conn=0)])) as proxy:
            command = place.command(proxy, "--retry=3", options=QUICK)
            command[-2] = command[-2].replace("/from", "/fr*")
            run(command).ok()
        place.check()


@pytest.mark.parametrize("up", [True, False], ids=["up", "down"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_lane_stalls(shared_servers, tmp_path, kind, up):
    """Without --retry: the others do its work."""
    place = Place(tmp_path, shared_servers(kind), "file", up)
    # So that each has something to do.
    proxy, done, _ = through(
        place, [Fault("slow", arg=4_000_000),
                Fault("stall", at=500_000, conn=1)], "-j3")
    done.ok()
    assert proxy.count("stall") == 1
    place.check()


# ---- words --------------------------------------------------------------

@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_late_harms_nothing(shared_servers, tmp_path, kind, lanes):
    """A connection falls silent. What it was sent gets to the server when the
    copy is over, and somebody has changed the target."""
    server = shared_servers(kind)
    place = Place(tmp_path, server, "file", True)
    target = place.target / "from/a/f0"
    # All of several, if there are, so that a part with much in it goes on. A
    # request to write is held, at least: how many depends on the machine.
    faults = [Fault("hold", "up", place.gap // lanes, 33_001, n)
              for n in range(lanes)]
    with Proxy(("127.0.0.1", server.port), for_connections(faults)) as proxy:
        run(place.command(proxy, "--retry=2", f"-j{lanes}", options=QUICK),
            timeout=60 * harness.SLOW).ok()
        assert proxy.count("hold") > 0
        place.check()
        target.write_text("changed")
        assert proxy.release() > 33_000
        assert harness.wait_for(lambda: all(
            c.over.is_set() for c in proxy.connections if c.held))
    assert target.read_text() == "changed"
    assert [p.name for p in target.parent.iterdir()] == ["f0"]


def broken_once(place, meanwhile, **other):
    """The connection is cut in the middle, and another one is not made before
    meanwhile()."""
    def plan(number):
        if number == 1:
            meanwhile()
        return [Fault("cut", at=MB)] if number == 0 else []
    with Proxy(("127.0.0.1", place.server.port), plan, **other) as proxy:
        return proxy, run(place.command(proxy, "--retry=5"))


@pytest.fixture
def own_server(tmp_path, keys):
    with Server("hpn", tmp_path / "server", keys, ("ed25519",),
                host_keys=("ed25519",)) as server:
        yield server


def test_user_is_refused_later(own_server, tmp_path):
    """It stops at once, and says why."""
    proxy, done = broken_once(Place(tmp_path, own_server, "file", True),
                              lambda: own_server.authorized.write_text(""))
    assert done.rc == 1 and len(proxy.connections) == 2, done
    assert done.errors.count("Permission denied (publickey") == 1, done
    assert done.errors.endswith("hpnscp: Connection closed\n")


def test_host_key_changes(own_server, keys, tmp_path):
    place = Place(tmp_path, own_server, "file", True)
    with Server("hpn", tmp_path / "other", keys, ("ed25519",),
                host_keys=("ecdsa256",)) as other:
        proxy, done = broken_once(
            place, lambda: None, to_later=("127.0.0.1", other.port))
    assert done.rc == 1 and len(proxy.connections) == 2, done
    assert "the last try: " in done.errors and "key" in done.errors, done


def test_number_of_tries(shared_servers, tmp_path):
    """N in a row that keep nothing; the last reason is told."""
    place = Place(tmp_path, shared_servers("hpn"), "file", True)
    proxy, done, _ = through(place, [Fault("cut", at=MB, conn=0),
                                     Fault("refuse", conn=1),
                                     Fault("close", "up", 1, conn=2)],
                             "--retry=2")
    assert done.rc == 1 and len(proxy.connections) == 3
    assert "the last try: " in done.errors, done
