# SPDX-License-Identifier: ISC
"""The cipher none: only for those who ask, only after authentication, never
with a terminal; with peers that follow HPN-SSH 18's rules, ours and none."""

import hashlib
import hmac
import os
import select
import subprocess
import time

import pytest

import harness
import sshwire
from harness import LONG, ME, MIB, Client, hpn, run, start
from sshwire import (CHANNEL_DATA, CHANNEL_FAILURE, CHANNEL_OPEN,
                     CHANNEL_REQUEST, CHANNEL_SUCCESS, GCM,
                     OPEN_CONFIRMATION, CtrEtm, FakeServer, Wire,
                     connect, load_key, string)
from terminal import Terminal

pytestmark = pytest.mark.skipif(not harness.have("hpn", "ssh", "sshd"),
                                reason="hpnssh and hpnsshd are not built")
ALLOWED = "NoneEnabled yes\nNoneMacEnabled yes\nLogLevel VERBOSE"
WANTED = ("NoneEnabled=yes", "NoneSwitch=yes")


class NoneEtm(CtrEtm):
    def __init__(self, mac_key):
        self.mac_key = mac_key

    def seal(self, clear, seqnr):
        return clear + self._mac(clear, seqnr)

    def open(self, length, body, seqnr):
        data, tag = body[:-32], body[-32:]
        assert hmac.compare_digest(tag, self._mac(length + data, seqnr))
        return data


class NoneWire(Wire):
    """As HPN-SSH 18: the client offers nothing but none in the rekey, the
    server offers it behind the others from the beginning."""

    def kexinit(self, cipher=None, **kw):
        if self.server:
            cipher = f"{GCM},none"
        return super().kexinit(cipher=cipher, **kw)

    def derive(self, shared, digest):
        if self.cipher != "none":
            return super().derive(shared, digest)
        keys = [NoneEtm(hashlib.sha256(shared + digest + letter
                                       + self.session_id).digest())
                for letter in (b"E", b"F")]
        return tuple(reversed(keys)) if self.server else tuple(keys)


def until_told(args, text):
    """A session that lasts until the client has told this: how it ended."""
    process = start([*args, "cat"], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said, end = b"", time.monotonic() + LONG
    while text.encode() not in said and select.select(
            [process.stderr], [], [], max(0, end - time.monotonic()))[0]:
        chunk = os.read(process.stderr.fileno(), 4096)
        if not chunk:
            break
        said += chunk
    try:
        out, err = process.communicate(b"fine\n", LONG)
    finally:
        harness.kill_group(process)
    done = harness.Result(args, process.returncode, out, said + err, 0).ok()
    assert text in done.errors and out == b"fine\n", done
    return done


def none_wire(server):
    wire = connect(server)
    wire.__class__ = NoneWire
    return wire


def logged_in(server):
    key = load_key(server.keys.path("ed25519"))
    return none_wire(server).login(ME, key)


def pty_request(channel):
    return (channel, "pty-req", True, "xterm", 80, 24, 0, 0, "")


def ask(wire, *fields):
    wire.say(CHANNEL_REQUEST, *fields)
    return wire.expect(CHANNEL_SUCCESS, CHANNEL_FAILURE)[0]


@pytest.fixture
def server(shared_servers):
    return shared_servers("hpn", ALLOWED)


@pytest.fixture
def client(server):
    return Client("hpn", server, log_level="VERBOSE")


# ---- the server, with a client of HPN-SSH 18 -------------------------------

def test_server_serves_in_clear_and_refuses_a_terminal(server):
    wire = logged_in(server)
    assert "none" not in wire.offer[2] + wire.offer[3] + wire.offer[4]
    wire.cipher = "none"
    wire.handshake()
    assert wire.offer[2][-1] == "none" and len(wire.offer[2]) > 1
    channel = wire.open_session()[0]
    assert ask(wire, *pty_request(channel)) == CHANNEL_FAILURE
    assert ask(wire, channel, "exec", True, "echo clear") == CHANNEL_SUCCESS
    kind = None
    while kind != CHANNEL_DATA:  # the exit status may come first
        kind, data = wire.expect(CHANNEL_DATA, CHANNEL_REQUEST)
    data.u32()
    assert data.string() == b"clear\n"
    wire.close()
    assert "not encrypted" in server.log_text()


def test_server_with_a_terminal_ends_a_switch_to_none(server):
    wire = logged_in(server)
    channel = wire.open_session()[0]
    assert ask(wire, *pty_request(channel)) == CHANNEL_SUCCESS
    wire.cipher = "none"
    wire.send_kexinit()
    assert wire.was_ended() is not None


def test_a_terminal_in_the_middle_of_the_servers_rekey(make_server):
    """The server has offered none already when the terminal comes."""
    server = make_server(ALLOWED + "\nRekeyLimit default 1")
    wire = logged_in(server)
    channel = wire.open_session()[0]
    wire.read_kexinit()
    assert wire.offer[2][-1] == "none"
    wire.say(CHANNEL_REQUEST, *pty_request(channel))
    wire.cipher = "none"
    wire.send_kexinit()
    assert wire.was_ended() is not None


def is_refused(wire):
    """It asks for none all the same."""
    wire.cipher = "none"
    wire.send_kexinit()
    wire.read_kexinit()
    assert "none" not in wire.offer[2]
    wire.was_ended()


@pytest.mark.parametrize("config", ["", "NoneMacEnabled yes"])
def test_server_that_does_not_allow_it(shared_servers, config):
    wire = logged_in(shared_servers("hpn", config))
    is_refused(wire)


def test_before_authentication_is_the_end(server):
    wire = none_wire(server)
    wire.identify()
    is_refused(wire)


def test_server_allows_it_by_match(make_server):
    server = make_server(f"LogLevel VERBOSE\nMatch User {ME}\n"
                         "NoneEnabled yes")
    until_told(Client("hpn", server).ssh_args(*WANTED), "NOT ENCRYPTED")


# ---- the client ------------------------------------------------------------

@pytest.mark.parametrize("mac", [(), ("NoneMacEnabled=yes",),
                                 ("MACs=hmac-sha2-512",),
                                 ("MACs=none,hmac-sha2-512",),
                                 ("MACs=none,hmac-sha2-512",
                                  "NoneMacEnabled=yes")])
def test_bytes_in_clear(client, data_file, mac):
    path = data_file(5 * MIB)
    done = client.ssh("cat; sleep 0.2", options=[*WANTED, *mac],
                      stdin=path.read_bytes()).ok()
    assert done.out == path.read_bytes()
    assert done.errors.count("NOT ENCRYPTED") == 1, done
    assert ("MAC none" in done.errors) == ("NoneMacEnabled=yes" in mac)


@pytest.mark.parametrize("side", ["client", "server"])
def test_no_mac_before_the_login(shared_servers, side):
    """Whatever MACs says: HPN-SSH takes the name there."""
    macs = "MACs none,hmac-sha2-512"
    server = shared_servers("hpn", macs if side == "server" else "")
    client = Client("hpn", server, log_level="DEBUG")
    done = client.ssh("true", options=["Ciphers=aes128-ctr", macs.replace(
        " ", "=") if side == "client" else "MACs=hmac-sha2-512"]).ok()
    assert "MAC: hmac-sha2-512 " in done.errors and \
        "MAC: none" not in done.errors


def test_many_rekeys_stay_in_clear(client, server):
    done = client.ssh("head -c 3000000 /dev/zero", options=[
        *WANTED, "RekeyLimit=100K"]).ok()
    assert done.out == bytes(3000000)
    assert done.errors.count("NOT ENCRYPTED") == 1, done


@pytest.mark.parametrize("kind", ["hpn", "stock"])
def test_server_without_none_stays_encrypted(shared_servers, kind):
    server = shared_servers(kind)
    client = Client("hpn", server, log_level="INFO")
    until_told(client.ssh_args(*WANTED), "stays encrypted")


def test_server_that_offers_it_at_once(tmp_path, keys):
    """HPN-SSH 18: the first exchange is encrypted all the same."""
    seen = []

    def script(wire):
        wire.__class__ = NoneWire
        wire.handshake(host)
        seen.append(wire.offer[2])
        wire.accept_user()
        opened = wire.expect(CHANNEL_OPEN)
        opened.string()
        channel = opened.u32()
        wire.cipher = "none"
        wire.handshake(host)
        wire.say(OPEN_CONFIRMATION, channel, 0, 1 << 21, 1 << 15)
        seen.append(wire.offer[2])
        wire.say(CHANNEL_DATA, channel, string("in clear\n"))
        wire.say(CHANNEL_REQUEST, channel, "exit-status", False, 0)
        wire.say(sshwire.CHANNEL_CLOSE, channel)
        wire.drain()

    with FakeServer(tmp_path, keys, script) as fake:
        host = fake.host
        done = Client("hpn", fake, log_level="INFO").ssh(
            "x", options=[*WANTED, f"MACs={sshwire.ETM_MAC}"])
    assert done.rc == 0 and done.out == b"in clear\n", done
    assert "none" not in seen[0] and seen[1][0] == "none" and len(seen[1]) > 1
    assert "NOT ENCRYPTED" in done.errors


def test_terminal_is_never_switched(client):
    args = [*client.ssh_args(*WANTED, flags=["-tt"]), "tty; sleep 0.2"]
    with Terminal(args) as t:
        t.expect("stays encrypted")
        t.expect("/dev/pts/")
        assert t.wait() == 0 and b"NOT ENCRYPTED" not in t.shown


def test_not_without_permission(client):
    done = client.ssh("echo a", options=["NoneSwitch=yes"]).ok()
    assert "no effect without NoneEnabled" in done.errors
    assert "NOT ENCRYPTED" not in done.errors


def test_nobody_can_name_it(client, make_server, tmp_path):
    for options in (["Ciphers=none"], ["MACs=none"], ["Ciphers=+none"]):
        assert client.ssh("true", options=options).rc == 255
    assert run([*client.ssh_args(flags=["-c", "none"]), "true"]).rc == 255
    for what in ("cipher", "mac", "cipher-auth"):
        assert "none" not in harness.query("hpn", what)
    config = tmp_path / "config"
    config.write_text("Ciphers aes128-ctr,none\n")
    assert run([hpn("sshd"), "-t", "-f", config]).rc != 0


def test_in_files_only_inside_a_block(client, tmp_path):
    config = tmp_path / "ssh_config"

    args = [a if a != "none" else str(config) for a in client.ssh_args()]

    def switched():
        return run([*args, "true; sleep 0.2"]).ok()

    config.write_text("NoneEnabled yes\nNoneSwitch yes\n")
    done = switched()
    assert "NOT ENCRYPTED" not in done.errors
    assert "passed over" in done.errors
    config.write_text("NoneEnabled yes\nHost 127.0.0.1\n\tNoneSwitch yes\n")
    until_told(args, "NOT ENCRYPTED")
    config.write_text("NoneEnabled yes\nHost other\n\tNoneSwitch yes\n")
    assert "NOT ENCRYPTED" not in switched().errors
