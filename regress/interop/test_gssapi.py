# SPDX-License-Identifier: ISC
"""Logins by Kerberos ticket (gssapi-with-mic), by every pair of our programs
and the installed ones, against a KDC of the tests' own."""

import os
import pwd
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import harness
import kerberos
from harness import ME, Client, Server, stock

sys.path.append(str(Path(harness.__file__).parent / "e2e"))

import ownetc  # noqa: E402

KINDS = ["hpn", "stock"]


pytestmark = [
    pytest.mark.skipif(not harness.built_with("GSSAPI"),
                       reason="built without GSSAPI"),
    pytest.mark.skipif(not kerberos.have_kerberos(),
                       reason="no krb5-kdc and krb5-user are installed"),
]


@pytest.fixture(scope="module")
def krb(tmp_path_factory):
    made = kerberos.Kerberos(tmp_path_factory.mktemp("krb"),
                             ["127.0.0.1", socket.gethostname()])
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def ticket(krb):
    """A ccache with a ticket that may be delegated."""
    return krb.ticket(krb.dir / "ccache", "-f")


@pytest.fixture(scope="module")
def servers(krb, tmp_path_factory, keys):
    """get(kind, config): a server with a keytab that lets any key in too."""
    running = {}

    def get(kind, config="", **kw):
        if (kind, config) not in running:
            lines = (f"{config}\nGSSAPIAuthentication yes\n"
                     f"SetEnv SHLVL=1 KRB5_CONFIG={krb.config}\n"
                     "LogLevel VERBOSE\n")
            if "GSSAPIStrictAcceptorCheck" not in config:
                lines = "GSSAPIStrictAcceptorCheck no\n" + lines
            running[kind, config] = Server(
                kind, tmp_path_factory.mktemp("gss-server"), keys,
                ["ed25519"], lines, env=krb.env(), **kw).start()
        if "Unsupported option" in running[kind, config].log_text():
            pytest.skip("the installed sshd has no GSSAPI")
        return running[kind, config]

    yield get
    for server in running.values():
        server.stop()


def client_of(kind, server, key=None, **kw):
    if kind == "stock" and "Unsupported option" in harness.run(
            [stock("ssh"), "-o", "GSSAPIAuthentication=yes", "-G",
             "x"]).errors:
        pytest.skip("the installed ssh has no GSSAPI")
    return Client(kind, server, key=key, log_level="DEBUG1",
                  options=("GSSAPIAuthentication=yes",), **kw)


@pytest.mark.parametrize("server_kind", KINDS)
@pytest.mark.parametrize("client_kind", KINDS)
def test_login(krb, ticket, servers, client_kind, server_kind):
    server = servers(server_kind)
    done = client_of(client_kind, server).ssh("echo in; exit 3",
                                              env=krb.env(ticket))
    assert (done.rc, done.out) == (3, b"in\n"), (done, server.log_text())
    assert "gssapi-with-mic" in done.errors
    log = server.log_text()
    principal = f"{ME}@{kerberos.REALM}"
    assert f"Authorized to {ME}, krb5 principal {principal} (krb5_kuserok)" \
        in log
    assert re.search(rf"Accepted gssapi-with-mic for {ME} from 127.0.0.1 "
                     rf"port \d+ ssh2: {principal}\r?\n", log)


@pytest.mark.parametrize("server_kind", KINDS)
def test_no_ticket_goes_on_at_once(krb, servers, server_kind):
    """Without a ticket nothing of it is sent: the key is first."""
    server = servers(server_kind)
    before = server.log_text().count("gssapi")
    done = client_of("hpn", server, "ed25519").ssh("true", env=krb.env())
    assert done.rc == 0, done
    assert 'using "publickey"' in done.errors
    assert server.log_text().count("gssapi") == before
    assert done.seconds < 30 * harness.SLOW


@pytest.mark.parametrize("server_kind", KINDS)
def test_refused_ticket_goes_on_with_the_key(krb, ticket, servers,
                                             server_kind):
    """A server that does not take it, whatever was sent ahead."""
    server = servers(server_kind, "GSSAPIAuthentication no")
    done = client_of("hpn", server, "ed25519").ssh("exit 4",
                                                   env=krb.env(ticket))
    assert done.rc == 4, done
    assert 'using "publickey"' in done.errors


def test_wrong_realm(krb, servers, tmp_path):
    """A principal that another realm vouches for is known, and is not the
    user, unless the user says so."""
    server = servers("hpn")
    other = krb.ticket(tmp_path / "cc",
                       principal=f"{ME}@{kerberos.OTHER}")
    done = client_of("hpn", server).ssh("true", env=krb.env(other))
    assert done.rc == 255 and "Permission denied" in done.errors, done
    assert f"for {ME} from 127.0.0.1" in server.log_text()
    assert re.search(rf"Failed gssapi-with-mic for {ME} .*: "
                     rf"{ME}@{kerberos.OTHER}", server.log_text())


@pytest.mark.parametrize("client_kind", KINDS)
def test_unknown_user(krb, ticket, servers, client_kind):
    """The ticket is good, the name is nobody's: the same dialogue, and no
    way in. (A stock client ends the same way.)"""
    server = servers("hpn")
    done = client_of(client_kind, server, user="nobody-of-that-name").ssh(
        "true", env=krb.env(ticket))
    assert done.rc == 255 and "Permission denied" in done.errors, done
    log = server.log_text()
    name = "invalid user nobody-of-that-name"
    assert f"Postponed gssapi-with-mic for {name}" in log
    assert f"Failed gssapi-with-mic for {name}" in log


def test_expired_ticket(krb, servers, tmp_path):
    server = servers("hpn")
    old = krb.ticket(tmp_path / "cc", "-l", "60s")
    kerberos.set_offset(old, 3600)
    done = client_of("hpn", server, "ed25519").ssh("true", env=krb.env(old))
    assert done.rc == 0 and 'using "publickey"' in done.errors, done
    assert re.search("GSSAPI: no ticket for .*expired", done.errors)


def test_clock_skew(krb, servers, tmp_path):
    """The ticket is good, but was used at another time: refused, with a line
    that says why, and the key is next."""
    server = servers("hpn")
    cache = krb.ticket(tmp_path / "cc")
    krb.run("kvno", "host/127.0.0.1", env=krb.env(cache))
    kerberos.set_offset(cache, 3600)
    done = client_of("hpn", server, "ed25519").ssh("true",
                                                   env=krb.env(cache))
    assert done.rc == 0 and 'using "publickey"' in done.errors, done
    assert "Clock skew too great" in server.log_text()
    stock_done = client_of("stock", server, "ed25519").ssh(
        "true", env=krb.env(cache))
    assert stock_done.rc == 0, stock_done


def by_name(server):
    """A way to the server under this host's own name, whatever that name
    resolves to."""
    return (f"ProxyCommand=bash -c 'exec 3<>/dev/tcp/127.0.0.1/"
            f"{server.port}; cat <&3 & cat >&3'")


def test_strict_acceptor(krb, ticket, servers):
    """With it, only tickets for the name that the host calls itself by;
    without it any that the keytab has a key for."""
    strict = servers("hpn", "GSSAPIStrictAcceptorCheck yes")
    done = client_of("hpn", strict).ssh("true", env=krb.env(ticket))
    assert done.rc == 255 and "Permission denied" in done.errors, done
    line = client_of("hpn", strict).ssh_args(
        by_name(strict), "StrictHostKeyChecking=no",
        "UserKnownHostsFile=/dev/null")
    line[-1] = socket.gethostname()
    done = harness.run([*line, "true"], env=krb.env(ticket))
    assert done.rc == 0, (done, strict.log_text())
    lenient = servers("hpn", "GSSAPIStrictAcceptorCheck no")
    client_of("hpn", lenient).ssh("true", env=krb.env(ticket)).ok()


def test_no_keytab(krb, ticket, servers, tmp_path, keys):
    """A server that has the keyword but no key, as many are configured."""
    env = dict(krb.env(), KRB5_KTNAME=str(tmp_path / "none"))
    with Server("hpn", tmp_path / "server", keys, ["ed25519"],
                "GSSAPIAuthentication yes\nLogLevel VERBOSE",
                env=env) as server:
        done = client_of("hpn", server, "ed25519").ssh(
            "true", env=krb.env(ticket))
        assert done.rc == 0 and 'using "publickey"' in done.errors, done
        assert "GSSAPI: no key for a service of this host" in \
            server.log_text()


# ---- delegation ---------------------------------------------------------

@pytest.mark.parametrize("server_kind", KINDS)
@pytest.mark.parametrize("client_kind", KINDS)
def test_delegation(krb, ticket, servers, client_kind, server_kind):
    """Handed over only if the client wants it; a file of the user's, which
    is gone after the session."""
    client = client_of(client_kind, servers(server_kind))
    show = "echo $KRB5CCNAME; ls -ln ${KRB5CCNAME#FILE:}"
    done = client.ssh(show, flags=["-K"], env=krb.env(ticket)).ok()
    name, listing = done.text.split("\n")[:2]
    uid = os.getuid()
    assert re.fullmatch(rf"FILE:/tmp/krb5cc_{uid}_\w+", name), done
    assert re.match(rf"-rw-------\S* +1 {uid} ", listing), done
    path = Path(name.removeprefix("FILE:"))
    assert harness.wait_for(lambda: not path.exists())
    none = client.ssh("echo ${KRB5CCNAME-none}", flags=["-k"],
                      env=krb.env(ticket)).ok()
    assert none.out == b"none\n"
    none = client.ssh("echo ${KRB5CCNAME-none}", env=krb.env(ticket)).ok()
    assert none.out == b"none\n"


@pytest.mark.skipif(not harness.IS_ROOT or not harness.built_with("PAM"),
                    reason="needs root, and PAM")
def test_delegation_with_pam(krb, ticket, servers):
    server = servers("hpn", "UsePAM yes\nPAMServiceName sshd")
    done = client_of("hpn", server).ssh(
        "klist -s && echo $KRB5CCNAME", flags=["-K"],
        env=krb.env(ticket)).ok()
    path = Path(done.text.strip().removeprefix("FILE:"))
    assert path.name.startswith(f"krb5cc_{os.getuid()}_"), done
    assert harness.wait_for(lambda: not path.exists())


@pytest.mark.parametrize("killed", ["monitor", "session"])
def test_delegation_and_a_process_that_is_killed(krb, ticket, servers,
                                                 background, killed):
    """The other one of the two removes the file."""
    client = client_of("hpn", servers("hpn"))
    running = background(
        client.ssh_args(flags=["-K"]) + [
            "echo ${KRB5CCNAME#FILE:} $PPID; exec sleep 600"],
        env=krb.env(ticket), stdout=subprocess.PIPE, text=True)
    name, session = running.stdout.readline().split()
    assert Path(name).exists()
    with open(f"/proc/{session}/stat") as f:
        monitor = f.read().rpartition(")")[2].split()[1]
    os.kill(int(monitor if killed == "monitor" else session), signal.SIGKILL)
    assert harness.wait_for(lambda: not Path(name).exists())
    assert running.wait(harness.LONG) == 255


@pytest.mark.skipif(ownetc.problem() is not None,
                    reason=f"{ownetc.problem()}")
def test_delegation_and_an_end_before_the_session(krb, keys, tmp_path):
    """A module of PAM's ends the server's process for this login."""
    harness.open_up(tmp_path)
    own = ownetc.OwnEtc(tmp_path / "own", keys)
    try:
        if not own.pam_service():
            pytest.skip("built without PAM")
        ended = tmp_path / "ended"
        script = tmp_path / "end"
        script.write_text(
            f"#!/bin/sh\nls /tmp/krb5cc_{ownetc.UID}_* >{ended}\n"
            "kill -TERM $PPID\nsleep 0.5\n")
        script.chmod(0o755)
        with open(own.etc / "pam.d" / "hpnsshd", "a") as f:
            f.write(f"session optional pam_exec.so type=open_session "
                    f"{script}\n")
        krb.admin(kerberos.REALM, f"add_principal -pw {kerberos.PASSWORD} "
                  f"{ownetc.USER}")
        cache = krb.ticket(tmp_path / "cc", "-f",
                           principal=f"{ownetc.USER}@{kerberos.REALM}")
        server = own.server(
            "UsePAM yes\nPAMServiceName hpnsshd\nGSSAPIAuthentication yes\n"
            "GSSAPIStrictAcceptorCheck no\n"
            f"SetEnv KRB5_CONFIG={krb.config}\n", env=krb.env())
        client = client_of("hpn", server, user=ownetc.USER)
        done = client.ssh("echo in", flags=["-K"], env=krb.env(cache))
        assert done.rc == 255 and done.out == b"", (done, server.log_text())
        name = ended.read_text().strip()
        assert name.startswith("/tmp/krb5cc_"), server.log_text()
        assert harness.wait_for(lambda: not Path(name).exists())
    finally:
        own.end()


def test_another_users_tickets(krb, servers, other_user, tmp_path):
    """The tickets are stored as the user who logs in, not as the server."""
    krb.admin(kerberos.REALM, f"add_principal -pw {kerberos.PASSWORD} "
              f"{other_user}")
    cache = krb.ticket(tmp_path / "cc", "-f",
                       principal=f"{other_user}@{kerberos.REALM}")
    client = client_of("hpn", servers("hpn"), user=other_user)
    done = client.ssh("id -u; stat -c '%u %a' ${KRB5CCNAME#FILE:}; klist -s",
                      flags=["-K"], env=krb.env(cache)).ok()
    uid, listing = done.text.splitlines()
    assert listing == f"{uid} 600" and uid != str(os.getuid()), done
    # and nobody else's account
    done = client_of("hpn", servers("hpn")).ssh("true", env=krb.env(cache))
    assert done.rc == 255 and "Permission denied" in done.errors, done


def test_k5login(krb, servers, other_user, tmp_path):
    """Whom the user names may log in, and with the file nobody else; it is
    read as the user, and a trap in its place stops nobody but the user."""
    home = Path(pwd.getpwnam(other_user).pw_dir)
    krb.admin(kerberos.REALM, "add_principal -pw "
              f"{kerberos.PASSWORD} guest")
    cache = krb.ticket(tmp_path / "cc", principal=f"guest@{kerberos.REALM}")
    client = client_of("hpn", servers("hpn"), user=other_user)
    assert client.ssh("true", env=krb.env(cache)).rc == 255
    account = pwd.getpwnam(other_user)
    path = home / ".k5login"
    try:
        path.write_text(f"guest@{kerberos.REALM}\n")
        os.chown(path, account.pw_uid, account.pw_gid)
        done = client.ssh("id -un", env=krb.env(cache))
        assert (done.rc, done.text.strip()) == (0, other_user), done
        path.write_text(f"somebody@{kerberos.REALM}\n")
        assert client.ssh("true", env=krb.env(cache)).rc == 255
    finally:
        path.unlink(missing_ok=True)


def test_second_hop(krb, ticket, servers):
    """From a session the user goes on with what was delegated."""
    first, second = servers("hpn"), servers("hpn", "MaxSessions 9")
    hop = client_of("hpn", second).ssh_args("IdentityAgent=none")
    command = " ".join([f"XDG_STATE_HOME='{os.environ['XDG_STATE_HOME']}'",
                        *(f"'{word}'" for word in hop), "'echo there'"])
    done = client_of("hpn", first).ssh(command, flags=["-K"],
                                       env=krb.env(ticket))
    assert (done.rc, done.out) == (0, b"there\n"), done
    done = client_of("hpn", first).ssh(command, env=krb.env(ticket))
    assert done.rc == 255 and b"there" not in done.out, done


def test_server_keeps_or_wants_none(krb, ticket, servers):
    show = "echo ${KRB5CCNAME-none}"
    client = client_of("hpn", servers(
        "hpn", "GSSAPICleanupCredentials no"))
    name = client.ssh(show, flags=["-K"], env=krb.env(ticket)).ok().text
    path = Path(name.strip().removeprefix("FILE:"))
    try:
        assert path.read_bytes()[:2] == b"\x05\x04"
    finally:
        path.unlink(missing_ok=True)
    client = client_of("hpn", servers(
        "hpn", "GSSAPIDelegateCredentials no"))
    done = client.ssh(show, flags=["-K"], env=krb.env(ticket)).ok()
    assert done.out == b"none\n"


# ---- together with other methods, and time --------------------------------

def test_both_are_needed(krb, ticket, servers):
    server = servers("hpn", "AuthenticationMethods publickey,gssapi-with-mic")
    client = client_of("hpn", server, "ed25519")
    client.ssh("true", env=krb.env(ticket)).ok()
    assert client.ssh("true", env=krb.env()).rc == 255


def test_match(krb, ticket, servers):
    server = servers("hpn", f"GSSAPIAuthentication yes\n"
                     "LogLevel VERBOSE\n"
                     f"Match user {ME}\nGSSAPIAuthentication no\nMatch all")
    done = client_of("hpn", server).ssh("true", env=krb.env(ticket))
    assert done.rc == 255 and "Permission denied (publickey" in done.errors


def test_kdc_that_does_not_answer(krb, servers, tmp_path, keys):
    """It accepts connections, and that is all: ConnectTimeout ends the wait,
    and the key is tried."""
    server = servers("hpn")
    cache = krb.ticket(tmp_path / "cc")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        config = tmp_path / "krb5.conf"
        config.write_text(krb.config.read_text().replace(
            f":{krb.port}", f":{silent.getsockname()[1]}"))
        env = dict(krb.env(cache), KRB5_CONFIG=str(config))
        done = client_of("hpn", server, "ed25519").ssh(
            "true", options=["BatchMode=no", "ConnectTimeout=2"], env=env)
    assert done.rc == 0 and 'using "publickey"' in done.errors, done
    assert 2 <= done.seconds < 8 * harness.SLOW, done


def test_no_more_round_trips_than_by_key(krb, ticket, servers, tmp_path):
    """The request, the token and the MIC leave together, and the session is
    asked for behind them, as behind a key's signature."""
    by_key, by_ticket = kerberos.answers_of_a_login(
        servers("hpn"), client_of, krb, ticket, tmp_path, "gssapi-with-mic")
    assert 0 < by_ticket <= by_key, (by_key, by_ticket)
