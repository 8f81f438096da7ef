# SPDX-License-Identifier: ISC
"""Sessions that survive, and a network that changes under the client: another
address, another route, nothing at all for a while. Namespaces have both ends;
HPN_HOLE is how many seconds nothing gets through (300 for five minutes)."""

import os
import time

import pytest
from paths import inside, laid, problem
from terminal import Terminal

import harness
from harness import LONG, have, wait_for

HOLE_S = int(os.environ.get("HPN_HOLE", "12"))
PROBLEM = problem()
pytestmark = [
    pytest.mark.skipif(not have("hpn", "ssh", "sshd"),
                       reason="hpnssh or hpnsshd is not built"),
    pytest.mark.skipif(bool(PROBLEM), reason=PROBLEM or ""),
]
YES = "LogLevel VERBOSE\nSurvive yes\n"


@pytest.fixture(scope="module")
def paths(nothing_left, keys, tmp_path_factory):
    with laid(tmp_path_factory.mktemp("paths"), keys, YES) as made:
        yield made


@pytest.fixture
def log_level():
    return "VERBOSE"


@pytest.fixture
def through():
    """direct; or jump: by a program that goes through a jump host."""
    return "direct"


@pytest.fixture
def shell(paths, log_level, through):
    """A shell on a terminal that has its grant, and a variable to know it
    by."""
    options = ["Survive=yes"]
    if through == "jump":
        jump = paths.client().ssh_args(flags=("-W", f"{paths.host}:%p"))
        options.append("ProxyCommand=" + " ".join(map(str, jump)))
    client = paths.client(options, log_level=log_level)
    args = client.ssh_args(flags=("-t",))
    with inside(paths.near, lambda: Terminal([*args, "PS1=: sh -i"])) as t:
        t.jumped = through == "jump"
        t.expect("survives its connection")
        t.line("x=kept; echo do''ne")
        t.expect("done")
        yield t
        t.line("exit 0")
        assert t.wait() == 0


def goes_on(paths, terminal, mark):
    """The same shell answers, to a client that came from its address."""
    terminal.expect("goes on", LONG)
    terminal.line("echo it is $x")
    terminal.expect("it is kept", LONG)
    if terminal.jumped:
        return
    told = f"goes on from {paths.address()} port".encode()
    assert wait_for(lambda: told in paths.server.log.read_bytes()[mark:]), \
        paths.server.log.read_bytes()[mark:].decode(errors="replace")


def test_the_address_changes(paths, shell):
    """Three times; the loss of its address tells the client at once."""
    for _ in range(3):
        mark = paths.server.log.stat().st_size
        paths.move()
        begun = time.monotonic()
        goes_on(paths, shell, mark)
        assert time.monotonic() - begun < 5 * harness.SLOW


def test_the_route_changes(paths, shell):
    """The cable that it went by leads nowhere, and another one does."""
    for cable in ("radio", "wire"):
        mark = paths.server.log.stat().st_size
        before = paths.cable
        paths.ip(paths.far, f"link set {before} down")
        paths.go_by(cable)
        try:
            goes_on(paths, shell, mark)
        finally:
            paths.ip(paths.far, f"link set {before} up")


def test_nothing_gets_through(paths, shell):
    """Nobody is told when it does again: the next try finds out, within 5
    seconds where somebody waits at a terminal."""
    mark = paths.server.log.stat().st_size
    paths.begin_hole()
    shell.line("true")  # a key without an answer
    time.sleep(HOLE_S)
    paths.end_hole()
    begun = time.monotonic()
    goes_on(paths, shell, mark)
    took = time.monotonic() - begun
    assert took < 6 * harness.SLOW, took


@pytest.mark.parametrize("event", ["move", "key"])
@pytest.mark.parametrize("through", ["direct", "jump"])
@pytest.mark.parametrize("log_level", ["DEBUG1"])
def test_an_event_amid_a_try(paths, shell, event, through):
    """A try that has reached nobody is not waited for when there is another
    path, or somebody types. On a busy machine it may be over by then, so there
    are more."""
    found = b"an event: another connection at once"
    for _ in range(6):
        mark, at = paths.server.log.stat().st_size, len(shell.shown)
        paths.begin_hole()
        shell.line("true")
        shell.expect("another connection, try 2", LONG)
        time.sleep(1.8 if through == "jump" else 1.3)
        paths.end_hole()
        if event == "move":
            paths.move()
        else:
            shell.type("x")
        goes_on(paths, shell, mark)
        if found in shell.shown[at:]:
            return
    raise AssertionError("no try was ended")


@pytest.mark.parametrize("through", ["direct", "jump"])
def test_a_long_hole(paths, shell, through):
    """As above, also through another program, of which one cannot see whether
    its path or the host is silent: no try outlasts the hole for long."""
    mark = paths.server.log.stat().st_size
    paths.begin_hole()
    shell.line("true")
    shell.expect("was lost", LONG)
    time.sleep(HOLE_S)
    paths.end_hole()
    begun = time.monotonic()
    goes_on(paths, shell, mark)
    assert time.monotonic() - begun < 6 * harness.SLOW


def test_the_route_is_away(paths, shell):
    """There is no way to the server for a moment; the new one is an event, for
    which no try has to wait."""
    mark = paths.server.log.stat().st_size
    paths.ip(paths.near, f"route del {paths.host}")
    shell.expect("was lost", LONG)
    time.sleep(4)
    paths.go_by(paths.cable)
    begun = time.monotonic()
    goes_on(paths, shell, mark)
    assert time.monotonic() - begun < 5 * harness.SLOW
