# SPDX-License-Identifier: ISC
"""A raw SSH peer in either role, that sends any message at any time: for
tests of what must not be possible. It knows one method of each kind:
curve25519-sha256, ssh-ed25519, aes128-gcm or aes128-ctr with an -etm MAC."""

import contextlib
import hashlib
import hmac
import os
import socket
import struct
import threading

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from harness import LONG, free_port

DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG = 1, 2, 3, 4
SERVICE_REQUEST, SERVICE_ACCEPT, EXT_INFO = 5, 6, 7
KEXINIT, NEWKEYS, KEX_INIT, KEX_REPLY = 20, 21, 30, 31
USERAUTH_REQUEST, USERAUTH_FAILURE, USERAUTH_SUCCESS = 50, 51, 52
USERAUTH_BANNER, USERAUTH_PK_OK, USERAUTH_INFO_REQUEST = 53, 60, 60
USERAUTH_INFO_RESPONSE = 61
GLOBAL_REQUEST, REQUEST_SUCCESS, REQUEST_FAILURE = 80, 81, 82
CHANNEL_OPEN, OPEN_CONFIRMATION, OPEN_FAILURE = 90, 91, 92
WINDOW_ADJUST, CHANNEL_DATA, EXTENDED_DATA = 93, 94, 95
CHANNEL_EOF, CHANNEL_CLOSE, CHANNEL_REQUEST = 96, 97, 98
CHANNEL_SUCCESS, CHANNEL_FAILURE, PING, PONG = 99, 100, 192, 193

GCM, ETM = "aes128-gcm@openssh.com", "aes128-ctr"
ETM_MAC = "hmac-sha2-256-etm@openssh.com"
PACKET_MAX = 256 * 1024  # of the length field


class Closed(Exception):
    """The other side ended the connection."""


def u32(n):
    return struct.pack(">I", n)


def string(s):
    s = s.encode() if isinstance(s, str) else s
    return u32(len(s)) + s


def mpint(raw):
    raw = raw.lstrip(b"\0")
    return string(b"\0" + raw if raw and raw[0] & 0x80 else raw)


def boolean(b):
    return b"\1" if b else b"\0"


def message(kind, *fields):
    """Bytes are taken as they are, str as a string, int as a u32."""
    out = bytes([kind])
    for f in fields:
        if isinstance(f, bool):
            out += boolean(f)
        elif isinstance(f, int):
            out += u32(f)
        elif isinstance(f, str):
            out += string(f)
        else:
            out += f
    return out


# What may come at any time, but for the first exchange of a strict one.
SMALL_TALK = {
    "ignore": message(IGNORE, ""), "debug": message(DEBUG, True, "", ""),
    "unimplemented": message(UNIMPLEMENTED, 0), "ping": message(PING, ""),
    "ext-info": message(EXT_INFO, 0),
}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if len(self.data) - self.at < n:
            raise ValueError("message is too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def u8(self):
        return self.take(1)[0]

    def u32(self):
        return struct.unpack(">I", self.take(4))[0]

    def bool(self):
        return self.u8() != 0

    def string(self):
        return self.take(self.u32())

    def text(self):
        return self.string().decode()

    def rest(self):
        return self.take(len(self.data) - self.at)


def sealed_by_nobody(payload, pad=None, align=8, head=4):
    """A packet without encryption."""
    if pad is None:
        pad = align - (head + 1 + len(payload)) % align
        pad += align if pad < 4 else 0
    return u32(1 + len(payload) + pad) + bytes([pad]) + payload + bytes(pad)


class Gcm:
    tag_len = 16

    def __init__(self, key, iv, mac_key):
        self.aead = AESGCM(key)
        self.fixed, self.count = iv[:4], int.from_bytes(iv[4:], "big")

    def _nonce(self):
        nonce = self.fixed + self.count.to_bytes(8, "big")
        self.count = (self.count + 1) % (1 << 64)
        return nonce

    def seal(self, clear, seqnr):
        return clear[:4] + self.aead.encrypt(self._nonce(), clear[4:],
                                             clear[:4])

    def open(self, length, body, seqnr):
        return self.aead.decrypt(self._nonce(), body, length)


class CtrEtm:
    tag_len = 32

    def __init__(self, key, iv, mac_key):
        self.cipher = Cipher(algorithms.AES(key), modes.CTR(iv)).encryptor()
        self.mac_key = mac_key

    def _mac(self, data, seqnr):
        return hmac.digest(self.mac_key, u32(seqnr) + data, "sha256")

    def seal(self, clear, seqnr):
        data = clear[:4] + self.cipher.update(clear[4:])
        return data + self._mac(data, seqnr)

    def open(self, length, body, seqnr):
        data, tag = body[:-32], body[-32:]
        assert hmac.compare_digest(tag, self._mac(length + data, seqnr)), \
            "wrong MAC (sequence numbers differ?)"
        return self.cipher.update(data)


class Host:
    """An ed25519 host key of our own."""

    name = "ssh-ed25519"

    def __init__(self, private=None):
        self.private = private or ed25519.Ed25519PrivateKey.generate()
        raw = self.private.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        self.blob = string(self.name) + string(raw)

    def sign(self, data):
        return string(self.name) + string(self.private.sign(data))


def load_key(path):
    """An unencrypted ed25519 key file."""
    with open(path, "rb") as f:
        return Host(serialization.load_ssh_private_key(f.read(), None))


class Wire:
    def __init__(self, sock, server=False, ident=b"SSH-2.0-sshwire_1",
                 cipher=GCM, strict=True, reset=None):
        self.sock, self.server, self.cipher = sock, server, cipher
        sock.settimeout(LONG)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ident, self.peer_ident = ident, None
        self.strict = strict  # offered by us
        self.reset = reset    # sequence numbers; None: as agreed
        self.buffer, self.lines = b"", []
        self.tx = self.rx = None
        self.tx_seqnr = self.rx_seqnr = 0
        self.session_id = None
        self.host_blob = None
        self.passes = ()  # more types that expect() passes over
        self.ext_info = None
        self.told = []  # texts of DEBUG messages
        self.mine = self.theirs = None
        self.next_keys = None

    # ---- bytes ---------------------------------------------------------

    def raw(self, data):
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as e:
            raise Closed from e

    def _fill(self):
        try:
            more = self.sock.recv(1 << 18)
        except ConnectionResetError as e:
            raise Closed from e
        if not more:
            raise Closed
        self.buffer += more

    def _take(self, n):
        while len(self.buffer) < n:
            self._fill()
        out, self.buffer = self.buffer[:n], self.buffer[n:]
        return out

    def line(self):
        while b"\n" not in self.buffer:
            self._fill()
        out, self.buffer = self.buffer.split(b"\n", 1)
        return out.rstrip(b"\r")

    def read_identification(self):
        while self.peer_ident is None:
            line = self.line()
            if line.startswith(b"SSH-"):
                self.peer_ident = line
            else:
                self.lines.append(line)

    def identify(self):
        self.raw(self.ident + b"\r\n")
        self.read_identification()
        return self

    def close(self):
        self.sock.close()

    # ---- packets -------------------------------------------------------

    def seal(self, payload, pad=None):
        align, head = (16, 0) if self.tx else (8, 4)
        out = sealed_by_nobody(payload, pad, align, head)
        if self.tx:
            out = self.tx.seal(out, self.tx_seqnr)
        self.tx_seqnr = (self.tx_seqnr + 1) & 0xffffffff
        return out

    def send(self, *payloads):
        self.raw(b"".join(self.seal(p) for p in payloads))

    def say(self, kind, *fields):
        self.send(message(kind, *fields))

    def recv(self):
        length = self._take(4)
        size = struct.unpack(">I", length)[0]
        assert 5 <= size <= PACKET_MAX, f"packet of {size} bytes"
        body = self._take(size + (self.rx.tag_len if self.rx else 0))
        if self.rx:
            body = self.rx.open(length, body, self.rx_seqnr)
        self.rx_seqnr = (self.rx_seqnr + 1) & 0xffffffff
        payload = body[1:size - body[0]]
        if payload[0] == EXT_INFO:
            self.ext_info = payload
        if payload[0] == DEBUG:
            self.told.append(Reader(payload[2:]).text())
        return payload

    def expect(self, *kinds):
        """The next message of these kinds, its body. Small talk and banners
        are passed over; DISCONNECT is the end."""
        while True:
            payload = self.recv()
            if payload[0] in kinds:
                return Reader(payload[1:]) if len(kinds) == 1 else \
                    (payload[0], Reader(payload[1:]))
            if payload[0] == DISCONNECT:
                raise Closed(Reader(payload[5:]).text())
            assert payload[0] in (IGNORE, DEBUG, EXT_INFO, USERAUTH_BANNER,
                                  UNIMPLEMENTED, GLOBAL_REQUEST,
                                  WINDOW_ADJUST, CHANNEL_EOF,
                                  *self.passes), \
                f"message {payload[0]} instead of {kinds}: {payload[:200]!r}"

    def drain(self):
        """All messages until the other side ends the connection, across a
        change of keys if it comes."""
        got = []
        try:
            while True:
                got.append(self.recv())
                if got[-1][0] == NEWKEYS and self.next_keys:
                    self.use_keys()
        except Closed:
            return got

    def was_ended(self):
        """Text of the disconnect message, or "" for an end without one."""
        self.sock.settimeout(LONG)
        try:
            last = [p for p in self.drain() if p[0] == DISCONNECT]
        except TimeoutError as e:
            raise AssertionError("the connection was not ended") from e
        return Reader(last[-1][5:]).text() if last else ""

    # ---- key exchange --------------------------------------------------

    def kexinit(self, kex="curve25519-sha256", hostkey="ssh-ed25519",
                cipher=None, mac=ETM_MAC, compression="none", follows=False):
        side = "s" if self.server else "c"
        if self.strict:
            kex += f",kex-strict-{side}-v00@openssh.com"
        if not self.server:
            kex += ",ext-info-c"
        cipher = cipher or self.cipher
        lists = (kex, hostkey, cipher, cipher, mac, mac, compression,
                 compression, "", "")
        return message(KEXINIT, os.urandom(16), *map(str, lists), follows, 0)

    def send_kexinit(self, **lists):
        self.mine = self.kexinit(**lists)
        self.send(self.mine)

    def read_kexinit(self):
        payload = self.recv()
        while payload[0] != KEXINIT:
            payload = self.recv()
        self.theirs = payload
        r = Reader(payload[17:])
        self.offer = [r.text().split(",") for _ in range(10)]
        side = "c" if self.server else "s"
        if self.session_id is None:
            self.agreed_strict = self.strict and \
                f"kex-strict-{side}-v00@openssh.com" in self.offer[0]
            if self.reset is None:
                self.reset = self.agreed_strict

    def derive(self, shared, digest):
        def key(letter, size):
            have = hashlib.sha256(shared + digest + letter
                                  + self.session_id).digest()
            assert size <= len(have)
            return have[:size]

        maker, iv = (Gcm, 12) if self.cipher == GCM else (CtrEtm, 16)
        self.secrets = [key(letter, 16) for letter in (b"C", b"D")]
        to_server = maker(key(b"C", 16), key(b"A", iv), key(b"E", 32))
        to_client = maker(key(b"D", 16), key(b"B", iv), key(b"F", 32))
        return (to_client, to_server) if self.server else \
            (to_server, to_client)

    def _finish(self, client_value, server_value, secret):
        shared = mpint(secret)
        mine, theirs = string(self.mine), string(self.theirs)
        idents = string(self.ident), string(self.peer_ident)
        order = -1 if self.server else 1
        digest = hashlib.sha256(
            b"".join(idents[::order]) + b"".join((mine, theirs)[::order])
            + string(self.host_blob) + string(client_value)
            + string(server_value) + shared).digest()
        self.session_id = self.session_id or digest
        self.next_keys = self.derive(shared, digest)
        return digest

    @staticmethod
    def _pair():
        private = x25519.X25519PrivateKey.generate()
        return private, private.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw)

    def client_exchange(self):
        private, value = self._pair()
        self.say(KEX_INIT, string(value))
        reply = self.expect(KEX_REPLY)
        self.host_blob, theirs = reply.string(), reply.string()
        self._finish(value, theirs, private.exchange(
            x25519.X25519PublicKey.from_public_bytes(theirs)))

    def server_exchange(self, host, blob=None, sign=None):
        """blob, sign(digest): what is sent instead of the right things."""
        theirs = self.expect(KEX_INIT).string()
        private, value = self._pair()
        self.host_blob = host.blob if blob is None else blob
        digest = self._finish(theirs, value, private.exchange(
            x25519.X25519PublicKey.from_public_bytes(theirs)))
        signature = (sign or host.sign)(digest)
        self.say(KEX_REPLY, string(self.host_blob), string(value),
                 string(signature))

    def send_newkeys(self):
        self.say(NEWKEYS)
        self.tx = self.next_keys[0]
        if self.reset:
            self.tx_seqnr = 0

    def read_newkeys(self):
        self.expect(NEWKEYS)
        self.use_keys()

    def use_keys(self):
        self.rx, self.next_keys = self.next_keys[1], None
        if self.reset:
            self.rx_seqnr = 0

    def handshake(self, host=None, **kw):
        """Identification to keys; a rekey when there are some already."""
        if self.peer_ident is None:
            self.identify()
        self.send_kexinit()
        self.read_kexinit()
        if self.server:
            self.server_exchange(host, **kw)
        else:
            self.client_exchange()
        self.send_newkeys()
        self.read_newkeys()
        return self

    # ---- client: authentication and channels ---------------------------

    def ask_service(self):
        self.say(SERVICE_REQUEST, "ssh-userauth")
        self.expect(SERVICE_ACCEPT)
        return self

    def auth_request(self, user, method, *fields,
                     service="ssh-connection"):
        self.say(USERAUTH_REQUEST, string(user), service, method, *fields)

    def try_auth(self, user, method, *fields):
        self.auth_request(user, method, *fields)
        return self.expect(USERAUTH_FAILURE, USERAUTH_SUCCESS,
                           USERAUTH_PK_OK)

    def signed_request(self, user, key, method="publickey", host_blob=None,
                       session_id=None, alg="ssh-ed25519",
                       service="ssh-connection"):
        body = message(USERAUTH_REQUEST, string(user), service, method, True,
                       alg, string(key.blob))
        if method != "publickey":
            body += string(self.host_blob if host_blob is None
                           else host_blob)
        signature = key.sign(string(session_id or self.session_id) + body)
        return body + string(signature)

    def login(self, user, key):
        self.handshake()
        self.ask_service()
        self.send(self.signed_request(user, key))
        self.expect(USERAUTH_SUCCESS)
        return self

    def open_session(self, number=0, window=1 << 21, packet=1 << 15):
        self.say(CHANNEL_OPEN, "session", number, window, packet)
        reply = self.expect(OPEN_CONFIRMATION)
        assert reply.u32() == number
        return reply.u32(), reply.u32(), reply.u32()

    def output(self):
        """What the one session there is writes, until its channel closes."""
        got = b""
        while True:
            kind, r = self.expect(CHANNEL_DATA, EXTENDED_DATA,
                                  CHANNEL_REQUEST, CHANNEL_CLOSE)
            if kind == CHANNEL_CLOSE:
                return got
            if kind == CHANNEL_DATA:
                r.u32()
                got += r.string()

    # ---- server: what clients want -------------------------------------

    def accept_user(self, method="none"):
        """Lets anybody in."""
        self.expect(SERVICE_REQUEST)
        self.say(SERVICE_ACCEPT, "ssh-userauth")
        self.expect(USERAUTH_REQUEST)
        self.say(USERAUTH_SUCCESS)

    def accept_session(self, window=1 << 21, packet=1 << 15):
        """The client's channel number, when its command has begun."""
        opened = self.expect(CHANNEL_OPEN)
        opened.string()
        number = opened.u32()
        self.say(OPEN_CONFIRMATION, number, 0, window, packet)
        while True:
            request = self.expect(CHANNEL_REQUEST)
            request.u32()
            what, reply = request.text(), request.bool()
            if reply:
                self.say(CHANNEL_SUCCESS, number)
            if what in ("exec", "shell", "subsystem"):
                return number


def connect(server, **kw):
    return Wire(socket.create_connection(("127.0.0.1", server.port), 10),
                **kw)


class FakeServer:
    """A server that does what script(wire) says with each connection; has
    the attributes that harness.Client wants of a server."""

    def __init__(self, directory, keys, script, **kw):
        self.keys, self.script, self.options = keys, script, kw
        self.host = Host()
        self.errors, self.connections = [], 0
        self.known_hosts = directory / "fake-known-hosts"
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        while True:
            self.port = free_port()
            try:
                self.listener.bind(("127.0.0.1", self.port))
                break
            except OSError:
                continue
        self.listener.listen(4)
        self.write_known_hosts("ssh-ed25519", self.host.blob)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def write_known_hosts(self, name, blob):
        import base64
        self.known_hosts.write_text(
            f"[127.0.0.1]:{self.port} {name} "
            f"{base64.b64encode(blob).decode()}\n")

    def _serve(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            wire = Wire(sock, server=True, **self.options)
            try:
                self.script(wire)
            except (Closed, TimeoutError):
                pass
            except Exception as e:  # told in the test's thread
                self.errors.append(e)
            finally:
                sock.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(LONG)
        if kind is None and self.errors:
            raise self.errors[0]


@contextlib.contextmanager
def fake_servers(directory, keys):
    """make(script, **options): a server that runs script(wire) for each
    connection. At the end all stop, and the error of a script is raised."""
    made = []

    def make(script, **options):
        made.append(FakeServer(directory, keys, script, **options))
        return made[-1]

    yield make
    for one in made:
        one.__exit__(None)
