#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Copies in which one call fails (shim.c, inject.py, trees.py).

    run.py --all [--results FILE]   all kinds x ways x flags x servers
    run.py --sample 200 --seed 1    some of them
    run.py --only WORD              scenes with the word, e.g. "down own"
    run.py --one "SCENE" FAULT      one, e.g.: --one "up own client small new"
                                    open:1:EIO

A line for each problem, and the count. With --results each injection that was
made is noted in FILE, and not made again: what was broken off goes on. The
programs are those of HPN_BUILD (build/release). Exit status 1: problems."""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import harness  # noqa: E402
from faults import inject  # noqa: E402

STOCK = {"sftp-server": "/usr/lib/openssh/sftp-server",
         "scp": harness.stock("scp")}
PER_KIND = 3


def build_library(name, directory):
    """`make check` may have built it."""
    out = harness.BUILD / f"regress/faults/{name}.so"
    if out.exists():
        return out
    out = Path(directory) / f"{name}.so"
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", "-fPIC",
                    "-shared", "-o", out, HERE / f"{name}.c"], check=True)
    return out


def place_in(directory, shim=None):
    return inject.Place(
        directory, shim or build_library("shim", directory),
        {f"hpn{name}": harness.hpn(name) for name in ("scp", "sftp-server")},
        STOCK)


def usable(scene):
    return scene.own or os.path.exists(
        STOCK["scp" if scene.way.startswith("rcp") else "sftp-server"] or "")


def sample(place, number, seed, scenes=12):
    """Injections by chance, of a few scenes, since each must be counted
    first. Each scene has its share of them."""
    rng = random.Random(seed)
    chosen = rng.sample([s for s in inject.scenes() if usable(s)], scenes)
    for i, scene in enumerate(chosen):
        counts = place.count(scene)
        every = [f for turn in range(6)
                 for f in inject.faults_of(counts, turn, 5)]
        every = sorted({f for f in every if not inject.is_hidden(scene, f)
                        and not inject.may_wait(scene, f)}, key=str)
        share = number * (i + 1) // scenes - number * i // scenes
        for fault in rng.sample(every, min(share, len(every))):
            yield scene, fault


def everything(place, words):
    for turn, scene in enumerate(inject.scenes()):
        if usable(scene) and all(w in f"{scene} ".split() for w in words):
            for fault in inject.faults_of(place.count(scene), turn, PER_KIND):
                if not inject.is_hidden(scene, fault):
                    yield scene, fault


def one(text, fault):
    scene = next(s for s in inject.scenes() if str(s) == text)
    kind, n, error, *mode = fault.split(":")
    return scene, inject.Fault(kind, int(n), error, mode == ["on"])


class Notes:
    """Notes of what was done, in a file of lines."""

    def __init__(self, path):
        self.done = set()
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.done = {json.loads(line)["what"] for line in f}
        self.file = open(path, "a", encoding="utf-8") if path else None

    def add(self, what, found, hit):
        if self.file:
            self.file.write(json.dumps(
                {"what": what, "found": found, "hit": hit}) + "\n")
            self.file.flush()


def play(place, injections, notes, most=None):
    """(how many, how many failed calls, problems). What stock's client waits
    for, too, is printed and noted only."""
    made = hits = 0
    problems = []
    for scene, fault in injections:
        what = f"{scene} | {fault}"
        if what in notes.done:
            continue
        found, hit = place.play(scene, fault)
        notes.add(what, found, hit)
        made, hits = made + 1, hits + hit
        for text in found:
            print(f"{what}: {text}", flush=True)
            if text != inject.STOCK_WAITS:
                problems.append(f"{what}: {text}")
        if made == most:
            break
    return made, hits, problems


def ended(number, _):
    """What is under way is ended, and what was made removed."""
    sys.exit(128 + number)


def main():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, ended)
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--all", action="store_true")
    p.add_argument("--sample", type=int, metavar="N")
    p.add_argument("--seed", default="1")
    p.add_argument("--only", default="", metavar="WORDS")
    p.add_argument("--one", nargs=2, metavar=("SCENE", "FAULT"))
    p.add_argument("--most", type=int, metavar="N")
    p.add_argument("--results", metavar="FILE")
    a = p.parse_args()
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hpnf", dir=base) as directory:
        place = place_in(directory)
        if a.one:
            injections = [one(*a.one)]
        elif a.sample:
            injections = sample(place, a.sample, a.seed)
        elif a.all or a.only:
            injections = everything(place, a.only.split())
        else:
            p.error("--all, --sample, --only or --one")
        made, hits, problems = play(place, injections, Notes(a.results),
                                    a.most)
    print(f"{made} injections, {hits} met a call, {len(problems)} problems, "
          f"{time.monotonic() - began:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
