# SPDX-License-Identifier: ISC
"""What HPN-SSH 18's users know: its name for scp, its lines about ports, and
values of its keywords."""

import pytest
from sshwire import (CHANNEL_CLOSE, CHANNEL_OPEN, CHANNEL_REQUEST,
                     CHANNEL_SUCCESS, OPEN_CONFIRMATION, FakeServer)

import harness
from harness import Client, hpn, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh"),
                                reason="hpnssh is not built")
HPN = b"SSH-2.0-OpenSSH_10.2p1_hpn18.8.0"


@pytest.mark.parametrize("ident, typed, sent", [
    (HPN, "scp -t x", "hpnscp -t x"),
    (HPN, "scp", "hpnscp"),
    (HPN, "scpfoo", "scpfoo"),
    (HPN, "echo scp", "echo scp"),
    (b"SSH-2.0-OpenSSH_10.2p1_hpn19.0.0", "scp -t x", "scp -t x"),
    (b"SSH-2.0-OpenSSH_10.2p1", "scp -t x", "scp -t x"),
    (b"SSH-2.0-OpenSSH_10.5_hpn18 HPNSSH_0.9.0", "scp -t x", "scp -t x"),
    (b"SSH-2.0-other_hpn18", "scp -t x", "scp -t x"),
])
def test_scp_there_is_hpnscp(tmp_path, keys, ident, typed, sent):
    got = []

    def script(wire):
        wire.handshake(server.host)
        wire.accept_user()
        opened = wire.expect(CHANNEL_OPEN)
        opened.string()
        number = opened.u32()
        wire.say(OPEN_CONFIRMATION, number, 0, 1 << 20, 1 << 15)
        while not got:
            request = wire.expect(CHANNEL_REQUEST)
            request.u32()
            if request.text() == "exec":
                request.bool()
                got.append(request.text())
        wire.say(CHANNEL_SUCCESS, number)
        wire.say(CHANNEL_CLOSE, number)
        wire.drain()

    with FakeServer(tmp_path, keys, script, ident=ident) as server:
        Client("hpn", server).ssh(typed)
    assert got == [sent]


def test_any_metrics_interval():
    for value in ("0", "86401", "2147483647"):
        done = run([hpn("ssh"), "-F", "none", "-G", "-o",
                    f"MetricsInterval={value}", "host"]).ok()
        assert f"metricsinterval {value}\n" in done.out.decode()


def test_shortest_metrics_interval(ssh, tmp_path):
    """0 is a tenth of a second; it does not keep a processor busy."""
    ssh.ssh("sleep 1", options=[f"MetricsPath={tmp_path}/m",
                                "MetricsInterval=0"]).ok()
    rows = [line for line in (tmp_path / "m.local").read_text().splitlines()
            if line[:2].isdigit()]
    assert 5 <= len(rows) <= 13


def test_name_of_the_cipher(shared_servers):
    """Alone, too: it is OpenSSH's with more threads."""
    ssh = Client("hpn", shared_servers("hpn", "LogLevel VERBOSE\n"))
    ssh.ssh("true", flags=["-c", "chacha20-poly1305-mt@hpnssh.org"]).ok()
    assert harness.wait_for(lambda: "Enc: chacha20-poly1305@openssh.com;"
                            in ssh.server.log_text())
