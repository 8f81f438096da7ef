# SPDX-License-Identifier: ISC
"""Deep trees: hpnscp and hpnsftp stop where the path ends, not before, with few
descriptors too. Loops of links end."""

import os
import re
import sys
from pathlib import Path

import pytest

from harness import have, hpn, run

SCP, SFTP = hpn("scp"), hpn("sftp")
OURS = hpn("sftp-server")
STOCK = "/usr/lib/openssh/sftp-server"
SERVERS = [OURS] + ([STOCK] if os.path.exists(STOCK) else [])
FILTER = Path(__file__).with_name("sftp_filter.py")
DEPTH = 1200
PATH_MAX = 4096
FEW = 30  # descriptors

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp", "sftp-server"),
                                reason="hpnscp is not built")


def make_deep(top, depth, name="d"):
    """A chain of directories with a file in some of them, made as deep as is
    wished, whatever the length of a path."""
    at = os.open(top.parent, os.O_RDONLY)
    for level, part in enumerate([top.name] + [name] * depth):
        os.mkdir(part, dir_fd=at)
        below = os.open(part, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
        if level % 100 == 0 or level == depth:
            fd = os.open(f"f{level}", os.O_WRONLY | os.O_CREAT, dir_fd=at)
            os.write(fd, f"of {level}".encode())
            os.close(fd)
    os.close(at)


def found(top):
    """How deep a chain is, and the content of its files."""
    files, depth = {}, 0
    at = os.open(top, os.O_RDONLY)
    while True:
        below = None
        for entry in os.scandir(at):
            fd = os.open(entry.name, os.O_RDONLY, dir_fd=at)
            if entry.is_dir():
                below = fd
                continue
            files[entry.name] = os.read(fd, 100)
            os.close(fd)
        os.close(at)
        if below is None:
            return depth, files
        at, depth = below, depth + 1


@pytest.fixture
def deep(tmp_path):
    make_deep(tmp_path / "from", DEPTH)
    yield tmp_path / "from"
    run(["rm", "-rf", tmp_path / "from", tmp_path / "to"]).ok()


def names(source, target, up):
    return [source, f"x:{target}"] if up else [f"x:{source}", target]


def few(argv):
    return ["sh", "-c", f'ulimit -n {FEW} && exec "$@"', "sh", *argv]


@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
@pytest.mark.parametrize("flags", (["-p", "-Z"], ["--links"]),
                         ids=" ".join)
def test_deep(deep, tmp_path, server, up, flags):
    argv = [SCP, "-q", "-r", *flags, "-D", server,
            *names(deep, tmp_path / "to", up)]
    run(few(argv) if "-p" in flags else argv).ok()
    assert found(tmp_path / "to") == found(deep)


@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("verb", ("put", "get"))
def test_shell(deep, tmp_path, server, verb):
    run([SFTP, "-q", "-D", server], stdin=f"{verb} -r {deep} "
        f"{tmp_path}/to\n".encode()).ok()
    assert found(tmp_path / "to") == found(deep)


@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
def test_wide_and_deep(tmp_path, server, up):
    """With more directories than are known at a time, and few descriptors: the
    newest is read first, and none stays open above it."""
    top = tmp_path / "from"
    top.mkdir()
    for i in range(1100):
        (top / f"w{i}").mkdir()
    last = os.listdir(top)[-1]  # it is read while all others wait
    make_deep(top / last / "deep", 60)
    run(few([SCP, "-q", "-r", "-D", server,
             *names(top, tmp_path / "to", up)])).ok()
    assert found(tmp_path / "to" / last) == found(top / last)
    assert len(os.listdir(tmp_path / "to")) == 1100
    run(["rm", "-rf", top, tmp_path / "to"]).ok()


@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
def test_longer_than_a_path(tmp_path, server):
    """What is deeper than a server's path fails, in a line that can be read;
    what is above it is copied."""
    make_deep(tmp_path / "from", 50, "n" * 200)
    done = run([SCP, "-q", "-r", "-D", server,
                *names(tmp_path / "from", tmp_path / "to", True)])
    depth, files = found(tmp_path / "to")
    run(["rm", "-rf", tmp_path / "from", tmp_path / "to"]).ok()
    assert done.rc == 1
    assert depth == (PATH_MAX - 1 - len(f"{tmp_path}/to")) // 201
    assert files == {b: c for b, c in files.items() if c}
    lines = done.errors.splitlines()
    assert len(lines) == 1 and "..." in lines[0] and len(lines[0]) < 500
    assert re.search("too long a path|File name too long", lines[0])


@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
def test_loop(tmp_path, server, up):
    """A link to the directory that it is in."""
    (tmp_path / "from").mkdir()
    (tmp_path / "from/f").write_text("x")
    (tmp_path / "from/loop").symlink_to(".")
    done = run([SCP, "-q", "-r", "-D", server,
                *names(tmp_path / "from", tmp_path / "to", up)])
    assert done.rc == 1
    depth, files = found(tmp_path / "to")
    assert depth <= 64 and files == {"f": b"x"}


# ---- the legacy protocol ---------------------------------------------------

@pytest.fixture
def legacy(tmp_path):
    """A copy by -O whose far end is a program of this host."""
    def copy(far, source, target):
        ssh = tmp_path / "ssh"
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin/scp").unlink(missing_ok=True)
        (tmp_path / "bin/scp").symlink_to(far)
        ssh.write_text("#!/bin/sh\nfor last; do :; done\nPATH="
                       f"{tmp_path}/bin:$PATH exec /bin/sh -c \"$last\"\n")
        ssh.chmod(0o755)
        # This protocol has each directory of a way open: it raises the limit.
        return run(["sh", "-c", 'ulimit -S -n 1024; exec "$@"', "sh", SCP,
                    "-O", "-q", "-r", "-S", ssh, source, target])
    yield copy
    run(["rm", "-rf", tmp_path / "from", tmp_path / "to"]).ok()


@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
def test_legacy_deep(legacy, tmp_path, up):
    """As deep as a path leads, and no deeper: that is one readable line."""
    make_deep(tmp_path / "from", 3000)
    done = legacy(SCP, *names(tmp_path / "from", tmp_path / "to", up))
    depth, files = found(tmp_path / "to")
    assert done.rc == 1 and depth == 2047
    assert len(files) == 21
    lines = done.errors.splitlines()
    assert len(lines) == 1 and "directories are too deep" in lines[0]
    assert "..." in lines[0] and len(lines[0]) < 500, lines


@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
def test_legacy_long_path(legacy, tmp_path, up):
    """What is said of a path that is longer than a line of the protocol."""
    make_deep(tmp_path / "from", 100, "n" * 200)
    done = legacy(SCP, *names(tmp_path / "from", tmp_path / "to", up))
    assert done.rc == 1
    lines = done.errors.splitlines()
    assert len(lines) == 1 and "the path is too long" in lines[0]


@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
def test_legacy_loop(legacy, tmp_path, up):
    (tmp_path / "from").mkdir()
    (tmp_path / "from/f").write_text("x")
    (tmp_path / "from/loop").symlink_to(".")
    done = legacy(SCP, *names(tmp_path / "from", tmp_path / "to", up))
    assert done.rc == 1 and "leads back to a directory it is in" in done.errors
    assert found(tmp_path / "to") == (0, {"f": b"x"})


def test_legacy_source_without_end(legacy, tmp_path):
    """It sends a directory in each directory, whatever it is answered."""
    far = tmp_path / "far"
    far.write_text(f"#!{sys.executable}\nimport os\n"
                   "for _ in range(20000):\n    os.read(0, 1)\n"
                   "    os.write(1, b'D0755 0 d\\n')\n")
    far.chmod(0o755)
    (tmp_path / "to").mkdir()
    done = legacy(far, "h:d", tmp_path / "to")
    assert done.rc == 1 and "directories are too deep" in done.errors
    assert found(tmp_path / "to")[0] == 2048


def endless(tmp_path, name):
    server = tmp_path / "server"
    server.write_text(f"#!/bin/sh\nexec {sys.executable} {FILTER} "
                      f"endless={name} {OURS}\n")
    server.chmod(0o755)
    return [SCP, "-q", "-r", "-D", server,
            *names(tmp_path / "from", tmp_path / "to", False)]


def test_loop_that_no_server_ends(tmp_path):
    (tmp_path / "from").mkdir()
    (tmp_path / "from/loop").symlink_to(".")
    done = run(endless(tmp_path, "loop"))
    assert done.rc == 1 and "a loop of links?" in done.errors
    assert found(tmp_path / "to")[0] == 64


def test_directories_without_end(tmp_path):
    """A server that has a directory in each directory."""
    name = "n" * 200
    (tmp_path / "from" / name / name).mkdir(parents=True)
    done = run(endless(tmp_path, name))
    depth, _ = found(tmp_path / "to")
    run(["rm", "-rf", tmp_path / "to"]).ok()
    assert done.rc == 1 and "the path is too long" in done.errors
    assert depth == (16383 - len(f"{tmp_path}/from")) // 201
