# SPDX-License-Identifier: ISC
"""Servers that misbehave, or that ask what a private sshd without PAM cannot:
each is a thread with a socket on a free port of 127.0.0.1."""

import socket
import struct
import threading

from harness import free_port


class FakeServer:
    """Gives each connection to talk(socket) in a thread of its own."""

    def __init__(self, talk):
        self.talk = talk
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.port = free_port()
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(5)
        self.open = []
        self.error = None
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(sock)
            threading.Thread(target=self._one, args=(sock,),
                             daemon=True).start()

    def _one(self, sock):
        try:
            self.talk(sock)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for sock in (*self.open, self.listener):
            try:
                sock.close()
            except OSError:
                pass


def hold(sock):
    """Reads until the other side gives up."""
    while sock.recv(65536):
        pass


def packet(payload):
    """A packet without keys (RFC 4253 section 6)."""
    padding = 8 - (5 + len(payload)) % 8
    padding += 8 if padding < 4 else 0
    return struct.pack(">IB", 1 + len(payload) + padding, padding) \
        + payload + bytes(padding)
