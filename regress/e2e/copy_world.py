# SPDX-License-Identifier: ISC
"""Worlds of files in memory: snapshot() takes one of a directory that holds
`src`, `dst` and `out`, build() makes one there, and problems() compares what
should be there with what there is.

What a story makes is a list of steps, so that a failing one can be made
smaller."""

import os
import stat
from dataclasses import dataclass, field


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
    new: bool = False  # made by this copy
    new_mode: int = 0  # of a directory that it made: at its end
    loose_mode: bool = False  # any
    less_mode: bool = False  # of what a part had that was left at a server
    loose_setuid: bool = False  # setuid, setgid and sticky may have gone
    loose_names: bool = False  # may be one with another name, or none
    maybe_gone: bool = False  # a part that was left, which may go
    # Its copy may fail, since the source is written while it is read: its part
    # is there then, and of a new file nothing else.
    may_fail: bool = False


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
    """The content of a file, also of one that its owner may not read."""
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


def part_of(name):
    """The name that a file's part has, if nothing is in the way."""
    return b"." + name + b".hpnpart"


# ---- what there is, and what there should be ------------------------------

def problems(want, have):
    """In words; none if all is as it should be."""
    found, pairs, back, failures = [], {}, {}, failed_copies(want, have)

    def differ(path, what, wanted, got):
        found.append(f"{path!r}: {what}: {got!r}, should be {wanted!r}")

    def compare_mode(path, w, h):
        if w.kind == "link" or w.loose_mode or w.unsure:
            return
        wanted, got = w.mode, h.mode
        if w.loose_setuid and got & 0o7000 & ~wanted == 0:
            wanted, got = wanted & 0o777, got & 0o777
        if w.less_mode:
            wanted &= got
        if wanted != got:
            differ(path, "mode", oct(wanted), oct(got))

    def compare(path, w, h):
        if w.kind != h.kind:
            differ(path, "kind", w.kind, h.kind)
            return
        loose = w.unsure or w.loose_names
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
                if not w.names[name].maybe_gone and below not in failures:
                    found.append(f"{below!r}: is gone")
            elif name not in w.names and below not in failures:
                found.append(f"{below!r}: a {h.names[name].kind} too many")
            elif name in w.names:
                compare(below, w.names[name], h.names[name])
    compare(b"", want, have)
    return found


def failed_copies(want, have):
    """Paths that show that copies which may fail did: of new files that are
    not there, and of parts. Their failures have to be told."""
    found = set()

    def look(path, w, h):
        for name, node in w.names.items():
            if node.kind == "dir" and name in h.names:
                look(os.path.join(path, name), node, h.names[name])
            if not node.may_fail:
                continue
            if node.new and name not in h.names:
                found.add(os.path.join(path, name))
            part = part_of(name)
            if part in h.names and part not in w.names:
                found.add(os.path.join(path, part))
    look(b"", want, have)
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
