# SPDX-License-Identifier: ISC
"""hpnsync in parts: --plan, --shard, --finish. Whatever becomes of the parts
(killed, repeated, two of one at once), the tree is as after one run.

HPN_SHARD_STORIES=N plays so many (the long form has 100)."""

import os
import random
import shutil
import signal
import subprocess
import time

import pytest
import sync_ways

import harness
from harness import LONG, clean_env, have, hpn, is_part, run

SYNC = hpn("sync")
STORIES = int(os.environ.get("HPN_SHARD_STORIES", "6"))
WAYS = [way for way in sync_ways.WAYS if not way.startswith("down")]

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")


def state(top):
    """All that a mirror keeps, by paths. Parts of what was killed are not of
    it: they stay, as after any run that was (docs/SYNC.md, "Parts")."""
    found, names = {}, {}
    for path in [top, *sorted(top.rglob("*"))]:
        if is_part(path.name):
            continue
        st = path.lstat()
        what = [oct(st.st_mode)]
        if path.is_symlink():
            what.append(os.readlink(path))
        elif path.is_file():
            what += [path.read_bytes(), st.st_mtime_ns]
            first = names.setdefault(st.st_ino, str(path.relative_to(top)))
            what.append(first)
        else:
            what.append(st.st_mtime_ns)
        found[str(path.relative_to(top))] = what
    return found


def grow(dice, top, depth=0):
    for i in range(dice.randrange(2, 7)):
        path = top / dice.choice([f"f{i}", f"with blank {i}", f"new\nline{i}",
                                  f"#{i}", f"-f{i}"])
        path.write_bytes(dice.randbytes(dice.choice(
            [0, 10, 1000, 70_000, 300_000])))
        path.chmod(dice.choice([0o644, 0o600, 0o755, 0o444]))
        os.utime(path, (10**9, 10**9 + dice.randrange(1000)))
        if dice.random() < 0.2:
            os.link(path, top / f"hard{i}")
    if dice.random() < 0.5:
        (top / "link").symlink_to(dice.choice(["f0", "nowhere", ".."]))
    for i in range(dice.randrange(0, 3) if depth < 3 else 0):
        (top / f"d{i}").mkdir()
        grow(dice, top / f"d{i}", depth + 1)


def finish(dice, top):
    """Modes and times of directories, from the bottom up."""
    for path in sorted(top.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            path.chmod(dice.choice([0o755, 0o700, 0o555]))
            os.utime(path, (10**9, 10**9 + dice.randrange(1000)))
    os.utime(top, (10**9, 10**9))


def age(dice, top):
    """What was there before: some of it is other, gone, or another kind."""
    for path in sorted(top.rglob("*"), reverse=True):
        if dice.random() < 0.6 or path.is_symlink():
            continue
        if path.is_dir():
            path.chmod(0o755)
            continue
        if not os.access(path.parent, os.W_OK):  # root may in any case
            path.parent.chmod(0o755)
        path.unlink()
        kind = dice.randrange(4)
        if kind == 0:
            path.mkdir()
            (path / "in the way").write_text("x")
        elif kind == 1:
            path.write_text("other")
    for i in range(4):
        (top / f"gone{i}").write_text("x")


def world(dice, tmp_path):
    """A source, a target, and what one run makes of the same target."""
    source, target, one = (tmp_path / n for n in ("from", "to", "one"))
    source.mkdir()
    grow(dice, source)
    finish(dice, source)
    if dice.random() < 0.7:
        run(["cp", "-a", source, target]).ok()
        age(dice, target)
        run(["cp", "-a", target, one]).ok()
    return source, target, one


OPTIONS = ["-aH", "--delete", "--force", "--max-delete=1000000"]


class Job:
    def __init__(self, tmp_path, arguments, shards, source, target,
                 options=OPTIONS):
        self.place, self.n = tmp_path / "job", shards
        self.planned = run([SYNC, *options, "--plan", self.place, "--shards",
                            shards, *arguments(f"{source}/", target)])

    def shard(self, i):
        return [SYNC, "--shard", f"{i}/{self.n}", "--job", self.place]

    def finish(self):
        return run([SYNC, "--finish", self.place])


def play(dice, job):
    """All shards, in some order; some are killed, and so come again, and some
    run twice at once."""
    todo, alive = list(range(1, job.n + 1)), []
    dice.shuffle(todo)
    done = set()
    while todo or alive:
        while todo and len(alive) < 3:
            i = todo.pop()
            n = 2 if dice.random() < 0.4 else 1
            alive += [(i, subprocess.Popen(
                list(map(str, job.shard(i))), env=clean_env(),
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                start_new_session=True)) for _ in range(n)]
        i, process = alive.pop(dice.randrange(len(alive)))
        if dice.random() < 0.35:
            time.sleep(dice.random() / 20)
            os.killpg(process.pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=LONG)
        if process.returncode == 0:
            done.add(i)
        else:
            assert process.returncode in (-signal.SIGKILL, 23), errors
        if i not in done and i not in todo and i not in [a for a, _ in alive]:
            if process.returncode == 23:
                done.add(i)
            else:
                todo.append(i)


@pytest.mark.parametrize("story", range(STORIES))
def test_stories(story, tmp_path):
    dice = random.Random(story)
    arguments = sync_ways.arguments_of(WAYS[story % len(WAYS)],
                                       tmp_path / "shell")
    source, target, one = world(dice, tmp_path)
    job = Job(tmp_path, arguments, dice.randrange(1, 6), source, target)
    assert job.planned.rc == 0, job.planned
    play(dice, job)
    assert job.finish().rc == 0
    assert run([SYNC, *OPTIONS, *arguments(f"{source}/", one)]).rc == 0
    assert state(target) == state(one)


# ---- what a job is -------------------------------------------------------

@pytest.fixture
def ends(tmp_path):
    return sync_ways.arguments_of("up-hpn", tmp_path / "shell")


@pytest.fixture
def small(tmp_path, ends):
    """A job of two shards, of files f0 to f9."""
    source = tmp_path / "from"
    source.mkdir()
    for i in range(10):
        (source / f"f{i}").write_bytes(bytes(1000 + i))
    (tmp_path / "to").mkdir()
    (tmp_path / "to/gone").write_text("x")
    return Job(tmp_path, ends, 2, source, tmp_path / "to")


def names_in(top):
    return sorted(p.name for p in top.iterdir())


def test_steps(small, tmp_path):
    """Nothing is copied by the plan, each shard copies its own, and only the
    end deletes, and it waits for all."""
    target = tmp_path / "to"
    assert small.planned.rc == 0, small.planned
    assert small.planned.text == "10 files, 10045 bytes, in 2 shards\n"
    assert names_in(target) == ["gone"]
    assert small.place.stat().st_mode & 0o7777 == 0o700
    assert names_in(small.place) == ["plan", "shard-0001", "shard-0002"]
    done = small.finish()
    assert done.rc == 75
    assert "shard 1/2 is not done" in done.errors
    assert "2 of 2 shards are not done: nothing was finished" in done.errors
    for i in (1, 2):
        run(small.shard(i)).ok()
        assert "gone" in names_in(target)
        names = (small.place / f"shard-000{i}").read_bytes().split(b"\0")
        assert len(names) == 6
        for name in names[:-1]:
            assert (target / os.fsdecode(name)).exists()
        assert len(names_in(target)) == 1 + 5 * i
    assert small.finish().ok().errors == ""
    assert names_in(target) == [f"f{i}" for i in range(10)]
    # All of it may be done again.
    run(small.shard(1)).ok()
    small.finish().ok()


def test_balance(tmp_path, ends):
    """By bytes: what is large first; small ones stay together."""
    source = tmp_path / "from"
    source.mkdir()
    sizes = [4_000_000, 3_000_000, 2_000_000, 2_000_000, 1_000_000]
    for i, size in enumerate(sizes):
        (source / f"large{i}").write_bytes(bytes(size))
    for i in range(90):
        (source / f"small{i:02}").write_bytes(bytes(1000))
    job = Job(tmp_path, ends, 3, source, tmp_path / "to")
    assert job.planned.rc == 0
    lists = [[os.fsdecode(n) for n in
              (job.place / f"shard-000{i}").read_bytes().split(b"\0")[:-1]]
             for i in (1, 2, 3)]
    assert sorted(sum(lists, [])) == names_in(source)
    took = [sum((source / n).stat().st_size + 100_000 for n in names)
            for names in lists]
    assert max(took) - min(took) < 1_500_000, took


def test_done_is_looked_at(small, tmp_path):
    """A mark of what nobody did harms nothing: the end compares all."""
    for i in (1, 2):
        run(small.shard(i)).ok()
    for path in (tmp_path / "to").iterdir():
        path.unlink()
    small.finish().ok()
    assert names_in(tmp_path / "to") == [f"f{i}" for i in range(10)]


def test_marks_of_another_plan(small, tmp_path, ends):
    """Marks of another plan do not count, nor does what is no mark."""
    for i in (1, 2):
        run(small.shard(i)).ok()
    marks = [(small.place / f"done-000{i}").read_bytes() for i in (1, 2)]
    shutil.rmtree(small.place)
    (tmp_path / "from/more").write_text("x")
    job = Job(tmp_path, ends, 2, tmp_path / "from", tmp_path / "to")
    for i, mark in enumerate(marks):
        (job.place / f"done-000{i + 1}").write_bytes(mark)
    assert job.finish().rc == 75
    (job.place / "done-0001").write_bytes(b"")
    (job.place / "done-0002").unlink()
    os.mkfifo(job.place / "done-0002")
    assert job.finish().rc == 75


def test_who_may_write(small, tmp_path):
    """What others could have changed is not run."""
    def refused(text, rc=3):
        for args in (small.shard(1), [SYNC, "--finish", small.place]):
            done = run(args)
            assert done.rc == rc and text in done.errors, done
    run(small.shard(1)).ok()
    run(small.shard(2)).ok()
    for mode in (0o720, 0o702):
        small.place.chmod(mode)
        refused("others than you can change it")
    small.place.chmod(0o700)
    plan = small.place / "plan"
    plan.chmod(0o620)
    refused("others than you can change it")
    plan.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(plan, 65534, -1)
        refused("others than you can change it")
        os.chown(plan, 0, -1)
        os.chown(small.place, 65534, -1)
        refused("others than you can change it")
        os.chown(small.place, 0, -1)
    text = plan.read_bytes()
    for at in (0, 5, 14, 20, 100, len(text) - 1):
        plan.write_bytes(text[:at] + bytes([text[at] ^ 1]) + text[at + 1:])
        refused("")
    for part in (b"", text[:31], text[:-1], text + b"x"):
        plan.write_bytes(part)
        refused("")
    plan.unlink()
    plan.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_bytes(text)
    refused("")
    plan.unlink()
    refused("No such file")
    plan.write_bytes(text)
    small.finish().ok()


def test_a_list_that_was_changed(small):
    names = small.place / "shard-0001"
    names.write_bytes(names.read_bytes() + b"../../etc/passwd\0")
    done = run(small.shard(1))
    assert done.rc == 3 and "is not the list" in done.errors
    names.unlink()
    assert run(small.shard(1)).rc == 3


def test_refused(small, tmp_path, ends):
    source, target = tmp_path / "from", tmp_path / "to"
    place = tmp_path / "other"

    def plan(*options, names=None):
        done = run([SYNC, "-a", "--plan", place, "--shards=2", *options, *(
            names or ends(f"{source}/", target))])
        assert done.rc in (1, 4), done
        assert not place.exists()
        return done.errors
    for option in (["-b"], ["--remove-source-files"], ["--inplace"], ["-n"],
                   ["--append-verify"], ["-I"], ["-R"], ["--no-t"],
                   ["--no-r"], ["--manifest=m"], ["--report=r"],
                   ["--link-dest=/x"], ["--files-from=/dev/null"],
                   ["--exclude-from=-"]):
        assert "is not here with --plan" in plan(*option), option
    assert "slash behind" in plan(names=ends(source, target))
    assert "slash behind" in plan(names=[
        *ends(f"{source}/", target)[:2], f"{source}/", f"{source}/",
        f"h:{target}"])
    assert "has to be on this one" in plan(names=[
        *ends(f"{source}/", target)[:2], f"h:{source}/", target])
    for option in ("--shards=0", "--shards=4097", "--shards=x", "--shard=1/2",
                   f"--finish={small.place}"):
        plan(option)
    for args, text in (
            (["--shard=0/2"], "is a number"), (["--shard=3/2"], "another num"),
            (["--shard=1/3"], "another number"), (["--shard=3"], "another"),
            (["--shard=1/"], "is a number"), (["--shard="], "is a number"),
            (["--shard=x/2"], "is a number"), (["--shard=1/x"], "is a num"),
            (["--shard=1/2", "-v"], "no other options"),
            (["--shard=1/2", "x"], "no other options")):
        done = run([SYNC, *args, "--job", small.place])
        assert done.rc == 1 and text in done.errors, done
    for args in (["--shard=1/2"], ["--job", small.place], ["--shards=2"],
                 ["--finish", small.place, "-v"]):
        assert run([SYNC, *args]).rc == 1
    # A plan never takes the place of something.
    again = run([SYNC, "-a", "--plan", small.place, "--shards=2",
                 *ends(f"{source}/", target)])
    assert again.rc == 11 and "File exists" in again.errors


def test_from_another_directory(tmp_path, ends):
    """Names are of the directory that the plan was made in; the job's own is
    of the one that the part is begun in, also when that begins again."""
    (tmp_path / "from").mkdir()
    (tmp_path / "from/f").write_text("x")
    (tmp_path / "work").mkdir()
    run([SYNC, "-a", "--plan=job", "--shards=1",
         *ends("from/", tmp_path / "to")], cwd=tmp_path).ok()
    run([SYNC, "--shard=1/1", "--job=../job"], cwd=tmp_path / "work").ok()
    assert (tmp_path / "to/f").read_text() == "x"
    run([SYNC, "--finish=../job"], cwd=tmp_path / "work").ok()


def test_ends_of_a_shard(small, tmp_path):
    """75: again; 23: single files have failed, and the end tells of them."""
    shell = tmp_path / "shell"
    text = shell.read_text()
    shell.write_text("#!/bin/sh\nexit 1\n")
    assert run(small.shard(1)).rc == 75
    assert small.finish().rc == 75
    shell.write_text(text)
    shutil.rmtree(tmp_path / "to")
    (tmp_path / "to/f3/x").mkdir(parents=True)
    (tmp_path / "from/f4").unlink()
    got = sorted(run(small.shard(i)).rc for i in (1, 2))
    assert got == [0, 23], got
    assert not (tmp_path / "to/f4").exists()
    done = small.finish()
    assert done.rc == 0, done
    assert (tmp_path / "to/f3").is_file()


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_closed_directories(tmp_path):
    """Directories that nobody may write to, of one who is not root: they are
    open until the end."""
    top = tmp_path / "nobody"
    top.mkdir()
    source = top / "from"
    (source / "d/e").mkdir(parents=True)
    for i in range(6):
        (source / f"d/e/f{i}").write_text("x" * i)
    (source / "d/e").chmod(0o555)
    (source / "d").chmod(0o555)
    sync_ways_top = tmp_path
    while sync_ways_top != sync_ways_top.parent:
        if not sync_ways_top.stat().st_mode & 0o001:
            sync_ways_top.chmod(0o711)
        sync_ways_top = sync_ways_top.parent
    run(["chown", "-R", "nobody", top]).ok()

    def sync(*args):
        return run([SYNC, *args], user="nobody", cwd=top)
    sync("-a", "--plan=job", "--shards=3", f"{source}/", f"{top}/to").ok()
    for i in (1, 2, 3, 2):
        sync(f"--shard={i}/3", "--job=job").ok()
    sync("--finish=job").ok()
    assert state(source) == state(top / "to")


def test_killed_plan(small, tmp_path, ends):
    """Without its last file a directory is no job."""
    (small.place / "plan").unlink()
    assert run(small.shard(1)).rc == 3
    # One that fails leaves nothing.
    place = tmp_path / "none"
    (tmp_path / "shell").write_text("#!/bin/sh\nexit 1\n")
    done = run([SYNC, "-a", "--plan", place, "--shards=2",
                *ends(f"{tmp_path}/from/", tmp_path / "to")])
    assert done.rc == 255 and not place.exists(), done


@pytest.mark.skipif(bool(harness.mount_problem()),
                    reason=str(harness.mount_problem()))
def test_plan_on_a_full_disk(tmp_path):
    """The line says which plan it is that could not be written."""
    (tmp_path / "from").mkdir()
    (tmp_path / "from/f").write_text("x")
    (tmp_path / "small").mkdir()
    done = run(["unshare", "-m", "sh", "-ec", "mount -t tmpfs -o size=4k none "
                "\"$1\" && echo old >\"$1/old\" && shift && \"$@\"", "sh",
                tmp_path / "small", SYNC, "-a", f"--plan={tmp_path}/small/job",
                "--shards=2", f"{tmp_path}/from/", tmp_path / "to"])
    assert done.rc == 11, done
    assert done.errors == f"hpnsync: {tmp_path}/small/job: the plan could " \
        "not be written: No space left on device\n", done
