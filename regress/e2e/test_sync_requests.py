# SPDX-License-Identifier: ISC
"""What hpnsync asks a server for: as little as can be, with all attributes.
The server's log tells."""

import os
import pwd
import re
import sys

import pytest

from harness import have, hpn, run

SYNC, OURS = hpn("sync"), hpn("sftp-server")
# What put-file calls its parts, unlike the ordinary requests.
IN_ONE = re.compile(r'open "[^"]*\.[0-9a-f]{16}\.hpnpart"')

pytestmark = pytest.mark.skipif(not have("hpn", "sync", "sftp-server"),
                                reason="hpnsync is not built")


@pytest.fixture
def up(tmp_path):
    """Runs an upload; returns the lines of the server's log."""
    log, shell = tmp_path / "log", tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\nexec {OURS} -e -l VERBOSE 2>>{log}\n")
    shell.chmod(0o755)

    def sync(source, target, *options):
        log.write_text("")
        done = run([SYNC, *options, "-e", shell, f"{source}/", f"h:{target}"])
        assert done.rc == 0 and not done.err, done
        return log.read_text(errors="replace").splitlines()
    return sync


def make(top):
    top.mkdir()
    for i, mode in enumerate((0o644, 0o600, 0o4755, 0o2750, 0o444)):
        path = top / f"f{i}"
        path.write_bytes(b"x" * i * 1000)
        path.chmod(mode)
        os.utime(path, ns=(10**18 + 5, 10**18 + 123456789 + i))
    return top


def seen(top):
    return {p.name: (p.read_bytes(), p.stat().st_mode, p.stat().st_mtime_ns,
                     p.stat().st_uid, p.stat().st_gid)
            for p in sorted(top.iterdir())}


def test_a_small_file_is_one_request(up, tmp_path):
    """A small file is one request, also with exact times, owners and all bits
    of the mode."""
    source, target = make(tmp_path / "from"), tmp_path / "to"
    if os.geteuid() == 0:
        os.chown(source / "f1", 12345, 12346)
        os.chown(source / "f2", 12345, 12346)
        (source / "f2").chmod(0o4755)
        os.utime(source / "f2", ns=(10**18, 10**18 + 7))
    log = up(source, target, "-a")
    assert len([line for line in log if IN_ONE.search(line)]) == 5, log
    assert not [line for line in log if "fsetstat" in line]
    assert seen(source) == seen(target)
    # Also what takes an old file's place.
    for path in source.iterdir():
        path.chmod(path.stat().st_mode | 0o200)
        path.write_bytes(b"changed")
    log = up(source, target, "-a")
    assert len([line for line in log if IN_ONE.search(line)]) >= 4, log
    assert seen(source) == seen(target)


def test_a_target_that_is_not_there(up, tmp_path):
    """Nothing is read at the host before the target is made. The root of the
    session was the host's then."""
    source = make(tmp_path / "from")
    log = up(source, tmp_path / "to", "-a")
    made = next(i for i, line in enumerate(log) if "mkdir" in line)
    assert [line for line in log[:made] if "opendir" in line]
    assert not [line for line in log[:made] if 'opendir "/"' in line], log


@pytest.mark.skipif(os.geteuid() != 0, reason="root sets owners")
def test_owners_are_asked_for_together(up, tmp_path):
    """Names of ten owners of 300 files cost one request at the host, and
    --numeric-ids none."""
    users = [account.pw_uid for account in pwd.getpwall()][:10]
    source = tmp_path / "from"
    source.mkdir()
    for i in range(300):
        (source / f"f{i:03}").write_text("x")
        os.chown(source / f"f{i:03}", users[i % len(users)], 0)
    for options, want in ((["-a"], 1), (["-a"], 1),
                          (["-a", "--numeric-ids"], 0), (["-rltp"], 0)):
        log = up(source, tmp_path / "to", *options)
        assert len([line for line in log if "ids-by-name" in line]) == want, \
            options
    assert {p.stat().st_uid for p in (tmp_path / "to").iterdir()} == {*users}


# Passes messages on. Before the second confine@ (the first one behind MKDIR,
# 14) it opens a directory itself, and closes it when that was refused.
HOLDS_A_HANDLE = '''
import os, struct, subprocess, sys, threading
MINE = b"\\xff\\xff\\xff\\xf0"
server = subprocess.Popen([os.environ["SERVER"], "-e", "-l", "VERBOSE"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=open(os.environ["LOG"], "a"))
lock, made, held = threading.Lock(), False, None
def read(source):
    head = source.read(4)
    return head + source.read(struct.unpack(">I", head)[0]) if len(head) == 4 else b""
def send(message):
    with lock:
        server.stdin.write(message)
        server.stdin.flush()
def put(kind, *fields):
    body = bytes([kind]) + MINE + b"".join(
        struct.pack(">I", len(f)) + f for f in fields)
    send(struct.pack(">I", len(body)) + body)
def replies():
    global held
    refused = False
    while message := read(server.stdout):
        if message[5:9] == MINE:
            if message[4] == 102:
                held = message[13:]
            continue
        refused = refused or b"Handles are open" in message
        if refused and held is not None:
            put(4, held)
            held = None
        sys.stdout.buffer.write(message)
        sys.stdout.buffer.flush()
    os._exit(server.wait())
threading.Thread(target=replies).start()
while message := read(sys.stdin.buffer):
    if made and b"confine@hpnssh.org" in message:
        put(11, b"/")
        made = False
    made = made or message[4] == 14
    send(message)
server.stdin.close()
'''


def test_a_handle_that_is_open(tmp_path):
    """A server that will not keep to the new target, because something is open
    there still, is asked again; all is below it then."""
    source, log = make(tmp_path / "from"), tmp_path / "log"
    script, shell = tmp_path / "holds.py", tmp_path / "shell"
    script.write_text(HOLDS_A_HANDLE)
    shell.write_text(f"#!/bin/sh\nSERVER={OURS} LOG={log} "
                     f"exec {sys.executable} {script}\n")
    shell.chmod(0o755)
    done = run([SYNC, "-a", "-e", shell, f"{source}/", f"h:{tmp_path}/to"])
    assert done.rc == 0 and not done.err, done
    assert seen(source) == seen(tmp_path / "to")
    text = log.read_text(errors="replace")
    assert text.count("confine") > 2 and 'open "/.f1.' in text, text
