# SPDX-License-Identifier: ISC
"""hpnssh and its forwards: the escapes about them, and servers that open what
they were not asked for."""

import socket
import time

import pytest
from forwarding import (answers, exactly, forward, free_port, reach, says,
                        service, taken)
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_EOF, CHANNEL_OPEN,
                     CHANNEL_REQUEST, CHANNEL_SUCCESS, GLOBAL_REQUEST,
                     OPEN_CONFIRMATION, OPEN_FAILURE, REQUEST_FAILURE,
                     REQUEST_SUCCESS, FakeServer, Reader, message, string, u32)
from terminal import Terminal

import harness
from harness import LONG, Client, wait_for

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh"),
                                reason="hpnssh is not built")


@pytest.fixture
def client(shared_servers):
    return Client("hpn", shared_servers("stock"), log_level="INFO")


# ---- ~C and ~& ---------------------------------------------------------

@pytest.fixture
def shell(client):
    """shell(*flags): a remote shell on a terminal, where ~C works."""
    opened = []

    def begin(*flags, options=("EnableEscapeCommandline=yes",), within=()):
        if harness.stock_pty_problem():
            pytest.skip(harness.stock_pty_problem())
        opened.append(Terminal([*(map(harness.stock, within[:1])),
                                *within[1:],
                                *client.ssh_args(*options, flags=flags)]))
        opened[-1].line("PS1='re''ady> '; stty -echo")
        opened[-1].expect("ready> ")
        return opened[-1]

    yield begin
    for terminal in opened:
        terminal.close()


def command(terminal, line, answer):
    terminal.type("\r~C")
    terminal.expect("ssh> ")
    terminal.line(line)
    terminal.expect(answer)


@pytest.mark.parametrize("kind", ["L", "R", "D"])
def test_added_and_cancelled(shell, service, kind):
    there, here, terminal = service(), free_port(), shell()
    spec = f"{here}" if kind == "D" else f"{here}:127.0.0.1:{there.port}"
    command(terminal, f"-{kind} {spec}", "Forwarding port.")
    assert wait_for(lambda: answers(here), LONG)
    if kind != "D":
        assert says(here) == b"hello"
    command(terminal, f" K{kind} {here}", "Canceled forwarding.")
    assert wait_for(lambda: not answers(here), LONG)
    command(terminal, f"-K{kind}{here}", "Unknown port forwarding.")
    terminal.line("echo still he''re")
    terminal.expect("still here")


def test_connections_outlive_a_cancelled_forward(shell, service):
    there, here, terminal = service(), free_port(), shell()
    command(terminal, f"-L{here}:127.0.0.1:{there.port}", "Forwarding port.")
    with reach(here) as sock:
        sock.sendall(b"one")
        assert exactly(sock, 3) == b"one"
        command(terminal, f"-KL{here}", "Canceled forwarding.")
        sock.sendall(b"two")
        assert exactly(sock, 3) == b"two"


def test_cancelled_by_the_port_that_was_picked(shell, service):
    there, terminal = service(), shell()
    command(terminal, f"-R0:127.0.0.1:{there.port}", "Allocated port ")
    port = int(terminal.expect(" for remote forward"))
    assert says(port) == b"hello"
    command(terminal, f"-KR{port}", "Canceled forwarding.")
    assert wait_for(lambda: not answers(port), LONG)


@pytest.mark.parametrize("line, answer", [
    ("-Lnonsense", "Bad local forwarding specification."),
    ("-KL1:2:3", "Bad forwarding close specification."),
    ("-KX1", "Bad forwarding close specification."),
    ("-X1", "Invalid command."), ("!true", "Invalid command."),
    ("-h", "-KD[address:]port")])
def test_command_line_says_what_is_wrong(shell, line, answer):
    command(shell(), line, answer)


def test_port_of_the_command_line_is_taken(shell, taken):
    terminal = shell(options=["EnableEscapeCommandline=yes",
                              "AddressFamily=inet"])
    command(terminal, f"-L{taken}:127.0.0.1:1", "Port forwarding failed.")
    command(terminal, f"-KL{taken}", "Unknown port forwarding.")


def test_editing_the_command_line(shell, service):
    there, here, terminal = service(), free_port(), shell()
    command(terminal, f"nonsense\x15-L9\x7f{here}:127.0.0.1:{there.port}",
            "Forwarding port.")
    assert says(here) == b"hello"
    terminal.type("\r~C")
    terminal.expect("ssh> ")
    terminal.type("-L\x03")
    terminal.line("echo for the she''ll")
    terminal.expect("for the shell")


def test_command_line_is_off_by_default(shell):
    terminal = shell(options=())
    terminal.type("\r~C")
    terminal.expect("commandline disabled")
    terminal.line("echo still he''re")
    terminal.expect("still here")


def test_session_goes_on_while_a_line_is_typed(shell):
    """Nothing waits for the user."""
    terminal = shell()
    terminal.line("sleep 0.5; echo from the ser''ver")
    terminal.type("~C")
    terminal.expect("ssh> ")
    terminal.type("-L")
    terminal.expect("from the server")


def test_into_the_background(shell, service):
    there, here = service(), free_port()
    terminal = shell("-L", f"{here}:127.0.0.1:{there.port}",
                     within=["sh", "-c", '"$@"; echo "it is" gone; read x',
                             "sh"])
    with reach(here) as sock:
        sock.sendall(b"one")
        assert exactly(sock, 3) == b"one"
        terminal.type("\r~&")
        terminal.expect("[backgrounded]")
        terminal.expect("it is gone")
        assert not answers(here)
        sock.sendall(b"two")
        assert exactly(sock, 3) == b"two"


