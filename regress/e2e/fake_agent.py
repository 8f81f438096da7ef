# SPDX-License-Identifier: ISC
"""An agent that keeps every request and answers what the test wants."""

import os
import socket
import struct
import threading

FAILURE, SUCCESS = b"\x05", b"\x06"
(IDENTITIES, SIGN, ADD, REMOVE, REMOVE_ALL, ADD_LIBRARY, REMOVE_LIBRARY, LOCK,
 UNLOCK, ADD_CONSTRAINED, ADD_LIBRARY_CONSTRAINED, EXTENSION) = (
     11, 13, 17, 18, 19, 20, 21, 22, 23, 25, 26, 27)


def string(data):
    return struct.pack(">I", len(data)) + data


def strings(data, count):
    """The first strings, and what is behind them."""
    found = []
    for _ in range(count):
        n, = struct.unpack(">I", data[:4])
        found.append(data[4:4 + n])
        data = data[4 + n:]
    return found, data


class FakeAgent:
    """answer: bytes of a message, or what makes them of a request; None
    closes the connection. Raw bytes: raw=True."""

    def __init__(self, path, answer=SUCCESS, raw=False):
        self.path, self.answer, self.raw = path, answer, raw
        self.requests = []
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.bind(str(path))
        os.chmod(path, 0o666)
        self.sock.listen(8)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                peer, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(peer,),
                             daemon=True).start()

    def _talk(self, peer):
        with peer:
            try:
                self._answer(peer)
            except OSError:
                pass

    def _answer(self, peer):
        while True:
            head = peer.recv(4, socket.MSG_WAITALL)
            if len(head) < 4:
                return
            request = peer.recv(struct.unpack(">I", head)[0],
                                socket.MSG_WAITALL)
            self.requests.append(request)
            answer = self.answer(request) if callable(self.answer) \
                else self.answer
            if answer is None:
                return
            peer.sendall(answer if self.raw else string(answer))

    def kinds(self):
        return [r[0] for r in self.requests]

    def env(self):
        return {"SSH_AUTH_SOCK": str(self.path)}

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
        self.thread.join(10)
