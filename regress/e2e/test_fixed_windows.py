# SPDX-License-Identifier: ISC
"""HPNDisabled and TcpRcvBufPoll over a long path: the windows of the side that
has them stay at 2 MiB, and hpnssh -v says that they held the data back."""

import os
import re

import pytest
from farpath import benchlib, far_path

import harness

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh or hpnsshd is not built")
SIZE = 40 << 20
WORDS = [("HPNDisabled", "yes"), ("TcpRcvBufPoll", "no")]


@pytest.fixture(scope="module")
def path():
    with far_path(1000, 100) as made:
        yield made


def one(path, command, server_options, options, stdin):
    work, route = path
    server = benchlib.Server(work, work.ours, route, options=server_options)
    try:
        return benchlib.timed(
            server.command(work.ours, command,
                           options=["-v", *options, "-o", "LogLevel=VERBOSE"]),
            180, stdin=stdin, stdout=os.devnull).err
    finally:
        server.close()


def told(path, command, *server_options, options=(), stdin=None):
    """What is said, and how long the transfer took. Windows of 2 MiB let pass
    15 MB/s here; they hold nothing back on a machine that is too busy for so
    much."""
    for _ in range(3):
        said = one(path, command, server_options, options, stdin)
        assert "What held this connection back" in said
        seconds, rate = re.search(
            r" (?:sent|received) in ([\d.]+) s \(([\d.]+) MB/s\)",
            said).groups()
        if float(rate) >= 13:
            return said, float(seconds)
        if float(rate) < 4:
            break  # by far
    pytest.skip("this machine is too busy to fill a window in a round trip")


@pytest.mark.parametrize("word, value", [(None, None), *WORDS])
def test_of_the_client(path, word, value):
    said, _ = told(path, f"head -c {SIZE} /dev/zero",
                   options=["-o", f"{word}={value}"] if word else [])
    assert ("HPNDisabled or TcpRcvBufPoll keeps it" in said) == bool(word), said


@pytest.mark.parametrize("word, value", [(None, None), *WORDS])
def test_of_the_server(path, word, value):
    said, seconds = told(path, "cat >/dev/null",
                         *([f"{word} {value}"] if word else []),
                         stdin=path[0].file(SIZE))
    share = re.search(r"(\d+) % of the time: the SSH window of the server",
                      said)
    # 20 windows, each of which waits for a round trip of 100 ms, but for the
    # time in which it is filled. One that grows waits a few times.
    waited = seconds * int(share[1]) / 100 if share else 0
    assert (waited >= 0.6) == bool(word), said
