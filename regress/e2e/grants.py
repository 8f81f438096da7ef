# SPDX-License-Identifier: ISC
"""Clients that give grants and use them, as well or as badly as one likes
(docs/PROTOCOL.md); and SFTP over such a connection."""

import struct

from sshwire import (CHANNEL_DATA, CHANNEL_FAILURE, CHANNEL_REQUEST,
                     CHANNEL_SUCCESS, GLOBAL_REQUEST, REQUEST_FAILURE,
                     REQUEST_SUCCESS, USERAUTH_FAILURE, USERAUTH_REQUEST,
                     USERAUTH_SUCCESS, Host, Reader, message, string)
from tickets import METHOD, reach

from harness import ME

REQUEST = "grant@hpnssh.org"
END = "grant-end@hpnssh.org"
RECEIPT = "grant-receipt@hpnssh.org"
LIST, READ, MAKE, CHANGE, LINK, DELETE, MODE, OWNER, TIMES = (
    1 << i for i in range(9))
PUT = LIST | MAKE | CHANGE | MODE | TIMES
GET = LIST | READ
ANY = 2 ** 64 - 1
OPEN, CLOSE, READ_FILE, WRITE, REMOVE, MKDIR, REALPATH, STAT = (
    3, 4, 5, 6, 13, 14, 16, 17)
OPENDIR, RENAME, SYMLINK, EXTENDED = 11, 18, 20, 200
STATUS, HANDLE, DATA, NAME, ATTRS, EXTENDED_REPLY = (
    101, 102, 103, 104, 105, 201)
OK, NO_SUCH_FILE, DENIED, FAILURE, UNSUPPORTED = 0, 2, 3, 4, 8


class Grant:
    def __init__(self, wire, name, key):
        self.wire, self.name, self.key = wire, name, key


def u64(n):
    return struct.pack(">Q", n)


def fields(key, path, rights=PUT, bytes_=ANY, files=ANY, deletes=ANY,
           connections=4, begin=60, life=600, address="", blob=None):
    return (string(blob if blob is not None else key.blob) + string(path)
            + struct.pack(">I", rights) + u64(bytes_) + u64(files)
            + u64(deletes) + struct.pack(">III", connections, begin, life)
            + string(address))


def give(wire, path, version=b"\1", raw=None, **kw):
    """A grant for a new key, or None for a REQUEST_FAILURE."""
    key = Host()
    body = raw if raw is not None else fields(key, str(path), **kw)
    wire.send(message(GLOBAL_REQUEST, REQUEST, True) + version + body)
    kind, r = wire.expect(REQUEST_SUCCESS, REQUEST_FAILURE)
    if kind == REQUEST_FAILURE:
        return None
    name = r.string()
    assert r.rest() == b"" and len(name) == 24
    return Grant(wire, name, key)


def take_back(wire, name, version=b"\1"):
    """Whether the server says that nothing is left of the grant."""
    wire.send(message(GLOBAL_REQUEST, END, True) + version + string(name))
    kind, _ = wire.expect(REQUEST_SUCCESS, REQUEST_FAILURE)
    return kind == REQUEST_SUCCESS


def request(wire, grant, user=ME, key=None, session_id=None, proof=None,
            kind=b"g", signed_user=None, name=None):
    def body(who):
        return message(USERAUTH_REQUEST, who, "ssh-connection", METHOD,
                       b"\1", string(name or grant.name), kind)
    if proof is None:
        proof = (key or grant.key).sign(
            b"client" + string(session_id or wire.session_id)
            + body(signed_user or user))
    return body(user) + string(proof)


def use(server, grant, address="127.0.0.1", wire=None, **kw):
    """Whether the server lets in who shows the grant, and its wire."""
    wire = wire or reach(server, address)
    wire.grant = grant  # whose giver must not end before
    wire.send(request(wire, grant, **kw))
    kind, r = wire.expect(USERAUTH_FAILURE, USERAUTH_SUCCESS)
    if kind == USERAUTH_FAILURE:
        r.text()
        assert not r.bool()
    return kind == USERAUTH_SUCCESS, wire


class Sftp:
    """A session of the subsystem, message by message."""

    def __init__(self, wire):
        self.wire, self.got, self.ids = wire, b"", 0
        self.peer, _, _ = wire.open_session()
        wire.say(CHANNEL_REQUEST, self.peer, "subsystem", True, "sftp")
        kind, _ = wire.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE)
        self.began = kind == CHANNEL_SUCCESS
        if self.began:
            self.put(struct.pack(">BI", 1, 3))
            self.version = self.take()

    def put(self, body):
        self.wire.say(CHANNEL_DATA, self.peer, string(string(body)))

    def take(self):
        while len(self.got) < 4 or len(self.got) < 4 + struct.unpack(
                ">I", self.got[:4])[0]:
            r = self.wire.expect(CHANNEL_DATA)
            r.u32()
            self.got += r.string()
        size, = struct.unpack(">I", self.got[:4])
        body, self.got = self.got[4:4 + size], self.got[4 + size:]
        return body

    def call(self, kind, *parts):
        """(type, rest) of the reply; of a STATUS (STATUS, code)."""
        self.ids += 1
        self.put(struct.pack(">BI", kind, self.ids) + b"".join(parts))
        body = self.take()
        assert struct.unpack(">I", body[1:5])[0] == self.ids
        if body[0] == STATUS:
            return STATUS, struct.unpack(">I", body[5:9])[0]
        return body[0], body[5:]

    def open(self, path, flags):
        return self.call(OPEN, string(path), struct.pack(">II", flags, 0))

    def write(self, path, data, flags=0x1a):
        """The status of a new file with that content."""
        kind, handle = self.open(path, flags)
        if kind != HANDLE:
            return handle
        _, code = self.call(WRITE, handle, u64(0), string(data))
        self.call(CLOSE, handle)
        return code

    def read(self, path):
        """The content, or a status."""
        kind, handle = self.open(path, 1)
        if kind != HANDLE:
            return handle
        kind, data = self.call(READ_FILE, handle, u64(0),
                               struct.pack(">I", 1 << 15))
        self.call(CLOSE, handle)
        return Reader(data).string() if kind == DATA else data
