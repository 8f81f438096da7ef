# SPDX-License-Identifier: ISC
"""The user's process is a program of its own: it has nothing of the monitor's,
the user's programs cannot look into it, and no file that the user can write
makes it load anything or decides what a name means."""

import os
import re
import shutil
import socket
import struct
import subprocess
import threading
from pathlib import Path

import pytest
from ownetc import HASH, OWN_GROUP, PASSWORD, UID, USER, own
from sshwire import (CHANNEL_DATA, CHANNEL_OPEN, CHANNEL_REQUEST,
                     CHANNEL_SUCCESS, OPEN_CONFIRMATION, connect, load_key)

import harness
import memories
from harness import Client, have

pytestmark = [
    pytest.mark.skipif(not have("hpn", "ssh", "sshd"),
                       reason="hpnssh and hpnsshd are not built"),
    pytest.mark.skipif(not harness.stock("ssh"), reason="no stock ssh"),
]
AT_RANDOM = 25
# What a program of the user's tries with the process that started it.
ROGUE = r"""
import ctypes, os
pid = os.getppid()
libc = ctypes.CDLL(None, use_errno=True)
got = []
def attempt(name, act):
    try:
        if act():
            got.append(name)
    except OSError:
        pass
attempt("mem", lambda: open(f"/proc/{pid}/mem", "rb"))
attempt("maps", lambda: open(f"/proc/{pid}/maps", "rb").read())
attempt("fd", lambda: os.listdir(f"/proc/{pid}/fd"))
attempt("environ", lambda: open(f"/proc/{pid}/environ", "rb").read())
attempt("ptrace", lambda: libc.ptrace(16, pid, 0, 0) == 0)
pidfd = libc.syscall(434, pid, 0)
attempt("pidfd", lambda: any(libc.syscall(438, pidfd, n, 0) >= 0
                             for n in range(16)))
print(open(f"/proc/{pid}/comm").read().strip(), pidfd >= 0, got)
"""
PLANTED = r"""
#include <fcntl.h>
__attribute__((constructor)) static void loaded(void);
static void loaded(void) { (void)!open("/etc/loaded", O_CREAT | O_WRONLY, 0600); }
"""


@pytest.fixture
def root_directory(own, tmp_path):
    """Its etc/ is the user's, and names a module for every kind of name."""
    top = Path(f"/run/hpn-test-user-{os.getpid()}")
    shutil.rmtree(top, ignore_errors=True)
    (top / "etc").mkdir(parents=True)
    (top / "etc/nsswitch.conf").write_text(
        "passwd: planted\ngroup: planted\nhosts: planted files\n"
        "services: planted\ninitgroups: planted\n")
    # The machine's names it too, where it has not been needed before.
    (own.etc / "nsswitch.conf").write_text(
        "passwd: files planted\ngroup: files\nhosts: files\n")
    (top / "etc/hosts").write_text("127.0.0.1 permitted.invalid\n")
    source, module = tmp_path / "planted.c", tmp_path / "planted.so"
    source.write_text(PLANTED)
    harness.run(["cc", "-shared", "-fPIC", "-o", module, source]).ok()
    libraries = re.findall(r"/\S+(?=/libc\.so)", harness.run(
        ["ldd", harness.BUILD / "hpnsshd"]).text)
    for place in {*libraries, "/lib", "/usr/lib"}:
        (top / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
        for name in ("libnss_planted.so.2", "libIPSec_MB.so.1"):
            shutil.copy(module, top / place.lstrip("/") / name)
    for path in (top / "etc", *(top / "etc").iterdir()):
        os.chown(path, UID, OWN_GROUP)
    (top / "files").mkdir()
    (top / "files/of-user").write_text("x")
    os.chown(top / "files/of-user", UID, OWN_GROUP)
    (top / "files/of-nobody").write_text("x")
    os.chown(top / "files/of-nobody", 59999, 59998)
    top.chmod(0o755)
    yield top
    shutil.rmtree(top)


def client_of(server, **kw):
    return Client("hpn", server, user=USER, **kw)


def sftp(server, batch):
    client = client_of(server)
    return harness.run([harness.hpn("sftp"), "-b", "-", *client.options(),
                        "-P", server.port, f"{USER}@127.0.0.1"],
                       stdin=batch.encode()).ok().text


def users_process(server):
    """The pids of monitor and user's process of the one connection."""
    def found():
        pids = {name: p for p, (_, name) in server.connections().items()}
        return pids if {"hpnsshd-user", "hpnsshd-session"} <= set(pids) \
            else None
    pids = {}
    assert harness.wait_for(lambda: pids.update(found() or {}) or pids)
    return pids["hpnsshd-session"], pids["hpnsshd-user"]


class Idle:
    """A connection with a session that waits."""

    def __init__(self, server, **kw):
        self.process = harness.start(
            [*client_of(server, **kw).ssh_args(), "echo here; exec sleep 1000"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"here\n"

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        harness.kill_group(self.process)
        self.process.stdout.close()


# ---- a root directory that the user can write to --------------------------

@pytest.mark.parametrize("flags", ["", " -u 022"])  # here, and in a child
def test_no_module_of_the_user_is_loaded(own, root_directory, flags):
    server = own.server(
        f"ChrootDirectory {root_directory}\n"
        f"Subsystem sftp internal-sftp{flags}\n")
    listed = sftp(server, "ls -ln /files\nls -l /files\n")
    assert not (root_directory / "etc/loaded").exists()
    assert "of-user" in listed
    assert re.search(rf"{USER} +{USER} .*of-user", listed), listed
    assert re.search(r"59999 +59998 .*of-nobody", listed), listed


def test_no_library_of_the_user_is_loaded(own, root_directory, tmp_path):
    """More than what OpenSSL encrypts before libipsec_mb is asked for."""
    large = root_directory / "files/large"
    large.write_bytes(os.urandom(16 << 20))
    server = own.server(f"ChrootDirectory {root_directory}\n"
                        "Subsystem sftp internal-sftp\n"
                        "Ciphers aes128-gcm@openssh.com\n")
    sftp(server, f"get /files/large {tmp_path}/got\n")
    assert (tmp_path / "got").read_bytes() == large.read_bytes()
    assert not (root_directory / "etc/loaded").exists()


def test_names_of_hosts_are_those_outside(own, root_directory):
    """A name that is permitted means what it means to the administrator."""
    with socket.create_server(("127.0.0.1", 0)) as target:
        port = target.getsockname()[1]
        server = own.server(f"ChrootDirectory {root_directory}\n"
                            f"PermitOpen permitted.invalid:{port} "
                            f"localhost:{port}\n")
        client = client_of(server)
        target.settimeout(2)
        done = harness.run(client.ssh_args(
            flags=["-W", f"permitted.invalid:{port}"]))
        assert done.rc != 0
        with pytest.raises(TimeoutError):
            target.accept()
        answered = threading.Thread(
            target=lambda: target.accept()[0].sendall(b"hello"))
        target.settimeout(60)
        answered.start()
        done = harness.run(client.ssh_args(flags=["-W", f"localhost:{port}"]))
        answered.join()
        assert done.out == b"hello"
    assert not (root_directory / "etc/loaded").exists()


def ask_names(server, uids):
    """users-groups-by-id@openssh.com over a session of SFTP."""
    process = subprocess.Popen(
        [str(a) for a in client_of(server).ssh_args(flags=["-s"])] + ["sftp"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env=harness.clean_env(), start_new_session=True)

    def string(b):
        return struct.pack(">I", len(b)) + b

    def exchange(body):
        os.write(process.stdin.fileno(), string(body))
        length, = struct.unpack(">I", process.stdout.read(4))
        return process.stdout.read(length)
    try:
        exchange(b"\1\0\0\0\3")
        ids = b"".join(struct.pack(">I", u) for u in uids)
        reply = exchange(b"\xc8\0\0\0\1" +
                         string(b"users-groups-by-id@openssh.com") +
                         string(ids) + string(b""))
        length, = struct.unpack(">I", reply[5:9])
        names, at = [], 9
        while at < 9 + length:
            n, = struct.unpack(">I", reply[at:at + 4])
            names.append(reply[at + 4:at + 4 + n].decode())
            at += 4 + n
        return names
    finally:
        harness.kill_group(process)
        process.stdin.close()
        process.stdout.close()


def test_no_list_of_accounts(own, root_directory):
    """Who is in a root directory of his own learns of nobody else."""
    plain = own.server("Subsystem sftp internal-sftp\n")
    assert ask_names(plain, [0, UID]) == ["root", USER]
    server = own.server(f"ChrootDirectory {root_directory}\n"
                        "Subsystem sftp internal-sftp\n")
    assert ask_names(server, range(0, 200)) == [""] * 200


# ---- what the user's programs can do with it ------------------------------

def test_rogue_program(own):
    done = client_of(own.server()).ssh("exec python3 -", stdin=ROGUE.encode())
    assert done.ok().text.split() == ["hpnsshd-user", "True", "[]"], done


def test_rogue_program_of_whoever_started_the_server(make_server):
    if harness.IS_ROOT:
        pytest.skip("root may look into everything")
    done = Client("hpn", make_server()).ssh("exec python3 -",
                                            stdin=ROGUE.encode())
    assert done.ok().text.split() == ["hpnsshd-user", "True", "[]"], done


def test_names_are_asked_for_by_nobody_who_can_be_traced(own,
                                                         root_directory):
    """It is outside of the root directory, as the user: not a way there."""
    server = own.server(f"ChrootDirectory {root_directory}\n"
                        "Subsystem sftp internal-sftp\n")
    client = client_of(server)
    process = harness.start([*client.ssh_args(flags=["-s"]), "sftp"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        os.write(process.stdin.fileno(), b"\0\0\0\5\1\0\0\0\3")
        assert process.stdout.read(4)
        starters = [p for p in server.connections()
                    if b"[names]" in harness.title(p)]
        assert len(starters) == 1
        place = Path(f"/proc/{starters[0]}")
        assert os.readlink(place / "root") == "/"
        status = (place / "status").read_text()
        assert f"Uid:\t{UID}\t{UID}\t{UID}\t{UID}\n" in status
        assert "CapEff:\t0000000000000000" in status
        assert "NoNewPrivs:\t1" in status
        assert (place / "mem").stat().st_uid == 0  # not dumpable
        assert sorted(os.listdir(place / "fd")) == ["0", "1", "2", "3"]
    finally:
        harness.kill_group(process)
        process.stdin.close()
        process.stdout.close()


# ---- processes that ask for names, without a root directory ---------------

def string(b):
    return struct.pack(">I", len(b)) + b


def ask_for_owners(w):
    """ls -l over SFTP."""
    channel = w.open_session()[0]
    w.say(CHANNEL_REQUEST, channel, "subsystem", True, "sftp")
    w.expect(CHANNEL_SUCCESS)
    for request in (b"\1\0\0\0\3", b"\xc8\0\0\0\1" +
                    string(b"users-groups-by-id@openssh.com") +
                    string(struct.pack(">I", UID)) + string(b"")):
        w.say(CHANNEL_DATA, channel, string(string(request)))
        reply = w.expect(CHANNEL_DATA)
        reply.u32()
        reply = reply.string()
    assert USER.encode() in reply


def ask_for_a_host(w):
    """A forwarding to a name."""
    with socket.create_server(("127.0.0.1", 0)) as target:
        w.say(CHANNEL_OPEN, "direct-tcpip", 0, 1000, 1000, "localhost",
              target.getsockname()[1], "127.0.0.1", 1)
        w.expect(OPEN_CONFIRMATION)


@pytest.mark.parametrize("ask", [ask_for_owners, ask_for_a_host])
def test_asks_with_nothing_of_the_connection(own, keys, ask):
    """The processes that look names up are executed afresh: they have no page
    and no descriptor of the process that has the connection's keys."""
    server = own.server("Subsystem sftp internal-sftp\n")
    w = connect(server).login(USER, load_key(keys.path("ed25519")))
    try:
        ask(w)
        asked = [p for p in harness.descendants(os.getpid())
                 if b"[names of " in harness.title(p)]
        _, user = users_process(server)
        assert memories.found(user, *w.secrets) == w.secrets
        assert len(asked) == 1
        place = Path(f"/proc/{asked[0]}")
        assert memories.found(asked[0], *w.secrets, w.session_id) == []
        assert random_of(asked[0]) != random_of(user)
        assert not code_of(asked[0]) & code_of(user)
        assert sorted(os.listdir(place / "fd")) == ["0", "1", "2", "3"]
        status = (place / "status").read_text()
        assert f"Uid:\t{UID}\t{UID}\t{UID}\t{UID}\n" in status
        assert "NoNewPrivs:\t1" in status
        assert (place / "mem").stat().st_uid == 0  # not dumpable
    finally:
        w.close()
    assert harness.wait_for(lambda: not harness.title(asked[0]))


def test_role_that_is_none():
    """Nobody else makes anything of the program."""
    for argument in ("[names of nobody]", "[names of hosts] ", "-v", ""):
        done = harness.run([harness.BUILD / "hpnsshd-user", argument])
        assert done.rc == 1 and "is started by" in done.errors, done


# ---- what it has of the monitor -------------------------------------------

def memory(pid):
    text = b""
    with open(f"/proc/{pid}/mem", "rb") as mem:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            area, rights = line.split()[:2]
            if not rights.startswith("rw"):
                continue
            start, end = (int(x, 16) for x in area.split("-"))
            try:
                mem.seek(start)
                text += mem.read(end - start)
            except OSError:
                pass
    return text


def random_of(pid):
    """The bytes that canaries are made of, and where they are."""
    auxv = Path(f"/proc/{pid}/auxv").read_bytes()
    words = struct.unpack(f"={len(auxv) // 8}Q", auxv)
    place = dict(zip(words[::2], words[1::2]))[AT_RANDOM]
    with open(f"/proc/{pid}/mem", "rb") as mem:
        mem.seek(place)
        return place, mem.read(16)


def code_of(pid):
    return {line.split("-")[0] for line in
            Path(f"/proc/{pid}/maps").read_text().splitlines()
            if " r-xp " in line and "[v" not in line}


def test_another_canary_and_layout(own):
    server = own.server()
    with Idle(server):
        monitor, user = users_process(server)
        (at, canary), (at2, canary2) = random_of(monitor), random_of(user)
        assert at != at2 and canary != canary2
        assert not code_of(monitor) & code_of(user)


def host_secret(keys):
    """The seed of the host's Ed25519 key: 64 bytes, its public half last."""
    import base64
    lines = Path(keys.path("ed25519-host")).read_text().splitlines()
    raw = base64.b64decode("".join(lines[1:-1]))
    public = base64.b64decode(keys.public("ed25519-host").split()[1])[-32:]
    at = raw.rindex(b"\0\0\0\x40") + 4
    assert raw[at + 32:at + 64] == public
    return raw[at:at + 32]


def test_no_secret_of_others(own, keys, tmp_path):
    """Wrong passwords make the monitor read hashes of all accounts."""
    script = tmp_path / "askpass"
    script.write_text("#!/bin/sh\necho wrong\n")
    script.chmod(0o755)
    server = own.server("PasswordAuthentication yes\nMaxAuthTries 6\n")
    env = harness.clean_env(SSH_ASKPASS=script, DISPLAY=":0",
                            SSH_ASKPASS_REQUIRE="force")
    client = client_of(server, options=[
        "BatchMode=no", "PreferredAuthentications=password,publickey",
        "NumberOfPasswordPrompts=1"])
    process = harness.start(
        [*client.ssh_args(), "echo here; exec sleep 1000"], env=env,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"here\n"
        monitor, user = users_process(server)
        secret = host_secret(keys)
        assert secret in memory(monitor)  # the search finds it where it is
        text = memory(user)
        assert USER.encode() in text
        assert secret not in text
        assert HASH[:30].encode() not in text
        assert not re.search(rb":\$(y|6|5|1|2[aby])\$[^:\n]{8,}:\d", text)
        assert PASSWORD.encode() not in text
    finally:
        harness.kill_group(process)
        process.stdout.close()


def test_only_its_own_descriptors(own):
    server = own.server()
    with Idle(server):
        monitor, user = users_process(server)

        def links(pid):
            found = {}
            for name in os.listdir(f"/proc/{pid}/fd"):
                found[int(name)] = os.readlink(f"/proc/{pid}/fd/{name}")
            return found
        mine = links(user)
        assert mine[3].startswith("socket:") and mine[4].startswith("socket:")
        others = {v for k, v in links(monitor).items()
                  if k > 2 and not v.startswith("anon_inode:")}
        assert not others & set(mine.values())
