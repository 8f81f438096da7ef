# SPDX-License-Identifier: ISC
"""hpnsftp-server and internal-sftp: flags, log lines, and the installed
sftp client as a peer."""

import os
import stat
import re
import socket
import struct
import subprocess

import pytest

from harness import LONG, Client, have, hpn, run, start, stock, wait_for

SERVER = hpn("sftp-server")

pytestmark = pytest.mark.skipif(not have("hpn", "sftp-server"),
                                reason="hpnsftp-server is not built")
needs_sftp = pytest.mark.skipif(not stock("sftp"),
                                reason="no stock sftp is installed")

REQUESTS = """open close read write lstat fstat setstat fsetstat opendir
readdir remove mkdir rmdir realpath stat rename readlink symlink posix-rename
statvfs fstatvfs hardlink fsync lsetstat limits expand-path copy-data
home-directory users-groups-by-id check-file-handle check-file-name block-sums
block-sums-name copy-blocks uncache times-ns times-ns-name stat-ns sparse-map
readdir-ns put-file put-file-ns put-file-xattrs rename-part get-file walk
walk-read confine ids-by-name own-ids xattrs set-xattrs fset-xattrs""".split()


def sftp(*commands, flags="", cwd=None, check=True):
    """The stock client in batch mode, with our server behind it."""
    done = run([stock("sftp"), "-b", "-", "-D", f"{SERVER} {flags}".strip()],
               stdin="\n".join(commands).encode() + b"\n", cwd=cwd)
    return done.ok() if check else done


def message(kind, body=b""):
    return struct.pack(">IB", len(body) + 1, kind) + body


def test_query():
    assert run([SERVER, "-Q", "requests"]).ok().text.split() == REQUESTS
    assert run([SERVER, "-Q", "what"]).rc == 1


@pytest.mark.parametrize("args", [["-y"], ["-u", "9"], ["-u", "1777"],
                                  ["-l", "LOUD"], ["-f", "NONE"],
                                  ["-P", "opem"], ["-p", "open,x"], ["-h"],
                                  ["-P", "read", "-P", "write"],
                                  ["-p", "open", "-p", "read"]])
def test_bad_flags(args):
    """Two lists too: a second that replaced the first would allow again what
    the first denied."""
    done = run([SERVER, *args])
    assert done.rc == 1 and done.err, done


@needs_sftp
def test_everything_stock_sftp_asks(tmp_path):
    data = os.urandom(3000000)
    (tmp_path / "a").write_bytes(data)
    out = sftp("put a b", "get b c", "rename b d", "ln -s d link",
               "ln d hard", "chmod 600 d", "mkdir sub", "put -r sub sub2",
               "cp a copied", "ls -l", "df", "rm hard", "rmdir sub2",
               "ls link", "put -p a kept",
               "get -f c e", cwd=tmp_path).text
    assert (tmp_path / "c").read_bytes() == data
    assert (tmp_path / "d").read_bytes() == data
    assert (tmp_path / "copied").read_bytes() == data
    assert os.readlink(tmp_path / "link") == "d"
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == 0o600
    assert not (tmp_path / "hard").exists()
    assert "copied" in out
    done = sftp("rename -l a c", cwd=tmp_path, check=False)
    assert done.rc == 1 and (tmp_path / "a").exists()


@needs_sftp
def test_read_only(tmp_path):
    (tmp_path / "a").write_text("a")
    sftp("get a b", flags="-R", cwd=tmp_path)
    for command in ("put a x", "rm a", "mkdir x", "rename a x", "chmod 600 a",
                    "ln -s a x", "ln a x"):
        done = sftp(command, flags="-R", cwd=tmp_path, check=False)
        # Extensions that would change something are not even offered.
        assert done.rc == 1 and (b"Permission denied" in done.err or
                                 b"does not support" in done.err), done
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@needs_sftp
def test_denied_and_allowed(tmp_path):
    (tmp_path / "a").write_text("a")
    assert sftp("rm a", flags="-P remove,rmdir", cwd=tmp_path,
                check=False).rc == 1
    assert (tmp_path / "a").exists()
    assert sftp("mkdir x", flags="-p realpath,stat", cwd=tmp_path,
                check=False).rc == 1
    sftp("mkdir x", flags="-p realpath,stat,mkdir", cwd=tmp_path)
    assert (tmp_path / "x").is_dir()


@needs_sftp
def test_umask_and_start_directory(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "50% here").mkdir()
    sftp("put a b", flags="-u 077", cwd=tmp_path)
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600
    (tmp_path / "x%y").mkdir()
    out = sftp("pwd", flags=f"-d {tmp_path}/x%%y").text
    assert f"{tmp_path}/x%y" in out


@needs_sftp
def test_log_lines(tmp_path):
    (tmp_path / "a").write_text("12345")
    done = sftp("put a b", "get b c", "rename b d", "mkdir m", "rmdir m",
                "rm d", "ls", "-rm none", "df", flags="-e -l INFO",
                cwd=tmp_path)
    for line in (
            f'open "{tmp_path}/b" flags WRITE,CREATE,TRUNCATE mode 0',
            f'close "{tmp_path}/b" bytes read 0 written 5',
            f'open "{tmp_path}/b" flags READ mode 0',
            f'close "{tmp_path}/b" bytes read 5 written 0',
            f'posix-rename old "{tmp_path}/b" new "{tmp_path}/d"',
            f'mkdir name "{tmp_path}/m" mode 0',
            f'rmdir name "{tmp_path}/m"', f'remove name "{tmp_path}/d"',
            "sent status No such file\n", f'statvfs "{tmp_path}"',
            f'opendir "{tmp_path}"', f'closedir "{tmp_path}"',
            "session opened for local user ",
            "session closed for local user "):
        assert line in done.errors, (line, done)
    assert "stat name" not in done.errors
    # At the usual level it says nothing.
    assert b"open " not in sftp("put a b", flags="-e", cwd=tmp_path).err


def text(s):
    s = s if isinstance(s, bytes) else str(s).encode()
    return struct.pack(">I", len(s)) + s


def own(name, *fields):
    """A request of our own."""
    return message(200, struct.pack(">I", 1) + text(name) + b"".join(fields))


def test_log_lines_of_our_own_requests(tmp_path):
    """Whoever watches the log for what was opened, set, closed and renamed
    finds it, whichever request it was done by."""
    path, part = tmp_path / "a", tmp_path / ".a.hpnpart"
    attrs = struct.pack(">IIII", 4 | 8, 0o640, 1000000000, 1000000007)
    opened = text(path) + struct.pack(">II", 1, 0)
    times = struct.pack(">qIqI", 1, 2, 1100000000, 3)
    done = run([SERVER, "-e", "-l", "VERBOSE"], env={"TZ": "UTC"},
               stdin=message(1, struct.pack(">I", 3)) +
               own("put-file@hpnssh.org", text(path), struct.pack(">I", 1),
                   attrs, text("12345")) +
               own("get-file@hpnssh.org", text(path),
                   struct.pack(">I", 100)) +
               own("stat-ns@hpnssh.org", text(path), struct.pack(">I", 0)) +
               own("check-file-name", text(path), text("sha256"),
                   struct.pack(">QQI", 0, 0, 0)) +
               message(3, struct.pack(">I", 1) + opened) +
               own("times-ns@hpnssh.org", text(bytes(4)), times))
    assert done.rc == 0 and path.read_bytes() == b"12345", done
    # A part that one request makes and renames has a name of its own.
    errors = re.sub(r"\.[0-9a-f]{16}\.hpnpart", ".hpnpart", done.errors)
    lines = [line for line in errors.splitlines() if '"' in line]
    assert [line[line.index(": ") + 2:] if ": " in line else line
            for line in lines] == [
        f'lstat name "{path}"',
        f'open "{part}" flags WRITE,CREATE,EXCL mode 0640',
        f'set "{part}" mode 0640',
        f'set "{part}" modtime 20010909-01:46:47',
        f'close "{part}" bytes read 0 written 5',
        f'posix-rename old "{part}" new "{path}"',
        f'open "{path}" flags READ mode 0666',
        f'close "{path}" bytes read 5 written 0',
        f'stat-ns name "{path}"', f'check-file name "{path}"',
        f'open "{path}" flags READ mode 0666',
        f'set "{path}" modtime 20041109-11:33:20',
        f'forced close "{path}" bytes read 0 written 0'], done


def test_forced_close(tmp_path):
    """What a client leaves open is told when it is gone."""
    (tmp_path / "a").write_text("12345")
    path = str(tmp_path / "a").encode()
    name = struct.pack(">I", len(path)) + path
    done = run([SERVER, "-e", "-l", "INFO"], stdin=message(
        1, struct.pack(">I", 3)) +
        message(3, struct.pack(">I", 1) + name + struct.pack(">II", 1, 0)))
    assert done.rc == 0
    assert f'forced close "{tmp_path}/a" bytes read 0 written 0\n' in \
        done.errors, done


def test_nonsense_ends_it():
    for nonsense in (b"hello, I am no sftp client\n", message(3, b"x" * 20),
                     struct.pack(">I", 0xffffffff), b"\0\0\0\0\0"):
        done = run([SERVER, "-e"], stdin=nonsense)
        assert done.rc == 1 and done.out == b"", done
    # A client that only leaves is no error.
    assert run([SERVER, "-e"], stdin=b"").rc == 0
    done = run([SERVER, "-e"], stdin=message(1, struct.pack(">I", 3)) +
               b"\0\0\0\x20\x06\0\0")
    assert done.rc == 0 and done.out[4:9] == b"\x02\0\0\0\x03", done


def test_closed_output():
    """Nobody reads the replies: it ends, without a word or a signal."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        with os.fdopen(writer, "wb") as closed:
            done = run([SERVER, "-e"], stdin=message(
                1, struct.pack(">I", 3)), stdout=closed)
    except BrokenPipeError:
        pass
    assert done.rc == 0, done


@needs_sftp
@pytest.mark.parametrize("subsystem", ["internal-sftp", SERVER])
def test_subsystem(make_server, tmp_path, data_file, subsystem):
    f = data_file(2000000)
    server = make_server(f"Subsystem sftp {subsystem}")
    client = Client("stock", server)
    client.scp(f, f":{tmp_path}/up").ok()
    client.scp(f":{f}", tmp_path / "down").ok()
    assert (tmp_path / "up").read_bytes() == f.read_bytes()
    assert (tmp_path / "down").read_bytes() == f.read_bytes()


@needs_sftp
def test_internal_sftp_read_only(make_server, tmp_path, data_file):
    f = data_file(1000)
    server = make_server("ForceCommand internal-sftp -R")
    client = Client("stock", server)
    client.scp(f":{f}", tmp_path / "down").ok()
    assert client.scp(f, f":{tmp_path}/up").rc == 1
    assert not (tmp_path / "up").exists()


WALK_DIGEST = 128


def long_work(kind, path):
    """Requests that take a quarter of an hour and more for this file."""
    if kind == "check-file":
        return own("check-file-name", text(path), text("sha256"),
                   struct.pack(">QQI", 0, 0, 0))
    return own("walk@hpnssh.org", text(path.parent),
               struct.pack(">I", WALK_DIGEST), text(""), text("")) + \
        own("walk-read@hpnssh.org", text(bytes(4)))


@pytest.mark.parametrize("by_socket", [False, True], ids=["pipes", "socket"])
@pytest.mark.parametrize("kind", ["check-file", "walk"])
def test_long_work_ends_with_the_client(tmp_path, kind, by_socket):
    """Nobody waits for the digest of a huge file: the server ends before it
    is there."""
    path = tmp_path / "top" / "huge"
    path.parent.mkdir()
    path.touch()
    os.truncate(path, 1 << 40)
    if by_socket:
        ours, theirs = socket.socketpair()
        server = start([SERVER], stdin=theirs, stdout=theirs)
        theirs.close()
        stream = ours.makefile("rwb")
        ends = [stream, ours]
    else:
        server = start([SERVER], stdin=subprocess.PIPE,
                       stdout=subprocess.PIPE)
        stream, ends = server.stdin, [server.stdin, server.stdout]
    stream.write(message(1, struct.pack(">I", 3)) + long_work(kind, path))
    stream.flush()
    threads = f"/proc/{server.pid}/task"
    assert wait_for(lambda: len(os.listdir(threads)) > 1)
    for end in ends:
        end.close()
    assert server.wait(LONG) == 0
