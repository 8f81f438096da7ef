# SPDX-License-Identifier: ISC
"""Many copies of a small tree, one after the other and several at once: all
are right, and no process, descriptor or file is left of them.

HPN_SOAK=300 makes as many; ten by default.
"""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import harness
from harness import Client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "scp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")
COUNT = int(os.environ.get("HPN_SOAK", "10"))


@pytest.fixture
def tree(tmp_path):
    top = tmp_path / "tree"
    (top / "sub").mkdir(parents=True)
    for i in range(10):
        (top / f"sub/f{i}").write_bytes(os.urandom(i * 3000))
    (top / "large").write_bytes(os.urandom(700000))
    return top


def files_of(top):
    return {str(p.relative_to(top)): p.read_bytes()
            for p in top.rglob("*") if p.is_file()}


def copies(client, tree, target, flags=()):
    """Up, and down again."""
    target.mkdir()
    for source, to in ((tree, f":{target}/up"),
                       (f":{target}/up", target / "down")):
        done = client.scp(source, to, flags=["-q", "-r", *flags]).ok()
        assert done.errors == "", done
    wanted = files_of(tree)
    assert files_of(target / "up") == wanted
    assert files_of(target / "down") == wanted
    shutil.rmtree(target)


def open_files(server):
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


def left_over(server):
    """What still runs below the server after a while."""
    harness.wait_for(lambda: not server.connections())
    return {pid: (state, harness.title(pid))
            for pid, (state, _) in server.connections().items()}


@pytest.mark.parametrize("flags", [(), ("-Z", "-j", "3")],
                         ids=["plain", "lanes"])
def test_one_after_the_other(sshd, tree, tmp_path, flags):
    client = Client("hpn", sshd)
    copies(client, tree, tmp_path / "first", flags)
    assert left_over(sshd) == {}
    before = open_files(sshd)
    memory = harness.rss_kib(sshd.process.pid)
    for i in range(COUNT // 4):
        copies(client, tree, tmp_path / "to", flags)
    assert left_over(sshd) == {}
    # Two belong to the process that waits for the next connection.
    assert open_files(sshd) <= before + 2
    assert harness.rss_kib(sshd.process.pid) < memory + 2048
    assert {p.name for p in tmp_path.iterdir()} == {"tree"}


def test_several_at_once(sshd, tree, tmp_path):
    client = Client("hpn", sshd)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(
            lambda i: copies(client, tree, tmp_path / str(i)),
            range(-(-COUNT // 12))))
    assert left_over(sshd) == {}
    assert {p.name for p in tmp_path.iterdir()} == {"tree"}
