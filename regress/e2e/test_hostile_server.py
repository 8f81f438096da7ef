# SPDX-License-Identifier: ISC
"""hpnssh and a server that keeps no rule, with keys in use."""

import hashlib
import random
import re
import time

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_OPEN,
                     CHANNEL_REQUEST, CHANNEL_SUCCESS, DEBUG, DISCONNECT, ETM,
                     EXT_INFO, EXTENDED_DATA, GCM, GLOBAL_REQUEST, IGNORE,
                     KEX_INIT, KEX_REPLY, KEXINIT, NEWKEYS, OPEN_CONFIRMATION,
                     OPEN_FAILURE, PACKET_MAX, PING, REQUEST_SUCCESS,
                     SERVICE_ACCEPT, SERVICE_REQUEST, UNIMPLEMENTED,
                     USERAUTH_BANNER, USERAUTH_FAILURE,
                     USERAUTH_INFO_REQUEST, USERAUTH_PK_OK, USERAUTH_REQUEST,
                     SMALL_TALK, USERAUTH_SUCCESS, WINDOW_ADJUST, Host,
                     fake_servers, message, mpint, string, u32)
from terminal import Terminal

import harness
from harness import MIB, SLOW, Client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh"),
                                reason="hpnssh is not built")
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\x08\x7f\u202e"


@pytest.fixture
def fake(tmp_path, keys):
    """fake(script, **options): runs script(wire) for each connection."""
    with fake_servers(tmp_path, keys) as make:
        yield make


def visit(server, *command, options=("ConnectTimeout=10",),
          log_level="INFO", **kw):
    """hpnssh at that server; anything but a normal end fails the test."""
    done = Client("hpn", server, log_level=log_level).ssh(
        *(command or ("true",)), options=options, **kw)
    assert 0 <= done.rc <= 255, done  # no signal
    assert "anitizer" not in done.errors and "runtime error" not in \
        done.errors, done
    assert not set(done.err) - set(range(32, 127)) - set(b"\r\n\t"), done
    return done


def refused(done):
    lines = [line for line in done.errors.splitlines()
             if line and not line.startswith("** ")]
    assert done.rc == 255 and done.out == b"", done
    assert lines, done
    return done


def until_closed(wire):
    wire.drain()


# ---- strict key exchange, CVE-2023-48795 -------------------------------

@pytest.mark.parametrize("what", SMALL_TALK)
@pytest.mark.parametrize("where", ["kexinit", "reply", "newkeys"])
def test_strict_first_exchange_takes_nothing_else(fake, where, what):
    reached = []

    def script(w):
        w.identify()
        if where == "kexinit":
            w.send(SMALL_TALK[what])
        w.send_kexinit()
        w.read_kexinit()
        if where == "reply":
            w.send(SMALL_TALK[what])
        w.server_exchange(server.host)
        if where == "newkeys":
            w.send(SMALL_TALK[what])
        w.send_newkeys()
        w.read_newkeys()
        w.expect(SERVICE_REQUEST)
        reached.append(True)

    server = fake(script)
    assert "protocol error" in refused(visit(server)).errors
    assert not reached


@pytest.mark.parametrize("times, welcome", [(1, True), (4, True),
                                             (5, False)])
def test_new_keys_before_authentication(fake, times, welcome):
    """A server may want them, by its clock, while a user thinks of a
    password; not without end."""
    def script(w):
        w.handshake(server.host)
        w.expect(SERVICE_REQUEST)
        w.say(SERVICE_ACCEPT, "ssh-userauth")
        w.expect(USERAUTH_REQUEST)
        for _ in range(times):
            w.handshake(server.host)
        w.say(USERAUTH_SUCCESS)
        number = w.accept_session()
        w.say(CHANNEL_REQUEST, number, "exit-status", False, 7)
        w.say(CHANNEL_CLOSE, number)
        until_closed(w)

    server = fake(script)
    done = visit(server)
    if welcome:
        assert done.rc == 7, done
    else:
        assert "new keys before" in refused(done).errors, done


@pytest.mark.parametrize("cipher", [GCM, ETM])
@pytest.mark.parametrize("strict", [True, False])
def test_sequence_numbers(fake, cipher, strict):
    def script(w):
        w.handshake(server.host)
        w.accept_user()
        number = w.accept_session()
        w.say(CHANNEL_REQUEST, number, "exit-status", False, 7)
        w.say(CHANNEL_CLOSE, number)
        until_closed(w)

    server = fake(script, cipher=cipher, strict=strict)
    assert visit(server).rc == 7


def test_sequence_numbers_must_start_again(fake):
    """A server that agreed to strict key exchange and counts on."""
    def script(w):
        w.handshake(server.host)
        w.rx_seqnr = 0  # the client's do start again
        w.accept_user()
        w.say(PING, "")
        w.expect(193)
        raise AssertionError("the client took it")

    server = fake(script, cipher=ETM, reset=False)
    refused(visit(server))


# ---- host keys, CVE-2025-26465 -----------------------------------------

def rsa_host(alg="rsa-sha2-512"):
    private = rsa.generate_private_key(65537, 2048)
    numbers = private.public_key().public_numbers()
    host = Host()
    host.blob = string("ssh-rsa") + b"".join(
        mpint(n.to_bytes((n.bit_length() + 7) // 8, "big"))
        for n in (numbers.e, numbers.n))
    digest = {"rsa-sha2-512": hashes.SHA512, "rsa-sha2-256": hashes.SHA256,
              "ssh-rsa": hashes.SHA1}[alg]()
    host.sign = lambda data: string(alg) + string(
        private.sign(data, padding.PKCS1v15(), digest))
    return host


def short_rsa_host():
    """768 bits, which libraries do not take any more: by hand."""
    numbers = random.Random(1)

    def prime():
        while True:
            n = numbers.getrandbits(384) | 3 << 382 | 1
            if n % 65537 != 1 and pow(2, n - 1, n) == 1:
                return n

    p, q = prime(), prime()
    private = pow(65537, -1, (p - 1) * (q - 1))
    host = Host()
    host.blob = string("ssh-rsa") + mpint(b"\1\0\1") + mpint(
        (p * q).to_bytes(96, "big"))

    def sign(data):
        info = bytes.fromhex("3051300d060960864801650304020305000440")
        info += hashlib.sha512(data).digest()
        padded = b"\0\1" + b"\xff" * (93 - len(info)) + b"\0" + info
        signed = pow(int.from_bytes(padded, "big"), private, p * q)
        return string("rsa-sha2-512") + string(signed.to_bytes(96, "big"))

    host.sign = sign
    return host


def cut(host, n):
    host.blob = host.blob[:n]
    return host


def with_blob(blob):
    host = Host()
    host.blob = blob
    return host


def signing(change):
    """A host whose signature is change(host, digest)."""
    host = Host()
    right = host.sign
    host.sign = lambda digest: change(right, digest)
    return host


def wrong_inner_name(right, digest):
    return right(digest).replace(b"ssh-ed25519", b"ssh-ed25518")


WRONG_HOSTS = {
    # what the client has agreed to is ssh-ed25519 each time
    "empty-blob": lambda: with_blob(b""),
    "cut-blob": lambda: cut(Host(), 40),
    "name-only": lambda: with_blob(string("ssh-ed25519")),
    "short-key": lambda: with_blob(string("ssh-ed25519")
                                   + string(bytes(31))),
    "long-key": lambda: with_blob(string("ssh-ed25519") + string(bytes(33))),
    "zero-key": lambda: with_blob(string("ssh-ed25519") + string(bytes(32))),
    "huge-key": lambda: with_blob(string("ssh-ed25519")
                                  + string(bytes(200_000))),
    "trailing": lambda: with_blob(Host().blob + b"\0"),
    "lying-length": lambda: with_blob(u32(0xffffffff) + bytes(47)),
    "unknown-type": lambda: with_blob(string("ssh-none") + string(b"")),
    "certificate": lambda: with_blob(
        string("ssh-ed25519-cert-v01@openssh.com") + string(bytes(32))),
    "rsa-blob": lambda: rsa_host(),
    "rsa-sha1": lambda: rsa_host(alg="ssh-rsa"),
    "rsa-huge": lambda: with_blob(string("ssh-rsa") + mpint(b"\3")
                                  + mpint(b"\xff" * 30_000)),
    "rsa-tiny": lambda: with_blob(string("ssh-rsa") + mpint(b"\3")
                                  + mpint(b"\xff")),
    "empty-signature": lambda: signing(lambda right, d: b""),
    "signature-name-only": lambda: signing(
        lambda right, d: string("ssh-ed25519")),
    "signature-of-other-data": lambda: signing(
        lambda right, d: right(b"other")),
    "signature-other-name": lambda: signing(wrong_inner_name),
    "signature-trailing": lambda: signing(lambda right, d: right(d) + b"x"),
    "signature-cut": lambda: signing(lambda right, d: right(d)[:-1]),
    "signature-zero": lambda: signing(
        lambda right, d: string("ssh-ed25519") + string(bytes(64))),
    "signature-rsa-name": lambda: signing(
        lambda right, d: string("rsa-sha2-256") + right(d)[15:]),
}


@pytest.mark.parametrize("which", WRONG_HOSTS)
@pytest.mark.parametrize("checking", ["yes", "no"])
def test_host_key_that_is_none(fake, which, checking):
    """Whatever is wrong with key or signature, and whatever the user wants
    to have checked: no session, and nothing is noted in known_hosts."""
    host = WRONG_HOSTS[which]()
    reached = []

    def script(w):
        w.handshake(host)
        reached.append(w.expect(SERVICE_REQUEST))

    server = fake(script)
    if checking == "yes":
        # Even if it were the known one.
        server.write_known_hosts("ssh-ed25519", host.blob or b"x")
    else:
        server.known_hosts.write_text("")
    before = server.known_hosts.read_text()
    refused(visit(server, options=(f"StrictHostKeyChecking={checking}",
                                   "HostKeyAlgorithms=ssh-ed25519")))
    assert not reached and server.known_hosts.read_text() == before


@pytest.mark.parametrize("offered,host", [
    ("rsa-sha2-512", short_rsa_host),
    ("rsa-sha2-512", lambda: rsa_host(alg="rsa-sha2-256")),  # not agreed
    ("rsa-sha2-256", lambda: rsa_host(alg="rsa-sha2-512")),
    ("rsa-sha2-512", lambda: rsa_host(alg="ssh-rsa")),
    ("rsa-sha2-512", Host), ("ecdsa-sha2-nistp256", Host),
    ("ecdsa-sha2-nistp256", lambda: with_blob(
        string("ecdsa-sha2-nistp256") + string("nistp384")
        + string(b"\4" + bytes(96)))),
    ("ecdsa-sha2-nistp256", lambda: with_blob(
        string("ecdsa-sha2-nistp256") + string("nistp256")
        + string(b"\4" + bytes(64)))),               # not on the curve
    ("ecdsa-sha2-nistp256", lambda: with_blob(
        string("ecdsa-sha2-nistp256") + string("nistp256") + string(b"\0"))),
], ids=["short", "sha256", "sha512", "sha1", "ed25519-for-rsa",
        "ed25519-for-ecdsa", "curve", "off-curve", "infinity"])
def test_other_algorithm_than_agreed(fake, offered, host):
    host = host()
    reached = []

    def script(w):
        w.identify()
        w.send_kexinit(hostkey=offered)
        w.read_kexinit()
        w.server_exchange(host)
        w.send_newkeys()
        w.read_newkeys()
        reached.append(w.expect(SERVICE_REQUEST))

    server = fake(script)
    server.known_hosts.write_text("")
    refused(visit(server, options=("StrictHostKeyChecking=no",
                                   f"HostKeyAlgorithms={offered}")))
    assert not reached and server.known_hosts.read_text() == ""


def test_the_right_rsa_key_is_taken(fake):
    """The tests above fail for the reason that they name."""
    host, reached = rsa_host(), []

    def script(w):
        w.identify()
        w.send_kexinit(hostkey="rsa-sha2-512")
        w.read_kexinit()
        w.server_exchange(host)
        w.send_newkeys()
        w.read_newkeys()
        w.accept_user()
        reached.append(True)

    server = fake(script)
    server.known_hosts.write_text("")
    visit(server, options=("StrictHostKeyChecking=accept-new",))
    assert reached and "ssh-rsa" in server.known_hosts.read_text()


@pytest.mark.parametrize("checking", ["yes", "no"])
def test_other_host_key_in_a_rekey(fake, checking):
    """The machine in the middle that comes later."""
    other, reached = Host(), []

    def script(w):
        w.handshake(server.host)
        w.accept_user()
        w.accept_session()
        w.handshake(other)
        w.say(CHANNEL_DATA, 0, "false")
        w.expect(CHANNEL_DATA)
        reached.append(True)

    server = fake(script)
    done = visit(server, "cat", stdin=b"", options=(
        f"StrictHostKeyChecking={checking}",))
    assert done.rc == 255 and done.out == b"" and not reached, done
    assert "Host key verification failed." in done.errors


def test_name_service_does_not_overrule(fake):
    """VerifyHostKeyDNS and the like are no way around."""
    server = fake(lambda w: w.handshake(Host()))
    done = visit(server, options=("VerifyHostKeyDNS=yes",))
    assert done.rc == 255 and done.out == b"", done


# ---- messages out of turn ----------------------------------------------

BEFORE_KEYS = {
    "success": message(USERAUTH_SUCCESS),
    "accept": message(SERVICE_ACCEPT, "ssh-userauth"),
    "newkeys": message(NEWKEYS), "ext-info": message(EXT_INFO, 0),
    "reply": message(KEX_REPLY, string(b""), string(b""), string(b"")),
    "banner": message(USERAUTH_BANNER, "hello", ""),
    "open": message(CHANNEL_OPEN, "session", 0, 100, 100),
    "data": message(CHANNEL_DATA, 0, "x"), "init": message(KEX_INIT, "x"),
    "group": message(31, string(b"\5"), string(b"\2")), "empty": b"",
    "zero": b"\0", "kexinit-cut": message(KEXINIT, bytes(16), u32(99)),
    "unknown": b"\xff",
}


@pytest.mark.parametrize("what", BEFORE_KEYS)
@pytest.mark.parametrize("when", ["first", "after-kexinit"])
def test_before_any_key(fake, what, when):
    def script(w):
        w.identify()
        if when != "first":
            w.send_kexinit()
            w.read_kexinit()
        w.send(BEFORE_KEYS[what])
        until_closed(w)

    refused(visit(fake(script, strict=False)))


@pytest.mark.parametrize("value", [b"", bytes(31), bytes(32), bytes(33),
                                   b"\1" + bytes(31), bytes(100_000)],
                         ids=lambda v: f"{len(v)}-{v[:1].hex()}")
def test_value_that_is_none(fake, value):
    """Among them those that make the secret zero."""
    def script(w):
        w.identify()
        w.send_kexinit()
        w.read_kexinit()
        w.expect(KEX_INIT)
        w.say(KEX_REPLY, string(server.host.blob), string(value),
              string(server.host.sign(bytes(32))))
        until_closed(w)

    server = fake(script)
    refused(visit(server))


@pytest.mark.parametrize("lists", [
    dict(kex="no-such"), dict(cipher="no-such"), dict(hostkey="no-such"),
    dict(cipher="aes128-ctr", mac="no-such"), dict(compression="no-such"),
    dict(kex=""), dict(cipher="none"), dict(cipher="aes128-ctr", mac="none"),
    dict(kex="x" * 100_000), dict(kex=",".join("k%d" % n
                                               for n in range(20_000))),
    dict(kex="\x1b[31m"),
], ids=lambda d: f"{list(d)[-1]}-{len(list(d.values())[-1])}")
def test_nothing_in_common(fake, lists):
    def script(w):
        w.identify()
        w.send_kexinit(**lists)
        until_closed(w)

    refused(visit(fake(script)))


@pytest.mark.parametrize("hurt", [
    [USERAUTH_SUCCESS], [USERAUTH_FAILURE, "publickey", False],
    [SERVICE_REQUEST, "ssh-userauth"], [USERAUTH_PK_OK, "a", "b"],
    [USERAUTH_INFO_REQUEST, "", "", "", 0], [USERAUTH_REQUEST, "a", "b", "c"],
    [CHANNEL_OPEN, "session", 0, 1000, 1000], [CHANNEL_DATA, 0, "x"],
    [REQUEST_SUCCESS], [NEWKEYS], [KEX_REPLY, "", "", ""],
    [EXT_INFO, 0xffffffff], [EXT_INFO, 1, "server-sig-algs"],
    [EXT_INFO, 1, "server-sig-algs", string(b"a\0b")],
    [EXT_INFO, 1, "server-sig-algs", string(b"a" * 200_000)],
], ids=lambda h: f"{h[0]}-{len(message(*h))}")
def test_before_the_service(fake, hurt):
    """USERAUTH_SUCCESS before anything was asked is one of them. Messages of
    the connection protocol may also be told to be unknown."""
    def script(w):
        w.handshake(server.host)
        w.say(*hurt)
        w.expect(SERVICE_REQUEST)
        if hurt[0] >= 80:
            w.say(DISCONNECT, 2, "enough", "")
        until_closed(w)

    server = fake(script)
    assert refused(visit(server)).seconds < 30


def wait_for_request(w, host):
    w.handshake(host)
    w.expect(SERVICE_REQUEST)
    w.say(SERVICE_ACCEPT, "ssh-userauth")
    w.expect(USERAUTH_REQUEST)


@pytest.mark.parametrize("hurt", [
    [USERAUTH_FAILURE], [USERAUTH_FAILURE, u32(0xffffffff)],
    [USERAUTH_FAILURE, "x" * 100_000, False], [USERAUTH_FAILURE, "", True],
    [USERAUTH_FAILURE, string(b"a\0b"), False], [SERVICE_ACCEPT, "x"],
    [USERAUTH_BANNER], [USERAUTH_BANNER, u32(77)],
    [USERAUTH_REQUEST, "a", "b", "c"], [NEWKEYS], [CHANNEL_DATA, 0, ""],
    [OPEN_CONFIRMATION, 0, 0, 0, 0], [REQUEST_SUCCESS],
], ids=lambda h: f"{h[0]}-{len(message(*h))}")
def test_instead_of_an_answer(fake, hurt):
    def script(w):
        wait_for_request(w, server.host)
        w.say(*hurt)
        w.say(DISCONNECT, 2, "enough", "")
        until_closed(w)

    server = fake(script)
    refused(visit(server))


def test_endless_failures(fake):
    """Each refusal is answered with the next try until there is none."""
    asked = []

    def script(w):
        wait_for_request(w, server.host)
        while True:
            w.say(USERAUTH_FAILURE, "publickey,password", False)
            asked.append(w.expect(USERAUTH_REQUEST))

    server = fake(script)
    done = refused(visit(server))
    assert "Permission denied (publickey,password)." in done.errors
    assert len(asked) < 10


@pytest.mark.parametrize("hurt", [
    [USERAUTH_PK_OK], [USERAUTH_PK_OK, "ssh-ed25519", string(bytes(51))],
    [USERAUTH_PK_OK, "rsa-sha2-256", string(bytes(300))],
    [USERAUTH_PK_OK, u32(0xffffffff)], [61, 0], [62], [79],
], ids=lambda h: f"{h[0]}-{len(message(*h))}")
def test_wrong_pk_ok(fake, hurt):
    """A key is only signed with if it is the one that was asked about."""
    signed = []

    def script(w):
        wait_for_request(w, server.host)
        w.say(USERAUTH_FAILURE, "publickey", False)
        w.expect(USERAUTH_REQUEST)
        w.say(*hurt)
        kind, r = w.expect(USERAUTH_REQUEST, UNIMPLEMENTED)
        if kind == USERAUTH_REQUEST:
            r.string(), r.string(), r.string()
            signed.append(r.bool())
        w.say(DISCONNECT, 2, "enough", "")

    server = fake(script)
    done = visit(server)
    assert done.rc == 255 and True not in signed, done


# ---- what a server makes the user see ----------------------------------

def test_texts_are_harmless(fake):
    """Banner and disconnect text; `visit` looks at each byte."""
    def script(w):
        w.lines = []
        w.raw(b"hello \x1b[31m\r\n")
        wait_for_request(w, server.host)
        w.say(USERAUTH_BANNER, "line\n" + ESCAPES + "\x00gnp.exe\n", "")
        w.say(DEBUG, True, ESCAPES, "")
        w.say(DISCONNECT, 2, ESCAPES + "bye", "")
        until_closed(w)

    server = fake(script)
    for level in ("INFO", "DEBUG3"):
        done = visit(server, log_level=level)
        assert done.rc == 255 and "bye" in done.errors, done
        assert "line" in done.errors


@pytest.mark.parametrize("echo", [True, False])
def test_prompts_are_harmless(fake, echo):
    answers = []

    def script(w):
        wait_for_request(w, server.host)
        w.say(USERAUTH_FAILURE, "keyboard-interactive", False)
        w.expect(USERAUTH_REQUEST)
        w.say(USERAUTH_INFO_REQUEST, "name" + ESCAPES, "text" + ESCAPES, "",
              1, "Prompt" + ESCAPES + "> ", echo)
        answers.append(w.expect(61).rest())
        w.say(USERAUTH_FAILURE, "", False)
        until_closed(w)

    server = fake(script)
    args = [a for a in Client("hpn", server, key=None, log_level="INFO",
                              options=["BatchMode=no",
                                       "PubkeyAuthentication=no"]).ssh_args()
            if a != "BatchMode=yes"]
    args = [a for i, a in enumerate(args)
            if not (a == "-o" and args[i + 1] == "-o")]
    with Terminal([*args, "true"]) as terminal:
        terminal.expect("> ")
        terminal.line("secret")
        assert terminal.wait() == 255
    shown = terminal.shown
    assert b"Prompt" in shown and b"text" in shown and b"name" in shown
    assert not set(shown) - set(range(32, 127)) - set(b"\r\n\t"), shown
    assert (b"secret" in shown) == echo
    assert answers == [u32(1) + string("secret")]


def test_endless_questions(fake):
    """A dialogue that never ends, without a single prompt."""
    def script(w):
        wait_for_request(w, server.host)
        w.say(USERAUTH_FAILURE, "keyboard-interactive", False)
        w.expect(USERAUTH_REQUEST)
        for _ in range(10_000):
            w.say(USERAUTH_INFO_REQUEST, "", "", "", 0)
        until_closed(w)

    server = fake(script)
    refused(visit(server, options=("BatchMode=no",)))


def test_large_and_many_banners(fake):
    """Shown, but no more than a screenful of screenfuls."""
    def script(w):
        wait_for_request(w, server.host)
        for _ in range(200):
            w.say(USERAUTH_BANNER, "x" * 200_000, "")
        w.say(DISCONNECT, 2, "bye", "")
        until_closed(w)

    server = fake(script)
    done = visit(server)
    assert done.rc == 255
    assert 4 * 200_000 <= len(done.err) < 2 * MIB


# ---- channels ----------------------------------------------------------

def in_session(server_of, act):
    """A script that lets the client in, and then act(wire, number)."""
    def script(w):
        w.handshake(server_of().host)
        w.accept_user()
        number = w.accept_session()
        act(w, number)
        until_closed(w)
    return script


@pytest.mark.parametrize("hurt", [
    [CHANNEL_DATA, 1, "x"], [CHANNEL_DATA, 0xffffffff, "x"],
    [EXTENDED_DATA, 7, 1, "x"], [WINDOW_ADJUST, 5, 5], [CHANNEL_CLOSE, 9],
    [OPEN_CONFIRMATION, 0, 0, 0, 0], [OPEN_FAILURE, 0, 1, "", ""],
    [CHANNEL_SUCCESS, 0], [REQUEST_SUCCESS], [CHANNEL_DATA, 0, u32(1 << 31)],
    [WINDOW_ADJUST, 0, 0xffffffff], [NEWKEYS], [USERAUTH_FAILURE, "", False],
], ids=lambda h: f"{h[0]}-{message(*h).hex()[2:14]}")
def test_channel_messages(fake, hurt):
    def act(w, number):
        w.say(*hurt)
        if hurt[0] == USERAUTH_FAILURE:
            w.expect(UNIMPLEMENTED)
            w.say(DISCONNECT, 2, "enough", "")

    server = fake(in_session(lambda: server, act))
    done = visit(server)
    assert done.rc == 255 and done.errors, done


@pytest.mark.parametrize("kind,fields", [
    ("session", []), ("x11", ["127.0.0.1", 22]),
    ("direct-tcpip", ["127.0.0.1", 22, "127.0.0.1", 22]),
    ("forwarded-tcpip", ["127.0.0.1", 22, "127.0.0.1", 22]),
    ("forwarded-streamlocal@openssh.com", ["/path", ""]),
    ("auth-agent@openssh.com", []), ("agent-connect", []),
    ("tun@openssh.com", [1, 0]), ("no-such", [])])
def test_server_opens_nothing(fake, kind, fields):
    """A client that forwards nothing has nothing to be opened."""
    def act(w, number):
        w.say(CHANNEL_OPEN, kind, 5, 1000, 1000, *fields)
        w.expect(OPEN_FAILURE)
        w.say(CHANNEL_REQUEST, number, "exit-status", False, 9)
        w.say(CHANNEL_CLOSE, number)

    server = fake(in_session(lambda: server, act))
    assert visit(server).rc == 9


def test_window_overrun(fake):
    """More than the client has asked for: it hangs up, and never holds it."""
    def act(w, number):
        block = message(CHANNEL_DATA, number, string(bytes(1 << 15)))
        for _ in range(64 * MIB >> 15):
            w.send(block)

    server = fake(in_session(lambda: server, act))
    with open("/dev/null", "wb") as out:
        process = harness.start(
            ["sh", "-c", '"$@" | sleep 4', "sh",
             *Client("hpn", server).ssh_args(), "true"], stdout=out,
            stderr=out)
        most, end = 0, time.monotonic() + 10 * SLOW
        while process.poll() is None and time.monotonic() < end:
            for pid in harness.descendants(process.pid):
                most = max(most, harness.rss_kib(pid))
            time.sleep(0.02)
        harness.kill_group(process)
    assert most < 48 * 1024 * (8 if SLOW > 1 else 1)


@pytest.mark.parametrize("what", [
    message(GLOBAL_REQUEST, "x" * 4000, True), message(PING, "x" * 4000),
    message(CHANNEL_OPEN, "x", 1, 1, 1)], ids=["global", "ping", "open"])
def test_floods(fake, background, what):
    """What must be answered does not pile up where nobody reads."""
    def act(w, number):
        block = b""
        w.sock.settimeout(1.5)
        for _ in range(24 * MIB // (max(len(what), 1000) * 64)):
            block = b"".join(w.seal(what) for _ in range(64))
            w.sock.sendall(block)

    def script(w):
        in_session(lambda: server, act)(w)

    server = fake(script)
    process = background(Client("hpn", server).ssh_args() + ["true"])
    most, end = 0, time.monotonic() + 8 * SLOW
    while process.poll() is None and time.monotonic() < end:
        most = max(most, harness.rss_kib(process.pid))
        time.sleep(0.02)
    assert most < 48 * 1024 * (8 if SLOW > 1 else 1)


@pytest.mark.parametrize("state", ["clear", "keys"])
def test_largest_packet(fake, state):
    """256 KiB are taken, one block more is not."""
    for extra in (0, 16):
        reached = []

        def script(w):
            if state == "keys":
                wait_for_request(w, server.host)
            else:
                w.identify()
            size = PACKET_MAX - (4 if state == "clear" else 0) - 9 + extra
            w.send(message(IGNORE, string(bytes(size - 5))))
            if state == "keys":
                w.say(PING, "reached")
                w.expect(193)
            else:
                w.send_kexinit()
                w.read_kexinit()
                w.expect(KEX_INIT)
            reached.append(True)
            w.say(DISCONNECT, 2, "enough", "")
            until_closed(w)

        server = fake(script, strict=False)
        refused(visit(server))
        assert bool(reached) == (extra == 0)


# ---- servers that stop -------------------------------------------------

@pytest.mark.parametrize("stage", ["kexinit", "reply", "newkeys"])
def test_server_that_stops_before_keys(fake, stage):
    """ConnectTimeout reaches until there are keys."""
    def script(w):
        w.identify()
        if stage != "kexinit":
            w.send_kexinit()
            w.read_kexinit()
        if stage == "newkeys":
            w.server_exchange(server.host)
        w.raw(u32(28) + b"\x06" * 9)
        until_closed(w)

    server = fake(script)
    began = time.monotonic()
    done = refused(visit(server, options=("ConnectTimeout=1",)))
    assert time.monotonic() - began < 30
    assert re.search("timed out|Timeout", done.errors), done


def test_server_that_stops_in_a_session(fake):
    """ServerAlive* notices, in the middle of a packet too."""
    def act(w, number):
        w.raw(u32(48) + b"x" * 20)

    server = fake(in_session(lambda: server, act))
    done = refused(visit(server, options=("ServerAliveInterval=1",
                                          "ServerAliveCountMax=1")))
    assert "Timeout, server 127.0.0.1 not responding." in done.errors


def test_questions_before_the_end(fake):
    """As many as ServerAliveCountMax says, one a second, and no more."""
    asked = {}

    def act(w, number):
        w.raw(u32(48) + b"x" * 20)

    for most in (1, 4):
        server = fake(in_session(lambda: server, act))
        began = time.monotonic()
        refused(visit(server, options=("ServerAliveInterval=1",
                                       f"ServerAliveCountMax={most}")))
        asked[most] = time.monotonic() - began
    # 2 s and 5 s; the default, 3, would take 4 s for both.
    assert asked[4] - asked[1] > 2.2, asked
    assert asked[4] > 4.5, asked


def test_server_that_stops_in_a_rekey(fake):
    """A server that begins new keys and never goes on holds nobody for
    ever."""
    def act(w, number):
        w.send_kexinit()

    server = fake(in_session(lambda: server, act))
    done = refused(visit(server, options=("ServerAliveInterval=1",
                                          "ServerAliveCountMax=1")))
    assert "not responding" in done.errors


def test_end_without_a_status(fake):
    """A channel that is closed without an exit status is no success."""
    server = fake(in_session(lambda: server, lambda w, number: w.say(
        CHANNEL_CLOSE, number)))
    assert visit(server).rc == 255


def test_exit_status_twice_and_odd(fake):
    def act(w, number):
        w.say(CHANNEL_REQUEST, number, "exit-status", False, 3)
        w.say(CHANNEL_REQUEST, number, "exit-status", False, 0x1ff)
        w.say(CHANNEL_REQUEST, number, "exit-signal", False,
              "X" * 1000 + ESCAPES, True, ESCAPES, "")
        w.say(CHANNEL_CLOSE, number)

    server = fake(in_session(lambda: server, act))
    visit(server)


def test_ordinary_server_still_serves(fake):
    def act(w, number):
        w.say(CHANNEL_DATA, number, "hello")
        w.say(CHANNEL_REQUEST, number, "exit-status", False, 3)
        w.say(CHANNEL_CLOSE, number)

    server = fake(in_session(lambda: server, act))
    done = visit(server)
    assert (done.rc, done.out) == (3, b"hello")
