# SPDX-License-Identifier: ISC
"""Copies whose login takes a code that is good once, with LoginTickets at both
ends: the user is asked once, and several connections make the copy."""

import os
import re
import signal

import pytest
from faults.proxy import Fault, Proxy, for_connections
from otp import (PAM, PASSWORD, UNIX, USER, logins, missing,  # noqa: F401
                 oath, otp)

import harness
from harness import have, hpn, run

pytestmark = [
    pytest.mark.skipif(not have("hpn", "scp", "sftp", "sshd"),
                       reason="hpnscp or hpnsshd is not built"),
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.skipif(os.geteuid() != 0,
                       reason="tickets need a server of the superuser's"),
]
TWO = "publickey,keyboard-interactive"


def copy(otp, config, options, methods=TWO, kind="hpn"):  # noqa: F811
    """What hpnscp -j 4 says, and how many logins there were."""
    otp.service(otp.oath)
    server = otp.server(f"{PAM}AuthenticationMethods {methods}\n{config}",
                        kind)
    data, target = otp.dir / "data", otp.home / "copy"
    data.mkdir()
    for i in range(40):
        (data / f"f{i}").write_bytes(harness.noise(300_000))
    client = otp.client(server, key="ed25519", log_level="VERBOSE",
                        options=options)
    done = run([hpn("scp"), *client.options(), "-r", "-j", "4", "-l", "40000",
                "-P", server.port, data, f"{USER}@127.0.0.1:{target}"],
               env=otp.answers(oath(0)), timeout=120 * harness.SLOW).ok()
    for path in data.iterdir():
        assert (target / path.name).read_bytes() == path.read_bytes()
    assert len(otp.asked()) == 1
    return done.errors, logins(server), server.log_text()


@pytest.mark.parametrize("methods", [
    TWO, f"{TWO} publickey,ticket@hpnssh.org"])
def test_one_dialogue_for_several(otp, methods):  # noqa: F811
    _, (came, welcome, failed), log = copy(
        otp, "LoginTickets yes\n", ["LoginTickets=yes"], methods)
    assert 2 <= welcome <= 4 and came == welcome
    assert len(re.findall("Accepted ticket@hpnssh.org", log)) == welcome - 1
    assert not [line for line in failed if "Failed" in line]


@pytest.mark.parametrize("config,options,kind", [
    ("", ["LoginTickets=yes"], "hpn"),
    ("LoginTickets yes\n", [], "hpn"),
    pytest.param("", ["LoginTickets=yes"], "stock", marks=pytest.mark.skipif(
        not have("stock", "sshd"), reason="no stock sshd is installed")),
])
def test_else_one_connection(otp, config, options, kind):  # noqa: F811
    errors, (_, welcome, _), log = copy(otp, config, options, kind=kind)
    assert welcome == 1
    assert "everything goes over one connection" in errors
    assert "ticket" not in log.lower().replace("gssapi", "")


def test_a_server_that_has_few(otp):  # noqa: F811
    """With one at a time: no login fails for want of a ticket but the last,
    and the copy is whole."""
    _, (_, welcome, _), _ = copy(otp, "LoginTickets yes connections:1\n",
                                 ["LoginTickets=yes"])
    assert welcome == 2


# ---- a connection that is lost -------------------------------------------

QUICK = ["ConnectTimeout=5", "ServerAliveInterval=1"]


def through(otp, proxy, server):  # noqa: F811
    """A client that reaches the server by the proxy."""
    known = otp.dir / "known"
    known.write_text("".join(
        f"[{proxy.host}]:{proxy.port} " + line.split(" ", 1)[1] + "\n"
        for line in server.known_hosts.read_text().splitlines()))
    return otp.client(server, key="ed25519", known_hosts=known,
                      log_level="DEBUG", options=["LoginTickets=yes", *QUICK])


def begin(otp, config="LoginTickets yes\n", methods=TWO):  # noqa: F811
    otp.service(otp.oath)
    return otp.server(f"{PAM}AuthenticationMethods {methods}\n{config}")


def first_loss(otp, at, kind="cut"):  # noqa: F811
    """Breaks the first connection there, but not before its client has the
    ticket to come back with: until then, only a new dialogue could."""
    return Fault(kind, dir="up", at=at, conn=0, when=lambda: (
        b"a ticket to come back with" in (otp.dir / "said").read_bytes()))


def said_by(otp, argv, *codes):  # noqa: F811
    """Runs a client whose words go to the file that first_loss() reads."""
    done = run(["sh", "-c", 'exec 2>"$0"; exec "$@"', otp.dir / "said", *argv],
               env=otp.answers(*codes or [oath(0)]),
               timeout=120 * harness.SLOW)
    return done, (otp.dir / "said").read_text(errors="replace")


def copy_again(otp, server, plan, *flags, tries=5):  # noqa: F811
    data, target = otp.dir / "data", otp.home / "copy"
    data.write_bytes(harness.noise(3_000_000))
    with Proxy(("127.0.0.1", server.port), plan) as proxy:
        done, said = said_by(otp, [
            hpn("scp"), *through(otp, proxy, server).options(), "-l",
            "30000", f"--retry={tries}", *flags, "-P", proxy.port, data,
            f"{USER}@{proxy.host}:{target}"])
        assert harness.wait_for(proxy.has_said)
    print(said)  # shown where the test fails
    if done.rc == 0:
        assert target.read_bytes() == data.read_bytes()
    return done, proxy


LOGIN = 9000  # bytes of a login, at least


@pytest.mark.parametrize("kind", ["cut", "close", "stall"])
@pytest.mark.parametrize("methods", [
    TWO, f"{TWO} publickey,ticket@hpnssh.org"])
def test_one_dialogue_and_breaks(otp, kind, methods):  # noqa: F811
    server = begin(otp, methods=methods)
    done, proxy = copy_again(otp, server, for_connections(
        [first_loss(otp, 900_000, kind)]
        + [Fault(kind, at=900_000, conn=i) for i in (1, 2)]))
    assert done.rc == 0, done
    assert len(proxy.connections) == 4
    assert len(otp.asked()) == 1
    _, welcome, failed = logins(server)
    assert welcome == 4 and not [line for line in failed if "Failed" in line]


def test_breaks_in_a_login(otp):  # noqa: F811
    """One that breaks before the client has the next ticket costs nothing:
    the old one is still good."""
    server = begin(otp)
    done, proxy = copy_again(otp, server, for_connections(
        [first_loss(otp, 900_000)]
        + [Fault("cut", at=at, conn=i + 1) for i, at in enumerate(
            (2000, 4000, 5000, 6000, 7000))]), tries=9)
    assert done.rc == 0, (done, proxy.happenings)
    assert len(otp.asked()) == 1


def test_several_connections_and_breaks(otp):  # noqa: F811
    server = begin(otp)
    done, _ = copy_again(otp, server, for_connections(
        [first_loss(otp, 400_000)]
        + [Fault("cut", at=400_000, conn=i) for i in (1, 2, 3)]), "-j", "3",
        tries=9)
    assert done.rc == 0, done
    assert len(otp.asked()) == 1


def test_a_ticket_that_is_refused(otp):  # noqa: F811
    """Its monitor has ended with the connection. What was sent behind the ticket
    is sent again behind the login by password that takes its place."""
    otp.service(UNIX)
    server = otp.server(f"{PAM}AuthenticationMethods keyboard-interactive\n"
                        "LoginTickets yes\n")
    data, target = otp.dir / "data", otp.home / "copy"
    data.write_bytes(harness.noise(3_000_000))

    def kill():
        if b"ticket to come back with" not in (otp.dir / "said").read_bytes():
            return False
        harness.signal_all(server.connections(), signal.SIGKILL)
        return True

    plan = for_connections([Fault("cut", dir="up", at=600_000, conn=0,
                                  when=kill)])
    with Proxy(("127.0.0.1", server.port), plan) as proxy:
        done, said = said_by(otp, [
            hpn("scp"), *through(otp, proxy, server).options(), "-l",
            "30000", "--retry=3", "-P", proxy.port, data,
            f"{USER}@{proxy.host}:{target}"], PASSWORD)
    print(said)  # shown where the test fails
    assert done.rc == 0 and target.read_bytes() == data.read_bytes()
    assert len(otp.asked()) == 1
    assert "(1 of 3)" in said and "(2 of 3)" not in said


@pytest.mark.parametrize("config", ["LoginTickets yes linger:0\n", ""])
def test_a_server_that_takes_nobody_back(otp, config):  # noqa: F811
    done, _ = copy_again(otp, begin(otp, config), for_connections(
        [Fault("cut", at=900_000, conn=0)]))
    assert done.rc != 0
    assert len(otp.asked()) == 1


def test_until_maxage(otp):  # noqa: F811
    """The date is that of the dialogue, not of the last login."""
    server = begin(otp, "LoginTickets yes maxage:3\n")
    done, proxy = copy_again(otp, server, for_connections(
        [first_loss(otp, 900_000)]
        + [Fault("cut", at=900_000, conn=i) for i in (1, 2)]))
    assert done.rc != 0
    assert len(proxy.connections) <= 4
    assert len(otp.asked()) == 1


@pytest.mark.parametrize("at", [LOGIN + 1000, 300_000])
def test_sync_comes_back(otp, at):  # noqa: F811
    """It is run anew, and needs no new code."""
    server = begin(otp)
    source, target = otp.dir / "tree", otp.home / "tree"
    source.mkdir()
    for i in range(30):
        (source / f"f{i}").write_bytes(harness.noise(40_000))
    with Proxy(("127.0.0.1", server.port), for_connections(
            [first_loss(otp, at), Fault("cut", at=at, conn=1)])) as proxy:
        client = through(otp, proxy, server)
        shell = " ".join(map(str, [hpn("ssh"), *client.options(), "-p",
                                   proxy.port]))
        done, said = said_by(otp, [
            hpn("sync"), "-a", "--retry=5", "-e", shell, f"{source}/",
            f"{USER}@{proxy.host}:{target}/"])
    assert done.rc == 0, (said, proxy.happenings)
    for path in source.iterdir():
        assert (target / path.name).read_bytes() == path.read_bytes()
    assert len(proxy.connections) == 3
    assert len(otp.asked()) == 1


def test_sftp_asks_once(otp):  # noqa: F811
    server = begin(otp)
    data = otp.dir / "data"
    data.mkdir()
    for i in range(30):
        (data / f"f{i}").write_bytes(harness.noise(400_000))
    client = otp.client(server, key="ed25519", options=["LoginTickets=yes"])
    batch = otp.dir / "batch"
    batch.write_text(f"put -r {data} {otp.home}/got\n")
    run([hpn("sftp"), *client.options(), "-l", "60000", "-b", batch, "-o",
         "BatchMode=no", "-o", "CopyConnections=4", "-P", server.port,
         f"{USER}@127.0.0.1"], env=otp.answers(oath(0)),
        timeout=120 * harness.SLOW).ok()
    for path in data.iterdir():
        assert (otp.home / "got" / path.name).read_bytes() \
            == path.read_bytes()
    assert len(otp.asked()) == 1
