# SPDX-License-Identifier: ISC
"""Odd trees for tests of faults: generators, and what is in a tree then."""

import os
import random
import stat
from pathlib import Path

TIME_NS = 1_500_000_000 * 10**9


def data_of(seed, size):
    return random.Random(ascii(seed)).randbytes(size)


def put(path, data, mode=0o644, time_ns=TIME_NS):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    os.utime(path, ns=(time_ns, time_ns))


def small(top):
    """Files that fit in one request, in three directories."""
    for i, name in enumerate(["a", "b", "d/c", "d/e/f", "d/e/g"]):
        put(top / name, data_of(name, 10 + 900 * i))


def one_big(top):
    put(top / "big", data_of("big", 3_000_000))


def mixed(top):
    """Sizes around the limits of requests, blocks and small files."""
    for size in (0, 1, 32768, 65536, 65537, 300_000, 1_200_000):
        put(top / f"m{size % 7}" / f"s{size}", data_of(size, size))


def odd(top):
    """Names, links, holes and modes that are rare."""
    for name in ("n\nl", "*", "-r", "\udcff\udcfe", "x" * 240, "a'b\"c",
                 " ", ".h", ".a.hpnpartx", "back\\slash"):
        put(top / name, data_of(name, 100))
    put(top / "read-only", b"x" * 5000, 0o444)
    put(top / "program", b"y" * 70_000, 0o755)
    deep = top / Path(*"abcdefgh")
    put(deep / "deep", b"down here")
    with open(top / "holes", "wb") as f:
        f.write(b"begin")
        f.seek(1 << 20)
        f.write(b"end")
    os.utime(top / "holes", ns=(TIME_NS, TIME_NS))
    os.symlink("program", top / "link")
    os.link(top / "program", top / "second")
    (top / "empty").mkdir()


def many(top):
    """More files than a flight of requests has, and than few descriptors."""
    for i in range(60):
        put(top / f"d{i % 5}" / f"f{i}", data_of(i, i * 50))


TREES = {f.__name__: f for f in (small, one_big, mixed, odd, many)}


def entries(top):
    """What is below top, by its relative name: (kind, data, mode, time)."""
    found = {}
    for base, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(base, name)
            st = os.lstat(path)
            found[os.path.relpath(path, top)] = one(path, st)
    return found


def one(path, st):
    mode = stat.S_IMODE(st.st_mode)
    if stat.S_ISLNK(st.st_mode):
        return "link", os.readlink(path).encode(errors="surrogateescape"), 0, 0
    if stat.S_ISDIR(st.st_mode):
        return "dir", b"", mode, 0
    if not stat.S_ISREG(st.st_mode):
        return "other", b"", mode, 0
    with open(path, "rb") as f:
        return "file", f.read(), mode, st.st_mtime_ns // 10**9


def followed(tree, top):
    """A tree as a copy that follows links has it."""
    out = {}
    for name, entry in tree.items():
        path = os.path.join(top, name)
        out[name] = one(os.path.realpath(path), os.stat(path)) \
            if entry[0] == "link" else entry
    return out


def make_old(top, names):
    """Every second file is there already, with other data; of some of the same
    size."""
    for i, (name, entry) in enumerate(sorted(names.items())):
        if entry[0] != "file" or i % 2:
            continue
        size = len(entry[1]) if i % 4 else len(entry[1]) // 2 + 7
        put(Path(top) / name, data_of("old" + name, size),
            time_ns=TIME_NS - 10**12)
