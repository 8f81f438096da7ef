# SPDX-License-Identifier: ISC
"""hpnsync: what an old target has is not sent. The way is a program in place of
the connection, which counts the bytes of both directions."""

import os
import random
import re
import shutil
import sys
import time

import pytest

from harness import have, hpn, run

SYNC, OURS = hpn("sync"), hpn("sftp-server")
STOCK = "/usr/lib/openssh/sftp-server"
MIB = 1 << 20

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")

COUNTING = """#!{python}
import os, subprocess, sys, threading
child = subprocess.Popen(["{server}"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
total = [0, 0]


def pump(read, write, end, which):
    while True:
        block = os.read(read, 1 << 16)
        if not block:
            break
        total[which] += len(block)
        view = memoryview(block)
        while view:
            view = view[os.write(write, view):]
    end()


up = threading.Thread(target=pump, daemon=True, args=(
    0, child.stdin.fileno(), child.stdin.close, 0))
up.start()
pump(child.stdout.fileno(), 1, lambda: None, 1)
child.wait()
with open("{count}", "a") as out:
    out.write("%d\\n" % sum(total))
"""


class Way:
    def __init__(self, tmp_path, server, up):
        self.up, self.count = up, tmp_path / "count"
        self.shell = tmp_path / "shell"
        self.shell.write_text(COUNTING.format(
            python=sys.executable, server=server, count=self.count))
        self.shell.chmod(0o755)

    def sync(self, source, target, *options):
        """Runs it; returns the bytes that went over the connection."""
        if self.count.exists():
            self.count.unlink()
        ends = ([f"{source}/", f"h:{target}/"] if self.up else
                [f"h:{source}/", f"{target}/"])
        self.told = run([SYNC, "-a", *options, "-e", self.shell, *ends],
                        timeout=120).ok().text
        deadline = time.monotonic() + 20
        while not self.count.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        return sum(int(line) for line in self.count.read_text().split())


@pytest.fixture(params=["up", "down"])
def way(request, tmp_path):
    return Way(tmp_path, OURS, request.param == "up")


@pytest.fixture
def ends(tmp_path):
    """A file of 16 MiB and its successor: something is put in and taken out,
    and a byte is changed. Its time is set back, so that it is copied."""
    rng = random.Random(7)
    old = rng.randbytes(16 * MIB)
    new = (old[:5 * MIB + 11] + rng.randbytes(200000) +
           old[5 * MIB + 11:9 * MIB] + old[9 * MIB + 77777:-1] + b"!")
    source, target = tmp_path / "from", tmp_path / "to"
    for top, content, when in ((source, new, 10**9 + 5), (target, old, 10**9)):
        top.mkdir()
        (top / "image").write_bytes(content)
        os.utime(top / "image", (when, when))
    return source, target


def test_only_what_changed_is_sent(way, ends):
    source, target = ends
    sent = way.sync(source, target)
    assert (target / "image").read_bytes() == (source / "image").read_bytes()
    assert os.listdir(target) == ["image"]
    # 200,000 bytes, blocks around the changes, and 2,048 sums
    assert 200000 < sent < 400000, sent
    assert way.sync(source, target) < 4000


def test_whole(way, ends):
    source, target = ends
    assert way.sync(source, target, "-W") > 16 * MIB
    assert (target / "image").read_bytes() == (source / "image").read_bytes()


@pytest.mark.parametrize("size", [16 * MIB, 15 * MIB + 5, 18 * MIB])
def test_in_place(way, ends, size):
    """Blocks that are the same at the same offset stay; what is another inode
    afterwards was no target in place."""
    source, target = ends
    content = bytearray((target / "image").read_bytes())
    content[3 * MIB + 7] ^= 1
    (source / "image").write_bytes((content + bytes(2 * MIB))[:size])
    os.utime(source / "image", (10**9 + 5, 10**9 + 5))
    before = (target / "image").stat().st_ino
    sent = way.sync(source, target, "--inplace")
    assert (target / "image").read_bytes() == (source / "image").read_bytes()
    assert (target / "image").stat().st_ino == before
    assert sent < 3.5 * MIB, sent
    assert way.sync(source, target, "--inplace", "-I") < MIB // 8


def test_same_size_and_time(way, ends):
    """What -c or -I finds to be another is not taken for the same by size and
    time, in place either."""
    source, target = ends
    for option in ("-c", "-I"):
        content = bytearray((target / "image").read_bytes())
        content[-1] ^= 1
        (source / "image").write_bytes(content)
        for top in ends:
            os.utime(top / "image", (10**9, 10**9))
        way.sync(source, target, option, "--inplace")
        assert (target / "image").read_bytes() == content


def test_stock_server(tmp_path, ends):
    if not os.path.exists(STOCK):
        pytest.skip("no stock server")
    for up in (True, False):
        source, target = ends
        kept = tmp_path / "kept"
        shutil.copytree(target, kept)
        assert Way(tmp_path, STOCK, up).sync(source, kept) > 16 * MIB
        assert (kept / "image").read_bytes() == \
            (source / "image").read_bytes()
        shutil.rmtree(kept)


def test_backup_and_modes(way, ends):
    """What else a run does to a file is done to a delta, too."""
    source, target = ends
    old = (target / "image").read_bytes()
    (source / "image").chmod(0o640)
    assert way.sync(source, target, "-b") < 400000
    assert (target / "image~").read_bytes() == old
    assert (target / "image").read_bytes() == (source / "image").read_bytes()
    assert (target / "image").stat().st_mode & 0o777 == 0o640


# ---- other files of the target as a basis -----------------------------------

def put(path, content, when=10**9):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (when, when))


def listed(top):
    """What rsync would have to do to make another tree of it."""
    return sorted((str(p.relative_to(top)), p.stat().st_mtime_ns,
                   p.read_bytes() if p.is_file() else b"")
                  for p in top.rglob("*"))


@pytest.fixture
def tops(tmp_path):
    for name in ("from", "to"):
        (tmp_path / name).mkdir()
    return tmp_path / "from", tmp_path / "to"


@pytest.mark.parametrize("new, when, gain", [
    ("backup-2.tar", 10**9 + 9, True),    # a similar name
    ("quite-another-name", 10**9, True),  # the same size and time
    ("quite-another-name-as-this-is", 10**9 + 9, False),
    ("backup-1.zip.of-another-kind", 10**9 + 9, False)])
def test_fuzzy(way, tops, new, when, gain):
    source, target = tops
    content = random.Random(3).randbytes(2 * MIB)
    put(target / "backup-1.tar", content)
    put(target / "small.tar", b"x" * 1000)
    put(source / new, content if when == 10**9 else content + b"more", when)
    sent = way.sync(source, target, "-y")
    assert (target / new).read_bytes() == (source / new).read_bytes()
    assert (target / "backup-1.tar").read_bytes() == content
    assert sent < 200000 if gain else sent > 2 * MIB, sent


def test_fuzzy_lies(way, tops):
    """A file with the same size and time and a similar name may have nothing
    in common."""
    source, target = tops
    rng = random.Random(4)
    put(target / "a1", rng.randbytes(MIB))
    put(source / "a2", rng.randbytes(MIB))
    assert way.sync(source, target, "--fuzzy") > MIB
    assert (target / "a2").read_bytes() == (source / "a2").read_bytes()


def test_renamed_tree_is_not_sent_again(way, tops):
    source, target = tops
    rng = random.Random(5)
    for i in range(12):
        content = rng.randbytes(100000 + i % 3 * 200000)
        put(source / f"zoo/new{i % 2}/f{i}", content, 10**9 + i % 4)
        put(target / f"attic/old{i % 3}/f{i}", content, 10**9 + i % 4)
    put(target / "stays", b"x")
    put(source / "stays", b"x")
    sent = way.sync(source, target, "--delete", "--detect-renames",
                    "--max-delete=100")
    assert listed(source) == listed(target)
    assert sent < 120000, sent


def test_renames_with_one_size_and_time(way, tops):
    """Many files that look alike: their names tell them apart."""
    source, target = tops
    rng = random.Random(6)
    for i in range(40):
        content = rng.randbytes(150000)
        put(source / f"n/f{i}", content)
        put(target / f"o/f{i}", content)
    sent = way.sync(source, target, "--delete", "--detect-renames",
                    "--max-delete=100")
    assert listed(source) == listed(target)
    assert sent < MIB, sent


def test_renamed_and_not_the_same(way, tops):
    """Its size and time are those of a file that goes, its content is not."""
    source, target = tops
    rng = random.Random(8)
    put(target / "old", rng.randbytes(MIB))
    put(source / "new", rng.randbytes(MIB))
    assert way.sync(source, target, "--delete", "--detect-renames") > MIB
    assert listed(source) == listed(target)


def test_nothing_goes_before_its_copy_is_whole(tmp_path, tops):
    """A copy that fails keeps what was to be deleted."""
    source, target = tops
    content = random.Random(9).randbytes(MIB)
    put(target / "old", content)
    put(source / "dir" / "new", content)
    (target / "dir").mkdir()
    (target / "dir" / "new").mkdir()
    put(target / "dir" / "new" / "in", b"x")
    (tmp_path / "shell").write_text(
        f"#!/bin/sh\nexec {OURS} -P copy-blocks,write\n")
    (tmp_path / "shell").chmod(0o755)
    done = run([SYNC, "-a", "--delete", "--detect-renames", "--max-delete=9",
                "-e", tmp_path / "shell", f"{source}/", f"h:{target}/"])
    assert done.rc != 0
    assert (target / "old").read_bytes() == content


@pytest.mark.skipif(not os.path.exists(STOCK), reason="no stock server")
@pytest.mark.parametrize("options", [["-y"], ["--detect-renames",
                                              "--delete"]])
def test_basis_at_a_stock_server(tmp_path, tops, options):
    source, target = tops
    content = random.Random(10).randbytes(MIB)
    put(target / "a1", content)
    put(source / "a2", content)
    way = Way(tmp_path, STOCK, True)
    way.shell.chmod(0o755)
    done = run([SYNC, "-a", *options, "-e", way.shell, f"{source}/",
                f"h:{target}/"]).ok()
    assert "no effect" in done.text + done.errors, done
    assert (target / "a2").read_bytes() == content


def test_renames_need_deletes(tops):
    source, target = tops
    done = run([SYNC, "-a", "--detect-renames", f"{source}/", f"{target}/"])
    assert done.rc == 1 and "--delete" in done.errors, done


def stat_of(text, name):
    return int(re.search(rf"^{name}: ([\d,]+) bytes", text, re.M)
               .group(1).replace(",", ""))


@pytest.mark.parametrize("inplace", [False, True])
def test_stats_tell_what_matched(way, ends, inplace):
    """Both sums are the size of what was copied; new files are literal."""
    source, target = ends
    put(source / "new", b"n" * 70000)
    options = ["--stats", "--inplace"] if inplace else ["--stats"]
    size = sum(p.stat().st_size for p in source.iterdir())
    sent = way.sync(source, target, *options)
    literal, matched = (stat_of(way.told, f"{name} data")
                        for name in ("Literal", "Matched"))
    assert literal + matched == size
    assert 70000 + 200000 <= literal <= sent + 60000 or inplace, literal
    assert matched > 4 * MIB
    put(source / "new", b"m" * 70000, 10**9 + 7)
    way.sync(source, target, "--stats")
    assert stat_of(way.told, "Literal data") == 70000
    assert stat_of(way.told, "Matched data") == 0


def test_holes_between_what_was_found(way, tmp_path):
    """-S: the target has as many holes as the source, though its data is in the
    old one; also behind data that is found last."""
    source, target = tmp_path / "from", tmp_path / "to"
    dice, page = random.Random(3), 65536
    for top in source, target:
        top.mkdir()
    for n, pages in enumerate([".DD.D...", "D..D.DD.", "D.DD.D..D"]):
        with (source / f"f{n}").open("wb") as out:
            for at, kind in enumerate(pages):
                if kind == "D":
                    out.seek(at * page)
                    out.write(dice.randbytes(page))
            out.seek(len(pages) * page)
            out.write(dice.randbytes(500))
        run(["cp", "--sparse=always", source / f"f{n}",
             target / f"f{n}"]).ok()
        os.utime(target / f"f{n}", (10**9, 10**9))
    if (source / "f0").stat().st_blocks * 512 > 5 * page:
        pytest.skip("the file system has no holes")
    way.sync(source, target, "-S")
    for n in range(3):
        ours, theirs = ((top / f"f{n}") for top in (target, source))
        assert ours.read_bytes() == theirs.read_bytes()
        assert ours.stat().st_mtime_ns == theirs.stat().st_mtime_ns
        assert ours.stat().st_blocks == theirs.stat().st_blocks, n
