# SPDX-License-Identifier: ISC
"""The states of a part (docs/TRANSFERS.md) as a model: stories of copies whose
sources and targets have names of parts, parts of parts, and numbers; of two and
three at once to one name; and of somebody who replaces, links, renames or
removes parts at any step. Whatever happens, a copy that ends with 0 has left
the bytes of a source, and a file that only has the name of a part is left
alone.

HPN_STORIES=first-last: other ones."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from harness import communicate, have, hpn
from part_intruder import HIS

SCP = hpn("scp")
INTRUDER = Path(__file__).with_name("part_intruder.py")
OWN = hpn("sftp-server")
STOCK = next((path for path in ("/usr/lib/openssh/sftp-server",
                                "/usr/libexec/openssh/sftp-server")
              if os.path.exists(path)), None)
NAMES = ["f", "g", ".f.hpnpart", ".f.hpnpart2", ".f.hpnpart9", ".g.hpnpart",
         "..f.hpnpart.hpnpart", "..f.hpnpart2.hpnpart", ".hidden", "1",
         ".1.hpnpart", ".f.0123456789abcdef.hpnpart", "n" * 250]
ACTIONS = ["replace", "same size", "remove", "rename", "symlink", "link"]
# Small, for put-file or one flight; by blocks; with marks.
SIZES = [0, 1, 900, 40_000, 300_000, 9 << 20]
LIMIT_S = 60

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")


def stories():
    first, last = map(int, os.environ.get("HPN_STORIES", "0-29").split("-"))
    return range(first, last + 1)


class Story:
    def __init__(self, seed, top, server):
        self.rng = random.Random(f"{seed} {os.path.basename(server)}")
        self.seed, self.top, self.server = seed, top, server
        self.up = self.rng.random() < .6
        self.tree = self.rng.random() < .7
        self.intruder = self.rng.random() < .5
        self.target = top / "to"
        self.target.mkdir()
        self.sources = []
        self.count = 1 if self.rng.random() < .5 else self.rng.randint(2, 3)
        for n in range(self.count):
            self.sources.append(self.make_source(n))
        self.others = self.make_others()

    def fill(self, path, n):
        size = self.rng.choice(SIZES[:5] if self.tree else SIZES)
        # Without -p equal sizes of several sources are more than a stock
        # server shows.
        path.write_bytes(self.rng.randbytes(size + n))

    def make_source(self, n):
        place = self.top / f"from{n}" / "t"
        place.mkdir(parents=True)
        # At a stock server nobody knows of another copy's parts.
        own = not self.up or self.server == OWN or self.count == 1
        choice = [x for x in NAMES if own or ".hpnpart" not in x]
        names = self.rng.sample(choice, self.rng.randint(3, min(
            9, len(choice))))
        if not self.tree:
            names = ["f"]
        for name in names:
            kind = self.rng.random() if self.tree else 1
            if kind < .08:
                (place / name).mkdir()
                self.fill(place / name / "f", n)
            elif kind < .14 and any(p.is_file() for p in place.iterdir()):
                (place / name).symlink_to(next(
                    p.name for p in sorted(place.iterdir()) if p.is_file()))
            else:
                self.fill(place / name, n)
        return place

    def make_others(self):
        """Files of the user's that only look like parts; some of another
        size than any source."""
        there = {}
        place = self.target / "t" if self.tree else self.target
        for name in self.rng.sample(NAMES[2:], self.rng.randint(0, 4)):
            if any(os.path.lexists(s / name) for s in self.sources):
                continue
            place.mkdir(exist_ok=True)
            data = self.rng.randbytes(self.rng.choice(SIZES[1:]) + 17)
            (place / name).write_bytes(data)
            there[place / name] = data
        return there

    def targets(self, source):
        """Path at the target: bytes, of the files of a source."""
        place = self.target / "t" if self.tree else self.target
        found = {}
        for where, _, names in os.walk(source):
            for name in names:
                path = Path(where) / name
                if path.exists():
                    found[place / path.relative_to(source)] = \
                        path.read_bytes()
        return found

    def plan(self):
        wanted = {}
        for source in self.sources:
            for path, data in self.targets(source).items():
                wanted.setdefault(path, set()).add(data)
        return wanted

    def intruding(self):
        """A server that he is beside."""
        script, plan = self.top / "server", self.top / "plan"
        names = list(self.plan()) + list(self.others)
        plan.write_text("\n".join(map(str, names)))
        action = self.rng.choice(ACTIONS if self.server == OWN or not self.up
                                 else [a for a in ACTIONS
                                       if a != "same size"])
        turn = self.rng.randint(1, 30)
        script.write_text(
            f"#!/bin/sh\nexec {sys.executable} {INTRUDER} {turn} "
            f"'{action}' {self.target} {plan} {self.server}\n")
        script.chmod(0o755)
        return script

    def start(self, source, server, flags):
        there = source if self.tree else source / "f"
        ends = ([there, f"x:{self.target}"] if self.up else
                [f"x:{there}", self.target])
        return subprocess.Popen(
            [SCP, *flags, "-D", server, *map(str, ends)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)

    def end(self, p):
        try:
            return communicate(p, None, LIMIT_S)[0], p.returncode
        except subprocess.TimeoutExpired:
            p.kill()
            return p.communicate()[0] + b"without an end", -1

    def flags(self):
        rng = self.rng
        return (["-r"] * self.tree + ["-Z"] * (rng.random() < .5)
                + ["-p"] * (rng.random() < .3)
                + ["--verify"] * (rng.random() < .2)
                + ["-j3"] * (rng.random() < .3))

    def run(self):
        beside = self.intruding() if self.intruder else self.server
        running = [self.start(source, self.server if n else beside,
                              self.flags())
                   for n, source in enumerate(self.sources)]
        results = [self.end(p) for p in running]
        self.check(results)
        if len(self.sources) == 1 and not self.intruder:
            self.again()

    def may_be_his(self, path, data, results):
        """His file has replaced a part between a copy's last look at it and
        its rename, and so has got the target's name. That copy sees it
        afterwards, says so and fails; one that ended before had not lied."""
        said = [f"{path}: its part {what}" for what in (
            "is not the file that was written any more",
            "was removed or renamed while it was copied")]
        return self.intruder and data in (HIS * 7, HIS[:1] * len(data)) \
            and any(code == 1 and any(line in text.decode() for line in said)
                    for text, code in results)

    def check(self, results):
        plan = self.plan()
        for (text, code), source in zip(results, self.sources):
            where = f"story {self.seed}: {text.decode()}"
            assert code in (0, 1), where
            alone = len(self.sources) == 1 and not self.intruder
            assert code == 0 or not alone, where
            for path in self.targets(source) if code == 0 else ():
                assert path.is_file(), f"{where}{path}"
                data = path.read_bytes()
                assert data in plan[path] or \
                    self.may_be_his(path, data, results), f"{where}{path}"
        for path, data in self.others.items():
            assert path.read_bytes() == data, f"story {self.seed}: {path}"

    def again(self):
        """With -Z: nothing of what is complete, or not ours, goes."""
        p = self.start(self.sources[0], self.server,
                       ["-p", "-Z"] + ["-r"] * self.tree)
        self.check([self.end(p)])


@pytest.mark.parametrize("server", [OWN, STOCK], ids=("own", "stock"))
def test_stories(tmp_path, server):
    if server is None:
        pytest.skip("no stock server")
    for seed in stories():
        top = tmp_path / str(seed)
        top.mkdir()
        Story(seed, top, server).run()
        subprocess.run(["rm", "-r", str(top)], check=True)
