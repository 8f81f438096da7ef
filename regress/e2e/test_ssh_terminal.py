# SPDX-License-Identifier: ISC
"""hpnssh at a terminal: raw mode, size, escapes, what is left behind."""

import os
import re
import shlex
import signal

import pytest
from terminal import Terminal, fresh_modes

from harness import Client, stock_pty_problem, wait_for


@pytest.fixture(params=["hpn", "stock"])
def client(request, shared_servers):
    if request.param == "stock" and stock_pty_problem():
        pytest.skip(stock_pty_problem())
    return Client("hpn", shared_servers(request.param), log_level="INFO")


@pytest.fixture
def at_terminal(client):
    """at_terminal(*command, flags=()): hpnssh on a pty."""
    opened = []

    def start(*command, flags=(), options=()):
        terminal = Terminal(
            [*client.ssh_args(*options, flags=flags), *command])
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture
def shell(at_terminal):
    """A remote shell, with a prompt that can be waited for."""
    terminal = at_terminal()
    terminal.line("HISTFILE=; PS1='re''ady> '; stty -echo")
    terminal.expect("ready> ")
    return terminal


def test_raw_while_connected_and_restored(at_terminal):
    terminal = at_terminal("-t", "echo begun; read x; exit 3")
    terminal.expect("begun")
    assert wait_for(terminal.is_raw)
    terminal.line("")
    assert terminal.wait() == 3
    assert terminal.modes() == fresh_modes()
    assert b"Connection to 127.0.0.1 closed." in terminal.shown


def test_size_and_its_change(shell):
    shell.line("stty size")
    shell.expect("24 80")
    shell.resize(50, 132)
    wait_for(lambda: False, 0.3)
    shell.line("stty size")
    shell.expect("50 132")


def test_modes_travel(at_terminal):
    """What the user's terminal has for erase is so on the other side."""
    terminal = at_terminal("-t", "stty -a; read x")
    text = terminal.expect("erase = ") + terminal.expect(";")
    assert "^?" in text


def test_no_terminal_without_one(client):
    done = client.ssh(stdin=b"tty; exit 4\n")
    assert done.rc == 4, done
    assert b"not a tty" in done.out
    assert "Pseudo-terminal will not be allocated" in done.errors


def test_forced_terminal(client):
    done = client.ssh("tty", flags=["-tt"])
    assert done.rc == 0 and b"/dev/" in done.out, done


def test_quit_escape(shell):
    before = shell.is_raw()
    shell.type("\r~.")
    assert shell.wait() == 255
    assert before and not shell.is_raw()


@pytest.mark.parametrize("sequence,answer", [
    ("~?", "end the connection"),
    ("~#", "session"),
    ("~I", "kexalgorithm "),
    ("~v", "[LogLevel VERBOSE]"),
    ("~V", "[LogLevel ERROR]"),
])
def test_telling_escapes(shell, sequence, answer):
    shell.type("\r" + sequence)
    shell.expect(answer)
    shell.line("echo al''ive")
    shell.expect("alive")


def test_escape_character_twice_and_inside(shell):
    shell.line("~~x; true")
    shell.line("echo a~.b ~q")
    shell.expect("a~.b ~q")
    shell.type("\r~~.\r")
    shell.line("echo still he''re")
    shell.expect("still here")


def test_other_escape_character(at_terminal):
    terminal = at_terminal(flags=["-e", "^A"])
    terminal.line("HISTFILE=; echo be''gun")
    terminal.expect("begun")
    terminal.type("\r\x01.")
    assert terminal.wait() == 255


def test_no_escape_character(at_terminal):
    terminal = at_terminal("-t", "stty -echo; echo begun; read x; echo [$x]",
                           flags=["-e", "none"])
    terminal.expect("begun")
    terminal.line("~.")
    terminal.expect("[~.]")
    assert terminal.wait() == 0


def test_rekey_escape(shell):
    shell.type("\r~R")
    shell.line("echo al''ive")
    shell.expect("alive")


def test_suspend_escape(client):
    """Only a shell with job control can bring it back."""
    command = " ".join(shlex.quote(str(a)) for a in client.ssh_args())
    with Terminal(["/bin/bash", "--norc", "-i"]) as local:
        local.line("PS1='lo''cal> '")
        local.expect("local> ")
        local.line(command)
        local.line("HISTFILE=; PS1='re''mote> '")
        local.expect("remote> ")
        local.type("\r~\x1a")
        local.expect("[suspended]")
        local.expect("local> ")
        local.line("fg")
        local.line("echo al''ive")
        local.expect("alive")
        local.type("\r~.")
        local.expect("local> ")


def test_interrupt_is_for_the_other_side(shell):
    # short sleeps: one that is only being started may miss the signal
    shell.line("sh -c 'trap \"echo int\"\"errupted; exit\" INT;"
               " echo beg''un; while :; do sleep 0.2; done'")
    shell.expect("begun")
    shell.type("\x03")
    shell.expect("interrupted")


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGHUP])
def test_terminal_is_restored_after_a_signal(shell, sig):
    assert shell.is_raw()
    os.kill(shell.pid, sig)
    assert shell.wait() == 255
    assert not shell.is_raw()


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_host_that_goes_away(make_server, kind):
    if kind == "stock" and stock_pty_problem():
        pytest.skip(stock_pty_problem())
    server = make_server(kind=kind)
    client = Client("hpn", server, log_level="INFO")
    with Terminal(client.ssh_args()) as terminal:
        terminal.line("HISTFILE=; echo be''gun")
        terminal.expect("begun")
        server.stop()
        assert terminal.wait() == 255
        # A reset, if there is something that it has not read: keystrokes are
        # followed by others that are none.
        assert re.search(
            rb"Connection to 127\.0\.0\.1 (closed by remote host\."
            rb"|lost: Connection reset by peer)", terminal.shown), \
            terminal.shown
        assert not terminal.is_raw()
