# SPDX-License-Identifier: ISC
"""Clients that ask for tickets and show them, as well or as badly as one likes
(docs/PROTOCOL.md)."""

import hashlib
import hmac
import socket

from sshwire import (EXT_INFO, GLOBAL_REQUEST, REQUEST_FAILURE,
                     REQUEST_SUCCESS, USERAUTH_FAILURE, USERAUTH_REQUEST,
                     USERAUTH_SUCCESS, Wire, message, string)

from harness import LONG, ME

METHOD, REQUEST = "ticket@hpnssh.org", "tickets@hpnssh.org"
IN_AUTH = "ext-info-in-auth@openssh.com"


def mac(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


class Ticket:
    def __init__(self, wire, user, name, secret, kind, seconds):
        self.name, self.kind, self.seconds = name, kind, seconds
        self.wire = wire  # whose end would end the ticket
        self.key = mac(secret, METHOD.encode() + kind
                       + string(wire.session_id) + string(user)
                       + string(wire.host_blob))


def reach(server, address="127.0.0.1"):
    """A client that has keys, and has asked for the service."""
    return begin(socket.create_connection(("127.0.0.1", server.port), LONG,
                                          source_address=(address, 0)))


def begin(sock):
    """The same, over that socket."""
    wire = Wire(sock)
    wire.handshake()
    wire.say(EXT_INFO, 1, IN_AUTH, "0")
    return wire.ask_service()


def log_in(server, key, user=ME, address="127.0.0.1"):
    wire = reach(server, address)
    wire.send(wire.signed_request(user, key))
    wire.expect(USERAUTH_SUCCESS)
    return wire


def ask(wire, count, user=ME, version=b"\1", instead=0):
    """Tickets, or None for a REQUEST_FAILURE."""
    wire.say(GLOBAL_REQUEST, REQUEST, True, version, count, instead)
    kind, r = wire.expect(REQUEST_SUCCESS, REQUEST_FAILURE)
    if kind == REQUEST_FAILURE:
        return None
    got = [Ticket(wire, user, r.string(), r.string(), r.take(1), r.u32())
           for _ in range(r.u32())]
    assert r.rest() == b""
    return got


def request(wire, ticket, user=ME, proof=None, session_id=None, key=None,
            version=b"\1", kind=None, signed_user=None):
    def body(who):
        return message(USERAUTH_REQUEST, who, "ssh-connection", METHOD,
                       version, string(ticket.name), kind or ticket.kind)
    if proof is None:
        proof = mac(key or ticket.key,
                    b"client" + string(session_id or wire.session_id)
                    + body(signed_user or user))
    return body(user) + string(proof)


def show(wire, ticket, **kw):
    """"yes", "more", or the methods that the server names then."""
    wire.send(request(wire, ticket, **kw))
    kind, r = wire.expect(USERAUTH_FAILURE, USERAUTH_SUCCESS)
    if kind == USERAUTH_SUCCESS:
        return "yes"
    methods = r.text()
    return "more" if r.bool() else methods


def redeem(server, ticket, address="127.0.0.1", **kw):
    """What a connection of its own gets, and its wire."""
    wire = reach(server, address)
    return show(wire, ticket, **kw), wire
