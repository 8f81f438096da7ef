# SPDX-License-Identifier: ISC
"""An `scp -Z` of HPN-SSH 18 for single files, after the description of its
wire format (facts A16): `fake_hpn_scp.py -Z -t|-f path`. What happened is
appended to the file that $FAKE_LOG names."""

import hashlib
import os
import sys


def log(text):
    with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as f:
        f.write(text + "\n")


def exactly(n):
    data = b""
    while len(data) < n:
        piece = os.read(0, n - len(data))
        if not piece:
            sys.exit(9)
        data += piece
    return data


def line():
    data = b""
    while not data.endswith(b"\n"):
        data += exactly(1)
    return data[:-1].decode()


def put(data):
    while data:
        data = data[os.write(1, data):]


def content(path):
    with open(path, "rb") as f:
        return f.read()


def digest(data):
    return hashlib.blake2b(data).hexdigest()


def ack():
    code = exactly(1)
    if code != b"\0":
        log("message " + line())
        sys.exit(1)


def source(path):
    data = content(path)
    ack()
    put(f"C0644 {len(data)} {digest(data)} {os.path.basename(path)}\n"
        .encode())
    standing = exactly(191).decode()
    ack()
    kind, words = standing[0], standing[1:].split()
    log(f"sink {kind} {words[1] if len(words) > 1 else '-'}")
    if kind == "S":
        return
    choice, start = b"\0", 0
    if kind == "R":
        size = int(words[1])
        same = len(words) > 2 and digest(data[:size]) == words[2]
        choice, start = (b"M", size) if same else (b"F", 0)
    put(choice + data[start:] + b"\0")
    ack()


def sink(path):
    put(b"\0")
    while True:
        first = os.read(0, 1)
        if not first:
            return
        _, size, theirs, name = (first.decode() + line()).split(" ", 3)
        assert len(theirs) == 128, theirs
        log("name " + name)
        size = int(size)
        have = content(path) if os.path.exists(path) else None
        if have is None:
            standing = "R0000 0 "
        elif size > 0 and digest(have) == theirs:
            standing = "S"
        elif len(have) < size:
            standing = f"R0644 {len(have)} {digest(have)}"
        elif len(have) == size:
            standing = f"C0644 {len(have)} {digest(have)}"
        else:
            standing = f"C0644 {len(have)}"
        put(standing.ljust(191).encode() + b"\0")
        if standing == "S":
            continue
        choice = exactly(1)
        log("source " + {b"M": "M", b"F": "F", b"\0": "0"}[choice])
        start = len(have) if choice == b"M" else 0
        data = exactly(size - start)
        with open(path, "r+b" if choice == b"M" else "wb") as f:
            f.seek(start)
            f.write(data)
        ack()
        put(b"\0")


assert "-Z" in sys.argv
(sink if "-t" in sys.argv else source)(sys.argv[-1])
