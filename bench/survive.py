# SPDX-License-Identifier: ISC
"""The rows of Survive in bench/run. survive: how long a session whose
connection is lost takes to go on: from an event that tells the client to try,
to the first byte, also in round trips; and from the return of the path where
nothing tells it. kept: what it costs bulk that sent messages are kept.
"""

import contextlib
import os
import pty
import random
import select
import subprocess
import time

from benchlib import (CLIENT, IS_ROOT, MB, SERVER, LongPath, Server, Unavailable,
                      die_with_parent, end_process)

LOST, LIMIT = b"was lost", 120
EVENTS = ("address", "route", "key", "none", "none, no terminal")
OTHER = CLIENT.rsplit(".", 1)[0] + ".41"


class Ticking:
    """A session whose program writes # all the time."""

    def __init__(self, server, options, terminal):
        argv = server.command(
            server.work.ours, "while :; do printf '#'; sleep .01; done",
            options=["-o", "Survive=yes", "-o", "ServerAliveInterval=1", "-o",
                     "ServerAliveCountMax=1", *options,
                     *(["-tt"] if terminal else [])])
        argv[argv.index("LogLevel=ERROR")] = "LogLevel=VERBOSE"
        self.shown, self.fd = b"", None
        if terminal:
            self.fd, inner = pty.openpty()
        else:
            self.fd, inner = os.pipe()
        self.process = subprocess.Popen(
            argv, stdin=inner if terminal else subprocess.DEVNULL,
            stdout=inner, stderr=inner, preexec_fn=die_with_parent,
            start_new_session=True)
        os.close(inner)

    def read(self, seconds):
        if select.select([self.fd], [], [], max(0, seconds))[0]:
            with contextlib.suppress(OSError):
                self.shown += os.read(self.fd, 65536)

    def until(self, text, since=0):
        """Reads until text is there, behind since; the time then."""
        end = time.monotonic() + LIMIT
        while text not in self.shown[since:]:
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"no {text!r}: {self.shown[-300:]!r}")
            self.read(1)
        return time.monotonic()

    def idle(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(end - time.monotonic())

    def close(self):
        end_process(self.process)
        os.close(self.fd)


def need_root():
    if not IS_ROOT:
        raise Unavailable("Survive needs a server of the superuser's")


class Way:
    """What happens on a path."""

    def __init__(self, path):
        self.path, self.mine, self.other = path, CLIENT, OTHER
        self.hole(False)

    def route(self):
        self.path.run("client", "ip", "route", "replace", SERVER, "dev",
                      "path0", "src", self.mine)

    def move(self):
        """Another address in place of the client's."""
        old, self.mine, self.other = self.mine, self.other, self.mine
        self.path.run("client", "sh", "-c",
                      f"ip addr del {old}/32 dev path0; "
                      f"ip addr add {self.mine}/32 dev path0; "
                      f"ip route replace {SERVER} dev path0 src {self.mine}")

    def hole(self, begins):
        """Nothing gets to the client from here on, and nobody is told."""
        for address in (CLIENT, OTHER):
            self.path.run("server", "ip", "route", "del", address, must=False)
            self.path.run("server", "ip", "route", "add", *(
                ["blackhole", address] if begins else
                [address, "dev", "path0"]))


class Survive:
    """The methods of Bench for these rows."""

    def kept(self):
        """Bulk with Survive and without, by turns."""
        need_root()
        self.kept_on("loopback", None, 1500)
        path = self.work.keep(LongPath(self.work, 1000, 100, lifetime=3600))
        self.kept_on("1 Gbit/s x 100 ms", path, 400)
        self.drop([path])

    def kept_on(self, where, path, mb):
        data = self.work.file((mb // 10 if self.args.quick else mb) * MB)
        server = self.work.keep(Server(self.work, self.work.ours, path,
                                       options=["Survive yes"]))
        for direction in ("up", "down"):
            got = self.turns({
                survive: lambda way=survive: self.move(
                    self.work.ours, server, ["-o", f"Survive={way}"],
                    direction, data)
                for survive in ("yes", "no")})
            pairs = list(zip(got["yes"], got["no"]))
            what = f"{where}, {mb} MB {direction}: Survive / without"
            self.add("kept", f"{what}, time", "", {
                "hpn": [a[0] / b[0] for a, b in pairs]})
            self.add("kept", f"{what}, CPU", "", {
                "hpn": [sum(a[1:]) / sum(b[1:]) for a, b in pairs]})
        self.drop([server])

    def survive(self):
        need_root()
        for rtt in (20, 100):
            path = self.work.keep(LongPath(self.work, 1000, rtt,
                                           lifetime=3600))
            server = self.work.keep(Server(
                self.work, self.work.ours, path, options=["Survive yes"]))
            jump = server.command(self.work.ours,
                                  options=["-W", f"{SERVER}:{server.port}"])
            jump = " ".join(map(str, jump[len(path.enter("client")):]))
            for name, options in (("", []), (", by a jump host",
                                   ["-o", f"ProxyCommand={jump}"])):
                self.survive_events(server, Way(path), f"{rtt} ms{name}",
                                    3 * rtt if not name else None, options)
            self.drop([server, path])

    def survive_events(self, server, way, what, trips_ms, options):
        got = {event: [] for event in EVENTS}
        for _ in range(self.rounds):
            for event in EVENTS:
                session = Ticking(server, options, "no term" not in event)
                try:
                    got[event].append(self.survive_once(session, way, event))
                finally:
                    way.hole(False)
                    way.route()
                    session.close()
        for event, seconds in got.items():
            self.add("survive", f"{what}: {event}", "s", {"hpn": seconds})
            self.add("survive", f"{what}: {event}, longest", "s",
                     {"hpn": [max(seconds)]})
            if trips_ms and not event.startswith("none"):
                self.add("survive", f"{what}: {event}, beside 3 round trips",
                         "ms", {"hpn": [x * 1000 - trips_ms
                                        for x in seconds]})

    def survive_once(self, session, way, event):
        """Seconds from the event to the first byte."""
        session.until(b"survives its connection")
        session.until(b"####")
        if event == "address":
            begun = time.monotonic()
            way.move()
            session.until(LOST)
        else:
            way.hole(True)
            if event == "route":
                way.path.run("client", "ip", "route", "del", SERVER)
            session.until(LOST)
            session.idle(random.uniform(1, 12))
            way.hole(False)
            begun = time.monotonic()
            if event == "route":
                way.route()
            elif event == "key":
                os.write(session.fd, b"x")
        lost = session.shown.index(LOST)
        return session.until(b"#", session.shown.index(b"\n", lost)) - begun
