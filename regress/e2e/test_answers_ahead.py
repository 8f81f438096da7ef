# SPDX-License-Identifier: ISC
"""hpnsshd answers the two opening questions of stock clients before they are
asked: nobody gets in by that, nobody is kept out, and no one else sees it."""

import pytest
from sshwire import (CHANNEL_OPEN, SERVICE_ACCEPT, SERVICE_REQUEST,
                     USERAUTH_FAILURE, USERAUTH_PK_OK, USERAUTH_REQUEST,
                     USERAUTH_SUCCESS, Closed, connect, load_key, string)

import harness
from harness import ME, Client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "sshd"),
                                reason="hpnsshd is not built")
STOCK = b"SSH-2.0-OpenSSH_9.2p1 Debian-2"


@pytest.fixture
def stranger(keys):
    return load_key(keys.path("ed25519-stranger"))


def begin(server, ident=STOCK):
    return connect(server, ident=ident).handshake()


def took_ahead(w):
    """The methods that were told before anything was asked."""
    w.expect(SERVICE_ACCEPT)
    failure = w.expect(USERAUTH_FAILURE)
    methods = failure.text()
    assert not failure.bool()
    w.say(SERVICE_REQUEST, "ssh-userauth")
    return methods.split(",")


def offer(w, key):
    w.auth_request(ME, "publickey", False, "ssh-ed25519", string(key.blob))


def test_answers_come_once(sshd, key):
    w = begin(sshd)
    assert took_ahead(w) == ["publickey", "password"]
    w.auth_request(ME, "none")
    offer(w, key)
    # the next answer is that to the key
    assert w.recv()[0] == USERAUTH_PK_OK
    w.send(w.signed_request(ME, key))
    assert w.recv()[0] == USERAUTH_SUCCESS
    w.open_session()


def test_none_lets_nobody_in(sshd, stranger):
    w = begin(sshd)
    took_ahead(w)
    w.auth_request(ME, "none")
    w.say(CHANNEL_OPEN, "session", 0, 1 << 20, 1 << 15)
    w.send(w.signed_request(ME, stranger))
    w.expect(USERAUTH_FAILURE)
    w.auth_request(ME, "none")  # the second one has its own answer
    w.expect(USERAUTH_FAILURE)


def test_who_asks_for_something_else_first(sshd, key):
    """Has read our answer as one to that: so it is one."""
    w = begin(sshd)
    took_ahead(w)
    w.send(w.signed_request(ME, key))
    offer(w, key)
    assert w.recv()[0] == USERAUTH_PK_OK
    w.send(w.signed_request(ME, key))
    w.expect(USERAUTH_SUCCESS)


def test_before_the_service(sshd, key):
    w = begin(sshd)
    w.expect(SERVICE_ACCEPT)
    w.expect(USERAUTH_FAILURE)
    with pytest.raises(Closed):
        w.send(w.signed_request(ME, key))
        w.expect(USERAUTH_SUCCESS)


def test_other_service(sshd):
    w = begin(sshd)
    w.expect(SERVICE_ACCEPT)
    w.say(SERVICE_REQUEST, "ssh-connection")
    assert "bad service request" in w.was_ended()


def test_tries_are_counted(make_server, stranger):
    """As without: the question is free, and every key counts."""
    w = begin(make_server("MaxAuthTries 3"))
    took_ahead(w)
    w.auth_request(ME, "none")
    for _ in range(2):
        offer(w, stranger)
        w.expect(USERAUTH_FAILURE)
    offer(w, stranger)
    assert "Too many authentication failures" in w.was_ended()


@pytest.mark.parametrize("ident", [
    b"SSH-2.0-sshwire_1", b"SSH-2.0-OpenSSH_11.0", b"SSH-2.0-OpenSSH_10.6",
    b"SSH-2.0-OpenSSH_7.4", b"SSH-2.0-OpenSSH_for_Windows_9.5",
    b"SSH-2.0-OpenSSH_10.5_hpn18 HPNSSH_0.9.0", b"SSH-2.0-OpenSSH"])
def test_others_are_answered_when_they_ask(sshd, ident):
    w = begin(sshd, ident)
    w.say(SERVICE_REQUEST, "ssh-userauth")
    assert w.expect(SERVICE_ACCEPT).text() == "ssh-userauth"
    w.auth_request(ME, "none")
    w.expect(USERAUTH_FAILURE)


@pytest.mark.parametrize("config", [
    "Match User nobody-at-all\nPasswordAuthentication no",
    "PermitEmptyPasswords yes"])
def test_not_where_it_depends_on_the_user(make_server, config):
    w = begin(make_server(config))
    w.say(SERVICE_REQUEST, "ssh-userauth")
    w.expect(SERVICE_ACCEPT)
    w.auth_request(ME, "none")
    w.expect(USERAUTH_REQUEST, USERAUTH_FAILURE)


@pytest.mark.skipif(not harness.have("stock", "ssh"),
                    reason="no stock ssh is installed")
@pytest.mark.parametrize("config", [
    "", "MaxAuthTries 2", "AuthenticationMethods publickey,publickey",
    "Banner {banner}", "Match User nobody-at-all"])
def test_stock_client(make_server, keys, tmp_path, config):
    banner = tmp_path / "banner"
    banner.write_text("welcome\n")
    server = make_server(config.format(banner=banner))
    twice = "publickey,publickey" in config
    client = Client("stock", server, log_level="DEBUG1")
    flags = ["-i", keys.path("rsa")] if twice else []
    done = client.ssh("echo", "in", flags=flags)
    assert (done.rc, done.out) == (0, b"in\n"), done
    stranger = Client("stock", server, key="ed25519-stranger")
    done = stranger.ssh("true")
    assert done.rc == 255, done
    assert "Permission denied (publickey" in done.errors \
        or "Too many authentication failures" in done.errors, done
