# SPDX-License-Identifier: ISC
"""hpnssh -f, as scripts call it that read what it says to the end."""

import os
import signal

import pytest

import harness
from harness import Client, run

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")


@pytest.fixture(params=["hpn", "stock"])
def client(request, sshd):
    if not harness.have(request.param, "ssh"):
        pytest.skip(f"no {request.param} ssh")
    return Client(request.param, sshd)


def test_without_a_command_it_leaves_its_streams(client):
    """It has gone to the background, and its pipes have come to their end."""
    known = set(harness.children())
    try:
        done = client.ssh(flags=["-f", "-N"], timeout=20).ok()
        assert (done.out, done.err) == (b"", b"")
        assert left(known)
    finally:
        for pid in left(known):
            os.kill(pid, signal.SIGTERM)
        assert harness.wait_for(lambda: not left(known))


def left(known):
    """Clients in the background: they have become children of the tests."""
    return [pid for pid, (state, name) in harness.children().items()
            if pid not in known and name in ("ssh", "hpnssh") and state != "Z"]


def test_output_of_a_command_comes_to_its_end(client):
    done = client.ssh("sleep 0.3; echo late; echo bad >&2", flags=["-f"]).ok()
    assert (done.out, done.err) == (b"late\n", b"bad\n")


def test_debug_lines_go_on(sshd, tmp_path):
    """To a file: nobody waits for its end."""
    known = set(harness.children())
    with open(tmp_path / "told", "wb") as told:
        process = harness.start(Client("hpn", sshd).ssh_args(
            "LogLevel=DEBUG1", flags=["-f", "-N"]), stderr=told)
    assert process.wait(harness.LONG) == 0
    pid, = left(known)
    before = (tmp_path / "told").stat().st_size
    os.kill(pid, signal.SIGTERM)
    assert harness.wait_for(lambda: not left(known))
    assert (tmp_path / "told").stat().st_size > before
