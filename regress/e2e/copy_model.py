# SPDX-License-Identifier: ISC
"""The rule of what a copy leaves behind, as a model: a world of files in
memory, expected(), which does to it what docs/TRANSFERS.md says of a command,
and problems(), which compares what it has then with what there really is.

A world is a directory that holds `src`, `dst` and `out`. What a story makes in
it is a list of steps (build()), so that a failing one can be made smaller."""

import os
import stat
from dataclasses import dataclass, field

UMASK = 0o022
LINKS_MAX = 40
S_ISVTX = 0o1000


class Refused(Exception):
    """What a system call would say."""


class NoRule(Exception):
    """A directory is copied into itself, or read and filled at a time, or a
    pipe is written that nobody reads: a command without an end, or without a
    certain one."""


# ---- worlds ---------------------------------------------------------------

@dataclass(eq=False)
class Node:
    """What a name leads to, whatever names it has."""
    kind: str  # file, dir, link, fifo, sock, char
    mode: int = 0
    uid: int = 0
    data: bytes = b""  # of a file; of a link where it leads
    mtime: int | None = None  # nanoseconds; None: any
    names: dict = field(default_factory=dict)  # of a directory
    nlink: int = 1
    number: int | None = None  # inode; None: of a new file
    # What two files of one copy are written to, at a time nobody knows.
    unsure: bool = False
    coarse: bool = False  # mtime to the second
    loose_mode: bool = False
    maybe_gone: bool = False  # a part that was left, which may go


@dataclass
class Command:
    """What is run, in the terms that the rule needs."""
    way: str  # up, down, between
    sources: list
    target: bytes
    own: bool  # server
    recursive: bool = False
    preserve: bool = False
    resume: bool = False
    links: bool = False
    hard_links: bool = False
    sparse: bool = False
    in_place: bool = False
    verify: bool = False
    streams: int = 0
    shell: bool = False  # by put or get of hpnsftp


def snapshot(path):
    """The world that is really there, below path."""
    seen = {}

    def look(at):
        st = os.lstat(at)
        if node := seen.get(st.st_ino):
            return node
        node = Node("", stat.S_IMODE(st.st_mode), st.st_uid,
                    mtime=st.st_mtime_ns, nlink=st.st_nlink, number=st.st_ino)
        seen[st.st_ino] = node
        if stat.S_ISREG(st.st_mode):
            node.kind = "file"
            node.data = contents(at, st)
        elif stat.S_ISLNK(st.st_mode):
            node.kind, node.data = "link", os.readlink(at)
        elif stat.S_ISDIR(st.st_mode):
            node.kind = "dir"
            for name in names_in(at, st):
                node.names[name] = look(os.path.join(at, name))
        else:
            node.kind = {stat.S_IFIFO: "fifo", stat.S_IFSOCK: "sock",
                         stat.S_IFCHR: "char"}[stat.S_IFMT(st.st_mode)]
        return node
    return look(path)


def contents(path, st):
    """Also of what its owner may not read."""
    closed = not st.st_mode & stat.S_IRUSR and os.geteuid() != 0
    if closed:
        os.chmod(path, 0o400)
    with open(path, "rb") as f:
        data = f.read()
    if closed:
        os.chmod(path, stat.S_IMODE(st.st_mode))
    return data


def names_in(path, st):
    closed = st.st_mode & 0o500 != 0o500 and os.geteuid() != 0
    if closed:
        os.chmod(path, 0o700)
    return sorted(os.listdir(path))


def close_again(path, world):
    """What names_in() opened gets the mode that it had."""
    for name, node in world.names.items():
        if node.kind == "dir":
            below = os.path.join(path, name)
            close_again(below, node)
            if node.mode & 0o500 != 0o500 and os.geteuid() != 0:
                os.chmod(below, node.mode)


# ---- the rule -------------------------------------------------------------

class Copy:
    """One command, done to a world."""

    def __init__(self, world, tops, command, me):
        self.root, self.tops, self.c, self.me = world, tops, command, me
        self.failed = False
        self.unsure_exit = False
        self.written = {}  # nodes, and what was written to each
        self.asked = {}  # names that each node is copied to
        self.firsts = {}  # of hard links: the target's node by the source's
        self.read = {}
        self.finish = []
        self.inside = []  # directories that are being copied
        self.listed, self.filled = set(), set()
        self.removed, self.through = set(), set()
        self.made = set()  # a directory and a name in it, of each copy

    # -- names --

    def may(self, node, what):
        if self.me == 0:
            return True
        bits = node.mode >> 6 if node.uid == self.me else node.mode
        return bits & what == what

    def walk(self, path, follow=True, at=None, depth=0):
        """The directory, the last name in it, and its node or None."""
        node = at or self.root
        for top in self.tops:
            if path == top or path.startswith(top + b"/"):
                node, path = self.root, path[len(top):].lstrip(b"/")
                break
        else:
            if path.startswith(b"/"):
                raise Refused("ENOENT")
        trail = [node]
        parts = [p for p in path.split(b"/") if p not in (b"", b".")]
        must_be_dir = path.endswith((b"/", b"/.")) or path == b"."
        parent, name = None, b"."
        for i, part in enumerate(parts):
            if node is None:
                raise Refused("ENOENT")
            if node.kind != "dir":
                raise Refused("ENOTDIR")
            if not self.may(node, 1):
                raise Refused("EACCES")
            last = i == len(parts) - 1
            if part == b"..":
                trail = trail[:-1] or [self.root]
                node, parent, name = trail[-1], None, b"."
                continue
            parent, name = node, part
            node = parent.names.get(part)
            if node and node.kind == "link" and (
                    not last or follow or must_be_dir):
                if depth >= LINKS_MAX:
                    raise Refused("ELOOP")
                # ".." in a link counts from the directory that it is in.
                back = self.path_of(parent)
                parent, name, node = self.walk(
                    node.data if node.data.startswith(b"/")
                    else back + b"/" + node.data, True, None, depth + 1)
                if not last:
                    if node is None:
                        raise Refused("ENOENT")
                    trail = self.trail_of(node)
                    continue
            if node:
                trail.append(node)
        if must_be_dir and (node is None or node.kind != "dir"):
            raise Refused("ENOTDIR" if node else "ENOENT")
        return parent, name, node

    def trail_of(self, node):
        def find(at, trail):
            if at is node:
                return trail
            for below in at.names.values():
                if below.kind == "dir" and (
                        got := find(below, trail + [below])):
                    return got
            return None
        return find(self.root, [self.root]) or [node]

    def path_of(self, node):
        trail = self.trail_of(node)
        path = []
        for above, below in zip(trail, trail[1:]):
            path += [n for n, x in above.names.items() if x is below][:1]
        return b"./" + b"/".join(path)

    def fail(self):
        self.failed = True

    # -- the whole --

    def run(self):
        c = self.c
        try:
            is_dir = self.walk(c.target)[2]
        except Refused:
            is_dir = None
        is_dir = is_dir is not None and is_dir.kind == "dir"
        if len(c.sources) > 1 and not is_dir:
            self.fail()
            return
        for source in c.sources:
            self.copy_root(source, is_dir)
        while self.finish:
            self.finish.pop()()
        self.parts_among_sources()

    def parts_among_sources(self):
        """Not mended: a file that is copied under the name which the part of
        another has is lost with that, or refused. Such stories are left
        out."""
        if any((parent, self.part_name(name)) in self.made
               for parent, name in self.made):
            raise NoRule
        if self.through & self.made:
            raise NoRule  # what is there depends on which was first

    def copy_root(self, source, is_dir):
        c = self.c
        try:
            above, name, node = self.walk(source, follow=not c.links)
            if (above, name) in self.removed:
                raise NoRule  # as parts_among_sources()
            if node is None:
                raise Refused("ENOENT")
        except Refused:
            self.fail()
            return
        target = c.target
        if is_dir:
            base = source.rstrip(b"/").rsplit(b"/", 1)[-1]
            target = target.rstrip(b"/") + b"/" + base
        elif node.kind == "dir":
            target = target.rstrip(b"/")
        content = target.endswith(b"/.") or target == b"."
        try:
            parent, name, there = self.walk(target, follow=content)
        except Refused:
            # A file in a directory that is not there, or may not be entered.
            self.fail()
            return
        if parent is None:
            self.copy_into(node, there)
        else:
            self.copy_node(node, parent, name)

    def copy_node(self, node, parent, name):
        self.made.add((parent, name))
        if node.kind == "dir":
            self.copy_dir(node, parent, name)
        elif node.kind == "file":
            self.copy_file(node, parent, name)
        elif node.kind == "link":
            self.copy_link(node, parent, name)
        else:
            self.fail()

    # -- directories --

    def copy_dir(self, node, parent, name):
        c = self.c
        if not c.recursive:
            self.fail()
            return
        there = parent.names.get(name)
        if there and there.kind == "link" and not c.links:
            try:
                parent, name, there = self.walk(
                    self.path_of(parent) + b"/" + name)
            except Refused:
                self.fail()
                return
            if there is None:
                self.fail()
                return
        if there is None:
            if not self.may(parent, 3):
                self.fail()
                return
            there = Node("dir", node.mode & 0o777 & ~UMASK, self.me)
            there.new = True
            parent.names[name] = there
            parent.mtime = None
        elif there.kind != "dir":
            self.fail()
            return
        self.copy_into(node, there)

    def copy_into(self, node, there):
        c = self.c
        if node.kind != "dir" or not c.recursive or there is None:
            self.fail()
            return
        if node in self.inside:
            raise NoRule
        if node is not there:
            self.listed.add(node)
            self.filled.add(there)
        if self.listed & self.filled:
            raise NoRule
        final = there.mode
        new = getattr(there, "new", False)
        if new:
            there.mode |= 0o700
        if c.preserve and not self.may(there, 7):
            raise NoRule  # a download fills it, an upload does not
        if node is not there or c.preserve:
            there.mtime = None
        if not self.may(node, 4):
            self.fail()
            self.finish.append(lambda: self.finish_dir(node, there, final))
            return
        self.inside.append(node)
        for name, below in list(node.names.items()):
            self.copy_entry(node, name, below, there)
        self.inside.pop()
        self.finish.append(lambda: self.finish_dir(node, there, final))

    def finish_dir(self, node, there, final):
        there.mode = final
        if self.c.preserve:
            there.mode = node.mode & 0o7777
            there.mtime, there.coarse = node.mtime, True
            there.loose_mode = self.failed

    def copy_entry(self, node, name, below, there):
        if not self.may(node, 1):
            self.fail()
            if self.c.way != "up":
                # A server lists names without types then, and today they are
                # passed over, as by stock's scp.
                self.unsure_exit = True
            return
        if below.kind == "link" and not self.c.links:
            if self.c.shell:
                return  # noted, and not followed
            try:
                below = self.walk(self.path_of(node) + b"/" + name)[2]
            except Refused:
                below = None
            if below is None:
                self.fail()
                return
        self.copy_node(below, there, name)

    # -- files --

    def part_name(self, name):
        return b"." + name + b".hpnpart"

    def settle_part(self, parent, name, renamed, ok):
        """What is left of a part that stood there."""
        c = self.c
        part = parent.names.get(self.part_name(name))
        if part is None or part.number is None or part in self.written:
            return
        if part.kind != "file":
            # It is in the way; a link is not followed.
            part.maybe_gone = c.way == "down" and part.kind != "dir"
            return
        # Not mended: the name goes though no such file is a part. One that we
        # may not open stays.
        if part.uid != self.me or part.nlink > 1 or not self.may(part, 6):
            part.maybe_gone = True
            return
        if c.way == "up" and not c.own and not c.resume:
            return
        if c.resume and c.way == "up" and (made := parent.names.get(name)):
            made.less_mode = getattr(made, "new", False) and not c.preserve
        if c.resume and not ok:
            part.unsure = True  # it may be whole, and not renamed
        if ok and renamed and not c.in_place and c.way != "between" and \
                c.resume:
            del parent.names[self.part_name(name)]
            self.removed.add((parent, self.part_name(name)))
        elif c.way != "between":
            part.maybe_gone = True

    def copy_file(self, node, parent, name):
        c = self.c
        there = parent.names.get(name)
        through = False
        parent.mtime = None  # a part may have been there
        if there and there.kind == "link":
            if c.links:
                there = None
            elif c.hard_links and node.nlink > 1:
                raise NoRule  # a further name replaces it, the first does not
            else:
                through = True
                self.settle_part(parent, name, False, False)
                try:
                    parent, name, there = self.walk(
                        self.path_of(parent) + b"/" + name)
                except Refused:
                    self.fail()
                    return
                if parent is None:
                    self.fail()
                    return
                self.through.add((parent, name))
        parent.mtime = None
        if not self.may(node, 4) or not self.may(parent, 1):
            self.fail()
            self.settle_part(parent, name, False, False)
            return
        if there and there.kind == "fifo":
            raise NoRule
        if there and there.kind == "char":
            if c.preserve:
                there.mtime, there.loose_mode = None, True
            # Not mended: of a device the size is set.
            self.unsure_exit |= c.sparse and c.way == "down"
            return
        if there and there.kind != "file":
            self.fail()
            return
        if c.hard_links and node.nlink > 1 and len(
                self.asked.setdefault(node, [])) > node.nlink - 1:
            raise NoRule  # also by links: now and then they are two files
        self.asked.setdefault(node, []).append(name)
        first = self.firsts.get(node)
        if c.hard_links and first and node.nlink > 1 and (c.own or c.way == "up"):
            self.make_hard(first, parent, name, there)
            return
        if there is None:
            made = self.make_file(node, parent, name)
        else:
            made = self.replace_file(node, parent, name, there, through)
        if made:
            self.firsts[node] = made

    def make_hard(self, first, parent, name, there):
        if not self.may(parent, 3):
            self.fail()
            self.unsure_exit = True
            return
        if there:
            there.nlink -= 1
        parent.names[name] = first
        first.nlink += 1
        self.settle_part(parent, name, True, True)

    def note_write(self, node, there):
        """Two of different content that are written to one file, or one that
        is read and written in one copy."""
        if node.unsure or (there in self.written and
                           self.written[there] != node.data) or \
                node in self.written:
            there.unsure = self.unsure_exit = True
        if there in self.read and there.data != node.data:
            for made in self.read[there]:
                made.unsure = True
            there.unsure = self.unsure_exit = True
        self.written[there] = node.data
        self.read.setdefault(node, []).append(there)

    def make_file(self, node, parent, name):
        c = self.c
        if not self.may(parent, 3):
            self.fail()
            self.settle_part(parent, name, False, False)
            return None
        mode = node.mode & 0o777 & ~UMASK
        if c.way == "down":
            mode |= 0o200
        if c.preserve:
            mode = node.mode & 0o777
        made = Node("file", mode, self.me, node.data)
        made.new = True
        self.times(node, made)
        parent.names[name] = made
        self.note_write(node, made)
        self.settle_part(parent, name, True, True)
        return made

    def times(self, node, made):
        made.mtime = None
        if self.c.preserve:
            made.mtime, made.coarse = node.mtime, True

    def replace_file(self, node, parent, name, there, through):
        c = self.c
        if there.number is None:
            raise NoRule  # made by this command, which has no order
        if c.own and name.endswith(b".hpnpart") and (
                there.nlink > 1 or there.uid != self.me):
            raise NoRule  # our server takes it for a part, and refuses
        if node is there and c.way == "between" and c.own:
            return there  # nothing is touched
        if (c.verify or c.resume) and not self.may(there, 4):
            raise NoRule
        if not self.may(there, 2):
            self.fail()
            self.settle_part(parent, name, False, False)
            if c.resume or (c.way == "between" and node is there):
                self.unsure_exit = True
            return None
        many = there.nlink > 1 and not c.hard_links and (
            c.own or c.way == "down")
        if c.resume and there.data == node.data:
            # Nothing moves; only what -p says is set, and its time.
            there.mtime = there.number = None
            there.loose_names = there.loose_setuid = True
            if c.preserve:
                there.loose_mode = True
            self.settle_part(parent, name, True, True)
            if not c.own:
                there.mtime = None
            return there
        if c.resume and not c.own and len(there.data) == len(node.data) and \
                there.mtime is not None and \
                there.mtime // 10**9 == node.mtime // 10**9:
            self.settle_part(parent, name, True, True)
            return there
        if through or many or c.in_place or c.way == "between" or \
                there.uid != self.me or not self.may(parent, 2):
            self.note_write(node, there)
            there.data = node.data
            self.times(node, there)
            if c.preserve:
                there.mode = node.mode & 0o777
            else:
                there.loose_setuid = True
            self.settle_part(parent, name, False, True)
            return there
        made = Node("file", node.mode & 0o777 if c.preserve else there.mode,
                    self.me, node.data)
        made.loose_setuid = not c.preserve
        self.times(node, made)
        there.nlink -= 1
        parent.names[name] = made
        self.note_write(node, made)
        self.settle_part(parent, name, True, True)
        return made

    # -- links --

    def copy_link(self, node, parent, name):
        there = parent.names.get(name)
        if (there and there.kind == "dir") or not self.may(parent, 3):
            self.fail()
            return
        if there:
            there.nlink -= 1
        parent.mtime = None
        parent.names[name] = Node("link", 0o777, self.me, node.data)
        self.settle_part(parent, name, True, True)


def expected(before, tops, command, me):
    """What a command makes of the world, which is changed. The exit status, or
    None where the rule does not say."""
    copy = Copy(before, tops, command, me)
    copy.run()
    if copy.unsure_exit:
        return None
    return 1 if copy.failed else 0


# ---- what there is, and what there should be ------------------------------

def problems(want, have):
    """In words; none if all is as it should be."""
    found, pairs, back = [], {}, {}

    def differ(path, what, wanted, got):
        found.append(f"{path!r}: {what}: {got!r}, should be {wanted!r}")

    def compare_mode(path, w, h):
        if w.kind == "link" or w.loose_mode or w.unsure:
            return
        wanted, got = w.mode, h.mode
        if getattr(w, "loose_setuid", False) and got & 0o7000 & ~wanted == 0:
            wanted, got = wanted & 0o777, got & 0o777
        if getattr(w, "less_mode", False):
            wanted &= got  # of what a part had that was left at a server
        if wanted != got:
            differ(path, "mode", oct(wanted), oct(got))

    def compare(path, w, h):
        if w.kind != h.kind:
            differ(path, "kind", w.kind, h.kind)
            return
        loose = w.unsure or getattr(w, "loose_names", False)
        if not loose and (w in pairs and pairs[w] is not h or
                          h in back and back[h] is not w):
            found.append(f"{path!r}: is the same file as another name, or is "
                         "not, against the rule")
        if w in pairs:
            return
        pairs[w], back[h] = h, w
        if w.number is not None and w.number != h.number:
            found.append(f"{path!r}: was replaced by another file")
        if w.data != h.data and not w.unsure:
            differ(path, "content", w.data[:40], h.data[:40])
            if w.data[:40] == h.data[:40]:
                differ(path, "length", len(w.data), len(h.data))
        compare_mode(path, w, h)
        if w.uid != h.uid:
            differ(path, "owner", w.uid, h.uid)
        unit = 10**9 if w.coarse else 1
        if w.mtime is not None and not w.unsure and \
                w.mtime // unit != h.mtime // unit:
            differ(path, "time", w.mtime, h.mtime)
        for name in sorted(w.names.keys() | h.names.keys()):
            below = os.path.join(path, name)
            if name not in h.names:
                if not w.names[name].maybe_gone:
                    found.append(f"{below!r}: is gone")
            elif name not in w.names:
                found.append(f"{below!r}: a {h.names[name].kind} too many")
            else:
                compare(below, w.names[name], h.names[name])
    compare(b"", want, have)
    return found


# ---- making a world -------------------------------------------------------

def build(steps):
    """In the current directory. Steps that cannot be done are left out, which
    is how a story is made smaller."""
    for step in steps:
        kind, path = step[0], step[1]
        try:
            if kind == "dir":
                os.mkdir(path)
            elif kind == "file":
                with open(path, "xb") as f:
                    f.write(step[2])
            elif kind == "link":
                os.symlink(step[2], path)
            elif kind == "hard":
                os.link(step[2], path, follow_symlinks=False)
            elif kind == "mode":
                os.chmod(path, step[2])
            elif kind == "owner":
                os.chown(path, step[2], step[2], follow_symlinks=False)
            elif kind == "time":
                os.utime(path, ns=(step[2], step[2]), follow_symlinks=False)
            elif kind == "char":
                os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            else:
                os.mknod(path, 0o644 | {"fifo": stat.S_IFIFO,
                                        "sock": stat.S_IFSOCK}[kind])
        except OSError:
            pass
