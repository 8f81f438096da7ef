# SPDX-License-Identifier: ISC
"""The row `sync` of bench/run: hpnsync beside rsync, with and without
incremental recursion: what is unchanged and what is new, over 100 ms and on
this machine. The row `delta`: large files of which little has changed.
"""

import os
import shutil
import tempfile
from pathlib import Path

from benchlib import LongPath, Unavailable, timed
from files import make_dirs, make_tree

ENTRIES = 179000  # as /usr of a machine has


def make_like_usr(directory, entries):
    """Nine files in each of entries / 10 directories, ten of which are in one:
    the proportions of /usr."""
    top = directory / f"usr{entries}"
    if not top.exists():
        for i in range(entries // 10):
            place = top / f"a{i // 1000}" / f"b{i // 100 % 10}" / f"d{i}"
            place.mkdir(parents=True)
            for k in range(9):
                (place / f"file{k}").write_bytes(b"x")
    return top


def make_file(path, size):
    with open(path, "wb") as out:
        for _ in range(size >> 20):
            out.write(os.urandom(1 << 20))
    return path


class Sync:
    """The methods of Bench that make directories the same."""

    def sync(self):
        """hpnsync beside rsync."""
        if not shutil.which("rsync"):
            raise Unavailable("rsync is not installed")
        if "sync" not in self.work.ours.found:
            raise Unavailable("no hpnsync in that build")
        self.sync_far()
        self.sync_here()

    def shell(self, suite, server):
        """The value of -e."""
        options = server.client_options()
        login = options.index("-l")
        del options[login:login + 2]
        return " ".join([suite["ssh"], *options])

    def sync_job(self, program, client, server, tree, target):
        """A whole command, up."""
        def job():
            return timed([*server.entered("client"), *program, "-e",
                          self.shell(client, server), f"{tree}/",
                          f"{server.user}@{server.host}:{target}/"],
                         600).wall
        return job

    def sync_far(self):
        quick = self.args.quick
        path = self.work.keep(LongPath(self.work, 1000, 100))
        servers = self.servers(path)
        for what, tree in (
                ("500 files of 10 KB", make_tree(self.work.dir, 500, 10000)),
                (f"{ENTRIES // (10 if quick else 1)} entries",
                 make_like_usr(self.work.dir,
                               ENTRIES // (10 if quick else 1)))):
            with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
                os.chmod(top, 0o777)
                target = Path(top) / "copy"
                timed(["cp", "-a", tree, target], 600)
                self.add("sync", f"{what} unchanged, over 100 ms", "s",
                         self.turns(self.far_jobs(servers, tree, target)))
        self.drop(list(servers.values()) + [path])

    def far_jobs(self, servers, tree, target, *words):
        ours, stock = self.work.ours, self.work.stock
        sync = [ours["sync"], "-a", *words]
        jobs = {"hpnsync": self.sync_job(sync, ours, servers[ours.name], tree,
                                         target)}
        if stock.name in servers:
            far = servers[stock.name]
            jobs |= {
                "hpnsync to stock": self.sync_job(sync, ours, far, tree,
                                                  target),
                "rsync": self.sync_job(["rsync", "-a", *words], stock, far,
                                       tree, target),
                "rsync --no-i-r": self.sync_job(
                    ["rsync", "-a", "--no-i-r", *words], stock, far, tree,
                    target),
                "rsync --no-i-r, hpnssh": self.sync_job(
                    ["rsync", "-a", "--no-i-r", *words], ours,
                    servers[ours.name], tree, target)}
        return jobs

    def sync_here(self):
        count = 1000 if self.args.quick else 10000
        tree = make_tree(self.work.dir, count, 10000)
        dirs = make_dirs(self.work.dir, count // 10, True)
        servers = self.servers()
        ours, stock = self.work.ours, self.work.stock
        for what, source in ((f"{count} files of 10 KB", tree),
                             (f"{count // 10} directories", dirs)):
            jobs = {"hpnsync": lambda: self.fresh(
                [ours["sync"], "-a"], ours, servers[ours.name], source)}
            if stock.name in servers:
                jobs["rsync"] = lambda: self.fresh(
                    ["rsync", "-aW"], stock, servers[stock.name], source)
            self.add("sync", f"{what} first, loopback", "s", self.turns(jobs))
            self.add("sync", f"{what} first, no network", "s", self.turns({
                "hpnsync": lambda: self.local([ours["sync"], "-a"], source),
                "rsync": lambda: self.local(["rsync", "-aW"], source)}))
        self.drop(servers.values())

    def fresh(self, program, client, server, tree):
        with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
            os.chmod(top, 0o777)
            return self.sync_job(program, client, server, tree,
                                 Path(top) / "copy")()

    def local(self, program, tree):
        with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
            return timed([*program, f"{tree}/", f"{top}/copy/"], 600).wall

    # ---- large files of which little has changed ----------------------------

    def delta(self):
        """hpnsync beside rsync over the same connection."""
        if not shutil.which("rsync"):
            raise Unavailable("rsync is not installed")
        if "sync" not in self.work.ours.found:
            raise Unavailable("no hpnsync in that build")
        with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
            os.chmod(top, 0o777)
            self.delta_far(Path(top))
        with tempfile.TemporaryDirectory(dir=self.work.dir) as top:
            os.chmod(top, 0o777)
            self.delta_here(Path(top))

    def delta_ends(self, top, size):
        for name in ("from", "to"):
            (top / name).mkdir()
        return make_file(top / "old", size), top / "from" / "image"

    def delta_jobs(self, top, server, measure):
        """Each job begins with the old file at the target."""
        ours = self.work.ours

        def job(program):
            def run():
                shutil.copyfile(top / "old", top / "to" / "image")
                os.utime(top / "to" / "image", (10**9, 10**9))
                return measure(self.sync_job(program, ours, server,
                                             top / "from", top / "to"))
            return run
        return {"hpnsync": job([ours["sync"], "-a"]),
                "hpnsync -W": job([ours["sync"], "-aW"]),
                "rsync, hpnssh": job(["rsync", "-a"])}

    def delta_far(self, top):
        old, new = self.delta_ends(top, 64 << 20)
        content = old.read_bytes()
        new.write_bytes(content[:32 << 20] + os.urandom(1 << 20) +
                        content[32 << 20:])
        path = self.work.keep(LongPath(self.work, 1000, 100))
        servers = self.servers(path)
        server = servers[self.work.ours.name]
        self.add("delta", "64 MiB, 1 MiB put into it, up, over 100 ms", "s",
                 self.turns(self.delta_jobs(top, server, lambda job: job())))
        self.drop(list(servers.values()) + [path])

    def delta_here(self, top):
        size = (128 if self.args.quick else 1024) << 20
        old, new = self.delta_ends(top, size)
        shutil.copyfile(old, new)
        with open(new, "r+b") as out:
            for i in range(1000):
                out.seek(i * size // 1000)
                out.write(os.urandom(size // 100000))
        servers = self.servers()
        server = servers[self.work.ours.name]

        def both_ends(job):
            own, there = os.times(), server.settled_cpu()
            job()
            now = os.times()
            return (now.children_user + now.children_system -
                    own.children_user - own.children_system +
                    server.settled_cpu() - there) / (size / 1e9)
        self.add("delta", f"{size >> 20} MiB, 1 % changed in 1,000 places, "
                 "loopback: CPU of both ends", "s/GB",
                 self.turns(self.delta_jobs(top, server, both_ends)))
        self.drop(servers.values())
