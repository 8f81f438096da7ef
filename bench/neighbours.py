# SPDX-License-Identifier: ISC
"""The rows `growth` and `neighbours` of bench/run: how many connections hpnscp
has by itself, on paths of all kinds. It is to be nowhere slower than with one
connection, nor than stock; and where one connection fills the path, what
others get there is to be what they get beside one.

    python3 bench/neighbours.py HOST SECONDS     round trips, as ping has them
"""

import math
import os
import select
import socket
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

from benchlib import (MB, SERVER, LongPath, Server, end_process, spawn, timed)

LEAST_QUEUE = 70000  # a burst of the host has to fit
SETTLE_S, SHARED_S = 4, 10
# Student's t, two sides, 95 %, for 1, 2, ... degrees of freedom
T95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


class Cell:
    """A path and a copy over it. The queue is in products of bandwidth and
    delay; full: one connection fills it."""

    def __init__(self, name, up, down, rtt, queue, loss, size, direction,
                 full=False):
        self.name, self.rate, self.rtt, self.loss = name, (up, down), rtt, loss
        self.queue = [max(queue * r * 1e6 / 8 * rtt / 1000, LEAST_QUEUE)
                      for r in self.rate]
        self.size, self.direction, self.full = size * MB, direction, full
        speed = "{}".format(up) if up == down else "{}/{}".format(down, up)
        self.what = (f"{name}: {speed} Mbit/s x {rtt} ms, queue {queue}"
                     + (f", loss {loss:.2%}" if loss else "")
                     + f", {size} MB {direction}")


CELLS = (
    Cell("satellite", 1, 1, 600, 1, 0, 1, "up"),
    Cell("shallow", 100, 100, 100, 0.1, 0, 40, "up"),
    Cell("rough", 10, 10, 40, 5, 1e-4, 20, "down"),
    Cell("deep-down", 20, 20, 40, 5, 0, 25, "down", True),
    Cell("deep-up", 20, 20, 40, 5, 0, 25, "up", True),
    Cell("home-down", 10, 50, 20, 1, 0, 40, "down", True),
    Cell("cable-down", 2, 100, 40, 1, 0, 40, "down", True),
    Cell("cable-up", 2, 100, 40, 1, 0, 2, "up"),
    Cell("near", 100, 100, 10, 0.5, 0, 60, "up", True),
    Cell("line", 100, 100, 40, 1, 0, 60, "up", True),
    Cell("far", 100, 100, 300, 1, 0, 40, "down"),
    Cell("far-rough", 100, 100, 40, 1, 1e-4, 40, "up"),
    Cell("lossy", 100, 100, 20, 1, 0.01, 20, "down"),
    Cell("fat", 1000, 1000, 100, 1, 0, 150, "down"),
    Cell("fat-rough", 1000, 1000, 20, 0.5, 1e-4, 60, "up"),
    Cell("fibre", 50, 1000, 10, 0.5, 0, 100, "down"),
)


def interval(ratios):
    """Mean of ratios, and the ends of its 95 % interval."""
    logs = [math.log(r) for r in ratios]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(mean), 0.0, math.inf
    half = (statistics.stdev(logs) / math.sqrt(len(logs))
            * T95[min(len(logs), len(T95) + 1) - 2])
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


class Neighbours:
    """The methods of Bench for this row."""

    def growth(self):
        """Nowhere slower than one connection, nor than stock."""
        self.growth_cells(CELLS, self.growth_speed)

    def neighbours(self):
        """What others get beside a copy where one connection fills the
        path."""
        self.growth_cells([c for c in CELLS if c.full], self.growth_beside)

    def growth_cells(self, cells, measure):
        chosen = [c for c in cells if c.name in (self.args.cells or ())]
        for cell in chosen or cells:
            path = self.work.keep(LongPath(
                self.work, cell.rate, cell.rtt, cell.loss, queue=cell.queue,
                lifetime=7200))
            servers = {s.name: self.work.keep(Server(self.work, s, path))
                       for s in (self.work.ours, self.work.stock)}
            measure(cell, path, servers)
            self.drop([*servers.values(), path])

    def growth_ways(self, servers):
        """Name: client, its server, options."""
        ours, stock = self.work.ours, self.work.stock
        return {"auto": (ours, servers["hpn"], ()),
                "-j 1": (ours, servers["hpn"], ("-j", "1")),
                "stock": (stock, servers["stock"], ())}

    # ---- alone ---------------------------------------------------------

    def growth_speed(self, cell, path, servers):
        data, turn = self.work.file(cell.size), {}

        def one(name, client, server, more):
            # All of one turn meet the same losses.
            turn[name] = turn.get(name, 0) + 1
            path.seed(turn[name] % 256)
            with tempfile.TemporaryDirectory(dir=self.work.dir) as fresh:
                os.chmod(fresh, 0o777)
                target = Path(fresh) / "target"
                wall = timed(self.copy_command(
                    client, server, data, target, cell.direction, *more),
                    400).wall
                if target.stat().st_size != cell.size:
                    raise RuntimeError("not whole")
                return wall

        got = self.turns({name: (lambda name=name, way=way: one(name, *way))
                          for name, way in self.growth_ways(servers).items()})
        self.add("growth", cell.what, "s", got)
        for other in ("-j 1", "stock"):
            if len(got["auto"]) != len(got[other]) or not got["auto"]:
                continue  # one has failed: there are no pairs
            mean, low, high = interval(
                [a / b for a, b in zip(got["auto"], got[other])])
            self.add("growth", f"{cell.name}: auto / {other}", "",
                     {"mean": [mean], "from": [low], "to": [high]})

    # ---- beside others -------------------------------------------------

    def growth_beside(self, cell, path, servers):
        """While a copy goes on: what a second user's scp gets in ten seconds,
        and the round trip of one who only asks."""
        got = self.turns({
            name: (lambda way=way: self.growth_shared(cell, path, servers,
                                                      *way))
            for name, way in self.growth_ways(servers).items()})
        for index, (what, unit) in enumerate(
                (("a neighbour's scp gets", "MB"),
                 ("a third one's round trip", "ms"))):
            self.add("neighbours", f"{cell.what}: {what}", unit,
                     {k: [v[index] for v in values]
                      for k, values in got.items()})

    def growth_shared(self, cell, path, servers, client, server, more):
        rate = cell.rate[cell.direction == "down"] * 1e6 / 8
        large = self.work.file(int(2 * rate * (SETTLE_S + SHARED_S + 4)))
        with tempfile.TemporaryDirectory(dir=self.work.dir) as fresh:
            os.chmod(fresh, 0o777)
            theirs = Path(fresh) / "theirs"
            running = [spawn(self.copy_command(
                client, server, large, Path(fresh) / "ours", cell.direction,
                *more))]
            try:
                time.sleep(SETTLE_S)
                trip = float(timed(
                    [*path.enter("client"), sys.executable, __file__, SERVER,
                     "3"], 20).out)
                running.append(spawn(self.copy_command(
                    self.work.stock, servers["stock"], large, theirs,
                    cell.direction)))
                time.sleep(SHARED_S)
                moved = (theirs.stat().st_blocks * 512 if theirs.exists()
                         else 0)
                if running[0].poll() is not None:
                    raise RuntimeError("the copy ended too early")
                return moved / 1e6, trip
            finally:
                for process in running:
                    end_process(process)


# ---- ping --------------------------------------------------------------

def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def round_trips(host, seconds):
    """In ms, of an echo request each 50 ms; a lost one counts for nothing."""
    end, trips, number = time.monotonic() + seconds, [], 0
    with socket.socket(socket.AF_INET, socket.SOCK_RAW,
                       socket.IPPROTO_ICMP) as s:
        while (began := time.monotonic()) < end:
            number += 1
            body = struct.pack(">HHd40x", os.getpid() & 0xffff, number, began)
            head = struct.pack(">BBH", 8, 0, checksum(b"\x08\0\0\0" + body))
            s.sendto(head + body, (host, 0))
            while (left := began + 0.05 - time.monotonic()) > 0:
                if not select.select([s], [], [], left)[0]:
                    break
                got = s.recv(2048)
                got = got[(got[0] & 15) * 4:]
                if got[0] == 0 and got[4:6] == body[:2]:
                    sent, = struct.unpack(">d", got[8:16])
                    trips.append((time.monotonic() - sent) * 1000)
    return trips


if __name__ == "__main__":
    print(statistics.fmean(round_trips(sys.argv[1], float(sys.argv[2]))))
