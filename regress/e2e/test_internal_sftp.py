# SPDX-License-Identifier: ISC
"""internal-sftp in the session process: no process beside it, several at
once, and every way in which one can end."""

import hashlib
import os
import re
import signal
import socket
import struct
import subprocess
import time

import pytest

import harness
from harness import MIB, Client, have, run, stock, wait_for
from rawsftp import (ATTRS, CLOSE, DATA, EXTENDED, EXTENDED_REPLY, READ, STAT,
                     STATUS, WRITE, Raw, string)

pytestmark = [
    pytest.mark.skipif(not have("hpn", "sshd"),
                       reason="hpnsshd is not built"),
    pytest.mark.skipif(not stock("ssh") or not stock("sftp"),
                       reason="no stock ssh and sftp are installed"),
]


@pytest.fixture
def server(make_server):
    return make_server("Subsystem sftp internal-sftp")


@pytest.fixture
def client(server):
    return Client("stock", server)


def names(server):
    return sorted(name for _, name in server.connections().values())


def sftp(client, *commands, **kw):
    return run([stock("sftp"), "-b", "-", *client.options(), "-P",
                client.server.port, f"{client.user}@127.0.0.1"],
               stdin="\n".join(commands).encode() + b"\n", **kw)


def test_no_process(make_server, server, client):
    def settled(of):
        """Without hpnsshd-auth, which ends behind the login."""
        return [name for name in names(of) if name != "hpnsshd-auth"]

    with Raw(client) as raw:
        here = settled(server)
        assert raw.call(STAT, string("/"))[0] == ATTRS
    other = make_server("Subsystem sftp internal-sftp -l ERROR")
    with Raw(Client("stock", other)):
        assert len(settled(other)) == len(here) + 1


def test_only_where_the_server_says_so(make_server, tmp_path):
    """As a command of the client's choice it is one for the shell, or it would
    be a way around the flags of the subsystem, and around the shell."""
    (tmp_path / "a").write_text("a")
    for server in (make_server("Subsystem sftp internal-sftp -R"),
                   make_server("# no subsystem")):
        client = Client("stock", server)
        done = client.ssh("internal-sftp", stdin=string(
            struct.pack(">BI", 1, 3)))
        assert done.rc == 127 and done.out == b"", done
        done = client.ssh("internal-sftp -R", flags=["-tt"])
        assert done.rc == 127, done
    forced = Client("stock", make_server("ForceCommand internal-sftp -R"))
    assert sftp(forced, f"get {tmp_path}/a {tmp_path}/b").rc == 0


def test_status_at_the_end(client):
    with Raw(client) as raw:
        assert raw.end() == (0, b"")
    with Raw(client) as raw:  # all that was asked is still answered
        for _ in range(100):
            raw.ask(STAT, string("/"))
        rc, rest = raw.end()
        assert rc == 0 and rest[4] == ATTRS
        assert len(rest) == 100 * (4 + struct.unpack(">I", rest[:4])[0])
    with Raw(client) as raw:
        raw.put(b"\0")
        assert raw.end() == (1, b"")


def test_start_directory(client):
    with Raw(client) as raw:
        _, rest = raw.call(16, string("."))  # REALPATH
        assert string(os.path.realpath(os.path.expanduser("~"))) in rest


@pytest.mark.parametrize("size", [0, 1, 32767, 32768, 32769, 261119, 261120,
                                  3 * MIB + 11])
def test_reads_of_any_size(client, data_file, size):
    """Replies that fit into a packet, nearly, and not at all."""
    f = data_file(size)
    content = f.read_bytes()
    with Raw(client) as raw:
        handle = raw.open(f)
        for want in (1, 1000, 32755, 32756, 32768, 100000, 261120, 999999):
            at = 0
            asked = {}
            while at < size and len(asked) < 50:
                asked[raw.ask(READ, handle, struct.pack(">QI", at, want))] = at
                at += min(want, 261120)
            for _ in range(len(asked)):
                kind, of, rest = raw.take()
                assert kind == DATA
                start = asked.pop(of)
                assert rest[4:] == content[start:start + min(want, 261120)]
        kind, rest = raw.call(READ, handle, struct.pack(">QI", size, 10))
        assert kind == STATUS and rest[:4] == b"\0\0\0\1"
        assert raw.call(CLOSE, handle)[0] == STATUS
        assert raw.end() == (0, b"")


def test_sftp_and_others(client, data_file, tmp_path):
    f = data_file(5 * MIB + 3)
    (tmp_path / "tree/a").mkdir(parents=True)
    for i in range(30):
        (tmp_path / f"tree/a/{i}").write_bytes(os.urandom(i * 1000))
    sftp(client, f"put {f} {tmp_path}/up", f"get {f} {tmp_path}/down",
         f"put -R {tmp_path}/tree {tmp_path}/tree2",
         f"get -R {tmp_path}/tree2 {tmp_path}/tree3").ok()
    for name in ("up", "down"):
        assert (tmp_path / name).read_bytes() == f.read_bytes()
    run(["diff", "-r", tmp_path / "tree", tmp_path / "tree3"]).ok()
    client.scp(f, f":{tmp_path}/scp").ok()
    assert (tmp_path / "scp").read_bytes() == f.read_bytes()


def test_sessions_side_by_side(client, data_file, tmp_path):
    """As many as MaxSessions allows, on one connection, each its own file,
    and a shell beside."""
    f = data_file(2 * MIB)
    args = (f"ControlPath={tmp_path}/c", "ControlMaster=auto",
            "ControlPersist=20")
    want = f.read_bytes()
    raws = []
    try:
        for i in range(9):
            raws.append(Raw(client, *args))
        handles = [raw.open(f) for raw in raws]
        for raw, handle in zip(raws, handles):
            for at in range(0, len(want), 32768):
                raw.ask(READ, handle, struct.pack(">QI", at, 32768))
        assert client.ssh("echo hello", options=args).ok().out == b"hello\n"
        for raw in raws:
            for at in range(0, len(want), 32768):
                assert raw.take()[2][4:] == want[at:at + 32768]
        raws[3].process.kill()  # one goes, the others stay
        raws[3].process.wait()
        for i, raw in enumerate(raws):
            if i != 3:
                assert raw.call(CLOSE, handles[i])[0] == STATUS
                assert raw.end() == (0, b"")
    finally:
        for raw in raws:
            raw.__exit__()
        client.ssh(options=args, flags=["-O", "exit"])


def test_digest_beside(client, tmp_path):
    """A digest takes long, and nobody waits for it; the client may leave."""
    big = tmp_path / "big"
    with open(big, "wb") as f:
        f.truncate(200 * MIB)
    want = hashlib.sha256(bytes(200 * MIB)).digest()
    with Raw(client) as raw:
        check = raw.ask(EXTENDED, string("check-file-name"), string(big),
                        string("sha256"), struct.pack(">QQI", 0, 0, 0))
        stat = raw.ask(STAT, string("/"))
        first, second = raw.take(), raw.take()
        assert (first[0], first[1]) == (ATTRS, stat)
        assert (second[0], second[1]) == (EXTENDED_REPLY, check)
        assert second[2] == string("sha256") + want
        for _ in range(4):
            raw.ask(EXTENDED, string("check-file-name"), string(big),
                    string("sha256"), struct.pack(">QQI", 0, 0, 0))
        assert raw.call(STAT, string("/"))[0] == ATTRS
        raw.process.kill()


@pytest.fixture
def stalled_disk(tmp_path):
    """A mounted directory, and the process whose stop stops it."""
    below, place = tmp_path / "below", tmp_path / "mounted"
    program = "/usr/lib/openssh/sftp-server"
    if not (stock("sshfs") and os.access("/dev/fuse", os.W_OK)
            and os.path.exists(program)):
        pytest.skip("no sshfs here")
    below.mkdir()
    place.mkdir()
    (below / "f").write_bytes(b"0123456789" * 100000)
    a, b = socket.socketpair()
    server = subprocess.Popen([program], stdin=a, stdout=a)
    fs = subprocess.Popen([stock("sshfs"), "-f", "-o", "passive", f":{below}",
                           str(place)], stdin=b, stdout=b)
    a.close()
    b.close()
    try:
        if not wait_for(lambda: os.path.ismount(place)):
            pytest.skip("cannot mount")
        yield place, server.pid
    finally:
        os.kill(server.pid, signal.SIGCONT)
        run(["umount", "-l", place])
        for process in (fs, server):
            process.kill()
            process.wait()


def test_stalled_disk(client, stalled_disk, tmp_path):
    """Who waits for another machine holds up nobody on the connection."""
    place, pid = stalled_disk
    args = (f"ControlPath={tmp_path}/c", "ControlMaster=auto",
            "ControlPersist=20")
    try:
        with Raw(client, *args) as raw, Raw(client, *args) as other:
            handle = raw.open(place / "f")
            os.kill(pid, signal.SIGSTOP)
            read = raw.ask(READ, handle, struct.pack(">QI", 500000, 10))
            stat = raw.ask(STAT, string(place / "f"))
            assert other.call(STAT, string("/"))[0] == ATTRS
            assert client.ssh("echo hello", options=args).ok().out \
                == b"hello\n"
            os.kill(pid, signal.SIGCONT)
            got = {raw.take()[:2], raw.take()[:2]}
            assert got == {(DATA, read), (ATTRS, stat)}
            # Who leaves meanwhile is not waited for either.
            os.kill(pid, signal.SIGSTOP)
            raw.ask(READ, handle, struct.pack(">QI", 900000, 10))
            assert other.call(STAT, string("/"))[0] == ATTRS
            raw.process.kill()
            raw.process.wait()
            time.sleep(0.2)
            assert other.call(STAT, string("/"))[0] == ATTRS
            os.kill(pid, signal.SIGCONT)
            assert other.end() == (0, b"")
    finally:
        client.ssh(options=args, flags=["-O", "exit"])


def test_client_is_gone(server, client, data_file, tmp_path):
    """In the middle of both directions: the server notices, and is ready."""
    f = data_file(20 * MIB)
    for _ in range(3):
        raw = Raw(client)
        handle, out = raw.open(f), raw.open(tmp_path / "out", 2 | 8)
        for at in range(0, 20 * MIB, 261120):
            raw.ask(READ, handle, struct.pack(">QI", at, 261120))
        raw.process.stdin.write(  # half a WRITE
            struct.pack(">IBI", 100025, WRITE, 9) + out
            + struct.pack(">QI", 0, 100000) + b"x" * 50000)
        raw.process.stdin.flush()
        os.kill(raw.process.pid, signal.SIGKILL)
        raw.process.wait()
    assert wait_for(lambda: not server.connections())
    assert client.ssh("true").rc == 0


def test_slow_reader(client, data_file):
    """A peer that asks for much and takes nothing does not grow it."""
    f = data_file(MIB)
    with Raw(client) as raw:
        pid = max(client.server.connections())
        handle = raw.open(f)
        os.set_blocking(raw.process.stdin.fileno(), False)
        request = string(struct.pack(">BI", READ, 7) + handle
                         + struct.pack(">QI", 0, 261120))
        sent = 0
        end = time.time() + 2
        while time.time() < end:
            try:
                sent += os.write(raw.process.stdin.fileno(), request * 100)
            except BlockingIOError:
                time.sleep(0.05)
        assert sent > 100000
        assert harness.is_sanitized() or harness.rss_kib(pid) < 64 * 1024


@pytest.mark.parametrize("flags,file_ok,remove_ok", [
    ("", True, True), ("-R", False, False), ("-P remove", True, False),
    ("-p open,write,close,stat,lstat,fsetstat,realpath,setstat", True, False),
    ("-u 077", True, True)])
def test_flags(make_server, tmp_path, flags, file_ok, remove_ok):
    client = Client("stock", make_server(
        f"Subsystem sftp internal-sftp {flags}"))
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    done = sftp(client, f"-put {tmp_path}/a {tmp_path}/c",
                f"-rm {tmp_path}/b")
    assert (tmp_path / "c").exists() == file_ok, done
    assert (tmp_path / "b").exists() != remove_ok, done
    if flags == "-u 077":
        assert (tmp_path / "c").stat().st_mode & 0o777 == 0o600


def test_bad_flags(make_server):
    client = Client("stock", make_server(
        "Subsystem sftp internal-sftp -P nonsense"))
    assert client.ssh("sftp", flags=["-s"]).rc == 1


def test_forced(make_server, tmp_path):
    """ForceCommand, with its own arguments; see also test_session_rules."""
    client = Client("stock", make_server(
        "Subsystem sftp internal-sftp\nForceCommand internal-sftp -R"))
    assert sftp(client, f"mkdir {tmp_path}/x").rc == 1
    assert not (tmp_path / "x").exists()


def test_log_of_the_connection(make_server, tmp_path, data_file):
    """The lines that HPN's tools read, with counts that are true: of all
    that was sent, before login too."""
    server = make_server("Subsystem sftp internal-sftp\nLogLevel VERBOSE")
    f = data_file(3 * MIB)
    client = Client("stock", server)
    client.scp(f, f":{tmp_path}/up").ok()
    client.scp(f":{tmp_path}/up", tmp_path / "down").ok()
    assert wait_for(lambda: server.log_text().count("Throughput") == 2)
    log = server.log_text()
    where = r"SSH: Server;Ltype: {};Remote: 127\.0\.0\.1-\d+;"
    assert len(re.findall(where.format("Version")
                          + r"Protocol: 2\.0;Client: OpenSSH_\S+", log)) == 2
    assert len(re.findall(where.format("Kex") + r"Enc: \S+;MAC: \S+;"
                          r"Comp: none", log)) == 2
    assert len(re.findall(where.format("Authname")
                          + f"Name: {client.user}\\b", log)) == 2
    rows = re.findall(r"LType: Throughput;Remote: 127\.0\.0\.1-\d+;IN: (\d+)"
                      r";OUT: (\d+);Duration: ([\d.]+);tPut_in: ([\d.]+);"
                      r"tPut_out: ([\d.]+)", log)
    assert len(rows) == 2, log
    for row, (much, little) in zip(rows, ((0, 1), (1, 0))):
        numbers = [float(n) for n in row]
        assert 3 * MIB < numbers[much] < 3 * MIB * 1.1
        # two key exchanges' worth, a login, and the small messages
        assert 3000 < numbers[little] < 200000
        for count, rate in ((0, 3), (1, 4)):
            # The duration is told to a tenth of a second.
            assert numbers[count] / (numbers[2] + 0.06) <= numbers[rate]
            if numbers[2] > 0.06:
                assert numbers[rate] <= \
                    numbers[count] / (numbers[2] - 0.06)
