# SPDX-License-Identifier: ISC
"""Rows of bench/run's group `scale`: many streams of one connection. What is
to be seen is that they get equal shares (Jain's index: 1 if all are equal,
1/n if one has everything), and that each byte costs the same however many
there are. bench/streams.c is at both ends of forwards.
"""

import os
import re
import selectors
import subprocess
import tempfile
import time
from pathlib import Path

from benchlib import MB, Server, end_process, spawn
from forwards import GCM, Tunnel

CHUNK = bytes(1 << 16)
SETTLE_S, SETTLE_MAX_S = 2, 60  # as streams.c has it
PIPE = 1 << 16  # bytes that a session takes before it is there


def jain(shares):
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / len(shares) / squares if squares else 0.0


class StreamTunnel(Tunnel):
    """A forward with `streams serve` at its far end."""

    @staticmethod
    def served_by(work, where):
        return [work.streams, "serve", where]

    def call_many(self, direction, count, seconds):
        """MB/s, Jain's index, and CPU seconds of both ends for each GB."""
        down = (direction == "down") != (self.kind == "-R")
        port = {"-D": self.call[0].partition(":")[2],
                "-L, sockets": self.call[0]}.get(self.kind, self.call[1])
        # It ends by itself, after two minutes at most.
        with spawn([*self.server.entered(self.side), self.work.streams,
                    "get" if down else "put", port, count, seconds,
                    *([self.call[1]] if self.kind == "-D" else [])],
                   stdout=subprocess.PIPE) as program:
            program.stdout.readline()
            before = self.cpu()
            text = program.stdout.readline().decode()
            spent = self.cpu() - before
        found = re.match(r"([\d.]+) MB/s, Jain ([\d.]+),.* (\d+) ended", text)
        if not found or int(found[3]):
            raise RuntimeError("streams: " + text)
        rate = float(found[1])
        if not rate:
            raise RuntimeError("streams: nothing moved")
        return rate, float(found[2]), spent / (rate * seconds / 1000)


class Master:
    """A shared connection, and sessions of it that move data."""

    def __init__(self, work, client, server):
        self.client, self.server = client, server
        self.dir = Path(tempfile.mkdtemp(dir=work.dir))
        self.mux = ["-o", f"ControlPath={self.dir}/mux"]
        self.process = spawn(server.command(client, "-N", options=[
            "-M", *self.mux, *GCM]))
        for _ in range(200):
            if (self.dir / "mux").exists():
                return
            time.sleep(0.05)
        self.close()
        raise RuntimeError("no control socket")

    def sessions(self, direction, count, seconds):
        """MB/s and Jain's index. What the sessions' own processes take is no
        cost of the connection, so there is no figure of CPU."""
        down = direction == "down"
        remote = "cat /dev/zero" if down else "cat >/dev/null"
        end = dict(stdout=subprocess.PIPE) if down else dict(
            stdin=subprocess.PIPE)
        running = [spawn(self.server.command(self.client, remote,
                                             options=self.mux), **end)
                   for _ in range(count)]
        try:
            ends = [p.stdout if down else p.stdin for p in running]
            settle(ends, down)
            shares = move_all(ends, down, seconds)
        finally:
            for process in running:
                end_process(process)
        return sum(shares) / seconds / MB, jain(shares)

    def close(self):
        end_process(self.process)


def settle(ends, down):
    """All move until each is there: a hundred logins' shells take longer than
    SETTLE_S on a busy machine."""
    until = time.monotonic() + SETTLE_MAX_S
    shares = move_all(ends, down, SETTLE_S)
    while min(shares) <= PIPE:
        if time.monotonic() > until:
            raise RuntimeError(f"{sum(n <= PIPE for n in shares)} sessions "
                               "do not move")
        shares = [a + b for a, b in zip(shares, move_all(ends, down, 0.2))]


def move_all(ends, down, seconds):
    """Reads from all of the pipes, or writes to them. Bytes of each."""
    moved = dict.fromkeys(ends, 0)
    until = time.monotonic() + seconds
    with selectors.DefaultSelector() as waiting:
        for end in ends:
            os.set_blocking(end.fileno(), False)
            waiting.register(end, selectors.EVENT_READ if down else
                             selectors.EVENT_WRITE)
        while (left := until - time.monotonic()) > 0:
            for key, _ in waiting.select(left):
                n = (len(os.read(key.fd, len(CHUNK))) if down else
                     os.write(key.fd, CHUNK))
                if n == 0:
                    raise RuntimeError("a session has ended")
                moved[key.fileobj] += n
    return list(moved.values())


class Scale:
    """The methods of Bench for these rows."""

    def add_streams(self, table, what, got):
        for unit, index in (("MB/s", 0), ("Jain", 1), ("CPU s/GB", 2)):
            values = {k: [v[index] for v in values if len(v) > index]
                      for k, values in got.items()}
            if any(values.values()):
                self.add(table, f"{what}, {unit}", "" if unit == "Jain" else
                         unit, values)

    def streams(self):
        """Ten and a hundred streams: equal shares."""
        counts = (10,) if self.args.quick else (10, 100)
        # Sessions of the turn before may not have ended yet, and what a user's
        # own shell does at each login is not to be measured.
        servers = self.servers(options=["MaxSessions 1000"],
                               user=self.work.throwaway_user())
        for kind in ("-L", "-R", "-D"):
            tunnels = {name: self.work.keep(StreamTunnel(
                self.work, c, servers[s.name], kind))
                for name, (c, s) in self.pairs().items()}
            for count in counts:
                for direction in ("down", "up"):
                    self.add_streams("streams", f"{count} by {kind}, "
                                     f"{direction}", self.turns(
                        {name: (lambda t=t: t.call_many(direction, count, 2))
                         for name, t in tunnels.items()}))
            self.drop(tunnels.values())
        masters = {name: self.work.keep(Master(self.work, c,
                                               servers[s.name]))
                   for name, (c, s) in self.pairs().items()}
        for count in counts:
            for direction in ("down", "up"):
                self.add_streams("streams", f"{count} sessions of a master, "
                                 f"{direction}", self.turns(
                    {name: (lambda m=m: m.sessions(direction, count, 2))
                     for name, m in masters.items()}))
        self.drop([*masters.values(), *servers.values()])

    def busystreams(self):
        """Thousands at once. Stock's ends at a thousand or so. By TCP not more
        than 3,000: what the kernel lets all of its TCP sockets keep is not
        enough for four sockets of each of 9,000 streams."""
        server = self.work.keep(Server(self.work, self.work.ours))
        for kind, counts in (("-L", (100, 3000)),
                             ("-L, sockets", (3000, 9000))):
            tunnel = self.work.keep(StreamTunnel(self.work, self.work.ours,
                                                 server, kind))
            for count in (300,) if self.args.quick else counts:
                for direction in ("down", "up"):
                    self.add_streams("busystreams", f"{count} by {kind}, "
                                     f"{direction}", self.turns(
                        {"hpn": lambda: tunnel.call_many(direction, count,
                                                         3)}))
            self.drop([tunnel])
        self.drop([server])

    def fullpath(self):
        """A copy where one connection fills the path."""
        cells, self.args.cells = self.args.cells, ["deep-down", "cable-down"]
        try:
            self.growth()
            self.neighbours()
        finally:
            self.args.cells = cells
