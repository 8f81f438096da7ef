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

import pytest

import harness
from faults.proxy import Fault, Proxy, for_connections, random_breaks
from harness import ME, Client, have, hpn, run

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")

MB = 1 << 20
SEED = os.environ.get("HPN_SEED", "1")
ALL = os.environ.get("HPN_FAULTS") == "all"
KINDS = [k for k in ("hpn", "stock") if have(k, "sshd")]
FILE, GAP = 12 * MB, 4 * MB
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
        sizes = [FILE] if shape == "file" else [
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
        return [hpn("scp"), "-q", "-r", *client.options(*options), "-P",
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
    plan = random_breaks(SEED, GAP, ("cut", "close", "half"))
    with Proxy(("127.0.0.1", place.server.port), plan,
               together=True) as proxy:
        done = run(place.command(proxy, "--retry=3", *flags),
                   timeout=120 * harness.SLOW)
        done.ok()
        place.check()
        # Some of each gap is logins, and what was under way at its end.
        most = 2 + 3 * place.size // GAP * (2 if "--verify" in flags else 1)
        assert 1 < len(proxy.connections) <= most * (
            4 if "-j4" in flags else 1), proxy.happenings
