# SPDX-License-Identifier: ISC
"""A zone of the DNS with signatures (RFC 4034; Ed25519, RFC 8080), as a
nameserver.NameServer tells it, and the trust anchor for it."""

import base64
import struct
import time

from nameserver import TYPES, wire_data, wire_name

ED25519, TTL = 15, 60


class SignedZone:
    def __init__(self, server, name):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
        self.server, self.name = server, name
        self.secret = ed25519.Ed25519PrivateKey.generate()
        public = self.secret.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        self.key = struct.pack(">HBB", 257, 3, ED25519) + public
        self.anchor = f"{name}. IN DNSKEY 257 3 {ED25519} " + \
            base64.b64encode(public).decode() + "\n"
        self.tell(name, "DNSKEY", [self.key])

    def key_tag(self):
        words = struct.unpack(f">{len(self.key) // 2}H", self.key)
        total = sum(words)
        return (total + (total >> 16)) & 0xffff

    def tell(self, name, kind, data, until=86400, spoil=False):
        """These records, signed until so many seconds from now."""
        now, owner, number = int(time.time()), wire_name(name), TYPES[kind]
        labels = len(name.split("."))
        head = struct.pack(">HBBIIIH", number, ED25519, labels, TTL,
                           now + until, now - 10 * 86400, self.key_tag()) + \
            wire_name(self.name)
        plain = [owner + struct.pack(">HHIH", number, 1, TTL, len(d)) + d
                 for d in sorted(data)]
        signature = self.secret.sign(head + b"".join(plain))
        if spoil:
            signature = signature[:-1] + bytes([signature[-1] ^ 1])
        sig = head + signature
        body = b"".join(plain) + owner + struct.pack(
            ">HHIH", TYPES["RRSIG"], 1, TTL, len(sig)) + sig
        self.server.raw[name, number] = (len(plain) + 1, body)
        self.server.rcode[name] = 0

    def publish(self, name, records, **kw):
        self.tell(name, "SSHFP", [wire_data("SSHFP", r) for r in records],
                  **kw)
