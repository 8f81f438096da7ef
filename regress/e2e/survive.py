# SPDX-License-Identifier: ISC
"""Clients that ask that their session survives, lose their connection and come
back, as well or as badly as one likes (docs/PROTOCOL.md)."""

import os
import socket
import struct

import pytest
from sshwire import (GLOBAL_REQUEST, REQUEST_FAILURE, REQUEST_SUCCESS,
                     USERAUTH_FAILURE, USERAUTH_REQUEST, USERAUTH_SUCCESS,
                     message, string)
from tickets import log_in, mac, reach

from harness import ME, have

METHOD, REQUEST = "resume@hpnssh.org", "survive@hpnssh.org"
RESUME_OK, RECEIVED = 60, 200
YES = "LogLevel VERBOSE\nSurvive yes"


def needed(*programs):
    """The marks of tests that take these programs of ours."""
    names = " or ".join(f"hpn{name}" for name in programs)
    return [pytest.mark.skipif(not have("hpn", *programs),
                               reason=f"{names} is not built"),
            pytest.mark.skipif(
                os.geteuid() != 0,
                reason="Survive needs a server of the superuser's")]


def count_received(holder, wire):
    """Counts in holder.received what the peer sends over wire of what both
    sides count (docs/PROTOCOL.md)."""
    recv = wire.recv

    def counting():
        payload = recv()
        holder.received += 80 <= payload[0] < 128
        return payload
    wire.recv = counting


class Session:
    """What a client knows of the session of wire, whose user it is."""

    def __init__(self, wire, user, handle, secret, seconds, size):
        self.wire, self.user, self.handle = wire, user, handle
        self.seconds, self.size, self.generation = seconds, size, 0
        self.received = 0
        count_received(self, wire)
        self.key = mac(secret, REQUEST.encode() + string(wire.session_id)
                       + string(user) + string(wire.host_blob))

    def tell(self):
        self.wire.say(RECEIVED, struct.pack(">Q", self.received))


def ask(wire, seconds=600, size=1 << 20, user=ME, version=b"\1"):
    """The session, or None for a REQUEST_FAILURE."""
    wire.passes = (RECEIVED,)
    wire.say(GLOBAL_REQUEST, REQUEST, True, version, seconds, size)
    kind, r = wire.expect(REQUEST_SUCCESS, REQUEST_FAILURE)
    if kind == REQUEST_FAILURE:
        return None
    got = Session(wire, user, r.string(), r.string(), r.u32(), r.u32())
    assert r.rest() == b"" and len(got.handle) == 16
    return got


def begin(server, key, **kw):
    return ask(log_in(server, key), **kw)


def reset(wire):
    """Loses its connection."""
    wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                         struct.pack("ii", 1, 0))
    wire.sock.close()


def request(wire, session, received=None, user=ME, proof=None, session_id=None,
            key=None, handle=None, generation=None, version=b"\1"):
    if received is None:
        received = session.received
    if generation is None:
        generation = session.generation
    body = message(USERAUTH_REQUEST, user, "ssh-connection", METHOD, version,
                   string(session.handle if handle is None else handle),
                   generation, struct.pack(">Q", received))
    if proof is None:
        proof = mac(key or session.key, b"client" + string(
            session_id or wire.session_id) + body)
    return body + string(proof), proof


def show(wire, session, **kw):
    """How many messages the server has, or the methods that it names then."""
    text, proof = request(wire, session, **kw)
    wire.send(text)
    kind, r = wire.expect(USERAUTH_FAILURE, RESUME_OK)
    if kind == USERAUTH_FAILURE:
        return r.text()
    count = r.take(8)
    assert r.string() == mac(session.key, b"server" + string(wire.session_id)
                             + count + proof)
    wire.expect(USERAUTH_SUCCESS)
    session.key = mac(session.key, b"next" + string(wire.session_id))
    session.generation += 1
    session.wire = wire
    count_received(session, wire)
    wire.passes = (RECEIVED,)
    return struct.unpack(">Q", count)[0]


def resume(server, session, address="127.0.0.1", **kw):
    """What a connection of its own gets, and its wire."""
    wire = reach(server, address)
    return show(wire, session, **kw), wire
