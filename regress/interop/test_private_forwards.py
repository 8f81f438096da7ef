# SPDX-License-Identifier: ISC
"""Agent and X11 forwarding between our programs and OpenSSH's, with its agent
and a real xauth."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness import Client, run, stock, wait_for

sys.path.append(str(Path(harness.__file__).parent / "e2e"))
import private_forwards  # noqa: E402
from displays import FakeX, exactly, first_packet  # noqa: E402
from private_forwards import Session, own  # noqa: E402, F401
from ownetc import USER  # noqa: E402

XAUTH = "/usr/bin/xauth"
COOKIE = bytes(range(1, 17))
CONFIG = "X11Forwarding yes"
PAIRS = pytest.mark.parametrize("client_kind, server_kind", [
    ("hpn", "hpn"), ("hpn", "stock"), ("stock", "hpn")])
pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                       reason="hpnssh and hpnsshd are not built"),
    pytest.mark.skipif(not (stock("ssh") and stock("ssh-agent")
                            and stock("ssh-add")),
                       reason="no stock ssh, ssh-agent, ssh-add"),
]


@pytest.fixture(scope="module")
def place(nothing_left, keys):
    with private_forwards.place(keys) as made:
        yield made


@pytest.fixture
def agent(background, keys, short):
    """Environment of a stock agent that has the user's key."""
    path = short / "agent"
    background([stock("ssh-agent"), "-D", "-a", path],
               stdout=subprocess.DEVNULL)
    wait_for(path.exists)
    env = harness.clean_env(SSH_AUTH_SOCK=path)
    run([stock("ssh-add"), keys.path("ed25519")], env=env).ok()
    yield env


def server_of(own, kind, config=CONFIG):
    if kind == "stock" and not harness.have("stock", "sshd"):
        pytest.skip("no stock sshd is installed")
    return own.server(config, kind=kind)


@PAIRS
def test_agent(own, agent, client_kind, server_kind):
    """OpenSSH's ssh-add lists the key on the server."""
    server = server_of(own, server_kind)
    client = Client(client_kind, server, user=USER)
    done = client.ssh("ssh-add", "-l", env=agent, flags=["-A"]).ok()
    assert "ED25519" in done.text
    assert client.ssh("ssh-add", "-l", env=agent).rc == 2


@PAIRS
def test_x11(own, tmp_path, client_kind, server_kind):
    if not os.path.exists(XAUTH):
        pytest.skip("no xauth")
    server = server_of(own, server_kind)
    with FakeX(COOKIE) as display:
        authority = tmp_path / "Xauthority"
        run([XAUTH, "-f", authority, "add", display.name, ".",
             COOKIE.hex()]).ok()
        env = harness.clean_env(DISPLAY=display.name, XAUTHORITY=authority)
        with Session(Client(client_kind, server, user=USER), 'echo "<$DISPLAY>"',
                     env=env, flags=["-Y"]) as session:
            number = int(session.shown.partition(":")[2].partition(".")[0])
            known = run([XAUTH, "-f", own.home / ".Xauthority", "list",
                         f"unix:{number}"]).ok().text.split()
            cookie = bytes.fromhex(known[2])
            assert cookie != COOKIE
            for sent, answer in ((bytes(16), b""), (cookie, b"hello")):
                with socket.create_connection(
                        ("127.0.0.1", 6000 + number), 20) as x:
                    x.settimeout(20)
                    x.sendall(first_packet(sent, b"l"))
                    assert exactly(x, 5) == answer
        assert display.packets == [first_packet(COOKIE, b"l")]


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_key_for_some_hosts(own, agent, keys, tmp_path, kind):
    """A key that the agent gives only on a certain way: from here to the first
    host, and from there to the second. It knows the way by what the clients
    told it of each connection; the third host is on none."""
    first = server_of(own, "hpn")
    second = own.server("PrintMotd no")
    third = own.server("PrintMotd no\nPrintLastLog no")
    known = tmp_path / "known_hosts"
    # These servers have the same host keys: the names mean one of them each.
    known.write_text(f"host0 {keys.public('ed25519-host')}\n"
                     f"host1 {keys.public('ecdsa256-host')}\n")
    run([stock("ssh-add"), "-D"], env=agent).ok()
    done = run([stock("ssh-add"), "-H", known, "-h", "host0", "-h",
                "host0>host1", keys.path("ed25519")], env=agent)
    if done.rc != 0:
        pytest.skip("this ssh-add knows no destinations")

    def client(server, host_key):
        return Client(kind, server, user=USER, key=None, options=(
            f"HostKeyAlgorithms={host_key}", "IdentityFile=none",
            "IdentitiesOnly=no"))

    with Session(client(first, "ssh-ed25519"), 'echo "<$SSH_AUTH_SOCK>"',
                 env=agent, flags=["-A"]) as session:
        there = harness.clean_env(SSH_AUTH_SOCK=session.shown)
        two = client(second, "ecdsa-sha2-nistp256")
        assert two.ssh("echo two", env=there).ok().text == "two\n"
        assert client(third, "rsa-sha2-512").ssh("true", env=there).rc == 255
