# SPDX-License-Identifier: ISC
"""X servers and X clients for tests: as much of the X Window System Protocol
as it takes to connect."""

import struct

from forwarding import Service

MIT = b"MIT-MAGIC-COOKIE-1"


def padded(data):
    return data + bytes(-len(data) % 4)


def first_packet(cookie, order=b"B", name=MIT):
    """The packet that an X client sends first."""
    lengths = struct.pack((">" if order == b"B" else "<") + "5H", 11, 0,
                          len(name), len(cookie), 0)
    return order + b"\0" + lengths + padded(name) + padded(cookie)


def exactly(sock, count):
    """That many bytes, or fewer at the end."""
    data = b""
    while len(data) < count:
        try:
            chunk = sock.recv(count - len(data))
        except ConnectionResetError:
            break
        if not chunk:
            break
        data += chunk
    return data


class FakeX(Service):
    """An X server on 127.0.0.1 or at a path: records the first packet of each
    connection, answers "hello" to those with its cookie, and then says back
    what it hears. The others are closed."""

    def __init__(self, cookie, path=None):
        self.cookie, self.packets = cookie, []
        super().__init__(self._talk, path)
        self.number = self.port and self.port - 6000

    @property
    def connections(self):
        return len(self.peers)

    @property
    def name(self):
        return f"127.0.0.1:{self.number}"

    def _talk(self, sock):
        head = exactly(sock, 12)
        if len(head) < 12:
            return
        order = ">" if head[:1] == b"B" else "<"
        name, data = struct.unpack_from(order + "HH", head, 6)
        body = exactly(sock, len(padded(bytes(name)))
                       + len(padded(bytes(data))))
        self.packets.append(head + body)
        cookie = body[len(padded(bytes(name))):][:data]
        if (body[:name], cookie) != (MIT, self.cookie):
            return
        sock.sendall(b"hello")
        while chunk := sock.recv(65536):
            sock.sendall(chunk)
