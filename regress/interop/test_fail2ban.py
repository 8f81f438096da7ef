# SPDX-License-Identifier: ISC
"""What fail2ban makes of the log of hpnsshd, with the filter for OpenSSH's
sshd as it is installed: every attack is seen, with its address, and no login
is taken for one. The lines are those that hpnsshd gives to syslog."""

import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

import harness
import syslogs
from harness import IS_ROOT, LONG, ME, Client, run

sys.path.append(str(Path(harness.__file__).parent / "e2e"))
from authlog import EVENTS, Peer  # noqa: E402
from usercerts import (CERT_ALG, Authority, RawClient,  # noqa: E402
                       blob_of)

FILTER = Path("/etc/fail2ban/filter.d/sshd.conf")
MODES = ["normal", "ddos", "aggressive"]
pytestmark = [
    pytest.mark.skipif(not harness.have("hpn", "sshd"),
                       reason="hpnsshd is not built"),
    pytest.mark.skipif(not IS_ROOT, reason="needs root: a /dev of its own"),
    pytest.mark.skipif(not FILTER.exists()
                       or not shutil.which("fail2ban-regex"),
                       reason="fail2ban is not installed"),
]

class Service(syslogs.Syslog):
    """hpnsshd as a service, and what it says to /dev/log."""

    def __init__(self, directory, server):
        super().__init__(directory)
        self.server = server
        server.port = harness.free_port()
        config = server.dir / "sshd_config"
        config.write_text(server.config_text())
        self.process = harness.start(self.within(harness.hpn("sshd"), "-D",
                                                 "-f", config))
        server.process = self.process

    def close(self):
        self.server.stop()
        super().close()


@pytest.fixture
def syslog(tmp_path, keys):
    """syslog(config): a server that logs to the returned object."""
    made = []

    def make(config):
        number = len(made)
        server = harness.Server("hpn", tmp_path / f"server{number}", keys,
                                ["ed25519"], config)
        made.append(Service(tmp_path / f"dev{number}", server))
        made[-1].until("Server listening on")
        return made[-1]

    yield make
    for one in made:
        one.close()


def seen(log, mode):
    """The addresses that the filter finds in this mode."""
    done = run(["fail2ban-regex", "-o", "ip", log,
                f"sshd[mode={mode}]"], timeout=LONG)
    assert done.rc == 0, done
    return set(done.text.split())


def seen_by_newer():
    """What newer filters take for an attack, from their mode ddos on."""
    found = re.search(r"(\d+)\.(\d+)", run(["fail2ban-regex", "-V"]).text)
    return {"grace time"} if (int(found[1]), int(found[2])) >= (1, 1) else set()


def happen(syslog, keys, name, address, level):
    """The event's lines."""
    event = EVENTS[name]
    sink = syslog(event.config + f"LogLevel {level}\n")
    event.act(Peer(sink.server, keys, address))
    assert harness.wait_for(lambda: not sink.server.connections())
    # all that was logged lies in front of what comes now
    sink.process.send_signal(signal.SIGTERM)
    # PAM's helper logs for itself, since Debian 13.
    lines = [line for line in
             sink.until("Received signal 15; terminating.").lines
             if " unix_chkpwd[" not in line]
    for line in lines:
        assert re.match(r"\w{3} [ \d]\d \S+ host sshd\[\d+\]: ", line), line
    return lines


@pytest.mark.parametrize("level", ["INFO", "VERBOSE"])
def test_events(syslog, keys, tmp_path, level):
    names = [name for name, event in EVENTS.items()
             if not (event.skip and event.skip())]
    addresses = {name: f"127.7.7.{i + 1}" for i, name in enumerate(names)}
    log = tmp_path / "auth.log"
    with open(log, "w") as out:
        for name in names:
            lines = happen(syslog, keys, name, addresses[name], level)
            out.writelines(line + "\n" for line in lines)
    for number, mode in enumerate(MODES):
        want = {name for name in names if EVENTS[name].attack is not None
                and MODES.index(EVENTS[name].attack) <= number}
        found = seen(log, mode)
        got = {name for name in names if addresses[name] in found}
        if mode != "normal":
            got -= seen_by_newer() - want
        assert got == want, (mode, sorted(got ^ want), log.read_text())
        assert found <= {addresses[name] for name in want | seen_by_newer()}


@pytest.mark.parametrize("level", ["INFO", "VERBOSE"])
@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_logins_of_real_clients(syslog, keys, tmp_path, kind, level):
    """No filter sees a failure in the lines of logins of real clients, which
    ask for the methods first, and offer keys that are of no use."""
    if not harness.have(kind, "ssh"):
        pytest.skip(f"no {kind} ssh")
    sink = syslog(f"LogLevel {level}\n")
    server = sink.server
    server.known_hosts = tmp_path / "known_hosts"
    server.known_hosts.write_text(
        f"[127.0.0.1]:{server.port} {keys.public('ed25519-host')}\n")
    client = Client(kind, server, key=None)
    done = client.ssh("exit 3", flags=["-i", keys.path("ed25519-a"), "-i",
                                       keys.path("ed25519")])
    assert done.rc == 3, done
    assert harness.wait_for(lambda: not server.connections())
    sink.process.send_signal(signal.SIGTERM)
    sink.until("Received signal 15; terminating.")
    log = tmp_path / "auth.log"
    log.write_text("\n".join(sink.lines) + "\n")
    assert "Accepted publickey for" in log.read_text()
    for mode in MODES:
        assert not seen(log, mode), (mode, log.read_text())


def test_certificates_that_are_refused(syslog, keys, tmp_path):
    """One is counted as a key is that lets nobody in, and its text leads to no
    other address."""
    config = tmp_path / "config"
    config.mkdir()
    ca = Authority(config, "hpn")
    public = keys.public("ed25519-a")
    hostile = "x from 192.0.2.99 port 22 ssh2\n"
    shown = [
        ("127.7.8.1", ME, ca.certify(public, names="other")),
        ("127.7.8.2", ME, ca.certify(public, names=ME, id=hostile)),
        ("127.7.8.3", ME, ca.certify(public, "-V", "20200101:20210101",
                                     names=ME, id=hostile)),
        ("127.7.8.4", "no-such-user", ca.certify(public, names=ME))]
    sink = syslog(f"LogLevel VERBOSE\nTrustedUserCAKeys {ca.key}.pub\n"
                  f"DenyUsers nobody\nRevokedKeys {config / 'revoked'}\n")
    (config / "revoked").write_text(keys.public("ed25519-b") + "\n")
    for address, user, cert in shown:
        client = RawClient(sink.server, user, address)
        taken = client.offer(CERT_ALG, blob_of(cert))
        assert taken == (address == "127.7.8.2")
        client.close()
        assert harness.wait_for(lambda: not sink.server.connections())
    sink.process.send_signal(signal.SIGTERM)
    lines = sink.until("Received signal 15; terminating.").lines
    assert sum("Refusing certificate ID" in line for line in lines) == 2
    log = tmp_path / "auth.log"
    log.write_text("".join(line + "\n" for line in lines))
    everybody = {address for address, _, _ in shown}
    assert seen(log, "normal") == {"127.7.8.4"}, log.read_text()
    assert seen(log, "ddos") == everybody, log.read_text()
    assert seen(log, "aggressive") == everybody, log.read_text()


def test_another_name_in_the_log(syslog, keys, tmp_path):
    """The filter takes the name that LogName gives, as our jail's text says."""
    event = EVENTS["invalid none"]
    sink = syslog(event.config + "LogName hpnsshd\n")
    event.act(Peer(sink.server, keys, "127.7.8.1"))
    assert harness.wait_for(lambda: not sink.server.connections())
    sink.process.send_signal(signal.SIGTERM)
    sink.until("Received signal 15; terminating.")
    log = tmp_path / "auth.log"
    log.write_text("\n".join(sink.lines) + "\n")
    assert " hpnsshd[" in log.read_text()
    assert not seen(log, "normal")
    assert seen(log, "normal, _daemon=hpnsshd") == {"127.7.8.1"}
