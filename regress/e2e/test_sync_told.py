# SPDX-License-Identifier: ISC
"""What hpnsync tells of a run: what was moved, events for programs. A program
in place of the connection notes each byte that goes through it."""

import os
import re

import pytest

from harness import have, hpn, run

SYNC, OURS = hpn("sync"), hpn("sftp-server")
MOVED = re.compile(rb"^sent (\d+) bytes  received (\d+) bytes  \d+ bytes/sec$",
                   re.M)

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")


@pytest.fixture
def shell(tmp_path):
    """It keeps what each of its sessions got and said."""
    made = tmp_path / "shell"
    made.write_text(f"#!/bin/sh\ncd {tmp_path}\n"
                    f"tee got.$$ | {OURS} | tee said.$$\n")
    made.chmod(0o755)
    return made


def tree(top, files):
    for name, size in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(os.urandom(size))
    return top


def noted(top, what):
    return sum(p.stat().st_size for p in top.glob(f"{what}.*"))


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("streams", ["1", "3"])
def test_what_was_moved(shell, tmp_path, way, streams):
    """-v tells the bytes that the connection carried, of all its
    sessions, in rsync's line; --stats has them, too."""
    source = tree(tmp_path / "from", {f"d/f{i}": 3000000 for i in range(4)} |
                  {"small": 10})
    names = [f"{source}/", f"h:{tmp_path}/to"] if way == "up" else \
        [f"h:{source}/", tmp_path / "to"]
    done = run([SYNC, "-av", "--stats", "-j", streams, "-e", shell, *names])
    assert done.rc == 0, done
    sent, received = map(int, MOVED.search(done.out).groups())
    # After its last line it still closes a handle.
    assert 0 <= noted(tmp_path, "got") - sent < 50, done
    assert 0 <= noted(tmp_path, "said") - received < 50, done
    assert max(sent, received) > 12000000
    assert b"\nTotal bytes sent: %d\nTotal bytes received: %d\n" % (
        sent, received) in done.out, done
    assert re.search(rb"^total size is 12000010  speedup is %.2f$" % (
        12000010 / (sent + received)), done.out, re.M), done


def test_moved_here(tmp_path):
    """Within this machine it is what the target's server got. Short numbers,
    and the words of a dry run."""
    source = tree(tmp_path / "from", {"f": 2000000})
    names = [f"{source}/", tmp_path / "to"]
    dry = run([SYNC, "-anv", *names])
    assert dry.rc == 0 and int(MOVED.search(dry.out)[1]) < 10000, dry
    assert re.search(rb"^total size is 2000000  speedup is [0-9.]+ "
                     rb"\(DRY RUN\)$", dry.out, re.M), dry
    short = run([SYNC, "-avh", *names])
    assert re.search(rb"^sent 1\.9MB  received ", short.out, re.M), short
