# SPDX-License-Identifier: ISC
"""Certificate authorities for tests, and clients that show any certificate:
also those that no client of either kind would show."""

import base64
import copy
import socket

from sshwire import (USERAUTH_FAILURE, USERAUTH_PK_OK, USERAUTH_SUCCESS, Wire,
                     load_key, string)

from harness import LONG, program, run

CERT_ALG = "ssh-ed25519-cert-v01@openssh.com"
ID, SERIAL = "the id", 7


class Authority:
    """Its key is in `directory`, certificates are made by the tool of that
    kind."""

    def __init__(self, directory, kind, name="ca", key_type="ed25519",
                 args=()):
        self.dir, self.kind = directory, kind
        self.keygen = program(kind, "ssh-keygen")
        self.key = directory / name
        run([self.keygen, "-q", "-t", key_type, *args, "-N", "", "-C", name,
             "-f", self.key]).ok()
        self.public = (directory / f"{name}.pub").read_text().strip()
        self.made = 0

    def certify(self, public, *args, names=None, serial=SERIAL, id=ID):
        """Path of a certificate for the public key line."""
        self.made += 1
        path = self.dir / f"{self.key.name}-{self.made}"
        path.with_suffix(".pub").write_text(public + "\n")
        run([self.keygen, "-q", "-s", self.key, "-I", id, "-z", str(serial),
             *(["-n", names] if names else []), *args,
             path.with_suffix(".pub")]).ok()
        return self.dir / f"{path.name}-cert.pub"


def blob_of(path):
    return base64.b64decode(path.read_text().split()[1])


class RawClient:
    """Offers whatever it is given, and tells what the server makes of it."""

    def __init__(self, server, user, address="127.0.0.1"):
        self.user = user
        self.wire = Wire(socket.create_connection(
            ("127.0.0.1", server.port), LONG,
            source_address=(address, 0))).handshake().ask_service()

    def offer(self, alg, blob):
        """Would the server take it?"""
        self.wire.auth_request(self.user, "publickey", False, alg,
                               string(blob))
        kind, _ = self.wire.expect(USERAUTH_FAILURE, USERAUTH_PK_OK)
        return kind == USERAUTH_PK_OK

    def login(self, key_path, alg, blob):
        """"yes", "more" or "no"."""
        key = copy.copy(load_key(key_path))
        key.blob = blob
        self.wire.send(self.wire.signed_request(self.user, key, alg=alg))
        kind, body = self.wire.expect(USERAUTH_FAILURE, USERAUTH_SUCCESS)
        if kind == USERAUTH_SUCCESS:
            return "yes"
        body.string()
        return "more" if body.bool() else "no"

    def close(self):
        self.wire.close()
