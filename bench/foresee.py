# SPDX-License-Identifier: ISC
"""The row `foresee` of bench/run: what hpnssh --check expects of a path, and
what an hpnscp of the same path then does, by turns. The files are in memory at
both ends, as what --check moves is.
"""

import json
import shutil

from benchlib import LongPath, Server, median, timed

MB = 1000 * 1000
# Mbit/s (None: loopback), ms, loss, megabytes
PATHS = [(None, 0, 0, 2000), (100, 20, 0, 80), (1000, 100, 0, 800),
         (1000, 100, 0.001, 300)]


class Foresee:
    """The methods of Bench for this row."""

    def foresee(self):
        for rate, rtt, loss, megabytes in PATHS:
            path = (self.work.keep(LongPath(self.work, rate, rtt, loss))
                    if rate else None)
            server = self.work.keep(Server(self.work, self.work.ours, path))
            what = (f"{rate} Mbit/s x {rtt} ms" if rate else "loopback") + (
                f", loss {loss:.2%}" if loss else "")
            self.foresee_path(server, what, megabytes * MB)
            self.drop([server] + ([path] if path else []))

    def foresee_path(self, server, what, size):
        data = self.work.file(size)
        there = self.work.dir / "foreseen"
        shutil.copy(data, there)
        client = self.work.ours
        got = {}
        for _ in range(self.rounds):
            told = json.loads(timed(self.check_of(server), 40).out)
            for direction in ("up", "down"):
                moved = told[direction]
                seconds = (told["ready_seconds"] + moved["start_seconds"]
                           + size / told["expect_" + direction]["rate"])
                wall = timed(server.scp(client, data, there, direction),
                             120).wall
                got.setdefault((direction, "expected"), []).append(
                    size * 8 / 1e6 / seconds)
                got.setdefault((direction, "hpnscp"), []).append(
                    size * 8 / 1e6 / wall)
        there.unlink()
        for direction in ("up", "down"):
            pair = {name: got[direction, name]
                    for name in ("expected", "hpnscp")}
            self.add("foresee", f"{what}, {direction}", "Mbit/s", pair)
            off = [a / b - 1 for a, b in zip(*pair.values())]
            self.add("foresee", f"{what}, {direction}: off by", "",
                     {"expected": off})
            self.say(f"{what}, {direction}: off by {median(off):+.1%}, "
                     + ", ".join(f"{o:+.1%}" for o in off))

    @staticmethod
    def check_of(server):
        command = server.command(server.work.ours, options=[
            "-c", "aes128-gcm@openssh.com"])
        at = command.index(server.work.ours["ssh"]) + 1
        return [*command[:at], "--check", "--json", *command[at:]]
