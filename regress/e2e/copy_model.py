# SPDX-License-Identifier: ISC
"""The rule of what a copy leaves behind, as a model: Copy.run() does to a world
(copy_world.py) what docs/TRANSFERS.md says of a command by SFTP. For the legacy
protocol see copy_model_legacy.py."""

from dataclasses import dataclass

from copy_world import Node, part_of

UMASK = 0o022
LINKS_MAX = 40
YOUNG = 1_700_000_000  # older files have their time by the story


class Refused(Exception):
    """What a system call would say."""


class NoRule(Exception):
    """Nothing is said of this command, for one of the REASONS."""

    def __init__(self, reason):
        super().__init__(reason)
        assert reason in REASONS


# Why nothing is expected of a story, which is not played then.
REASONS = {
    "no end": "a directory is copied into itself, or a pipe is written or "
              "read that nobody else has open",
    "no order": "what is there depends on which of two files or directories "
                "came first",
    "two runs": "sources of one name are copied one after the other, and what "
                "is one file in both becomes two",
    "open to nobody": "a directory of the target that may not be entered, or "
                      "a target that is compared and may not be read",
    # Known faults; the row goes with its fault.
    "part names": "something that is no part of this copy has the name that "
                  "a part has, or is copied to it",
    "listed, not entered": "the names of a directory are known and nothing "
                           "else, which a download passes over",
    "rename refused": "a part was left in a directory that may not be "
                      "written, to a target that may be",
}


@dataclass
class Command:
    """What is run, in the terms that the rule needs."""
    way: str  # up, down, between
    sources: list
    target: bytes
    own: bool  # server
    program: str = "scp"  # or sftp, or legacy (scp -O)
    recursive: bool = False
    preserve: bool = False
    resume: bool = False
    links: bool = False
    hard_links: bool = False
    sparse: bool = False
    in_place: bool = False
    verify: bool = False
    streams: int = 0
    # Of sftp: the source is a pattern for names of one directory; the target
    # is left out; and which of the ways to say something is taken.
    pattern: bool = False
    no_target: bool = False
    words: int = 0


# For names of one directory, by hpnsftp.
PATTERNS = {
    b"*": lambda name: True,
    b"b*": lambda name: name.startswith(b"b"),
    b"[a-f]": lambda name: name in (b"a", b"b", b"d", b"e", b"f"),
}


# ---- the rule -------------------------------------------------------------

class Copy:
    """One command, done to a world."""

    def __init__(self, world, tops, command, me):
        self.root, self.tops, self.c, self.me = world, tops, command, me
        self.own_sink = command.way == "down"
        self.append = command.program == "sftp" and command.resume
        self.failed = False
        self.fatal = 0  # the exit status, if it is not 1
        self.unsure_exit = False
        self.written = {}  # nodes, and what was written to each
        self.asked = {}  # names that each node is copied to
        self.firsts = {}  # of hard links: the target's node by the source's
        self.read = {}
        self.names_before = {}  # of files with several names
        self.missing = []  # paths of links that lead nowhere
        self.finish = []
        self.inside = []  # directories that are being copied
        self.listed, self.filled = set(), {}
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

    def is_dir(self, path):
        try:
            node = self.walk(path)[2]
        except Refused:
            return False
        return node is not None and node.kind == "dir"

    def run(self):
        """Does it to the world, which is changed. The exit status, or None
        where the rule does not say."""
        self.copy_all()
        if self.unsure_exit:
            return None
        return (self.fatal or 1) if self.failed else 0

    def is_scp_upload(self):
        return self.c.way == "up" and self.c.program == "scp"

    def refuse(self):
        """scp's 255."""
        self.failed, self.fatal = True, 255

    def make_target(self):
        """Makes the target of several sources, at a server."""
        try:
            parent, name, node = self.walk(self.c.target)
        except Refused as why:
            if str(why) == "EACCES":
                self.fail()
            else:
                self.refuse()
            return False
        if node is None and not self.walk(self.c.target, False)[2] and \
                self.may(parent, 3):
            mode = 0o777 & ~UMASK
            parent.names[name] = Node("dir", mode, self.me, new=True,
                                      new_mode=mode)
            parent.mtime = None
            return True
        self.refuse()
        return False

    def copy_all(self):
        c = self.c
        sources = self.matches() if c.pattern else c.sources
        is_dir = c.no_target or self.is_dir(c.target)
        if len(sources) > 1 and not is_dir:
            if c.program != "scp" or c.way == "down":
                self.fail()
                return
            is_dir = self.make_target()
            if not is_dir:
                return
        bases = {source.rstrip(b"/").rsplit(b"/", 1)[-1] for source in sources}
        if c.hard_links and len(bases) < len(sources):
            raise NoRule("two runs")
        for source in sources:
            self.copy_root(source, is_dir)
        for finish in self.finish:
            finish()
        self.check_order()

    def matches(self):
        """Names that a pattern of hpnsftp's stands for; the pattern if there
        is none, which is no name then."""
        top, pattern = self.c.sources[0].rsplit(b"/", 1)
        above = self.walk(top)[2] if self.is_dir(top) else Node("dir")
        names = [n for n in above.names
                 if not n.startswith(b".") and PATTERNS[pattern](n)]
        found = [top + b"/" + n for n in names]
        if self.c.way == "up":  # what is not there is dropped before
            there = [f for f in found if self.there(f)]
            self.failed |= there != found
            if found:
                return there
        return found or [top + b"/none"]

    def there(self, path):
        try:
            return self.walk(path)[2] is not None
        except Refused:
            return False

    def check_order(self):
        """Not mended: a file that is copied under the name which the part of
        another has is lost with that, or refused."""
        if any((parent, part_of(name)) in self.made
               for parent, name in self.made):
            raise NoRule("part names")
        if self.through & self.made or any(map(self.there, self.missing)):
            raise NoRule("no order")
        # One of the names of a source was replaced before the copy came to
        # the others, or after that.
        if any(node.nlink != n for node, n in self.names_before.items()):
            raise NoRule("no order")

    def copy_root(self, source, is_dir):
        c = self.c
        try:
            above, name, node = self.walk(source, follow=not c.links)
            if (above, name) in self.removed:
                raise NoRule("part names")
            if node is None:
                raise Refused("ENOENT")
        except Refused:
            if self.is_scp_upload():
                self.refuse()
            self.fail()
            return
        target = b"." if c.no_target else c.target
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
        if node.new:
            raise NoRule("no order")  # it was not there, or just now
        if node.kind == "dir":
            self.copy_dir(node, parent, name)
        elif node.kind == "file":
            self.copy_file(node, parent, name)
        elif node.kind == "link":
            self.copy_link(node, parent, name)
        else:
            self.fail()

    def follow(self, parent, name):
        """What a link in a directory leads to."""
        return self.walk(self.path_of(parent) + b"/" + name)

    def follow_target(self, parent, name):
        """Our programs follow no link of another user there. Where it leads
        to what this copy makes, it matters which of the two came first."""
        if self.own_sink and parent.names[name].uid not in (0, self.me):
            raise Refused("another user's")
        try:
            above, last, node = self.follow(parent, name)
        except Refused as why:
            if str(why) == "ENOENT":
                self.missing.append(self.path_of(parent) + b"/" + name)
            raise
        if any(n and n.kind == "dir" and n.new for n in (above, node)):
            raise NoRule("no order")
        return above, last, node

    # -- directories --

    def copy_dir(self, node, parent, name):
        c = self.c
        if not c.recursive:
            self.fail()
            return
        there = parent.names.get(name)
        if there and there.kind == "link" and not c.links:
            try:
                there = self.follow_target(parent, name)[2]
                if there is None:
                    self.missing.append(self.path_of(parent) + b"/" + name)
            except Refused:
                there = None
        elif there is None and self.may(parent, 3):
            there = self.make_dir(node, parent, name)
        if there is None or there.kind != "dir":
            self.fail()
            return
        self.copy_into(node, there)

    def make_dir(self, node, parent, name):
        mode = node.mode & 0o777 & ~UMASK
        made = Node("dir", mode, self.me, new=True, new_mode=mode)
        parent.names[name] = made
        parent.mtime = None
        return made

    def copy_into(self, node, there):
        c = self.c
        if node.kind != "dir" or not c.recursive or there is None:
            self.fail()
            return
        self.begin_dir(node, there)
        # Two sources may be laid into one that this copy makes.
        final = there.new_mode if there.new else there.mode
        root = not self.inside
        if there.new:
            there.mode |= 0o700
        if c.preserve and not self.may(there, 7):
            raise NoRule("open to nobody")  # only a download fills it
        if self.may(node, 4):
            self.copy_entries(node, there)
        else:
            self.fail()
        self.finish.append(
            lambda: self.finish_dir(node, there, final, root))

    def begin_dir(self, node, there):
        if node in self.inside:
            raise NoRule("no end")
        if node is not there:
            self.listed.add(node)
            self.filled.setdefault(there, 0)
            self.filled[there] += 1
        if self.listed & self.filled.keys():
            raise NoRule("no end")
        if node is not there or self.c.preserve:
            there.mtime = None

    def copy_entries(self, node, there):
        self.inside.append(node)
        for name, below in list(node.names.items()):
            self.copy_entry(node, name, below, there)
        self.inside.pop()

    def finish_dir(self, node, there, final, root):
        there.mode = final
        if not self.c.preserve:
            return
        there.mode = node.mode & 0o7777
        there.mtime, there.coarse = node.mtime, True
        there.loose_mode, there.loose_setuid = self.failed, True
        # Of roots the last one counts.
        if self.filled.get(there, 0) > 1 and not root:
            there.mtime, there.loose_mode = None, True

    def copy_entry(self, node, name, below, there):
        if not self.may(node, 1):
            self.fail()
            if self.c.way != "up":
                raise NoRule("listed, not entered")
            return
        if below.kind == "link" and not self.c.links:
            if self.c.program == "sftp":
                return  # noted, and not followed
            path = self.path_of(node) + b"/" + name
            if not self.there(path):
                self.missing.append(path)
                self.fail()
                return
            below = self.follow(node, name)[2]
        self.copy_node(below, there, name)

    # -- files --

    def settle_part(self, parent, name, renamed, ok):
        """What is left of a part that stood there. What is written through a
        link has none there."""
        c = self.c
        if (parent, name) in self.through:
            return
        part = parent.names.get(part_of(name))
        if part is None or part.number is None or c.way == "between":
            return
        if part.kind != "file" or part.nlink > 1:
            raise NoRule("part names")
        if part in self.written:
            return
        # Nobody else's, and nothing that is not shown to be of the source.
        part.maybe_gone = c.resume and part.uid == self.me
        if c.resume and c.way == "up" and (made := parent.names.get(name)):
            made.less_mode = made.new and not c.preserve
        if c.resume and not ok:
            part.unsure = True  # it may be whole, and not renamed

    def check_part(self, parent, name):
        """Not mended: another user's is taken for ours at first."""
        part = parent.names.get(part_of(name))
        if part and part.data and self.c.way == "up":
            raise NoRule("part names")

    def has_part(self, parent, name):
        """One that -Z goes on with."""
        part = parent.names.get(part_of(name))
        if part and part.data and self.c.program == "sftp":
            raise NoRule("part names")  # is it one? if not, it appends
        return not self.c.in_place and part is not None and \
            part.kind == "file" and part.uid == self.me and \
            part.nlink == 1 and part.data != b""

    def copy_file(self, node, parent, name):
        there = parent.names.get(name)
        through = False
        parent.mtime = None  # a part may have been there
        if there and there.kind == "link" and self.c.links:
            there = None
        elif there and there.kind == "link":
            through = True
            self.settle_part(parent, name, False, False)
            try:
                if self.c.own and name.endswith(b".hpnpart"):
                    raise NoRule("part names")
                parent, name, there = self.follow_target(parent, name)
            except Refused:
                parent = None
            if parent is None:
                self.fail()
                return
            if self.c.own and name.endswith(b".hpnpart"):
                raise NoRule("part names")
            self.through.add((parent, name))
        parent.mtime = None
        if self.may(node, 4) and self.may(parent, 1) and (
                there is None or there.kind == "file"):
            self.copy_data(node, parent, name, there, through)
            return
        if there and there.kind == "char" and self.may(node, 4):
            if self.c.own and name.endswith(b".hpnpart"):
                raise NoRule("part names")  # only a file is written there
            self.copy_to_device(node, there)
            return
        if there and there.kind == "fifo":
            raise NoRule("no end")
        self.fail()
        # A source that may not be read may be complete, by size and time.
        self.unsure_exit |= self.c.resume and self.c.way == "down"
        self.settle_part(parent, name, False, False)

    def copy_to_device(self, node, there):
        c = self.c
        if c.preserve or c.verify:
            there.mtime, there.loose_mode = None, True
        self.failed |= c.verify and node.data != b""  # what was written cannot be read

    def copy_data(self, node, parent, name, there, through):
        c = self.c
        if c.resume and part_of(name) in parent.names:
            raise NoRule("part names")  # marks and digests tell what it is
        several = c.hard_links and node.nlink > 1
        stood = self.note_name(node, there) if several else set()
        first = None if through else self.firsts.get(node)
        if several and first and (c.own or c.way == "up"):
            made = self.make_hard(first, parent, name, there)
        elif there is None:
            made = self.make_file(node, parent, name)
        else:
            made = self.replace_file(node, parent, name, there, through)
        if made and not through:
            self.firsts[node] = made
            # Mode and inode are those of the one which was first.
            if stood:
                made.loose_mode, made.number = True, None

    def note_name(self, node, there):
        """Notes one more name of a file with several. Returns what stands
        where they are copied to."""
        self.names_before.setdefault(node, node.nlink)
        asked = self.asked.setdefault(node, [])
        if len(asked) > node.nlink - 1:
            raise NoRule("no order")  # also by links
        asked.append(there)
        if there and not self.may(there, 2):
            raise NoRule("no order")  # refused, or replaced by a link
        stood = {*asked} - {None}
        if any(s.uid != self.me for s in stood):
            raise NoRule("no order")  # it stays his, or is replaced
        return stood

    def make_hard(self, first, parent, name, there):
        if not self.may(parent, 3) or (there and not self.may(there, 2)):
            raise NoRule("no order")
        if there:
            there.nlink -= 1
        parent.names[name] = first
        first.nlink += 1
        self.settle_part(parent, name, True, True)
        return first

    def note_write(self, node, there):
        """Two of different content that are written to one file, or one that
        is read and written in one copy."""
        if node.unsure or (there in self.written and
                           self.written[there] != node.data) or \
                node in self.written:
            there.unsure = there.may_fail = self.unsure_exit = True
        if there in self.read and there.data != node.data:
            for made in self.read[there]:
                made.unsure = made.may_fail = True
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
        made = Node("file", mode, self.me, node.data, new=True)
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
            raise NoRule("no order")  # made by this command
        if c.own and name.endswith(b".hpnpart") and (
                there.nlink > 1 or there.uid != self.me):
            raise NoRule("part names")  # our server refuses it
        if node is there and c.way == "between" and c.own:
            return there  # nothing is touched
        part = not through and self.has_part(parent, name)
        if c.resume and not part and not through:
            self.check_part(parent, name)
        if self.append and there.data and not through and not part:
            return self.append_file(node, there)
        if (c.verify or c.resume) and not self.may(there, 4):
            raise NoRule("open to nobody")
        if not self.may(there, 2):
            self.refuse_file(node, parent, name, there)
            return None
        if c.resume and not part and self.is_complete(
                node, there, through):
            self.settle_part(parent, name, True, True)
            return there
        if part and c.resume and not self.may(parent, 2):
            raise NoRule("rename refused")
        many = there.nlink > 1 and not c.hard_links and (
            c.own or c.way == "down")
        if through or many or c.in_place or c.way == "between" or \
                there.uid != self.me or not self.may(parent, 2):
            return self.write_in_place(node, parent, name, there)
        made = Node("file", node.mode & 0o777 if c.preserve else there.mode,
                    self.me, node.data)
        made.loose_setuid = not c.preserve
        self.times(node, made)
        there.nlink -= 1
        parent.names[name] = made
        self.note_write(node, made)
        self.settle_part(parent, name, True, True)
        if c.resume and there.data == node.data:
            made.loose_names = True  # it may have been compared
            made.loose_mode = made.loose_mode or c.preserve
            made.mtime = None
        return made

    def refuse_file(self, node, parent, name, there):
        c = self.c
        self.fail()
        self.settle_part(parent, name, False, False)
        if c.resume or (c.way == "between" and node is there):
            self.unsure_exit = True
        if c.resume and c.preserve and len(there.data) == len(node.data):
            there.mtime, there.loose_mode = None, True  # it is complete

    def write_in_place(self, node, parent, name, there):
        self.note_write(node, there)
        there.data = node.data
        self.times(node, there)
        if self.c.preserve:
            there.mode = node.mode & 0o777
        else:
            there.loose_setuid = True
        self.settle_part(parent, name, False, True)
        return there

    # -- what is there already --

    def note_read(self, node, there):
        """Both, without a write."""
        if {node, there} & self.written.keys():
            there.unsure = self.unsure_exit = True
        self.read.setdefault(node, []).append(there)

    def is_complete(self, node, there, through):
        """With -Z. Nothing moves; only what -p says is set, and its time."""
        c = self.c
        self.note_read(node, there)
        if there.data == node.data:
            there.mtime = there.number = None
            there.loose_names = there.loose_setuid = True
            there.loose_mode = there.loose_mode or c.preserve
            return True
        if through or c.verify or not self.has_same_time(node, there):
            return False
        there.loose_mode = there.loose_mode or c.preserve
        there.coarse = there.coarse or (c.preserve and not c.own)
        return c.preserve or not c.own

    def has_same_time(self, node, there):
        """Have both the same time and size? Whole seconds of a stock server
        count when they are old."""
        if None in (node.mtime, there.mtime) or \
                len(node.data) != len(there.data):
            return False
        return node.mtime == there.mtime if self.c.own else \
            node.mtime // 10**9 == there.mtime // 10**9 < YOUNG

    def append_file(self, node, there):
        """A target is the beginning of its source, and is not compared."""
        self.note_read(node, there)
        if len(there.data) > len(node.data):
            self.fail()
            return None
        if len(there.data) == len(node.data):
            return there
        if not self.may(there, 2):
            self.fail()
            return None
        if not self.may(there, 4):
            raise NoRule("open to nobody")
        self.note_write(node, there)
        there.data += node.data[len(there.data):]
        self.times(node, there)
        if self.c.preserve:
            there.mode = node.mode & 0o777
        else:
            there.loose_setuid = True
        return there

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
