# SPDX-License-Identifier: ISC
"""Each of rsync's documented options for links, attributes and backups has a
scenario here, whose result is that of rsync; or hpnsync refuses the option by
its name. -A and -X have tests of their own."""

import os
import re
import shutil

import pytest
from test_sync_attrs import OLD, RSYNC, WAYS, ends, state

from harness import have, hpn, run

ROOT = os.geteuid() == 0
pytestmark = [
    pytest.mark.skipif(not RSYNC, reason="rsync is not installed"),
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built")]

# The words of a line, and where the result differs, why ("stock": what a stock
# server cannot do).
LINKS = ["-rl", "-rL", "-rtk", "-rlK", "-rlH", "-rlHt", "-rltJ", "-rlt",
         "-rl --no-l", "-rdl --links", "-rt --copy-links",
         "-rlt --copy-dirlinks", "-rlt --keep-dirlinks", "-rl --hard-links"]
ATTRIBUTES = ["-rp", "-rE", "-rt", "-rtO", "-rtp", "-rtE --executability",
              "-rptgo", "-rpto --numeric-ids", "-rp --chmod=Du=rwx,go=rx,F644",
              "-r --chmod=u+x", "-rt --chmod=go-w --perms", "-rD", "-a --no-D",
              "-a --no-p", "-a --no-t", "-a --omit-dir-times",
              "-a --omit-link-times", "-rt --modify-window=2", "-a --specials",
              "-a --no-devices", "-rto --chown=1:1", "-rtg --chown=:2"]
BACKUPS = ["-rtb", "-rtb --delete", "-rtb --suffix=.old",
           "-rtb --suffix=.old --delete", "-rt --backup-dir=old",
           "-rtb --backup-dir=old --delete", "-rt --backup --backup-dir=a/b",
           "-rtb --backup-dir=old --suffix=~", "-rtbc", "-rtbu",
           "-a --link-dest=../day", "-a --compare-dest=../day",
           "-a --copy-dest=../day", "-ab --backup-dir=old --link-dest=../day",
           "-a --remove-source-files", "-rt --inplace", "-rtS",
           "-rt --ignore-existing", "-rt --existing", "-rty --delete"]
# --compare-dest deletes nothing, and what --link-dest replaces is backed up.
MORE_STAYS = ["-a --compare-dest=../day",
              "-ab --backup-dir=old --link-dest=../day"]
REFUSED = ["--safe-links", "--copy-unsafe-links", "--munge-links", "-U",
           "--atimes", "-N", "--crtimes", "--fake-super", "--super",
           "--usermap=a:b", "--groupmap=a:b",
           "--partial-dir=x", "--delay-updates", "--preallocate",
           "--copy-devices", "--write-devices"]


def put(path, text, mode=0o644, when=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    os.utime(path, (OLD + when, OLD + when))


def grow(top):
    """A source, a target that was made of an older one, and a day before."""
    s, t, day = top / "s", top / "t", top / "day"
    put(s / "same", "same")
    put(s / "changed", "new words", 0o755, 5)
    put(s / "mode", "mode", 0o700)
    put(s / "time", "time", when=9)
    put(s / "dir" / "in", "in", 0o600)
    put(s / "new" / "one", "one", 0o640)
    put(s / "twin-a", "two names")
    os.link(s / "twin-a", s / "twin-b")
    os.symlink("same", s / "link")
    os.symlink("dir", s / "to-dir")
    os.symlink("nothing", s / "lost")
    with open(s / "holes", "wb") as out:
        out.seek(300000)
        out.write(b"end")
    os.utime(s / "holes", (OLD, OLD))
    put(t / "same", "same")
    put(t / "changed", "old", 0o640)
    put(t / "mode", "mode", 0o644)
    put(t / "time", "time")
    put(t / "gone", "goes with --delete")
    put(t / "dir" / "in", "in", 0o604)
    put(t / "dir" / "gone", "too")
    shutil.copytree(s, day, symlinks=True)
    put(day / "changed", "new words", 0o755, 5)
    (s / "dir").chmod(0o750)
    if ROOT:
        for path in (s / "same", s / "dir", t / "mode", s / "link"):
            os.chown(path, 7, 8, follow_symlinks=False)
    for path in [*top.rglob("*")]:
        if path.is_symlink() or path.is_dir():
            os.utime(path, (OLD, OLD + 3), follow_symlinks=False)
    return top


def owners(top):
    return [(p.lstat().st_uid, p.lstat().st_gid) for p in sorted(
        top.rglob("*"))]


def plain(items, words):
    """Without what docs/SYNC.md says is not as in rsync: directories that are
    made for backups are for their owner only, and the time of the target's top
    is put back with the lock."""
    text = " ".join(words)
    out = []
    for name, mode, when, content, first in items:
        if "backup-dir" in text and name in ("t/old", "t/old/dir", "t/a",
                                             "t/a/b"):
            mode = when = "any"
        if name == "t" and "b" in words[0] and "--delete" in words:
            when = "any"
        out.append((name, mode, when, content, first))
    return out


@pytest.mark.parametrize("line", LINKS + ATTRIBUTES + BACKUPS)
@pytest.mark.parametrize("way", WAYS)
def test_as_rsync(way, line, tmp_path):
    if way == "stock" and re.search("-rlH|hard-links|-dest|-rtbc", line):
        pytest.skip("a stock server does not tell which names are one file")
    if "--chown" in line and not ROOT:
        pytest.skip("owners are root's")
    theirs, ours = grow(tmp_path / "1"), grow(tmp_path / "2")
    words = line.split()
    if "K" in words[0] or "--keep-dirlinks" in words:
        for top in (theirs, ours):
            shutil.move(top / "t" / "dir", top / "t" / "real")
            os.symlink("real", top / "t" / "dir")
            os.utime(top / "t" / "dir", (OLD, OLD + 3), follow_symlinks=False)
    a = run([RSYNC, *words, f"{theirs}/s/", f"{theirs}/t/"])
    b = run([hpn("sync"), "--max-delete=99", *words,
             *ends(way, tmp_path, f"{ours}/s/", f"{ours}/t/")])
    # A link that leads to nothing: ours says that it is gone.
    links = "L" in words[0] or "--copy-links" in words
    assert (a.rc, b.rc) == ((23, 24) if links else (0, 0)), (a, b)
    times = "t" in words[0] or "a" in words[0]
    left, right = (plain(state(top, times), words) for top in (ours, theirs))
    if line in MORE_STAYS:
        assert set(right) <= set(left)
    else:
        assert left == right
        assert owners(ours) == owners(theirs)


@pytest.mark.parametrize("words", [["-Rlpt"], ["-Rt"], ["-aR"], ["-Rd"]])
@pytest.mark.parametrize("way", WAYS)
def test_relative_names(way, words, tmp_path):
    """-R of files makes the directories above them, without -r, too; those
    that are named are skipped then."""
    theirs, ours = grow(tmp_path / "1"), grow(tmp_path / "2")
    for top in (theirs, ours):
        (top / "s/dir/deep").mkdir(mode=0o711)
        put(top / "s/dir/deep/er", "er", 0o600)
        os.utime(top / "s/dir/deep", (OLD, OLD + 7))
        (top / "to").mkdir()
    names = ["same", "dir/deep/er", "new", "dir/in"]
    a = run([RSYNC, *words, *(f"{theirs}/./s/{n}" for n in names),
             f"{theirs}/to/"])
    arguments = ends(way, tmp_path, f"{ours}/./s/{names[0]}", f"{ours}/to/")
    more = [str(arguments[-2]).replace(names[0], n) for n in names[1:]]
    b = run([hpn("sync"), *words, *arguments[:-1], *more, arguments[-1]])
    assert (a.rc, b.rc) == (0, 0), (a, b)
    times = words != ["-Rd"]
    assert state(ours / "to", times) == state(theirs / "to", times)
    assert owners(ours / "to") == owners(theirs / "to")


@pytest.mark.parametrize("form", ["%%", "%%%n%%", "%n%%n", "%%%%i", "%o %l",
                                  "%5%|%n", "%", "%n%", "%-9n|%l"])
def test_formats(form, tmp_path):
    """A format may have many percent signs; widths are refused."""
    version = re.search(r"version (\d+)\.(\d+)", run([RSYNC, "-V"]).text)
    if "%%" in form and tuple(map(int, version.groups())) < (3, 5):
        pytest.skip("this rsync writes %% as it stands")
    theirs, ours = grow(tmp_path / "1"), grow(tmp_path / "2")
    a = run([RSYNC, "-rt", f"--out-format={form}", f"{theirs}/s/dir/",
             f"{theirs}/t/"])
    b = run([hpn("sync"), "-rt", f"--out-format={form}", f"{ours}/s/dir/",
             f"{ours}/t/"])
    if form in ("%5%|%n", "%", "%n%", "%-9n|%l"):
        assert b.rc == 1 and "--out-format" in b.errors, b
        return
    assert (a.rc, b.rc) == (0, 0), (a, b)
    assert (b.out.replace(b"/2/", b"/1/").splitlines() ==
            a.out.splitlines()), (a, b)


@pytest.mark.parametrize("option", REFUSED)
def test_is_refused_by_name(option, tmp_path):
    top = grow(tmp_path / "1")
    before = state(top, True)
    done = run([hpn("sync"), "-a", *option.split(), f"{top}/s/", f"{top}/t/"])
    assert done.rc not in (0, 23), done
    assert option.split("=")[0].split()[0] in done.errors, done
    assert state(top, True) == before
