# SPDX-License-Identifier: ISC
"""Servers that misbehave, or that ask what a private sshd without PAM cannot:
each is a thread with a socket on a free port of 127.0.0.1."""

import rawssh


class FakeServer(rawssh.FakeServer):
    """Gives each connection to talk(socket) in a thread of its own."""

    def __init__(self, talk):
        super().__init__(lambda raw: talk(raw.sock))


def hold(sock):
    """Reads until the other side gives up."""
    while sock.recv(65536):
        pass
