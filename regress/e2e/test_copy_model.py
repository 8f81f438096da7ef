# SPDX-License-Identifier: ISC
"""Copies of random small trees onto random small trees, compared with a rule
(copy_model.py): what is there afterwards, byte for byte, name for name, mode
for mode; that sources are what they were; that nothing beside the target has
changed. Links of all kinds, hard links from one side to the other, the same
files by another way, parts that were left, files that nobody may write.

HPN_STORIES=100000 makes so many (or 500-900: those), HPN_SEED=n others. A
story that fails is made smaller and printed. What copies do otherwise today
than docs/TRANSFERS.md says is left out by the rule, with a comment each."""

import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
from copy import deepcopy
from pathlib import Path

import pytest

import harness
from copy_model import (Command, NoRule, build, close_again, expected, problems,
                        snapshot)
from harness import IS_ROOT, clean_env, have, hpn

OURS = hpn("sftp-server")
STOCK = "/usr/lib/openssh/sftp-server"
SEED = os.environ.get("HPN_SEED", "1")
STORIES = os.environ.get("HPN_STORIES", "2000")
OTHER_UID = 65534
FAILURES_MAX = 3

END_S = 60 + int(STORIES.rpartition("-")[2]) // 10  # of a user's, at most

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sftp-server"),
                                reason="hpnscp is not built")

NAMES = [b"a", b"b", b"f", b"d", b"e", b"g h", b"n\nl", b"*", b"[a]", b"?x",
         b"\xc3\xbc", b"\xff", b"-r", b".h", b"back\\slash", b"a'b\"c", b"~"]
SIZES = [0, 1, 5, 5, 5, 300, 4096, 70000]
FILE_MODES = [0o644, 0o644, 0o600, 0o400, 0o444, 0o755, 0o4755, 0o2755, 0o666,
              0o200]
DIR_MODES = [0o755, 0o755, 0o700, 0o775, 0o777, 0o555, 0o500]


# ---- stories --------------------------------------------------------------

class Story:
    """A world and a command, both by chance."""

    def __init__(self, number, as_root):
        self.number, self.as_root = number, as_root
        self.rng = random.Random(f"{SEED} {number}")
        self.files = 0
        self.steps, self.late = [], []
        self.names = self.rng.sample(NAMES, 5)
        self.make_out()
        self.command = self.make_command()
        self.source_names = []
        self.make_tree(b"src", 0)
        self.make_target()
        self.choose_names()
        self.steps += reversed(self.late)

    def content(self, size=None):
        """Each file has its own; some have holes."""
        self.files += 1
        size = self.rng.choice(SIZES) if size is None else size
        head = b"%d " % self.files
        body = (head + b"x" * size)[:size]
        if size >= 4096 and self.rng.random() < 0.5:
            body = head + b"\0" * (size - 2 * len(head)) + head
        return body

    def add_file(self, path, data=None):
        data = self.content() if data is None else data
        self.steps.append(("file", path, data))
        if self.rng.random() < 0.5:
            self.late.append(("mode", path, self.rng.choice(FILE_MODES)))
        if self.rng.random() < 0.2:
            self.late.append(("time", path, 10**18 + 5))
        if self.as_root and self.rng.random() < 0.1:
            self.late.append(("owner", path, 1234))

    def add_link(self, path):
        depth = path.count(b"/")
        up = b"../" * depth
        self.steps.append(("link", path, self.rng.choice(
            [b"nowhere", path.rsplit(b"/", 1)[-1], up + b"out/f",
             up + b"out/d", up + b"out/new", up + b"out/none/new", b"/none/x",
             self.top + b"/out/f", self.rng.choice(self.names),
             up + b"src/" + self.rng.choice(self.names)])))

    def make_out(self):
        self.top = b"@TOP@"
        self.steps += [("dir", b"out"), ("file", b"out/f", b"outside"),
                       ("dir", b"out/d"), ("file", b"out/d/f", b"outside 2"),
                       ("time", b"out/d", 10**18)]

    def make_tree(self, top, depth):
        self.steps.append(("dir", top))
        if depth and self.rng.random() < 0.3:
            self.late.append(("mode", top, self.rng.choice(DIR_MODES)))
        if self.rng.random() < 0.3:
            self.late.append(("time", top, 10**18 + 7 * depth))
        for name in self.rng.sample(self.names, self.rng.randint(1, 4)):
            path = top + b"/" + name
            self.make_one(path, depth)
            if top.startswith(b"src"):
                self.source_names.append(path)

    def make_one(self, path, depth):
        kind = self.rng.random()
        files = [s[1] for s in self.steps if s[0] == "file"]
        if kind < 0.42:
            self.add_file(path)
        elif kind < 0.60 and depth < 2:
            self.make_tree(path, depth + 1)
        elif kind < 0.76:
            self.add_link(path)
        elif kind < 0.88:
            self.steps.append(("hard", path, self.rng.choice(files)))
        elif kind < 0.93:
            self.add_part(path)
        else:
            self.steps.append(
                (self.rng.choice(["fifo", "sock", "char"]), path))

    def add_part(self, path):
        """Named as the part of a file that may be there."""
        top, name = path.rsplit(b"/", 1)
        self.add_file(path)
        self.add_file(top + b"/." + name + b".hpnpart")
        if top.startswith(b"src"):
            self.source_names.append(top + b"/." + name + b".hpnpart")

    def make_target(self):
        """For each source something may be there already."""
        rng = self.rng
        self.steps.append(("dir", b"dst"))
        if rng.random() < 0.1:
            return
        for source in self.source_names:
            path = b"dst" + source[3:]
            if rng.random() < 0.45:
                continue
            what = rng.random()
            data = [s[2] for s in self.steps if s[:2] == ("file", source)]
            if what < 0.25:
                self.add_file(path, data[0] if data and rng.random() < 0.4
                              else None)
            elif what < 0.40:
                self.steps.append(("hard", path, source))
            elif what < 0.50:
                self.steps.append(
                    ("link", path, b"../" * path.count(b"/") + source))
            elif what < 0.62:
                top, name = path.rsplit(b"/", 1)
                self.add_file(top + b"/." + name + b".hpnpart",
                              data[0][:-1] if data else None)
            elif what < 0.82 and ("dir", source) in self.steps:
                self.steps.append(("dir", path))
            elif what < 0.94:
                self.make_one(path, 2)
        if rng.random() < 0.1:
            self.late.append(("mode", b"dst", 0o555))

    def make_command(self):
        rng, half = self.rng, lambda p=0.5: self.rng.random() < p
        c = Command(rng.choice(["up", "up", "down", "down", "between"]), [],
                    b"", half() or not os.path.exists(STOCK),
                    recursive=half(0.8), preserve=half(0.4))
        if c.way != "between":
            c.resume, c.links = half(0.25), half(0.4)
            c.hard_links, c.sparse = half(0.25), half(0.2)
            c.in_place, c.verify = half(0.15), half(0.15)
            c.streams = rng.choice([0, 0, 0, 1, 4])
        return c

    def choose_names(self):
        rng, c = self.rng, self.command
        top = [p for p in self.source_names if p.count(b"/") == 1]
        some = rng.sample(top, rng.randint(1, min(3, len(top))))
        kind = rng.random()
        c.sources, c.target = some, b"dst"
        if kind < 0.2:
            c.sources = [b"src/."]
        elif kind < 0.3:
            c.sources, c.target = some, b"src"  # onto themselves
        elif kind < 0.4:
            c.sources, c.target = some[:1], b"dst/new"
        elif kind < 0.5:
            c.sources, c.target = some[:1], b"dst" + some[0][3:]
        elif kind < 0.55:
            c.target = b"dst/none/new"
        elif kind < 0.6:
            c.sources, c.target = some[:1], some[0]
        elif kind < 0.65:
            c.sources = some + rng.sample(self.source_names, 1)
        # By another way.
        if rng.random() < 0.1:
            c.target = b"@BIND@/" + c.target
        if rng.random() < 0.1:
            c.sources = [b"@BIND@/" + s for s in c.sources]
        if rng.random() < 0.1:
            c.target += b"/"

    def __str__(self):
        lines = [f"story {self.number} of HPN_SEED={SEED}, "
                 f"{'as root' if self.as_root else 'as a user'}"]
        lines += [f"    {step!r}"[:160] for step in self.steps]
        return "\n".join([*lines, f"    {self.command}"])


def escaped(path):
    """For a remote source, in which patterns match."""
    return b"".join(b"\\" + bytes([b]) if b in b"*?[\\" else bytes([b])
                    for b in path)


def argv_of(c):
    flags = [flag for flag, on in (
        ("-r", c.recursive), ("-p", c.preserve), ("-Z", c.resume),
        ("--links", c.links), ("--hard-links", c.hard_links),
        ("--sparse", c.sparse), ("--in-place", c.in_place),
        ("--verify", c.verify), (f"-j{c.streams}", c.streams)) if on]
    sources, target = list(c.sources), c.target
    if c.way in ("down", "between"):
        sources = [b"h:" + escaped(s) for s in sources]
    if c.way in ("up", "between"):
        target = b"h:" + target
    return [hpn("scp"), "-q", "-D", OURS if c.own else STOCK, *flags, "--",
            *sources, target]


# ---- a place for them -----------------------------------------------------

class Place:
    """Where worlds are made, one after the other, and, for root, a second way
    to it."""

    def __init__(self, directory, there=False):
        """There: another process has made it."""
        self.real = Path(directory) / "real"
        self.bind = Path(directory) / "bind"
        self.log = Path(directory) / "log"
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


def play(story, place):
    """What is wrong then, in words."""
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
    try:
        rc = expected(world, (real, bind), c, os.geteuid())
    except NoRule:
        return []
    status = execute(argv_of(c), place.log)
    have_now = snapshot(b".")
    found = problems(world, have_now)
    if rc is not None and status != rc:
        found.insert(0, f"exit status {status}, should be {rc}")
    elif status not in (0, 1):
        found.insert(0, f"exit status {status}")
    return found


def smaller(story, place, found):
    """Steps, options and sources are left out as long as something is wrong."""
    tries = 0
    options = [o for o in ("preserve", "resume", "links", "hard_links",
                           "sparse", "in_place", "verify", "streams")
               if getattr(story.command, o)]
    shorter = True
    while shorter and tries < 400:
        shorter = False
        for i in reversed(range(len(story.steps))):
            less = deepcopy(story)
            del less.steps[i]
            tries += 1
            if again := play(less, place):
                story, found, shorter = less, again, True
        for option in options:
            less = deepcopy(story)
            setattr(less.command, option, False)
            if getattr(story.command, option) and (again := play(less, place)):
                story, found, shorter = less, again, True
        for i in reversed(range(len(story.command.sources))):
            less = deepcopy(story)
            del less.command.sources[i]
            if less.command.sources and (again := play(less, place)):
                story, found, shorter = less, again, True
    return story, found


def play_all(numbers, place, as_root):
    """What failed, as a text."""
    failures = []
    for number in numbers:
        story = Story(number, as_root)
        if not (found := play(story, place)):
            continue
        story, found = smaller(story, place, found)
        play(story, place)
        said = place.log.read_text(errors="replace")
        failures.append("\n".join([
            str(story), "    " + repr(argv_of(story.command)), *found,
            "it said: " + said]))
        if len(failures) >= FAILURES_MAX:
            break
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

def numbers(odd):
    """Half of them."""
    first, _, last = STORIES.rpartition("-")
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
