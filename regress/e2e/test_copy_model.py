# SPDX-License-Identifier: ISC
"""Copies of random small trees onto random small trees by hpnscp (SFTP and
legacy protocol) and hpnsftp, compared with a rule (copy_model.py): what is
there afterwards, byte for byte, name for name, mode for mode; that sources are
what they were; that nothing beside the target has changed. Links of all kinds,
hard links from one side to the other, the same files by another way, parts that
were left, files that nobody may write.

HPN_STORIES=100000 makes so many (or 500-900: those), HPN_LOGIN_STORIES those of
them that log in to a server, HPN_SEED=n others. A story that fails is made
smaller and printed. What copies do otherwise today than docs/TRANSFERS.md says
is left out by the rule, for the reasons that it has (REASONS)."""

import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from copy import deepcopy
from pathlib import Path

import pytest

import harness
from copy_model import Copy, NoRule
from copy_model_legacy import Legacy
from copy_stories import HAVE_STOCK, OPTIONS, Here, Login, Story, argv_of
from copy_world import (build, close_again, failed_copies, problems,
                        snapshot)
from harness import IS_ROOT, clean_env, have

STORIES = os.environ.get("HPN_STORIES", "2000")
LOGIN_STORIES = os.environ.get("HPN_LOGIN_STORIES", "60")
OTHER_UID = 65534
FAILURES_MAX = 3
JUDGED_MIN = 0.85  # part of the stories that the rule says something of

END_S = 60 + int(STORIES.rpartition("-")[2]) // 10  # of a user's, at most

KINDS = {"scp": Copy, "sftp": Copy, "legacy": Legacy}

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp", "sftp-server"),
                                reason="hpnscp is not built")


# ---- a place for them -----------------------------------------------------

class Place:
    """Where worlds are made, one after the other, and, for root, a second way
    to it."""

    def __init__(self, directory, there=False):
        """There: another process has made it."""
        self.real = Path(directory) / "real"
        self.bind = Path(directory) / "bind"
        self.log = Path(directory) / "log"
        self.batch = self.real / "batch"
        self.way = Here(directory, make=not there)
        if there:
            self.bind = self.bind if self.bind.exists() else self.real
            return
        self.real.mkdir()
        if not IS_ROOT or harness.mount_problem() is not None:
            self.bind = self.real
        else:
            self.bind.mkdir()
            subprocess.run(["mount", "--bind", self.real, self.bind],
                           check=True)

    def close(self):
        if self.bind != self.real:
            subprocess.run(["umount", self.bind], check=True)

    def fresh(self):
        world = self.real / "w"
        if world.exists():
            remove(world)
        world.mkdir()
        os.chdir(world)
        return os.fsencode(world), os.fsencode(self.bind / "w")


def remove(world):
    for base, dirs, _ in os.walk(world):
        for name in dirs:
            path = os.path.join(base, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
    shutil.rmtree(world)


def execute(argv, log):
    """In the current directory; its exit status."""
    null = os.open("/dev/null", os.O_RDONLY)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    pid = os.posix_spawn(argv[0], argv, clean_env(), setpgroup=0,
                         file_actions=[(os.POSIX_SPAWN_DUP2, null, 0),
                                       (os.POSIX_SPAWN_DUP2, out, 1),
                                       (os.POSIX_SPAWN_DUP2, out, 2)])
    os.close(null)
    os.close(out)
    watch = os.pidfd_open(pid)
    ended = select.select([watch], [], [], 60)[0]
    os.close(watch)
    if not ended:
        os.killpg(pid, 9)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status if ended else "no end"


def tells_failure(log):
    said = log.read_bytes()
    return b"changed while it was being read" in said or \
        b"NOT THE SAME at both ends" in said


def play(story, place):
    """What is wrong then, in words. NoRule: nothing is expected."""
    real, bind = place.fresh()

    def put(value):
        if isinstance(value, bytes):
            return value.replace(b"@TOP@", real).replace(b"@BIND@", bind)
        return value
    build([tuple(put(v) for v in step) for step in story.steps])
    c = deepcopy(story.command)
    c.sources, c.target = [put(s) for s in c.sources], put(c.target)
    world = snapshot(b".")
    close_again(b".", world)
    place.way.adapt(c)
    argv = argv_of(c, place.way, place.batch)
    c.own = place.way.is_own(c)
    rc = KINDS[c.program](world, (real, bind), c, os.geteuid()).run()
    status = execute(argv, place.log)
    have_now = snapshot(b".")
    found = problems(world, have_now)
    if failed_copies(world, have_now) and (
            status == 0 or not tells_failure(place.log)):
        found.insert(0, f"exit status {status}: a failed copy is not told")
    if rc is not None and status != rc:
        found.insert(0, f"exit status {status}, should be {rc}")
    elif status not in (0, 1, 255):
        found.insert(0, f"exit status {status}")
    return found


def still_wrong(story, place):
    try:
        return play(story, place)
    except NoRule:
        return []


def smaller(story, place, found):
    """Steps, options and sources are left out as long as something is wrong."""
    tries = 0
    options = [o for o in OPTIONS if getattr(story.command, o)]
    shorter = True
    while shorter and tries < 400:
        shorter = False
        for i in reversed(range(len(story.steps))):
            less = deepcopy(story)
            del less.steps[i]
            tries += 1
            if again := still_wrong(less, place):
                story, found, shorter = less, again, True
        for option in options:
            less = deepcopy(story)
            setattr(less.command, option, False)
            if getattr(story.command, option) and (
                    again := still_wrong(less, place)):
                story, found, shorter = less, again, True
        for i in reversed(range(len(story.command.sources))):
            less = deepcopy(story)
            del less.command.sources[i]
            if less.command.sources and (
                    again := still_wrong(less, place)):
                story, found, shorter = less, again, True
    return story, found


def play_all(numbers, place, as_root):
    """What failed, as a text."""
    failures, unjudged = [], Counter()
    for number in numbers:
        story = Story(number, as_root)
        try:
            found = play(story, place)
        except NoRule as why:
            unjudged[str(why)] += 1
            continue
        if not found:
            continue
        story, found = smaller(story, place, found)
        still_wrong(story, place)
        said = place.log.read_text(errors="replace")
        argv = argv_of(story.command, place.way, place.batch)
        failures.append("\n".join([
            str(story), "    " + repr(argv), *found, "it said: " + said]))
        if len(failures) >= FAILURES_MAX:
            break
    else:
        if unjudged.total() > (1 - JUDGED_MIN) * len(numbers) + 10:
            failures.append(f"the rule says nothing of {dict(unjudged)}")
    return "\n\n".join(failures)


def as_another(uid, directory, numbers):
    """play_all() by another user, in a process of its own; its text."""
    code = ("import sys; sys.path[:0] = sys.argv[1:3]\n"
            "from test_copy_model import play_there\n"
            "play_there(*sys.argv[3:])")
    here = Path(__file__).parent
    run = subprocess.run(
        [sys.executable, "-c", code, here, here.parent, directory,
         f"{numbers.start}", f"{numbers.stop}", f"{numbers.step}"],
        user=uid, group=uid, extra_groups=[], capture_output=True, text=True,
        errors="surrogateescape", stdin=subprocess.DEVNULL, timeout=END_S)
    return run.stdout + run.stderr if run.returncode else ""


def play_there(directory, *some):
    """What that process does."""
    place = Place(directory, there=True)
    text = play_all(range(*map(int, some)), place, False)
    sys.stdout.buffer.write(os.fsencode(text))
    sys.exit(text != "")


# ---- the tests ------------------------------------------------------------

def numbers(odd, stories=STORIES):
    """Half of them."""
    first, _, last = stories.rpartition("-")
    first = int(first or 0)
    return range(first + (first + odd) % 2, int(last), 2)


@pytest.fixture
def place(request):
    """In memory, where there is such a file system: no disk is waited for."""
    memory = Path("/dev/shm")
    base = memory if os.access(memory, os.W_OK) else None
    directory = Path(tempfile.mkdtemp(prefix="hpnm", dir=base))
    directory.chmod(0o755)
    home = os.getcwd()
    made = Place(directory)
    yield made
    os.chdir(home)
    made.close()
    if (made.real / "w").exists():
        remove(made.real / "w")
    shutil.rmtree(directory)


def test_copies_of_a_user_follow_the_rule(place):
    some = numbers(1)
    if not IS_ROOT:
        assert not (text := play_all(some, place, False)), text
        return
    os.chown(place.real, OTHER_UID, OTHER_UID)
    place.log.write_text("")
    os.chown(place.log, OTHER_UID, OTHER_UID)
    text = as_another(OTHER_UID, place.real.parent, some)
    assert not text, text


@pytest.mark.skipif(not IS_ROOT, reason="owners and devices need root")
def test_copies_of_root_follow_the_rule(place):
    some = numbers(0)
    assert not (text := play_all(some, place, True)), text


@pytest.mark.skipif(not have("hpn", "sshd") or not HAVE_STOCK or
                    not have("stock", "sshd"), reason="needs both servers")
@pytest.mark.parametrize("odd", [0, 1])
def test_copies_over_connections_follow_the_rule(place, shared_servers, odd):
    world = os.fsencode(place.real / "w")
    place.way = Login(shared_servers("hpn"), shared_servers("stock"), world)
    some = numbers(odd, LOGIN_STORIES)
    assert not (text := play_all(some, place, IS_ROOT)), text
