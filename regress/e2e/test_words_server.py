# SPDX-License-Identifier: ISC
"""Keywords and flags of hpnsshd that no other test sees act: see
data/words/server and data/words/flags."""

import pathlib
import socket
import subprocess

import pytest
import sshwire

import harness
from harness import Client, free_port, hpn, run, stock

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
WORDS = pathlib.Path(__file__).parent.parent / "data" / "words" / "server"


def rows():
    return [line.split("\t") for line in WORDS.read_text().splitlines()
            if not line.startswith("#")]


def shown(line, directory):
    config = directory / "config"
    config.write_text(f"{line}\n")
    done = run([hpn("sshd"), "-G", "-f", config])
    assert done.rc == 0, done
    return done.text.splitlines()


def banner(port, host="127.0.0.1"):
    with socket.create_connection((host, port), 10) as s:
        return s.makefile("rb").readline()


def test_ports_and_addresses(make_server):
    more, other = free_port(), free_port()
    server = make_server(f"Port {more}\nListenAddress 127.0.0.2:{other}\n")
    assert banner(server.port).startswith(b"SSH-2.0-")
    assert banner(more).startswith(b"SSH-2.0-")
    assert banner(other, "127.0.0.2").startswith(b"SSH-2.0-")
    with pytest.raises(OSError):
        banner(other)


@pytest.mark.parametrize("flags,there,not_there", [
    (["-4"], "0.0.0.0", "::"), (["-6"], "::", "0.0.0.0"),
    (["-oAddressFamily=inet"], "0.0.0.0", "::")])
def test_flags_of_addresses(keys, background, tmp_path, flags, there,
                            not_there):
    """-D does not go to the background: the process stays the one begun."""
    port = free_port()
    log = tmp_path / "log"
    with open(log, "wb") as out:
        process = background(
            [hpn("sshd"), "-D", "-e", "-f", "none", "-p", str(port),
             "-oPidFile=none", "-h", str(keys.path("ed25519-host")), *flags],
            stdout=out, stderr=out)
        assert harness.wait_for(lambda: b"listening on" in log.read_bytes()
                                or process.poll() is not None)
    assert process.poll() is None, log.read_text()
    assert f"listening on {there} port {port}" in log.read_text()
    assert f"listening on {not_there} port" not in log.read_text()


def test_process_id(make_server, tmp_path):
    server = make_server(f"PidFile {tmp_path}/pid\n")
    assert harness.wait_for((tmp_path / "pid").exists)
    assert (tmp_path / "pid").read_text().strip() == str(server.process.pid)


def timer(port):
    """Which timer runs for the connection at a port; "": none."""
    text = run([stock("ss"), "-tnoH", "state", "established", "sport", "=",
                f":{port}"]).ok().text
    assert text != ""
    return text.partition("timer:(")[2].partition(",")[0]


@pytest.mark.skipif(stock("ss") is None, reason="no ss")
@pytest.mark.parametrize("flag,probes", [("yes", True), ("no", False)])
def test_kernel_probes(make_server, flag, probes):
    server = make_server(f"TCPKeepAlive {flag}\n")
    process = subprocess.Popen(
        [*Client("hpn", server).ssh_args(), "echo in; sleep 1000"],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        assert process.stdout.readline() == b"in\n"
        assert harness.wait_for(lambda: timer(server.port) ==
                                ("keepalive" if probes else ""))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_version_addendum(make_server):
    server = make_server("VersionAddendum my  server\n")
    assert banner(server.port).endswith(b" my  server\r\n")


@pytest.mark.parametrize("word", ["SshdSessionPath", "SshdAuthPath"])
def test_helpers(make_server, word):
    """The programs that are named serve the connection: this one does not."""
    server = make_server(f"{word} /bin/false\n")
    done = Client("hpn", server).ssh("echo", "in")
    assert done.rc == 255 and done.out == b""


ONLY = ("Ciphers aes256-ctr\nMACs hmac-sha2-512\nKexAlgorithms "
        "curve25519-sha256\nHostKeyAlgorithms ssh-ed25519\nCompression no\n"
        "LogLevel VERBOSE\n")


@pytest.mark.parametrize("option,missing", [
    ("Ciphers=aes128-ctr", "no matching cipher"),
    ("MACs=hmac-sha2-256", "no matching MAC"),
    ("KexAlgorithms=ecdh-sha2-nistp256", "no matching key exchange"),
    ("HostKeyAlgorithms=rsa-sha2-512", "no matching host key type")])
def test_algorithms(shared_servers, option, missing):
    client = Client("hpn", shared_servers("hpn", ONLY))
    client.ssh("true", flags=["-C"]).ok()
    assert harness.wait_for(
        lambda: "Comp: none" in client.server.log_text())
    assert "Comp: zlib" not in client.server.log_text()
    done = client.ssh("true", flags=[f"-o{option}"])
    assert done.rc == 255 and missing in done.errors


@pytest.mark.parametrize("word,threads", [("no", True), ("yes", False)])
def test_no_threads(make_server, word, threads):
    server = make_server("CipherForm keystream\nCipherThreads 1\n"
                         f"DisableMTAES {word}\nLogLevel DEBUG1\n")
    data = bytes(8 * harness.MIB)
    done = Client("hpn", server).ssh("cat", stdin=data, options=(
        "Ciphers=aes128-ctr", "MACs=hmac-sha2-256"))
    assert done.ok().out == data
    assert ("keystream" in server.log_text()) == threads


@pytest.mark.parametrize("word", ["PrintMotd", "PrintLastLog"])
def test_messages_at_login(make_server, word):
    """Only where the system has something to tell."""
    told = []
    for value in ("yes", "no"):
        other = "PrintLastLog" if word == "PrintMotd" else "PrintMotd"
        server = make_server(f"{word} {value}\n{other} no\n")
        client = Client("hpn", server)
        for _ in range(2):
            done = client.ssh(flags=["-tt"], stdin=b"exit\n")
        told.append("Last login: " if word == "PrintLastLog" else
                    pathlib.Path("/etc/motd").read_text().strip()[:40])
        if value == "yes" and told[-1] not in done.text.replace("\r", ""):
            pytest.skip("the system has nothing to tell")
        assert (told[-1] in done.text.replace("\r", "")) == (value == "yes")


def test_fingerprints(make_server):
    server = make_server("FingerprintHash md5\n")
    Client("hpn", server).ssh("true").ok()
    assert " MD5:" in server.log_text()
    assert "SHA256:" not in server.log_text()


def test_short_keys(make_server):
    server = make_server("RequiredRSASize 4096\n")
    assert Client("hpn", server, key="rsa").ssh("true").rc == 255
    assert Client("hpn", server).ssh("true").rc == 0


@pytest.mark.skipif(not harness.IS_ROOT, reason="needs root: PAM")
@pytest.mark.parametrize("word", ["yes", "no"])
def test_no_dialogues(make_server, word):
    server = make_server(f"UsePAM yes\nKbdInteractiveAuthentication {word}\n",
                         authorized=[])
    done = Client("hpn", server).ssh("true")
    assert done.rc == 255
    assert ("keyboard-interactive" in done.errors) == (word == "yes")


@pytest.mark.parametrize("word", [row[0] for row in rows() if
                                  row[3].endswith("_that_do_nothing")
                                  and "words_server" in row[3]])
def test_words_that_do_nothing(tmp_path, word):
    """All that happens is a line that tells of them."""
    value = next(row[1] for row in rows() if row[0] == word)
    assert shown(f"{word} {value}", tmp_path) == shown("", tmp_path)


@pytest.mark.parametrize("name,word", [
    (row[0], row[2].split(" ")[-1]) for row in rows()
    if row[2].startswith("another name of ")])
def test_other_names(tmp_path, name, word):
    value = next(row[1] for row in rows() if row[0] == name)
    mine = shown(f"{name} {value}", tmp_path)
    assert mine == shown(f"{word} {value}", tmp_path)
    assert mine != shown("", tmp_path)


def test_log_file(keys, background, tmp_path):
    """-E: the log goes to a file; -q: there is none; -e is in all others."""
    for flags, told in (([], True), (["-q"], False)):
        port, log = free_port(), tmp_path / f"log{len(flags)}"
        process = background(
            [hpn("sshd"), "-D", "-E", str(log), "-f", "none", "-p", str(port),
             "-oPidFile=none", "-oListenAddress=127.0.0.1", "-h",
             str(keys.path("ed25519-host")), *flags])
        assert harness.wait_for(lambda p=port: listens(p)
                                or process.poll() is not None)
        assert process.poll() is None
        assert ("listening on" in log.read_text()) == told


def listens(port):
    try:
        banner(port)
        return True
    except OSError:
        return False


def test_flags_that_are_keywords(keys):
    done = run([hpn("sshd"), "-T", "-f", "none", "-g", "7", "-h",
                keys.path("ed25519-host"), "-p", "33", "-u", "0"])
    text = done.ok().text.splitlines()
    for line in ("logingracetime 7", "port 33",
                 f"hostkey {keys.path('ed25519-host')}"):
        assert line in text
    assert run([hpn("sshd"), "-T", "-f", "none", "-h",
                "/not/there"]).rc != 0


def test_host_certificate(keys):
    done = run([hpn("sshd"), "-T", "-f", "none", "-h",
                keys.path("ed25519-host"), "-c", "/not/there"])
    assert "hostcertificate /not/there\n" in done.ok().text
    assert 'Could not load host certificate "/not/there"' in done.errors


def test_version():
    done = run([hpn("sshd"), "-V"])
    assert done.rc == 0 and "OpenSSH_10." in done.errors
    assert ", OpenSSL " in done.errors


def group_of(server, least, wanted, most):
    """The prime that it chooses for a group exchange."""
    wire = sshwire.connect(server).identify()
    wire.send_kexinit(kex="diffie-hellman-group-exchange-sha256")
    wire.read_kexinit()
    wire.say(34, least, wanted, most)
    prime = int.from_bytes(wire.expect(31).string(), "big")
    wire.close()
    return prime


def test_groups_of_a_file(make_server, tmp_path):
    """A file with one group: that is taken, though the client would rather
    have a smaller one. It is the server's own of that size, so no secret."""
    kex = "KexAlgorithms diffie-hellman-group-exchange-sha256\n"
    plain = make_server(f"{kex}ModuliFile /not/there\n")
    prime = group_of(plain, 4096, 4096, 4096)
    assert prime.bit_length() == 4096
    assert group_of(plain, 2048, 2048, 8192).bit_length() == 2048
    moduli = tmp_path / "moduli"
    moduli.write_text(f"20260101000000 2 6 100 4095 2 {prime:X}\n")
    server = make_server(f"{kex}ModuliFile {moduli}\n")
    assert group_of(server, 2048, 2048, 8192) == prime
    assert group_of(server, 2048, 2048, 3072) != prime


def test_flag_of_split_servers(keys):
    """-R is how parts of another server start each other."""
    done = run([hpn("sshd"), "-R", "-f", "none", "-h",
                keys.path("ed25519-host")])
    assert done.rc == 255 and done.errors == \
        "-R is internal to sshd, and hpnsshd has no use for it.\n"
