# SPDX-License-Identifier: ISC
"""hpnsync: up, down and on this machine, with our server and with a stock one.
rsync is the judge of what is left to do."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import harness
from harness import LONG, have, hpn, run, start

SYNC, OURS = hpn("sync"), hpn("sftp-server")
STOCK = "/usr/lib/openssh/sftp-server"
SERVERS = {"hpn": OURS} | ({"stock": STOCK} if os.path.exists(STOCK) else {})
RSYNC = shutil.which("rsync")
FILTER = Path(__file__).with_name("sftp_filter.py")

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")


@pytest.fixture(params=[f"{way}-{server}" for way in ("up", "down")
                        for server in SERVERS] + ["here"])
def ends(request, tmp_path):
    """Makes the arguments for a source and a target of a way: a program in
    place of the connection starts the server, so nobody has to log in."""
    if request.param == "here":
        return lambda source, target: [source, target]
    way, server = request.param.split("-")
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\nexec {SERVERS[server]}\n")
    shell.chmod(0o755)

    def arguments(source, target):
        return ["-e", shell, *([source, f"h:{target}"] if way == "up" else
                               [f"h:{source}", target])]
    return arguments


def sync(ends, source, target, *options, **kw):
    return run([SYNC, *options, *ends(source, target)], **kw)


def make(top, files):
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.mkdir()
        else:
            path.write_text(text)
            os.utime(path, (10**9, 10**9))
    return top


def left_to_do(source, target, *options):
    """What rsync would still do, a line each."""
    if not RSYNC:
        pytest.skip("rsync is not installed")
    done = run([RSYNC, "-ani", *options, f"{source}/", f"{target}/"])
    assert done.rc == 0, done
    return done.out.decode().splitlines()


def names(top):
    return sorted(str(p.relative_to(top)) for p in top.rglob("*"))


@pytest.fixture
def source(tmp_path):
    top = make(tmp_path / "from", {"a/b/f": "one", "a/g": "two", "h": "three",
                                   "empty": None})
    (top / "link").symlink_to("a/g")
    (top / "a/g").chmod(0o640)
    os.utime(top / "a", (10**9 + 5, 10**9 + 5))
    return top


def test_reading_is_no_access(request, ends, tmp_path):
    """The source's times of the last access stay, also of a large file, with
    -c and in a list."""
    if "down-stock" in request.node.name:
        pytest.skip("a stock server does not know what it is read for")
    files = {"small": "s", "d/large": "l" * 300000}
    for turn, words in enumerate(([], ["-c"], ["-W", "--manifest=m"])):
        top = make(tmp_path / f"from{turn}", files)
        for name in files:
            os.utime(top / name, (10**9 - 9, 10**9))  # is due to be updated
        done = sync(ends, f"{top}/", tmp_path / f"to{turn}", "-a", *words,
                    cwd=tmp_path)
        assert done.rc == 0, done
        for name in files:
            assert (top / name).stat().st_atime == 10**9 - 9, (name, words)


def test_mirror(ends, source, tmp_path):
    """New, unchanged, changed and gone: afterwards both are the same."""
    target = tmp_path / "to"
    done = sync(ends, f"{source}/", target, "-ai", "--delete")
    assert done.rc == 0 and not done.err, done
    assert left_to_do(source, target, "--delete") == []
    done = sync(ends, f"{source}/", target, "-ai", "--delete")
    assert (done.rc, done.out) == (0, b""), done
    make(target, {"a/junk/one": "x", "a/b/two": "y"})
    make(source, {"a/new": "of now", "h": "longer than before"})
    done = sync(ends, f"{source}/", target, "-ai", "--delete")
    assert done.rc == 0 and not done.err, done
    assert left_to_do(source, target, "--delete") == []
    assert names(source) == names(target)


def test_dry_run_says_what_a_run_does(ends, source, tmp_path):
    """-n changes nothing, and tells the lines of the run. What the lock does
    to the time of the target's top is no difference."""
    target = make(tmp_path / "to", {"a/g": "old", "junk/x": "1", "h": "three",
                                    "junk/y": "2"})
    for top in source, target:
        os.utime(top, (10**9 + 6, 10**9 + 6))
    before = names(target)
    dry = sync(ends, f"{source}/", f"{target}/", "-ani", "--delete",
               "--max-delete=99")
    assert dry.rc == 0 and names(target) == before, dry
    wet = sync(ends, f"{source}/", f"{target}/", "-ai", "--delete",
               "--max-delete=99")
    assert sorted(dry.out.splitlines()) == sorted(wet.out.splitlines())
    assert b" ./\n" not in wet.out


def test_directory_or_what_is_in_it(ends, source, tmp_path):
    """A slash behind the source means what is in it."""
    target = tmp_path / "to"
    assert sync(ends, source, target, "-a").rc == 0
    assert left_to_do(source, target / "from") == []
    assert sync(ends, f"{source}/", tmp_path / "other", "-a").rc == 0
    assert left_to_do(source, tmp_path / "other") == []


def test_one_file_to_a_name(ends, source, tmp_path):
    """The target of one file may be a name that is not there."""
    assert sync(ends, source / "h", tmp_path / "named", "-a").rc == 0
    assert (tmp_path / "named").read_text() == "three"
    (tmp_path / "dir").mkdir()
    assert sync(ends, source / "h", tmp_path / "dir", "-a").rc == 0
    assert (tmp_path / "dir/h").read_text() == "three"


def test_more_than_half_is_not_deleted(ends, source, tmp_path):
    """A source that was thinned out, or whose disk is not mounted, does not
    empty its target: 25."""
    target = make(tmp_path / "to", {f"d/{i}": "x" for i in range(40)})
    done = sync(ends, f"{source}/", f"{target}/", "-a", "--delete")
    assert done.rc == 25 and len(list((target / "d").iterdir())) == 40, done
    assert b"--max-delete" in done.err
    (tmp_path / "nothing").mkdir()
    few = make(tmp_path / "few", {"one": "x"})
    done = sync(ends, f"{tmp_path}/nothing/", f"{few}/", "-a", "--delete")
    assert done.rc == 25 and names(few) == ["one"], done


@pytest.mark.skipif(not RSYNC, reason="rsync is not installed")
@pytest.mark.parametrize("rules", [[], ["P old"], ["P f"], ["- x"],
                                   ["P e/"]])
def test_empty_directories_are_deleted(ends, tmp_path, rules):
    """-m with --delete: what is empty at the source goes from the target, and
    nothing that stays is in it."""
    source, target = tmp_path / "from", tmp_path / "to"
    make(source, {"e/f": None, "g/h/x": "1", "i/j": None, "k/l": "3",
                  "m/n/o": None, "file": None})
    make(target, {"e/f": None, "g/h/x": "1", "i/one": "1", "e/old": "2",
                  "m/n/p/q": "4", "file": "5"})
    shutil.copytree(target, tmp_path / "other", symlinks=True)
    words = ["-rlpi", "-m", "--delete", *[f"--filter={r}" for r in rules]]
    theirs = run([RSYNC, *words, f"{source}/", f"{tmp_path}/other/"])
    for dry in ["-n"], []:
        done = sync(ends, f"{source}/", f"{target}/", *words, *dry,
                    "--max-delete=99")
        assert done.rc == 0, done
        assert (sorted(x[12:] for x in done.out.splitlines()) ==
                sorted(x[12:] for x in theirs.out.splitlines()
                       if not x.startswith(b"cannot"))), (dry, done, theirs)
    assert names(target) == names(tmp_path / "other")


@pytest.mark.skipif(not os.path.exists(STOCK), reason="no stock server")
@pytest.mark.parametrize("option, up", [
    ("--delete", True), ("--force", True), ("-x", False)])
def test_server_that_does_not_tell_what_is_mounted(option, up, tmp_path):
    """What is on another file system is never deleted, nor read with -x: where
    that cannot be known, the option is refused, and nothing is done."""
    make(tmp_path, {"from/f": "one", "to/old": "old"})
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\nexec {sys.executable} {FILTER} bare "
                     f"{STOCK} 2>/dev/null\n")
    shell.chmod(0o755)
    paths = [f"{tmp_path}/from/", f"{tmp_path}/to/"]
    paths[up] = f"h:{paths[up]}"
    done = run([SYNC, "-a", option, "-e", shell, *paths])
    assert done.rc == 4, done
    assert done.errors.startswith(
        f"hpnsync: {option}: the server has no statvfs@openssh.com"), done
    assert names(tmp_path / "to") == ["old"]


def test_max_delete_deletes_nothing(ends, source, tmp_path):
    """One more than --max-delete: none is deleted."""
    target = make(tmp_path / "to", {"x1": "", "x2": "", "x3": ""})
    done = sync(ends, f"{source}/", f"{target}/", "-a", "--delete",
                "--max-delete=2")
    assert done.rc == 25 and (target / "x1").exists(), done
    assert (target / "a/b/f").exists()
    done = sync(ends, f"{source}/", f"{target}/", "-a", "--delete",
                "--max-delete=3")
    assert done.rc == 0 and left_to_do(source, target, "--delete") == [], done


def test_what_cannot_be_read_keeps_the_target(ends, source, tmp_path):
    """A directory of the source that cannot be read: nothing is deleted, and
    the exit status is 23."""
    if os.geteuid() == 0:
        pytest.skip("root reads all")
    target = make(tmp_path / "to", {"a/b/keep": "x", "junk": "y"})
    (source / "a").chmod(0)
    done = sync(ends, f"{source}/", f"{target}/", "-a", "--delete")
    (source / "a").chmod(0o755)
    assert done.rc == 23 and (target / "junk").exists(), done


def test_excluded_names_stay(ends, source, tmp_path):
    """What a rule excludes is not copied, and not deleted."""
    target = make(tmp_path / "to", {"a/mine.o": "x", "junk": "y"})
    make(source, {"b.o": "object"})
    done = sync(ends, f"{source}/", f"{target}/", "-a", "--delete",
                "--exclude=*.o")
    assert done.rc == 0, done
    assert (target / "a/mine.o").exists() and not (target / "b.o").exists()
    assert not (target / "junk").exists()
    done = sync(ends, f"{source}/", f"{target}/", "-a", "--delete-excluded",
                "--exclude=*.o")
    assert done.rc == 0 and not (target / "a/mine.o").exists(), done


def test_backup(ends, source, tmp_path):
    """What is replaced or deleted goes to --backup-dir."""
    target = make(tmp_path / "to", {"h": "of before", "junk": "y"})
    done = sync(ends, f"{source}/", f"{target}/", "-a", "--delete",
                "--backup-dir=.old")
    assert done.rc == 0, done
    assert (target / ".old/h").read_text() == "of before"
    assert (target / ".old/junk").read_text() == "y"
    assert (target / "h").read_text() == "three"


def test_move(ends, source, tmp_path):
    """--remove-source-files leaves directories, and files that differ."""
    target = tmp_path / "to"
    done = sync(ends, f"{source}/", target, "-a", "--remove-source-files")
    assert done.rc == 0, done
    assert (target / "a/b/f").read_text() == "one"
    assert [p for p in source.rglob("*") if p.is_file() and
            not p.is_symlink()] == []


@pytest.mark.parametrize("option", ["--delete", "--remove-source-files"])
def test_onto_itself(ends, source, tmp_path, option):
    """One directory by two names is refused, and stays whole."""
    before = names(source)
    other = tmp_path / "other"
    other.symlink_to(source)
    done = sync(ends, f"{source}/", f"{other}/", "-a", option)
    assert done.rc == 3 and b"same directory" in done.err, done
    assert names(source) == before and (source / "h").read_text() == "three"


def test_lock(ends, source, tmp_path):
    """A second run that deletes is refused while there is a lock; --break-lock
    takes it."""
    target = make(tmp_path / "to", {"h": "x"})
    (target / ".hpnsync-lock").write_text("me on host, process 1\nabc\n")
    done = sync(ends, f"{source}/", f"{target}/", "-a", "--delete")
    assert done.rc == 75 and b"me on host" in done.err, done
    done = sync(ends, f"{source}/", f"{target}/", "-a", "--delete",
                "--break-lock")
    assert done.rc == 0 and not (target / ".hpnsync-lock").exists(), done


def test_links_and_directories_swap(ends, source, tmp_path):
    """A name of another kind is replaced; a directory goes only with
    --delete."""
    target = make(tmp_path / "to", {"h/inner": "x", "link/inner": "y",
                                    "a": "a file"})
    done = sync(ends, f"{source}/", f"{target}/", "-a")
    assert done.rc == 23 and (target / "h/inner").exists(), done
    assert (target / "a/b/f").read_text() == "one"
    done = sync(ends, f"{source}/", f"{target}/", "-a", "--delete",
                "--max-delete=99")
    assert done.rc == 0, done
    assert left_to_do(source, target, "--delete") == []


def test_read_only_target(ends, source, tmp_path):
    """A file that is write-protected is replaced, as rsync does."""
    target = make(tmp_path / "to", {"h": "old text"})
    (target / "h").chmod(0o444)
    done = sync(ends, f"{source}/", f"{target}/", "-a")
    assert done.rc == 0 and (target / "h").read_text() == "three", done
    assert stat.S_IMODE((target / "h").stat().st_mode) == \
        stat.S_IMODE((source / "h").stat().st_mode)


def test_checksum(ends, source, tmp_path):
    """-c sees what size and time do not, where the server has digests."""
    target = tmp_path / "to"
    assert sync(ends, f"{source}/", target, "-a").rc == 0
    (target / "h").write_text("THREE")
    os.utime(target / "h", (10**9, 10**9))
    assert sync(ends, f"{source}/", f"{target}/", "-a").rc == 0
    assert (target / "h").read_text() == "THREE"
    done = sync(ends, f"{source}/", f"{target}/", "-ac")
    assert (target / "h").read_text() == "three" or done.rc != 0, done


def test_rules_of_directories(ends, tmp_path):
    """-F reads .rsync-filter in each directory of a source, wherever that is;
    with --delete such rules also protect, as if the files were copied
    first."""
    source = make(tmp_path / "from", {"a/keep": "1", "a/junk": "2",
                                      "b/junk": "3", "a/b/c/junk": "4",
                                      "a/b/!": "5", "a/b/c/~": "6"})
    target = make(tmp_path / "to", {"a/junk": "old", "a/old": "x",
                                    "b/junk": "old", "a/b/c/junk": "old",
                                    "a/b/c/other": "y", "c/junk": "z"})
    make(source, {"a/.rsync-filter": "- /junk\n",
                  "a/b/.rsync-filter": "- c/j*\n",
                  "a/b/c/.rsync-filter": "P other\n"})
    shutil.copytree(target, tmp_path / "other")
    if RSYNC:
        run([RSYNC, "-aF", "--delete-after", f"{source}/",
             f"{tmp_path}/other/"])
    done = sync(ends, f"{source}/", f"{target}/", "-aF", "--delete",
                "--max-delete=9")
    assert done.rc == 0, done
    assert names(target) == [
        "a", "a/.rsync-filter", "a/b", "a/b/!", "a/b/.rsync-filter", "a/b/c",
        "a/b/c/.rsync-filter", "a/b/c/junk", "a/b/c/other", "a/b/c/~",
        "a/junk", "a/keep", "b", "b/junk"]
    assert (target / "a/junk").read_text() == "old"
    assert (target / "a/b/c/junk").read_text() == "old"
    assert (target / "b/junk").read_text() == "3"
    assert not RSYNC or names(target) == names(tmp_path / "other")


@pytest.mark.parametrize("kind", ["link", "secret", "long"])
def test_rules_that_are_not_known(ends, tmp_path, kind):
    """A directory with rules that cannot be read is left alone, and so is the
    rest of the target; nothing of the file's text is told."""
    source = make(tmp_path / "from", {"a/key": "1", "b/f": "2"})
    target = make(tmp_path / "to", {"a/old": "x", "b/old": "x"})
    secret = tmp_path / "secret"
    secret.write_text("password is hunter2\n")
    rules = source / "a/.rsync-filter"
    if kind == "link":
        rules.symlink_to(secret)
    else:
        rules.write_text(secret.read_text() if kind == "secret" else
                         "# x\n" * 300000)
    done = sync(ends, f"{source}/", f"{target}/", "-aF", "--delete",
                "--max-delete=9")
    assert done.rc == 23 and b".rsync-filter" in done.err, done
    assert b"hunter2" not in done.err + done.out
    assert names(target) == ["a", "a/old", "b", "b/f", "b/old"]


def test_rules_of_many_directories(ends, tmp_path):
    """More files of rules than can be asked for at once, also hidden ones, in
    two sources with rules of their own."""
    one, two, target = (tmp_path / x for x in ("one", "two", "to"))
    for i in range(300):
        make(one, {f"{i}/x": "", f"{i}/y": "", f"{i}/rules": "- x\n"})
        make(two, {f"{i}/x": "", f"{i}/z": "", f"{i}/rules": "- z\n"})
    words = ["-r", "--filter=- rules", "--filter=: rules"]
    assert sync(ends, f"{one}/", f"{target}/", *words).rc == 0
    assert names(target) == sorted(x for i in range(300) for x in (
        f"{i}", f"{i}/y"))
    done = run([SYNC, *words, f"{one}/", f"{two}/", f"{tmp_path}/both/"])
    assert done.rc == 0, done
    assert names(tmp_path / "both") == sorted(x for i in range(300) for x in (
        f"{i}", f"{i}/x", f"{i}/y"))


def test_a_source_that_a_rule_hides(ends, source, tmp_path):
    """A rule may hide the named directory itself; with a slash it has no
    name."""
    target = tmp_path / "to"
    for rule in "--exclude=from", "--exclude=/from/", "--filter=-! x":
        done = sync(ends, source, f"{target}/", "-a", rule)
        assert done.rc == 0 and not any(target.glob("*")), (rule, done)
    assert sync(ends, f"{source}/", f"{target}/", "-a",
                "--exclude=from").rc == 0
    assert (target / "h").exists()


@pytest.mark.parametrize("where", [["-b"], ["--backup-dir=kept"]])
def test_backup_of_a_file_that_a_directory_replaces(ends, tmp_path, where):
    source = make(tmp_path / "from", {"f/in": "1"})
    target = make(tmp_path / "to", {"f": "old text"})
    done = sync(ends, f"{source}/", f"{target}/", "-r", *where)
    assert done.rc == 0 and (target / "f/in").exists(), done
    kept = target / ("f~" if where == ["-b"] else "kept/f")
    assert kept.read_text() == "old text"


def test_levels_and_deletes(ends, tmp_path):
    """-d --delete takes all that is in a directory that goes, and nothing of
    one that stays; within --modify-window a time stays as it is."""
    source = make(tmp_path / "from", {"d/x": "1", "f": "2"})
    target = make(tmp_path / "to", {"d/y": "1", "f": "2", "gone/a/b": "3"})
    os.utime(source / "d", (10**9 + 1, 10**9 + 1))
    os.utime(target / "d", (10**9, 10**9))
    done = sync(ends, f"{source}/", f"{target}/", "-dpt", "--delete",
                "--modify-window=1", "--max-delete=9", "--chmod=D750")
    assert done.rc == 0, done
    assert names(target) == ["d", "d/y", "f"]
    assert (target / "d").stat().st_mtime == 10**9
    assert stat.S_IMODE((target / "d").stat().st_mode) == 0o750


def test_files_from(ends, source, tmp_path):
    """Only what the list names, with its directories."""
    wanted = tmp_path / "list"
    wanted.write_text("# a comment\na/g\nh\n")
    done = sync(ends, f"{source}/", tmp_path / "to", "-a",
                f"--files-from={wanted}")
    assert done.rc == 0, done
    assert names(tmp_path / "to") == ["a", "a/g", "h"]


def test_path_is_made(ends, source, tmp_path):
    """--mkpath makes the directories on the way; without it that fails."""
    deep = tmp_path / "x/y/z"
    done = sync(ends, f"{source}/", deep, "-a")
    assert done.rc == 11 and not (tmp_path / "x").exists(), done
    assert sync(ends, f"{source}/", deep, "-a", "--mkpath").rc == 0
    assert left_to_do(source, deep) == []


def test_directories_without_their_files(ends, source, tmp_path):
    """-d: what is in the source, one level of it."""
    done = sync(ends, f"{source}/", tmp_path / "to", "-dlt")
    assert done.rc == 0, done
    assert names(tmp_path / "to") == ["a", "empty", "h", "link"]
    done = sync(ends, source, f"{tmp_path}/to2/", "-dlt")
    assert done.rc == 0, done
    assert names(tmp_path / "to2") == ["from"]


def test_short_numbers(ends, source, tmp_path):
    """-h: sizes in --stats are short."""
    (source / "big").write_bytes(bytes(3000000))
    done = sync(ends, f"{source}/", tmp_path / "to", "-a", "--stats")
    assert b"file size: 3000" in done.out, done
    done = sync(ends, f"{source}/", tmp_path / "to2", "-ah", "--stats")
    assert b"MB\n" in done.out and b"file size: 3000" not in done.out, done


def test_missing_source(ends, source, tmp_path):
    """The others are copied: 23."""
    target = tmp_path / "to"
    target.mkdir()
    done = sync(ends, source / "gone", f"{target}/", "-a")
    assert done.rc == 23 and b"gone" in done.err, done


def test_log_and_formats(ends, source, tmp_path):
    """--out-format and --log-file write a line for each name."""
    log = tmp_path / "log"
    done = sync(ends, f"{source}/", tmp_path / "to", "-a",
                "--out-format=%o %n %l", f"--log-file={log}")
    assert done.rc == 0, done
    assert b" h 5\n" in done.out
    assert " >f+++++++++ h\n" in log.read_text() or \
        " <f+++++++++ h\n" in log.read_text()


def test_term(ends, tmp_path):
    """A batch system's SIGTERM: what is whole stays, the exit status is 75,
    and the same command goes on."""
    top = tmp_path / "from"
    top.mkdir()
    for i in range(30):
        (top / f"f{i}").write_bytes(os.urandom(200000))
    target = tmp_path / "to"
    process = start([SYNC, "-a", "--bwlimit=1000", *ends(f"{top}/", target)],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert harness.wait_for(lambda: target.exists() and any(
        p.name[0] == "f" for p in target.iterdir()))
    process.send_signal(signal.SIGTERM)
    assert process.wait(LONG) == 75
    process.communicate()
    done = sync(ends, f"{top}/", target, "-a")
    assert done.rc == 0 and left_to_do(top, target) == [], done


@pytest.mark.parametrize("signo, status", [(signal.SIGTERM, 75),
                                           (signal.SIGINT, 20)])
def test_term_without_an_answer(tmp_path, signo, status):
    """A host that says nothing keeps nobody."""
    dumb = tmp_path / "dumb"
    dumb.write_text("#!/bin/sh\ntouch \"$0.here\"\nexec sleep 300\n")
    dumb.chmod(0o755)
    (tmp_path / "from").mkdir()
    process = start([SYNC, "-a", "-e", dumb, f"{tmp_path}/from/", "h:to"],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert harness.wait_for((tmp_path / "dumb.here").exists)
        process.send_signal(signo)
        assert process.wait(LONG) == status
    finally:
        harness.kill_group(process)
        process.communicate()


@pytest.mark.parametrize("signo, status", [(signal.SIGTERM, 75),
                                           (signal.SIGINT, 20)])
def test_a_server_that_stops_answering(tmp_path, signo, status):
    """Amid the data: a second signal ends the run, whoever is waited for."""
    top, target = tmp_path / "from", tmp_path / "to"
    top.mkdir()
    (top / "f").write_bytes(os.urandom(2_000_000))
    process = start([SYNC, "-a", "--bwlimit=200", f"{top}/", target],
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert harness.wait_for(lambda: target.exists() and any(
            p.stat().st_size > 0 for p in target.iterdir()))
        servers = harness.children(process.pid)
        assert servers
        harness.signal_all(servers, signal.SIGSTOP)
        process.send_signal(signo)
        time.sleep(1)
        process.send_signal(signo)
        assert process.wait(LONG) == status
        assert not (target / "f").exists()
    finally:
        harness.kill_group(process)
        process.communicate()


def test_stop_after(ends, tmp_path):
    """It ends by itself, with 75, and the same command goes on."""
    top = tmp_path / "from"
    top.mkdir()
    for i in range(30):
        (top / f"f{i}").write_bytes(os.urandom(200000))
    target = tmp_path / "to"
    done = sync(ends, f"{top}/", target, "-a", "--bwlimit=500",
                "--stop-after=1s")
    assert done.rc == 75, done
    assert sum(p.name[0] == "f" for p in target.iterdir()) < 30
    done = sync(ends, f"{top}/", target, "-a")
    assert done.rc == 0 and left_to_do(top, target) == [], done


def test_empty_directories_are_left_out(ends, tmp_path):
    """-m: those that are empty, or are so by the rules, at any depth."""
    top = make(tmp_path / "from", {"a/b/f": "1", "c/d/g.o": "2", "e": None,
                                   "h/i": None, "h/j/k": "3"})
    done = sync(ends, f"{top}/", tmp_path / "to", "-am", "--exclude=*.o")
    assert done.rc == 0, done
    assert names(tmp_path / "to") == ["a", "a/b", "a/b/f", "h", "h/j",
                                      "h/j/k"]


@pytest.mark.parametrize("arguments,status,word", [
    (["-a", "--bogus", "a", "b"], 1, b"--bogus"),
    (["-a", "--delete-before", "a", "b"], 4, b"--delete"),
    (["-a", "--rsync-path=sudo rsync", "a", "b"], 4, b"--sftp-server"),
    (["-a", "rsync://host/x", "b"], 1, b"rsync"),
    (["-a", "host::x", "b"], 1, b"rsync"),
    (["-a", "x:a", "y:b"], 1, b"both"),
    (["-a", "a"], 1, b"usage"),
    (["--delete", "a", "b"], 1, b"-r"),
    (["-a", "--max-delete=x", "a", "b"], 1, b"--max-delete"),
    (["-aK", "--delete", "a", "b"], 4, b"-K"),
    (["-a", "--out-format=%z", "a", "b"], 1, b"--out-format"),
    (["-a", "--bwlimit=fast", "a", "b"], 1, b"--bwlimit"),
    (["-a", "--sftp-server=x", "a", "b"], 1, b"--sftp-server"),
    (["-a", "--remove-sent-files", "a", "b"], 4, b"--remove-source-files"),
    (["-a", "--files-from"], 1, b"needs a value"),
    (["-a", "--timeout=soon", "a", "b"], 1, b"--timeout"),
    (["-a", "--stop-after=never", "a", "b"], 1, b"--stop-after"),
    (["-a", "--chmod=zz", "a", "b"], 1, b"--chmod"),
    (["-a", "--json", "--progress=tty", "a", "b"], 1, b"only one"),
    (["-a", "-j", "many", "a", "b"], 1, b"-j"),
    (["-a", "--backup", "--suffix=/", "a", "b"], 1, b"--suffix"),
    (["-a", "--max-size=big", "a", "b"], 1, b"--max-size"),
    (["-a", "--info=everything", "a", "b"], 1, b"--info"),
    (["-a", "--filter=? x", "a", "b"], 1, b"--filter"),
    (["-a", "--link-dest=x", "--copy-dest=y", "a", "b"], 1, b"only one"),
    (["-a", "h:a", "i:b", "c"], 1, b"one host"),
    (["-a", "", "b"], 1, b"path"),
])
def test_bad_command_lines(arguments, status, word, tmp_path):
    """One clear line, and the right exit status."""
    done = run([SYNC, *arguments], cwd=tmp_path)
    assert done.rc == status and word in done.err, done


def test_backup_of_a_directory_below(ends, source, tmp_path):
    """With a source that keeps its name, --backup-dir is below the target."""
    target = make(tmp_path / "to", {"from/h": "of before"})
    done = sync(ends, source, f"{target}/", "-a", "--backup-dir=.old")
    assert done.rc == 0, done
    assert (target / ".old/from/h").read_text() == "of before"
    assert (target / "from/h").read_text() == "three"


def test_several_sources_by_links(ends, source, tmp_path):
    """Sources that are reached through links are what these lead to."""
    make(tmp_path / "deep/other", {"o": "of other", "a/g2": "two"})
    (tmp_path / "way").symlink_to(tmp_path / "deep")
    arguments = ends(tmp_path / "way/other", tmp_path / "to")
    more = str(arguments[-2]).replace("way/other", "from/")
    done = run([SYNC, "-a", *arguments[:-2], arguments[-2], more,
                arguments[-1]])
    assert done.rc == 0 and not done.err, done
    assert (tmp_path / "to/other/o").read_text() == "of other"
    assert left_to_do(source, tmp_path / "to") == []


@pytest.mark.parametrize("many", [5, 40, 61])
def test_contents_of_many_sources(ends, request, tmp_path, many):
    """The contents of many directories go to one; of too many none, if our
    server is to read them."""
    words = [ends(f"{make(tmp_path / f'd{i}', {f'f{i}': str(i), 'same': 'x'})}/",
                  f"{tmp_path}/to") for i in range(many)]
    done = run([SYNC, "-r", *words[0][:-2], *(w[-2] for w in words),
                words[0][-1]])
    if many > 60 and request.node.callspec.params["ends"] != "down-stock":
        assert done.rc == 4 and b"more than 60 sources" in done.err, done
        assert not (tmp_path / "to").exists()
        return
    assert (done.rc, done.err) == (0, b""), done
    assert sorted(os.listdir(tmp_path / "to")) == sorted(
        ["same", *(f"f{i}" for i in range(many))])


def test_more_sources_than_walks(ends, tmp_path):
    """A server has 64 walks of a session at a time."""
    tops = [make(tmp_path / f"d{i}", {"f": str(i)}) for i in range(70)]
    words = [ends(str(top), str(tmp_path / "to")) for top in tops]
    sources = [w[-2] for w in words]
    done = run([SYNC, "-r", *words[0][:-2], *sources, words[0][-1]])
    assert (done.rc, done.err) == (0, b""), done
    assert [(tmp_path / "to" / t.name / "f").read_text() for t in tops] == [
        str(i) for i in range(70)]
