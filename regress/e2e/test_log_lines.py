# SPDX-License-Identifier: ISC
"""The log of hpnsshd, event by event: every line of authlog.py, and no other.
(That other programs understand them: regress/interop/test_fail2ban.py.)"""

import re

import pytest
from authlog import EVENTS, Peer, missing_and_unexpected
from sshwire import USERAUTH_FAILURE, load_key

import harness
from harness import Client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "sshd"),
                                reason="hpnsshd is not built")
ADDRESS = "127.9.8.7"


def wait_for_lines(server, event, level):
    """Not of the listener, nor of HPN-SSH; without what syslog would add."""
    def all_lines():
        return [line for line in server.log_text().splitlines()
                if not re.match("Server listening|SSH: Server;", line)]

    def compare():
        return missing_and_unexpected(event, level, ADDRESS,
                                      server.authorized, all_lines())

    harness.wait_for(lambda: not compare()[0] and not server.connections(),
                     harness.LONG)
    return compare()


@pytest.mark.parametrize("level", ["INFO", "VERBOSE"])
@pytest.mark.parametrize("name", EVENTS)
def test_lines(make_server, keys, name, level):
    event = EVENTS[name]
    if event.skip and event.skip():
        pytest.skip(event.skip())
    server = make_server(event.config + f"LogLevel {level}\n")
    event.act(Peer(server, keys, ADDRESS))
    assert wait_for_lines(server, event, level) == ([], [])


PLACE = r"[a-z0-9-]+\.c:[a-z_0-9]+\(\):\d+ \(bin=[a-z-]+, pid=\d+\): "


def test_log_verbose(make_server, keys):
    """Lines of every process of a connection, and of no other place; inside
    Match for those whom the block is about."""
    # One place each: of the process with the network, of the monitor.
    server = make_server("LogVerbose preauth.c:*,kexlog.c:* nowhere.c:*\n"
                         f"Match User {harness.ME}\n"
                         "LogVerbose try-*.c:*,login*.c:*\n")
    Client("hpn", server).ssh("true").ok()
    text = server.log_text()
    forced = [line for line in text.splitlines() if re.search(PLACE, line)]
    sources = {re.search(r"([a-z-]+\.c):", line)[1] for line in forced}
    assert "kexlog.c" in sources and "login.c" in sources, text
    assert all(re.match(r"(kexlog|preauth|try-.*|login.*)\.c", s)
               for s in sources), sources
    kex = [line for line in forced if "kexlog.c:" in line]
    assert any(line.endswith(" [preauth]") for line in kex)
    assert not any("bin=hpnsshd-auth, " not in s for s in kex if "[preauth]" in s)


def test_log_verbose_client(ssh):
    quiet = ssh.ssh("true", options=["LogVerbose=none"]).ok()
    assert not re.search(PLACE, quiet.errors)
    loud = ssh.ssh("true", options=["LogVerbose=kex*.c:*,!*:*:1"]).ok()
    lines = [line for line in loud.errors.splitlines()
             if re.search(PLACE, line)]
    assert lines and all(re.match(r"(debug\d: )?kex", s) for s in lines)
    assert "identity file" not in loud.errors


@pytest.mark.parametrize("unit", ["a", "\x1b", "\n", ";", "\\", "\u009b", "é"],
                         ids=ascii)
@pytest.mark.parametrize("length", [256, 5000])
def test_longest_names(make_server, keys, unit, length):
    """No name pushes off the line what stands behind it: the address, by which
    a source that guesses is found, and the mark of lines of hpnsshd-auth."""
    server = make_server("PasswordAuthentication yes\nLogLevel VERBOSE\n")
    name = unit * (length // len(unit.encode()))
    wire = Peer(server, keys, ADDRESS).wire()
    wire.auth_request(name, "password", False, "a wrong one")
    wire.expect(USERAUTH_FAILURE)
    wire.close()
    assert harness.wait_for(lambda: not server.connections())
    lines = [line for line in server.log_text().splitlines()
             if not line.startswith("Server listening")]
    about = [line for line in lines
             if re.match("Invalid user|Failed password|Connection (?!from)",
                         line)]
    assert len(about) == 3, lines
    for line in about:
        assert re.search(rf" (from|by .* user .*) {ADDRESS} port \d+", line)
        assert line.isascii() and line.isprintable() or unit == "é"
    marked = [line for line in lines if line.endswith(" [preauth]")]
    assert len(marked) >= 3, lines
    # HPN's own lines: no field but the three that there are always.
    name_line, = [line for line in lines if "Ltype: Authname" in line]
    assert name_line.count(";") == 3


@pytest.mark.parametrize("level, lines", [("INFO", 1), ("VERBOSE", 4)])
def test_lines_of_hpn(make_server, level, lines):
    """One of a connection, at its end, in a log of the usual level."""
    server = make_server(f"LogLevel {level}\n")
    harness.Client("hpn", server).ssh("true").ok()
    assert harness.wait_for(lambda: "LType: Throughput" in server.log_text())
    assert server.log_text().count("SSH: Server;") == lines
