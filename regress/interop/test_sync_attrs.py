# SPDX-License-Identifier: ISC
"""hpnsync beside rsync: random trees with hard links, and with further
directories (--link-dest and its kin). What is told (-ii) and what is left are the same: names, bytes, modes,
times, and which names are one file.

HPN_STORIES=0-2000 tells those stories; HPN_STORIES=17 one of them."""

import os
import random
import shutil
import stat
import subprocess
import time

import pytest
from test_sync_rsync import OLD, RSYNC, copy, grow, told_stories

from harness import have, hpn, run

STOCK = "/usr/lib/openssh/sftp-server"
WAYS = ["here", "up", "down"] + (["stock"] if os.path.exists(STOCK) else [])

pytestmark = [
    pytest.mark.skipif(not RSYNC, reason="rsync is not installed"),
    pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                       reason="hpnsync is not built")]


def ends(way, tmp_path, source, target):
    """Arguments for a source and a target; a program in place of the connection
    starts the server."""
    if way == "here":
        return [source, target]
    shell = tmp_path / f"shell-{way}"
    server = STOCK if way == "stock" else hpn("sftp-server")
    shell.write_text(f"#!/bin/sh\nexec {server}\n")
    shell.chmod(0o755)
    return ["-e", shell, *([f"h:{source}", target] if way == "down" else
                           [source, f"h:{target}"])]


def state(top, times):
    """What is in a tree: of each name its kind, mode, time and content, and by
    which of the names before it the file was met, if it was. Symbolic links
    have no such, since ours are made anew."""
    out, met = [], {}
    for path in sorted([top, *top.rglob("*")]):
        st = path.lstat()
        kind = stat.S_IFMT(st.st_mode)
        name = str(path.relative_to(top))
        text = (os.readlink(path) if kind == stat.S_IFLNK else
                path.read_bytes() if kind == stat.S_IFREG else "")
        time = int(st.st_mtime) if st.st_mtime < OLD + 10**6 else "now"
        first = name
        # Links are made anew; the top's time is put back with the lock.
        if not times and (kind == stat.S_IFLNK or name == "t"):
            time = "any"
        if kind == stat.S_IFREG:
            first = met.setdefault((st.st_dev, st.st_ino), name)
        out.append((name, oct(st.st_mode), time, text, first))
    return out


def change(dice, top):
    """A tree as it may have been a day before."""
    for path in sorted(top.rglob("*"), reverse=True):
        what = dice.random()
        if path.is_symlink() or path.is_file():
            if what < 0.15:
                path.unlink()
            elif what < 0.3 and not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o200)
                path.write_text(dice.choice(["other", "one"]))
                os.utime(path, (OLD, OLD + 10 + dice.randint(0, 1)))
            elif what < 0.4 and not path.is_symlink():
                path.chmod(dice.choice([0o600, 0o444, 0o755]))
        elif what < 0.1:
            shutil.rmtree(path)
        elif what < 0.2:
            path.chmod(0o711)
        if path.is_dir() and not path.is_symlink():
            os.utime(path, (OLD, OLD + dice.randint(0, 2)))


def told(done):
    """Lines, without how a symbolic link came to be: ours are made anew."""
    return sorted(line.replace("<f", ">f", 1).replace("hL", "cL", 1)
                  for line in done.out.decode().splitlines()
                  if len(line) > 12 and line[11] == " " and
                  line[:1] in "<>ch.*" and line[1] in "fdL")


def dests_story(story, tmp_path, way):
    dice = random.Random(f"dests {story}")
    top = tmp_path / "1"
    top.mkdir()
    grow(dice, top / "s")
    days = []
    for day in range(dice.choice([1, 1, 2])):
        copy(top / "s", top / f"day{day}")
        change(dice, top / f"day{day}")
        days.append(f"day{day}")
    kind = dice.choice(["link", "link", "link", "compare", "copy"])
    # A stock server does not tell which names are one file, so what is the
    # same already is left alone.
    if kind == "link" and way != "stock" and dice.random() < 0.3:
        copy(top / days[0], top / "t")
        change(dice, top / "t")
    os.utime(top / "s", (OLD, OLD))
    words = [dice.choice(["-a", "-a", "-rlt", "-rlp"]),
             *dice.sample(["-c", "--delete", "-u"],
                          dice.choice([0, 0, 1]))]
    if way == "stock":
        words = [w for w in words if w != "-c"]
    words += [f"--{kind}-dest=" + (f"../{day}" if dice.random() < 0.7 else
                                   "{top}" + f"/{day}") for day in days]
    copy(top, tmp_path / "2")
    theirs, ours = ([w.replace("{top}", str(tmp_path / n)) for w in words]
                    for n in "12")
    dry = ["-n"] if dice.random() < 0.3 else []
    a = run([RSYNC, "-ii", *theirs, *dry, f"{top}/s/", f"{top}/t/"])
    b = run([hpn("sync"), "-ii", "--max-delete=9999", *ours, *dry,
             *ends(way, tmp_path, f"{tmp_path}/2/s/", f"{tmp_path}/2/t/")])
    assert (a.rc, b.rc) == (0, 0), (words, a, b)
    assert told(b) == told(a), (words, dry, a, b)
    if not dry:
        times = words[0] != "-rlp"
        assert (state(tmp_path / "2", times) ==
                state(tmp_path / "1", times)), words


@pytest.mark.parametrize("way", WAYS)
def test_dests(way, tmp_path):
    wanted = told_stories() if "HPN_STORIES" in os.environ else range(10)
    for story in wanted:
        top = tmp_path / str(story)
        top.mkdir()
        dests_story(f"{way}{story}", top, way)
        shutil.rmtree(top)


def tie(dice, top):
    """Some files become names of others."""
    files = [p for p in sorted(top.rglob("*"))
             if p.is_file() and not p.is_symlink()]
    for path in files:
        other = dice.choice(files)
        if dice.random() < 0.4 and other != path:
            path.unlink()
            path.hardlink_to(other)


def links_story(story, tmp_path, way):
    dice = random.Random(f"links {story}")
    top = tmp_path / "1"
    top.mkdir()
    grow(dice, top / "s")
    (top / "s/some").write_text("some")
    tie(dice, top / "s")
    if dice.random() < 0.7:
        copy(top / "s", top / "t")
        change(dice, top / "t")
    # Without -p it counts which name is the first, and rsync's is another.
    words = ["-H", "-a"]
    if dice.random() < 0.3:
        words.append("--delete")
    if dice.random() < 0.3:
        copy(top / "s", top / "day")
        change(dice, top / "day")
        words.append("--link-dest=../day")
    for path in top.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            os.utime(path, (OLD, OLD))
    copy(top, tmp_path / "2")
    a = run([RSYNC, *words, f"{top}/s/", f"{top}/t/"])
    b = run([hpn("sync"), "--max-delete=9999", *words,
             *ends(way, tmp_path, f"{tmp_path}/2/s/", f"{tmp_path}/2/t/")])
    assert (a.rc, b.rc) == (0, 0), (words, a, b)
    assert state(tmp_path / "2/s", True) == state(top / "s", True)
    assert state(tmp_path / "2/t", True) == state(top / "t", True), words
    again = run([hpn("sync"), "-ni", *words,
                 *ends(way, tmp_path, f"{tmp_path}/2/s/", f"{tmp_path}/2/t/")])
    if way != "stock":
        assert again.out == b"", (words, again)


@pytest.mark.parametrize("way", WAYS)
def test_hard_links(way, tmp_path):
    wanted = told_stories() if "HPN_STORIES" in os.environ else range(10)
    for story in wanted:
        top = tmp_path / str(story)
        top.mkdir()
        links_story(f"{way}{story}", top, way)
        shutil.rmtree(top)


@pytest.mark.skipif(not os.path.exists(STOCK), reason="no stock server")
def test_a_source_that_does_not_tell_of_links_is_refused(days):
    arguments = ends("stock", days, f"{days}/s/", f"{days}/t/")
    arguments[-2:] = [f"h:{days}/s/", f"{days}/t/"]
    done = run([hpn("sync"), "-aH", *arguments])
    assert done.rc == 4 and b"-H" in done.err, done
    assert not (days / "t/same").exists()


def test_a_further_name_of_a_file_that_is_there_sends_no_data(days):
    """The name that was there is the first one, though it is met later."""
    (days / "t").mkdir()
    copy(days / "s/same", days / "t/same")
    before = ino(days / "t/same")
    (days / "s/a").hardlink_to(days / "s/same")
    done = run([hpn("sync"), "-aHi", f"{days}/s/", f"{days}/t/"])
    assert done.rc == 0 and b"hf+++++++++ a => same" in done.out, done
    assert ino(days / "t/a") == ino(days / "t/same") == before


@pytest.fixture
def days(tmp_path):
    """A source, and the backup of the day before."""
    for name, text in {"same": "one", "d/same": "two", "new": "three"}.items():
        path = tmp_path / "s" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (OLD, OLD))
    copy(tmp_path / "s", tmp_path / "monday")
    (tmp_path / "monday/new").unlink()
    return tmp_path


def backup(days, way, dest, *options):
    return run([hpn("sync"), "-ai", *options, f"--link-dest={dest}",
                *ends(way, days, f"{days}/s/", f"{days}/tuesday/")])


def ino(path):
    return path.stat().st_ino


@pytest.mark.parametrize("way", WAYS)
def test_a_second_run_links_nothing_anew(days, way):
    assert backup(days, way, "../monday").rc == 0
    for name in "same", "d/same":
        assert ino(days / "tuesday" / name) == ino(days / "monday" / name)
    times = (days / "monday").stat().st_ctime_ns
    done = backup(days, way, "../monday")
    assert (done.rc, done.out) == (0, b""), done
    assert (days / "monday").stat().st_ctime_ns == times
    assert not list(days.rglob("*.hpn*"))


@pytest.mark.parametrize("way", WAYS)
def test_a_file_system_without_such_links_gets_copies(days, way):
    there = "/dev/shm"
    if not os.path.isdir(there) or (os.stat(there).st_dev ==
                                    os.stat(days).st_dev):
        pytest.skip("there is no second file system")
    other = f"{there}/hpn-{os.getpid()}-{way}"
    shutil.move(days / "monday", other)
    try:
        done = backup(days, way, other, "-ii")
        assert done.rc == 0, done
        assert (days / "tuesday/same").read_text() == "one"
        assert (days / "tuesday/d/same").stat().st_mtime == OLD
        assert ino(days / "tuesday/same") != ino(
            type(days)(other) / "same")
        assert b"cannot be made a hard link: copied" in done.err
        assert b"cf          same" in done.out
    finally:
        shutil.rmtree(other)
    assert not list(days.rglob("*.hpn*"))


@pytest.mark.parametrize("way", WAYS)
def test_no_link_leads_out_of_the_further_directory(days, way):
    """A name of the day before that is a link by now, to a directory with a
    file like the source's, is no such file."""
    outside = days / "outside"
    shutil.move(days / "monday/d", outside)
    (days / "monday/d").symlink_to(outside)
    assert backup(days, way, "../monday").rc == 0
    assert ino(days / "tuesday/d/same") != ino(outside / "same")


@pytest.mark.parametrize("way", WAYS)
def test_one_within_the_target_is_not_deleted(days, way):
    """Neither the directory nor its files are deleted; rsync deletes it before
    it could be used."""
    (days / "tuesday/in").mkdir(parents=True)
    shutil.move(days / "monday", days / "tuesday/in/monday")
    (days / "tuesday/other").write_text("x")
    done = backup(days, way, "in/monday", "--delete")
    assert done.rc == 0, done
    assert not (days / "tuesday/other").exists()
    assert ino(days / "tuesday/same") == ino(days / "tuesday/in/monday/same")
    assert (days / "tuesday/in/monday/d/same").read_text() == "two"


@pytest.mark.parametrize("way", WAYS)
def test_mkpath_makes_the_directories_of_the_target_only(days, way):
    """The same holds where the server keeps to the directory above both."""
    done = run([hpn("sync"), "-a", "--mkpath", "--fsync",
                "--link-dest=../../monday",
                *ends(way, days, f"{days}/s/", f"{days}/new/tuesday/")])
    assert done.rc == 0, done
    assert ino(days / "new/tuesday/same") == ino(days / "monday/same")
    assert sorted(p.name for p in days.iterdir() if p.is_dir()) == [
        "monday", "new", "s"]
    assert [p.name for p in (days / "new").iterdir()] == ["tuesday"]
    done = run([hpn("sync"), "-a", "--mkpath", "--link-dest=../monday",
                *ends(way, days, f"{days}/s/", f"{days}/wednesday/")])
    assert done.rc == 0, done
    assert sorted(p.name for p in days.iterdir() if p.is_dir()) == [
        "monday", "new", "s", "wednesday"]


def test_only_one_kind_of_further_directories(days):
    done = backup(days, "here", "../monday", "--copy-dest=../monday")
    assert done.rc == 1 and b"only one of" in done.err, done
    assert not (days / "tuesday").exists()


def test_one_that_is_not_there_is_told(days):
    done = backup(days, "here", "../sunday")
    assert done.rc == 0 and b"is not there" in done.err, done
    assert (days / "tuesday/d/same").read_text() == "two"


def test_a_killed_backup_leaves_the_day_before_as_it_was(tmp_path):
    """Whenever it is killed, the same command makes it whole: what the day
    before has is linked, and is not touched. HPN_KILLS=50 kills so often."""
    dice = random.Random(17)
    (tmp_path / "s").mkdir()
    for n in range(120):
        path = tmp_path / f"s/{n % 7}/{n}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(dice.randbytes(dice.choice([9, 5000, 300000])))
        os.utime(path, (OLD, OLD))
    kept = "-aH"
    try:
        os.setxattr(tmp_path / "s/0/0", "user.kept", b"1")
        kept = "-aHX"
    except OSError:
        pass
    (tmp_path / "s/0/again").hardlink_to(tmp_path / "s/1/1")
    copy(tmp_path / "s", tmp_path / "monday")
    for n in range(0, 120, 3):
        path = tmp_path / f"s/{n % 7}/{n}"
        path.write_bytes(dice.randbytes(5000))
        os.utime(path, (OLD + 5, OLD + 5))
    command = [hpn("sync"), kept, "--link-dest=../monday",
               *ends("up", tmp_path, f"{tmp_path}/s/", f"{tmp_path}/t/")]
    before = state(tmp_path / "monday", True)
    for _ in range(int(os.environ.get("HPN_KILLS", "6"))):
        shutil.rmtree(tmp_path / "t", ignore_errors=True)
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as one:
            time.sleep(dice.uniform(0, 0.15))
            one.kill()
        done = run(command)
        assert done.rc == 0, done
        assert state(tmp_path / "monday", True) == before
        made = [line for line in state(tmp_path / "t", True)
                if ".hpnpart" not in line[0]]
        assert made == state(tmp_path / "s", True)
        assert kept == "-aH" or os.getxattr(tmp_path / "t/0/0",
                                            "user.kept") == b"1"
        for path in (tmp_path / "monday").rglob("*"):
            other = tmp_path / "t" / path.relative_to(tmp_path / "monday")
            if path.is_file() and path.stat().st_mtime == (
                    other.stat().st_mtime):
                assert ino(path) == ino(other)
