# SPDX-License-Identifier: ISC
"""The row `foresee` of bench/run: what hpnssh --check expects of a path, and
what an hpnscp of the same path then does, by turns. Files are read from memory
and end in /dev/null, so that the path counts, and neither end's disk; in the
row `to a file` they do not, and --check is told where.
"""

import json

from benchlib import MB, LongPath, Server, Unavailable, median, timed

# Mbit/s (None: loopback), ms, loss, megabytes; --cells chooses some by name
PATHS = {"loopback": (None, 0, 0, 2000), "city": (100, 20, 0, 80),
         "fat": (1000, 100, 0, 800), "rough": (1000, 100, 0.001, 300)}


class Foresee:
    """The methods of Bench for this row."""

    def foresee(self):
        for name in self.args.cells or PATHS:
            if name not in PATHS:
                raise Unavailable(f"no path {name}: " + ", ".join(PATHS))
            rate, rtt, loss, megabytes = PATHS[name]
            path = (self.work.keep(LongPath(self.work, rate, rtt, loss))
                    if rate else None)
            server = self.work.keep(Server(self.work, self.work.ours, path))
            what = (f"{rate} Mbit/s x {rtt} ms" if rate else "loopback") + (
                f", loss {loss:.2%}" if loss else "")
            self.foresee_path(server, what, megabytes * MB)
            if not path:
                self.foresee_path(server, "loopback to a file",
                                  megabytes * MB, self.work.dir)
            self.drop([server] + ([path] if path else []))

    def foresee_path(self, server, what, size, folder=None):
        """With a folder of the server files end there, and only uploads are
        compared."""
        data = self.work.file(size)
        there = folder / "foreseen" if folder else "/dev/null"
        directions = ("up",) if folder else ("up", "down")
        got = {}
        for _ in range(self.rounds):
            told = json.loads(timed(self.check_of(server, folder), 40).out)
            for direction in directions:
                rate = told["expect_" + direction]["rate"]
                seconds = told["ready_seconds"] + self.rest(
                    told[direction], size, rate)
                wall = timed(server.scp(self.work.ours, data, there,
                                        direction), 120).wall
                if folder:
                    there.unlink()
                got.setdefault((direction, "expected"), []).append(
                    size * 8 / 1e6 / seconds)
                got.setdefault((direction, "hpnscp"), []).append(
                    size * 8 / 1e6 / wall)
        for direction in directions:
            pair = {name: got[direction, name]
                    for name in ("expected", "hpnscp")}
            self.add("foresee", f"{what}, {direction}", "Mbit/s", pair)
            off = [a / b - 1 for a, b in zip(*pair.values())]
            self.add("foresee", f"{what}, {direction}: off by", "",
                     {"expected": off})
            self.say(f"{what}, {direction}: off by {median(off):+.1%}: "
                     + ", ".join(f"{o:+.1%}" for o in off))

    @staticmethod
    def rest(moved, size, rate):
        """Seconds for so many bytes: those that --check moved itself took what
        they took, the others have the rate that is expected."""
        if size <= moved["bytes"]:
            return moved["start_seconds"] + size / rate
        return moved["seconds"] + (size - moved["bytes"]) / rate

    @staticmethod
    def check_of(server, folder):
        command = server.command(server.work.ours, options=[
            "-c", "aes128-gcm@openssh.com"])
        at = command.index(server.work.ours["ssh"]) + 1
        command[-1] += f":{folder}" if folder else ""
        return [*command[:at], "--check", "--json", *command[at:]]
