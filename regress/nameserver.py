# SPDX-License-Identifier: ISC
"""A name server of the tests' own on a loopback address, and programs that
see no other one: in a mount namespace with a resolv.conf of theirs, and
without the keys of the real root."""

import os
import socket
import struct
import threading

import harness
from harness import run

TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "AAAA": 28, "DS": 43,
         "SSHFP": 44, "RRSIG": 46, "DNSKEY": 48}
REFUSED, NXDOMAIN, SERVFAIL, FORMERR = 5, 3, 2, 1
ENTER = """
mount --bind "$1/hosts" /etc/hosts &&
mount --bind "$1/resolv.conf" /etc/resolv.conf &&
mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf &&
{ ! test -d /usr/share/dns || mount -t tmpfs none /usr/share/dns; } &&
shift && exec "$@"
"""


def problem():
    """Why there can be no such server here, or None."""
    if not harness.IS_ROOT:
        return "needs root: port 53, mounts"
    if run(["unshare", "-m", "--propagation", "private", "mount", "--bind",
            "/etc/hosts", "/etc/hosts"]).rc != 0:
        return "mounting is not possible here"
    return None


def wire_name(name):
    out = b""
    for label in name.rstrip(".").split("."):
        if label:
            out += bytes([len(label)]) + label.encode()
    return out + b"\0"


def wire_data(kind, text):
    if kind == "A":
        return socket.inet_aton(text)
    if kind == "AAAA":
        return socket.inet_pton(socket.AF_INET6, text)
    if kind == "CNAME":
        return wire_name(text)
    if kind == "SSHFP":
        alg, digest, value = text.split()
        return bytes([int(alg), int(digest)]) + bytes.fromhex(value)
    return bytes.fromhex(text)


def question_of(packet):
    at, labels = 12, []
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode().lower())
        at += 1 + packet[at]
    return ".".join(labels), struct.unpack(">H", packet[at + 1:at + 3])[0], \
        packet[12:at + 5]


class NameServer:
    """records: (name, "A", "127.0.0.1") and the like. silent: names that it
    says nothing about; stuck: (name, "SSHFP") and the like, for which
    it wants a connection, on which it is silent (held); secure: it has validated what
    it says; raw: bytes that answer a name, behind the header and the
    question."""

    def __init__(self, directory):
        self.dir = directory / "names"
        self.dir.mkdir()
        self.records, self.silent, self.raw = [], set(), {}
        self.secure, self.rcode = False, {}
        self.asked, self.counts = [], {}
        self.stuck, self.held = set(), []
        self.sockets = self._bind()
        self.address = self.sockets[0].getsockname()[0]
        for name, text in {
                "hosts": "127.0.0.1 localhost\n",
                "resolv.conf": f"nameserver {self.address}\n"
                               "options timeout:1 attempts:1\n",
                "nsswitch.conf": "hosts: files dns\n"
                                 "passwd: files\ngroup: files\n"}.items():
            (self.dir / name).write_text(text)
        for serve, sock in zip((self._datagrams, self._streams),
                               self.sockets):
            threading.Thread(target=serve, args=(sock,), daemon=True).start()

    @staticmethod
    def _bind():
        for n in range(1, 250):
            where = (f"127.94.{os.getpid() % 250}.{n}", 53)
            pair = socket.socket(type=socket.SOCK_DGRAM), socket.socket()
            try:
                pair[0].bind(where)
                pair[1].bind(where)
                pair[1].listen(8)
                return pair
            except OSError:
                for sock in pair:
                    sock.close()
        raise AssertionError("no address is free")

    def close(self):
        for sock in self.sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def add(self, name, kind, value):
        self.records.append((name.lower().rstrip("."), kind, value))

    def resolver(self, options):
        with open(self.dir / "resolv.conf", "a", encoding="ascii") as out:
            out.write(f"options {options}\n")

    def within(self, *args):
        """The command line of a program that asks this server only."""
        return ["unshare", "-m", "--propagation", "private", "sh", "-c",
                ENTER, "sh", self.dir, *args]

    def _chain(self, name, number):
        """The records that answer, and whether there is such a name."""
        out, there = [], False
        for _ in range(16):
            here = [r for r in self.records if r[0] == name]
            there = bool(here)
            found = [r for r in here if TYPES[r[1]] == number]
            alias = [r for r in here if r[1] == "CNAME"]
            out += found or alias
            if found or not alias:
                break
            name = alias[0][2].rstrip(".").lower()
        return out, there

    def answer(self, packet):
        name, number, question = question_of(packet)
        self.asked.append((name, number))
        if name in self.silent:
            return None
        records, there = self._chain(name, number)
        code = self.rcode.get(name, 0 if there or records else NXDOMAIN)
        # It answers queries, has recursion, and has validated.
        flags = 0x8180 | (0x20 if self.secure else 0) | code
        body, count = b"", len(records)
        for owner, kind, value in records:
            data = wire_data(kind, value)
            body += wire_name(owner) + struct.pack(
                ">HHIH", TYPES[kind], 1, 60, len(data)) + data
        if (name, number) in self.raw:
            count, body = self.raw[name, number]
        return packet[:2] + struct.pack(">HHHHH", flags, 1, count, 0, 0) + \
            question + body

    def is_stuck(self, packet):
        name, number, _ = question_of(packet)
        return number in [TYPES[kind] for stuck, kind in self.stuck
                          if stuck == name]

    def _datagrams(self, sock):
        while True:
            try:
                packet, peer = sock.recvfrom(4096)
                if not packet:  # it was closed
                    return
                reply = self.answer(packet)
                if reply is not None and (
                        len(reply) > 1232 or self.is_stuck(packet)):
                    flags = struct.unpack(">H", reply[2:4])[0] | 0x200
                    question = question_of(packet)[2]
                    reply = reply[:2] + struct.pack(
                        ">HHHHH", flags, 1, 0, 0, 0) + question
                if reply is not None:
                    sock.sendto(reply, peer)
            except OSError:
                return

    def _streams(self, sock):
        while True:
            try:
                conn, _ = sock.accept()
            except OSError:
                return
            if self.stuck:
                self.held.append(conn)
                continue
            with conn:
                conn.settimeout(5)
                try:
                    size = struct.unpack(">H", conn.recv(2))[0]
                    reply = self.answer(conn.recv(size))
                    if reply is not None:
                        conn.sendall(struct.pack(">H", len(reply)) + reply)
                except (OSError, struct.error):
                    continue
