# SPDX-License-Identifier: ISC
"""hpnsync: what an old target has is not sent. The way is a program in place of
the connection, which counts the bytes of both directions."""

import os
import random
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
        run([SYNC, "-a", *options, "-e", self.shell, *ends],
            timeout=120).ok()
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
