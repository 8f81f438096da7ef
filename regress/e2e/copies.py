# SPDX-License-Identifier: ISC
"""What tests of copies share: servers that are run without a connection, a
stand-in for ssh that runs commands here, and far ends that are hostile."""

import os
import sys

from harness import hpn, run

SCP, SFTP = hpn("scp"), hpn("sftp")
OURS = hpn("sftp-server")
STOCK = "/usr/lib/openssh/sftp-server"
SERVERS = [OURS] + ([STOCK] if os.path.exists(STOCK) else [])


def scp(*args, server=OURS, **kw):
    return run([SCP, "-D", server, *args], **kw)


def executable(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def ssh_here(path, programs, first=""):
    """Runs a command as the other end would, with `programs` in front of
    PATH."""
    return executable(path, f'{first}while [ "$1" != -- ]; do shift; done\n'
                      f"shift 2\nPATH={programs}:$PATH; export PATH\n"
                      'eval "exec $*"\n')


# ---- the legacy protocol -------------------------------------------------

RCP_WORDS = r"""
import os, sys
def put(*a):
    for x in a:
        try: os.write(1, x)
        except BrokenPipeError: os._exit(9)
def line():
    s = b""
    while not s.endswith(b"\n"):
        c = os.read(0, 1)
        if not c: sys.exit(9)
        s += c
    return s
def ack(): return os.read(0, 1)
"""


def rcp_end(path, code):
    """A far end of hpnscp -O; the command that starts it."""
    path.write_text(RCP_WORDS + code)
    return f"{sys.executable} {path}"


# ---- SFTP ----------------------------------------------------------------

DIR, FILE, LINK = 0o40755, 0o100644, 0o120777

LYING_SERVER = r"""
import os, struct, sys

def get(n):
    data = b""
    while len(data) < n:
        piece = os.read(0, n - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data

def string(s):
    return struct.pack(">I", len(s)) + s

def send(kind, body):
    os.write(1, struct.pack(">IB", len(body) + 1, kind) + body)

def status(number):
    send(101, rid + struct.pack(">I", number) + string(b"") * 2)

def names(entry, attrs):
    send(104, rid + struct.pack(">I", 1) + string(entry) * 2 + attrs)

def attrs(mode):
    return struct.pack(">IQI", 0x5, 4, mode)

left = {}
while True:
    length, kind = struct.unpack(">IB", get(5))
    body = get(length - 1)
    if kind == 1:
        send(2, struct.pack(">I", 3))
        continue
    rid, rest = body[:4], body[4:]
    n, = struct.unpack(">I", rest[:4])
    name = rest[4:4 + n]
    last = name.rstrip(b"/").split(b"/")[-1]
    if kind in (17, 7):
        modes = stats.get(last, [DIR])
        send(105, rid + attrs(modes.pop(0) if len(modes) > 1 else modes[0]))
    elif kind == 11:
        left[name] = list(listings.get(last, []))
        send(102, rid + string(name))
    elif kind == 12 and left.get(name):
        entry, mode = left[name].pop(0)
        names(entry, attrs(mode))
    elif kind == 19:
        names(leads_to, struct.pack(">I", 0))
    elif kind == 3:
        send(102, rid + string(name))
    elif kind == 5 and struct.unpack(">Q", rest[4 + n:12 + n])[0] == 0:
        send(103, rid + string(b"evil"))
    else:
        status({4: 0, 5: 1, 12: 1}.get(kind, 8))
"""


def lying_server(directory, leads_to, listings, stats=None):
    """A program to run as a server: what it says is in each directory, as
    pairs of name and mode; and what STAT and LSTAT say of a name, one mode
    after the other (a directory, if nothing). All links lead to one place, all
    files have four bytes."""
    script = directory / "server.py"
    script.write_text(f"leads_to = {os.fsencode(leads_to)!r}\n"
                      f"listings, stats = {listings!r}, {stats or {}!r}\n"
                      f"DIR = {DIR}\n{LYING_SERVER}")
    return executable(directory / "server", f"exec {sys.executable} {script}\n")
