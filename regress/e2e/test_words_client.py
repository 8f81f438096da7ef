# SPDX-License-Identifier: ISC
"""Keywords and flags of hpnssh that no other test sees act: see
data/words/client and data/words/flags."""

import pathlib
import socket
import stat
import subprocess
import threading

import pytest

import harness
from harness import ME, Client, free_port, hpn, run, stock

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
WORDS = pathlib.Path(__file__).parent.parent / "data" / "words" / "client"


def rows():
    return [line.split("\t") for line in WORDS.read_text().splitlines()
            if not line.startswith("#")]


def configured(ssh, text, directory):
    """Arguments for ssh's server with only a file of this content."""
    config = directory / "config"
    config.write_text(text)
    args = ssh.options()
    args[args.index("none")] = str(config)
    return [hpn("ssh"), *args]


def shown(*args):
    done = run([hpn("ssh"), "-G", "-F", "none", *args, "h"])
    assert done.rc == 0, done
    return done.text.splitlines()


def test_who_and_where(ssh, tmp_path):
    args = configured(ssh, f"Host nick\nHostname 127.0.0.1\nUser {ME}\n"
                           f"Port {ssh.server.port}\nHost *\nPort 1\n",
                      tmp_path)
    done = run([*args, "nick", "echo $USER $SSH_CONNECTION"])
    assert done.ok().text.split()[0] == ME
    assert done.text.split()[3:] == ["127.0.0.1", str(ssh.server.port)]
    assert run([*args, "other", "true"]).rc == 255
    with open(tmp_path / "config", "a", encoding="utf-8") as config:
        config.write(f"Host else\nHostname 127.0.0.1\nUser somebody-{ME}\n")
    done = run([*args, "-v", "-p", str(ssh.server.port), "else", "true"])
    assert done.rc == 255
    assert f"{ssh.server.port} as 'somebody-{ME}'\n" in done.errors
    assert run([*args, "-p", str(free_port()), "nick", "true"]).rc == 255


def test_name_of_a_block(ssh, tmp_path):
    args = configured(ssh, f"Host a* !ab\nHostname 127.0.0.1\nUser {ME}\n"
                           f"Port {ssh.server.port}\n"
                           "Host *\nHostname 127.0.0.1\nPort 1\n", tmp_path)
    for name, rc in (("a", 0), ("ac", 0), ("ab", 255), ("b", 255),
                     ("A", 255)):
        assert run([*args, name, "true"]).rc == rc, name


def test_tag(tmp_path):
    config = tmp_path / "config"
    config.write_text("Match tagged one\nPort 1111\nMatch tagged two\n"
                      "Port 2222\nMatch all\nPort 3333\n")
    for flags, port in ((["-P", "one"], 1111), (["-oTag=two"], 2222),
                        ([], 3333)):
        done = run([hpn("ssh"), "-G", "-F", config, *flags, "h"])
        assert f"\nport {port}\n" in done.ok().text


@pytest.mark.parametrize("flags,address", [
    (["-oBindAddress=127.0.0.3"], "127.0.0.3"),
    (["-oBindInterface=lo"], "127.0.0.1"), (["-B", "lo"], "127.0.0.1"),
    (["-oBindInterface=not-there"], None), (["-B", "not-there"], None),
    (["-oBindAddress=192.0.2.7"], None)])
def test_from_where(ssh, flags, address):
    done = ssh.ssh("echo $SSH_CLIENT", flags=flags)
    if address is None:
        assert done.rc == 255
    else:
        assert done.ok().text.split()[0] == address


def test_attempts(ssh):
    """There is a second between two attempts."""
    for attempts, least in (("1", 0), ("2", 1)):
        done = run([hpn("ssh"), *ssh.options(
            f"ConnectionAttempts={attempts}"), "-p", str(free_port()),
            "127.0.0.1", "true"])
        assert done.rc == 255
        assert done.seconds >= least


@pytest.mark.parametrize("words,least,most", [
    (["HappyEyes=yes", "HappyDelay=100"], 0.1, 50),
    (["HappyEyes=yes", "HappyDelay=2500"], 2.5, 60),
    (["HappyEyes=no", "HappyDelay=55000"], 0, 50)])
def test_addresses_race(make_server, tmp_path, words, least, most):
    """The first address does not answer: its queue is full. The next one is
    tried after the delay."""
    if why := harness.mount_problem():
        pytest.skip(why)
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 both\n127.0.0.9 both\n")
    port = free_port()
    server = make_server(f"ListenAddress 127.0.0.9:{port}\n")
    args = Client("hpn", server).ssh_args(
        *words, f"HostKeyAlias=[127.0.0.1]:{server.port}", f"Port={port}")
    del args[args.index("-p"):args.index("-p") + 2]
    args[-1] = "both"
    with socket.create_server(("127.0.0.1", port), backlog=0) as silent:
        waiting = [socket.socket() for _ in range(4)]
        for s in waiting:
            s.setblocking(False)
            s.connect_ex(silent.getsockname())
        done = run(["unshare", "-m", "sh", "-c",
                    f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh",
                    *args, "echo in"])
        for s in waiting:
            s.close()
    assert done.ok().out == b"in\n"
    assert least <= done.seconds < most * harness.SLOW


def timer(port):
    """Which timer runs for the connection to a port; "": none."""
    text = run([stock("ss"), "-tnoH", "state", "established", "dport", "=",
                f":{port}"]).ok().text
    assert text != ""
    return text.partition("timer:(")[2].partition(",")[0]


@pytest.mark.skipif(stock("ss") is None, reason="no ss")
@pytest.mark.parametrize("flag,probes", [("yes", True), ("no", False)])
def test_kernel_probes(ssh, flag, probes):
    process = subprocess.Popen(
        [*ssh.ssh_args(f"TCPKeepAlive={flag}"), "echo in; sleep 1000"],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        assert process.stdout.readline() == b"in\n"
        assert harness.wait_for(lambda: timer(ssh.server.port) ==
                                ("keepalive" if probes else ""))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.skipif(stock("ss") is None, reason="no ss")
@pytest.mark.parametrize("words,tos", [
    ("af21 cs1", "tos:0x20"), ("cs1", "tos:0x20"), ("ef cs3", "tos:0x60")])
def test_type_of_service(ssh, words, tos):
    process = subprocess.Popen(
        [*ssh.ssh_args(f"IPQoS={words}"), "echo in; sleep 1000"],
        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    try:
        assert process.stdout.readline() == b"in\n"
        done = run([stock("ss"), "-tnH", "--tos", "state", "established",
                    "dport", "=", f":{ssh.server.port}"])
        assert tos in done.ok().text, done
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_version_addendum():
    said = []

    def listen(sock):
        peer = sock.accept()[0]
        with peer:
            peer.settimeout(10)
            said.append(peer.makefile("rb").readline())

    with socket.create_server(("127.0.0.1", 0)) as sock:
        thread = threading.Thread(target=listen, args=(sock,))
        thread.start()
        run([hpn("ssh"), "-F", "none", "-oVersionAddendum=my client", "-p",
             str(sock.getsockname()[1]), "127.0.0.1", "true"])
        thread.join(20)
    assert said[0].startswith(b"SSH-2.0-OpenSSH_")
    assert said[0].endswith(b" my client\r\n")


def test_refuse_connection(ssh):
    done = ssh.ssh("echo in", flags=['-oRefuseConnection="go elsewhere"'])
    assert done.rc == 255 and done.out == b""
    assert "go elsewhere" in done.errors


@pytest.mark.parametrize("flags,said", [
    (["-oCiphers=aes256-ctr", "-oMACs=hmac-sha2-512"],
     "Enc: aes256-ctr;MAC: hmac-sha2-512;"),
    (["-c", "aes192-ctr", "-m", "hmac-sha2-256"],
     "Enc: aes192-ctr;MAC: hmac-sha2-256;")])
def test_algorithms(shared_servers, flags, said):
    ssh = Client("hpn", shared_servers("hpn", "LogLevel VERBOSE\n"))
    ssh.ssh("true", flags=flags).ok()
    assert harness.wait_for(lambda: said in ssh.server.log_text())


def test_no_keys(ssh):
    done = ssh.ssh("true", flags=["-v", "-oPubkeyAuthentication=no"])
    assert done.rc == 255 and "Permission denied (" in done.errors
    assert "Offering public key" not in done.errors


@pytest.mark.parametrize("flags,terminal", [
    (["-oRequestTTY=force"], True), (["-oRequestTTY=yes"], False),
    (["-tt"], True), (["-tt", "-T"], False), (["-oRequestTTY=no"], False)])
def test_terminals(ssh, flags, terminal):
    """There is none here: only those that insist get one there."""
    done = ssh.ssh("tty", flags=flags)
    assert (b"/dev/pts/" in done.out) == terminal, done
    assert (done.rc == 0) == terminal


@pytest.mark.parametrize("option,output", [("yes", b""), ("no", b"typed")])
def test_no_input(ssh, option, output):
    done = ssh.ssh("cat", flags=[f"-oStdinNull={option}"], stdin=b"typed")
    assert done.ok().out == output


@pytest.mark.parametrize("flags,tells", [
    (["-oLogLevel=ERROR"], True), (["-oLogLevel=QUIET"], False),
    (["-q"], False)])
def test_what_is_told(flags, tells):
    done = run([hpn("ssh"), "-F", "none", *flags, "-p", str(free_port()),
                "127.0.0.1", "true"])
    assert done.rc == 255 and bool(done.errors) == tells, done


def test_ignored_words(ssh, tmp_path):
    text = (f"Host *\nFooBar 1\nHostname 127.0.0.1\nUser {ME}\n"
            f"Port {ssh.server.port}\nBarFoo 2\n")
    for words, rc in (("Foo*,Bar*", 0), ("Foo*", 255), ("Nothing", 255)):
        args = configured(ssh, f"IgnoreUnknown {words}\n{text}", tmp_path)
        assert run([*args, "h", "true"]).rc == rc, words


def test_forward_words(ssh, tmp_path):
    """A socket of a mode; one that is there gives way; and SOCKS."""
    path, port = tmp_path / "s", free_port()
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(path))
    process = subprocess.Popen(
        [*ssh.ssh_args(
            "StreamLocalBindMask=0117", "StreamLocalBindUnlink=yes",
            f"LocalForward={path} 127.0.0.1:{ssh.server.port}",
            f"DynamicForward=127.0.0.1:{port}", "ExitOnForwardFailure=yes"),
         "echo in; sleep 1000"], stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL)
    try:
        assert process.stdout.readline() == b"in\n"
        mode = path.stat().st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o660
        with socket.create_connection(("127.0.0.1", port), 10) as s:
            s.sendall(b"\x05\x01\x00")
            assert s.recv(2) == b"\x05\x00"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    done = ssh.ssh("true", flags=[
        "-oExitOnForwardFailure=yes", "-L", f"{path}:127.0.0.1:1"])
    assert done.rc == 255, "without StreamLocalBindUnlink it stays"


GONE = [row[0] for row in rows() if row[2] == "passed over"]


@pytest.mark.parametrize("word", GONE)
def test_words_that_do_nothing(word):
    """Nothing but the line that tells of them."""
    before = shown()
    assert shown(f"-o{word}=no") == before
    done = run([hpn("ssh"), "-G", "-F", "none", f"-o{word}=no", "h"])
    assert all(word.lower() in line.lower()
               for line in done.errors.splitlines())


@pytest.mark.parametrize("name,word", [
    (row[0], row[2].split(" ")[-1]) for row in rows()
    if row[2].startswith("another name of ")])
def test_other_names(name, word):
    if word == "PKCS11Provider" and not harness.built_with("PKCS11"):
        pytest.skip("built without PKCS#11")
    value = next(row[1] for row in rows() if row[0] == name)
    assert shown(f"-o{name}={value}") == shown(f"-o{word}={value}")
    assert shown(f"-o{name}={value}") != shown()


def test_old_flags(ssh, keys):
    done = run([hpn("ssh"), "-1", "h"])
    assert done.rc == 255 and "protocol version 1" in done.errors
    assert ssh.ssh("echo in", flags=["-2"]).ok().out == b"in\n"
    old = run([hpn("ssh-keygen"), "-o", "-l", "-f",
               keys.path("ed25519")]).ok()
    assert old.out == run([hpn("ssh-keygen"), "-l", "-f",
                           keys.path("ed25519")]).ok().out


def test_session_types(ssh):
    """The words are the name of a subsystem, or a command."""
    assert ssh.ssh("exit 3", flags=["-oSessionType=default"]).rc == 3
    done = ssh.ssh("sftp", flags=["-oSessionType=subsystem"])
    assert done.rc == 0 and done.out == b""
    done = ssh.ssh("exit 3", flags=["-oSessionType=subsystem"])
    assert done.rc == 255 and "subsystem request failed" in done.errors


def test_list_of_the_system(ssh):
    known = ssh.server.known_hosts
    for words, rc in ((f"{known}", 0), (f"/not/there {known}", 0),
                      ("none", 255), ("/not/there", 255)):
        done = ssh.ssh("true", flags=["-oUserKnownHostsFile=none"],
                       options=[f"GlobalKnownHostsFile={words}",
                                "UserKnownHostsFile=none"])
        assert done.rc == rc, words


def test_master_of_the_command_line(ssh, tmp_path):
    path = tmp_path / "s"
    master = subprocess.Popen(
        [*ssh.ssh_args(flags=["-M", "-S", str(path), "-N"])],
        stdin=subprocess.DEVNULL)
    try:
        assert harness.wait_for(path.exists)
        check = [*ssh.ssh_args(flags=["-S", str(path), "-O", "check"])]
        assert harness.wait_for(lambda: run(check).rc == 0)
        assert "Master running" in run(check).errors
        assert run([*check[:-2], "exit", check[-1]]).rc == 0
        master.wait(harness.LONG)
    finally:
        master.kill()
        master.wait()


@pytest.mark.parametrize("name", ["scp", "sftp"])
def test_flags_that_copies_pass_on(tmp_path, name):
    program, told = tmp_path / "ssh", tmp_path / "told"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{told}\nexit 1\n')
    program.chmod(0o755)
    run([hpn(name), "-S", program, "-6", "-J", "jump", "-v", "h:x",
         tmp_path / "y"])
    words = told.read_text().splitlines()
    assert "-6" in words and "-v" in words
    assert "jump" in words[words.index("-J") + 1:]


def test_flag_of_old_sftp_servers():
    lines = run([hpn("sftp-server"), "-Q", "requests"]).ok().out
    assert run([hpn("sftp-server"), "-c", "-Q", "requests"]).ok().out == lines
