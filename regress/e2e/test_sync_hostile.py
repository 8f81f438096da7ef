# SPDX-License-Identifier: ISC
"""hpnsync where somebody else works against it: directories that become links
while they are read, written or deleted, at either end; and runs that are
killed. Nothing outside of the two trees is read, written or deleted."""

import os
import random
import shutil
import signal
import subprocess
import threading
import time

import pytest

from harness import LONG, clean_env, have, hpn, run
from sync_ways import WAYS, arguments_of

SYNC, OURS = hpn("sync"), hpn("sftp-server")
# HPN_TURNS: directories that become links, and are back again, while runs go
# on; the long form has 10,000.
TURNS = int(os.environ.get("HPN_TURNS", "600"))
KILLS = int(os.environ.get("HPN_KILLS", "8"))

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")


@pytest.fixture(params=["up", "down", "here"])
def ends(request, tmp_path):
    """See test_sync.py."""
    if request.param == "here":
        return lambda source, target: [source, target]
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\nexec {OURS}\n")
    shell.chmod(0o755)

    def arguments(source, target):
        return ["-e", shell, *([source, f"h:{target}"]
                               if request.param == "up" else
                               [f"h:{source}", target])]
    return arguments


def fill(top, text, dirs=6, files=6):
    for i in range(dirs):
        (top / f"d{i}/sub").mkdir(parents=True)
        for k in range(files):
            (top / f"d{i}/f{k}").write_text(text)
            (top / f"d{i}/sub/g{k}").write_text(text)


class Swapper(threading.Thread):
    """Puts a link to `outside` in the place of each directory of a tree, and
    the directory back, until it is told to end."""

    def __init__(self, top, outside):
        super().__init__(daemon=True)
        self.top, self.outside, self.end = top, outside, threading.Event()
        self.aside = top.parent / "aside"
        self.turns = 0

    def run(self):
        chosen = random.Random(1)
        while not self.end.is_set():
            place = self.top / f"d{chosen.randrange(6)}"
            if chosen.randrange(2):
                place /= "sub"
            try:
                os.rename(place, self.aside)
                os.symlink(self.outside, place)
                time.sleep(chosen.random() / 2000)
                os.unlink(place)
                os.rename(self.aside, place)
                self.turns += 1
            except OSError:
                # The other one was faster: what is aside goes away, and the
                # next run makes the directory again.
                shutil.rmtree(self.aside, ignore_errors=True)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.join()


def state(top):
    return sorted((str(p.relative_to(top)), p.lstat().st_mode,
                   p.lstat().st_mtime_ns,
                   p.read_bytes() if p.is_file() else b"")
                  for p in top.rglob("*"))


@pytest.fixture
def outside(tmp_path):
    """What must neither be read nor changed."""
    top = tmp_path / "outside"
    (top / "sub").mkdir(parents=True)
    for k in range(6):
        (top / f"f{k}").write_text("secret")
        (top / f"sub/g{k}").write_text("secret")
        (top / f"only{k}").write_text("secret")
    return top


# What is done by further ways: renames, copies, attributes by name, parents.
WORDS = [["-a", "--delete"], ["-a", "--delete", "--backup-dir=d3/kept"],
         ["-a", "--inplace", "--backup"], ["-aX", "--delete"],
         ["-aR"], ["-a", "--link-dest=beside", "--delete"], ["-aH", "-y"],
         ["-a", "--fsync", "--suffix=.old", "-b"]]


def test_target_is_swapped(ends, tmp_path, outside):
    """Whoever may write to the target leads no write or delete out of it."""
    source, target = tmp_path / "from", tmp_path / "to"
    fill(source, "good")
    os.link(source / "d1/f1", source / "d2/sub/other")
    before = state(outside)
    turns = runs = 0
    while turns < TURNS:
        if runs % 4 == 0:
            shutil.rmtree(target, ignore_errors=True)
            fill(target, "old")
            for i in range(6):
                for k in range(6):
                    (target / f"d{i}/only{k}").write_text("to go")
        with Swapper(target, outside) as swapper:
            # All ways come by turns, each with what the one before left.
            words = WORDS[runs % len(WORDS)]
            run([SYNC, *words, "--max-delete=10000", "--break-lock",
                 *ends(f"{source}/{'./' if '-aR' in words else ''}",
                       f"{target}/")])
        turns += swapper.turns
        runs += 1
        assert state(outside) == before, turns


def attributes(top):
    return {str(p.relative_to(top)): {
        n: os.getxattr(p, n) for n in os.listxattr(p)}
        for p in (top, *top.rglob("*"))}


def test_target_is_swapped_while_attributes_are_set(ends, tmp_path, outside):
    """-X sets none outside, though nothing else is to be done to a name: of
    files and of directories; and takes none away."""
    source, target = tmp_path / "from", tmp_path / "to"
    fill(source, "good")
    try:
        for path in (*outside.rglob("*"), outside):
            os.setxattr(path, "user.own", b"1")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    before = state(outside), attributes(outside)
    assert run([SYNC, "-aX", *ends(f"{source}/", f"{target}/")]).rc == 0
    turns = runs = 0
    while turns < TURNS or runs < 8:
        for path in source.rglob("*"):
            os.setxattr(path, "user.run", b"%d" % runs)
        with Swapper(target, outside) as swapper:
            run([SYNC, "-aX", *ends(f"{source}/", f"{target}/")])
        assert (state(outside), attributes(outside)) == before, turns
        turns += swapper.turns
        runs += 1
    done = run([SYNC, "-aX", *ends(f"{source}/", f"{target}/")])
    assert done.rc == 0, done
    assert attributes(source).items() <= attributes(target).items()


def test_source_is_swapped(ends, tmp_path, outside):
    """Whoever may write to the source sends nothing that is outside of it, and
    has nothing removed there."""
    source = tmp_path / "from"
    fill(source, "good")
    before = state(outside)
    turns = runs = 0
    while turns < TURNS:
        target = tmp_path / f"to{turns}"
        with Swapper(source, outside) as swapper:
            run([SYNC, "-rt", *(["--remove-source-files"] * (runs % 3 == 2)),
                 *ends(f"{source}/", f"{target}/")])
        assert state(outside) == before, turns
        runs += 1
        leaked = [p for p in target.rglob("*") if p.is_file() and
                  p.read_bytes() == b"secret"]
        assert leaked == [], turns
        turns += swapper.turns
        shutil.rmtree(target, ignore_errors=True)
        for i in range(6):
            if not (source / f"d{i}/sub").is_dir() or runs % 3 == 0:
                shutil.rmtree(source)
                fill(source, "good")
                break


@pytest.mark.parametrize("name", WAYS)
def test_kills(name, tmp_path):
    """A run with --delete that is killed harms nothing that was to stay, and
    the next one ends right."""
    chosen = random.Random(2)
    ends = arguments_of(name, tmp_path / "shell")
    source, target = tmp_path / "from", tmp_path / "to"
    beside = tmp_path / "beside"
    fill(source, "good" * 5000)
    fill(beside, "mine")
    before = state(beside)
    for kill in range(KILLS):
        shutil.rmtree(target, ignore_errors=True)
        fill(target, "old", dirs=9)
        (target / "beside").symlink_to(beside)
        process = subprocess.Popen(
            [SYNC, "-a", "--delete", "--max-delete=10000",
             *ends(f"{source}/", f"{target}/")], env=clean_env(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chosen.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        process.wait(LONG)
        for path in source.rglob("f*"):
            there = target / path.relative_to(source)
            assert there.read_text() in ("old", path.read_text()), kill
        done = run([SYNC, "-a", "--delete", "--max-delete=10000",
                    "--break-lock", *ends(f"{source}/", f"{target}/")])
        assert done.rc == 0, done
        # Parts of the killed run may stay.
        left = [(n, b) for n, _, _, b in state(target) if ".hpn" not in n]
        assert [(n, b) for n, _, _, b in state(source)] == left, kill
        assert state(beside) == before


@pytest.mark.parametrize("names,top", [
    (["a/x/", "a/xy/"], "a"), (["a/x", "a/x/in/"], "a/x"), (["a/x/", "b"], ""),
    (["a/x/"], "a/x/"), (["way/x/", "a/xy/"], "a")])
def test_server_of_sources_is_confined(names, top, tmp_path):
    """To the one source, or to the directory that all are below."""
    base = tmp_path / "from"
    for name in ("a/x/in", "a/xy", "b"):
        (base / name).mkdir(parents=True)
        (base / name / f"f{name[-1]}").write_text("x")
    (base / "way").symlink_to("a")
    shell, log = tmp_path / "shell", tmp_path / "log"
    shell.write_text(f"#!/bin/sh\nexec {OURS} -e -l INFO 2>{log}\n")
    shell.chmod(0o755)
    done = run([SYNC, "-rt", "-e", shell, *[f"h:{base}/{n}" for n in names],
                tmp_path / "to"])
    assert done.rc == 0, done
    confined = f"{base}/{top}" if top else base
    assert f'confine "{confined}" rights 0x3\n' in log.read_text()


def test_links_of_keep_dirlinks(ends, tmp_path, outside):
    """-K follows links of the target that stay in it. One that leads out is
    told and left alone, and nothing is written behind it."""
    source, target = tmp_path / "from", tmp_path / "to"
    fill(source, "good")
    (target / "real").mkdir(parents=True)
    (target / "d0").symlink_to("real")
    (target / "d1").symlink_to(outside)
    before = state(outside)
    done = run([SYNC, "-rtK", *ends(f"{source}/", f"{target}/")])
    assert done.rc == 23 and b"d1" in done.err, done
    assert (target / "real/sub/g0").read_text() == "good"
    assert (target / "d1").is_symlink() and state(outside) == before
    assert (target / "d2/sub/g0").read_text() == "good"
