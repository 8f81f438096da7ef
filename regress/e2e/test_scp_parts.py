# SPDX-License-Identifier: ISC
"""Parts in a directory that others may write to too: what they have laid under
the name of a part is neither gone on with nor written through."""

import os
import struct
import sys
from pathlib import Path

import pytest

from harness import have, hpn, run

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
