# SPDX-License-Identifier: ISC
"""hpnscp that is broken off anywhere: what bears a target's name is whole, and
-Z makes the rest so; --retry, --verify, --in-place and -j."""

import os
import random
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from harness import LONG, clean_env, have, hpn, run

SCP = hpn("scp")
OUR_SERVER = hpn("sftp-server")
STOCK_SERVER = "/usr/lib/openssh/sftp-server"
SERVERS = [OUR_SERVER] + ([STOCK_SERVER] if os.path.exists(STOCK_SERVER)
                          else [])
MB = 1 << 20

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")


def names(source, target, up):
    return ([source, f"x:{target}"] if up else [f"x:{source}", target])


def start(*args, server):
    """In a process group of its own, the server with it."""
    return subprocess.Popen([SCP, "-q", "-D", server, *map(str, args)],
                            stdin=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, env=clean_env(),
                            start_new_session=True)


def server_of(process):
    """Process ids of the server programs that it started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        return [int(pid) for pid in children.read_text().split()]
    except OSError:
        return []


def wait_for_data(part, process):
    """Until some of a file is there, while the program runs."""
    until = time.monotonic() + LONG
    while not part.exists() or part.stat().st_blocks * 512 < MB:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.005)


def kill_servers(process, target):
    """All connections are lost together, however many it has by now, before
    the target is there: it is stopped meanwhile, so that none is added."""
    process.send_signal(signal.SIGSTOP)
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    pids = server_of(process)
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert not target.exists()
    process.send_signal(signal.SIGCONT)


def finish(process):
    try:
        _, errors = process.communicate(timeout=LONG)
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return process.returncode, errors.decode()


def place(tmp_path):
    """Where the tree goes: a directory that is there gets it as an entry."""
    (tmp_path / "to").mkdir()
    return tmp_path / "to"


def files_of(top):
    return {p.relative_to(top): p.read_bytes()
            for p in top.rglob("*") if p.is_file()}


def whole_files_of(top):
    """Without parts: one of which nothing can be told stays."""
    return {name: data for name, data in files_of(top).items()
            if ".hpnpart" not in name.name}


def expect_no_lie(source, target):
    """What is there, parts aside, is the source's."""
    wanted = files_of(source)
    for name, data in whole_files_of(target).items():
        assert data == wanted[name], name


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    top = tmp_path_factory.mktemp("from") / "tree"
    (top / "sub").mkdir(parents=True)
    for i in range(40):
        (top / "sub" / f"f{i}").write_bytes(os.urandom(i * 700))
    for size in (0, 3, 20):
        (top / f"big{size}").write_bytes(os.urandom(size * MB))
    return top


@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
@pytest.mark.parametrize("victim", ("client", "server"))
def test_killed(tree, tmp_path, server, up, victim):
    """kill -9 of either end, each time a little later."""
    rng = random.Random(f"{server}{up}{victim}")
    target = place(tmp_path)
    resume = []
    for _ in range(8):
        p = start("-r", "-l", 400000, *resume, *names(tree, target, up),
                  server=server)
        time.sleep(0.01 + 0.3 * rng.random())
        if victim == "client":
            p.kill()
        else:
            for pid in server_of(p):
                os.kill(pid, signal.SIGKILL)
        code, errors = finish(p)
        expect_no_lie(tree, target / "tree")
        resume = ["-Z"]
        if code == 0:
            break
        assert victim == "client" or code in (1, 255)
        assert victim == "client" or "Connection" in errors, errors
    done = run([SCP, "-q", "-r", "-Z", "-D", server,
                *map(str, names(tree, target, up))])
    assert done.rc == 0, done
    assert whole_files_of(target / "tree") == files_of(tree)


@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
def test_retry(tree, tmp_path, server, up):
    """It goes on by itself when the connection is lost."""
    target = tmp_path / "to"
    p = start("-r", "-l", 250000, "--retry=3", *names(tree, target, up),
              server=server)
    wait_for_data(target / ".big20.hpnpart", p)
    kill_servers(p, target / "big20")
    code, errors = finish(p)
    assert code == 0, errors
    assert files_of(target) == files_of(tree)


def test_retry_ends(tree, tmp_path):
    """A server that never comes back."""
    began = time.monotonic()
    done = run([SCP, "-q", "--retry=1", "-D", "/bin/false", tree / "big3",
                f"x:{tmp_path}/to"])
    assert done.rc == 255
    assert time.monotonic() - began < 60


@pytest.fixture
def counted(tmp_path):
    """Makes a server whose traffic is counted: its command, and a function
    that gives the bytes of both directions since the last call."""
    wire = tmp_path / "wire"
    wire.mkdir()

    def bytes_moved():
        total = sum(p.stat().st_size for p in wire.iterdir())
        for p in wire.iterdir():
            p.unlink()
        return total

    def make(server):
        script = tmp_path / "server"
        script.write_text(f"#!/bin/sh\ntee {wire}/in | {server} | "
                          f"tee {wire}/out\n")
        script.chmod(0o755)
        return script, bytes_moved
    return make


@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
def test_only_what_is_missing(tmp_path, counted, server, up):
    """When a part lacks its end, only the end is moved; when it is complete,
    nothing."""
    source, target = tmp_path / "from", tmp_path / "to"
    source.write_bytes(os.urandom(24 * MB))
    os.utime(source, (10**9, 10**9))  # old: times in whole seconds count
    p = start("-l", 200000, *names(source, target, up), server=server)
    part = tmp_path / ".to.hpnpart"
    for _ in range(500):
        time.sleep(0.02)
        if part.exists() and part.stat().st_blocks * 512 > 12 * MB:
            break
    p.kill()
    finish(p)
    assert not target.exists()
    server, bytes_moved = counted(server)
    args = [SCP, "-q", "-p", "-Z", "-D", server,
            *map(str, names(source, target, up))]
    done = run(args)
    assert done.rc == 0, done
    assert target.read_bytes() == source.read_bytes()
    assert bytes_moved() < 18 * MB
    inode = target.stat().st_ino
    assert run(args).rc == 0
    assert bytes_moved() < MB // 8
    assert target.stat().st_ino == inode


@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
def test_verify_and_in_place(tree, tmp_path, server, up):
    target = tmp_path / "to"
    done = run([SCP, "-q", "-r", "--verify", "-D", server,
                *map(str, names(tree, target, up))])
    assert done.rc == 0 and done.errors == "", done
    assert files_of(target) == files_of(tree)
    inode = (target / "big3").stat().st_ino
    (target / "big3").write_bytes(b"old")
    for args, kept in (("--in-place",), True), ((), False):
        done = run([SCP, "-q", *args, "-D", server, *map(str, names(
            tree / "big3", target / "big3", up))])
        assert done.rc == 0, done
        assert ((target / "big3").stat().st_ino == inode) is kept
    assert files_of(target) == files_of(tree)


def test_several_connections(tree, tmp_path):
    """-j: more servers, once the first moves data."""
    source = tmp_path / "from"
    source.write_bytes(os.urandom(40 * MB))
    p = start("-j", 3, "-l", 400000, *names(source, tmp_path / "to", True),
              server=OUR_SERVER)
    most = 0
    while p.poll() is None:
        most = max(most, len(server_of(p)))
        time.sleep(0.02)
    assert finish(p)[0] == 0
    assert most == 3
    assert (tmp_path / "to").read_bytes() == source.read_bytes()


# ---- places beyond 32 bits -----------------------------------------------

HIGH = 5 << 30


@pytest.fixture
def high(tmp_path):
    """A file of 5 GiB, with data at its end only."""
    path = tmp_path / "high"
    with open(path, "wb") as f:
        f.seek(HIGH)
        f.write(os.urandom(MB + 12345))
    if path.stat().st_blocks * 512 > 16 * MB:
        pytest.skip("no holes in this file system")
    os.utime(path, (1000000000, 1000000000))
    return path


def end_of(path):
    with open(path, "rb") as f:
        f.seek(HIGH - 10)
        return f.read()


def sparse(path, size, then=b""):
    with open(path, "wb") as f:
        f.truncate(size)
        f.seek(size)
        f.write(then)


@pytest.mark.skipif(STOCK_SERVER not in SERVERS, reason="no stock server")
@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
def test_marks_beyond_4_gib(tmp_path, high, counted, up):
    """A part that lacks its last range: no more than that moves."""
    size, chunk = high.stat().st_size, 32 * MB
    sparse(tmp_path / ".out.hpnpart", size, struct.pack(
        ">8sQQQ", b"HPNPART1", size, 1000000000, chunk)
        + b"\1" * (HIGH // chunk) + b"\0")
    server, bytes_moved = counted(STOCK_SERVER)
    run([SCP, "-q", "-Z", "-D", server,
         *names(high, tmp_path / "out", up)]).ok()
    assert (tmp_path / "out").stat().st_size == size
    assert end_of(tmp_path / "out") == end_of(high)
    assert bytes_moved() < 2 * MB


@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
def test_append_beyond_4_gib(tmp_path, high, server, up):
    sparse(tmp_path / "out", HIGH + 7)
    with open(tmp_path / "out", "r+b") as f:
        f.seek(HIGH)
        f.write(end_of(high)[10:17])
    line = "reput {} {}" if up else "reget {} {}"
    run([hpn("sftp"), "-q", "-b", "-", "-D", server],
        stdin=(line.format(high, tmp_path / "out") + "\n").encode()).ok()
    assert (tmp_path / "out").stat().st_size == high.stat().st_size
    assert end_of(tmp_path / "out") == end_of(high)


# ---- two at once ---------------------------------------------------------

@pytest.mark.parametrize("server", SERVERS, ids=os.path.basename)
@pytest.mark.parametrize("up", (True, False), ids=("up", "down"))
@pytest.mark.parametrize("how", ("both end", "the first dies"))
def test_two_copies_at_once(tmp_path, server, up, how):
    """To one name, of different files: it is always one of them, or what was
    there before."""
    one, two, out = (tmp_path / n for n in ("one", "two", "out"))
    one.write_bytes(os.urandom(7 * MB))
    two.write_bytes(os.urandom(9 * MB))
    out.write_bytes(b"old")
    allowed = [p.read_bytes() for p in (one, two, out)]
    part = tmp_path / ".out.hpnpart"
    first = start("-l", 100000, *names(one, out, up), server=server)
    for _ in range(500):
        time.sleep(0.01)
        if part.exists() and part.stat().st_size > 0:
            break
    second = start("-l", 100000, *names(two, out, up), server=server)
    time.sleep(0.1)
    if how == "the first dies":
        os.killpg(first.pid, signal.SIGKILL)
    while first.poll() is None or second.poll() is None:
        assert out.read_bytes() in allowed
        time.sleep(0.01)
    (code, errors), (code2, errors2) = finish(first), finish(second)
    assert how == "the first dies" or code == 0, errors
    # The second leaves the part alone, and the last one to end has the name.
    assert code2 == 0, errors2
    assert out.read_bytes() == allowed[1]
    assert part.exists() == (how == "the first dies")
    left = part.read_bytes() if part.exists() else None
    run([SCP, "-q", "-Z", "-D", server, *map(str, names(two, out, up))]).ok()
    assert out.read_bytes() == allowed[1]
    assert left is None or part.read_bytes() == left
    if left is not None:
        done = run([SCP, "-D", server, *map(str, names(one, out, up))])
        assert "left alone" in done.errors, done
        assert out.read_bytes() == allowed[0]


def test_refused():
    for args in (("-O", "--verify"), ("-O", "--in-place"), ("-R", "-j", "2"),
                 ("-O", "--retry"), ("-j", "0"), ("-j", "x"),
                 ("--retry=x",)):
        assert run([SCP, *args, "a", "x:b"]).rc == 1, args
    assert "this host and another" in run([SCP, "-D", OUR_SERVER, "--verify", "x:/a",
                                 "y:/b"]).errors
