# SPDX-License-Identifier: ISC
"""Rows of bench/run for forwarding: a TCP connection through a tunnel, on
loopback and over a long path; many short ones; a virtual network; what idle
forwarded connections cost.

The program at both ends of a tunnel is limit (limit.c), which sends as fast
as it can. Bytes go "down" from the server's side, "up" from the client's.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from benchlib import (CLIENT, IS_ROOT, MB, SERVER, LongPath, Unavailable,
                      end_process, free_port, median, pss, spawn, timed)

GCM = ["-c", "aes128-gcm@openssh.com"]


class Tunnel:
    """A client with forwards and no session, and a `limit serve` at the far
    end of them."""

    def __init__(self, work, client, server, kind):
        self.work, self.server, self.kind = work, server, kind
        self.dir = Path(tempfile.mkdtemp(dir=work.dir))
        os.chmod(self.dir, 0o755)
        port = server.path.next_port() if server.path else free_port()
        served = server.path.next_port() if server.path else free_port()
        near, far = self.dir / "near", self.dir / "far"
        # Where limit listens and on which side, the flag, and where to call.
        shape = {
            "-L": (served, "server", ["-L", f"{port}:127.0.0.1:{served}"],
                   ["127.0.0.1", port]),
            "-R": (served, "client", ["-R", f"{port}:127.0.0.1:{served}"],
                   ["127.0.0.1", port]),
            "-D": (served, "server", ["-D", str(port)],
                   [f"socks:{port}", served]),
            "-L, sockets": (far, "server", ["-L", f"{near}:{far}"],
                            [str(near), 0]),
        }[kind]
        self.target, self.call = shape[0], shape[3]
        self.side = "server" if kind == "-R" else "client"
        self.processes = [spawn([*server.entered(shape[1]),
                                 *self.served_by(work, shape[0])])]
        self.client = spawn(server.command(client, "-N", options=[
            *GCM, "-o", "ExitOnForwardFailure=yes", *shape[2]]))
        self.processes.append(self.client)
        self.wait(port if kind != "-L, sockets" else near)

    @staticmethod
    def served_by(work, where):
        return [work.limit, "serve", where]

    def wait(self, where):
        for _ in range(200):
            if isinstance(where, Path):
                there = where.exists()
            else:
                there = subprocess.run(
                    [*self.server.entered(self.side), "ss", "-Hltn",
                     f"sport = :{where}"], capture_output=True,
                    timeout=10).stdout
            if there:
                return
            if self.client.poll() is not None:
                break
            time.sleep(0.05)
        self.close()
        raise RuntimeError(f"no tunnel: {self.kind}")

    def cpu(self):
        """CPU seconds of both ends of the tunnel until now."""
        stat = Path(f"/proc/{self.client.pid}/stat").read_text()
        fields = stat[stat.rindex(")") + 2:].split()
        ticks = int(fields[11]) + int(fields[12])
        return (ticks / os.sysconf("SC_CLK_TCK")
                + (self.server.meter.seconds() if self.server.meter.group
                   else float("nan")))

    def move(self, direction, size, limit=120):
        """Seconds, and CPU seconds of both ends of the tunnel."""
        # The receiver of -R is on the other side.
        down = (direction == "down") != (self.kind == "-R")
        before = self.cpu()
        done = timed([*self.server.entered(self.side), self.work.limit,
                      "get" if down else "put", *map(str, self.call),
                      str(size)], limit)
        return float(done.out.split()[1]), self.cpu() - before

    def close(self):
        for process in reversed(self.processes):
            end_process(process)


class BareTunnel:
    """`limit tunnel`: what -L costs where nothing but the encryption and the
    kernel's copies is left of it. cipher: as OpenSSL calls it, or none."""

    def __init__(self, work, cipher):
        self.work, self.port, served = work, free_port(), free_port()
        self.processes = [
            spawn([work.limit, "serve", served]),
            spawn([work.limit, "tunnel", "-c", cipher, self.port, served])]
        time.sleep(0.3)  # until both listen

    def cpu(self):
        """CPU seconds of the tunnel's processes, which end with each
        connection."""
        time.sleep(0.2)
        stat = Path(f"/proc/{self.processes[1].pid}/stat").read_text()
        fields = stat[stat.rindex(")") + 2:].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def move(self, direction, size, limit=120):
        before = self.cpu()
        done = timed([self.work.limit, "get" if direction == "down" else
                      "put", "127.0.0.1", self.port, size], limit)
        return float(done.out.split()[1]), self.cpu() - before

    def close(self):
        for process in reversed(self.processes):
            end_process(process)


class Cable:
    """Two namespaces side by side, for a client and a server, with nothing
    between them that takes time. They end with the two processes that hold
    them."""

    port = 2221

    def __init__(self):
        self.holders = [spawn(["unshare", "-n", "sleep", "900"])
                        for _ in range(2)]
        try:
            self.make()
        except BaseException:
            self.close()
            raise

    def make(self):
        time.sleep(0.3)  # until both are in their namespaces
        near, far = (holder.pid for holder in self.holders)
        self.spaces = {"client": f"/proc/{near}/ns/net",
                       "server": f"/proc/{far}/ns/net"}
        if os.stat(self.spaces["server"]).st_ino in (
                os.stat(self.spaces["client"]).st_ino,
                os.stat("/proc/self/ns/net").st_ino):
            raise Unavailable("no network namespaces here")
        for command in (
                f"link add cable netns {near} type veth peer name cable "
                f"netns {far}",
                "client addr add " + CLIENT + "/24 dev cable",
                "server addr add " + SERVER + "/24 dev cable",
                "client link set lo up", "server link set lo up",
                "client link set cable up", "server link set cable up"):
            self.ip(*command.split())

    def ip(self, *words):
        """With the side first, where it is in one of them."""
        where = self.enter(words[0]) if words[0] in self.spaces else []
        done = subprocess.run(
            [*where, "ip", *(words[1:] if where else words)], timeout=20,
            capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"ip {' '.join(words)}: {done.stderr.strip()}")

    def enter(self, side):
        return ["nsenter", f"--net={self.spaces[side]}"]

    def next_port(self):
        self.port += 1
        return self.port

    def close(self):
        for holder in self.holders:
            end_process(holder)


class Interfaces:
    """A point-to-point tunnel of one pair of programs, and iperf3 at its far
    end. number: which addresses and interfaces it has."""

    def __init__(self, client, server, number):
        self.server, self.path = server, server.path
        self.far, self.device = f"10.78.{number}.2", f"tun{number}"
        self.processes = [spawn(server.command(
            client, "-N", options=[*GCM, "-o", "ExitOnForwardFailure=yes",
                                   "-w", f"{number}:{number}"]))]
        try:
            self.configure(f"10.78.{number}.1")
        except BaseException:
            self.close()
            raise

    def is_there(self, side):
        if self.processes[0].poll() is not None:
            raise RuntimeError("the client has ended without a tunnel")
        return subprocess.run([*self.path.enter(side), "ip", "link", "show",
                               self.device], capture_output=True,
                              timeout=20).returncode == 0

    def configure(self, near):
        until(lambda: self.is_there("client") and self.is_there("server"),
              f"no interface {self.device}")
        for side, me, peer in (("client", near, self.far),
                               ("server", self.far, near)):
            self.path.ip(side, "addr", "add", me, "peer", peer, "dev",
                         self.device)
            self.path.ip(side, "link", "set", self.device, "up")
        self.processes.append(spawn([*self.path.enter("server"), "iperf3",
                                     "-s", "-B", self.far],
                                    stderr=subprocess.DEVNULL))
        until(lambda: subprocess.run(
            [*self.path.enter("server"), "ss", "-Hltn", "src", self.far],
            capture_output=True, timeout=20).stdout, "no iperf3 -s")

    def move(self, direction, seconds):
        """Mbit/s of one stream."""
        done = timed([*self.path.enter("client"), "iperf3", "-J", "-c",
                      self.far, "-t", str(seconds),
                      *(["-R"] if direction == "down" else [])],
                     seconds + 30)
        return json.loads(done.out)["end"]["sum_received"][
            "bits_per_second"] / 1e6

    def close(self):
        for process in reversed(self.processes):
            end_process(process)


def until(true, otherwise):
    for _ in range(200):
        if true():
            return
        time.sleep(0.05)
    raise RuntimeError(otherwise)


class Forwards:
    """Rows; a part of class Bench."""

    def tunnels(self, servers, kind):
        """A tunnel for each pair of programs; those that fail are told of."""
        found = {}
        for name, (client, server) in self.pairs().items():
            try:
                found[name] = self.work.keep(
                    Tunnel(self.work, client, servers[server.name], kind))
            except RuntimeError as why:
                self.skip(f"{name}, {kind}", why)
        return found

    def forward(self):
        """One TCP connection through a tunnel on loopback."""
        size = self.args.size or (256 * MB if self.args.quick else 2000 * MB)
        gb = size / 1e9
        servers = self.servers()
        for kind in ("-L", "-R", "-D", "-L, sockets"):
            tunnels = self.tunnels(servers, kind)
            if kind == "-L":
                for name, cipher in (("limit", "aes-128-gcm"),
                                     ("limit, none", "none")):
                    tunnels[name] = self.work.keep(
                        BareTunnel(self.work, cipher))
            for direction in ("down", "up"):
                got = self.turns({
                    name: (lambda t=t: t.move(direction, size))
                    for name, t in tunnels.items()})
                self.add("forward", f"{kind} {direction}", "GB/s",
                         {k: [gb / v[0] for v in values]
                          for k, values in got.items()})
                self.add("forward", f"{kind} {direction}, CPU of both ends",
                         "s/GB", {k: [v[1] / gb for v in values]
                                  for k, values in got.items()})
            self.drop(tunnels.values())
        self.drop(servers.values())

    def farforward(self):
        """The same over a long path, as a share of bare TCP."""
        rate, rtt = 1000, 100
        size = self.args.size or (100 if self.args.quick else 1000) * MB
        path = self.work.keep(LongPath(self.work, rate, rtt))
        servers = self.servers(path)
        for kind in ("-L", "-R"):
            for direction in ("down", "up"):
                # Connections of their own: while a sender receives, the
                # queue of the path makes its TCP (cubic) leave slow start.
                tunnels = self.tunnels(servers, kind)
                jobs = {name: (lambda t=t: t.move(direction, size, 240)[0])
                        for name, t in tunnels.items()}
                jobs["bare TCP"] = lambda: path.bare(self.work, direction,
                                                     size)
                got = self.turns(jobs)
                bare = median(got["bare TCP"])
                what = f"{kind} {direction}, {rate} Mbit/s x {rtt} ms"
                self.add("farforward", what, "Mbit/s",
                         {k: [size * 8 / 1e6 / v for v in values]
                          for k, values in got.items()})
                self.add("farforward", what + ", share of bare TCP", "",
                         {k: [bare / v for v in values]
                          for k, values in got.items()})
                self.drop(tunnels.values())
        self.drop(list(servers.values()) + [path])

    def shortforwards(self):
        """200 connections through -L, 20 at a time, over 100 ms: what each
        takes in round trips."""
        path = self.work.keep(LongPath(self.work, 1000, 100))
        servers = self.servers(path)
        tunnels = self.tunnels(servers, "-L")

        def all_of_them(tunnel):
            script = Path(__file__).with_name("shortconns.py")
            done = timed([*tunnel.server.entered("client"), "python3",
                          script, str(tunnel.call[1]), "200", "20"], 120)
            return float(done.out) / path.rtt

        self.add("shortforwards", "200 connections through -L, 20 at a time",
                 "RTT", self.turns({name: (lambda t=t: all_of_them(t))
                                    for name, t in tunnels.items()}))
        self.drop([*tunnels.values(), *servers.values(), path])

    def tun(self):
        """One TCP stream through a tunnel between interfaces (-w)."""
        if not IS_ROOT:
            raise Unavailable("tunnels need root")
        if not os.access("/dev/net/tun", os.W_OK):
            raise Unavailable("no /dev/net/tun")
        if not shutil.which("iperf3"):
            raise Unavailable("no iperf3")
        path = self.work.keep(Cable())
        servers = self.servers(path, options=["PermitTunnel yes"])
        tunnels = {}
        for number, (name, (client, server)) in enumerate(
                self.pairs().items()):
            try:
                tunnels[name] = self.work.keep(Interfaces(
                    client, servers[server.name], number))
            except RuntimeError as why:
                self.skip(f"{name}, -w", why)
        for direction in ("down", "up"):
            self.add("tun", f"one stream {direction}", "Mbit/s", self.turns({
                name: (lambda t=t: t.move(direction,
                                          1 if self.args.quick else 5))
                for name, t in tunnels.items()}))
        self.drop([*tunnels.values(), *servers.values(), path])

    def idleforwards(self):
        """Memory of 1,000 idle connections through -L, at each end."""
        servers = self.servers()
        count = 100 if self.args.quick else 1000
        got = {"client": {}, "server": {}}
        for name, tunnel in self.tunnels(servers, "-L").items():
            try:
                near, far = self.idle(tunnel, count)
            except (RuntimeError, OSError) as why:
                self.skip(f"{name}, {count} idle connections", why)
                continue
            got["client"][name], got["server"][name] = [near], [far]
        for side, values in got.items():
            self.add("idleforwards", f"{count} idle connections, {side}",
                     "MB", values)
        for server in servers.values():
            self.work.drop(server)

    def idle(self, tunnel, count):
        def memory():
            return (pss([tunnel.client.pid]) / 1e6,
                    pss(tunnel.server.meter.pids()) / 1e6)

        with contextlib.ExitStack() as open_ones:
            before = memory()
            for _ in range(count):
                one = open_ones.enter_context(
                    socket.create_connection(tuple(tunnel.call), timeout=20))
                # limit waits for the second of these two bytes.
                one.sendall(b"p" + bytes(15) + (2).to_bytes(8, "little")
                            + b"1")
            time.sleep(2)  # until the last of them is through
            after = memory()
        return [b - a for a, b in zip(before, after)]
