# SPDX-License-Identifier: ISC
"""The static clients of packaging/make-static.sh, on musl, with this build's
server. HPN_CLIENT runs other tests with them."""

import platform
import socket

import pytest

import folding
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
    for name in ("ssh", "scp", "sftp", "sync", "sftp-server", "ssh-keygen",
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


def test_sync(ssh, tmp_path):
    """To the server and back, and here, where its own server is beside it."""
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub/large").write_bytes(noise(3 * MIB + 1))
    (tree / "link").symlink_to("sub/large")
    shell = " ".join([hpn("ssh"), *map(str, ssh.options()), "-p",
                      str(ssh.server.port)])
    at = f"{ssh.user}@127.0.0.1:{tmp_path}"
    run([hpn("sync"), "-a", "-e", shell, f"{tree}/", f"{at}/up"]).ok()
    run([hpn("sync"), "-a", "-e", shell, f"{at}/up/", tmp_path / "down"]).ok()
    run([hpn("sync"), "-a", f"{tmp_path}/down/", tmp_path / "here"]).ok()
    here = tmp_path / "here"
    assert (here / "sub/large").read_bytes() == \
        (tree / "sub/large").read_bytes()
    assert (here / "link").readlink() == (tree / "link").readlink()


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


# ---- as in WSL: a disk of Windows, where capital and small letters are one
# name, and every file has all modes

@pytest.fixture
def windows(tmp_path):
    why = folding.problem()
    if why is not None:
        pytest.skip(why)
    with folding.mounted(tmp_path) as place:
        yield place


def test_disk_of_windows(ssh, windows, tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "large").write_bytes(noise(3 * MIB + 1))
    (tree / "Name").write_text("one")
    for flags in ["-r"], ["-rp"], ["-rpZ"]:
        ssh.scp(f":{tree}", windows / "down", flags=flags).ok()
        ssh.scp(windows / "down", f":{tmp_path}/{flags[0]}", flags=flags).ok()
    here = windows / "down/tree"
    assert (here / "large").read_bytes() == (tree / "large").read_bytes()
    assert (here / "NAME").read_text() == "one"
    (tree / "name").write_text("two")
    done = ssh.scp(f":{tree}", windows / "pair", flags=["-r"])
    assert done.rc == 1
    assert "the same name as another one of this copy" in done.errors
    assert (windows / "pair/name").read_text() in ("one", "two")


def test_files_of_windows(sshd, keys, windows):
    """Hosts may be known there. A key that all may read is refused, as by any
    ssh, and the disk can have no other mode."""
    known = windows / "known_hosts"
    client = Client("hpn", sshd, known_hosts=known)
    client.fixed[:] = [o.replace("=yes", "=accept-new") if
                       o.startswith("StrictHost") else o for o in client.fixed]
    assert client.ssh("echo in").ok().text == "in\n"
    assert known.read_text().count("\n") >= 1
    key = windows / "key"
    key.write_bytes(keys.path("ed25519").read_bytes())
    key.chmod(0o600)
    client.key = key
    done = client.ssh("echo in")
    assert done.rc == 255 and "in\n" not in done.text
    assert "UNPROTECTED PRIVATE KEY FILE" in done.errors
