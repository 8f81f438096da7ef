# SPDX-License-Identifier: ISC
"""Parts in a directory that others may write to too: what they have laid under
the name of a part is neither gone on with nor written through."""

import os
import signal
import struct
import sys
import time
from pathlib import Path

import pytest

import harness
from harness import have, hpn, run, start, wait_for

SCP = hpn("scp")
FILTER = Path(__file__).with_name("sftp_filter.py")
SERVERS = [hpn("sftp-server")] + [
    path for path in ("/usr/lib/openssh/sftp-server",
                      "/usr/libexec/openssh/sftp-server")
    if os.path.exists(path)]
MB = 1 << 20
SOMEBODY = 65534

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")
each_way = pytest.mark.parametrize("server, up", [
    *[(server, True) for server in SERVERS], (SERVERS[0], False)],
    ids=[f"up-{'stock' if n else 'hpn'}" for n in range(len(SERVERS))]
    + ["down"])
all_ways = pytest.mark.parametrize(
    "server, up", [(server, up) for server in SERVERS for up in (True, False)],
    ids=[f"{up}-{'stock' if n else 'hpn'}" for n in range(len(SERVERS))
         for up in ("up", "down")])
as_root = pytest.mark.skipif(os.getuid() != 0,
                             reason="only root makes files of others")


def begin(source, part):
    """A part of the source: its first half, and marks that say so."""
    size, chunk = source.stat().st_size, 1 << 20
    chunks = (size + chunk - 1) // chunk
    half = chunks // 2
    part.write_bytes(
        source.read_bytes()[:half * chunk].ljust(size, b"\0")
        + struct.pack(">8sQQQ", b"HPNPART1", size,
                      int(source.stat().st_mtime), chunk)
        + b"\1" * half + bytes(chunks - half))


class Place:
    def __init__(self, tmp_path, server, up):
        self.server, self.up = server, up
        self.source, self.target = tmp_path / "src", tmp_path / "shared/dst"
        self.part = tmp_path / "shared/.dst.hpnpart"
        self.target.parent.mkdir()
        self.source.write_bytes(os.urandom(9 * MB))

    def begin(self):
        begin(self.source, self.part)

    def names(self):
        return sorted(os.listdir(self.target.parent))

    def copy(self, *flags):
        ends = ([self.source, f"x:{self.target}"] if self.up else
                [f"x:{self.source}", self.target])
        done = run([SCP, "-q", "-D", self.server, *flags, *ends]).ok()
        assert self.target.read_bytes() == self.source.read_bytes()
        return done


@pytest.fixture
def place(tmp_path, server, up):
    return Place(tmp_path, server, up)


@as_root
@each_way
def test_part_of_somebody_else(place):
    """He could write to it, and read it, also when it has its name."""
    for size in (10 * MB, 5 * MB):
        place.part.write_bytes(bytes(size))
        os.chown(place.part, SOMEBODY, SOMEBODY)
        place.part.chmod(0o666)
        with place.part.open("rb") as theirs:
            place.copy("-Z")
            assert place.target.stat().st_uid == 0
            assert theirs.read() == bytes(size)
        place.target.unlink()
        # It may be gone, or still be there.
        assert set(place.names()) <= {place.part.name}
        place.part.unlink(missing_ok=True)


@as_root
@pytest.mark.parametrize("server", SERVERS)
def test_part_that_is_exchanged(tmp_path, server):
    """When it has been looked at, and before it is opened."""
    script = tmp_path / "server"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} {FILTER} "
                      f"exchanged={SOMEBODY} {server}\n")
    script.chmod(0o755)
    place = Place(tmp_path, script, True)
    place.begin()
    place.copy("-Z")
    assert place.target.stat().st_uid == 0
    assert set(place.names()) <= {place.target.name, place.part.name}


@pytest.mark.parametrize("server", SERVERS)
def test_a_handle_that_comes_late(tmp_path, server):
    """It is opened when all data has been sent by others: it is closed before
    the part gets its target's name."""
    script = tmp_path / "server"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} {FILTER} "
                      f"late_opens=1 {server}\n")
    script.chmod(0o755)
    source, target = tmp_path / "f", tmp_path / "to"
    source.write_bytes(os.urandom(60 * MB))
    run([SCP, "-q", "-j3", "-D", script, source, f"x:{target}"]).ok()
    assert target.read_bytes() == source.read_bytes()


@each_way
def test_part_of_our_own(place):
    """That one is gone on with, of the stock server's too."""
    for _ in range(2):
        place.begin()
        inode = place.part.stat().st_ino
        place.copy("-Z")
        assert place.target.stat().st_ino == inode
        assert place.names() == [place.target.name]
        place.target.unlink()


@each_way
def test_tree_of_our_own(tmp_path, place):
    """Whose parts are ours is found out with the first of them."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "shared/tree").mkdir()
    inodes = {}
    for name in "abc":
        (tree / name).write_bytes(os.urandom(9 * MB))
        part = tmp_path / f"shared/tree/.{name}.hpnpart"
        begin(tree / name, part)
        inodes[name] = part.stat().st_ino
    place.source, place.target = tree, tmp_path / "shared"
    ends = ([tree, f"x:{tmp_path}/shared"] if place.up else
            [f"x:{tree}", tmp_path / "shared"])
    run([SCP, "-qrZ", "-D", place.server, *ends]).ok()
    copied = {entry.name: entry.stat().st_ino
              for entry in os.scandir(tmp_path / "shared/tree")}
    assert copied == inodes


@each_way
@pytest.mark.parametrize("flags", [[], ["-Z"]])
def test_link_in_place_of_a_part(tmp_path, place, flags):
    victim = tmp_path / "victim"
    for link in (victim, tmp_path / "none"):
        victim.write_bytes(b"text")
        place.part.symlink_to(link)
        place.copy(*flags)
        assert victim.read_bytes() == b"text"
        assert not (tmp_path / "none").exists()
        assert not place.target.is_symlink()
        place.target.unlink()
        if os.path.lexists(place.part):
            place.part.unlink()


@all_ways
@pytest.mark.parametrize("size", (7, 40_000, 299_999, 300_000))
def test_small_part_shows_what_it_is(place, size):
    """What was left of it is how the source begins: it is gone on with."""
    place.source.write_bytes(os.urandom(300_000))
    place.part.write_bytes(place.source.read_bytes()[:size])
    inode = place.part.stat().st_ino
    place.copy("-Z")
    assert place.names() == [place.target.name]
    assert place.target.stat().st_ino == inode


@all_ways
@pytest.mark.parametrize("size", (7, 40_000, 300_000, 2 * MB))
@pytest.mark.parametrize("at", ("first", "last"))
def test_small_file_with_the_name_of_a_part(place, size, at):
    """One byte of it is another: it is somebody's, and stays."""
    place.source.write_bytes(os.urandom(2 * MB))
    left = bytearray(place.source.read_bytes()[:size])
    # Of our server's digests a whole block would tell.
    left[0 if at == "first" else -1] ^= 1
    if size == 2 * MB:
        left[MB if at == "first" else 0] ^= 1
    place.part.write_bytes(left)
    place.copy("-Z")
    assert place.part.read_bytes() == left
    assert place.names() == [place.part.name, place.target.name]


@all_ways
@pytest.mark.parametrize("age_s", (60, 7200))
def test_empty_part(place, server, up, age_s):
    """Where nobody tells who holds it, it may be one that another copy has
    just made, and will write to: only an old one is taken."""
    place.source.write_bytes(os.urandom(300_000))
    place.part.write_bytes(b"")
    inode = place.part.stat().st_ino
    os.utime(place.part, (time.time() - age_s,) * 2)
    place.copy("-Z")
    if up and server != SERVERS[0] and age_s < 3600:
        assert place.names() == [place.part.name, place.target.name]
        assert place.part.stat().st_size == 0
    else:
        assert place.names() == [place.target.name]
        assert place.target.stat().st_ino == inode


def parts_in(tree):
    return [p for p in tree.rglob(".*.hpnpart*") if p.is_file()]


@all_ways
def test_parts_of_a_killed_tree(tmp_path, server, up):
    """Small files, large ones, and both ends killed at once: -Z leaves nothing
    of what the first copy had begun."""
    tree, target = tmp_path / "tree", tmp_path / "to"
    (tree / "deep").mkdir(parents=True)
    for i in range(40):
        (tree / ("deep" if i % 2 else ".") / f"f{i}").write_bytes(
            os.urandom(1 + 9973 * i))
    for i in range(3):
        (tree / f"big{i}").write_bytes(os.urandom(9 * MB))
    target.mkdir()
    ends = [tree, f"x:{target}"] if up else [f"x:{tree}", target]
    first = start([SCP, "-q", "-r", "-l", "16000", "-D", server, *ends])
    wait_for(lambda: any(p.stat().st_size for p in parts_in(target))
             or first.poll() is not None)
    assert first.poll() is None
    ended = harness.descendants(first.pid)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    # The other end may be about to begin a part, which would be in use.
    assert wait_for(lambda: all(harness.children().get(pid, "Z")[0] == "Z"
                                for pid in ended))
    assert parts_in(target)
    for part in parts_in(target):  # else an empty one may be in use
        os.utime(part, (time.time() - 7200,) * 2)
    run([SCP, "-q", "-r", "-Z", "-D", server, *ends]).ok()
    assert parts_in(target) == []
    for path in tree.rglob("*"):
        there = target / "tree" / path.relative_to(tree)
        assert path.is_dir() or there.read_bytes() == path.read_bytes()
