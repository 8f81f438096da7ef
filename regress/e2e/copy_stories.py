# SPDX-License-Identifier: ISC
"""Stories for copy_model.py: a world and a command, both by chance, and how a
command is said to the programs."""

import os
import random
from pathlib import Path

from copies import OURS, SCP, SFTP, STOCK, ssh_here
from copy_model import PATTERNS, Command
from harness import ME, Client, stock

STOCK_SCP = stock("scp")
HAVE_STOCK = os.path.exists(STOCK) and STOCK_SCP is not None
SEED = os.environ.get("HPN_SEED", "1")

NAMES = [b"a", b"b", b"f", b"d", b"e", b"g h", b"n\nl", b"*", b"[a]", b"?x",
         b"\xc3\xbc", b"\xff", b"-r", b".h", b"back\\slash", b"a'b\"c", b"~"]
SIZES = [0, 1, 5, 5, 5, 300, 4096, 70000]
FILE_MODES = [0o644, 0o644, 0o600, 0o400, 0o444, 0o755, 0o4755, 0o2755, 0o666,
              0o200]
DIR_MODES = [0o755, 0o755, 0o700, 0o775, 0o777, 0o555, 0o500] * 3 + [
    0o600, 0o300]
OPTIONS = ("preserve", "resume", "links", "hard_links", "sparse", "in_place",
           "verify", "streams", "words")


# ---- stories --------------------------------------------------------------

class Story:
    """A world and a command, both by chance."""

    def __init__(self, number, as_root):
        self.number, self.as_root = number, as_root
        self.rng = random.Random(f"{SEED} {number}")
        self.files = 0
        self.steps, self.late = [], []
        self.make_out()
        self.command = self.make_command()
        self.names = self.rng.sample(
            [n for n in NAMES if b"\n" not in n or
             self.command.program == "scp"], 5)
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
        program = rng.choice(["scp"] * 5 + ["sftp"] * 3 + ["legacy"] * 2)
        ways = ["up", "up", "down", "down"]
        c = Command(rng.choice(ways + ["between"] * (program != "sftp")), [],
                    b"", half() or not HAVE_STOCK, program,
                    recursive=half(0.8), preserve=half(0.4))
        if program == "sftp":
            c.resume, c.words = half(0.4), rng.randrange(64)
            c.pattern, c.no_target = half(0.25), half(0.1)
        elif program == "legacy":
            c.resume = half() and c.own and c.way != "between"
        elif c.way != "between":
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
        if c.program == "sftp":
            del c.sources[1:]
        if c.pattern:
            c.sources = [b"src/" + rng.choice([*PATTERNS])]
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


# ---- how a command is said ------------------------------------------------

def escaped(path, special=b"*?[\\"):
    return b"".join(b"\\" + bytes([b]) if b in special else bytes([b])
                    for b in path)


def word(path):
    """For a shell, and for hpnsftp."""
    return escaped(path, b"*?[]\\ '\"~#$`&|;<>(){}!")


class Here:
    """The far side is a program that is run here, in the same directory."""
    host, first_line = b"h", b""

    def __init__(self, directory, make):
        self.dir = Path(directory)
        for name, scp in (("own", SCP), ("stock", STOCK_SCP)):
            if make and scp:
                (self.dir / name).mkdir()
                for program in ("scp", "hpnscp"):
                    (self.dir / name / program).symlink_to(scp)
                ssh_here(self.dir / f"ssh-{name}", self.dir / name)

    def adapt(self, c):
        """Leaves out what there is not."""

    def is_own(self, c):
        """Is the far end's program ours?"""
        return c.own

    def far(self, path):
        return path

    def options(self, c):
        if c.program == "legacy":
            return ["-S", self.dir / f"ssh-{'own' if c.own else 'stock'}"]
        return ["-D", OURS if c.own else STOCK]

    def sftp_host(self, c):
        return []


class Login:
    """The far side is a session of a server, whose directory is another."""
    host = os.fsencode(f"{ME}@127.0.0.1")

    def __init__(self, own, stock_server, top):
        self.clients = {True: Client("hpn", own),
                        False: Client("hpn", stock_server)}
        self.top = top
        self.first_line = b"cd " + word(top) + b"\n"

    def adapt(self, c):
        if c.program == "legacy":  # the far end runs the installed scp
            c.resume = False

    def is_own(self, c):
        return c.own and c.program != "legacy"

    def far(self, path):
        return path if path.startswith(b"/") else self.top + b"/" + path

    def options(self, c):
        client = self.clients[c.own]
        return [*client.options(), "-P", str(client.server.port)]

    def sftp_host(self, c):
        return [self.host]


def scp_argv(c, way):
    flags = [flag for flag, on in (
        ("-O", c.program == "legacy"),
        ("-r", c.recursive), ("-p", c.preserve), ("-Z", c.resume),
        ("--links", c.links), ("--hard-links", c.hard_links),
        ("--sparse", c.sparse), ("--in-place", c.in_place),
        ("--verify", c.verify), (f"-j{c.streams}", c.streams)) if on]
    sources, target = list(c.sources), c.target
    quote = word if c.program == "legacy" else escaped
    if c.way in ("down", "between"):
        sources = [way.host + b":" + quote(way.far(s)) for s in sources]
    if c.way in ("up", "between"):
        target = way.far(target)
        target = word(target) if c.program == "legacy" else target
        target = way.host + b":" + target
    return [SCP, "-q", *way.options(c), *flags, "--", *sources, target]


def sftp_argv(c, way, batch):
    """The bits of c.words: options before the command, other letters, m
    before the command, a command that resumes, and fsync."""
    before, other, several, verb, fsync = (c.words >> i & 1 for i in range(5))
    name = b"put" if c.way == "up" else b"get"
    if c.resume and verb:
        name = b"re" + name
    elif several:
        name = b"m" + name
    letters = "".join(letter for letter, on in (
        ("rR"[other and not before], c.recursive),
        ("pP"[other and not before], c.preserve),
        ("a", c.resume and not verb), ("f", fsync)) if on)
    letters = ["-" + letters] if letters else []
    if before:
        line = [name]
    else:
        line = [name, *map(os.fsencode, letters)]
        letters = []
    if c.pattern:
        top, pattern = c.sources[0].rsplit(b"/", 1)
        line.append(word(top) + b"/" + pattern)
    else:
        line.append(word(c.sources[0]))
    if not c.no_target:
        line.append(word(c.target))
    batch.write_bytes(way.first_line + b" ".join(line) + b"\n")
    return [SFTP, "-q", *way.options(c), *letters, "-b", batch,
            *way.sftp_host(c)]


def argv_of(c, way, batch):
    if c.program == "sftp":
        return sftp_argv(c, way, batch)
    return scp_argv(c, way)
