# SPDX-License-Identifier: ISC
"""-v tells at the end what held the transfer back."""

import pytest

import harness
from harness import MIB, Client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
BEGIN = "What held this connection back"


@pytest.fixture
def client(sshd):
    return Client("hpn", sshd, log_level="VERBOSE")


def paragraph(done):
    lines = [line for line in done.errors.splitlines() if BEGIN in line]
    assert len(lines) == 1, done
    return lines[0]


def test_slow_output_here(client):
    """The reader sleeps: it is the output that takes no more."""
    done = harness.run(
        ["/bin/sh", "-c", '"$@" | (sleep 2; cat > /dev/null)', "sh",
         *client.ssh_args(), "head -c 60000000 /dev/zero"]).ok()
    text = paragraph(done)
    assert "received" in text and "the output here" in text, text


def test_slow_source_here(client):
    done = harness.run(
        ["/bin/sh", "-c",
         '(head -c 3000000 /dev/zero; sleep 2) | "$@"', "sh",
         *client.ssh_args(), "cat > /dev/null"]).ok()
    text = paragraph(done)
    assert "sent" in text and "the source here" in text, text


def test_slow_reader_there(client):
    done = client.ssh("sleep 2; cat > /dev/null",
                      stdin=bytes(20 * MIB)).ok()
    assert "the server's program or disk" in paragraph(done)


def test_not_without_a_transfer_and_not_without_v(client, sshd):
    assert BEGIN not in client.ssh("sleep 1").ok().errors
    done = Client("hpn", sshd, log_level="INFO").ssh(
        "cat > /dev/null; sleep 1", stdin=bytes(5 * MIB)).ok()
    assert BEGIN not in done.errors
