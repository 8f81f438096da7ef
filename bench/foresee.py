# SPDX-License-Identifier: ISC
"""The row `foresee` of bench/run: what hpnssh --check expects of a path, and
what an hpnscp of the same path then does, by turns. Files are read from memory
and end in /dev/null, so that the path counts, and neither end's disk; in the
row `to a file` they do not, and --check is told where.
"""

import json

from benchlib import MB, LongPath, Server, Unavailable, median, timed

# Mbit/s (None: loopback), ms, loss, megabytes; --cells chooses some by name
PATHS = {"loopback": (None, 0, 0, 2000), "campus": (1000, 5, 0, 800),
         "city": (100, 20, 0, 80), "fat": (1000, 100, 0, 800),
         "rough": (1000, 100, 0.001, 300)}


AIM = 0.15  # how far what is expected may be off: the median of the pairs
CHECK_MAX, COPY_MAX = 40, 300  # seconds; --check itself ends in 20


class Foresee:
    """The methods of Bench for this row."""

    def foresee(self):
        for name in self.args.cells or PATHS:
            if name not in PATHS:
                raise Unavailable(f"no path {name}: " + ", ".join(PATHS))
            rate, rtt, loss, megabytes = PATHS[name]
            path = (self.work.keep(LongPath(
                self.work, rate, rtt, loss, lifetime=self.rounds *
                (CHECK_MAX + 2 * COPY_MAX))) if rate else None)
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
            told = json.loads(timed(self.check_of(server, folder), CHECK_MAX,
                                    must=False).out)
            for direction in directions:
                if not told.get("expect_" + direction):
                    self.say(f"{what}, {direction}: nothing expected: "
                             f"{told.get('failures')}")
                    continue
                rate = told["expect_" + direction]["rate"]
                seconds = told["ready_seconds"] + self.rest(
                    told[direction], size, rate)
                wall = timed(server.scp(self.work.ours, data, there,
                                        direction), COPY_MAX).wall
                if folder:
                    there.unlink()
                one = [size * 8 / 1e6 / took for took in (seconds, wall)]
                self.say("{}, {}: expected {:.0f}, hpnscp {:.0f} Mbit/s"
                         .format(what, direction, *one))
                for name, value in zip(("expected", "hpnscp"), one):
                    got.setdefault((direction, name), []).append(value)
        for direction in directions:
            if (direction, "hpnscp") in got:
                self.foresee_off(f"{what}, {direction}", {
                    name: got[direction, name]
                    for name in ("expected", "hpnscp")})

    def foresee_off(self, what, pair):
        self.add("foresee", what, "Mbit/s", pair)
        off = [a / b - 1 for a, b in zip(*pair.values())]
        self.add("foresee", f"{what}: off by", "", {"expected": off})
        self.say(f"{what}: off by {median(off):+.1%} "
                 f"({'within' if abs(median(off)) <= AIM else 'MORE than'} "
                 f"{AIM:.0%}): " + ", ".join(f"{o:+.1%}" for o in off))

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
