# SPDX-License-Identifier: ISC
"""EXT_INFO (RFC 8308): what the client says of itself, and the second one of
the server, which is about the user."""

from functools import partial

import pytest
from sshwire import (EXT_INFO, SERVICE_REQUEST, FakeServer, Reader, connect,
                     string)

import harness
from harness import ME, Client

IN_AUTH = "ext-info-in-auth@openssh.com"
MATCH = f"Match User {ME}\nPubkeyAcceptedAlgorithms ssh-ed25519\n"


def entries(payload):
    r = Reader(payload[1:])
    return {r.text(): r.text() for _ in range(r.u32())}


def infos_of_a_login(server, *said):
    """What the server says behind its first EXT_INFO, while a user asks."""
    wire = connect(server).handshake()
    if said:
        wire.say(EXT_INFO, len(said) // 2, *said)
    wire.ask_service()
    first, wire.ext_info = entries(wire.ext_info), None
    wire.try_auth(ME, "none")
    wire.try_auth(ME, "none")
    wire.close()
    return first, wire.ext_info and entries(wire.ext_info)


@pytest.mark.skipif(not harness.have("hpn", "sshd"), reason="no hpnsshd")
def test_second_ext_info_of_the_server(make_server):
    server = make_server(MATCH)
    first, second = infos_of_a_login(server, IN_AUTH, "0")
    assert "rsa-sha2-512" in first["server-sig-algs"].split(",")
    assert {"publickey-hostbound@openssh.com", "ping@openssh.com",
            "agent-forward"} < set(first)
    assert second == {"server-sig-algs": "ssh-ed25519"}
    # Only to those who take it.
    assert infos_of_a_login(server)[1] is None
    assert infos_of_a_login(server, IN_AUTH, "1")[1] is None
    assert infos_of_a_login(server, "other", "0")[1] is None


@pytest.mark.skipif(not harness.have("hpn", "ssh"), reason="no hpnssh")
@pytest.mark.parametrize("wanted", [True, False])
def test_ext_info_of_the_client(tmp_path, keys, wanted):
    """Right behind the first NEWKEYS, to a server that can take it."""
    got = []

    def script(wire):
        if wanted:
            wire.kexinit = partial(wire.kexinit,
                                   kex="curve25519-sha256,ext-info-s")
        wire.handshake(server.host)
        got.append(wire.recv())
        wire.sock.close()

    with FakeServer(tmp_path, keys, script) as server:
        Client("hpn", server).ssh("true")
    if wanted:
        assert entries(got[0]) == {IN_AUTH: "0",
                               "early-messages@hpnssh.org": "0"}
    else:
        assert got[0][0] == SERVICE_REQUEST


@pytest.mark.skipif(not harness.have("hpn", "ssh"), reason="no hpnssh")
def test_login_with_what_the_user_may_use(make_server):
    """Keys that the server takes of everybody else only."""
    server = make_server(MATCH)
    client = Client("hpn", server, key="rsa")
    done = client.ssh("true", flags=["-v"])
    assert done.rc == 255 and "Permission denied" in done.errors
    Client("hpn", server).ssh("true").ok()


@pytest.mark.parametrize("kind", ["hpn", "stock"])
@pytest.mark.parametrize("extra", [(), ("rsa",)])
def test_a_key_that_the_user_may_have(make_server, keys, kind, extra):
    """The list that counts for all has nothing for the key; that of the user,
    which comes with the first answer, has. So has any other order."""
    if not harness.have(kind, "sshd"):
        pytest.skip(f"no {kind} sshd")
    server = make_server(
        "PubkeyAcceptedAlgorithms ssh-ed25519\n"
        f"Match User {ME}\nPubkeyAcceptedAlgorithms +rsa-sha2-512\n",
        kind=kind, authorized=["rsa"])
    client = Client("hpn", server, key="rsa", log_level="DEBUG1", options=[
        f"IdentityFile={keys.path(k)}" for k in extra])
    done = client.ssh("echo", "in")
    assert done.text == "in\n", done
    # A hint leads to no other way.
    assert client.ssh("echo", "in").text == "in\n"


def test_what_is_left_out_is_told_at_debug_level(make_server):
    server = make_server("PubkeyAcceptedAlgorithms ssh-ed25519\n",
                         authorized=["rsa"])
    line = "no mutual signature algorithm"
    for level in ("INFO", "DEBUG1"):
        done = Client("hpn", server, key="rsa", log_level=level).ssh("true")
        assert done.rc == 255 and (line in done.errors) == (level == "DEBUG1")
