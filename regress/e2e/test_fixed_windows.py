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


def told(path, command, *server_options, options=(), stdin=None):
    work, route = path
    server = benchlib.Server(work, work.ours, route, options=server_options)
    try:
        return benchlib.timed(
            server.command(work.ours, command,
                           options=["-v", *options, "-o", "LogLevel=VERBOSE"]),
            60, stdin=stdin, stdout=os.devnull).err
    finally:
        server.close()


@pytest.mark.parametrize("word, value", [(None, None), *WORDS])
def test_of_the_client(path, word, value):
    said = told(path, f"head -c {SIZE} /dev/zero",
                options=["-o", f"{word}={value}"] if word else [])
    assert "What held this connection back" in said
    assert ("HPNDisabled or TcpRcvBufPoll keeps it" in said) == bool(word), said


@pytest.mark.parametrize("word, value", [(None, None), *WORDS])
def test_of_the_server(path, word, value):
    said = told(path, "cat >/dev/null",
                *([f"{word} {value}"] if word else []),
                stdin=path[0].file(SIZE))
    assert "What held this connection back" in said
    share = re.search(r"(\d+) % of the time: the SSH window of the server",
                      said)
    assert (share is not None and int(share[1]) >= 50) == bool(word), said
