# SPDX-License-Identifier: ISC
"""Further connections of hpnscp that can not be had, or not yet: the copy is
made by those that are there, and the server has no reason to be annoyed."""

import itertools
import re
import select
import socket
import threading

import pytest

import harness
import rawssh
from harness import clean_env, have, hpn, run
from test_ssh_auth import asks  # noqa: F401

pytestmark = pytest.mark.skipif(not have("hpn", "scp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")
SIZE = 3_000_000
SLOWLY = ("-l", "40000")  # kbit/s: time for others to be asked for
BEGUN_MAX = 4  # further connections that log in at the same time


@pytest.fixture(params=["hpn", "stock"])
def server(request, make_server):
    return make_server("LogLevel VERBOSE", request.param)


class Door(rawssh.FakeServer):
    """Leads the first connection to the server on `port`; what becomes of the
    others is other(socket, number)."""

    def __init__(self, port, other):
        super().__init__(self.come)
        self.port_behind, self.other = port, other
        self.number = itertools.count()

    def come(self, raw):
        number = next(self.number)
        if number == 0:
            lead(raw.sock, self.port_behind)
        else:
            self.other(raw.sock, number)


def lead(client, port, may_go_on=None):
    """Passes bytes until one side ends; those of the server, behind its
    identification, when it may."""
    with socket.create_connection(("127.0.0.1", port)) as server, client:
        if may_go_on:
            client.sendall(server.recv(255))
            assert may_go_on.wait(harness.LONG)
        while min(client.fileno(), server.fileno()) >= 0:
            for sock in select.select([client, server], [], [], 0.1)[0]:
                data = sock.recv(1 << 16)
                if not data:
                    return
                (server if sock is client else client).sendall(data)


def argv(keys, port, source, target, *flags, options=(), key="ed25519"):
    """Nothing is known of hosts, and nothing is noted."""
    more = [x for o in (*options, "StrictHostKeyChecking=no",
                        "UserKnownHostsFile=/dev/null",
                        "GlobalKnownHostsFile=none", "IdentitiesOnly=yes",
                        "IdentityAgent=none") for x in ("-o", o)]
    return [hpn("scp"), "-v", "-F", "none", *SLOWLY, *flags, *more, "-i",
            keys.path(key) if key in harness.BITS else key, "-P",
            str(port), source, f"127.0.0.1:{target}"]


def copied(done, data, target):
    assert done.rc == 0, done
    assert target.read_bytes() == data.read_bytes()
    return done.errors


def logins(server):
    """How many came, and how many logged in, when all have gone."""
    harness.wait_for(lambda: not server.connections())
    text = server.log_text()
    came = set(re.findall(r"Connection from \S+ port (\d+)", text))
    welcome = set(re.findall(r"Accepted .* port (\d+)", text))
    return len(came), len(welcome)


def test_host_key_that_is_not_on_file(server, keys, data_file, tmp_path):
    data, target = data_file(SIZE), tmp_path / "out"
    errors = copied(run(argv(keys, server.port, data, target, "-j", "3")),
                    data, target)
    assert logins(server) == (3, 3), errors
    assert "connection 1 is ready" in errors
    assert "connection 2 is ready" in errors


@pytest.mark.parametrize("known", [False, True], ids=["unknown", "known"])
def test_another_host_key(make_server, keys, data_file, tmp_path, known):
    """A connection that is led elsewhere gets nothing: neither by the rules
    of a first contact, nor because that host is known as well."""
    right = make_server("LogLevel VERBOSE", host_keys=("ed25519",))
    wrong = make_server("LogLevel VERBOSE", host_keys=("ecdsa256",))
    data, target, options = data_file(SIZE), tmp_path / "out", ()
    if known:
        file = tmp_path / "known"
        file.write_text("".join(f"there {keys.public(k + '-host')}\n"
                                for k in ("ed25519", "ecdsa256")))
        options = (f"UserKnownHostsFile={file}", "HostKeyAlias=there",
                   "StrictHostKeyChecking=yes")
    with Door(right.port, lambda sock, _: lead(sock, wrong.port)) as door:
        errors = copied(run(argv(keys, door.port, data, target, "-j", "2",
                                 options=options)), data, target)
        assert door.accepted == 2
    assert logins(right) == (1, 1)
    assert logins(wrong) == (1, 0), wrong.log_text()
    assert "this connection came to another host key" in errors
    assert "connection 1 is refused" in errors


def test_closed_at_once(server, keys, data_file, tmp_path):
    """As by MaxStartups: with the first that is refused the others, which
    have not tried yet, are given up."""
    data, target = data_file(SIZE), tmp_path / "out"

    def close(sock, _):
        sock.sendall(b"Not allowed at this time\r\n")
        sock.close()

    with Door(server.port, close) as door:
        errors = copied(run(argv(keys, door.port, data, target, "-j", "9")),
                        data, target)
        assert door.accepted == 1 + BEGUN_MAX, errors
    assert len(re.findall(r"connection \d is given up", errors)) == (
        8 - BEGUN_MAX), errors
    assert logins(server) == (1, 1)


def test_silence(server, keys, data_file, tmp_path):
    """Nobody waits for a connection that does not come; that of a firewall
    which drops its packets looks the same."""
    data, target = data_file(SIZE), tmp_path / "out"
    over = threading.Event()
    with Door(server.port, lambda *_: over.wait(harness.LONG)) as door:
        errors = copied(run(argv(keys, door.port, data, target, "-j", "3")),
                        data, target)
        over.set()
        assert door.accepted == 3
    assert "timed out" not in errors and "is refused" not in errors, errors
    assert logins(server) == (1, 1)


def test_no_second_proxy(server, keys, data_file, tmp_path):
    """What a proxy or jump host wants to be asked is not known here: one
    tries, and with it the others are refused."""
    data, target = data_file(SIZE), tmp_path / "out"
    script = tmp_path / "proxy"
    script.write_text(
        f"#!/bin/sh\nmkdir {tmp_path}/once || exit 1\n"
        f"exec {harness.program(server.kind, 'sshd')} -i -f "
        f"{server.config} -E {tmp_path}/log\n")
    script.chmod(0o755)
    errors = copied(run(argv(keys, server.port, data, target, "-j", "4",
                             options=(f"ProxyCommand={script}",))),
                    data, target)
    assert errors.count("Executing proxy command: exec") <= 2, errors


def asked_scp(keys, port, data, target, tmp_path, answer, key="none",
              options=()):
    """Asks by a program; and what it was asked."""
    asked, script = tmp_path / "asked", tmp_path / "askpass"
    script.write_text(f'#!/bin/sh\necho "$1" >>{asked}\necho "{answer}"\n')
    script.chmod(0o755)
    done = run(argv(keys, port, data, target, "-j", "4", key=key,
                    options=options),
               env=clean_env(SSH_ASKPASS=script, SSH_ASKPASS_REQUIRE="force"))
    return done, asked.read_text().splitlines()


@pytest.mark.parametrize("prompt", [
    "Code: ", "One-time password: ", "Password + OTP: ", "Token password: ",
    "Mot de passe : "])
def test_one_time_code(asks, keys, data_file, tmp_path, prompt):  # noqa: F811
    """What may be one is never tried again."""
    server = asks(prompts=[(prompt, False, "right")], once=True)
    data, target = data_file(SIZE), tmp_path / "out"
    done, asked = asked_scp(keys, server.port, data, target, tmp_path,
                            "right")
    errors = copied(done, data, target)
    assert len(asked) == 1
    assert server.tries == [["right"]], errors
    assert "everything goes over one connection" in errors


def test_one_time_password(asks, keys, data_file, tmp_path):  # noqa: F811
    """It is tried once more, as a password would do again, and that is it."""
    server = asks(prompts=[("Password: ", False, "right")], once=True)
    data, target = data_file(SIZE), tmp_path / "out"
    done, asked = asked_scp(keys, server.port, data, target, tmp_path,
                            "right")
    errors = copied(done, data, target)
    assert len(asked) == 1
    assert server.tries == [["right"], ["right"]], errors
    assert len(re.findall(r"connection \d is given up", errors)) == 2


def test_key_with_a_passphrase(server, keys, data_file, tmp_path):
    """It is not kept, so nothing further comes to the server; and the next
    time nothing begins beside the first."""
    key = tmp_path / "locked"
    key.write_bytes(keys.path("ed25519").read_bytes())
    key.chmod(0o600)
    run([hpn("ssh-keygen"), "-q", "-p", "-P", "", "-N", "a phrase", "-f",
         key]).ok()
    data, target = data_file(SIZE), tmp_path / "out"
    done, asked = asked_scp(keys, server.port, data, target, tmp_path,
                            "a phrase", key=key, options=(
                                f"UserKnownHostsFile={server.known_hosts}",))
    copied(done, data, target)
    assert len(asked) == 1
    assert logins(server) == (1, 1)
    hints = harness.hints_file().read_text().splitlines()[-1]
    assert re.fullmatch(r"\S+ \S+ \S+ SHA256:\S+ asked", hints)


def test_half_logged_in(server, keys, data_file, tmp_path):
    """A copy that ends while others log in lets them, before all go: servers
    count those that go without (PerSourcePenalties, noauth)."""
    data, target = data_file(SIZE), tmp_path / "out"
    there = threading.Event()

    def watch():
        if harness.wait_for(target.exists, harness.LONG):
            there.set()

    threading.Thread(target=watch, daemon=True).start()
    with Door(server.port, lambda sock, _: lead(sock, server.port,
                                                there)) as door:
        errors = copied(run(argv(keys, door.port, data, target, "-j", "3")),
                        data, target)
    assert logins(server) == (3, 3), (errors, server.log_text())


@pytest.mark.parametrize("sessions", [1, 2])
def test_few_sessions(make_server, keys, data_file, tmp_path, sessions):
    server = make_server(f"LogLevel VERBOSE\nMaxSessions {sessions}",
                         "stock")
    data, target = data_file(SIZE), tmp_path / "out"
    copied(run(argv(keys, server.port, data, target, "-j", "3")), data,
           target)
    assert logins(server) == (3, 3)
