# SPDX-License-Identifier: ISC
"""Known attacks on SSH: each test fails if the defence is taken away."""

import os
import re
import select
import struct
import time

import ownetc
import pytest
from rawssh import (BANNER, DEBUG, IGNORE, KEXINIT, NEWKEYS, PING,
                    STRICT_CLIENT, STRICT_SERVER, FakeServer, Proxy, Raw,
                    kexinit, string)

import harness
from harness import IS_ROOT, LONG, ME, MIB, SLOW, Client

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")


class Through:
    """A server as seen through a proxy or a fake: for Client."""

    def __init__(self, port, like, tmp_path):
        self.port, self.keys = port, like.keys
        self.known_hosts = tmp_path / "known_hosts"
        self.known_hosts.write_text(re.sub(
            r"(?m)^\S+", f"[127.0.0.1]:{port}",
            like.known_hosts.read_text()))


def ends(sock):
    """True when the peer closes in time. Nothing is read."""
    poll = select.poll()
    poll.register(sock, select.POLLRDHUP)
    return bool(poll.poll(LONG * 1000))


# ---- Terrapin, CVE-2023-48795 ------------------------------------------

@pytest.mark.parametrize("injected", [
    bytes([IGNORE]) + string(b""),
    bytes([DEBUG, 0]) + string(b"") + string(b""),
    bytes([PING]) + string(b""),
], ids=["ignore", "debug", "ping"])
@pytest.mark.parametrize("late", [False, True], ids=["at-once", "late"])
@pytest.mark.parametrize("victim", ["c", "s"])
def test_terrapin_message_in_the_first_exchange(sshd, tmp_path, victim, late,
                                                injected):
    """A message put before NEWKEYS shifts the sequence numbers; under strict
    key exchange the victim hangs up because of this message, be the rest
    there already or not: the other side is told in both cases."""
    sender = "s" if victim == "c" else "c"

    def tamper(direction, payload):
        if direction == sender and payload[0] == NEWKEYS:
            yield injected
            if late:
                assert ends(proxy.peers[victim])
        yield payload

    with Proxy(sshd.port, tamper) as proxy:
        client = Client("hpn", Through(proxy.port, sshd, tmp_path),
                        log_level="INFO")
        done = client.ssh("true")
    # not: that the authentication code of a later packet is wrong
    assert done.rc == 255 and "protocol error" in done.errors, done


def test_terrapin_attack(sshd, tmp_path):
    """The attack itself: one message is put in before NEWKEYS, and the first
    one after it, EXT_INFO, is taken away; all sequence numbers agree again.
    ChaCha20-Poly1305 takes its nonces from them."""
    taken = []

    class Attacker(Proxy):
        def pass_on(self, name, end, chunk):
            if name == "s" and not end[3] and not taken:
                taken.append(chunk)
                return
            super().pass_on(name, end, chunk)

        def relay_rest(self, name, source, sink):
            if name == "s" and not taken:
                taken.append(source.buffer)
            else:
                sink.pass_on(source.buffer)

    def tamper(direction, payload):
        if direction == "s" and payload[0] == NEWKEYS:
            return [bytes([IGNORE]) + string(b""), payload]
        return [payload]

    with Attacker(sshd.port, tamper) as proxy:
        client = Client("hpn", Through(proxy.port, sshd, tmp_path))
        done = client.ssh("echo reached", options=[
            "Ciphers=chacha20-poly1305@openssh.com"])
    assert done.rc == 255 and done.out == b"", done
    assert NEWKEYS in proxy.seen["s"]  # behind what was put in


def test_terrapin_first_message_must_be_kexinit(sshd):
    raw = Raw.connect(sshd.port)
    raw.send(BANNER)
    raw.put(bytes([IGNORE]) + string(b"x"))
    raw.put(kexinit(STRICT_CLIENT, "ext-info-c"))
    assert raw.ends()
    raw.close()


def test_strict_key_exchange_is_offered(sshd):
    raw = Raw.connect(sshd.port)
    raw.send(BANNER)
    assert raw.line().startswith(b"SSH-2.0-")
    assert STRICT_SERVER.encode() in raw.get()
    raw.close()


# ---- the flood of PINGs before authentication, CVE-2025-26466 ----------

def flood(raw, total=48 * MIB, size=16):
    """Sends PINGs and reads nothing, until that many bytes are gone, the
    peer has closed, or takes no more for long. True if the peer closed."""
    from rawssh import packet
    one = packet(bytes([PING]) + string(bytes(size)))
    block = one * (65536 // len(one))
    sent = 0
    try:
        while sent < total:
            raw.send(block)
            sent += len(block)
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return False


@pytest.mark.parametrize("pseudo", [[STRICT_CLIENT, "ext-info-c"],
                                    ["ext-info-c"]], ids=["strict", "plain"])
def test_ping_flood_to_the_server(make_server, pseudo):
    server = make_server()
    raw = Raw.connect(server.port)
    raw.send(BANNER)
    raw.line()
    assert raw.get()[0] == KEXINIT
    before = set(server.connections())
    usual = sum(map(harness.rss_kib, before))
    raw.put(kexinit(*pseudo))
    closed = flood(raw)
    grown = sum(map(harness.rss_kib, server.connections())) - usual
    assert grown < 16 * 1024, f"{grown} KiB for PINGs"
    assert closed, "a PING has no place before there are keys"
    raw.close()
    assert server.alive()


def test_ping_flood_to_the_client(sshd, tmp_path, background):
    flooded = []

    def behave(raw):
        raw.send(BANNER)
        raw.line()
        raw.put(kexinit("ext-info-s", STRICT_SERVER))
        flooded.append(flood(raw))

    with FakeServer(behave) as fake:
        client = Client("hpn", Through(fake.port, sshd, tmp_path))
        process = background(client.ssh_args() + ["true"])
        most = 0
        end = time.monotonic() + LONG
        while process.poll() is None and not flooded \
                and time.monotonic() < end:
            most = max(most, harness.rss_kib(process.pid))
            time.sleep(0.02)
        assert process.wait(LONG) == 255
        assert harness.wait_for(lambda: flooded)
    assert flooded == [True], "a PING has no place before there are keys"
    assert most < (64 if SLOW == 1 else 400) * 1024, f"{most} KiB"


# ---- confusion about the host key, CVE-2025-26465 ----------------------

@pytest.fixture
def with_other_key(sshd, keys, tmp_path):
    """A client whose known_hosts has another key of the server's types."""
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text("".join(
        f"[127.0.0.1]:{sshd.port} "
        + " ".join(keys.public(f"{kind}-other").split()[:2]) + "\n"
        for kind in sshd.host_keys))
    return Client("hpn", sshd, known_hosts=known_hosts)


@pytest.mark.parametrize("strict", ["yes", "no", "accept-new", "ask"])
def test_changed_host_key(with_other_key, strict):
    """Refused; with StrictHostKeyChecking=no it goes on, but without
    anything that a false server could use."""
    done = with_other_key.ssh(
        "echo reached", options=[f"StrictHostKeyChecking={strict}"])
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED!" in done.errors
    if strict == "no":
        assert done.out in (b"", b"reached\n")
    else:
        assert done.rc == 255 and done.out == b"", done
        assert "Host key verification failed." in done.errors


def test_revoked_host_key(sshd, keys, tmp_path):
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(sshd.known_hosts.read_text() + "".join(
        "@revoked * " + " ".join(keys.public(f"{k}-host").split()[:2]) + "\n"
        for k in sshd.host_keys))
    client = Client("hpn", sshd, known_hosts=known_hosts)
    for strict in ("yes", "no"):
        done = client.ssh("echo reached",
                          options=[f"StrictHostKeyChecking={strict}"])
        assert done.rc == 255 and done.out == b"", done


@pytest.mark.parametrize("trouble", ["missing", "garbage", "directory",
                                     "endless-line"])
def test_unusable_known_hosts_never_means_yes(sshd, tmp_path, trouble):
    """An error while looking for the key is not an answer."""
    path = tmp_path / "known_hosts"
    if trouble == "garbage":
        path.write_bytes(b"[127.0.0.1]:%d ssh-ed25519 AAAA\n" % sshd.port
                         + os.urandom(5000))
    elif trouble == "directory":
        path.mkdir()
    elif trouble == "endless-line":
        path.write_bytes(b"[127.0.0.1]:%d ssh-ed25519 " % sshd.port
                         + b"A" * (3 * MIB))
    client = Client("hpn", sshd, known_hosts=path)
    done = client.ssh("echo reached")
    assert done.rc == 255 and done.out == b"", done
    assert "Host key verification failed." in done.errors


def test_memory_limit_never_means_yes(with_other_key):
    """However little memory there is, a wrong key is never taken."""
    import resource
    for mib in (12, 16, 20, 24, 32, 48):
        if SLOW > 1:
            pytest.skip("the sanitizer maps more memory than any limit")
        done = with_other_key.ssh(
            "echo reached", preexec=lambda: resource.setrlimit(
                resource.RLIMIT_AS, (mib * MIB, mib * MIB)))
        assert done.rc != 0 and done.out == b"", done


# ---- who has an account ------------------------------------------------

own = ownetc.own


def attempt(server, user, method, keys):
    """Seconds until a failure, and what the failure said."""
    import logging
    import paramiko
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    transport = paramiko.Transport(("127.0.0.1", server.port))
    try:
        transport.start_client(timeout=LONG)
        began = time.monotonic()
        with pytest.raises(paramiko.SSHException) as failure:
            if method == "password":
                transport.auth_password(user, "wrong password",
                                        fallback=False)
            else:
                transport.auth_publickey(user, keys)
        said = getattr(failure.value, "allowed_types", str(failure.value))
        return time.monotonic() - began, said
    finally:
        transport.close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["password", "publickey"])
def test_user_names_can_not_be_found_out(make_server, request, keys, method):
    """By the words or the time of a refusal. The accounts that decide how long
    a hash takes are the test's own."""
    paramiko = pytest.importorskip("paramiko")
    config = "PasswordAuthentication yes\nMaxStartups 100\n"
    if IS_ROOT:
        own = request.getfixturevalue("own")
        real, server = ownetc.USER, own.server(config)
    else:
        real, server = ME, make_server(config, authorized=[])
    key = paramiko.RSAKey.from_private_key_file(str(keys.path("rsa")))
    names = [real, "nobody-of-that-name"]
    least = {name: [] for name in names}
    words = {name: set() for name in names}

    def differ():
        names.reverse()
        for name in names:
            seconds, said = attempt(server, name, method, key)
            least[name].append(seconds)
            words[name].add(str(said))
        a, b = map(min, least.values())
        return abs(a - b) >= max(0.020, 0.25 * max(a, b)) * SLOW

    def slower():
        """Whether the same one was the slower of nearly all pairs."""
        n = len(least[real])
        times = sum(a > b for a, b in zip(*least.values()))
        return max(times, n - times) > 0.75 * n

    # The least of a few, and of more if the machine was busy: what one of
    # them has to do and the other not is in each. On one that stays busy, the
    # least is chance; but then either is the slower of a pair as often.
    told = [differ() for _ in range(9)][-1]
    while told and len(least[real]) < 60:
        told = differ()
    assert words[real] == words["nobody-of-that-name"], words
    assert not (told and slower()), least


# ---- lengths that lie --------------------------------------------------

@pytest.mark.parametrize("hurt", [
    bytes([KEXINIT]),
    bytes([KEXINIT]) + bytes(15),
    bytes([KEXINIT]) + bytes(16) + struct.pack(">I", 0xffffffff),
    kexinit()[:-3],
    kexinit() + b"x",
    kexinit(kex="x" * 200_000),
    kexinit(kex=",".join(["none"] * 5000)),
    kexinit(kex="no-such-kex"),
    b"",
    bytes([250]),
    bytes([NEWKEYS]),
    bytes([50]) + string("root") + string("ssh-connection") + string("none"),
    bytes([90]) + string("session") + bytes(12),
], ids=lambda x: f"type{x[0] if x else 'less'}-{len(x)}")
def test_hurt_first_messages(make_server, hurt):
    """Each ends its connection only; the log has a line about it."""
    server = make_server()
    raw = Raw.connect(server.port)
    raw.send(BANNER)
    raw.line()
    raw.put(hurt)
    raw.put(hurt)
    assert raw.ends()
    raw.close()
    assert server.alive()
    assert "anitizer" not in server.log_text(), server.log_text()
    assert harness.have("hpn", "ssh")
    assert Client("hpn", server).ssh("exit 3").rc == 3


# ---- a limit on those who do not log in --------------------------------

def test_max_startups(make_server):
    server = make_server("MaxStartups 3\nPerSourceMaxStartups none\n"
                         "LoginGraceTime 30\n")
    waiting = [Raw.connect(server.port) for _ in range(3)]
    for raw in waiting:
        assert raw.line()
    late = Raw.connect(server.port)
    try:
        line = late.line()
    except ConnectionError:
        line = None
    assert line is None or b"SSH-2.0" not in line
    for raw in (*waiting, late):
        raw.close()
    assert harness.wait_for(
        lambda: Client("hpn", server).ssh("true").rc == 0)


def test_login_grace_time(make_server):
    """regreSSHion, CVE-2024-6387, was in the alarm of this limit; see also
    regress/signals.sh."""
    server = make_server("LoginGraceTime 1\n")
    waiting = [Raw.connect(server.port) for _ in range(5)]
    for raw in waiting:
        raw.send(BANNER)
        raw.line()
    for raw in waiting:
        assert raw.ends()
        raw.close()
    assert harness.wait_for(lambda: not server.connections())
    assert Client("hpn", server).ssh("true").rc == 0
