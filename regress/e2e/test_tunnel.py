# SPDX-License-Identifier: ISC
"""Tunnels between network interfaces (-w, PermitTunnel): two network
namespaces with a link, and a tunnel through it; who may have one, what the
user is told, and peers that keep no rule."""

import ctypes
import os
import re
import socket
import subprocess
import threading

import pytest
from sshwire import (CHANNEL_CLOSE, CHANNEL_DATA, CHANNEL_OPEN,
                     GLOBAL_REQUEST, OPEN_CONFIRMATION, OPEN_FAILURE,
                     REQUEST_SUCCESS, Wire, load_key, string)
from test_scp_breaks import Link

import harness
from harness import LONG, Client, run

ANY, POINT_TO_POINT, ETHERNET = 0x7fffffff, 1, 2
pytestmark = pytest.mark.skipif(
    not harness.have("hpn", "ssh", "sshd") or not harness.IS_ROOT
    or not os.path.exists("/dev/net/tun"),
    reason="tunnels take root, and /dev/net/tun")


def within(namespace, function):
    """What it returns; a thread can be in another namespace than the rest."""
    result = []

    def inside():
        with open(f"/run/netns/{namespace}", encoding="ascii") as ns:
            if ctypes.CDLL(None).setns(ns.fileno(), 0x40000000) == 0:
                result.append(function())
    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    return result[0]


class Ends(Link):
    """A namespace for clients and one for the server."""

    def client_of(self, kind, options=()):
        known = self.directory / "known_hosts"
        known.write_text(self.server.known_hosts.read_text().replace(
            "127.0.0.1", self.host))
        client = Client(kind, self.server, options=options,
                        known_hosts=known, log_level="VERBOSE")
        plain = client.ssh_args
        client.ssh_args = lambda *more, **kw: [
            *self.client, *(self.host if a == "127.0.0.1" else a
                            for a in plain(*more, **kw))]
        return client

    def interfaces(self, end):
        text = run(["ip", "-n", end, "-o", "link"]).ok().text
        return set(re.findall(r"\b(?:tun|tap)\d+\b", text))

    def both_have(self, near, far):
        assert harness.wait_for(
            lambda: (self.interfaces(self.near), self.interfaces(self.far))
            == (near, far)), (self.interfaces(self.near),
                              self.interfaces(self.far))

    def number(self, near, far):
        """Addresses for the two ends of a tunnel."""
        for end, device, address in ((self.near, near, "10.232.0.1"),
                                     (self.far, far, "10.232.0.2")):
            other = "10.232.0.2" if end == self.near else "10.232.0.1"
            peer = f" peer {other}" if device.startswith("tun") else "/24"
            self.ip(f"-n {end} addr add {address}{peer} dev {device}")
            if os.path.exists("/proc/sys/net/ipv6"):
                self.ip(f"-n {end} addr add fd00::{address[-1]}/64 dev "
                        f"{device} nodad")
            self.ip(f"-n {end} link set {device} up")

    def pass_through(self, sizes, there="10.232.0.2"):
        """Datagrams of these sizes to the far end, and back; what has come
        back of them."""
        kind = socket.AF_INET6 if ":" in there else socket.AF_INET

        def open_one(address):
            made = socket.socket(kind, socket.SOCK_DGRAM)
            made.settimeout(LONG)
            made.bind((address, 0))
            return made
        far = within(self.far, lambda: open_one(there))
        near = within(self.near,
                      lambda: open_one("::" if ":" in there else ""))
        got = []
        with far, near:
            for size in sizes:
                near.sendto(bytes([len(got)]) * size, far.getsockname())
                data, sender = far.recvfrom(65536)
                far.sendto(data[::-1], sender)
                assert near.recv(65536) == bytes([len(got)]) * size
                got.append(len(data))
        return got


@pytest.fixture
def ends(tmp_path, keys):
    made = Ends(tmp_path, keys)
    try:
        made.make()
    except AssertionError as e:
        made.close()
        pytest.skip(f"no network namespace can be made here: {e}")
    yield made
    made.close()


@pytest.fixture
def wire(ends, keys):
    """wire(config, options): a client on the wire, logged in."""
    made = []

    def make(config="PermitTunnel yes\n", options=""):
        ends.start("hpn", config)
        ends.server.authorized.write_text(
            f"{options} {keys.public('ed25519')}\n".lstrip())

        def dial():
            return socket.create_connection((ends.host, ends.port), LONG)
        made.append(Wire(within(ends.near, dial)))
        return made[-1].login(harness.ME, load_key(keys.path("ed25519")))

    yield make
    for one in made:
        one.close()


def open_tunnel(wire, mode=POINT_TO_POINT, unit=ANY, number=0,
                window=1 << 20):
    """The server's number of the channel, or None."""
    wire.say(CHANNEL_OPEN, "tun@openssh.com", number, window, 1 << 15, mode,
             unit)
    what, reply = wire.expect(OPEN_CONFIRMATION, OPEN_FAILURE)
    assert reply.u32() == number
    if what == OPEN_CONFIRMATION:
        return reply.u32()
    assert (reply.u32(), reply.text()) == (2, "open failed")
    return None


# ---- packets ---------------------------------------------------------------

PAIRS = [pytest.param(c, s, marks=pytest.mark.skipif(
    "stock" in (c, s) and not harness.stock("ssh"), reason="no stock ssh"))
    for c, s in (("hpn", "hpn"), ("stock", "hpn"), ("hpn", "stock"))]


@pytest.mark.parametrize("client,server", PAIRS)
@pytest.mark.parametrize("kind", ["tun", "tap"])
def test_packets(ends, background, client, server, kind):
    """Both ways, of IPv4 and IPv6 where there is one, of any size; a session
    knows the interface, LocalCommand ours; it all ends with the client."""
    ends.start(server, "PermitTunnel yes\n")
    told = ends.directory / "told"
    args = ends.client_of(client, ["PermitLocalCommand=yes", "LocalCommand="
                                   f"echo %T >{told}"]).ssh_args(
        f"Tunnel={'ethernet' if kind == 'tap' else 'point-to-point'}",
        flags=["-w", "3:any"])
    process = background([*args, "echo $SSH_TUNNEL; exec cat"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    assert process.stdout.readline() == f"{kind}0\n".encode()
    assert harness.wait_for(told.exists)
    ends.both_have({kind + "3"}, {kind + "0"})
    ends.number(kind + "3", kind + "0")
    sizes = [0, 1, 56, 1400, 20000] * 5
    assert ends.pass_through(sizes) == sizes
    if os.path.exists("/proc/sys/net/ipv6"):
        assert ends.pass_through(sizes, "fd00::2") == sizes
    assert told.read_text().strip() == kind + "3"
    process.stdin.close()
    # a tunnel is a use of the connection
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    harness.kill_group(process)
    ends.both_have(set(), set())


def test_big_packets(ends, background):
    """Packets of an MTU that the protocol still takes pass; larger ones do
    not."""
    ends.start("hpn", "PermitTunnel yes\n")
    background([*ends.client_of("hpn").ssh_args(flags=["-N", "-w", "0:0"])])
    ends.both_have({"tun0"}, {"tun0"})
    ends.number("tun0", "tun0")
    for end in (ends.near, ends.far):
        ends.ip(f"-n {end} link set tun0 mtu 60000")
    assert ends.pass_through([30000, 56, 30000]) == [30000, 56, 30000]


def test_the_interface_is_removed(ends, background):
    """On one side: the tunnel is over, the connection is not; without
    another use it ends."""
    ends.start("hpn", "PermitTunnel yes\n")
    process = background(ends.client_of("hpn").ssh_args(
        flags=["-w", "any"]) + ["echo there"], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"there\n"
    ends.both_have({"tun0"}, {"tun0"})
    ends.ip(f"-n {ends.far} link del tun0")
    assert process.wait(LONG) == 0
    ends.both_have(set(), set())


# ---- permission ------------------------------------------------------------

@pytest.mark.parametrize("config,options,works", [
    ("", "", ""),
    ("PermitTunnel no", "", ""),
    ("PermitTunnel yes", "", "1a 2a 15"),
    ("PermitTunnel point-to-point", "", "1a 15"),
    ("PermitTunnel ethernet", "", "2a"),
    ("PermitTunnel yes\nDisableForwarding yes", "", ""),
    ("PermitTunnel yes", "restrict", ""),
    ("PermitTunnel yes", 'restrict,tunnel="5"', ""),
    ("PermitTunnel yes", "no-port-forwarding", "1a 2a 15"),
    ("PermitTunnel yes", 'tunnel="5"', "1a 2a 15"),
    ("PermitTunnel yes", 'tunnel="6"', "1a 2a"),
    ("", 'tunnel="5"', ""),
    (f"Match User {harness.ME}\nPermitTunnel yes", "", "1a 2a 15"),
])
def test_rules(ends, wire, config, options, works):
    """Mode 1 and 2 with any unit, and unit 5; a key's unit is what is had."""
    w = wire(config + "\n", options)
    got = []
    for n, (name, mode, unit) in enumerate((
            ("1a", POINT_TO_POINT, ANY), ("2a", ETHERNET, ANY),
            ("15", POINT_TO_POINT, 5))):
        w.told.clear()
        number = open_tunnel(w, mode, unit, n)
        if number is None:
            assert "Server has rejected tunnel device forwarding" in w.told
            continue
        got.append(name)
        if 'tunnel="6"' in options:
            ends.both_have(set(), {"tun6" if mode == 1 else "tap6"})
        w.say(CHANNEL_CLOSE, number)
        w.expect(CHANNEL_CLOSE)
        ends.both_have(set(), set())
    assert " ".join(got) == works


def test_it_takes_privileges(ends, wire, other_user, keys):
    """Other users have the interfaces that were made for them."""
    ends.start("hpn", "PermitTunnel yes\n")
    run(["ip", "netns", "exec", ends.far, "ip", "tuntap", "add", "dev",
         "tun9", "mode", "tun", "user", other_user]).ok()

    def dial():
        return socket.create_connection((ends.host, ends.port), LONG)
    w = Wire(within(ends.near, dial))
    w.login(other_user, load_key(keys.path("ed25519")))
    assert open_tunnel(w, unit=8) is None
    if os.stat("/dev/net/tun").st_mode & 0o006 == 0o006:
        assert open_tunnel(w, unit=9, number=1) is not None
    w.close()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("where", ["here", "there"])
def test_it_does_not_work(ends, strict, where):
    """ExitOnForwardFailure makes it the end, before anything has run."""
    ends.start("hpn", f"PermitTunnel {'yes' if where == 'here' else 'no'}\n")
    if where == "here":
        ends.ip(f"-n {ends.near} link add tun4 type veth peer name other")
    done = ends.client_of("hpn").ssh(
        "echo ran", options=[f"ExitOnForwardFailure={strict}".lower()
                             .replace("true", "yes").replace("false", "no")],
        flags=["-w", "4:4"])
    assert ("Could not request tunnel forwarding." if where == "here"
            else "Tunnel forwarding failed") in done.errors
    assert (done.rc, done.text) == ((255, "") if strict else (0, "ran\n"))


@pytest.mark.parametrize("strict", ["no", "yes"])
def test_a_server_that_is_not_the_known_one(ends, keys, strict):
    """Who goes on all the same gets no tunnel to it."""
    ends.start("hpn", "PermitTunnel yes\n")
    client = ends.client_of("hpn", ["StrictHostKeyChecking=no"])
    client.known_hosts.write_text(f"[{ends.host}]:{ends.port} "
                                  + keys.public("ed25519-other") + "\n")
    done = client.ssh("echo ran", flags=["-w", "any"],
                      options=[f"ExitOnForwardFailure={strict}"])
    assert "Tunnel forwarding is disabled to avoid man-in-the-middle " \
        "attacks." in done.errors
    assert (done.rc, done.text) == ((255, "") if strict == "yes"
                                    else (0, "ran\n"))


def test_a_client_with_a_tunnel_stays_encrypted(ends):
    ends.start("hpn", "PermitTunnel no\nNoneEnabled yes\n")
    done = ends.client_of("hpn").ssh(
        "echo ran", flags=["-w", "any"],
        options=["NoneEnabled=yes", "NoneSwitch=yes"]).ok()
    assert "NoneSwitch has no effect on a connection with a tunnel" in \
        done.errors


# ---- peers that keep no rule -----------------------------------------------

def test_opens_that_make_no_sense(ends, wire):
    w = wire()
    for n, (mode, unit) in enumerate((
            (0, ANY), (3, ANY), (0xffffffff, 0), (1, 0x7ffffffe),
            (1, 0x80000000), (1, 0xffffffff), (2, 0x7fffffff + 1))):
        assert open_tunnel(w, mode, unit, n) is None
    assert open_tunnel(w, 1, 2, 20) is not None
    assert open_tunnel(w, 1, 2, 21) is None  # it is in use
    ends.both_have(set(), {"tun2"})


def test_tunnels_without_end(ends, wire):
    w = wire()
    count = 0
    while open_tunnel(w, number=count) is not None:
        count += 1
        assert count < 100
    assert count == 16
    assert len(ends.interfaces(ends.far)) == 16
    w.close()
    ends.both_have(set(), set())


def test_data_that_is_no_packet(ends, wire):
    w = wire()
    number = open_tunnel(w)
    ends.ip(f"-n {ends.far} link set tun0 up")
    for data in (b"", b"\0", b"\0\0\0\2", b"\0\0\0\2E", b"\0\0\0\7" * 9,
                 bytes(30000), os.urandom(30000)):
        w.say(CHANNEL_DATA, number, string(data))
    w.say(GLOBAL_REQUEST, "keepalive@openssh.com", True)
    while w.recv()[0] != REQUEST_SUCCESS:  # packets of the system may come
        pass


def test_not_in_clear(ends, wire, keys):
    """A connection that has had a tunnel does not lose its cipher."""
    w = wire("PermitTunnel yes\nNoneEnabled yes\n")
    assert open_tunnel(w) is not None
    w.send_kexinit()
    w.read_kexinit()
    assert "none" not in w.offer[2] + w.offer[3]
