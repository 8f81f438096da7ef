# SPDX-License-Identifier: ISC
"""How a session ends when the server goes with, or before, its last words."""

import socket
import struct
import subprocess
import threading

import pytest
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_EOF,
                     CHANNEL_REQUEST, DISCONNECT, FakeServer, message, string)

import harness
from harness import Client, start

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh"),
                                reason="hpnssh is not built")
PIECE = 32768


@pytest.fixture
def visit(tmp_path, keys):
    """visit(script, stdin): hpnssh at a server whose session ends so, when
    all was said."""
    servers = []

    def make(script, stdin=subprocess.PIPE):
        def serve(w):
            w.handshake(server.host)
            w.accept_user()
            script(w, w.accept_session())
            said.set()
            if w.sock.fileno() != -1:
                w.drain()  # or what is on its way is thrown away

        said = threading.Event()
        server = FakeServer(tmp_path, keys, serve)
        servers.append(server)
        process = start(Client("hpn", server).ssh_args() + ["true"],
                        stdin=stdin, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
        assert said.wait(harness.LONG), server.errors
        return process

    yield make
    for server in servers:
        server.__exit__(None)


def last_words(number, close, text=b""):
    words = [message(CHANNEL_DATA, number, string(text[at:at + PIECE]))
             for at in range(0, len(text), PIECE)]
    words += [message(CHANNEL_EOF, number)] if text else []
    words += [message(CHANNEL_REQUEST, number, "exit-status", False, 7)]
    return words + ([message(CHANNEL_CLOSE, number)] if close else [])


def fin(w):
    w.sock.shutdown(socket.SHUT_WR)


def reset(w):
    w.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                      struct.pack("ii", 1, 0))
    w.sock.close()


ENDS = {
    "fin": fin,
    "close": lambda w: w.sock.close(),
    "reset": reset,
    "disconnect": lambda w: w.say(DISCONNECT, 11, "bye", ""),
}


@pytest.mark.parametrize("stdin", [subprocess.DEVNULL, subprocess.PIPE],
                         ids=["no-input", "input"])
@pytest.mark.parametrize("close", [True, False])
@pytest.mark.parametrize("end", ENDS)
def test_status_stands(visit, end, close, stdin):
    def script(w, number):
        w.send(*last_words(number, close))
        ENDS[end](w)

    process = visit(script, stdin)
    out, err = process.communicate(timeout=harness.LONG)
    assert process.returncode == 7, err
    assert out == b""
    # That the server goes is news only if the session was open.
    assert bool(err) is not close, err


@pytest.mark.parametrize("close", [True, False])
def test_output_is_written_first(visit, close):
    text = bytes(range(256)) * 4096  # far more than a pipe holds

    def script(w, number):
        w.send(*last_words(number, close, text))
        fin(w)

    process = visit(script)
    out, err = process.communicate(timeout=harness.LONG)
    assert process.returncode == 7, err
    assert out == text


def test_no_status_is_an_error(visit):
    def script(w, number):
        w.send(message(CHANNEL_DATA, number, string(b"half")))
        fin(w)

    process = visit(script)
    out, err = process.communicate(timeout=harness.LONG)
    assert (process.returncode, out) == (255, b"half")
    assert b"closed by remote host" in err
