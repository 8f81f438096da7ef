# SPDX-License-Identifier: ISC
"""hpnsync beside rsync with all that a backup keeps: -a -A -X -H -S and
--link-dest in random trees. What is left is the same: names, bytes, modes,
owners, times, extended attributes, ACLs, and which names are one file. A file
has as many blocks as rsync's, or fewer: rsync fills the holes of a file that it
copies from another day; one block more may be that of extended attributes. And
it is one of another day if rsync's is; rsync looks at the first name of a file
only.

HPN_STORIES=0-999 tells those stories; HPN_STORIES=17 one of them."""

import os
import random
import shutil
import stat
import struct

import pytest
from test_sync_rsync import OLD, RSYNC, told_stories

from harness import have, hpn, run
from sync_ways import arguments_of

WAYS = ["up-hpn", "down-hpn", "here"]
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
PAGE = 65536  # of data and of holes
ROOT = os.geteuid() == 0

pytestmark = [
    pytest.mark.skipif(not RSYNC, reason="rsync is not installed"),
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built")]


@pytest.fixture(autouse=True)
def attributes(tmp_path):
    """Skips where the file system has none."""
    try:
        os.setxattr(tmp_path, "user.t", b"1")
        os.removexattr(tmp_path, "user.t")
        os.setxattr(tmp_path, ACCESS, acl(random.Random(1)))
        os.removexattr(tmp_path, ACCESS)
    except OSError:
        pytest.skip("the file system has no extended attributes and ACLs")


# Only root changes attributes of what nobody may write.
MODES = [0o644, 0o600, 0o444 if ROOT else 0o640, 0o755]


def acl(dice):
    """An ACL as the kernel has it: of each entry tag, permissions, id."""
    none = 0xffffffff
    entries = [(1, 7, none), (2, dice.randrange(8), 12345),
               (4, dice.randrange(8), none), (16, dice.randrange(8), none),
               (32, dice.randrange(8), none)]
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", *e) for e in entries)


def decorate(dice, path):
    for _ in range(dice.choice([0, 0, 1, 3])):
        os.setxattr(path, f"user.{dice.choice('abc')}",
                    dice.randbytes(dice.choice([0, 3, 900])))
    if dice.random() < .3:
        os.setxattr(path, ACCESS, acl(dice))
    if path.is_dir() and dice.random() < .3:
        os.setxattr(path, DEFAULT, acl(dice))
    if ROOT and dice.random() < .2:
        os.setxattr(path, "trusted.t", dice.randbytes(2))
    if ROOT and dice.random() < .2:
        os.chown(path, dice.choice([0, 12345]), dice.choice([0, 54321]))


def fill(dice, path):
    """Text, or pages of data and holes."""
    if dice.random() < .7:
        path.write_bytes(dice.choice([
            b"", b"one", dice.randbytes(dice.randint(5000, 9000))]))
        return
    with path.open("wb") as out:
        pages = dice.randint(1, 8)
        for page in range(pages):
            if dice.random() < .5:
                out.seek(page * PAGE)
                out.write(dice.randbytes(PAGE))
        out.seek(pages * PAGE)
        out.write(dice.randbytes(dice.randrange(1, 999)))


def grow(dice, top, depth=0):
    top.mkdir()
    for name in dice.sample("abcdefgh", dice.randint(0 if depth else 2, 5)):
        path = top / name
        kind = dice.choice("ffffld" if depth < 2 else "fffl")
        if kind == "d":
            grow(dice, path, depth + 1)
        elif kind == "l":
            path.symlink_to(dice.choice(["a", "nowhere", "../b"]))
        else:
            fill(dice, path)
            path.chmod(dice.choice(MODES))
    if depth == 0:
        finish(dice, top)


def below(top):
    return sorted(top.rglob("*"))


def finish(dice, top):
    """Attributes, further names of some files, and times."""
    for path in below(top):
        if not path.is_symlink():
            decorate(dice, path)
    files = [p for p in below(top) if p.is_file() and not p.is_symlink()]
    for path in files:
        other = dice.choice(files)
        if dice.random() < .25 and other != path:
            path.unlink()
            path.hardlink_to(other)
    for path in [*reversed(below(top)), top]:
        os.utime(path, (OLD, OLD + dice.randint(0, 2)), follow_symlinks=False)


def copy(source, target):
    run([RSYNC, "-aAXHS", "--numeric-ids", f"{source}/", f"{target}/"]).ok()


def change(dice, top):
    """A tree as it may have been a day before. A name of several is made anew,
    so the others keep what they have."""
    for path in reversed(below(top)):
        what = dice.random()
        is_file = path.is_file() and not path.is_symlink()
        if what < .1 and not path.is_dir() or path.is_symlink() and what < .2:
            path.unlink()
        elif what < .25 and is_file:
            path.unlink()
            fill(dice, path)
        elif what < .45 and not path.is_symlink():
            decorate(dice, path)
        elif what < .5 and not path.is_symlink():
            path.chmod(dice.choice([0o700, 0o755]))
    for path in [*reversed(below(top)), top]:
        if dice.random() < .4:
            os.utime(path, (OLD, OLD + dice.randint(0, 3)),
                     follow_symlinks=False)


def state(top, days=()):
    """What is in a tree. Of a file, too, by which name before it was met, and
    whether it is one of other days."""
    out, met = [], {}
    before = {path.lstat().st_ino for day in days for path in below(day)}
    for path in [top, *below(top)]:
        st = path.lstat()
        kind = stat.S_IFMT(st.st_mode)
        name = str(path.relative_to(top))
        text = (os.readlink(path) if kind == stat.S_IFLNK else
                path.read_bytes() if kind == stat.S_IFREG else b"")
        one, blocks, copied = name, 0, False
        if kind == stat.S_IFREG:
            one = met.setdefault((st.st_dev, st.st_ino), name)
            blocks, copied = st.st_blocks, st.st_ino not in before
        xattrs = {n: os.getxattr(path, n, follow_symlinks=False)
                  for n in os.listxattr(path, follow_symlinks=False)}
        # Links are made anew; the top's time is put back with the lock.
        time = 0 if kind == stat.S_IFLNK or path == top else st.st_mtime_ns
        out.append((name, oct(st.st_mode), st.st_uid, st.st_gid, time, text,
                    one, blocks, sorted(xattrs.items()), copied))
    return out


def differs(ours, theirs):
    """What to show: without the content."""
    fields = ["name", "mode", "uid", "gid", "time", "text", "one", "blocks",
              "xattrs", "copied"]
    a, b = ({line[0]: line for line in lines} for lines in (ours, theirs))
    return [(name, field, str(x)[:99], str(y)[:99])
            for name in sorted({*a, *b})
            for field, x, y in zip(fields, a.get(name, [-1] * 10),
                                   b.get(name, [-1] * 10))
            if (x > y + 8 if field == "blocks" else
                x > y if field == "copied" else x != y)]


def tell(story, top, way):
    dice = random.Random(f"all {story}")
    one, two = top / "1", top / "2"
    one.mkdir()
    grow(dice, one / "s")
    days = []
    for day in range(dice.choice([0, 1, 1, 2])):
        copy(one / "s", one / f"day{day}")
        change(dice, one / f"day{day}")
        days.append(f"day{day}")
    if dice.random() < .5:
        copy(one / "s", one / "t")
        change(dice, one / "t")
    words = ["-aAXHS", *(f"--link-dest=../{day}" for day in days)]
    words += dice.choice([[], ["--delete"], ["-c"], ["--no-S"],
                          ["--no-H", "--delete"]])
    run(["cp", "-a", one, two]).ok()
    a = run([RSYNC, *words, f"{one}/s/", f"{one}/t/"])
    b = run([hpn("sync"), "--max-delete=9999", *words,
             *arguments_of(way, top / "shell")(f"{two}/s/", f"{two}/t/")])
    assert (a.rc, b.rc, b.err) == (0, 0, b""), (story, words, a, b)
    ours, theirs = (state(n / "t", [n / day for day in days])
                    for n in (two, one))
    found = differs(ours, theirs)
    if found:
        raise AssertionError((story, words, found))
    assert state(two / "s") == state(one / "s"), (story, words)
    again = run([hpn("sync"), "-ni", *words, *arguments_of(
        way, top / "shell")(f"{two}/s/", f"{two}/t/")])
    assert (again.rc, again.out) == (0, b""), (story, words, again)


@pytest.mark.parametrize("way", WAYS)
def test_all_that_a_backup_keeps(way, tmp_path):
    wanted = told_stories() if "HPN_STORIES" in os.environ else range(6)
    failed = []
    for story in wanted:
        top = tmp_path / str(story)
        top.mkdir()
        try:
            tell(f"{way} {story}", top, way)
        except AssertionError as e:
            failed.append(str(e)[:1500])
        shutil.rmtree(top)
    assert not failed, (len(failed), "\n".join(failed[:20]))
