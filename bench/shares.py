# SPDX-License-Identifier: ISC
"""The row `shares` of bench/run: two users over 1 Gbit/s of which
TransferCapacity is 900 Mbit/s. What each gets in the first two seconds and in
the next, what one has when the other stops, and a keystroke beside its bulk.
"""

import contextlib
import os
import pty
import subprocess
import time

from benchlib import (IS_ROOT, Flow, LongPath, Server, Unavailable,
                      end_process, median, rates, spawn)

CAPACITY = 900  # Mbit/s
OTHER = "hpn-bench-share"


def flow(server, user, more=()):
    """What a session of the user sends."""
    return Flow(spawn(command(server, user, [*more], "cat /dev/zero"),
                      stdout=subprocess.PIPE))


def command(server, user, options, *remote, flags=()):
    argv = server.command(server.work.ours, *remote, options=list(options))
    at = argv.index("-l")
    argv[at + 1] = user
    at = argv.index(server.work.ours["ssh"]) + 1
    return [*argv[:at], *flags, *argv[at:]]


def mbit(flows, seconds):
    return [rate * 8 / 1e6 for rate in rates(flows, seconds)]


class Shares:
    """The methods of Bench for this row."""

    def shares(self):
        if not IS_ROOT:
            raise Unavailable("another user is needed: root")
        subprocess.run(["useradd", "-M", "-d", "/tmp", "-s", "/bin/sh", "-p",
                        "*", OTHER], check=True)
        path = server = None
        try:
            path = self.work.keep(LongPath(self.work, 1000, 10, 0))
            server = self.work.keep(Server(
                self.work, self.work.ours, path,
                options=[f"TransferCapacity {CAPACITY}Mbit"]))
            got = {}
            for _ in range(self.rounds):
                self.shares_once(server, got)
            for what, unit in (("first user, after 2 s", "Mbit/s"),
                               ("second user, after 2 s", "Mbit/s"),
                               ("off half of both, after 2 s", "%"),
                               ("one alone, 1 s after the other", "Mbit/s"),
                               ("keystroke, median", "ms"),
                               ("keystroke, longest", "ms")):
                self.add("shares", what, unit, {"hpn": got[what]})
        finally:
            self.drop([t for t in (server, path) if t])
            subprocess.run(["userdel", "-f", OTHER], check=False)

    def shares_once(self, server, got):
        def note(what, value):
            got.setdefault(what, []).append(value)

        control = server.dir / "control"
        master = ["-o", "ControlMaster=yes", "-o", f"ControlPath={control}"]
        mine = [flow(server, server.user, master), flow(server, server.user),
                flow(server, server.user)]
        theirs = flow(server, OTHER)
        try:
            while not theirs.bytes or not all(f.bytes for f in mine):
                time.sleep(0.01)
            time.sleep(2)
            *three, one = mbit([*mine, theirs], 3)
            note("first user, after 2 s", sum(three))
            note("second user, after 2 s", one)
            half = (sum(three) + one) / 2
            note("off half of both, after 2 s", abs(one / half - 1) * 100)
            for kind, ms in zip(("median", "longest"),
                                self.keystrokes(server, control)):
                note(f"keystroke, {kind}", ms)
            theirs.end()
            time.sleep(1)
            note("one alone, 1 s after the other", sum(mbit(mine, 3)))
        finally:
            for one in (*mine, theirs):
                one.end()

    @staticmethod
    def keystrokes(server, control):
        """Milliseconds of 40 echoes on the connection of the bulk."""
        outer, inner = pty.openpty()
        argv = command(server, server.user, ["-o", f"ControlPath={control}"],
                       "stty -echo; echo ready; exec cat", flags=["-tt"])
        process = subprocess.Popen(argv, stdin=inner, stdout=inner,
                                   stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        os.close(inner)
        shown, times = b"", []
        try:
            while b"ready" not in shown:
                shown += os.read(outer, 1000)
            for i in range(40):
                key, shown = b"<%d>\n" % i, b""
                began = time.monotonic()
                os.write(outer, key)
                while key[:-1] not in shown:
                    shown += os.read(outer, 1000)
                times.append((time.monotonic() - began) * 1000)
                time.sleep(0.05)
        finally:
            end_process(process)
            with contextlib.suppress(OSError):
                os.close(outer)
        return median(times), max(times)
