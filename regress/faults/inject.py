# SPDX-License-Identifier: ISC
"""One copy with one call that fails, and what must be true of it then.

    rc 0      the target is the source, and no part is left
    rc not 0  something was said; a target has old or new content (with
              --in-place any); only parts are left beside it, and no empty ones
    always    the source is what it was, no process is left, no signal, an end
              within two minutes

Left out, since stock's programs hide the fault themselves, and no client can
know: a directory that stock's sftp-server cannot read to its end, and a name in
it whose attributes it cannot tell; and stock's scp -t that cannot look at its
target, and takes it for no directory. A copy without an end that stock's client
does not end either is noted apart (STOCK_WAITS): stock's scp -f that has
announced a file, and cannot look at it then, sends its message in place of
data. Injections that may do so are not in samples.
"""

import errno
import mmap
import os
import re
import shutil
import signal
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from faults import trees

# The order of shim.c, each with what may happen to a call. 0: short.
KINDS = {
    "open": "EIO EACCES EMFILE ENFILE EINTR ENOSPC",
    "read": "EIO EINTR ESTALE",
    "write": "ENOSPC EIO EDQUOT EFBIG 0",
    "fsync": "EIO ENOSPC EDQUOT",
    "close": "EIO ENOSPC EDQUOT",
    "rename": "EACCES EIO ENOSPC EPERM",
    "truncate": "EIO ENOSPC EPERM",
    "chmod": "EPERM EIO",
    "times": "EPERM EIO",
    "mkdir": "ENOSPC EACCES EMLINK",
    "link": "EPERM EMLINK EIO",
    "unlink": "EACCES EIO EBUSY",
    "stat": "EIO EACCES ESTALE",
    "list": "EIO EMFILE EACCES",
    "readdir": "EIO EBADF",
    "seek": "EIO EINVAL",
    "lock": "ENOLCK EIO",
    "malloc": "ENOMEM",
    "random": "ENOSYS EIO",
    "socket": "EMFILE ENFILE",
}
LIMIT_S = 120
STOCK_LIMIT_S = 20
STOCK_WAITS = "no end, as with stock's client"
PART = re.compile(r"^\.(.*)\.hpn(part[2-9]?|link)$", re.S)

# The flags, and which trees they are of use with.
FLAGS = {
    "": ["small", "mixed", "odd", "many", "one_big"],
    "-p": ["mixed", "odd"],
    "-Z": ["mixed", "one_big"],
    "-pZ": ["one_big", "small"],
    "-p --links --hard-links": ["odd"],
    "--sparse": ["odd", "one_big"],
    "--verify": ["mixed", "one_big"],
    "--in-place": ["mixed", "small", "odd"],
    "-j4": ["one_big", "many"],
    "-l 80000": ["small"],
}
FOR_ALL = ("", "-p", "-l 80000")  # -O, and between two hosts


@dataclass(frozen=True)
class Scene:
    way: str      # up, down, between, and by -O: rcp-up, rcp-down
    own: bool     # server
    victim: str   # client, server
    flags: str
    tree: str
    old: bool     # there are targets already

    def __str__(self):
        return " ".join([self.way, "own" if self.own else "stock",
                         self.victim, self.tree, "old" if self.old else "new",
                         self.flags]).strip()


@dataclass(frozen=True)
class Fault:
    kind: str
    n: int
    error: str
    onwards: bool

    def __str__(self):
        return f"{self.kind}:{self.n}:{self.error}" + ":on" * self.onwards

    def spec(self):
        number = getattr(errno, self.error, 0)
        return f"{self.kind}:{self.n}:{number}:" + "on" * self.onwards


def scenes():
    """All, in a fixed order."""
    for way in ("up", "down", "between", "rcp-up", "rcp-down"):
        for flags, names in FLAGS.items():
            if way in ("up", "down") or flags in FOR_ALL:
                for own in (True, False):
                    for i, victim in enumerate(("client", "server")):
                        for k, tree in enumerate(names):
                            yield Scene(way, own, victim, flags, tree,
                                        (i + k) % 2 == 1)


def faults_of(counts, turn, per_kind):
    """The faults of each kind that is called at all: the first, the last, and
    between. turn chooses the errors."""
    for kind, most in counts.items():
        if most == 0:
            continue
        some = {1 + i * (most - 1) // max(per_kind - 1, 1)
                for i in range(per_kind)}
        errors = KINDS[kind].split()
        for i, n in enumerate(sorted(some)):
            error = errors[(turn + i) % len(errors)]
            onwards = (turn + i) % 4 == 3 and error not in ("EINTR", "0")
            yield Fault(kind, n, error, onwards)


def is_hidden(scene, fault):
    """Left out altogether: see above."""
    return scene.way == "rcp-up" and not scene.own and \
        scene.victim == "server" and fault.kind == "stat" and fault.n == 1


def may_wait(scene, fault):
    return scene.way == "rcp-down" and not scene.own and \
        scene.victim == "server" and fault.kind == "stat"


class Place:
    """Where scenes are played: shim, programs, and a directory."""

    def __init__(self, directory, shim, programs, stock):
        """programs: of a build, by name; stock: sftp-server and scp."""
        self.top = Path(directory).resolve()
        self.shim, self.programs, self.stock = shim, programs, stock
        self.counts = self.top / "counts"
        self.world = self.top / "w"
        self.made = None
        self.ssh = self.top / "ssh"
        # What stands for ssh with -O: the command runs here.
        self.ssh.write_text('#!/bin/sh\nfor last; do :; done\n'
                            'exec /bin/sh -c "$last"\n')
        self.ssh.chmod(0o755)
        (self.top / "bin").mkdir()

    def prepare(self, scene):
        if self.world.exists():
            shutil.rmtree(self.world)
        source = self.world / "src"
        source.mkdir(parents=True)
        (self.world / "dst").mkdir()
        trees.TREES[scene.tree](source)
        if scene.way.startswith("rcp"):  # it has no way to say such a name
            (source / "n\nl").unlink(missing_ok=True)
        before = trees.entries(source)
        wanted = before if "--links" in scene.flags else \
            trees.followed(before, source)
        if scene.old:
            trees.make_old(self.world / "dst/src", wanted)
        return before, wanted, trees.entries(self.world / "dst")

    def argv(self, scene, client=None):
        legacy = scene.way.startswith("rcp")
        source, target = str(self.world / "src"), str(self.world / "dst")
        if not scene.way.endswith("up"):
            source = "h:" + source
        if not scene.way.endswith("down"):
            target = "h:" + target
        server = self.programs["hpnsftp-server"] if scene.own \
            else self.stock["sftp-server"]
        how = ["-O", "-S", self.ssh] if legacy else ["-D", server]
        return [client or self.programs["hpnscp"], *how, "-r",
                *scene.flags.split(), "--", source, target]

    def env(self, scene, fault):
        client, server = "hpnscp", "hpnsftp-server"
        path = os.environ.get("PATH", "/usr/bin:/bin")
        if scene.way.startswith("rcp"):
            # Our own far end is the same program by another name.
            link = self.top / "bin/scp"
            link.unlink(missing_ok=True)
            link.symlink_to(self.programs["hpnscp"] if scene.own
                            else self.stock["scp"])
            path, server = f"{link.parent}:{path}", "scp"
        elif not scene.own:
            server = "sftp-server"
        return {"PATH": path, "HOME": str(self.top), "LC_ALL": "C.UTF-8",
                "LD_PRELOAD": str(self.shim), "HPN_FAULT": fault.spec(),
                "HPN_FAULT_BELOW": str(self.world),
                "HPN_FAULT_COUNTS": str(self.counts),
                "HPN_FAULT_PROGRAM": client if scene.victim == "client"
                else server}

    def run(self, scene, fault, client=None, limit=LIMIT_S):
        """(exit status or None, what was said, processes left). None of them
        lives on, whatever ends this."""
        self.counts.write_bytes(bytes(4 * (len(KINDS) + 1)))
        process = subprocess.Popen(
            self.argv(scene, client), env=self.env(scene, fault),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, cwd=self.top, start_new_session=True)
        try:
            said = process.communicate(timeout=limit)[1]
            return process.returncode, said, not self.group_ends(process.pid)
        except subprocess.TimeoutExpired:
            self.end_group(process.pid)
            return None, process.communicate()[1], False
        except BaseException:
            self.end_group(process.pid)
            raise

    @staticmethod
    def end_group(group):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def stock_waits(self, scene, fault):
        """Has stock's client no end either? Only of flags that it knows, and
        of a server that is not ours."""
        if scene.own or scene.victim == "client" or scene.flags not in FOR_ALL:
            return False
        client = self.top / "stock-client"  # the fault is the server's only
        client.unlink(missing_ok=True)
        client.symlink_to(self.stock["scp"])
        self.prepare(scene)
        return self.run(scene, fault, client, STOCK_LIMIT_S)[0] is None

    @staticmethod
    def group_ends(group):
        """A server may take a moment longer than its client."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:  # they may be ours to wait for by now
                while os.waitpid(-group, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                pass
            try:
                os.killpg(group, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.005)
        Place.end_group(group)
        return False

    def counted(self):
        """Calls by kind, and how many failed."""
        with open(self.counts, "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
            numbers = struct.unpack(f"{len(KINDS) + 1}I", m[:])
        return dict(zip(KINDS, numbers)), numbers[-1]

    def count(self, scene):
        """How often each kind is called in a copy without a fault, which must
        be right."""
        none = Fault("open", 0, "EIO", False)
        problems, _ = self.play(scene, none)
        if problems:
            raise AssertionError(f"{scene}, without a fault: {problems}")
        return self.counted()[0]

    def play(self, scene, fault):
        """What is wrong, in words; and whether the call has failed at all."""
        before, wanted, old = self.prepare(scene)
        rc, said, left = self.run(scene, fault)
        text = said.decode(errors="replace")
        hit = self.counted()[1] > 0
        found = []
        if rc is None and self.stock_waits(scene, fault):
            return [STOCK_WAITS], hit
        if rc is None:
            return [f"no end in {LIMIT_S} s: {text[-300:]}"], hit
        if left:
            found.append("a process was left")
        if rc < 0 or rc > 128 and rc != 255:
            found.append(f"ended by signal {rc}")
        if rc != 0 and not said:
            found.append(f"rc {rc}, and nothing was said")
        if trees.entries(self.world / "src") != before:
            found.append("the source was changed")
        found += self.targets(scene, fault, rc, wanted, old)
        return [f"{f} (rc {rc}: {text[-300:]!r})" for f in found], hit

    def targets(self, scene, fault, rc, wanted, old):
        have = trees.entries(self.world / "dst")
        hides = not scene.own and scene.victim == "server" and \
            fault.kind in ("readdir", "stat") and \
            not scene.way.endswith("up")
        exact = bool({"-p", "-pZ"} & set(scene.flags.split()))
        in_place = "--in-place" in scene.flags or scene.way in (
            "between", "rcp-up", "rcp-down")
        for name, entry in wanted.items():
            there, was = (tree.get("src/" + name) for tree in (have, old))
            if there is None and was is not None:
                yield f"the old {name!r} is gone"
            elif rc == 0 and (there is None or there[:2] != entry[:2]):
                if not hides or there != was:
                    yield f"rc 0, but {name!r} is {brief(there)}"
            elif rc == 0 and exact and entry[0] == "file" and \
                    there[2:] != entry[2:]:
                yield f"rc 0, but {name!r} has {there[2:]}"
            elif there is not None and not in_place and \
                    there[:2] != entry[:2] and there != was and \
                    not (fault.kind == "stat" and there[1] == b""):
                yield f"{name!r} is {brief(there)}, neither old nor new"
        yield from self.leftovers(fault, rc, wanted, have, old)

    @staticmethod
    def leftovers(fault, rc, wanted, have, old):
        known = {"src/" + name for name in wanted} | set(old) | {"src"}
        for name in have.keys() - known:
            base = os.path.basename(name)
            part = PART.match(base)
            if not part:
                yield f"{name!r} was left"
            elif fault.kind in ("unlink", "malloc", "stat") or have[name][1] and \
                    rc != 0:
                continue
            else:
                yield f"a part was left: {name!r}, {brief(have[name])}"


def brief(entry):
    return "not there" if entry is None else \
        f"{entry[0]} of {len(entry[1])}"


