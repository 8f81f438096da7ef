# SPDX-License-Identifier: ISC
"""What -Z takes for complete: size and time with -p, as rsync does; the content
without it, or with --verify. docs/TRANSFERS.md has the rule."""

import json
import os
import shutil
import stat
import sys
import time
from pathlib import Path

import pytest

import harness
from harness import have, hpn, run

SCP = hpn("scp")
OURS = hpn("sftp-server")
STOCK = "/usr/lib/openssh/sftp-server"
SERVERS = [OURS] + ([STOCK] if os.path.exists(STOCK) else [])
FILTER = Path(__file__).with_name("sftp_filter.py")
OLD = 10**18 + 123456789  # nanoseconds since 1970
SECOND = 10**9
both_ways = pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
servers = pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")


class Pair:
    """A file and its copy, whose content is another one of the same size: so
    it shows whether the content counted."""

    def __init__(self, top, server, up):
        self.source, self.target = top / "from", top / "to"
        self.server, self.up = server, up
        self.source.write_bytes(b"new " * 1000)
        self.target.write_bytes(b"old " * 1000)
        self.times(OLD, OLD)

    def times(self, source, target):
        os.utime(self.source, ns=(source, source))
        os.utime(self.target, ns=(target, target))

    def copy(self, *flags):
        names = ([self.source, f"x:{self.target}"] if self.up else
                 [f"x:{self.source}", self.target])
        return run([SCP, "-q", *flags, "-D", self.server, *names]).ok()

    def is_kept(self, *flags):
        before = self.target.stat()
        self.copy(*flags)
        kept = self.target.read_bytes() == b"old " * 1000
        if kept:
            assert self.target.stat().st_ino == before.st_ino
        else:
            assert self.target.read_bytes() == b"new " * 1000
        return kept


@pytest.fixture
def pair(tmp_path, server, up):
    return Pair(tmp_path, server, up)


@servers
@both_ways
@pytest.mark.parametrize("flags", ([], ["--in-place"], ["-j", "3"]),
                         ids=" ".join)
def test_size_and_time(pair, flags):
    assert pair.is_kept("-p", "-Z", *flags)
    pair.target.write_bytes(b"old " * 999)
    pair.times(OLD, OLD)
    assert not pair.is_kept("-p", "-Z", *flags)


@servers
@both_ways
def test_no_p(pair, server):
    """Where the content can be asked for it is."""
    assert pair.is_kept("-Z") == (server == STOCK)


@servers
@both_ways
def test_verify(pair):
    """The content counts."""
    assert not pair.is_kept("-p", "-Z", "--verify")


@servers
@both_ways
@pytest.mark.parametrize("flags", (["-Z"], ["-p", "-Z"]), ids=" ".join)
def test_size_alone(pair, flags):
    pair.times(OLD, OLD + SECOND)
    assert not pair.is_kept(*flags)


@servers
@both_ways
def test_nanoseconds(pair, server):
    """A second has many of them, which a stock server does not know."""
    pair.times(OLD, OLD + 1)
    assert pair.is_kept("-p", "-Z") == (server == STOCK)


@servers
@both_ways
@pytest.mark.parametrize("whole", ("source", "target", "both"))
def test_whole_seconds(pair, whole):
    """A file system, or a program, that knows no other ones."""
    cut = OLD // SECOND * SECOND
    pair.times(OLD if whole == "target" else cut,
               OLD if whole == "source" else cut)
    assert pair.is_kept("-p", "-Z")


@servers
@both_ways
@pytest.mark.parametrize("ahead", (0, 1000))
def test_young_seconds(pair, ahead):
    """It may still be changed in that second. A clock that is behind makes all
    young."""
    now = (int(time.time()) + 1 + ahead) * SECOND
    pair.times(now, now)
    assert not pair.is_kept("-p", "-Z")


@servers
@both_ways
@pytest.mark.parametrize("flags", ([], ["--in-place"]), ids=" ".join)
def test_mode(pair, flags):
    """It is set, and the content still does not count."""
    pair.source.chmod(0o640)
    pair.target.chmod(0o600)
    assert pair.is_kept("-p", "-Z", *flags)
    assert stat.S_IMODE(pair.target.stat().st_mode) == 0o640
    assert pair.target.stat().st_mtime_ns // SECOND == OLD // SECOND


@servers
@both_ways
def test_empty(pair):
    """A file without content has a time all the same."""
    for path in (pair.source, pair.target):
        path.write_bytes(b"")
    pair.times(OLD, OLD)
    inode = pair.target.stat().st_ino
    pair.copy("-p", "-Z")
    assert pair.target.stat().st_ino == inode
    pair.times(OLD, OLD + SECOND)
    pair.copy("-p", "-Z")
    assert (pair.target.stat().st_mtime_ns // SECOND == OLD // SECOND)


@servers
@both_ways
def test_link(pair):
    """What bears the target's name must be a file itself."""
    elsewhere = pair.target.with_name("elsewhere")
    pair.target.rename(elsewhere)
    pair.target.symlink_to(elsewhere)
    pair.copy("-p", "-Z")
    assert pair.target.read_bytes() == b"new " * 1000


@servers
@both_ways
def test_nothing_is_read(pair):
    """A tebibyte takes no longer than a byte."""
    for path in (pair.source, pair.target):
        os.truncate(path, 1 << 40)
    pair.times(OLD, OLD)
    pair.copy("-p", "-Z")


def test_failed_in_place(tmp_path):
    """The time is set back, so that no later copy takes what is left for
    complete."""
    pair = Pair(tmp_path, OURS, True)
    server = tmp_path / "server"
    server.write_text(f"#!/bin/sh\nexec {sys.executable} {FILTER} writes=no "
                      f"{OURS}\n")
    server.chmod(0o755)
    pair.source.write_bytes(os.urandom(8 << 20))
    pair.target.write_bytes(bytes(8 << 20))
    done = run([SCP, "-q", "-p", "--in-place", "-D", server, pair.source,
                f"x:{pair.target}"])
    assert done.rc == 1
    assert pair.target.stat().st_mtime == 0


# ---- small files ---------------------------------------------------------

@pytest.fixture
def counted(tmp_path):
    """A copy of our server's, whose requests are counted in bytes."""
    server = tmp_path / "counting"
    server.write_text(f"#!/bin/sh\ntee {tmp_path}/requests | {OURS}\n")
    server.chmod(0o755)

    def copy(source, target, up, *flags):
        names = [source, f"x:{target}"] if up else [f"x:{source}", target]
        run([SCP, "-q", "-r", *flags, "-D", server, *names]).ok()
        return (tmp_path / "requests").stat().st_size
    return copy


def small_files(top, *sizes):
    top.mkdir()
    for size in sizes:
        for i in range(100):
            (top / f"f{size}-{i}").write_bytes(os.urandom(size))
    return top


def content(top):
    """The content of all but parts that could not show what they are:
    docs/TRANSFERS.md."""
    return {p.name: p.read_bytes() for p in top.iterdir()
            if not harness.is_part(p.name)}


@both_ways
def test_nothing_to_resume(tmp_path, counted, up):
    """Then -Z costs nothing: a small file is one request."""
    tree = small_files(tmp_path / "from", 0, 20, 1000)
    plain = counted(tree, tmp_path / "a", up)
    resumed = counted(tree, tmp_path / "b", up, "-Z")
    assert content(tmp_path / "b") == content(tree)
    assert resumed < plain * 1.05


@both_ways
def test_empty_files_again(tmp_path, counted, up):
    """Empty files that are there already are not compared: they have no
    content."""
    tree = small_files(tmp_path / "from", 0)
    (tmp_path / "to").mkdir()
    (tmp_path / "to/from").mkdir()
    plain = counted(tree, tmp_path / "to", up)
    assert counted(tree, tmp_path / "to", up, "-Z") < plain * 1.05


@servers
@both_ways
@pytest.mark.parametrize("flags", ([], ["-p"]), ids=" ".join)
def test_half(tmp_path, server, up, flags):
    """Some are there, some are parts, some are something else, some are not
    there; -Z makes all of them whole."""
    tree = small_files(tmp_path / "from", 0, 20, 5000)
    target = tmp_path / "to"
    run([SCP, "-q", "-r", "-p", tree, target]).ok()
    for i, path in enumerate(sorted(target.iterdir())):
        if i % 5 == 1:
            path.unlink()
        elif i % 5 == 2:
            path.write_bytes(b"other")
        elif i % 5 == 3:
            path.rename(target / f".{path.name}.hpnpart")
    names = [f"{tree}/.", f"x:{target}"] if up else [f"x:{tree}/.", target]
    run([SCP, "-q", "-r", "-Z", *flags, "-D", server, *names]).ok()
    assert content(target) == content(tree)


@both_ways
def test_listed(tmp_path, counted, up):
    """What is complete costs a share of a listing, not a request."""
    tree = small_files(tmp_path / "from", 0, 20, 5000)
    (tmp_path / "to").mkdir()
    counted(tree, tmp_path / "to", up, "-p")
    assert counted(tree, tmp_path / "to", up, "-p", "-Z") < 300 * 10
    assert content(tmp_path / "to/from") == content(tree)


@servers
@both_ways
def test_names_and_listings(tmp_path, server, up):
    """Other letters, links, directories and parts in the way of names."""
    tree, target = tmp_path / "from", tmp_path / "to"
    tree.mkdir()
    for name in ("\u00e9", "e\u0301", "-", " ", "link", "dir", "part", "same",
                 "n" * 250):
        (tree / name).write_text("of " + name)
        os.utime(tree / name, ns=(OLD, OLD))
    run([SCP, "-q", "-r", "-p", tree, target]).ok()
    (target / "link").unlink()
    (tmp_path / "else").write_text("of link")
    os.utime(tmp_path / "else", ns=(OLD, OLD))
    (target / "link").symlink_to(tmp_path / "else")
    (target / "part").rename(target / ".part.hpnpart")
    kept = {p.name: p.stat().st_ino for p in target.iterdir()
            if p.name not in ("link", ".part.hpnpart")}
    names = [f"{tree}/.", f"x:{target}"] if up else [f"x:{tree}/.", target]
    run([SCP, "-q", "-r", "-p", "-Z", "-D", server, *names]).ok()
    assert content(target) == content(tree)
    assert kept == {n: (target / n).stat().st_ino for n in kept}


@both_ways
@pytest.mark.parametrize("mode", ("with_limit=3", "listings=cut", "listings=many",
                                  "listings=5", "listings=9", "dies=20"))
def test_listings_that_fail(tmp_path, up, mode):
    """Nothing is taken for there, or left out without a word."""
    tree, target = small_files(tmp_path / "from", 20), tmp_path / "to"
    (tree / "sub").mkdir()
    (tree / "sub/f").write_text("f")
    shutil.copytree(tree, target)
    for i in range(50):
        (target / f"f20-{i}").write_bytes(bytes(20))
        os.utime(target / f"f20-{i}", (1, 1))
    server = tmp_path / "server"
    server.write_text(f"#!/bin/sh\nexec {sys.executable} {FILTER} {mode} "
                      f"{OURS}\n")
    server.chmod(0o755)
    names = [f"{tree}/.", f"x:{target}"] if up else [f"x:{tree}/.", target]
    done = run([SCP, "-q", "-r", "-p", "-Z", "-D", server, *names])
    shutil.rmtree(tree / "sub")
    shutil.rmtree(target / "sub")
    if done.rc == 0:
        assert content(target) == content(tree)
    else:
        assert done.errors and (not up or mode == "dies=20")


# ---- holes, and what is counted ------------------------------------------

def sparse(path, at, data):
    with open(path, "wb") as file:
        file.truncate(400 << 30)
        file.seek(at)
        file.write(data)


@both_ways
def test_holes_are_not_read(tmp_path, up):
    """400 GiB of nothing, with a little at the end, by digests."""
    for name in ("from", "to"):
        sparse(tmp_path / name, (400 << 30) - 9, b"the end")
    before = (tmp_path / "to").stat().st_ino
    names = ([tmp_path / "from", f"x:{tmp_path}/to"] if up else
             [f"x:{tmp_path}/from", tmp_path / "to"])
    run([SCP, "-q", "-Z", "-D", OURS, *names]).ok()
    assert (tmp_path / "to").stat().st_ino == before


@both_ways
@pytest.mark.parametrize("holes", ("from", "to", "both"))
def test_holes_are_zeros(tmp_path, up, holes):
    """Zeros at one end, a hole at the other: the same. Then a byte differs in
    what is a hole elsewhere."""
    size = 8 << 20
    for name in ("from", "to"):
        with open(tmp_path / name, "wb") as file:
            if holes in (name, "both"):
                file.truncate(size)
            else:
                file.write(bytes(size))
    names = ([tmp_path / "from", f"x:{tmp_path}/to"] if up else
             [f"x:{tmp_path}/from", tmp_path / "to"])
    before = (tmp_path / "to").stat().st_ino
    run([SCP, "-q", "-Z", "-D", OURS, *names]).ok()
    assert (tmp_path / "to").stat().st_ino == before
    for name in ("from", "to"):
        with open(tmp_path / name, "rb+") as file:
            file.seek(5 << 20)
            file.write(name.encode())
        run([SCP, "-q", "-Z", "-D", OURS, *names]).ok()
        assert ((tmp_path / "to").read_bytes() ==
                (tmp_path / "from").read_bytes())


@both_ways
def test_comparing_is_counted(tmp_path, up):
    """What was the same of a target that then differs counts once."""
    size = 20 << 20
    for name in ("from", "to"):
        (tmp_path / name).write_bytes(bytes(size - 5) + name.encode())
    size = (tmp_path / "from").stat().st_size
    os.truncate(tmp_path / "to", size)
    names = ([tmp_path / "from", f"x:{tmp_path}/to"] if up else
             [f"x:{tmp_path}/from", tmp_path / "to"])
    for _ in range(2):  # the second time it is the same
        done = run([SCP, "--json", "-Z", "-D", OURS, *names]).ok()
        end = json.loads(done.out.splitlines()[-1])
        assert end["event"] == "end" and end["bytes"] == size
