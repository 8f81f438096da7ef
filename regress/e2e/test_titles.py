# SPDX-License-Identifier: ISC
"""What ps(1) shows of the server's processes, as monitoring reads it."""

import pytest
from sshwire import connect

import harness
from harness import LONG, ME, Client, wait_for
from terminal import Terminal

pytestmark = pytest.mark.skipif(not harness.have("hpn", "sshd"),
                                reason="hpnsshd is not built")


def title(pid):
    return harness.title(pid).rstrip(b"\0").decode()


def below(pid):
    """Titles of the process and all that come from it, but not of those that
    wait for a connection."""
    return {title(p) for p in harness.descendants(pid)
            if not title(p).endswith("[waiting]")}


def listener_says(server, count, limits):
    said = title(server.process.pid)
    return said.startswith("hpnsshd: ") and said.endswith(
        f" [listener] {count} of {limits} startups")


def test_while_somebody_logs_in(make_server):
    server = make_server("MaxStartups 7:30:70\n")
    assert wait_for(lambda: listener_says(server, 0, "7-70"), LONG)
    assert " -f " in title(server.process.pid)  # its arguments
    wire = connect(server).handshake()
    assert wait_for(lambda: listener_says(server, 1, "7-70"), LONG)
    assert wait_for(lambda: below(server.process.pid) == {
        "hpnsshd-session: [accepted]", "hpnsshd-auth: [net]"}, LONG)
    wire.ask_service()
    wire.try_auth(ME, "none")
    assert wait_for(lambda: below(server.process.pid) == {
        f"hpnsshd-session: {ME} [priv]", f"hpnsshd-auth: {ME} [net]"}, LONG)
    wire.close()
    assert wait_for(lambda: listener_says(server, 0, "7-70"), LONG)


def test_names_that_nobody_has_are_not_shown(make_server):
    server = make_server()
    wire = connect(server).handshake().ask_service()
    wire.try_auth("password-typed-here", "none")
    assert wait_for(lambda: below(server.process.pid) == {
        "hpnsshd-session: unknown [priv]", "hpnsshd-auth: unknown [net]"},
        LONG)
    wire.close()


def test_sessions(make_server):
    server = make_server()
    client = Client("hpn", server)
    with Terminal([*client.ssh_args(flags=["-tt"]), "sleep 100"]) as terminal:
        assert wait_for(lambda: any(
            t.startswith(f"hpnsshd-user: {ME}@pts/")
            for t in below(server.process.pid)), LONG)
        assert f"hpnsshd-session: {ME} [priv]" in below(server.process.pid)
        assert listener_says(server, 0, "10-100")
        terminal.type(b"\x03")
    done = client.ssh("tr '\\0' ' ' </proc/$PPID/cmdline")
    assert done.ok().out.decode().strip() == f"hpnsshd-user: {ME}@notty"


def test_restart_keeps_the_arguments(make_server):
    """SIGHUP starts the program with what it was given, not with its title."""
    server = make_server()
    before, mark = title(server.process.pid), server.log.stat().st_size
    server.process.send_signal(harness.signal.SIGHUP)
    assert wait_for(lambda: b"listening on" in
                    server.log.read_bytes()[mark:], LONG)
    assert wait_for(lambda: title(server.process.pid) == before, LONG)
    Client("hpn", server).ssh("true").ok()
