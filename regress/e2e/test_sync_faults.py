# SPDX-License-Identifier: ISC
"""hpnsync where the disks fail: other file systems within a target, disks that
fill, become read-only or go away, at either end. Nothing is lost, there is a
clear word, and the next run ends right."""

import contextlib
import os
import re
import shutil
import subprocess

import pytest

from harness import clean_env, have, hpn, run, start, wait_for
from sync_ways import WAYS, arguments_of, ends, fill, mounts  # noqa: F401

SYNC, RSYNC = hpn("sync"), shutil.which("rsync")

pytestmark = [
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built"),
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")]


def content(top):
    return {str(p.relative_to(top)): p.read_bytes()
            for p in top.rglob("*") if p.is_file()}


def test_other_file_systems_in_the_target(ends, mounts, tmp_path):
    """What the source has is compared there, too, and nothing is deleted
    there."""
    source = fill(tmp_path / "from", {"m/f": 5, "m/in/g": 6, "h": 7})
    target = fill(tmp_path / "to", {"junk": 1, "gone/x": 1})
    mounts.make(target / "m")
    mounts.make(target / "gone/deep/m")
    fill(target, {"m/extra": 1, "m/old/x": 1, "gone/deep/m/x": 1})
    done = run([SYNC, "-ai", "--delete", *ends(f"{source}/", f"{target}/")])
    assert done.rc == 0, done
    have_now = content(target)
    assert content(source).items() <= have_now.items()
    assert set(have_now) - set(content(source)) == {
        "m/extra", "m/old/x", "gone/deep/m/x"}
    done = run([SYNC, "-ai", "--delete", *ends(f"{source}/", f"{target}/")])
    assert (done.rc, done.out) == (0, b""), done


def test_one_file_system_of_the_source(ends, mounts, tmp_path):
    """-x: of another one the source has the directory, but not what is in
    it."""
    source = fill(tmp_path / "from", {"h": 7})
    mounts.make(source / "d/m")
    fill(source, {"d/m/other": 5, "d/f": 3})
    done = run([SYNC, "-ax", *ends(f"{source}/", tmp_path / "to")])
    assert done.rc == 0, done
    assert set(content(tmp_path / "to")) == {"h", "d/f"}
    assert (tmp_path / "to/d/m").is_dir()
    done = run([SYNC, "-a", *ends(f"{source}/", tmp_path / "all")])
    assert done.rc == 0 and content(tmp_path / "all") == content(source), done


def test_full(ends, mounts, tmp_path):
    """A target without room: what fits is whole, nothing else is touched,
    and with room the next run ends right."""
    source = fill(tmp_path / "from", {"a": 1000, "big": 3 << 20, "z": 1000})
    target = mounts.make(tmp_path / "to")
    fill(target, {"big": 1000, "junk": 10})
    before = content(target)
    done = run([SYNC, "-a", "--delete", *ends(f"{source}/", f"{target}/")])
    assert done.rc == 11 and b"No space" in done.err, done
    after = content(target)
    assert after["big"] == before["big"] and after["junk"] == before["junk"]
    mounts.change(target, "size=9m")
    done = run([SYNC, "-a", "--delete", *ends(f"{source}/", f"{target}/")])
    assert done.rc == 0 and content(target) == content(source), done


def test_what_does_not_fit(ends, mounts, tmp_path):
    """A file that is larger than what is free is not begun, which is a full
    disk, too. No option is told that is not here."""
    source = fill(tmp_path / "from", {"a": 10, "big": 24 << 20, "z": 10})
    target = mounts.make(tmp_path / "to", "4m")
    done = run([SYNC, "-a", *ends(f"{source}/", f"{target}/")])
    assert done.rc == 11, done
    assert re.search(rb"big: does not fit: 24\.0MB are needed, and [0-9.]+MB "
                     rb"are free\n", done.err), done
    assert "big" not in content(target)
    mounts.change(target, "size=40m")
    done = run([SYNC, "-a", *ends(f"{source}/", f"{target}/")])
    assert done.rc == 0 and content(target) == content(source), done


@pytest.mark.parametrize("side", ["from", "to"])
def test_read_only(ends, mounts, tmp_path, side):
    """A side that is read-only: told, and nothing is lost."""
    top = mounts.make(tmp_path / side)
    source = fill(tmp_path / "from", {"a": 1000, "d/b": 1000})
    target = fill(tmp_path / "to", {"a": 900, "junk": 1})
    before = content(target)
    mounts.change(top, "ro")
    done = run([SYNC, "-a", "--remove-source-files",
                *ends(f"{source}/", f"{target}/")])
    # Of a stock server's failures nobody knows why.
    assert done.rc == 23, done
    for name in [b"a"] + [b"d"] * (side == "to"):
        assert name + b": Read-only" in done.err or \
            name + b": Failure" in done.err, done
    assert content(source) and (side == "from" or content(target) == before)
    mounts.change(top, "rw")
    done = run([SYNC, "-a", "--delete", *ends(f"{source}/", f"{target}/")])
    assert done.rc == 0 and content(target) == content(source), done


@pytest.mark.parametrize("side", ["from", "to"])
def test_read_only_meanwhile(ends, mounts, tmp_path, side):
    """A side that becomes read-only while files move: nothing of the source
    is gone that is not whole at the target, nothing is deleted after a
    failure, and the next run ends right."""
    top = mounts.make(tmp_path / side, "40m")
    source = fill(tmp_path / "from", {f"f{i:02}": 50000 for i in range(60)})
    target = fill(tmp_path / "to", {"f59": 900, "junk": 10})
    before = content(source)
    options = ["-a", "--delete", "--remove-source-files", "--break-lock"]
    process = start([SYNC, *options, "--bwlimit=2000",
                     *ends(f"{source}/", f"{target}/")])
    wait_for(lambda: (target / "f00").exists())
    # It is refused while a file is open for writing.
    wait_for(lambda: run(["mount", "-o", "remount,ro", top]).rc == 0)
    process.communicate(timeout=90)
    assert process.returncode in (23, 11, 0), process.returncode
    left, there = content(source), content(target)
    for name, data in before.items():
        assert left.get(name, data) == data
        assert name in left or there.get(name) == data, name
    if process.returncode:
        assert "junk" in there
    mounts.change(top, "rw")
    done = run([SYNC, "-a", *ends(f"{source}/", f"{target}/")])
    assert done.rc == 0, done
    assert content(target).items() >= before.items()


def test_full_in_place(ends, mounts, tmp_path):
    """--inplace --backup without room for the backup: the target is as it
    was."""
    source = fill(tmp_path / "from", {"big": 700 << 10})
    target = mounts.make(tmp_path / "to")
    fill(target, {"big": 600 << 10})
    before = content(target)
    done = run([SYNC, "-a", "--inplace", "--backup",
                *ends(f"{source}/", f"{target}/")])
    # Of a stock server's failures nobody knows why.
    assert done.rc in (11, 23) and b"backup: " in done.err, done
    assert content(target) == before
    mounts.change(target, "size=9m")
    done = run([SYNC, "-a", "--inplace", "--backup",
                *ends(f"{source}/", f"{target}/")])
    assert done.rc == 0, done
    assert content(target) == {**content(source), "big~": before["big"]}


def test_no_link_to_another_disk(ends, mounts, tmp_path):
    """--link-dest on a file system from which nothing can be linked: what is
    the same there is copied."""
    source = fill(tmp_path / "from", {"same": 9, "d/too": 400000, "new": 3})
    day = mounts.make(tmp_path / "day", "9m")
    run(["cp", "-a", source / "same", source / "d", day]).ok()
    done = run([SYNC, "-a", f"--link-dest={day}",
                *ends(f"{source}/", tmp_path / "to")])
    assert done.rc == 0, done
    assert content(tmp_path / "to") == content(source)
    assert parts(tmp_path / "to") == []


def parts(top):
    return sorted(p.name for p in top.rglob("*.hpnpart*"))


def test_parts_of_a_killed_run(ends, tmp_path):
    """The next run goes on with the parts that a killed one has left, and none
    is left behind."""
    source = fill(tmp_path / "from", {"a": 5, "d/b": 3 << 20})
    target = tmp_path / "to"
    target.mkdir()
    process = start([SYNC, "-a", "--bwlimit=1000",
                     *ends(f"{source}/", f"{target}/")])

    def enough():
        with contextlib.suppress(FileNotFoundError):  # it has got its name
            return sum(p.stat().st_size for p in
                       target.rglob("*.hpnpart")) > 600000

    assert wait_for(enough)
    process.kill()
    process.communicate()
    assert parts(target)
    done = run([SYNC, "-a", "--delete", *ends(f"{source}/", f"{target}/")])
    assert done.rc == 0 and b"left alone" not in done.err, done
    assert parts(target) == [] and content(target) == content(source)


def test_locks_go_when_a_run_is_refused(ends, tmp_path):
    """The second of two directories is another run's: the first one is not
    left locked."""
    for name in ("one", "two"):
        fill(tmp_path / name, {"f": 5})
        fill(tmp_path / "to" / name, {"f": 4})
    (tmp_path / "to/two/.hpnsync-lock").write_text("me on host\nabc\n")
    arguments = ends(tmp_path / "one", f"{tmp_path}/to/")
    second = str(arguments[-2])[:-3] + "two"
    done = run([SYNC, "-a", "--delete", *arguments[:-1], second,
                arguments[-1]])
    assert done.rc == 75 and b"me on host" in done.err, done
    assert not (tmp_path / "to/one/.hpnsync-lock").exists()


@pytest.mark.parametrize("place", ["from", "to"])
@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_false_locks(ends, tmp_path, place, kind):
    """A FIFO in the place of a lock is not waited for, and what a link leads
    to is not shown."""
    fill(tmp_path / "from", {"f": 5})
    fill(tmp_path / "to", {"f": 4})
    (tmp_path / "secret").write_text("do not show\n")
    lock = tmp_path / place / ".hpnsync-lock"
    if kind == "pipe":
        os.mkfifo(lock)
    else:
        lock.symlink_to(tmp_path / "secret")
    done = run([SYNC, "-rt", "--delete", *ends(f"{tmp_path}/from/",
                                               f"{tmp_path}/to/")])
    assert done.rc == (75 if place == "to" else 0), done
    assert b"do not show" not in done.err + done.out


def test_not_mounted(ends, mounts, tmp_path):
    """A source whose disk is not there empties no target, and one that comes
    back is compared as before."""
    source = mounts.make(tmp_path / "from")
    fill(source, {"a": 10, "b/c": 20})
    target = tmp_path / "to"
    arguments = ["-a", "--delete", *ends(f"{source}/", f"{target}/")]
    assert run([SYNC, *arguments]).rc == 0
    whole = content(target)
    mounts.leave(source)
    done = run([SYNC, *arguments])
    assert done.rc == 25 and content(target) == whole, done


@pytest.mark.parametrize("side", ["from", "to"])
def test_unmounted_meanwhile(ends, mounts, tmp_path, side):
    """A disk that is taken away while files are copied: nothing else is
    written or deleted in its place, and the next run ends right."""
    top = mounts.make(tmp_path / side, "40m")
    source = fill(tmp_path / "from", {f"f{i}": 100000 for i in range(40)})
    target = fill(tmp_path / "to", {"junk": 10})
    options = ["-a", "--delete", "--bwlimit=2000", "--break-lock"]
    process = start([SYNC, *options, *ends(f"{source}/", f"{target}/")])
    wait_for(lambda: (target / "f0").exists())
    kept = content(source) if side == "to" else None
    mounts.leave(top)
    process.communicate(timeout=90)
    assert process.returncode in (0, 23, 11), process.returncode
    assert list(top.iterdir()) == []
    if side == "to":
        assert content(source) == kept
    else:
        assert set(content(target)) >= {"f0", "junk"} or \
            process.returncode == 0
    fill(tmp_path / "from", {"f0": 5})
    done = run([SYNC, "-a", "--delete", "--max-delete=99", "--break-lock",
                *ends(f"{source}/", f"{target}/")])
    assert done.rc == 0 and content(source) == content(target), done


# A disk that has no hard links, as FAT.
NO_LINKS = """
#include <errno.h>

int linkat(int a, const char *from, int b, const char *to, int flags)
{
    (void)a, (void)from, (void)b, (void)to, (void)flags;
    errno = EPERM;
    return -1;
}

int link(const char *from, const char *to)
{
    return linkat(0, from, 0, to, 0);
}
"""


@pytest.mark.parametrize("name", [w for w in WAYS if w != "down-stock"])
@pytest.mark.parametrize("size", [1, 100000])
def test_disk_without_links(name, size, tmp_path):
    """-H copies each name of a set, also of links, and says so; a second run
    and one after a change leave all of them whole, too."""
    code, library = tmp_path / "no.c", tmp_path / "no.so"
    code.write_text(NO_LINKS)
    if subprocess.run(["cc", "-shared", "-fPIC", "-o", library, code],
                      capture_output=True, check=False).returncode != 0:
        pytest.skip("no compiler")
    source, target = fill(tmp_path / "from", {"a": size}), tmp_path / "to"
    (source / "d").mkdir()
    for path in ("b", "d/c"):
        os.link(source / "a", source / path)
    (source / "l").symlink_to("a")
    os.link(source / "l", source / "d/l", follow_symlinks=False)
    words = [SYNC, "-aH", *arguments_of(name, tmp_path / "shell")(
        f"{source}/", f"{target}/")]
    env = clean_env(LD_PRELOAD=library)
    for turn in range(3):
        done = run(words, env=env)
        assert done.rc == 0, done
        assert done.err.count(b"cannot be made a hard link: copied") == 1
        assert content(target) == content(source)
        assert os.readlink(target / "l") == os.readlink(target / "d/l") == "a"
        assert (target / "a").stat().st_nlink == 1
        if turn == 1:
            (source / "b").write_bytes(os.urandom(size + 1))
            os.utime(source / "b", (10**9 + 1, 10**9 + 1))
    assert not list(target.rglob(".*"))
    # Where there are links again, the set becomes one file.
    assert run(words).rc == 0
    assert content(target) == content(source)
    assert (target / "a").stat().st_nlink == 3
