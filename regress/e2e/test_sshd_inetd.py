# SPDX-License-Identifier: ISC
"""hpnsshd -i as a client's ProxyCommand: on pipes, without any socket; on a
socket and something else; and where its lines go."""

import hashlib
import socket
import subprocess

import pytest

from harness import MIB, clean_env, hpn, have, run


@pytest.mark.skipif(not have("stock", "ssh"), reason="no stock ssh")
def test_proxy_command(sshd, keys, tmp_path, data_file):
    data = data_file(2 * MIB)
    log = tmp_path / "log"
    done = run(["ssh", "-F", "none", "-i", keys.path("ed25519"),
                "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
                "-o", "StrictHostKeyChecking=no",
                "-o", "UserKnownHostsFile=/dev/null",
                "-o", f"ProxyCommand={hpn('sshd')} -i -f {sshd.config} "
                      f"-E {log}",
                "127.0.0.1", "cat; exit 3"], stdin=data.read_bytes())
    assert done.rc == 3, done
    assert hashlib.sha256(done.out).digest() == \
        hashlib.sha256(data.read_bytes()).digest()
    assert "Accepted publickey for" in log.read_text()


def through(sshd, keys, *flags):
    return ["ssh", "-F", "none", "-i", keys.path("ed25519"),
            "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes",
            "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR",
            "-o", "UserKnownHostsFile=/dev/null", "-o",
            f"ProxyCommand={hpn('sshd')} -i -f {sshd.config} "
            + " ".join(flags), "127.0.0.1"]


@pytest.mark.skipif(not have("stock", "ssh"), reason="no stock ssh")
def test_addresses_that_there_are_none_of(sshd, keys, tmp_path):
    log = tmp_path / "log"
    done = run([*through(sshd, keys, f"-E {log}"),
                "echo $SSH_CONNECTION; echo $SSH_CLIENT"]).ok()
    assert done.text == ("UNKNOWN 65535 UNKNOWN 65535\n"
                         "UNKNOWN 65535 65535\n")
    assert "from UNKNOWN port 65535 ssh2" in log.read_text()


@pytest.mark.parametrize("other", ["pipe", "socket"])
def test_what_is_sent_goes_to_standard_output(sshd, other):
    """Whatever standard input is: a filter or a logger may stand there."""
    mine, its = socket.socketpair()
    out, its_out = socket.socketpair()
    process = subprocess.Popen(
        [hpn("sshd"), "-i", "-e", "-f", sshd.config], stdin=its,
        stdout=subprocess.PIPE if other == "pipe" else its_out,
        stderr=subprocess.DEVNULL, env=clean_env())
    its.close()
    its_out.close()
    stream = process.stdout if other == "pipe" else out.makefile("rb")
    mine.settimeout(60)
    mine.sendall(b"SSH-2.0-probe\r\n")
    assert stream.readline().startswith(b"SSH-2.0-")
    # Its end is all that comes on the socket.
    mine.shutdown(socket.SHUT_WR)
    assert mine.recv(1) == b""
    process.wait(60)
    stream.close()
    mine.close()
    out.close()


def test_one_socket(sshd):
    """As from inetd and systemd: both directions at once."""
    mine, its = socket.socketpair()
    process = subprocess.Popen(
        [hpn("sshd"), "-i", "-e", "-f", sshd.config], stdin=its, stdout=its,
        stderr=subprocess.DEVNULL, env=clean_env())
    its.close()
    mine.settimeout(60)
    mine.sendall(b"SSH-2.0-probe\r\n")
    assert mine.recv(8) == b"SSH-2.0-"
    mine.close()
    process.wait(60)


@pytest.mark.parametrize("flags", [["-i"], ["-i", "-E"], ["-t"], ["-T"],
                                   ["-t", "-E"]])
def test_where_lines_about_the_configuration_go(keys, tmp_path, flags):
    """With -i standard error may be the client's; -t and -T show notices and
    errors there, whatever LogLevel says."""
    config, log = tmp_path / "config", tmp_path / "log"
    config.write_text("LogLevel DEBUG3\nUseLogin no\n"
                      f"HostKey {keys.path('ed25519-host')}\n")
    notice = f"{config} line 2: Deprecated option UseLogin\n"
    args = [f"-E{log}" if f == "-E" else f for f in flags]
    done = run([hpn("sshd"), *args, "-f", config], stdin=b"")
    to_file = "-E" in flags
    told = log.read_text() if to_file else done.errors
    if flags == ["-i"]:
        assert done.errors == ""
    elif "-i" in flags:
        assert told.startswith(notice + "debug1: sshd version ")
    else:
        assert told == notice
    assert not to_file or done.errors == ""


def test_quiet(tmp_path):
    config = tmp_path / "config"
    config.write_text("UseLogin no\nNoSuchWord 1\n")
    done = run([hpn("sshd"), "-t", "-q", "-f", config])
    assert (done.rc, done.errors) == (255, "")
