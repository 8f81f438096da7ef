# SPDX-License-Identifier: ISC
"""hpnscp keeps what it is asked to keep (times, links, names of one file,
holes), says what it cannot copy, ends in the place where stock scp's copy ends,
and writes nowhere else, whatever a server says."""

import os
import pathlib
import re
import shutil
import socket
import stat
import subprocess

import pytest

from copies import (DIR, FILE, LINK, OURS, SCP, SERVERS, STOCK, lying_server,
                    scp)
from harness import MIB, have, run

STOCK_SCP = shutil.which("scp", path="/usr/bin:/bin")

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")
not_root = pytest.mark.skipif(os.getuid() == 0, reason="root may do it all")


def both_ways(tmp_path, source, *flags, server=OURS):
    """Copies up and then down; the two copies."""
    up, down = tmp_path / "up", tmp_path / "down"
    scp("-r", *flags, source, f"x:{up}", server=server).ok()
    scp("-r", *flags, f"x:{source}", down, server=server).ok()
    return up, down


def same_data(one, two):
    return subprocess.run(["diff", "-r", "--no-dereference", one, two]
                          ).returncode == 0


# ---- times -------------------------------------------------------------

@pytest.mark.parametrize("server", SERVERS)
def test_times(tmp_path, server):
    top = tmp_path / "t"
    (top / "d").mkdir(parents=True)
    (top / "d/f").write_text("x")
    times = (981173106123456789, 1262304000987654321)
    for path in (top / "d/f", top / "d"):
        os.utime(path, ns=times)
    exact = server == OURS
    for copy in both_ways(tmp_path, top, "-p", server=server):
        for name in ("d/f", "d"):
            st = (copy / name).stat()
            wanted = times[1] if exact else times[1] // 10**9 * 10**9
            assert st.st_mtime_ns == wanted, (copy, name)


def test_read_only_directories(tmp_path):
    top = tmp_path / "t"
    (top / "d").mkdir(parents=True)
    (top / "d/f").write_text("x")
    (top / "d").chmod(0o555)
    try:
        for flags in ([], ["-p"]):
            for copy in both_ways(tmp_path, top, *flags):
                assert (copy / "d/f").read_text() == "x"
                assert stat.S_IMODE((copy / "d").stat().st_mode) == 0o555
                (copy / "d").chmod(0o755)
                shutil.rmtree(copy)
        # One that is there already keeps its mode, but with -p.
        (tmp_path / "there/d").mkdir(parents=True)
        scp("-r", f"x:{top}/.", tmp_path / "there").ok()
        assert stat.S_IMODE((tmp_path / "there/d").stat().st_mode) == 0o755
        for _ in range(2):
            scp("-rp", f"x:{top}/.", tmp_path / "there").ok()
            assert stat.S_IMODE(
                (tmp_path / "there/d").stat().st_mode) == 0o555
    finally:
        for d in tmp_path.rglob("d"):
            d.chmod(0o755)


# ---- extended attributes and ACLs --------------------------------------

# user::rw-, user:1:r--, group::r--, mask::r--, other::r--
ACL = b"\2\0\0\0" + b"".join(
    tag + b"\0" + may + b"\0" + uid for tag, may, uid in [
        (b"\1", b"\7", b"\xff" * 4), (b"\2", b"\4", b"\1\0\0\0"),
        (b"\4", b"\4", b"\xff" * 4), (b"\x10", b"\4", b"\xff" * 4),
        (b"\x20", b"\4", b"\xff" * 4)])


def with_extra(path, name, value=b"1"):
    try:
        os.setxattr(path, name, value)
    except OSError as why:
        pytest.skip(f"{name}: {why}")


@pytest.mark.parametrize("name,value", [
    ("user.note", b"1"), ("system.posix_acl_access", ACL)])
@pytest.mark.parametrize("at", ["t/a", "t", "t/d"])
def test_extras_that_are_not_copied_are_told(tmp_path, name, value, at):
    """With -p, and in one line at the end. Labels that the system gives to each
    file are none of these, and scp says nothing."""
    (tmp_path / "t/d").mkdir(parents=True)
    for one in "t/a", "t/b", "t/d/c":
        (tmp_path / one).write_text("x")
    with_extra(tmp_path / at, name, value)
    done = scp("-pr", tmp_path / "t", f"x:{tmp_path}/1").ok()
    assert done.err.decode().splitlines() == [
        f"hpnscp: {tmp_path}/{at}: has extended attributes or an ACL: these "
        "were not copied"]
    assert scp("-r", tmp_path / "t", f"x:{tmp_path}/2").ok().err == b""
    (tmp_path / "scp").symlink_to(SCP)
    done = run([tmp_path / "scp", "-D", OURS, "-pr", tmp_path / "t",
                f"x:{tmp_path}/3"]).ok()
    assert done.err == b""
    with_extra(tmp_path / "t/b", "user.other")
    if at != "t/b":
        done = scp("-pr", tmp_path / "t", f"x:{tmp_path}/4").ok()
        assert len(done.err.splitlines()) == 1
        assert b"as others have" in done.err


@pytest.mark.skipif(os.getuid() != 0, reason="root sets such labels")
def test_labels_of_the_system_are_no_extras(tmp_path):
    (tmp_path / "a").write_text("x")
    with_extra(tmp_path / "a", "security.selinux", b"unlabeled")
    done = scp("-p", tmp_path / "a", f"x:{tmp_path}/1").ok()
    assert done.err == b""


# ---- links -------------------------------------------------------------

def link_tree(top):
    (top / "d").mkdir(parents=True)
    (top / "d/file").write_text("file")
    (top / "to-file").symlink_to("d/file")
    (top / "to-dir").symlink_to("d")
    (top / "d/up").symlink_to("..")
    (top / "nowhere").symlink_to("/no/such\x1b[31m/thing")
    os.symlink(b"\xff\n", os.fsencode(top) + b"/odd\xff")
    os.utime(top / "to-dir", ns=(10**18, 10**18 + 5), follow_symlinks=False)


@pytest.mark.parametrize("server", SERVERS)
def test_links_are_kept(tmp_path, server):
    top = tmp_path / "t"
    link_tree(top)
    for _ in range(2):  # the second time they are there already
        for copy in both_ways(tmp_path, top, "-p", "--links",
                              server=server):
            if (copy / "t").exists():
                copy = copy / "t"
            assert same_data(top, copy)
            assert (copy / "to-dir").lstat().st_mtime == 10**9
    # A link that leads elsewhere now replaces the old one, what it led to
    # stays; a file replaces a link, and the other way round.
    precious = tmp_path / "precious"
    precious.write_text("precious")
    top2 = tmp_path / "t2"
    top2.mkdir()
    (top2 / "a").symlink_to("new")
    (top2 / "b").write_text("b")
    (top2 / "c").symlink_to("c-target")
    for way in ("up", "down"):
        out = tmp_path / f"out-{way}"
        out.mkdir()
        (out / "a").symlink_to(precious)
        (out / "b").symlink_to(precious)
        (out / "c").write_text("c")
        args = [f"{top2}/.", f"x:{out}"] if way == "up" else \
            [f"x:{top2}/.", out]
        scp("-r", "--links", *args, server=server).ok()
        assert same_data(top2, out)
        assert precious.read_text() == "precious"
        assert len(list(out.iterdir())) == 3


@pytest.mark.parametrize("server", SERVERS)
def test_links_are_followed(tmp_path, server):
    """As stock scp does; but a link that leads back ends soon."""
    top = tmp_path / "t"
    (top / "d").mkdir(parents=True)
    (top / "d/f").write_text("f")
    (top / "to-dir").symlink_to("d")
    (top / "to-file").symlink_to("d/f")
    for copy in both_ways(tmp_path, top, server=server):
        assert (copy / "to-dir/f").read_text() == "f"
        assert not (copy / "to-dir").is_symlink()
        assert not (copy / "to-file").is_symlink()
    (top / "loop").symlink_to(".")
    done = scp("-r", top, f"x:{tmp_path}/looped", server=server)
    assert done.rc == 1
    assert "leads back to a directory it is in" in done.errors
    assert (tmp_path / "looped/to-dir/f").exists()
    done = scp("-r", f"x:{top}", tmp_path / "looped-down", server=server)
    assert done.rc == 1 and done.errors
    assert (tmp_path / "looped-down/to-dir/f").exists()


def test_hard_links(tmp_path):
    top = tmp_path / "t"
    (top / "d").mkdir(parents=True)
    (top / "a").write_bytes(os.urandom(3000000))
    for name in ("b", "d/c", "d/e"):
        os.link(top / "a", top / name)
    (top / "alone").write_text("alone")
    for _ in range(2):
        for copy in both_ways(tmp_path, top, "--hard-links"):
            if (copy / "t").exists():
                copy = copy / "t"
            assert same_data(top, copy)
            inodes = {(copy / n).stat().st_ino
                      for n in ("a", "b", "d/c", "d/e")}
            assert len(inodes) == 1
            assert (copy / "a").stat().st_nlink == 4
            assert not list(copy.rglob("*.hpnpart"))
    # What is one file no more does not stay one at the target.
    (top / "b").unlink()
    (top / "b").write_text("other")
    for copy in both_ways(tmp_path, top / "b", "--hard-links"):
        pass
    scp("-r", "--hard-links", f"{top}/.", f"x:{tmp_path}/up").ok()
    scp("-r", "--hard-links", f"x:{top}/.", f"{tmp_path}/down").ok()
    for copy in (tmp_path / "up", tmp_path / "down"):
        assert (copy / "b").read_text() == "other"
        assert (copy / "a").read_bytes() == (top / "a").read_bytes()
        assert (copy / "d/c").read_bytes() == (top / "a").read_bytes()


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("flags", [[], ["--in-place"]])
@pytest.mark.parametrize("order", ["abcd", "bcda"])
def test_names_onto_special_files(tmp_path, server, up, flags, order):
    """Links of a file take the place of files only, and lead to such: what is
    behind a link is written, and a socket refuses that, whichever name is the
    first."""
    if not up and server != OURS:
        pytest.skip("stock's server does not tell of hard links")
    top, out = tmp_path / "t", tmp_path / "out"
    top.mkdir()
    out.mkdir()
    (top / "a").write_text("content")
    for name in ("b", "c", "d"):
        os.link(top / "a", top / name)
    (out / "b").symlink_to(tmp_path / "there")
    (tmp_path / "there").write_text("old")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(out / "c"))
    sources = [top / name for name in order]
    ends = (*sources, f"x:{out}") if up else \
        (*(f"x:{s}" for s in sources), out)
    done = scp("--hard-links", *flags, *ends, server=server)
    assert done.rc == 1 and stat.S_ISSOCK((out / "c").lstat().st_mode)
    assert (out / "b").is_symlink()
    assert (tmp_path / "there").read_text() == "content"
    for name in ("a", "d"):
        assert stat.S_ISREG((out / name).lstat().st_mode)
        assert (out / name).read_text() == "content"


@pytest.mark.skipif(STOCK not in SERVERS, reason="no stock sftp-server")
def test_hard_links_with_stock(tmp_path):
    top = tmp_path / "t"
    top.mkdir()
    (top / "a").write_text("a")
    os.link(top / "a", top / "b")
    scp("-r", "--hard-links", top, f"x:{tmp_path}/up", server=STOCK).ok()
    assert (tmp_path / "up/a").stat().st_nlink == 2
    done = scp("-r", "--hard-links", f"x:{top}", tmp_path / "down",
               server=STOCK).ok()
    assert "each name is copied" in done.errors, done
    assert same_data(top, tmp_path / "down")


# ---- holes, sizes ------------------------------------------------------

def data_of(path):
    """What is not zeros, by its place; holes are not read."""
    found, at = {}, 0
    with open(path, "rb") as f:
        while True:
            try:
                at = os.lseek(f.fileno(), at, os.SEEK_DATA)
            except OSError:
                return found
            f.seek(at // 4096 * 4096)
            piece = f.read(4096)
            if piece.strip(b"\0"):
                found[at // 4096] = piece
            at = at // 4096 * 4096 + 4096


@pytest.mark.parametrize("server", SERVERS)
def test_sparse(tmp_path, server):
    top = tmp_path / "t"
    top.mkdir()
    for name, size, places in (
            ("huge", 6 << 30, (0, 5 << 30, (6 << 30) - 5)),
            ("behind", 9000001, (1,)), ("before", 9000001, (8999990,)),
            ("all", 3 << 20, ()), ("many", 64 << 20,
                                   range(0, 64 << 20, 1 << 20))):
        with open(top / name, "wb") as f:
            f.truncate(size)
            for at in places:
                f.seek(at)
                f.write(b"data")
    if (top / "huge").stat().st_blocks > 1000:
        pytest.skip("no holes in this file system")
    names = sorted(os.listdir(top))
    if server != OURS:
        (top / "huge").unlink()  # it cannot tell where the holes are
        names.remove("huge")
    for copy in both_ways(tmp_path, top, "--sparse", server=server):
        for name in names:
            was, now = (top / name).stat(), (copy / name).stat()
            assert was.st_size == now.st_size, name
            assert now.st_blocks <= was.st_blocks + 1000, name
            assert data_of(top / name) == data_of(copy / name), name


def test_sparse_resume_and_verify(tmp_path):
    src = tmp_path / "src"
    with open(src, "wb") as f:
        for at in range(0, 40 << 20, 8 << 20):
            f.seek(at)
            f.write(os.urandom(1 << 20))
        f.truncate(41 << 20)
    for way in ("up", "down"):
        out = tmp_path / way
        out.mkdir()
        args = [src, f"x:{out}/dst"] if way == "up" else \
            [f"x:{src}", out / "dst"]
        # A part with something where the holes are.
        (out / ".dst.hpnpart").write_bytes(os.urandom(30 << 20))
        scp("-Z", "--verify", "--sparse", *args).ok()
        assert (out / "dst").read_bytes() == src.read_bytes()
        (out / "dst").unlink()
        scp("--verify", "--sparse", *args).ok()
        assert (out / "dst").read_bytes() == src.read_bytes()
        assert (out / "dst").stat().st_blocks < (20 << 20) / 512


@pytest.mark.skipif(os.getuid() != 0, reason="makes a device")
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("kind,flags", [("full", []), ("null", ["--verify"])])
def test_time_of_a_device(tmp_path, data_file, server, up, kind, flags):
    """It stays also where a copy fails, as no later copy believes it."""
    f, device = data_file(300000), tmp_path / "device"
    os.mknod(device, 0o666 | stat.S_IFCHR, os.stat(f"/dev/{kind}").st_rdev)
    before = device.stat().st_mtime
    done = scp(*flags, *((f, f"x:{device}") if up else (f"x:{f}", device)),
               server=server)
    assert done.rc == 1 and device.stat().st_mtime >= before


@pytest.fixture
def block_device(tmp_path):
    """Full of what is neither data of a test nor zeros."""
    content = tmp_path / "device"
    content.write_bytes(b"\xff" * MIB)
    made = run(["losetup", "-f", "--show", content])
    if made.rc != 0:
        pytest.skip("no loop devices here")
    device = made.text.strip()
    yield device
    run(["losetup", "-d", device])


@pytest.mark.skipif(os.getuid() != 0, reason="attaches a loop device")
@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("up", [True, False])
def test_sparse_onto_a_device(tmp_path, block_device, server, up):
    """A device has old content where the source has holes."""
    image = tmp_path / "image"
    with open(image, "wb") as f:
        f.write(b"head")
        f.truncate(MIB)
    scp("--sparse", *((image, f"x:{block_device}") if up else
                      (f"x:{image}", block_device)), server=server).ok()
    with open(block_device, "rb") as f:
        assert f.read() == image.read_bytes()


@pytest.mark.parametrize("server", SERVERS)
def test_size_that_is_a_lie(tmp_path, server):
    """Files of sysfs have less than they say, those of /proc have more."""
    for name in ("/sys/kernel/mm/transparent_hugepage/enabled",
                 "/proc/self/limits"):
        if not os.path.exists(name):
            continue
        for out, args in ((tmp_path / "up", [name, f"x:{tmp_path}/up"]),
                          (tmp_path / "down", [f"x:{name}",
                                               tmp_path / "down"])):
            scp(*args, server=server).ok()
            assert out.read_text()[:5] == pathlib.Path(name).read_text()[:5]


def test_what_is_no_file(tmp_path):
    top = tmp_path / "t"
    top.mkdir()
    os.mkfifo(top / "fifo")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(top / "socket"))
        (top / "file").write_text("file")
        for args in ([top, f"x:{tmp_path}/up"],
                     [f"x:{top}", tmp_path / "down"]):
            done = scp("-r", *args)
            assert done.rc == 1
            assert sorted(done.errors.splitlines()) == [
                f"hpnscp: {top}/fifo: not a regular file",
                f"hpnscp: {top}/socket: not a regular file"]
    assert (tmp_path / "up/file").exists()
    assert (tmp_path / "down/file").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a file system")
def test_full_disk(tmp_path, data_file):
    f = data_file(3000000)
    small = tmp_path / "small"
    small.mkdir()
    if run(["mount", "-t", "tmpfs", "-o", "size=1M", "none", small]).rc:
        pytest.skip("no mounts here")
    try:
        done = scp(f"x:{f}", small / "f")
        assert done.rc == 1 and "No space left on device" in done.errors
        assert os.listdir(small) == [".f.hpnpart"]
        (small / ".f.hpnpart").unlink()
        done = scp(f, f"x:{small}/f")
        assert done.rc == 1 and done.errors, done
        assert os.listdir(small) == [".f.hpnpart"]
    finally:
        run(["umount", small])


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a file system")
@pytest.mark.parametrize("server", SERVERS)
def test_no_room_for_a_part(tmp_path, data_file, server):
    """What is there is not overwritten where only a new file has no room."""
    f = data_file(300000)
    full = tmp_path / "full"
    full.mkdir()
    if run(["mount", "-t", "tmpfs", "-o", "size=4M,nr_inodes=2", "none",
            full]).rc:
        pytest.skip("no mounts here")
    try:
        (full / "f").write_text("old")
        for ends in ([f"x:{f}", full / "f"], [f, f"x:{full}/f"]):
            for flags in ((), ("-Z",)):
                done = scp(*flags, *ends, server=server)
                assert done.rc == 1 and \
                    re.search(r'full/f"?: ', done.errors), done
                assert (full / "f").read_text() == "old"
                assert os.listdir(full) == ["f"]
    finally:
        run(["umount", full])


# ---- the same place as stock -------------------------------------------

PLACES = [
    # sources, target; each (with -r) from a directory with s/ (s/f, s/d/g), one, two,
    # and, at the target, there/
    (["s"], "new"), (["s"], "there"), (["s/"], "new"), (["s/"], "there"),
    (["s/."], "new"), (["s/."], "there"), (["s"], "there/"),
    (["s//"], "there"),
    (["s/d"], "there"), (["s/d/"], "there"), (["s/./d"], "there"),
    (["one"], "there"), (["one"], "new"), (["one"], "there/"),
    (["one"], "there/x"), (["one", "two"], "there"),
    (["one", "one"], "there"), (["s/.", "one"], "there"),
    (["s", "s"], "there"), (["s/.", "s/d/."], "there"),
    (["s", "one"], "there"), (["one"], "no/such"), (["none"], "there"),
    (["one"], "file"), (["s"], "file"),
    (["one", "two"], "new"), (["one", "two"], "file"),
    (["one"], "there/."), (["s"], "there/."),
    (["./one"], "there"), (["s/../one"], "there"), (["s/f"], "there/f2"),
]


# Otherwise on purpose:
OTHER = [
    # Stock writes beside the target. Here what ".." holds goes into it.
    (["s/d/.."], "there", 0, {"there/f", "there/d/g"}),
    # Stock uploads nothing if one of the sources is missing.
    (["none", "one"], "there", 1, {"there/one"}),
    # Stock cannot upload that; downloads, and cp, can.
    (["s"], "new/", 0, {"new/f", "new/d/g"}),
]


def outcome(program, up, sources, target, base):
    shutil.rmtree(base, ignore_errors=True)
    for end in ("near", "far"):
        (base / end / "there").mkdir(parents=True)
        (base / end / "s/d").mkdir(parents=True)
        for name in ("s/f", "s/d/g", "one", "two"):
            (base / end / name).write_text(name)
        (base / end / "file").write_text("before")
    if up:
        args = sources + [f"x:{base}/far/{target}"]
    else:
        args = [f"x:{base}/far/{s}" for s in sources] + [target]
    server = STOCK
    done = run([program, "-D", server, "-r", *args], cwd=base / "near")
    tree = {}
    for path in sorted(base.rglob("*")):
        tree[str(path.relative_to(base))] = \
            path.read_text() if path.is_file() else None
    return done.rc != 0, tree


@pytest.mark.skipif(STOCK_SCP is None or not os.path.exists(STOCK),
                    reason="no stock scp")
@pytest.mark.parametrize("sources,target", PLACES)
@pytest.mark.parametrize("up", [True, False])
def test_same_place_as_stock(tmp_path, sources, target, up):
    wanted = outcome(STOCK_SCP, up, sources, target, tmp_path / "b")
    assert outcome(SCP, up, sources, target, tmp_path / "b") == wanted


@pytest.mark.skipif(not os.path.exists(STOCK), reason="no stock server")
@pytest.mark.parametrize("sources,target,status,files", OTHER)
@pytest.mark.parametrize("up", [True, False])
def test_other_place_than_stock(tmp_path, sources, target, status, files, up):
    base = tmp_path / "b"
    outcome(SCP, up, [], "", base)
    before = set(base.rglob("*"))
    failed, tree = outcome(SCP, up, sources, target, base)
    end = "far/" if up else "near/"
    new = {str(p.relative_to(base)) for p in set(base.rglob("*")) - before
           if p.is_file()}
    assert (failed, new) == (status != 0, {end + f for f in files})


# ---- hostile servers ---------------------------------------------------

LISTINGS = [
    # a link, and then a directory of the same name
    {b"src": [(b"a", LINK), (b"a", DIR)], b"a": [(b"f", FILE)]},
    {b"src": [(b"a", DIR), (b"a", LINK), (b"a", DIR)], b"a": [(b"f", FILE)]},
    # a link, and then a file of the same name, or of its part's
    {b"src": [(b"victim", LINK), (b"victim", FILE)]},
    {b"src": [(b".victim.hpnpart", LINK), (b"victim", FILE)]},
    {b"src": [(b"victim", FILE), (b".victim.hpnpart", LINK)]},
    {b"src": [(b"a", LINK), (b"a/f", FILE), (b"../f", FILE), (b"..", DIR),
              (b"/f", FILE)]},
]


@pytest.mark.parametrize("listing", LISTINGS)
@pytest.mark.parametrize("flags", [[], ["-p"], ["--in-place"], ["-Z"],
                                   ["--hard-links", "--sparse"]])
@pytest.mark.parametrize("links", [["--links"], []])
def test_hostile_links(tmp_path, listing, flags, links):
    """Nothing outside of the target is written, in two runs."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("precious")
    victim = outside if b"a" in listing else outside / "victim"
    runner = lying_server(tmp_path, victim, listing)
    (tmp_path / "top").mkdir()
    for _ in range(2):
        scp("-r", *flags, *links, "x:src", tmp_path / "top", server=runner)
        assert os.listdir(outside) == ["victim"]
        assert (outside / "victim").read_text() == "precious"
        assert sorted(os.listdir(tmp_path)) == ["outside", "server",
                                                "server.py", "top"]
