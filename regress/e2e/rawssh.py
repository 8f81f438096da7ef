# SPDX-License-Identifier: ISC
"""The plain-text beginning of SSH, by hand, for peers that misbehave: framing
(RFC 4253 section 6), KEXINIT (7.1), a server in a thread, and a proxy that
sees each packet until NEWKEYS."""

import os
import select
import socket
import struct
import threading

from harness import LONG

BANNER = b"SSH-2.0-OpenSSH_10.5 rawssh\r\n"
DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG = 1, 2, 3, 4
KEXINIT, NEWKEYS, PING, PONG = 20, 21, 192, 193
KEX = ("curve25519-sha256", "ssh-ed25519", "aes128-ctr", "hmac-sha2-256")
STRICT_CLIENT = "kex-strict-c-v00@openssh.com"
STRICT_SERVER = "kex-strict-s-v00@openssh.com"


def string(data):
    if isinstance(data, str):
        data = data.encode()
    return struct.pack(">I", len(data)) + data


def packet(payload, block=8):
    pad = block - (5 + len(payload)) % block
    if pad < 4:
        pad += block
    return struct.pack(">IB", len(payload) + pad + 1, pad) + payload \
        + bytes(pad)


def kexinit(*pseudo, kex=KEX[0], hostkey=KEX[1], cipher=KEX[2], mac=KEX[3],
            compression="none", follows=False):
    lists = [",".join((kex, *pseudo)), hostkey, cipher, cipher, mac, mac,
             compression, compression, "", ""]
    return bytes([KEXINIT]) + os.urandom(16) + b"".join(map(string, lists)) \
        + bytes([follows]) + bytes(4)


def split(buffer):
    """(payload or None, rest) of plain-text packets."""
    if len(buffer) < 5:
        return None, buffer
    length, pad = struct.unpack(">IB", buffer[:5])
    if len(buffer) < 4 + length:
        return None, buffer
    return buffer[5:4 + length - pad], buffer[4 + length:]


class Raw:
    """One end of a connection in plain text."""

    def __init__(self, sock, timeout=LONG):
        self.sock, self.buffer = sock, b""
        sock.settimeout(timeout)

    @classmethod
    def connect(cls, port, timeout=LONG):
        return cls(socket.create_connection(("127.0.0.1", port), timeout),
                   timeout)

    def send(self, data):
        self.sock.sendall(data)

    def pass_on(self, data):
        """To a peer that may have hung up: why, is read from it yet."""
        try:
            self.send(data)
        except ConnectionError:
            pass

    def put(self, payload):
        self.send(packet(payload))

    def fill(self):
        chunk = self.sock.recv(65536)
        self.buffer += chunk
        return bool(chunk)

    def line(self):
        while b"\n" not in self.buffer:
            if not self.fill():
                return None
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.rstrip(b"\r")

    def get(self):
        """The next payload; None at the end of the connection."""
        while True:
            payload, self.buffer = split(self.buffer)
            if payload is not None:
                return payload
            try:
                if not self.fill():
                    return None
            except ConnectionError:
                return None

    def ends(self, seconds=LONG):
        """True when the peer closes within that time; drops what comes."""
        self.sock.settimeout(seconds)
        try:
            while self.fill():
                self.buffer = b""
            return True
        except socket.timeout:
            return False
        except ConnectionError:
            return True

    def close(self):
        self.sock.close()


class FakeServer:
    """Serves each connection by behave(raw), in threads."""

    def __init__(self, behave):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.behave, self.accepted, self.open = behave, 0, []
        self.thread = threading.Thread(target=self.loop, daemon=True)

    def loop(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            self.open.append(sock)
            threading.Thread(target=self.one, args=(sock,),
                             daemon=True).start()

    def one(self, sock):
        try:
            self.behave(Raw(sock))
        except OSError:
            sock.close()  # or the peer would wait for ever

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        # A thread in accept() is not woken by close() alone.
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        for sock in self.open:
            sock.close()


class Proxy(FakeServer):
    """Between a client and the server on `port`. For each plain-text packet,
    tamper(direction, payload) gives the payloads to pass on instead;
    direction is "c" from the client, "s" from the server. What each side
    sent is kept in `seen`; its socket is peers[direction]."""

    def __init__(self, port, tamper):
        super().__init__(self.relay)
        self.target, self.tamper = port, tamper
        self.seen, self.peers = {"c": [], "s": []}, {}

    def relay(self, client):
        server = Raw.connect(self.target)
        self.open.append(server.sock)
        self.peers = {"c": client.sock, "s": server.sock}
        state = {"c": [client, server, False, True],
                 "s": [server, client, False, True]}
        while True:
            socks = {end[0].sock: name for name, end in state.items()}
            for sock in select.select(list(socks), [], [])[0]:
                name = socks[sock]
                try:
                    chunk = sock.recv(65536)
                except OSError:
                    chunk = b""
                if not chunk:
                    self.seen[name].append("end")
                    client.close()
                    server.close()
                    return
                self.pass_on(name, state[name], chunk)

    def pass_on(self, name, end, chunk):
        source, sink, banner_done, plain = end
        source.buffer += chunk
        if not banner_done:
            if b"\n" not in source.buffer:
                return
            line, source.buffer = source.buffer.split(b"\n", 1)
            sink.pass_on(line + b"\n")
            end[2] = True
        while end[3]:
            payload, source.buffer = split(source.buffer)
            if payload is None:
                return
            self.seen[name].append(payload[0])
            for replacement in self.tamper(name, payload):
                sink.pass_on(packet(replacement))
            if payload[0] == NEWKEYS:
                end[3] = False
        if source.buffer:
            self.seen[name].append("encrypted")
            self.relay_rest(name, source, sink)
            source.buffer = b""

    def relay_rest(self, name, source, sink):
        """Encrypted bytes."""
        sink.pass_on(source.buffer)
