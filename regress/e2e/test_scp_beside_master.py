# SPDX-License-Identifier: ISC
"""hpnscp makes connections of its own beside a master's: to the address, the
host key and the account that the master tells of, and to nothing else."""

import copy
import itertools
import pwd
import shlex

import pytest
from muxes import Master, is_socket
from test_scp_further import Door, lead
from test_scp_master import MB, logins, scp
from sshwire import DISCONNECT, FakeServer, load_key
from test_ssh_auth import asks  # noqa: F401

import harness
from harness import (LONG, ME, Client, clean_env, have, program, run,
                     start, wait_for)

pytestmark = pytest.mark.skipif(not have("hpn", "ssh", "scp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")


SLOWLY = ("-l", "40000")  # kbit/s: time for others to log in


@pytest.fixture
def path(tmp_path):
    return tmp_path / "socket"


@pytest.fixture
def server(make_server):
    return make_server("LogLevel VERBOSE")


@pytest.fixture
def send(path, data_file, tmp_path):
    """send(server, *flags): a copy by a configuration that knows neither the
    host nor its port nor its key. Returns what it says with -v."""
    count = itertools.count()

    def go(server, *flags, key="ed25519", options=()):
        data, target = data_file(12 * MB), tmp_path / f"out{next(count)}"
        options = ["IdentitiesOnly=yes", "UserKnownHostsFile=none",
                   f"ConnectTimeout={LONG}",
                   f"IdentityFile={server.keys.dir / key}", *options]
        done = run(scp(path, "-v", *flags, data,
                       f"no.such.host.invalid:{target}", options=options),
                   env=clean_env()).ok()
        assert target.read_bytes() == data.read_bytes()
        return done.errors

    return go


def came(server):
    """How many connections the server has seen."""
    return server.log_text().count("Connection from")


# ---- connections beside it ----------------------------------------------

@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_further_ones(make_server, path, send, kind):
    server = make_server("LogLevel VERBOSE", kind)
    with Master("hpn", server, path):
        said = send(server, *SLOWLY, "-j", "4")
        assert "connection 3 is ready" in said, said
        assert (came(server), logins(server)) == (4, 4)


def test_of_a_master_in_the_background(server, path, send):
    client = Client("hpn", server)
    client.ssh("true", options=["ControlMaster=auto", f"ControlPath={path}",
                                "ControlPersist=yes"]).ok()
    send(server, *SLOWLY, "-j", "2")
    assert logins(server) == 2
    client.ssh(options=[f"ControlPath={path}"], flags=["-O", "exit"]).ok()


def test_one_stream_is_the_master_s(server, path, send):
    with Master("hpn", server, path):
        said = send(server, "-j", "1")
        assert came(server) == 1 and "further connections" not in said


def test_not_over_a_short_path(server, path, send):
    """Where they bring nothing, none is made."""
    with Master("hpn", server, path):
        said = send(server)
        assert came(server) == 1 and "further connections would" in said


def test_user_of_the_master(server, path, send):
    """Not the one that the copy's own configuration names."""
    other = next(p.pw_name for p in pwd.getpwall() if p.pw_name != ME)
    with Master("hpn", server, path):
        send(server, *SLOWLY, "-j", "2", options=[f"User={other}"])
        assert logins(server) == 2
        assert f"Accepted publickey for {ME} " in server.log_text()
        assert f"for {other} " not in server.log_text()


def test_they_outlive_the_master(server, path, data_file, tmp_path):
    """What it had to do the others do."""
    data, target = data_file(24 * MB), tmp_path / "out"
    with Master("hpn", server, path) as master:
        done = start(scp(path, "-v", *SLOWLY, "-j", "2", data,
                         f"x:{target}",
                         options=["IdentitiesOnly=yes",
                                  f"ConnectTimeout={LONG}",
                                  "IdentityFile="
                                  f"{server.keys.path('ed25519')}"]),
                     stderr=harness.subprocess.PIPE)
        assert wait_for(lambda: logins(server) == 2, LONG)
        wait_for(lambda: False, 0.3)
        master.process.kill()
        said = done.communicate(timeout=LONG)[1].decode()
    assert done.returncode == 0, said
    assert target.read_bytes() == data.read_bytes()


# ---- none: the master's sessions carry what -j asks for -----------------

def test_another_host_key(make_server, path, send, tmp_path):
    """At the master's address is another host by now."""
    right = make_server("LogLevel VERBOSE", host_keys=("ed25519",))
    wrong = make_server("LogLevel VERBOSE", host_keys=("ecdsa256",))
    with Door(right.port, lambda sock, _: lead(sock, wrong.port)) as door:
        through = copy.copy(right)
        through.port = door.port
        with Master("hpn", through, path, "StrictHostKeyChecking=no",
                    known_hosts="/dev/null"):
            said = send(right, "-j", "3")
        assert door.accepted == 2
    assert "this connection came to another host key" in said, said
    assert (came(wrong), logins(wrong)) == (1, 0)
    assert (came(right), logins(right)) == (1, 1)


def test_another_key(make_server, path, send):
    """It would let the user in, but perhaps to something else."""
    server = make_server("LogLevel VERBOSE", authorized=("ed25519", "rsa"))
    with Master("hpn", server, path):
        send(server, "-j", "3", key="rsa")
        assert (came(server), logins(server)) == (2, 1)


def test_no_key_was_asked_for(make_server, path, send, tmp_path):
    """Who lets anybody in is not who let the master in, whatever its host
    key."""
    server = make_server("LogLevel VERBOSE", host_keys=("ed25519",))
    host = load_key(server.keys.path("ed25519-host"))
    heard = []

    def talk(wire):
        wire.handshake(host)
        wire.accept_user()
        heard.append([payload[0] for payload in wire.drain()])

    with FakeServer(tmp_path, server.keys, talk) as fake, \
            Door(server.port, lambda s, _: lead(s, fake.port)) as door:
        through = copy.copy(server)
        through.port = door.port
        with Master("hpn", through, path, "StrictHostKeyChecking=no",
                    known_hosts="/dev/null"):
            said = send(server, "-j", "2",
                        options=["PubkeyAuthentication=no"])
    assert "this connection was let in by another key" in said, said
    assert heard in ([[]], [[DISCONNECT]])


def test_no_key(server, path, send):
    """It tries nothing that the server would count as a failure."""
    with Master("hpn", server, path):
        said = send(server, *SLOWLY, "-j", "3",
                    options=["PubkeyAuthentication=no"])
        assert (came(server), logins(server)) == (2, 1)
        assert "connection 2 is given up" in said
        assert "Failed" not in server.log_text()


def test_master_s_sessions_carry_it(make_server, path, send):
    server = make_server("LogLevel VERBOSE", "stock")
    with Master("hpn", server, path):
        send(server, *SLOWLY, "-j", "3",
             options=["PubkeyAuthentication=no"])
        assert server.log_text().count("subsystem 'sftp'") == 3


def test_stock_master(server, path, send):
    if not have("stock", "ssh"):
        pytest.skip("no stock ssh is installed")
    with Master("stock", server, path):
        said = send(server, "-j", "3")
        assert came(server) == 1 and "further connections" not in said


def test_password(asks, keys, path, data_file, tmp_path):  # noqa: F811
    """What the user typed is the master's alone: the server does not hear of
    anybody who lacks it."""
    server, script = asks(password="right"), tmp_path / "script"
    script.write_text("#!/bin/sh\necho right\n")
    script.chmod(0o755)
    data, target = data_file(4 * MB), tmp_path / "out"
    master = start(
        [*server.args("-M", "-N", "-S", path)[:-1]],
        env=clean_env(SSH_ASKPASS=script, SSH_ASKPASS_REQUIRE="force"))
    assert wait_for(lambda: is_socket(path), LONG)
    done = run(scp(path, "-v", "-j", "3", data, f"x:{target}",
                   options=[f"IdentityFile={keys.path('ed25519')}"])).ok()
    assert target.read_bytes() == data.read_bytes()
    assert "further connections" not in done.errors
    assert server.tries == ["right"]
    master.terminate()
    master.wait(LONG)


def test_passphrase(server, path, send, tmp_path):
    """No further connection is made with a key whose passphrase only the
    master was told."""
    key, script = tmp_path / "key", tmp_path / "script"
    key.write_bytes(server.keys.path("ed25519").read_bytes())
    key.chmod(0o600)
    run([program("hpn", "ssh-keygen"), "-q", "-p", "-P", "", "-N", "a phrase",
         "-f", key]).ok()
    script.write_text("#!/bin/sh\necho a phrase\n")
    script.chmod(0o755)
    with Master("hpn", server, path, "BatchMode=no", f"IdentityFile={key}",
                key=None, env=clean_env(SSH_ASKPASS=script,
                                        SSH_ASKPASS_REQUIRE="force")):
        said = send(server, "-j", "3")
        assert came(server) == 1 and "further connections" not in said


@pytest.mark.parametrize("whose", ["master", "copy"])
def test_proxy(server, path, send, whose):
    """The way through it may not be there for others, or not the same."""
    proxy = "ProxyCommand=" + shlex.join(
        [program("hpn", "ssh"), *Client("hpn", server).options(), "-p",
         str(server.port), "-W", f"127.0.0.1:{server.port}", "127.0.0.1"])
    masters = [proxy] if whose == "master" else []
    with Master("hpn", server, path, *masters):
        before = came(server)
        said = send(server, "-j", "3", options=[proxy] * (whose == "copy"))
        assert came(server) == before and "further connections" not in said


def test_host_that_is_not_trusted(make_server, path, send, tmp_path):
    """Its key has changed, and the user went on."""
    server = make_server("LogLevel VERBOSE")
    wrong = tmp_path / "wrong"
    wrong.write_text(f"[127.0.0.1]:{server.port} "
                     f"{server.keys.public('ed25519-other')}\n")
    with Master("hpn", server, path, "StrictHostKeyChecking=no",
                known_hosts=wrong):
        send(server, "-j", "3")
        assert came(server) == 1


# ---- who else hears of it -----------------------------------------------

def test_stock_clients_pass_over_it(server, path):
    if not have("stock", "ssh"):
        pytest.skip("no stock ssh is installed")
    with Master("hpn", server, path) as master:
        done = master.command("conninfo", "stock")
        assert done.rc in (0, 255) and "anchor" not in done.text
        assert master.command("check", "stock").rc == 0
