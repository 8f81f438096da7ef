# SPDX-License-Identifier: ISC
"""The rows of bench/run that move files: trees of small ones, one byte, large
ones over long paths, what is left after a break; and what memory that takes.
"""

import os
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

from benchlib import (MB, LongPath, end_process, pss, spawn,
                      timed)

# scp -r of stock waits about four round trips for each file: over a long
# path it gets a part of the tree only, and its time is scaled.
STOCK_PART = 10
DIRS_STOCK_PART = 50  # of many directories


class Peak:
    """The most memory, in bytes, that a server's connection had while this
    was entered."""

    def __init__(self, server):
        self.server, self.most, self.end = server, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        while not self.end.wait(0.1):
            try:
                self.most = max(self.most, pss(self.server.meter.pids()))
            except OSError:
                pass

    def __enter__(self):
        self.before = pss(self.server.meter.pids())
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()

    def bytes(self):
        return max(0, self.most - self.before)


def make_tree(directory, count, size):
    """count files of size bytes, 100 in a directory."""
    top = directory / f"tree{count}x{size}"
    if not top.exists():
        block = os.urandom(size + count)
        for i in range(count):
            place = top / f"d{i // 100}"
            if i % 100 == 0:
                place.mkdir(parents=True)
            (place / f"f{i}").write_bytes(block[i:i + size])
    return top


def make_dirs(directory, count, nested):
    """count directories with a file of a kilobyte each: all in one, or nested,
    ten in each of ten in each of as many as are needed."""
    top = directory / f"{'nested' if nested else 'flat'}{count}"
    if not top.exists():
        for i in range(count):
            place = top / (f"a{i // 100}/b{i // 10 % 10}/d{i}" if nested else
                           f"d{i}")
            place.mkdir(parents=True)
            (place / "file").write_bytes(b"x" * 1000)
    return top


def count_files(top):
    return sum(len(names) for _, _, names in os.walk(top))


class Files:
    """The methods of Bench that move files."""

    def copy_command(self, client, server, source, target, direction, *more):
        argv = server.scp(client, source, target, direction)
        at = argv.index(client["scp"]) + 1
        return argv[:at] + list(more) + argv[at:]

    def copied(self, client, server, source, direction, *more, timeout=240,
               there=None):
        """Copies once to an empty directory (or over `there`): wall time,
        largest RSS of the client, largest PSS of the server."""
        with tempfile.TemporaryDirectory(dir=self.work.dir) as fresh:
            os.chmod(fresh, 0o777)
            target = there or Path(fresh) / "target"
            with Peak(server) as peak:
                done = timed(self.copy_command(
                    client, server, source, target, direction, *more),
                    timeout)
            if source.is_dir():
                got, want = count_files(target), count_files(source)
                if got != want:
                    raise RuntimeError(f"{got} of {want} files arrived")
            elif Path(target).stat().st_size != source.stat().st_size:
                raise RuntimeError("not whole")
            return done.wall, done.rss, peak.bytes()

    def file_pairs(self):
        return {name: pair for name, pair in self.pairs().items()
                if "scp" in pair[0].found}

    # ---- trees ---------------------------------------------------------

    def trees(self):
        """Trees of small files, over a long path and on loopback."""
        self.trees_far()
        self.trees_near()

    def trees_far(self):
        path = self.work.keep(LongPath(self.work, 1000, 100))
        servers = self.servers(path)
        stock = servers.get(self.work.stock.name)
        cells = [(500, 10000)] + ([] if self.args.quick else [(20000, 4000)])
        for count, size in cells:
            for direction in ("up", "down"):
                jobs = {name: self.far_job(c, servers[s.name], count, size,
                                           direction)
                        for name, (c, s) in self.file_pairs().items()
                        if c.hpn or count <= 500}
                if count <= 500 and stock and shutil.which("rsync"):
                    jobs["rsync"] = lambda: self.rsync(
                        self.work.stock, stock,
                        make_tree(self.work.dir, count, size), direction)
                self.add("trees", f"{count} files of {size // 1000} KB over "
                         f"100 ms, {direction}", "s", self.turns(jobs))
        self.drop(list(servers.values()) + [path])

    def far_job(self, client, server, count, size, direction):
        part = 1 if client.hpn else STOCK_PART
        tree = make_tree(self.work.dir, count // part, size)
        return lambda: part * self.copied(client, server, tree, direction,
                                          "-r")[0]

    def rsync(self, client, server, tree, direction, timeout=120):
        options = server.client_options()
        login = options.index("-l")
        del options[login:login + 2]
        shell = " ".join([client["ssh"], *options, "-c",
                          "aes128-gcm@openssh.com"])
        with tempfile.TemporaryDirectory(dir=self.work.dir) as fresh:
            os.chmod(fresh, 0o777)
            far = f"{server.user}@{server.host}:"
            ends = ([f"{tree}/", far + fresh] if direction == "up" else
                    [far + f"{tree}/", fresh])
            return timed([*server.entered("client"), "rsync", "-aW", "-e", shell, *ends],
                         timeout).wall

    def tar(self, client, server, tree, direction):
        with tempfile.TemporaryDirectory(dir=self.work.dir) as fresh:
            os.chmod(fresh, 0o777)
            gcm = ["-c", "aes128-gcm@openssh.com"]
            if direction == "up":
                ssh = server.command(client, f"tar xf - -C {fresh}",
                                     options=gcm)
                line = f"tar cf - -C {tree} . | \"$@\""
            else:
                ssh = server.command(client, f"tar cf - -C {tree} .",
                                     options=gcm)
                line = f"\"$@\" | tar xf - -C {fresh}"
            return timed(["sh", "-c", line, "sh", *ssh], 120).wall

    def trees_near(self):
        servers = self.servers()
        count = 1000 if self.args.quick else 10000
        tree = make_tree(self.work.dir, count, 10000)
        stock = servers.get(self.work.stock.name)
        for direction in ("up", "down"):
            jobs = {name: (lambda c=c, s=servers[s.name]:
                           self.copied(c, s, tree, direction, "-r")[0])
                    for name, (c, s) in self.file_pairs().items()}
            if stock and shutil.which("rsync"):
                jobs["rsync"] = lambda: self.rsync(self.work.stock, stock,
                                                   tree, direction)
            if stock:
                jobs["tar"] = lambda: self.tar(self.work.stock, stock, tree,
                                               direction)
            self.add("trees", f"{count} files of 10 KB on loopback, "
                     f"{direction}", "s", self.turns(jobs))
        self.drop(servers.values())

    # ---- directories ---------------------------------------------------

    def dirs(self):
        """Trees of many directories, over a long path and on loopback."""
        path = self.work.keep(LongPath(self.work, 1000, 100))
        self.dirs_at("over 100 ms", path, 300 if self.args.quick else 3000)
        self.drop([path])
        self.dirs_at("on loopback", None, self.args.dirs or
                     (1000 if self.args.quick else 10000))

    def dirs_at(self, where, path, count):
        servers = self.servers(path)
        for nested in (False, True):
            tree = make_dirs(self.work.dir, count, nested)
            what = f"{count} {'nested' if nested else 'flat'} directories"
            for direction in ("down", "up"):
                self.add("dirs", f"{what} {where}, {direction}", "s",
                         self.turns(self.dirs_jobs(servers, path, tree, count,
                                                   nested, direction)))
        self.drop(servers.values())

    def dirs_jobs(self, servers, path, tree, count, nested, direction):
        """hpnscp with each server; scp, of a part where it would take
        minutes; rsync."""
        ours, stock = self.work.ours, self.work.stock
        part = DIRS_STOCK_PART if path else 1
        jobs = {}
        for name, server in servers.items():
            jobs["hpn" if server.suite is ours else f"hpn to {name}"] = (
                lambda s=server: self.copied(ours, s, tree, direction,
                                             "-r")[0])
        if stock.name not in servers:
            return jobs
        few = make_dirs(self.work.dir, count // part, nested)
        jobs[stock.name] = lambda: part * self.copied(
            stock, servers[stock.name], few, direction, "-r")[0]
        if shutil.which("rsync"):
            jobs["rsync"] = lambda: self.rsync(stock, servers[stock.name],
                                               tree, direction)
        return jobs

    # ---- one byte ------------------------------------------------------

    def onebyte(self):
        """Round trips of a whole command that copies one byte."""
        path = self.work.keep(LongPath(self.work, 1000, 100))
        servers = self.servers(path, user=self.work.throwaway_user())
        byte = self.work.dir / "byte"
        byte.write_bytes(b"x")
        byte.chmod(0o644)
        for direction in ("up", "down"):
            jobs = {name: (lambda c=c, s=servers[s.name]:
                           self.copied(c, s, byte, direction)[0] / path.rtt)
                    for name, (c, s) in self.file_pairs().items()}
            for job in jobs.values():
                job()  # from now on the host is known
            self.add("onebyte", f"one byte over 100 ms, {direction}", "RTT",
                     self.turns(jobs))
        self.drop(list(servers.values()) + [path])

    # ---- one large file ------------------------------------------------

    CELLS = (
        # what, loss, size, most that tcp_rmem and tcp_wmem allow
        ("tuned", 0, 300 * MB, 256 << 20, 256 << 20),
        ("not tuned", 0, 300 * MB, 6 << 20, 4 << 20),
        ("tuned, 0.1 % loss", 0.001, 25 * MB, 256 << 20, 256 << 20),
    )

    def largefile(self):
        """scp of one file over 1 Gbit/s x 100 ms, and its memory."""
        for what, loss, size, rmem, wmem in self.CELLS:
            if self.args.quick:
                size //= 5
            path = self.work.keep(LongPath(self.work, 1000, 100, loss,
                                           memory=rmem, send_memory=wmem))
            servers = self.servers(path)
            data = self.work.file(size)
            for direction in ("up", "down"):
                self.largefile_cell(what, path, servers, data, size,
                                    direction)
            self.drop(list(servers.values()) + [path])

    def largefile_cell(self, what, path, servers, data, size, direction):
        jobs = {name: (lambda c=c, s=servers[s.name]:
                       self.copied(c, s, data, direction))
                for name, (c, s) in self.file_pairs().items()}
        jobs["bare TCP"] = lambda: (path.bare(self.work, direction, size,
                                              240), 0, 0)
        got = self.turns(jobs)
        title = f"{size // MB} MB over 1 Gbit/s x 100 ms, {what}, {direction}"
        self.add("largefile", title, "Mbit/s",
                 {k: [size * 8 / 1e6 / v[0] for v in values]
                  for k, values in got.items()})
        got.pop("bare TCP")
        self.add("largefile", title + ", client's memory", "MiB",
                 {k: [v[1] / 1048576 for v in values]
                  for k, values in got.items()})
        self.add("largefile", title + ", server's memory", "MiB",
                 {k: [v[2] / 1048576 for v in values]
                  for k, values in got.items()})

    # ---- after a break -------------------------------------------------

    def resume(self):
        """What -Z needs after a copy ended in the middle, and what a whole
        copy needs."""
        size = (256 if self.args.quick else 1024) << 20
        data = self.work.file(size)
        self.resume_at("on loopback", None, data, size)
        path = self.work.keep(LongPath(self.work, 1000, 20))
        self.resume_at("over 1 Gbit/s x 20 ms", path, data, size)
        self.drop([path])

    def resume_at(self, where, path, data, size):
        servers = self.servers(path)
        for direction in ("up", "down"):
            for name, server in servers.items():
                got = self.turns({
                    "whole": lambda: self.copied(self.work.ours, server,
                                                 data, direction)[0],
                    "rest": lambda: self.cut_and_go_on(server, data, size,
                                                       direction)})
                self.add("resume", f"{size >> 20} MiB {where}, {name}'s "
                         f"server, {direction}", "s", got)
        self.drop(servers.values())

    def cut_and_go_on(self, server, data, size, direction):
        with tempfile.TemporaryDirectory(dir=self.work.dir) as fresh:
            os.chmod(fresh, 0o777)
            target = Path(fresh) / "target"
            argv = self.copy_command(self.work.ours, server, data, target,
                                     direction, "-Z")
            self.cut_at_half(argv, fresh, size)
            wall = timed(argv, 120).wall
            if target.read_bytes() != data.read_bytes():
                raise RuntimeError("not identical after -Z")
            return wall

    @staticmethod
    def cut_at_half(argv, directory, size):
        process = spawn(argv)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            there = sum(f.stat().st_blocks * 512
                        for f in Path(directory).iterdir())
            if there >= size // 2:
                process.send_signal(signal.SIGKILL)
                process.wait(10)
                return
            time.sleep(0.002)
        end_process(process)
        raise RuntimeError("could not be cut at half")
