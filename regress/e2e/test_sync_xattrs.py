# SPDX-License-Identifier: ISC
"""hpnsync -X and -A: extended attributes and ACLs, up, down and on this
machine. rsync is the judge of what is left to do."""

import os
import random
import shutil
import struct
import tempfile
from pathlib import Path

import pytest

import harness
from harness import have, hpn, run

RSYNC = shutil.which("rsync")
STOCK = "/usr/lib/openssh/sftp-server"
USER = 12345  # of entries in ACLs; nobody has that id
SEED = int(os.environ.get("HPN_SEED", "7"))

pytestmark = [
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built"),
    pytest.mark.skipif(not RSYNC, reason="rsync is not installed")]


def acl(*entries):
    """An ACL as the kernel has it: of each entry tag, permissions, id."""
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", *e) for e in entries)


NONE = 0xffffffff
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


def some_acl(perms=6, mask=6):
    """The owner may do all: also who is not root goes into directories."""
    return acl((1, 7, NONE), (2, perms, USER), (4, 4, NONE), (16, mask, NONE),
               (32, 4, NONE))


@pytest.fixture(autouse=True)
def attributes(tmp_path):
    """Skips where the file system has none."""
    try:
        os.setxattr(tmp_path, "user.t", b"1")
        os.removexattr(tmp_path, "user.t")
        os.setxattr(tmp_path, ACCESS, some_acl())
        os.removexattr(tmp_path, ACCESS)
        tmp_path.chmod(0o700)  # what is left of the ACL
    except OSError:
        pytest.skip("the file system has no extended attributes and ACLs")


def ends_of(way, tmp_path, server=None):
    if way == "here":
        return lambda source, target: [source, target]
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\nexec {server or hpn('sftp-server')}\n")
    shell.chmod(0o755)
    return lambda source, target: [
        "-e", shell, *([source, f"h:{target}"] if way == "up" else
                       [f"h:{source}", target])]


@pytest.fixture(params=["up", "down", "here"])
def ends(request, tmp_path):
    return ends_of(request.param, tmp_path)


def sync(ends, source, target, *options):
    return run([hpn("sync"), *options, *ends(source, target)])


def left_to_do(source, target, *options):
    done = run([RSYNC, "-ani", *options, f"{source}/", f"{target}/"])
    assert done.rc == 0, done
    return done.out.decode().splitlines()


def xattrs(path):
    return {name: os.getxattr(path, name, follow_symlinks=False)
            for name in os.listxattr(path, follow_symlinks=False)}


def state(top):
    """Attributes of all that is in a tree, and of its top."""
    return {str(p.relative_to(top)): (xattrs(p), oct(p.lstat().st_mode))
            for p in (top, *sorted(top.rglob("*")))}


@pytest.fixture
def source(tmp_path):
    top = tmp_path / "from"
    (top / "d/e").mkdir(parents=True)
    (top / "plain").write_text("plain")
    (top / "f").write_text("text")
    (top / "big").write_bytes(b"0123456789abcdef" * 65536)
    (top / "d/read-only").write_text("x")
    (top / "link").symlink_to("f")
    os.setxattr(top / "f", "user.a", b"one")
    os.setxattr(top / "f", "user.b", b"\0\1\2")
    os.setxattr(top / "f", ACCESS, some_acl())
    os.setxattr(top / "big", "user.large", b"x" * 2000)
    os.setxattr(top / "big", ACCESS, some_acl(7, 4))
    os.setxattr(top / "d", "user.of", b"dir")
    os.setxattr(top / "d", DEFAULT, some_acl(5))
    os.setxattr(top / "d/e", ACCESS, some_acl(7, 7))
    os.setxattr(top / "d/read-only", "user.r", b"o")
    (top / "d/read-only").chmod(0o444)
    os.setxattr(top, "user.top", b"1")
    return top


def test_mirror(ends, source, tmp_path):
    """New, unchanged, changed; what the source lacks goes."""
    target = tmp_path / "to"
    for _ in range(2):
        done = sync(ends, f"{source}/", target, "-aAXi")
        assert done.rc == 0 and not done.err, done
        assert state(target) == state(source)
        assert left_to_do(source, target, "-AX") == []
    assert done.out == b""
    os.setxattr(source / "f", "user.a", b"two")
    os.removexattr(source / "f", "user.b")
    os.setxattr(source / "big", ACCESS, some_acl(4, 4))
    os.removexattr(source / "d", DEFAULT)
    (source / "d/read-only").chmod(0o644)
    os.setxattr(source / "d/read-only", "user.r", b"w")
    (source / "d/read-only").chmod(0o444)
    os.setxattr(target / "plain", "user.extra", b"1")
    os.setxattr(target / "plain", ACCESS, some_acl())
    want = left_to_do(source, target, "-AX")
    dry = sync(ends, f"{source}/", target, "-aAXni")
    wet = sync(ends, f"{source}/", target, "-aAXi")
    assert wet.rc == 0 and not wet.err, wet
    assert dry.out == wet.out
    assert sorted(wet.out.decode().splitlines()) == sorted(want)
    assert state(target) == state(source)


def test_only_what_is_asked_for(ends, source, tmp_path):
    """Without -A and -X nothing is set, and nothing goes."""
    target = tmp_path / "to"
    assert sync(ends, f"{source}/", target, "-a").rc == 0
    assert not any(names for names, _ in state(target).values())
    os.setxattr(target / "f", "user.mine", b"1")
    os.setxattr(source / "d", "user.new", b"1")
    assert sync(ends, f"{source}/", target, "-a").rc == 0
    assert xattrs(target / "f") == {"user.mine": b"1"}
    assert sync(ends, f"{source}/", target, "-aX").rc == 0
    assert left_to_do(source, target, "-X") == []
    assert ACCESS not in xattrs(target / "f")
    os.setxattr(target / "f", "user.mine", b"1")
    assert sync(ends, f"{source}/", target, "-rtA").rc == 0  # -A is -p, too
    assert left_to_do(source, target, "-A") == []
    assert xattrs(target / "f")["user.mine"] == b"1"


def test_inherited(ends, source, tmp_path):
    """A target's directory gives its new files an ACL that they shall not
    have."""
    target = tmp_path / "to"
    (target / "d").mkdir(parents=True)
    os.setxattr(target, DEFAULT, some_acl(7))
    os.setxattr(target / "d", DEFAULT, some_acl(7))
    done = sync(ends, f"{source}/", target, "-aAX")
    assert done.rc == 0 and not done.err, done
    assert state(target) == state(source)


def test_one_name(ends, source, tmp_path):
    """A file that is named is asked for by itself."""
    target = tmp_path / "to"
    target.mkdir()
    for _ in range(2):
        done = sync(ends, source / "f", f"{target}/", "-aAXi")
        assert done.rc == 0 and not done.err, done
        assert xattrs(target / "f") == xattrs(source / "f")
    assert done.out == b""


def test_link_dest(ends, source, tmp_path):
    """A file of another directory is linked only if all is the same."""
    last, target = tmp_path / "last", tmp_path / "to"
    assert sync(ends, f"{source}/", last, "-aAX").rc == 0
    os.setxattr(source / "f", "user.a", b"two")
    done = sync(ends, f"{source}/", target, "-aAX", f"--link-dest={last}")
    assert done.rc == 0 and not done.err, done
    assert state(target) == state(source)
    same = {str(p.relative_to(target)): p.stat().st_ino ==
            (last / p.relative_to(target)).stat().st_ino
            for p in target.rglob("*") if p.is_file() and not p.is_symlink()}
    assert same == {"f": False, "big": True, "plain": True,
                    "d/read-only": True}


def test_of_what_links_lead_to(ends, source, tmp_path):
    """-L, -k: what a link leads to has attributes, the link has not; within the
    tree and outside."""
    outside = tmp_path / "outside"
    (outside / "in").mkdir(parents=True)
    (outside / "in/f").write_text("far")
    os.setxattr(outside / "in", DEFAULT, some_acl(3))
    os.setxattr(outside / "in", "user.out", b"1")
    os.setxattr(outside / "in/f", "user.far", b"2")
    os.setxattr(outside / "in/f", ACCESS, some_acl(2))
    (source / "to-dir").symlink_to(outside / "in")
    (source / "to-file").symlink_to(outside / "in/f")
    for option in "-L", "-k":
        target = tmp_path / f"to{option}"
        for _ in range(2):
            done = sync(ends, f"{source}/", target, "-aAXi", option)
            assert done.rc == 0 and not done.err, done
        # rsync takes -X from the links themselves.
        assert done.out == b"" and left_to_do(source, target, "-A",
                                              option) == []
        assert xattrs(target / "to-dir/f") == xattrs(outside / "in/f")
        assert xattrs(target / "to-dir") == xattrs(outside / "in")
        assert state(target / "d") == state(source / "d")
        os.setxattr(outside / "in/f", "user.far", option.encode())
        done = sync(ends, f"{source}/", target, "-aAXi", option)
        assert sorted(done.out.decode().splitlines()) == sorted(
            f".f........x {name}" for name in ["to-dir/f", "to-file"][
                :2 if option == "-L" else 1]), done
        assert xattrs(target / "to-dir/f") == xattrs(outside / "in/f")
    assert xattrs(tmp_path / "to-L/link") == xattrs(source / "f")
    assert (tmp_path / "to-k/link").is_symlink()


def test_through_links_of_the_target(ends, source, tmp_path):
    """-K: the directory that a link of the target leads to gets them."""
    target = tmp_path / "to"
    (target / "elsewhere/e").mkdir(parents=True)
    (target / "d").symlink_to("elsewhere")
    os.setxattr(target / "elsewhere", "user.old", b"1")
    for _ in range(2):
        done = sync(ends, f"{source}/", target, "-aAXiK")
        assert done.rc == 0 and not done.err, done
    assert done.out == b"" and (target / "d").is_symlink()
    assert state(target / "elsewhere") == state(source / "d")
    assert left_to_do(source, target, "-AK") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has these")
def test_of_root(ends, source, tmp_path):
    """trusted.*, of links, too."""
    os.setxattr(source / "f", "trusted.t", b"1")
    os.setxattr(source / "link", "trusted.l", b"2", follow_symlinks=False)
    target = tmp_path / "to"
    for _ in range(2):
        done = sync(ends, f"{source}/", target, "-aXi")
        assert done.rc == 0 and not done.err, done
    assert done.out == b""
    assert xattrs(target / "f")["trusted.t"] == b"1"
    assert xattrs(target / "link") == {"trusted.l": b"2"}
    os.removexattr(source / "link", "trusted.l", follow_symlinks=False)
    assert sync(ends, f"{source}/", target, "-aX").rc == 0
    assert xattrs(target / "link") == {}


@pytest.mark.skipif(not os.path.exists(STOCK),
                    reason="there is no stock sftp-server")
@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("option", ["-aX", "-aA"])
def test_stock_server(way, option, source, tmp_path):
    """It is refused before anything is made."""
    target = tmp_path / "to"
    done = sync(ends_of(way, tmp_path, STOCK), f"{source}/", f"{target}/",
                option)
    assert done.rc == 4 and b"xattrs@hpnssh.org" in done.err, done
    assert len(done.err.splitlines()) == 1
    assert not target.exists()


@pytest.mark.skipif(os.geteuid() != 0 or bool(harness.mount_problem()),
                    reason="mounting needs root and namespaces")
@pytest.mark.parametrize("way", ["up", "down", "here"])
def test_target_without(way, source, tmp_path):
    """A file system that keeps none: all is copied without them and told, with
    exit status 23."""
    target = tmp_path / "to"
    target.mkdir()
    words = [str(w) for w in ends_of(way, tmp_path)(f"{source}/",
                                                    f"{target}/")]
    done = run(["unshare", "-m", "--propagation", "private", "sh", "-c",
                f'mount -t ramfs ramfs {target} && "$@"; echo $?; '
                f'cat {target}/f {target}/d/read-only', "sh", hpn("sync"),
                "-rtX", *words])
    assert done.out == b"23\ntextx", done
    errors = done.err.decode().splitlines()
    for name in ("/f:", "/big:", "/d/read-only:", "/d:"):
        assert [e for e in errors if name in e.replace(" ", "/") and
                e.endswith("extended attributes: Operation not supported")
                ], (name, done)
    assert "plain" not in done.err.decode()


@pytest.mark.parametrize("way", ["up", "down", "here"])
def test_links_lead_nowhere(way, source, tmp_path):
    """A link in the place of a file or a directory of the target: what it leads
    to keeps what it has."""
    target, outside = tmp_path / "to", tmp_path / "outside"
    target.mkdir()
    (outside / "d").mkdir(parents=True)
    (outside / "f").write_text("text")
    os.utime(outside / "f", ns=((source / "f").stat().st_mtime_ns,) * 2)
    before = state(outside)
    (target / "f").symlink_to(outside / "f")
    (target / "d").symlink_to(outside / "d")
    done = sync(ends_of(way, tmp_path), f"{source}/", f"{target}/", "-aAX")
    assert done.rc == 0 and not done.err, done
    assert state(outside) == before
    assert state(target) == state(source)


def test_too_much(ends, tmp_path):
    """More than a set may have: it is told, and the file copied without."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no file system keeps large attributes")
    source = Path(tempfile.mkdtemp(dir="/dev/shm"))
    try:
        (source / "f").write_text("text")
        for n in range(3):
            os.setxattr(source / "f", f"user.{n}", b"x" * 60000)
        too_much(ends, source, tmp_path)
    except OSError:
        pytest.skip("no file system keeps large attributes")
    finally:
        shutil.rmtree(source)


def too_much(ends, source, tmp_path):
    target = tmp_path / "to"
    done = sync(ends, f"{source}/", f"{target}/", "-aX")
    assert done.rc == 23 and b"cannot be read" in done.err, done
    assert (target / "f").read_text() == "text"


def test_rules_of_directories(ends, source, tmp_path):
    """-F reads ahead of what it tells, which keeps all of it."""
    (source / "d/.rsync-filter").write_text("- *.o\n")
    (source / "d/x.o").write_text("o")
    target = tmp_path / "to"
    done = sync(ends, f"{source}/", target, "-aAXF")
    assert done.rc == 0 and not done.err, done
    (source / "d/x.o").unlink()
    os.utime(source / "d", ns=((target / "d").stat().st_mtime_ns,) * 2)
    assert state(target) == state(source)


def tree(top, dice):
    """A random tree with some of all that there can be."""
    top.mkdir()
    dirs = [top]
    for i in range(dice.randrange(4)):
        dirs.append(dice.choice(dirs) / f"d{i}")
        dirs[-1].mkdir()
    files = [dice.choice(dirs) / f"f{i}" for i in range(dice.randrange(9))]
    for path in files:
        path.write_bytes(b"x" * dice.choice([0, 3, 70000]))
        os.utime(path, (10**9, 10**9))
    for path in files + dirs:
        for n in range(dice.randrange(3)):
            os.setxattr(path, f"user.{dice.choice('abc')}",
                        bytes(dice.randrange(256) for _ in range(n * 3)))
        if path in files:
            path.chmod(dice.choice([0o644, 0o600, 0o444, 0o755]))
        if dice.random() < .4:
            os.setxattr(path, ACCESS, some_acl(dice.randrange(8),
                                               dice.randrange(8)))
    for path in dirs:
        if dice.random() < .3:
            os.setxattr(path, DEFAULT, some_acl(dice.randrange(8)))
    for path in dirs:
        os.utime(path, (10**9, 10**9))


@pytest.mark.parametrize("way", ["up", "down", "here"])
def test_random_trees(way, tmp_path):
    """After hpnsync rsync has nothing left to do, and what -i tells is what
    rsync would have told."""
    dice = random.Random(SEED)
    ends = ends_of(way, tmp_path)
    for i in range(int(os.environ.get("HPN_TREES", "5"))):
        source, target = tmp_path / f"s{i}", tmp_path / f"t{i}"
        tree(source, dice)
        tree(target, dice)
        options = dice.choice([["-AX"], ["-X"], ["-A"]]) + ["--delete"]
        want = left_to_do(source, target, *options)
        done = sync(ends, f"{source}/", target, "-ai", "--max-delete=99",
                    *options)
        assert done.rc == 0 and not done.err, (i, done)
        assert left_to_do(source, target, *options) == [], i
        told = [line.replace("<f", ">f")
                for line in done.out.decode().splitlines()]
        assert sorted(told) == sorted(want), (i, options)
