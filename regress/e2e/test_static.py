# SPDX-License-Identifier: ISC
"""The static clients of packaging/make-static.sh, on musl, with this build's
server. HPN_CLIENT runs other tests with them."""

import platform
import socket

import pytest

import harness
from agents import Running
from harness import MIB, Client, free_port, hpn, noise, run, wait_for
from muxes import Master, mux_client

STATIC = harness.TOP / "build/static" / platform.machine()

pytestmark = pytest.mark.skipif(
    not (STATIC / "hpnssh").exists(),
    reason="there are no static clients (packaging/make-static.sh)")


@pytest.fixture(autouse=True)
def static_clients(monkeypatch):
    monkeypatch.setattr(harness, "CLIENT", STATIC)


def test_no_library_is_wanted():
    for name in ("ssh", "scp", "sftp", "sftp-server", "ssh-keygen",
                 "ssh-keyscan", "ssh-add", "ssh-agent"):
        assert hpn(name) == str(STATIC / ("hpn" + name))
        text = (STATIC / ("hpn" + name)).read_bytes()
        assert b"ld-musl" not in text and b"ld-linux" not in text
        assert b"/usr/lib/ssl" not in text  # of another system's OpenSSL


def test_login(ssh):
    done = ssh.ssh("printf out; printf err >&2; exit 7")
    assert (done.rc, done.text, done.errors) == (7, "out", "err")


def test_copies(ssh, tmp_path):
    (tmp_path / "sent").write_bytes(noise(3 * MIB + 1))
    (tmp_path / "tree/sub").mkdir(parents=True)
    (tmp_path / "tree/sub/file").write_text("text")
    ssh.scp(tmp_path / "sent", f":{tmp_path}/up").ok()
    ssh.scp(f":{tmp_path}/up", tmp_path / "down").ok()
    ssh.scp(tmp_path / "tree", f":{tmp_path}/there", flags=["-r"]).ok()
    assert (tmp_path / "down").read_bytes() == (tmp_path / "sent").read_bytes()
    assert (tmp_path / "there/sub/file").read_text() == "text"


def test_sftp(ssh, tmp_path):
    (tmp_path / "sent").write_text("text")
    (tmp_path / "batch").write_text(
        f"put {tmp_path}/sent {tmp_path}/got\nls -l {tmp_path}\n")
    done = run([hpn("sftp"), *ssh.options(), "-P", str(ssh.server.port), "-b",
                tmp_path / "batch", f"{ssh.user}@127.0.0.1"]).ok()
    assert (tmp_path / "got").read_text() == "text"
    assert "-rw-r--r--" in done.text
    # and its own server, without a connection
    done = run([hpn("sftp"), "-D", hpn("sftp-server"), "-b",
                tmp_path / "batch"]).ok()
    assert "-rw-r--r--" in done.text


def test_agent(sshd, keys):
    with Running() as agent:
        env = harness.clean_env(SSH_AUTH_SOCK=agent.path)
        run([hpn("ssh-add"), keys.path("ed25519")], env=env).ok()
        client = Client("hpn", sshd, key=None,
                        options=["IdentitiesOnly=no",
                                 "IdentityFile=none"])
        assert client.ssh("echo in", env=env).ok().text == "in\n"


def test_mux(sshd, short):
    with Master("hpn", sshd, short / "mux"):
        assert run(mux_client("hpn", short / "mux", "echo in")
                   ).ok().text == "in\n"


def test_forwarding(ssh, background):
    port = free_port()
    background(ssh.ssh_args(
        flags=["-N", "-L", f"127.0.0.1:{port}:127.0.0.1:{ssh.server.port}"]))

    def banner():
        try:
            with socket.create_connection(("127.0.0.1", port), 5) as s:
                return s.recv(8) == b"SSH-2.0-"
        except OSError:
            return False

    assert wait_for(banner)
