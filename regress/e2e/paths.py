# SPDX-License-Identifier: ISC
"""Two network namespaces, for clients and for a server, with two cables between
them: the client's address is replaced, its route changes, or nothing gets
through, as under a laptop that is carried about."""

import contextlib
import ctypes
import os
import threading

from harness import Client, Server, run

CLONE_NEWNET = 0x40000000
CABLES = {"wire": "10.231.0", "radio": "10.232.0"}


def inside(namespace, function):
    """What it returns there; a thread can be in another namespace than the
    rest, and so are the threads and programs that it starts."""
    result, errors = [], []

    def run_it():
        try:
            with open(f"/run/netns/{namespace}", encoding="ascii") as ns:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.setns(ns.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            result.append(function())
        except BaseException as e:  # raised in the caller's thread
            errors.append(e)
    thread = threading.Thread(target=run_it)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return result[0]


class Paths:
    """The server has an address of its own, to which both cables lead; the
    client has one of each cable."""

    host = "10.231.9.9"

    def __init__(self, directory, keys):
        self.near, self.far = f"hpnpn{os.getpid()}", f"hpnpf{os.getpid()}"
        self.directory, self.keys, self.server = directory, keys, None
        self.mine = {cable: 1 for cable in CABLES}  # last numbers
        self.moved = 2

    def ip(self, end, command):
        run(["ip", "-n", end, *command.split()]).ok()

    def make(self):
        for end in (self.near, self.far):
            run(["ip", "netns", "add", end]).ok()
            self.ip(end, "link set lo up")
        for cable, net in CABLES.items():
            self.ip(self.near, f"link add name {cable} type veth peer name {cable} "
                               f"netns {self.far}")
            self.ip(self.near, f"addr add {net}.1/24 dev {cable}")
            self.ip(self.far, f"addr add {net}.2/24 dev {cable}")
            for end in (self.near, self.far):
                self.ip(end, f"link set {cable} up")
        self.end_hole()
        self.go_by("wire")
        return self

    def start(self, config):
        """The server, of which one cannot see that it listens there."""
        server = Server("hpn", self.directory / "server", self.keys,
                        ("ed25519",), config)
        text = server.config_text
        server.config_text = lambda: text().replace(
            "ListenAddress 127.0.0.1", f"ListenAddress {self.host}")
        self.server = inside(self.far, server.start)
        return server

    def client(self, options=(), **kw):
        """A client whose programs are to be started inside of near."""
        known = self.directory / "known_hosts"
        known.write_text(self.server.known_hosts.read_text().replace(
            "127.0.0.1", self.host))
        client = Client("hpn", self.server, known_hosts=known,
                        options=options, **kw)
        plain = client.ssh_args
        client.ssh_args = lambda *more, **kw: [
            self.host if a == "127.0.0.1" else a for a in plain(*more, **kw)]
        return client

    def address(self):
        """From which the client comes."""
        return f"{CABLES[self.cable]}.{self.mine[self.cable]}"

    # ---- what happens to the client --------------------------------------

    def go_by(self, cable):
        self.ip(self.near, f"route replace {self.host} via {CABLES[cable]}.2 "
                           f"dev {cable}")
        self.cable = cable

    def move(self):
        """Another address in place of the one that it has."""
        net, old = CABLES[self.cable], self.mine[self.cable]
        self.moved += 1
        new = self.mine[self.cable] = 3 + self.moved % 250
        self.ip(self.near, f"addr del {net}.{old}/24 dev {self.cable}")
        self.ip(self.near, f"addr add {net}.{new}/24 dev {self.cable}")
        self.go_by(self.cable)  # the route went with the address

    def begin_hole(self):
        """From here on nothing gets to the server, or from it, and nobody is
        told."""
        self.ip(self.far, f"addr del {self.host}/32 dev lo")

    def end_hole(self):
        self.ip(self.far, f"addr add {self.host}/32 dev lo")

    def close(self):
        if self.server:
            self.server.stop()
        for end in (self.near, self.far):
            run(["ip", "netns", "del", end])


@contextlib.contextmanager
def laid(directory, keys, config):
    """Paths, with a server at their far end."""
    made = Paths(directory, keys)
    try:
        made.make()
        made.start(config)
        yield made
    finally:
        made.close()


def problem():
    """Why there can be no such namespaces here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"hpnpt{os.getpid()}"
    made = run(["ip", "netns", "add", name]).rc == 0 and \
        run(["ip", "-n", name, "link", "add", "name", "one", "type", "veth",
             "peer", "name", "two"]).rc == 0
    run(["ip", "netns", "del", name])
    return None if made else "there are no network namespaces here"
