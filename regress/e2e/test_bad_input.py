# SPDX-License-Identifier: ISC
"""What goes wrong: one clear line each, the right exit status, no hang, and
nothing lost."""

import os
import re
import socket
import struct
import subprocess
import time

import pytest
from rawssh import BANNER, FakeServer, Raw, kexinit, packet

import harness
from harness import IS_ROOT, MIB, Client, hpn, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
needs_scp = pytest.mark.skipif(not harness.have("hpn", "scp"),
                               reason="hpnscp is not built")


def lines_of(done):
    return [line for line in done.errors.splitlines() if line.strip()]


class Fake:
    """A fake server's address, for Client."""

    def __init__(self, port, keys, known_hosts="/dev/null"):
        self.port, self.keys, self.known_hosts = port, keys, known_hosts


# ---- configuration -----------------------------------------------------

WRONG_CLIENT_LINES = [
    "NoSuchKeyword yes", "Port", "Port 0", "Port 65536", "Port many",
    "StrictHostKeyChecking perhaps", "ConnectTimeout -1", "Ciphers nothing",
    "MACs nothing", "KexAlgorithms nothing", "Compression maybe",
    "RekeyLimit 1X", "Hostname \"unterminated", "Match nonsense x",
    "EscapeChar ab",
]


@pytest.mark.parametrize("line", WRONG_CLIENT_LINES)
def test_wrong_client_line(tmp_path, line):
    config = tmp_path / "config"
    config.write_text("# first\n" + line + "\n")
    done = run([hpn("ssh"), "-F", config, "-G", "host"])
    assert done.rc == 255, done
    assert re.search(r"line 2|config:2", done.errors), done
    assert str(config) in done.errors, done


@pytest.mark.parametrize("option", ["NoSuchKeyword=yes", "Port=0", "Port",
                                    "=", ""])
def test_wrong_client_option(option):
    done = run([hpn("ssh"), "-F", "none", "-o", option, "-G", "host"])
    assert done.rc == 255 and lines_of(done), done


WRONG_SERVER_LINES = [
    "NoSuchKeyword yes", "Port", "Port 65536", "PermitRootLogin perhaps",
    "MaxAuthTries x", "Ciphers nothing", "MACs nothing",
    "KexAlgorithms nothing", "LoginGraceTime 1y", "MaxStartups 10:200:30",
    "Match Nonsense x", "Subsystem sftp", "AuthenticationMethods nothing",
]


@pytest.mark.parametrize("line", WRONG_SERVER_LINES)
def test_wrong_server_line(keys, tmp_path, line):
    config = tmp_path / "sshd_config"
    config.write_text(f"HostKey {keys.path('ed25519-host')}\n{line}\n")
    done = run([hpn("sshd"), "-t", "-f", config])
    assert done.rc == 255, done
    assert re.search(r"line 2|sshd_config:2", done.errors), done


def test_missing_configuration(tmp_path):
    for args, status in (
            ([hpn("ssh"), "-F", tmp_path / "nothing", "host"], 255),
            ([hpn("sshd"), "-t", "-f", tmp_path / "nothing"], 1)):
        done = run(args)
        assert done.rc == status, done
        assert "nothing" in done.errors and "No such file" in done.errors


def test_configuration_that_others_may_write(tmp_path):
    """Only the user's own file is checked, which -F names are not; the
    server's is the administrator's."""
    config = tmp_path / "config"
    config.write_text("Port 1234\n")
    config.chmod(0o666)
    done = run([hpn("ssh"), "-F", config, "-G", "host"])
    assert done.rc in (0, 255)


def test_include_of_itself(tmp_path):
    config = tmp_path / "config"
    config.write_text(f"Include {config}\n")
    done = run([hpn("ssh"), "-F", config, "-G", "host"])
    assert done.rc == 255 and lines_of(done), done


def test_binary_configuration(tmp_path):
    config = tmp_path / "config"
    config.write_bytes(os.urandom(5000))
    for args in ([hpn("ssh"), "-F", config, "-G", "host"],
                 [hpn("sshd"), "-t", "-f", config]):
        done = run(args)
        assert done.rc == 255 and lines_of(done), done
        assert b"\x1b" not in done.err  # escaped


# ---- host keys of the server -------------------------------------------

def test_server_without_host_keys(tmp_path):
    config = tmp_path / "sshd_config"
    config.write_text(f"HostKey {tmp_path}/nothing\nPort 1\n")
    done = run([hpn("sshd"), "-t", "-f", config])
    assert done.rc not in (0, -11) and "host key" in done.errors.lower()


def spoil(key, trouble):
    if trouble == "world-readable":
        key.chmod(0o644)
    elif trouble == "garbage":
        key.write_bytes(os.urandom(300))
    elif trouble == "empty":
        key.write_bytes(b"")


@pytest.mark.parametrize("trouble", ["world-readable", "garbage", "empty",
                                     "encrypted"])
def test_server_host_key_trouble(keys, tmp_path, trouble):
    key = tmp_path / "key"
    key.write_bytes(keys.path("ed25519-host").read_bytes())
    key.chmod(0o600)
    spoil(key, trouble)
    if trouble == "encrypted":
        run([keys.keygen, "-q", "-p", "-P", "", "-N", "secret", "-f",
             key]).ok()
    config = tmp_path / "sshd_config"
    config.write_text(f"HostKey {key}\n")
    done = run([hpn("sshd"), "-t", "-f", config])
    assert done.rc > 0 and str(key) in done.errors, done


# ---- keys of the user --------------------------------------------------

@pytest.mark.parametrize("trouble", ["world-readable", "garbage", "empty",
                                     "directory", "missing"])
def test_user_key_trouble(sshd, keys, tmp_path, trouble):
    """The key is not used, one line says why, other keys still serve."""
    key = tmp_path / "bad_key"
    if trouble == "directory":
        key.mkdir()
    elif trouble != "missing":
        key.write_bytes(keys.path("ecdsa256").read_bytes())
        key.chmod(0o600)
    spoil(key, trouble)
    client = Client("hpn", sshd, key=None, log_level="INFO")
    done = client.ssh("true", flags=["-i", key])
    assert done.rc == 255, done
    assert "Permission denied (publickey" in done.errors
    assert str(key) in done.errors, done
    if trouble == "world-readable":
        assert "UNPROTECTED PRIVATE KEY FILE" in done.errors \
            or "too open" in done.errors
    done = client.ssh("true", flags=["-i", key, "-i", keys.path("rsa")])
    assert done.rc == 0, done


@pytest.mark.skipif(IS_ROOT, reason="root reads any file")
def test_unreadable_user_key(sshd, tmp_path, keys):
    key = tmp_path / "key"
    key.write_bytes(keys.path("ed25519").read_bytes())
    key.chmod(0)
    done = Client("hpn", sshd, key=None).ssh("true", flags=["-i", key])
    assert done.rc == 255 and "Permission denied" in done.errors


# ---- output that has no place ------------------------------------------

def test_closed_stdout_of_a_pipe(ssh):
    """As in `hpnssh host yes | head -1`: no hang, the remote ends too."""
    reading, writing = os.pipe()
    process = harness.start(ssh.ssh_args() + ["yes"], stdout=writing,
                            stderr=subprocess.DEVNULL)
    os.close(writing)
    assert os.read(reading, 2) == b"y\n"
    os.close(reading)
    try:
        process.wait(harness.LONG)
    finally:
        harness.kill_group(process)


def test_stdout_was_never_open(ssh):
    done = run(["sh", "-c", 'exec "$@" >&-', "sh", *ssh.ssh_args(),
                "echo x; exit 5"])
    assert done.rc == 5, done


def test_full_disk_at_stdout(ssh):
    with open("/dev/full", "wb") as full:
        done = run(ssh.ssh_args() + ["echo lost; exit 0"], stdout=full)
    assert "No space left" in done.errors and done.rc == 255, done


@pytest.mark.parametrize("args", [["ssh", "-Q", "cipher"],
                                  ["ssh", "-G", "host"]], ids=" ".join)
def test_full_disk_under_a_list(args):
    with open("/dev/full", "wb") as full:
        done = run([hpn(args[0]), *args[1:]], stdout=full)
    assert done.rc != 0, "the list was lost, and nobody was told"


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MiB."""
    if not IS_ROOT:
        pytest.skip("needs root: mounts a small file system")
    place = tmp_path / "small"
    place.mkdir()
    done = run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place])
    if done.rc:
        pytest.skip(f"mounting is not possible here: {done.errors.strip()}")
    yield place
    run(["umount", place])


@needs_scp
@pytest.mark.parametrize("way", ["up", "down"])
def test_full_disk_under_hpnscp(ssh, small_disk, data_file, way):
    source = data_file(5 * MIB)
    paths = [source, f":{small_disk}/x"] if way == "up" \
        else [f":{source}", small_disk / "x"]
    done = ssh.scp(*paths)
    assert done.rc == 1, done
    assert len(lines_of(done)) <= 2, done
    assert re.search("No space left|Failure|full", done.errors), done


def fill(place):
    """Takes what is left of a file system."""
    with open(place / "ballast", "wb", buffering=0) as ballast:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    ballast.write(bytes(size))
            except OSError:
                pass


def test_full_disk_under_known_hosts(sshd, small_disk):
    """What was known stays known, and the user gets where he wants to go."""
    known_hosts = small_disk / "known_hosts"
    # ends where a block does, so that there is no room for one more byte
    before = "# " + "x" * 93 + "\n"
    before = before * (8192 // len(before))
    before += "#" * (8191 - len(before)) + "\n"
    known_hosts.write_text(before)
    fill(small_disk)
    client = Client("hpn", sshd, known_hosts=known_hosts, log_level="INFO",
                    options=["StrictHostKeyChecking=accept-new"])
    done = client.ssh("exit 5")
    assert done.rc == 5, done
    assert "No space left" in done.errors and str(known_hosts) in done.errors
    assert "ermanently added" not in done.errors
    assert known_hosts.read_text() == before


@pytest.mark.parametrize("flag", ["-R", "-H"])
def test_full_disk_under_keygen_on_known_hosts(small_disk, keys, flag):
    """A file that cannot be written anew is left as it is."""
    known_hosts = small_disk / "known_hosts"
    before = "".join(f"host{n} {keys.public('ed25519-host')}\n"
                     for n in range(400))
    known_hosts.write_text(before)
    fill(small_disk)
    done = run([hpn("ssh-keygen"), flag, *(["host5"] if flag == "-R" else []),
                "-f", known_hosts])
    assert done.rc not in (0, -11) and lines_of(done), done
    assert "No space left" in done.errors, done
    assert known_hosts.read_text() == before


def test_full_disk_under_a_new_key(small_disk):
    """No half of a key is left, and nobody believes that there is one."""
    fill(small_disk)
    done = run([hpn("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f",
                small_disk / "key"])
    assert done.rc == 1, done
    assert "No space left" in done.errors, done
    assert not (small_disk / "key").exists() \
        or (small_disk / "key").stat().st_size == 0


def test_full_disk_under_a_new_passphrase(small_disk, keys):
    """The old key is still there."""
    key = small_disk / "key"
    before = keys.path("rsa").read_bytes()
    key.write_bytes(before)
    key.chmod(0o600)
    fill(small_disk)
    done = run([hpn("ssh-keygen"), "-p", "-P", "", "-N", "secret words",
                "-f", key])
    assert done.rc not in (0, -11) and "No space left" in done.errors, done
    assert key.read_bytes() == before


# ---- logs and streams that have no place -------------------------------

def test_full_disk_under_the_log(ssh, make_server):
    """A log that cannot be written does not stop anybody."""
    assert ssh.ssh("exit 5", flags=["-v", "-E", "/dev/full"]).rc == 5
    with open("/dev/full", "wb") as full:
        process = harness.start([*ssh.ssh_args(flags=["-v"]), "exit 6"],
                                stderr=full, stdout=full)
        assert process.wait(harness.LONG) == 6


def test_full_disk_under_the_log_of_the_server(keys, tmp_path):
    class Deaf(harness.Server):
        def answers(self):
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", self.port)) == 0

    server = Deaf("hpn", tmp_path / "server", keys, ("ed25519",),
                  args=("-E", "/dev/full"))
    with server:
        assert Client("hpn", server).ssh("exit 5").rc == 5
        assert server.alive()


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams(ssh, tmp_path, closed):
    """None of them is taken by another file that is opened later."""
    mark = tmp_path / "mark"
    done = run(["sh", "-c", f'exec "$@" {closed}', "sh", *ssh.ssh_args(),
                f"echo there > {mark}; exit 5"])
    assert done.rc == 5, done
    assert mark.read_text() == "there\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", [
    ["ssh", "-Q", "cipher"], ["ssh", "-V"], ["sshd", "-V"],
    ["ssh-keygen", "-l", "-f", "/nothing"], ["ssh", "-G", "x"]],
    ids=lambda c: " ".join(c[:2]))
def test_closed_streams_of_others(command, closed):
    """Said or not: an end, and not by a crash."""
    done = run(["sh", "-c", f'exec "$@" {closed}', "sh", hpn(command[0]),
                *command[1:]])
    assert 0 <= done.rc <= 255, done


@needs_scp
def test_hpnscp_without_streams(ssh, tmp_path, data_file):
    source = data_file(200_000)
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        target = tmp_path / "target"
        done = run(["sh", "-c", f'exec "$@" {closed}', "sh", hpn("scp"),
                    *ssh.options(), "-P", str(ssh.server.port), source,
                    f"{ssh.user}@127.0.0.1:{target}"])
        assert done.rc == 0, (closed, done)
        assert target.read_bytes() == source.read_bytes(), closed
        target.unlink()


@needs_scp
def test_hpnscp_trouble(ssh, tmp_path, data_file):
    source = data_file(1000)
    for args, words in [
            ((tmp_path / "nothing", f":{tmp_path}/x"), "No such file"),
            ((f":{tmp_path}/nothing", tmp_path / "x"), "No such file"),
            ((source, f":{tmp_path}/no/such/dir/x"), "No such file"),
            ((f":{source}", tmp_path / "no/such/dir/x"), "No such file"),
            ((tmp_path, f":{tmp_path}/x"), "regular file|directory"),
            ((f":{tmp_path}", tmp_path / "x"), "regular file|directory")]:
        done = ssh.scp(*args)
        assert done.rc in (1, 255) and re.search(words, done.errors), done
    done = run([hpn("scp")])
    assert done.rc == 1 and "usage" in done.errors


@needs_scp
def test_hpnscp_goes_on_after_a_missing_file(ssh, tmp_path, data_file):
    source = data_file(1000)
    (tmp_path / "there").mkdir()
    done = ssh.scp(tmp_path / "nothing", source, f":{tmp_path}/there")
    assert done.rc == 255, done
    assert (tmp_path / "there/data").read_bytes() == source.read_bytes()


# ---- peers that misbehave ----------------------------------------------

def to_fake(behave, keys, *options, timeout=60):
    with FakeServer(behave) as fake:
        client = Client("hpn", Fake(fake.port, keys))
        return client.ssh("true", options=options, timeout=timeout)


def test_nobody_listens(keys):
    done = Client("hpn", Fake(harness.free_port(), keys)).ssh("true")
    assert done.rc == 255 and "Connection refused" in done.errors
    assert len(lines_of(done)) == 1, done


def test_no_such_host(keys):
    done = run([hpn("ssh"), "-F", "none", "-p", "22", "no-such-host.invalid",
                "true"])
    assert done.rc == 255 and len(lines_of(done)) == 1, done
    assert "no-such-host.invalid" in done.errors


def test_server_that_says_nothing(keys):
    began = time.monotonic()
    done = to_fake(lambda raw: raw.ends(60), keys, "ConnectTimeout=1")
    assert done.rc == 255 and lines_of(done), done
    assert time.monotonic() - began < 30


def test_server_that_stops_in_a_packet(keys):
    def behave(raw):
        raw.send(BANNER + packet(kexinit())[:100])
        raw.ends(60)
    done = to_fake(behave, keys, "ConnectTimeout=1")
    assert done.rc == 255 and lines_of(done), done


@pytest.mark.parametrize("said", [b"", BANNER[:10], BANNER,
                                  BANNER + packet(kexinit())[:100],
                                  BANNER + packet(kexinit())],
                         ids=["nothing", "half-banner", "banner",
                              "half-packet", "kexinit"])
def test_server_that_hangs_up(keys, said):
    def behave(raw):
        raw.send(said)
        raw.sock.shutdown(socket.SHUT_WR)
        raw.ends(5)
    done = to_fake(behave, keys)
    assert done.rc == 255 and 1 <= len(lines_of(done)) <= 2, done
    assert re.search("closed|reset", done.errors), done


@pytest.mark.parametrize("length", [0, 1, 3, 13, 300_000, 0x7fffffff,
                                    0xffffffff])
def test_packet_length_of_the_server(keys, length):
    def behave(raw):
        raw.send(BANNER + struct.pack(">I", length) + bytes(600))
        raw.ends(20)
    done = to_fake(behave, keys)
    assert done.rc == 255 and 1 <= len(lines_of(done)) <= 2, done


def test_lines_before_the_banner(sshd, keys):
    """A server may say things first (RFC 4253 section 4.2)."""
    def behave(raw):
        raw.send(b"welcome\r\n" * 100 + BANNER)
        raw.ends(5)
    done = to_fake(behave, keys, "ConnectTimeout=2")
    assert done.rc == 255 and "anner" not in done.errors, done


@pytest.mark.parametrize("said", [
    b"garbage\n" * 3000, b"x" * 100_000, os.urandom(50_000),
    b"SSH-1.5-old\r\n", b"SSH-9.9-new\r\n", b"HTTP/1.1 200 OK\r\n\r\n",
    b"SSH-2.0-" + b"x" * 9000 + b"\r\n",
], ids=["lines", "line", "random", "ssh1", "ssh9", "http", "long"])
def test_garbage_instead_of_a_banner(keys, said):
    def behave(raw):
        raw.send(said)
        raw.ends(20)
    done = to_fake(behave, keys, "ConnectTimeout=3")
    assert done.rc == 255 and 1 <= len(lines_of(done)) <= 2, done
    assert all(32 <= byte < 127 or byte in b"\r\n\t" for byte in done.err)


@pytest.mark.parametrize("said", [
    b"", b"\n", b"GET / HTTP/1.1\r\n\r\n", b"SSH-1.5-old\r\n",
    b"SSH-2.0\r\n", b"x" * 100_000, os.urandom(3000),
    BANNER + b"\xff" * 100, BANNER + struct.pack(">I", 300_000),
    BANNER + struct.pack(">I", 12) + bytes(60),
], ids=["nothing", "newline", "http", "ssh1", "short", "line", "random",
        "ones", "oversize", "padding"])
def test_garbage_to_the_server(make_server, said):
    """The connection ends, the server goes on, the log has a line."""
    # In which a login is done, too.
    server = make_server(f"LoginGraceTime {round(2 * harness.crowd())}\n")
    raw = Raw.connect(server.port)
    try:
        raw.send(said)
        if said == b"":
            raw.sock.shutdown(socket.SHUT_WR)
    except ConnectionError:
        pass
    assert raw.ends()
    raw.close()
    assert server.alive()
    assert harness.wait_for(lambda: re.search(
        r"127\.0\.0\.1 port \d+", server.log_text()))
    assert Client("hpn", server).ssh("exit 3").rc == 3


def test_client_that_stops_in_a_packet(make_server):
    server = make_server("LoginGraceTime 2\n")
    raw = Raw.connect(server.port)
    raw.send(BANNER + packet(kexinit())[:50])
    assert raw.ends()
    raw.close()
    assert harness.wait_for(lambda: not server.connections())


def test_port_in_use(sshd, keys, tmp_path):
    config = tmp_path / "sshd_config"
    config.write_text(f"HostKey {keys.path('ed25519-host')}\n"
                      f"Port {sshd.port}\nListenAddress 127.0.0.1\n"
                      "PidFile none\n")
    done = run([hpn("sshd"), "-D", "-e", "-f", config])
    assert done.rc == 255 and "in use" in done.errors, done


# ---- nothing is lost ---------------------------------------------------

def test_all_output_arrives_before_the_exit_status(ssh):
    for _ in range(5):
        done = ssh.ssh("head -c 3000000 /dev/zero; exit 9")
        assert done.rc == 9 and len(done.out) == 3_000_000


def test_slow_reader_gets_everything(ssh):
    process = harness.start(ssh.ssh_args() + ["head -c 20000000 /dev/zero"],
                            stdout=subprocess.PIPE)
    time.sleep(1)
    assert len(process.stdout.read()) == 20_000_000
    assert process.wait(harness.LONG) == 0
    process.stdout.close()


def test_input_that_nobody_reads(ssh):
    done = ssh.ssh("exit 4", stdin=os.urandom(8 * MIB))
    assert done.rc == 4, done
