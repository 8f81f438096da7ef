# SPDX-License-Identifier: ISC
"""Connections that hpnscp begins beside the first, over a long path: they log
in behind it, and not at all when it is refused."""

import re

import pytest
from farpath import benchlib, far_path, said

import harness

pytestmark = pytest.mark.skipif(not harness.have("hpn", "scp", "sshd"),
                                reason="hpnscp or hpnsshd is not built")
ENOUGH = 17 << 20
RTT_MS = 60


class Far:
    """A server of each kind at the end of a long path, and its client."""

    def __init__(self, work, path, kind, *config):
        suite = work.ours if kind == "hpn" else work.stock
        self.work, self.read = work, 0
        self.server = work.keep(benchlib.Server(
            work, suite, path, options=[*config, "LogLevel VERBOSE"]))

    def copy(self, size, *options, known=True):
        """Exit status, and what the server said meanwhile."""
        client, target = self.work.ours, self.work.dir / "target"
        argv = self.server.scp(client, self.work.file(size), target, "up")
        at = argv.index(client["scp"]) + 1
        if not known:
            options = ("-o", "UserKnownHostsFile=/dev/null", "-o",
                       "StrictHostKeyChecking=no", *options)
        done = benchlib.timed([*argv[:at], *options, *argv[at:]], 60,
                              must=False)
        if done.rc == 0:
            assert target.stat().st_size == size
        return done.rc, self.said()

    def said(self):
        text = said(self.server, self.read)
        self.read += len(text)
        return text


@pytest.fixture(scope="module")
def path():
    with far_path(1000, RTT_MS) as made:
        yield made


@pytest.fixture(params=["hpn", "stock"])
def far(request, path):
    far = Far(*path, request.param)
    assert far.copy(1)[0] == 0  # now the host is known, and what logs in
    return far


def lines(text, what):
    return [n for n, line in enumerate(text.splitlines())
            if line.startswith(what)]


def test_others_log_in_behind_the_first(far):
    def is_so():
        nonlocal text
        rc, text = far.copy(ENOUGH)
        came = lines(text, "Connection from ")
        welcome = lines(text, "Accepted publickey")
        assert rc == 0 and len(came) >= 4, text
        # At a port each: the first that came was the first that logged in.
        ports = [re.findall(rf"(?m)^{event} \S+ port (\d+)", text)[0] for event
                 in ("Connection from", "Accepted publickey for .*? from")]
        # Others did not wait for that. The first one's process was there
        # before it came: the others may be late.
        return ports[0] == ports[1] and came[2] < welcome[1]
    # The server's processes write side by side, on a busy machine not in the
    # order in which they came; but what never happens is told as such.
    text = ""
    assert any(is_so() for _ in range(5)), text


def test_not_where_the_user_is_asked(far):
    """Others would wait for the user, and could not log in as he did."""
    hints = harness.hints_file()
    hints.write_text("".join(f"{line.removesuffix(' asked')} asked\n" for line
                             in hints.read_text().splitlines()))
    rc, text = far.copy(ENOUGH)
    came = lines(text, "Connection from ")
    assert rc == 0
    assert came[1:2] > lines(text, "Accepted publickey")[:1], text


def test_refused(far):
    keys = far.server.dir / "authorized_keys"
    keys.write_text("")
    rc, text = far.copy(ENOUGH)
    assert rc != 0
    # The others come, but try nothing.
    assert len(lines(text, "Connection from ")) == 4, text
    assert len(lines(text, "Failed publickey")) == 1, text
    # A server that is used to it would lock out who goes on like that.
    rc, text = far.copy(ENOUGH)
    assert rc != 0
    assert len(lines(text, "Connection from ")) == 1, text


# ---- those that can not be had ------------------------------------------

LARGE = 100 << 20  # a second at least, whatever the machine


@pytest.fixture
def stock_far(path):
    return lambda *config: Far(*path, "stock", *config)


def sessions(text):
    return len(lines(text, "Starting session: subsystem 'sftp'"))


def test_host_key_that_is_not_on_file(stock_far):
    rc, text = stock_far().copy(LARGE, known=False)
    assert rc == 0
    assert len(lines(text, "Accepted publickey")) >= 4, text


def test_channels_where_connections_are_refused(stock_far):
    """Further connections find no place beside the first, which has not logged
    in yet: channels are taken."""
    far = stock_far("MaxStartups 1")
    assert far.copy(1)[0] == 0
    rc, text = far.copy(LARGE)
    assert rc == 0
    assert len(lines(text, "Accepted publickey")) == 1, text
    assert len(lines(text, "drop connection")) <= 3, text
    assert sessions(text) >= 5, text


def test_connections_where_channels_are_refused(stock_far):
    far = stock_far("MaxSessions 1")
    assert far.copy(1)[0] == 0
    rc, text = far.copy(LARGE)
    assert rc == 0
    assert len(lines(text, "Accepted publickey")) >= 4, text


def test_neither(stock_far):
    far = stock_far("MaxSessions 1", "MaxStartups 1")
    assert far.copy(1)[0] == 0
    rc, text = far.copy(LARGE)
    assert rc == 0
    assert len(lines(text, "Accepted publickey")) == 1, text
    assert sessions(text) == 1, text


@pytest.mark.parametrize("options, size", [
    (("-j", "1"), ENOUGH), ((), 1 << 20)])
def test_not_where_it_cannot_pay(far, options, size):
    rc, text = far.copy(size, *options)
    assert rc == 0
    assert len(lines(text, "Connection from ")) == 1, text
