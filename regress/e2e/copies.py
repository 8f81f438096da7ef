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

SFTP_WORDS = r"""
import os, struct, sys

def take(n):
    data = b""
    while len(data) < n:
        piece = os.read(0, n - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data

def put(data):
    while data:
        data = data[os.write(1, data):]

def u32(n):
    return struct.pack(">I", n)

def string(s):
    return u32(len(s)) + s

def first_string(rest):
    return rest[4:4 + struct.unpack(">I", rest[:4])[0]]

def send(kind, body):
    put(struct.pack(">IB", len(body) + 1, kind) + body)

def status(number):
    send(101, rid + u32(number) + string(b"") * 2)

def requests(extensions=b""):
    # Says hello, and gives the type of each request and what is behind its
    # id, which is in rid.
    global rid
    while True:
        length, kind = struct.unpack(">IB", take(5))
        body = take(length - 1)
        if kind == 1:
            send(2, u32(3) + extensions)
            continue
        rid = body[:4]
        yield kind, body[4:]
"""


def sftp_end(path, code):
    """A server that is no good: code, behind SFTP_WORDS. The command that
    starts it."""
    path.write_text(SFTP_WORDS + code)
    return f"{sys.executable} {path}"


LYING_SERVER = r"""
def names(entry, attrs):
    send(104, rid + u32(1) + string(entry) * 2 + attrs)

def attrs(mode):
    return struct.pack(">IQI", 0x5, 4, mode)

left = {}
for kind, rest in requests():
    name = first_string(rest)
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
        names(leads_to, u32(0))
    elif kind == 3:
        send(102, rid + string(name))
    elif kind == 5 and rest[4 + len(name):12 + len(name)] == bytes(8):
        send(103, rid + string(b"evil"))
    else:
        status({4: 0, 5: 1, 12: 1}.get(kind, 8))
"""


def lying_server(directory, leads_to, listings, stats=None):
    """A program to run as a server: what it says is in each directory, as
    pairs of name and mode; and what STAT and LSTAT say of a name, one mode
    after the other (a directory, if nothing). All links lead to one place, all
    files have four bytes."""
    command = sftp_end(directory / "server.py",
                       f"leads_to = {os.fsencode(leads_to)!r}\n"
                       f"listings, stats = {listings!r}, {stats or {}!r}\n"
                       f"DIR = {DIR}\n{LYING_SERVER}")
    return executable(directory / "server", f"exec {command}\n")
