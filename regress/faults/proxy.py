#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A TCP proxy that spoils connections at a given byte.

For tests (class Proxy), and from a command line:

    proxy.py --to 127.0.0.1:22 [--listen 2222] FAULT ...

A FAULT is kind[:key=value...]. The keys, all optional:

    conn=K   the K-th connection from 0 on; else every one
    dir=D    up (from the client), down, or both: whose bytes are counted
    at=N     behind so many bytes (0)
    arg=X    of corrupt: how many bytes (1); of slow: bytes a second (10000)

    refuse   the connection is reset before a byte gets through
    cut      it is reset at both ends
    close    it is closed at both ends
    half     no more goes in that direction, whose end is told
    stall    nothing gets through any more, and nobody is told
    hold     what comes up gets through later: release(); what comes down does
             not either, from when arg bytes are held (0)
    corrupt  bytes are changed
    slow     what follows passes at that rate

With --gap BYTES each connection is cut after a random number of bytes around
that, for ever (--seed N, --kinds cut,close,..., --together: all connections
that there are then end with it). A line for each fault that happens, and one
with the port at the beginning, go to standard output.
"""

import argparse
import ctypes
import random
import socket
import sys
import threading
import time
from dataclasses import dataclass

KINDS = ("refuse", "cut", "close", "half", "stall", "hold", "corrupt", "slow")
CHUNK = 65536
HELD_MAX = 8 << 20
WAIT = 60  # seconds, for a cause that does not come
NOWHERE = bytes(16)  # an address of AF_UNSPEC
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass
class Fault:
    kind: str
    dir: str = "both"
    at: int = 0
    arg: int = 0
    conn: int = None
    # For tests: nothing more goes that way, and the fault waits, until it says
    # True. What goes the other way passes.
    when: object = None

    def __post_init__(self):
        if self.kind not in KINDS or self.dir not in ("up", "down", "both"):
            raise ValueError(f"no such fault: {self}")

    def counts(self, direction):
        return self.dir in ("both", direction)


def parse_fault(text):
    kind, *pairs = text.split(":")
    keys = dict(pair.split("=", 1) for pair in pairs)
    return Fault(kind, **{k: v if k == "dir" else int(v)
                          for k, v in keys.items()})


def for_connections(faults):
    """A plan out of a list."""
    return lambda number: [f for f in faults if f.conn in (None, number)]


def random_breaks(seed, gap, kinds=("cut",)):
    """A plan: every connection breaks, after gap bytes on the average."""
    def plan(number):
        rng = random.Random(f"{seed} {number}")
        return [Fault(rng.choice(kinds), at=rng.randrange(gap // 2,
                                                          gap * 3 // 2))]
    return plan


def shut(sock, reset):
    """Wakes who waits in it, too, which a close alone would not."""
    try:
        if reset:
            LIBC.connect(sock.fileno(), NOWHERE, len(NOWHERE))
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    sock.close()


def small_buffers(sock):
    for which in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        sock.setsockopt(socket.SOL_SOCKET, which, 2 * CHUNK)


class SinkGone(OSError):
    """Who was to get what is carried takes no more."""


class Connection:
    def __init__(self, proxy, number, near):
        self.proxy, self.number, self.near = proxy, number, near
        self.faults = sorted(proxy.plan(number), key=lambda f: f.at)
        self.moved = {"up": 0, "down": 0}
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.said = threading.Event()  # all that comes from the client
        self.corrupting = {"up": 0, "down": 0}  # bytes
        self.stalled, self.rate, self.far = False, 0, None
        self.held = None  # bytes for the far end
        self.hold_least = 0  # so many are held before answers stop

    def run(self):
        if any(f.kind == "refuse" for f in self.faults):
            self.proxy.happened(self, Fault("refuse"))
            shut(self.near, True)
            return
        try:
            self.far = socket.socket()
            small_buffers(self.far)
            self.far.connect(
                self.number and self.proxy.to_later or self.proxy.to)
            self.far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            shut(self.near, True)
            return
        for direction, a, b in (("up", self.near, self.far),
                                ("down", self.far, self.near)):
            threading.Thread(target=self.carry, args=(direction, a, b),
                             daemon=True).start()

    def end(self, reset):
        self.over.set()
        for s in (self.near, self.far):
            if s:
                shut(s, reset)

    def count(self, fault):
        return sum(n for d, n in self.moved.items() if fault.counts(d))

    def next_fault(self, direction, size):
        """How much of size bytes may pass before which fault."""
        first = None
        for fault in self.faults:
            left = max(0, fault.at - self.count(fault))
            if fault.counts(direction) and left <= size and (
                    first is None or left < size):
                size, first = left, fault
        return size, first

    def carry(self, direction, source, sink):
        try:
            while chunk := source.recv(CHUNK):
                if not self.take(direction, chunk, sink):
                    return
            if not self.stalled and self.held is None:
                sink.shutdown(socket.SHUT_WR)
        except OSError as e:
            # A client that has gone may have said something last, which comes
            # before its end.
            if isinstance(e, SinkGone) and direction == "down" and \
                    not self.stalled and self.held is None:
                self.said.wait(WAIT)
            if not self.stalled and self.held is None:
                self.end(True)
        finally:
            if direction == "up":
                self.said.set()
        if self.held is not None and direction == "down":
            self.over.set()  # the far end is done

    def take(self, direction, chunk, sink):
        """False: nothing more is to be carried."""
        while chunk:
            if self.held is not None and (
                    direction == "down" or len(self.held) < HELD_MAX):
                if direction == "up":
                    self.held += chunk
                elif len(self.held) < self.hold_least:
                    self.pass_on(chunk, sink)
                return True
            if self.stalled or self.held is not None:
                self.over.wait()
                return False
            with self.lock:
                size, fault = self.next_fault(direction, len(chunk))
                self.moved[direction] += size
                if fault:
                    self.faults.remove(fault)
            self.pass_on(self.changed(direction, chunk[:size]), sink)
            chunk = chunk[size:]
            if fault and not self.spoil(fault, direction, sink):
                return False
        return True

    def changed(self, direction, data):
        n = min(self.corrupting[direction], len(data))
        self.corrupting[direction] -= n
        return bytes(b ^ 0x55 for b in data[:n]) + data[n:]

    def pass_on(self, data, sink):
        if self.rate:
            self.over.wait(len(data) / self.rate)
        if data:
            try:
                sink.sendall(data)
            except OSError as e:
                raise SinkGone from e
            self.proxy.passed(len(data))

    def await_cause(self, fault):
        until = time.monotonic() + WAIT
        while fault.when and not fault.when():
            if time.monotonic() > until or self.over.wait(0.01):
                return

    def spoil(self, fault, direction, sink):
        self.await_cause(fault)
        self.proxy.happened(self, fault)
        if fault.kind in ("cut", "close"):
            self.proxy.broken(self, fault.kind == "cut")
            return False
        if fault.kind == "half":
            sink.shutdown(socket.SHUT_WR)
            return False
        if fault.kind == "corrupt":
            self.corrupting[direction] = fault.arg or 1
        if fault.kind == "stall":
            self.stalled = True
        if fault.kind == "hold":
            self.hold_least, self.held = fault.arg, bytearray()
        if fault.kind == "slow":
            self.rate = fault.arg or 10000
        return True


class Proxy:
    """plan(number) gives the faults of a connection. together: what breaks
    one breaks all that there are. to_later: where all connections but the
    first lead; None: where that does."""

    def __init__(self, to, plan=lambda number: [], port=0, together=False,
                 tell=None, to_later=None):
        self.to, self.plan, self.together = to, plan, together
        self.to_later = to_later
        self.tell = tell
        self.connections, self.happenings = [], []
        self.bytes = 0
        self.lock = threading.Lock()
        # What has passed is soon at the other end: little waits between.
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        small_buffers(self.listener)
        self.listener.bind(("127.0.0.1", port))
        self.listener.listen(64)
        self.host, self.port = self.listener.getsockname()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            c = Connection(self, len(self.connections), near)
            self.connections.append(c)
            threading.Thread(target=c.run, daemon=True).start()

    def happened(self, connection, fault):
        self.happenings.append((connection.number, fault.kind))
        if self.tell:
            self.tell(f"{connection.number} {fault.kind} up "
                      f"{connection.moved['up']} down "
                      f"{connection.moved['down']}")

    def passed(self, n):
        with self.lock:
            self.bytes += n

    def broken(self, connection, reset):
        for c in list(self.connections) if self.together else [connection]:
            c.end(reset)

    def release(self):
        """What was held gets through, and then the end. Bytes."""
        held = [c for c in self.connections if c.held]
        for c in held:
            c.far.sendall(c.held)
            c.far.shutdown(socket.SHUT_WR)
        return sum(len(c.held) for c in held)

    def count(self, *kinds):
        return sum(kind in kinds for _, kind in self.happenings)

    def has_said(self):
        """True when all that clients who have gone said was carried."""
        return all(c.over.is_set() or c.said.is_set() or c.stalled
                   for c in list(self.connections))

    def alive(self):
        return [c for c in self.connections if not c.over.is_set()]

    def close(self):
        self.listener.close()
        for c in self.connections:
            c.end(True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--to", required=True, metavar="HOST:PORT")
    p.add_argument("--listen", type=int, default=0, metavar="PORT")
    p.add_argument("--gap", type=int, metavar="BYTES")
    p.add_argument("--seed", default="1")
    p.add_argument("--kinds", default="cut")
    p.add_argument("--together", action="store_true")
    p.add_argument("faults", nargs="*", type=parse_fault, metavar="FAULT")
    args = p.parse_args()
    host, port = args.to.rsplit(":", 1)
    plan = random_breaks(args.seed, args.gap, args.kinds.split(",")) \
        if args.gap else for_connections(args.faults)

    def tell(line):
        print(line, flush=True)
    with Proxy((host, int(port)), plan, args.listen, args.together,
               tell) as proxy:
        tell(f"port {proxy.port}")
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return 0


if __name__ == "__main__":
    sys.exit(main())
